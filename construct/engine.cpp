// The recipe: fractional packing -> whole chunks -> steps, in levels of growing effort. A level goes on where the one before
// ended: its fractions are nearer to the optimum, its chunk counts are larger. Each schedule is kept only if it is better by
// more than a trifle, so that a frontier stays readable.
#include "construct/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "construct/composition.h"
#include "construct/effort.h"
#include "construct/fractional_packing.h"
#include "construct/incumbents.h"
#include "construct/jobs.h"
#include "construct/more_steps.h"
#include "construct/network.h"
#include "construct/order.h"
#include "construct/packing.h"
#include "construct/period.h"
#include "ir/chunk_classes.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

constexpr double kNear = 0.002;  // over the bound: nothing is left to be found
constexpr double kNearFraction = 0.003;
constexpr double kHops[] = {1, 0.3, 0.1, 0.03};  // prices of a hop of depth, in mean prices of a link
constexpr double kLower = 0.004;                 // that lower trees may be over the nearest fractions
constexpr double kHoped = 0.99;         // of the rounds of fractions: these are not the best that there are
constexpr double kFar = 1.5;            // times the rounds of fractions: a packing that is not repeated
constexpr double kTrifle = 0.002;       // a better rate by less is no reason for one more point
constexpr double kMostSends = 300'000;  // of one schedule
constexpr std::size_t kLarge = 20'000;  // sends
constexpr int kMostChunks = 4096;
constexpr int kMostSteps = 4000;
constexpr long long kFirstWork = 4'000'000;
constexpr int kMoreWork = 6;  // times, from level to level

// Chunks per block up to which a level packs, and how much of the rounds may be left unused: with some slack few chunks fit at once.
struct Count {
  int most = 1;
  double slack = 0;
};
constexpr int kQuickLevels = 2;
struct Level {
  std::vector<int> exact = {}, times = {};  // counts of what is exact, the latter times those of the bound
  double most_sends = 0;                    // of it
  int small = 0;                            // counts that are packed, from 1 on
  std::vector<Count> good = {};
};
const std::vector<Level>& levels() {
  static const std::vector<Level> all = {{.exact = {}, .small = 2, .good = {{6, 0}, {16, 0.04}}},
                                         {.exact = {1, 2, 3, 4, 8},
                                          .times = {1, 2},
                                          .most_sends = 20'000,
                                          .small = 8,
                                          .good = {{12, 0}, {32, 0.02}, {96, 0.012}}},
                                         {.exact = {16},
                                          .times = {4, 8},
                                          .most_sends = 60'000,
                                          .good = {{16, 0}, {32, 0}, {128, 0.008}, {384, 0.006}}},
                                         {.exact = {32, 64},
                                          .times = {16, 32},
                                          .most_sends = 200'000,
                                          .good = {{96, 0.004}, {512, 0.004}, {1024, 0.003}}},
                                         {.exact = {128},
                                          .times = {64},
                                          .most_sends = 400'000,
                                          .good = {{192, 0.002}, {1024, 0.002}, {4096, 0.002}}}};
  return all;
}

bool starts_somewhere(const Collective& collective) {
  return std::ranges::none_of(collective.chunks, [](const ChunkSpec& spec) { return spec.pre.empty(); });
}

bool is_fixed(const Collective& collective) {
  return collective.combining && collective.order.kind == SumOrder::Kind::Fixed;
}

class Engine {
 public:
  Engine(const EngineQuestion& question, const std::function<void(Point)>& found)
      : question_(question),
        found_(found),
        reversed_(has_copying_dual(question.one)),
        topology_(reversed_ ? chorale::reversed(question.topology) : question.topology),
        one_(reversed_ ? dual(question.one) : question.one),
        network_(topology_),
        classes_(moving_classes(one_)) {
    for (const ChunkClass& chunks : classes_)
      sends_ += static_cast<double>(chunks.count()) *
                (static_cast<double>(chunks.post.size()) +
                 (one_.combining ? static_cast<double>(chunks.pre.size()) : 0));
    if (question.bound.rounds > 0)
      bound_ = static_cast<double>(question.bound.rounds) / static_cast<double>(question.bound.chunks);
  }

  void run() {
    if (classes_.empty()) return;
    quick();
    if (is_fixed(one_)) return;
    long long budget = kFirstWork;
    for (const Level& level : levels()) {
      if (budget > question_.work || stopped()) return;
      // The quick ones also look for fewer steps, where a smaller space would.
      if (met() && &level - levels().data() >= kQuickLevels) return;
      run_exact(level);
      run_level(level, budget);
      budget *= kMoreWork;
    }
  }

