// What is copied to one rank has a path, what is copied to several a tree, and a sum two trees that meet in
// the rank and the step where it is whole. All are the cheapest at prices of links in steps (timed_load.h),
// and one loop packs them:
// 1. Fractions: trees are packed at smooth prices (timed_load.h), sharper from sweep to sweep; a tree is
//    replaced when a cheaper one is found. How wide steps are follows from the load. Of many chunks a tree
//    stands for several.
// 2. Whole chunks: each takes one of these trees.
// 3. Repair: rounds are taken away where least is over then, and chunks in what is overloaded negotiate; each
//    takes the cheapest tree. More rounds at once as long as that succeeds.
// Where a group of symmetries carries each chunk to others, one of them stands for all, and each link for its
// orbit; afterwards each chunk is packed by itself.
//
// Invariant: between attempts chunks_ is a whole schedule; a negotiation without success is undone.
//
// What lost, on 20 machines: several fractions per chunk (0.2 % more rounds for Broadcast in 1.4 times the
// time); trees from nothing in even steps besides (0.6 % less for AllReduce in 1.2 times the time; even steps
// for every other repair gain as much); Frank-Wolfe mixtures (1 % more for Broadcast in 1.8 times the time).
// And nothing was gained by paths that negotiate from nothing, all at once, nor by repairs that also take
// trees of other chunks. On eight: sums that always meet half way (4 % more rounds for AllReduce), a new tree
// even where it is more expensive (1 % more), one other meeting instead of two (2.5 % more).
#include "construct/engine/timed_packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "construct/engine/network.h"
#include "construct/engine/solved_question.h"
#include "construct/engine/spreading.h"
#include "construct/engine/timed_load.h"
#include "construct/engine/work_budget.h"
#include "graph/automorphisms.h"

namespace chorale {
namespace {

// By an iteration over all trees, about: a tree stands for as many chunks as needed, and nothing is packed
// where that is not enough.
constexpr double kMostWorkOfIteration = 3e5, kMostWorkOfPathIteration = 3e6;
constexpr double kWorkOfPath = 0.03;  // of the links in all steps: it is found long before all are examined
constexpr double kPartOfFractions = 0.125;  // of the work, for each number of steps
constexpr double kMostSweeps = 150;
constexpr long long kMostWorkOfRepair = 1'000'000;  // of an attempt to take rounds away
constexpr int kPatience = 14;                       // iterations without less that is over
constexpr int kMostFailures = 4;                    // to take one round away
constexpr unsigned kOthers = 8;                     // one in kOthers is regrown though nothing is overloaded
constexpr std::size_t kMaxChunksPerOrbit = 40'000;
constexpr int kTimesFewest = 3, kMoreSteps = 8;  // numbers of steps that are tried
constexpr int kPartMoreSteps = 6;
constexpr int kMeetingsTried = 3;               // of the two trees of a sum: theirs, and others
constexpr double kBlunt = 0.7, kSharpens = 90;  // sharpness of prices at first; times so much at the end
constexpr double kFloor = 0.8;                  // of prices, of the mean rounds of a step, at first

using Group = std::vector<std::vector<Rank>>;

int total(const std::vector<int>& rounds) {
  return std::accumulate(rounds.begin(), rounds.end(), 0);
}

int fewest_rounds_of(const std::vector<Schedule>& schedules, int steps) {
  int rounds = std::numeric_limits<int>::max();
  for (const Schedule& schedule : schedules)
    if (std::ssize(schedule.steps) <= steps) rounds = std::min(rounds, total_rounds(schedule));
  return rounds;
}

class Packing {
 public:
  // With a group, only classes that start at representatives are packed. Distances are to every destination,
  // and for sums to every contributor as well, since a root is one of them.
  Packing(const Topology& topology, const Collective& collective, const Group& group)
      : topology_(topology),
        collective_(collective),
        group_(group),
        orbits_(topology, group),
        oracle_(topology) {
    for (ChunkClass& chunks : moving_classes(collective))
      if (group.size() == 1 || orbits_.representative(chunks.pre.front()) == chunks.pre.front())
        classes_.push_back(std::move(chunks));
    const HopCounts backwards(reversed(topology));
    for (const ChunkClass& chunks : classes_) {
      count_ += static_cast<int>(chunks.count());
      together_ = std::gcd(together_, static_cast<int>(chunks.count()));
      paths_ = paths_ && !collective.combining && chunks.post.size() == 1;
      for (const RankSet* ranks : {&chunks.post, &chunks.pre})
        for (const Rank n : *ranks)
          if ((collective.combining || ranks == &chunks.post) && hops_to_[n].empty())
            hops_to_[n] = backwards.from({n});
    }
  }

