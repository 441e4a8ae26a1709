// Every factorization of the devices over the open axes is a job of its own, with its memory and
// computation by the template's formulas (ir/job_template.h). Those that do not fit are sorted out first,
// without placing; each other one is a whole ranking of placements, of which the time of the best counts.
//
// There are few of them: 512 devices over 4 axes have 220 factorizations.
#include "placement/axis_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ir/error.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "placement/matrices.h"
#include "placement/place.h"

namespace chorale {
namespace {

// All sizes of the axes from `axis` on that multiply to `left`, smaller ones of earlier axes first.
void add_sizes(const JobTemplate& job, std::size_t axis, long long left, std::vector<int>& sizes,
               std::vector<std::vector<int>>& result) {
  if (axis == job.axes.size()) {
    if (left == 1) result.push_back(sizes);
    return;
  }
  const OpenAxis& open = job.axes[axis];
  for (long long size = 1; size <= std::min<long long>(left, open.most); ++size)
    if (left % size == 0 && (open.size == 0 || open.size == size)) {
      sizes.push_back(static_cast<int>(size));
      add_sizes(job, axis + 1, left / size, sizes, result);
      sizes.pop_back();
    }
}

struct Candidate {
  RankedSizes sizes = {};
  Job job = {};
};

}  // namespace

Ranking rank_sizes(const Hierarchy& hierarchy, const JobTemplate& job, const PlaceOptions& options) {
  // Three passes over the same list: sizes that multiply to the devices, of these the ones that fit, of these
  // the time. Sizes are never compared without a placement: the one with the least computation may need most
  // communication.
  const auto started = std::chrono::steady_clock::now();
  const long long all = devices(hierarchy);
  std::vector<std::vector<int>> products;
  std::vector<int> none;
  add_sizes(job, 0, all, none, products);
  if (products.empty())
    throw InputError("axes of " + shown(job.name), fmt::format("no sizes multiply to {} devices", all),
                     "leave more of them open, or allow larger ones");
  std::vector<Candidate> candidates;
  std::string unfit;
  for (const std::vector<int>& sizes : products) {
    SizedJob one = sized(job, sizes);
    if (one.unfit.empty() && all_matrices(hierarchy, one.job.axes, options.conditions).empty())
      one.unfit = "no parallelism matrix obeys the conditions";
    if (one.unfit.empty())
      candidates.push_back({{sizes, one.memory_bytes, one.compute_us}, std::move(one.job)});
    else
      unfit = one.unfit;
  }
  if (candidates.empty())
    throw InputError(
        "axes of " + shown(job.name),
        fmt::format("none of {} will do; of the last, {}",
                    counted(static_cast<long long>(products.size()), "choice of sizes", "choices of sizes"),
                    unfit),
        "take more devices, or other conditions");
  // What computes least first: if time runs out, these were seen.
  std::ranges::stable_sort(candidates, {}, [](const Candidate& each) { return each.sizes.compute_us; });

  StrategySolver solver(options);  // of all choices: many have the same strategies
  Ranking best;
  double least = 0;
  std::vector<RankedSizes> ranked;
  int done = 0;
  const int of = static_cast<int>(candidates.size());
  // The answer so far, so that a search that is interrupted has one: the best `top` of what was placed.
  const auto told = [&] {
    std::vector<RankedSizes> sorted = ranked;
    std::ranges::stable_sort(sorted, {}, &RankedSizes::us);
    sorted.resize(std::min<std::size_t>(sorted.size(), static_cast<std::size_t>(std::max(options.top, 1))));
    best.sizes = std::move(sorted);
    best.size_choices = {static_cast<int>(products.size()), of, done};
    best.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (options.ranked) options.ranked(best);
  };
  for (Candidate& candidate : candidates) {
    if (options.progress && !options.progress(done, of)) break;
    PlaceOptions inner = options;
    // The caller sees sizes and not matrices, so the counts of the inner ranking stay inside.
    inner.ranked = {};
    inner.progress = [&](int, int) { return !options.progress || options.progress(done, of); };
    Ranking placed = rank_placements(hierarchy, candidate.job, inner,
                                     options.engine == PlaceEngine::Enumerate ? nullptr : &solver);
    // A ranking that was cut short may lack its best placement, so these sizes have no time.
    if (placed.priced < placed.matrices) break;  // stopped
    ++done;
    if (placed.best.empty()) {  // over the hierarchy that was asked for these sizes have no strategy
      if (ranked.empty()) best = std::move(placed);
      continue;
    }
    candidate.sizes.communication_us = placed.best.front().us;
    const double us = candidate.sizes.us();
    ranked.push_back(candidate.sizes);
    if (ranked.size() == 1 || us < least) {
      least = us;
      best = std::move(placed);
    }
    told();
  }
  if (ranked.empty()) {
    best.hierarchy = hierarchy;
    if (done == 0) best.job = candidates.front().job;
    told();
  }
  return best;
}

}  // namespace chorale
