// What tables and pages say of a result beyond its numbers: where a point is the best, and what proves it.
#include "api/report.h"

#include <fmt/format.h>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "codegen/pages/html.h"
#include "codegen/pages/place_html.h"
#include "cost/cost.h"
#include "cost/format.h"
#include "cost/program_time.h"
#include "ir/words.h"
#include "pareto/explain.h"

namespace chorale {

std::vector<std::string> best_sizes_in_words(const Result& result, const SizeModel& model) {
  std::vector<Cost> costs;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < result.points.size(); ++i)
    if (result.points[i].on_frontier) {
      costs.push_back(result.points[i].cost);
      which.push_back(i);
    }
  const AlphaBeta machine = alpha_beta(result.topology);
  const std::vector<SizeRange> sizes = best_sizes(costs, model.alpha_us.value_or(machine.alpha_us),
                                                  model.beta_us_per_byte.value_or(machine.beta_us_per_byte));
  std::vector<std::string> words(result.points.size());
  for (std::size_t k = 0; k < which.size(); ++k) words[which[k]] = format_range(sizes[k]);
  return words;
}

namespace {

// That of its claims, or, where none says any, one that is looked for.
double rounds_per_chunk(const Result& result) {
  Rate bound = rate_bound(result);
  if (bound.rounds == 0)
    bound = rate_shown(result.topology, result.collective,
                       fewest_rounds(result.topology, result.collective).certificate);
  return static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
}

}  // namespace

std::vector<SizeRow> best_by_size(const Result& result, const std::vector<std::int64_t>& block_bytes) {
  std::vector<SizeRow> rows;
  if (result.points.empty()) return rows;
  const TimeBound least(result.topology, result.collective, rounds_per_chunk(result));
  for (const std::int64_t bytes : block_bytes) {
    const double size = static_cast<double>(bytes);
    SizeRow row{.block_bytes = bytes, .least_us = least.us(size)};
    for (std::size_t p = 0; p < result.points.size(); ++p)
      if (const double us = point_us(result.topology, result.points[p], size); p == 0 || us < row.us) {
        row.point = static_cast<int>(p);
        row.us = us;
      }
    rows.push_back(row);
  }
  return rows;
}

std::string proven_by(const Result& result, const Point& point) {
  if (point.proven) return explain(result, point);
  if (point.bound.rounds == 0) return "not proven: nothing is known";
  const double percent = 100 * gap(point);
  if (percent == 0) return "rounds are proven, fewer steps are not excluded";
  return fmt::format("not proven: gap {:.1f} % to {}", percent,
                     fraction(point.bound.rounds, point.bound.chunks));
}

// The certificate of a claim for any number of steps shows a rate for all numbers of chunks; the strongest
// counts.
Rate rate_bound(const Result& result) {
  Rate best;
  for (const Claim& claim : result.claims) {
    if (claim.collective != result.collective.kind || claim.steps != kAnySteps) continue;
    const Rate rate =
        rate_shown(result.topology, with_chunks(result.collective, claim.chunks), claim.certificate);
    if (less(best, rate)) best = rate;
  }
  return best;
}

std::string to_page(const Result& result, const SizeModel& model) {
  const Rate bound = rate_bound(result);
  PageNotes notes{.bound_rounds = bound.rounds,
                  .bound_chunks = bound.chunks,
                  .best_sizes = best_sizes_in_words(result, model)};
  for (const Point& point : result.points) notes.proven_by.push_back(proven_by(result, point));
  return to_html(result, notes);
}

std::string to_page(const Ranking& ranking) {
  return to_html(ranking);
}

}  // namespace chorale
