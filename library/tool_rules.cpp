// Rules from times: for each size the fastest of the program's own algorithms, as measured or, where nothing
// was, as the baselines that are the same algorithm are predicted. Adjacent sizes with one algorithm are one
// rule.
#include "library/tool_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cost/program_time.h"
#include "ir/words.h"
#include "library/select.h"

namespace chorale {
namespace {

// Times of one algorithm; those of the program's own choice have none.
struct Candidate {
  const ToolAlgorithm* algorithm = nullptr;
  std::vector<MeasuredTime> times = {};
};

// Of a rule, in a comment.
std::string in_words(const ToolRule& rule, std::int64_t bytes, bool is_measured) {
  const std::string name = rule.algorithm != nullptr ? std::string(rule.algorithm->name) : "its own choice";
  std::string text =
      fmt::format("{:>9}  {:<38} {:>9}", format_bytes(static_cast<double>(bytes)), name, format_us(rule.us));
  if (rule.algorithm != nullptr && rule.chosen_us > 0)
    text += fmt::format("  its own choice {}", format_us(rule.chosen_us));
  return text + (is_measured ? "  measured" : "  predicted");
}

// The first rule holds from 0 bytes. A line of comment has each size, so that a reader sees how near the
// choice was.
void add_rule(ToolRules& all, Tool tool, const ToolRule& rule) {
  all.origin.push_back(
      in_words(rule, tool_bytes(tool, all.kind, all.ranks, rule.block_bytes), all.is_measured));
  if (!all.rules.empty() && all.rules.back().algorithm == rule.algorithm) return;
  all.rules.push_back(rule);
  if (all.rules.size() == 1) all.rules.front().block_bytes = 0;
}

// The median time of a size, and the fastest round of its measurement.
struct Median {
  double us = 0, least_us = 0;
};
std::optional<Median> median_at(std::span<const MeasuredTime> times, std::int64_t bytes) {
  const auto at = std::ranges::find(times, bytes, &MeasuredTime::bytes);
  if (at == times.end()) return {};
  return Median{.us = at->median_us, .least_us = at->least_us};
}

// An algorithm is forced only if its median is below the fastest round of the program's own choice: a
// difference within the noise changes nothing.
ToolRules measured_rules(Tool tool, const TakenAnswer& answer, ToolRules all) {
  std::map<std::string, Candidate> candidates;
  std::set<std::int64_t> sizes;
  for (const OwnTime& own : answer.own) {
    if (tool_named(own.library) != tool) continue;
    Candidate& candidate = candidates[own.algorithm];
    candidate.algorithm = find_algorithm(tool, all.kind, own.algorithm);
    candidate.times.push_back(own.time);
    sizes.insert(own.time.bytes);
  }
  std::vector<MeasuredTime> chosen;
  for (const MeasuredTime& time : answer.measured)
    if (time.over == "mpi" && time.point == MeasuredTime::kOwn) chosen.push_back(time);
  all.is_measured = true;
  for (const std::int64_t bytes : sizes) {
    const std::optional<Median> own = median_at(chosen, bytes);
    ToolRule best{.block_bytes = bytes, .us = own ? own->us : 0, .chosen_us = own ? own->us : 0};
    double least = own ? own->least_us : 0;
    for (const auto& [name, candidate] : candidates)
      if (const auto took = median_at(candidate.times, bytes); took && (least == 0 || took->us < least)) {
        best.algorithm = candidate.algorithm;
        best.us = least = took->us;
      }
    add_rule(all, tool, best);
  }
  return all;
}

}  // namespace

// What each program calls the size of a call: mostly the whole buffer, sometimes one block of it.
std::int64_t tool_bytes(Tool tool, CollectiveKind kind, int ranks, std::int64_t block) {
  const bool of_a_block = (tool == Tool::Mpich && kind == CollectiveKind::Alltoall) ||
                          (tool == Tool::Ucc && kind == CollectiveKind::ReduceScatter);
  return of_a_block ? block : block * blocks_of(kind, ranks);
}

bool has_times(Tool tool, const TakenAnswer& answer) {
  return std::ranges::any_of(answer.own, [&](const OwnTime& own) { return tool_named(own.library) == tool; });
}

// Measurements of this program's algorithms exclude predictions, even at other sizes: both in one file would
// be compared as equals. A single predicted algorithm would be the fastest of itself, so two are needed.
std::optional<ToolRules> tool_rules(Tool tool, const TakenAnswer& answer, const std::string& group,
                                    const std::vector<std::int64_t>& block_bytes,
                                    const ClassicSchedule& classic, std::string& why) {
  const Topology& topology = answer.result.topology;
  ToolRules all{.kind = answer.result.collective.kind, .ranks = topology.ranks, .group = group};
  if (has_times(tool, answer)) return measured_rules(tool, answer, std::move(all));
  std::vector<std::pair<const ToolAlgorithm*, Result>> predicted;
  for (const ToolAlgorithm& each : tool_algorithms())
    if (each.tool == tool && each.kind == all.kind && !each.baseline.empty() && suits(each, all.ranks))
      if (std::optional<Result> result = classic(topology, std::string(each.baseline), 0))
        predicted.emplace_back(&each, std::move(*result));
  if (predicted.size() < 2) {
    why = fmt::format(
        "{}: no rules; nothing was measured of {}, and fewer than two of its algorithms can be "
        "predicted on this machine",
        name_of(answer.result.collective), name_in(tools(), tool));
    return {};
  }
  for (const std::int64_t bytes : block_bytes) {
    ToolRule best{.block_bytes = bytes};
    for (const auto& [algorithm, result] : predicted) {
      const double us = point_us(topology, result.points.front(), static_cast<double>(bytes));
      if (best.algorithm == nullptr || us < best.us) {
        best.algorithm = algorithm;
        best.us = us;
      }
    }
    add_rule(all, tool, best);
  }
  return all;
}

}  // namespace chorale