 private:
  bool stopped() const { return question_.stop != nullptr && *question_.stop; }
  double rate() const { return std::max(bound_, kHoped * fraction_); }
  bool met() const { return bound_ > 0 && best_rate_ <= bound_ * (1 + kNear); }

  // That so many chunks per block may fit into.
  long long fewest_rounds(int chunks, double slack) const {
    const Rate& bound = question_.bound;
    const long long least = bound.rounds > 0 ? (chunks * bound.rounds + bound.chunks - 1) / bound.chunks : 1;
    return std::max(least, static_cast<long long>(std::ceil(rate() * chunks * (1 + slack) - 1e-6)));
  }

  // The least count up to `most` that whole rounds serve best.
  int good_chunks(const Count& count) const {
    int best = 1;
    double lost = std::numeric_limits<double>::infinity();
    for (int c = 1; c <= std::min(count.most, most_of_all()); ++c) {
      const double rounded = static_cast<double>(fewest_rounds(c, count.slack)) / (c * rate());
      if (rounded >= lost - 1e-9 && !(c > 2 * best && rounded < lost + 0.002)) continue;
      lost = std::min(lost, rounded);
      best = c;
    }
    return best;
  }

  // Those of a level are the same whatever is asked for, so that a larger space has all of a smaller one.
  std::map<int, double> counts(const Level& level) const {
    std::map<int, double> slack_of;
    for (const Count& count : level.good) slack_of.try_emplace(good_chunks(count), count.slack);
    for (int c = 0; c < level.small; ++c) slack_of.try_emplace(question_.min_chunks + c, 0.0);
    std::erase_if(slack_of, [&](const auto& count) { return count.first > most_chunks(); });
    if (slack_of.empty() && &level == &levels().front()) slack_of.try_emplace(most_chunks(), 0.0);
    return slack_of;
  }

  int most_of_all() const {
    return std::clamp(static_cast<int>(kMostSends / std::max(1.0, sends_)), 1, kMostChunks);
  }
  int most_chunks() const {
    return question_.max_chunks > 0 ? std::min(question_.max_chunks, most_of_all()) : most_of_all();
  }

  // First as near to the bound as trees come, then the lowest trees that come as near.
  void pack_fractions(long long budget) {
    Effort effort(budget / 8, question_.stop);
    FractionalPacking nearest(network_, classes_, one_.combining);
    if (!nearest.improve(bound_, kNearFraction, 0, effort)) return;
    settled_ = effort.affords(1);
    fraction_ = nearest.rounds();
    shares_ = nearest.shares();
    hop_ = 0;
    for (const double hop : kHops) {
      Effort lower(budget / 16, question_.stop);
      FractionalPacking packing(network_, classes_, one_.combining);
      if (!packing.improve(std::max(bound_, fraction_), kNearFraction, hop, lower)) return;
      if (packing.rounds() > std::max(bound_, fraction_) * (1 + kLower)) continue;
      fraction_ = std::min(fraction_, packing.rounds());
      shares_ = packing.shares();
      hop_ = hop;
      return;
    }
  }

  // What takes no time, of few chunks: hand-written algorithms, and the fewest steps.
  void quick() {
    for (const int chunks : {question_.min_chunks, question_.min_chunks + 1})
      if (chunks <= most_chunks() && !stopped())
        take(incumbents(question_.topology, with_chunks(question_.one, chunks), question_.stop,
                        question_.extra_rounds));
  }

  // What is exact for some collectives and machines, at the chunk counts of the bound.
  void run_exact(const Level& level) {
    std::set<int> counts(level.exact.begin(), level.exact.end());
    if (!counts.empty()) counts.insert(question_.min_chunks);
    for (const int times : level.times)
      counts.insert(static_cast<int>(std::min<long long>(times * question_.bound.chunks, kMostChunks)));
    for (const int chunks : counts) {
      if (chunks < 1 || chunks > most_chunks() || chunks * sends_ > level.most_sends) continue;
      if (stopped()) return;
      const Collective whole = with_chunks(question_.one, chunks);
      take(incumbents(question_.topology, whole, question_.stop, question_.extra_rounds));
      take(grown_incumbents(question_.topology, whole, question_.stop, question_.extra_rounds));
      std::vector<Point> composed;
      for (ComposedPoint& each : compose_on({.topology = question_.topology,
                                 .collective = whole,
                                 .extra_rounds = question_.extra_rounds,
                                 .stop = question_.stop},
                                            nestings_))
        composed.push_back(std::move(each.point));
      take(std::move(composed));
    }
  }

  void run_level(const Level& level, long long budget) {
    if (!settled_) pack_fractions(budget);
    if (shares_.empty()) return;  // with more effort, perhaps
    for (const auto& [chunks, slack] : counts(level)) {
      if (stopped()) return;
      run_count(chunks, slack, budget);
    }
  }

