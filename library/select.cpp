// All points of results that suit a call are priced anew, on the machine of their result; no table by size is
// kept. `usable` is called only for a point that would be the best so far, so it may be slow.
#include "library/select.h"

#include "cost/cost.h"
#include "cost/program_time.h"

namespace chorale {

bool is_for(const Result& result, const CollectiveCall& call) {
  const Collective& asked = result.collective;
  return asked.kind == call.collective && asked.custom_name == call.custom_name &&
         asked.ranks == call.ranks && (!is_rooted(asked.kind) || asked.root == call.root);
}

CollectiveCall call_of(const Collective& collective, double block_bytes) {
  return {.collective = collective.kind,
          .custom_name = collective.custom_name,
          .ranks = collective.ranks,
          .root = collective.root,
          .block_bytes = block_bytes};
}

// Linear between measured sizes; below the least the time of the least, since latency dominates there; above
// the largest in proportion to the size, since bandwidth does.
std::optional<double> measured_us(std::span<const MeasuredTime> times, int point, double block_bytes) {
  const MeasuredTime *below = nullptr, *above = nullptr;  // the nearest on either side
  for (const MeasuredTime& each : times) {
    if (each.point != point) continue;
    const auto bytes = static_cast<double>(each.bytes);
    if (bytes <= block_bytes && (below == nullptr || each.bytes > below->bytes)) below = &each;
    if (bytes >= block_bytes && (above == nullptr || each.bytes < above->bytes)) above = &each;
  }
  if (below == nullptr && above == nullptr) return {};
  if (below == nullptr || below == above) return above->median_us;
  const double from = static_cast<double>(below->bytes);
  if (above == nullptr) return from > 0 ? below->median_us * block_bytes / from : below->median_us;
  const double part = (block_bytes - from) / (static_cast<double>(above->bytes) - from);
  return below->median_us + part * (above->median_us - below->median_us);
}

// Measured times beat predicted ones, whatever they are: a prediction of one point and a measurement of
// another are not comparable.
std::optional<Choice> select(std::span<const Result> results, const CollectiveCall& call,
                             const std::function<bool(const Choice&)>& usable,
                             std::span<const std::vector<MeasuredTime>> measured) {
  std::optional<Choice> best;
  for (int r = 0; r < static_cast<int>(results.size()); ++r) {
    if (!is_for(results[r], call)) continue;
    const bool alike = have_equal_rates(results[r].topology);
    for (int p = 0; p < static_cast<int>(results[r].points.size()); ++p) {
      const Point& point = results[r].points[p];
      // If links differ, a point that others dominate in steps and rounds may be the fastest.
      if (!point.on_frontier && alike) continue;
      Choice choice{.result = r, .point = p};
      std::optional<double> took;
      if (!measured.empty()) took = measured_us(measured[r], p, call.block_bytes);
      choice.measured = took.has_value();
      // Before the prediction, which may be a simulation.
      if (best && best->measured && !choice.measured) continue;
      choice.us = took ? *took : point_us(results[r].topology, point, call.block_bytes);
      if (best && best->measured == choice.measured && best->us <= choice.us) continue;
      if (!usable || usable(choice)) best = choice;
    }
  }
  return best;
}

}  // namespace chorale