  bool nothing_moves() const { return classes_.empty(); }

  // That the farthest class needs; nothing where a rank cannot be reached. A sum needs the hops of the
  // farthest contribution to its best root, and from there to the farthest destination.
  std::optional<int> fewest_steps() const {
    int most = 0;
    for (const ChunkClass& chunks : classes_) {
      int least = collective_.combining ? kOutOfReach : out_of(chunks.pre, chunks);
      if (collective_.combining)
        for (const Rank n : chunks.pre) least = std::min(least, into(n, chunks) + out_of({n}, chunks));
      most = std::max(most, least);
    }
    return most >= kOutOfReach ? std::nullopt : std::optional(most);
  }

  bool is_quick(int steps) const {
    return work_of_iteration(steps) / together_ <= (paths_ ? kMostWorkOfPathIteration : kMostWorkOfIteration);
  }

  // `least`: rounds that no schedule is under.
  Schedule pack(int steps, int least, long long work, WorkBudget& effort) {
    steps_ = steps;
    work_of_fractions_ = kPartOfFractions * static_cast<double>(work);
    effort_ = &effort;
    random_.seed(1);
    pack_fractions(least);
    tighten(least);
    return schedule();
  }

 private:
  // Where and when a sum is whole.
  struct Meeting {
    Rank root = -1;
    int step = 0;
  };
  struct Tree {
    int of = 0;  // class
    Meeting meeting = {};
    TimedSends sends = {};
  };

  static constexpr int kOutOfReach = 1 << 20;

  int distance(Rank from, Rank to) const {
    const int far = hops_to_.at(to)[from];
    return far < 0 ? kOutOfReach : far;
  }
  int into(Rank root, const ChunkClass& chunks) const {
    int most = 0;
    for (const Rank n : chunks.pre) most = std::max(most, distance(n, root));
    return most;
  }
  int out_of(const RankSet& roots, const ChunkClass& chunks) const {
    int most = 0;
    for (const Rank to : chunks.post) {
      int nearest = kOutOfReach;
      for (const Rank from : roots) nearest = std::min(nearest, distance(from, to));
      most = std::max(most, nearest);
    }
    return most;
  }