  void run_count(int chunks, double slack, long long budget) {
    Effort whole(budget / 8, question_.stop);
    const Packing packing = Rounding(network_, classes_, one_.combining)
                                .round(shares_, chunks, fewest_rounds(chunks, slack), hop_, whole);
    if (stopped()) return;
    const Jobs jobs(network_, packing);
    const int most_steps = std::min(kMostSteps, question_.max_steps);
    const auto keep = [&](const char* construction) {
      return [&, construction](int copies, const StepPlan& plan) {
        this->keep(construction, jobs, chunks * copies, copies, plan);
      };
    };
    Effort ordering(budget / 12, question_.stop);
    order(jobs, 1, most_steps, ordering, keep("packing"));
    if (static_cast<double>(needed_rounds(network_, packing)) > kFar * fraction_ * chunks) return;
    Effort repeating(budget / 6, question_.stop);
    pipeline(jobs, needed_rounds(network_, packing), most_chunks() / chunks, most_steps, 1 + kNear, repeating,
             keep("periods"));
  }

  struct Cheap {
    int steps = 0;
    double rate = 0;
  };

  // Is it better than what there is, and, if it is large, by more than a trifle?
  bool is_better(int steps, double rate, bool large) const {
    return std::ranges::none_of(kept_, [&](const Cheap& other) {
      if (other.steps > steps) return false;
      const bool nearly = large && other.steps < steps && rate > bound_ * (1 + 1e-9);
      return other.rate <= rate * (nearly ? 1 + kTrifle : 1 + 1e-12);
    });
  }

  void keep(const char* construction, const Jobs& jobs, int chunks, int copies, const StepPlan& plan) {
    const auto steps = static_cast<int>(plan.rounds.size());
    const double rate = static_cast<double>(plan.total_rounds()) / chunks;
    const bool large = plan.step_of.size() > kLarge;
    if (chunks < question_.min_chunks || steps > question_.max_steps || !is_better(steps, rate, large))
      return;
    const Collective whole = with_chunks(question_.one, chunks);
    Schedule schedule = jobs.schedule(reversed_ ? dual(whole) : whole, copies, plan);
    Point point{.construction = construction, .collective = whole};
    point.schedule = reversed_ ? chorale::reversed(schedule, true) : std::move(schedule);
    point.cost = {.steps = static_cast<int>(point.schedule.steps.size()),
                  .rounds = total_rounds(point.schedule),
                  .chunks = chunks};
    if (!fit_in_more_steps(question_.topology, point, question_.extra_rounds)) return;
    if (point.cost.steps > question_.max_steps) return;
    const std::vector<Fault> wrong = violations(question_.topology, whole, point.schedule, 1);
    if (!wrong.empty())
      throw std::logic_error("a schedule of the engine (" + point.construction +
                             ") is wrong: " + wrong.front().words);
    take(std::move(point), large);
  }

  void take(std::vector<Point> points) {
    for (Point& point : points)
      if (point.cost.chunks >= question_.min_chunks) take(std::move(point), false);
  }

  // Verified points.
  void take(Point point, bool large) {
    const Cheap cost{.steps = point.cost.steps,
                     .rate = static_cast<double>(point.cost.rounds) / point.cost.chunks};
    if (cost.steps > question_.max_steps || !is_better(cost.steps, cost.rate, large)) return;
    std::erase_if(kept_,
                  [&](const Cheap& other) { return other.steps >= cost.steps && other.rate >= cost.rate; });
    kept_.push_back(cost);
    best_rate_ = std::min(best_rate_, cost.rate);
    found_(std::move(point));
  }

  const EngineQuestion& question_;
  const std::function<void(Point)>& found_;
  const bool reversed_;
  const Topology topology_;
  const Collective one_;
  const Network network_;
  const std::vector<ChunkClass> classes_;
  const std::vector<Nesting> nestings_ = nestings(question_.topology);
  std::vector<std::vector<FractionalPacking::Share>> shares_ = {};  // [class], of the fractional packing
  double fraction_ = 0;                                             // its rounds
  bool settled_ = false;                                            // more effort would not improve it
  double sends_ = 0;                                                // of one chunk per block
  double bound_ = 0;
  double hop_ = 1;
  double best_rate_ = std::numeric_limits<double>::infinity();
  std::vector<Cheap> kept_ = {};
};

}  // namespace

void construct(const EngineQuestion& question, const std::function<void(Point)>& found) {
  const Collective& one = question.one;
  if (!starts_somewhere(one)) return;
  Engine(question, found).run();
}

}  // namespace chorale