  // Of a tree for each chunk, about.
  double work_of_iteration(int steps) const {
    return static_cast<double>(count_) * static_cast<double>(topology_.links.size()) * steps *
           (paths_ ? kWorkOfPath : 1);
  }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_() % i]);
  }

  // By class the trees that need the fewest rounds. A tree stands for `bundle` chunks, the least divisor of
  // all counts with which an iteration is affordable. An iteration has each tree grown anew once, at sharper
  // prices than the one before.
  void pack_fractions(int least) {
    int bundle = 1;  // chunks that a tree stands for
    while (together_ % bundle != 0 ||
           (bundle < together_ && work_of_iteration(steps_) / bundle > kMostWorkOfIteration))
      ++bundle;
    std::vector<Tree> trees;
    for (int k = 0; k < std::ssize(classes_); ++k)
      trees.resize(trees.size() + classes_[k].chunks.size() / bundle, {.of = k});
    const long long begun = oracle_.work();
    TimedLoad load(topology_, orbits_, steps_);
    std::pair<int, double> fewest;  // rounds, and as fractions
    double floor = 0, done = 0;
    std::vector<Tree> best;
    for (int i = 0; done < 1 && (best.empty() || effort_->affords(1)); ++i) {
      done = std::min(
          1.0, std::max(i / kMostSweeps, static_cast<double>(oracle_.work() - begun) / work_of_fractions_));
      load.price_smoothly(kBlunt * std::pow(kSharpens, done), std::max(0.0, kFloor * (1 - 2 * done)) * floor);
      shuffle(trees);
      for (Tree& tree : trees) {
        load.add(tree.sends, -1);
        regrow(tree, load);
        load.add(tree.sends, 1);
      }
      const std::pair now(total(load.rounds()), load.fractional_rounds());
      floor = now.second / steps_;
      if (!best.empty() && now >= fewest) continue;
      fewest = now;
      best = trees;
      if (now.first * bundle <= least) break;
    }
    std::ranges::stable_sort(best, {}, &Tree::of);
    chunks_.clear();
    for (const Tree& tree : best) chunks_.insert(chunks_.end(), bundle, tree);
  }

  TimedLoad load_now() const {
    TimedLoad load(topology_, orbits_, steps_);
    for (const Tree& chunk : chunks_) load.add(chunk.sends, 1);
    return load;
  }

  std::vector<int> evenly(int rounds) const {
    std::vector<int> by_step;
    for (int s = 0; s < steps_; ++s) by_step.push_back(rounds / steps_ + (s < rounds % steps_));
    return by_step;
  }

  // Takes 1, 2, 4, ... rounds away as long as repairs succeed, and half as many where one fails. After a
  // failure with a single round attempts divide the rounds evenly over the steps, until that fails, too.
  void tighten(int least) {
    std::vector<int> rounds = load_now().rounds();
    for (int fewer = 1, failures = 0;
         total(rounds) > least && failures < kMostFailures && effort_->affords(1);) {
      fewer = std::min(fewer, total(rounds) - least);
      const std::vector<Tree> before = chunks_;
      TimedLoad load = load_now();
      const bool even = failures % 2 == 1;  // where reducing the rounds failed, another division of them
      load.negotiate(even ? evenly(total(rounds) - fewer) : rounds);
      for (int i = 0; i < fewer && !even; ++i) load.narrow();
      if (repair(load)) {
        rounds = load.rounds();
        fewer *= 2;
        continue;
      }
      chunks_ = before;
      failures += fewer == 1;
      fewer = std::max(1, fewer / 2);
    }
  }

  // Until nothing is over. False if conflicts between chunks remain. In an iteration each chunk in what is
  // overloaded, and some others, takes the cheapest tree, with its own load taken out. Every fourth iteration
  // moves a round between steps.
  bool repair(TimedLoad& load) {
    const long long begun = oracle_.work();
    std::vector<Tree*> order;
    for (Tree& chunk : chunks_) order.push_back(&chunk);
    long long least = load.overflow();
    for (int i = 0, least_in = 0; least > 0 && i - least_in <= kPatience; ++i) {
      if (i > 0) load.raise();
      if (i % 4 == 3) load.move_round();
      shuffle(order);
      for (Tree* chunk : order) {
        if (!load.overloaded(chunk->sends) && random_() % kOthers != 0) continue;
        if (oracle_.work() - begun > kMostWorkOfRepair || !effort_->affords(1)) return false;
        load.add(chunk->sends, -1);
        regrow(*chunk, load);
        load.add(chunk->sends, 1);
      }
      if (const long long over = load.overflow(); over < least) {
        least = over;
        least_in = i;
      }
    }
    return least == 0;
  }

  // As it was, if nothing cheaper is found.
  void regrow(Tree& tree, const TimedLoad& load) {
    const ChunkClass& chunks = classes_[tree.of];
    const long long before = oracle_.work();
    double least = tree.sends.empty() ? TimedTree::kInfinitePrice : load.price(tree.sends);
    const int tries = collective_.combining ? kMeetingsTried : 1;
    for (int i = 0; i < tries || tree.sends.empty(); ++i) {
      sends_.clear();
      Meeting meeting = tree.meeting;
      if (collective_.combining && (i > 0 || meeting.root < 0)) meeting = some_meeting(chunks);
      const std::optional<double> price =
          collective_.combining ? grow_sum(chunks, meeting, load) : grow_copy(chunks, load);
      if (!price || *price >= least) continue;
      least = *price;
      tree.meeting = meeting;
      std::swap(tree.sends, sends_);
    }
    effort_->spend(oracle_.work() - before);
  }

  std::optional<double> grow_copy(const ChunkClass& chunks, const TimedLoad& load) {
    return oracle_.grow(
        {
            .roots = &chunks.pre,
            .targets = &chunks.post,
            .layers = steps_,
            .hops = chunks.post.size() == 1 ? &hops_to_.at(chunks.post.front()) : nullptr,
        },
        load, sends_);
  }

  // Mostly after half of the steps: both trees then have as many to share their links in.
  Meeting some_meeting(const ChunkClass& chunks) {
    const Rank root = chunks.pre[random_() % chunks.pre.size()];
    const bool after_half = random_() % 8 != 0;
    return {.root = root,
            .step = after_half ? static_cast<int>((steps_ + random_() % 2) / 2)
                               : static_cast<int>(random_() % static_cast<unsigned>(steps_ + 1))};
  }

  // At a rank that contributes, so that the sum is complete there and nowhere before, after enough steps for
  // all contributions to arrive and early enough for the sum to reach all.
  std::optional<double> grow_sum(const ChunkClass& chunks, const Meeting& meeting, const TimedLoad& load) {
    const RankSet root = {meeting.root};
    const int first = into(meeting.root, chunks), last = steps_ - out_of(root, chunks);
    if (last < first) return std::nullopt;
    const int whole = std::clamp(meeting.step, first, last);
    TimedTree::Question question{
        .roots = &root,
        .targets = &chunks.post,
        .start = whole,
        .layers = steps_ - whole,
    };
    const std::optional<double> down = oracle_.grow(question, load, sends_);
    question.targets = &chunks.pre;
    question.layers = whole;
    question.backwards = true;
    const std::optional<double> up = oracle_.grow(question, load, sends_);
    return down && up ? std::optional(*down + *up) : std::nullopt;
  }

  // The chunk of an Allgather or Alltoall to which the element carries another.
  Chunk carried(Chunk c, const std::vector<Rank>& element) const {
    const int copies = collective_.chunks_per_block, block = c / copies, ranks = topology_.ranks;
    const int image = collective_.kind == CollectiveKind::Alltoall
                          ? element[block / ranks] * ranks + element[block % ranks]
                          : element[block];
    return image * copies + c % copies;
  }

  Schedule schedule() const {
    Schedule schedule{.steps = std::vector<Step>(steps_)};
    std::vector<std::size_t> next(classes_.size(), 0);
    for (const Tree& tree : chunks_) {
      const Chunk chunk = classes_[tree.of].chunks[next[tree.of]++];
      for (int g = 0; g < std::ssize(group_); ++g)
        for (const TimedSend& send : tree.sends)
          schedule.steps[send.step].sends.push_back({.chunk = g == 0 ? chunk : carried(chunk, group_[g]),
                                                     .link = orbits_.image(send.link, g),
                                                     .reduce = send.reduce});
    }
    return tidy_sums(topology_, collective_, std::move(schedule));
  }

  const Topology& topology_;
  const Collective& collective_;
  const Group& group_;
  const LinkOrbits orbits_;
  TimedTree oracle_;
  std::vector<ChunkClass> classes_ = {};
  int count_ = 0, together_ = 0;  // chunks; a number of them that divides each class
  bool paths_ = true;
  std::map<Rank, std::vector<int>> hops_to_ = {};

  // Of one number of steps.
  int steps_ = 0;
  double work_of_fractions_ = 0;
  WorkBudget* effort_ = nullptr;
  std::vector<Tree> chunks_ = {};  // by class and number
  std::mt19937 random_{};
  TimedSends sends_ = {};
};

// With symmetries first, which is quicker; then each chunk by itself, which may beat that. Only of an
// Allgather and an Alltoall does a group carry chunks (carried).
std::vector<Group> groups_for(const Topology& topology, const Collective& collective) {
  std::vector<Group> groups;
  if (collective.kind == CollectiveKind::Allgather || collective.kind == CollectiveKind::Alltoall)
    if (Group shifts = digit_shifts(topology); shifts.size() > 1) groups.push_back(std::move(shifts));
  groups.push_back(identity_alone(topology.ranks));
  return groups;
}

}  // namespace

std::vector<Schedule> timed_packing(const Topology& topology, const Collective& collective,
                                    const std::vector<Schedule>& known, const std::function<int()>& bound,
                                    const std::atomic<bool>* stop, long long work) {
  std::vector<Schedule> best;
  for (const Group& group : groups_for(topology, collective)) {
    if ((stop != nullptr && *stop) || collective.chunks.size() / group.size() > kMaxChunksPerOrbit) continue;
    Packing packing(topology, collective, group);
    if (packing.nothing_moves()) return {};
    const std::optional<int> hops_needed = packing.fewest_steps();
    if (!hops_needed) return {};
    const int fewest = *hops_needed;
    WorkBudget effort(work, stop);
    // More and more steps, a sixth more each time: rates of close numbers of steps hardly differ.
    for (int steps = fewest; steps <= kTimesFewest * fewest + kMoreSteps && packing.is_quick(steps);
         steps += steps / kPartMoreSteps + 1) {
      if (!effort.affords(1)) break;
      const int least = std::max(bound(), steps);
      const int now = std::min(fewest_rounds_of(known, steps), fewest_rounds_of(best, steps));
      if (now <= least) continue;
      if (Schedule packed = packing.pack(steps, least, work, effort); total_rounds(packed) < now)
        keep_undominated(best, std::move(packed));
    }
  }
  return stop != nullptr && *stop ? std::vector<Schedule>{} : best;
}

}  // namespace chorale
