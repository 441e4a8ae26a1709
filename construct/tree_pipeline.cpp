// List scheduling: in a step of q rounds each link takes, of what can go over it, what is most urgent. A small q makes many steps
// that are full, a large one few; every q is tried that grows by a third, and where sends are many, that doubles.
//
// What is urgent: who has a long way still before it must be earlier, but chunks are to be done one after the other. Where trees
// are few and alike, chunks that take all trees once go before the next ones (in turns). Where they differ, each chunk is due
// when its share of all rounds is over (in places): in turns the high trees of a turn would all start at once and starve each
// other later, and a torus less links comes to 1.16 of the bound however many chunks there are, in place of 1.03. By the way
// alone all chunks go up before the first comes down, which is better in few wide steps only: mesh:4x4 67 rounds for 64 chunks,
// and 47 in turns.
//
// What it takes beyond the load of the fullest link is filling and emptying, however many chunks there are: 7 rounds on mesh:4x4
// and on a line of 8, 22 on mesh:8x8. On the line no schedule can do without 6 of them: what crosses the last link has crossed
// the first one six steps before. So what remains above the bound is a matter of chunks, and of steps.
#include "construct/tree_pipeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "construct/load.h"
#include "construct/spreading.h"

namespace chorale {
namespace {

// Sends put in steps, in all widths together: some seconds. Beyond a part of it, only widths that double.
constexpr long long kMostPlaced = 8'000'000;
constexpr long long kFewPlaced = 1'000'000;
// Of copies, in all shares of the rounds that are left, from all of them down to the least, which comes to a round a step.
constexpr long long kMostCopiesPlaced = 1'500'000;
constexpr long long kFewestShares = 8, kMostShares = 40;
constexpr double kLeastShare = 0.001;

// One half of a tree, from the root on.
struct Hung {
  std::vector<int> depth = {};
  std::vector<int> height = {};  // of what hangs below a rank
  std::vector<std::vector<Rank>> below = {};
  std::vector<Rank> roots = {};  // one, but of copies that start at several
};

Hung hung(const std::vector<Rank>& above) {
  if (above.empty()) return {};
  const int ranks = static_cast<int>(above.size());
  Hung tree{.depth = std::vector<int>(ranks, 0),
            .height = std::vector<int>(ranks, 0),
            .below = std::vector<std::vector<Rank>>(ranks)};
  for (Rank n = 0; n < ranks; ++n)
    if (above[n] >= 0)
      tree.below[above[n]].push_back(n);
    else
      tree.roots.push_back(n);
  std::vector<Rank> order = tree.roots;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (Rank n : tree.below[order[i]]) {
      tree.depth[n] = tree.depth[order[i]] + 1;
      order.push_back(n);
    }
  for (auto n = order.rbegin(); n != order.rend(); ++n)
    if (above[*n] >= 0) tree.height[above[*n]] = std::max(tree.height[above[*n]], tree.height[*n] + 1);
  return tree;
}

// Who goes first over a link.
enum class First {
  Turn,   // of a turn, in which chunks take each tree once: the longest way still to go
  Place,  // the chunk that is due: chunks of a demand are due one after the other, evenly
  Way,    // the longest way still to go
};

// Sends over tree edges, with who waits for whom. Job 2n of a chunk goes up from rank n, job 2n + 1 comes down to it.
class TreeJobs {
 public:
  TreeJobs(const Topology& topology, const std::vector<SumTree>& trees, const std::vector<int>& tree_of,
           int rounds)
      : topology_(topology), trees_(trees), tree_of_(tree_of), chunks_(static_cast<int>(tree_of.size())) {
    std::map<std::pair<Rank, Rank>, int> roads;
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      const auto [at, fresh] =
          roads.try_emplace({topology.links[l].src, topology.links[l].dst}, static_cast<int>(links_.size()));
      if (fresh) links_.emplace_back();
      links_[at->second].push_back(l);
    }
    for (const SumTree& tree : trees) {
      Half& half = halves_.emplace_back(Half{.up = hung(tree.up), .down = hung(tree.down)});
      half.roads.assign(2 * static_cast<std::size_t>(topology.ranks), -1);
      for (Rank n = 0; n < topology.ranks; ++n) {
        if (!tree.up.empty() && tree.up[n] >= 0) half.roads[2 * n] = roads.at({n, tree.up[n]});
        if (tree.down[n] >= 0) half.roads[2 * n + 1] = roads.at({tree.down[n], n});
      }
    }
    std::vector<int> taken(trees.size(), 0);
    for (Chunk c = 0; c < chunks_; ++c) {
      turn_.push_back(static_cast<long long>(taken[tree_of[c]]++) * rounds);
      jobs_ += std::ranges::count_if(tree(c).roads, [](int road) { return road >= 0; });
    }
  }

  long long jobs() const { return jobs_; }

  // Steps of at most so many rounds.
  Schedule in_steps_of(int rounds, First first) {
    rounds_ = rounds;
    first_ = first;
    find_places();
    return in_steps([] { return 0; });
  }

  // Steps of a share of the rounds that are left.
  Schedule in_steps_of_share(double share, First first) {
    first_ = first;
    rounds_ = 1;
    find_places();
    Remaining remaining = all();
    return in_steps([&] {
      for (const Ready& job : done_) remaining.add(tree(job.chunk).roads[job.job], -1);
      return static_cast<int>(std::ceil(static_cast<double>(remaining.rounds()) * share));
    });
  }

 private:
  // What roads still have to carry. Of parallel links the first one's limits count.
  class Remaining {
   public:
    Remaining(const Topology& topology, const std::vector<std::vector<LinkId>>& links)
        : topology_(topology), links_(links), roads_(links.size(), 0), limits_(topology.limits.size(), 0) {
      std::map<LinkId, int> road_of;
      for (int road = 0; road < std::ssize(links); ++road) {
        road_of[links[road].front()] = road;
        wide_.push_back(0);
        for (LinkId l : links[road]) wide_.back() += topology.links[l].bandwidth;
      }
      limits_of_.resize(links.size());
      for (int z = 0; z < std::ssize(topology.limits); ++z)
        for (LinkId l : topology.limits[z].links)
          if (const auto at = road_of.find(l); at != road_of.end()) limits_of_[at->second].push_back(z);
    }
    void add(int road, int jobs) {
      roads_[road] += jobs;
      for (int z : limits_of_[road]) limits_[z] += jobs;
    }
    long long rounds() const {
      long long most = 1;
      for (std::size_t r = 0; r < roads_.size(); ++r)
        most = std::max(most, (roads_[r] + wide_[r] - 1) / wide_[r]);
      for (std::size_t z = 0; z < limits_.size(); ++z)
        most =
            std::max(most, (limits_[z] + topology_.limits[z].bandwidth - 1) / topology_.limits[z].bandwidth);
      return most;
    }

   private:
    const Topology& topology_;
    const std::vector<std::vector<LinkId>>& links_;
    std::vector<long long> roads_, limits_, wide_ = {};
    std::vector<std::vector<int>> limits_of_ = {};
  };

  Remaining all() const {
    Remaining all(topology_, links_);
    for (Chunk c = 0; c < chunks_; ++c)
      for (int road : tree(c).roads)
        if (road >= 0) all.add(road, 1);
    return all;
  }

  // A sum is one demand; copies that start together are.
  void find_places() {
    if (first_ != First::Place || !place_.empty()) return;
    const long long rounds = all().rounds();
    std::map<std::vector<Rank>, std::vector<Chunk>> demands;
    for (Chunk c = 0; c < chunks_; ++c)
      demands[tree(c).up.below.empty() ? tree(c).down.roots : std::vector<Rank>{}].push_back(c);
    place_.assign(chunks_, 0);
    for (const auto& [roots, chunks] : demands)
      for (std::size_t i = 0; i < chunks.size(); ++i)
        place_[chunks[i]] = static_cast<long long>(i) * rounds / std::ssize(chunks);
  }

  // `width` of the next step; 0: as it was.
  template <typename Width>
  Schedule in_steps(const Width& width) {
    waits_.assign(static_cast<std::size_t>(chunks_) * topology_.ranks, 0);
    ready_.assign(links_.size(), {});
    freed_.clear();
    done_.clear();
    for (Chunk c = 0; c < chunks_; ++c) start(c);
    Schedule schedule;
    Load load(topology_);
    for (long long left = jobs(); left > 0; left -= std::ssize(done_)) {
      for (const auto& [c, job] : freed_) ready_[tree(c).roads[job]].push(ready(c, job));
      if (const int next = width(); next > 0) rounds_ = next;
      freed_.clear();
      done_.clear();
      Step step;
      if (topology_.limits.empty())
        take_road_by_road(step);
      else
        take_most_urgent(load, step);
      for (const Ready& job : done_) free_by(job);
      std::ranges::sort(step.sends);
      step.rounds = needed_rounds(topology_, step);
      schedule.steps.push_back(std::move(step));
    }
    return schedule;
  }

  void start(Chunk c) {
    const Half& half = tree(c);
    for (Rank n = 0; n < std::ssize(half.up.below); ++n) {
      waits_of(c, n) = static_cast<int>(half.up.below[n].size());
      if (waits_of(c, n) == 0 && n != half.up.roots.front()) freed_.push_back({c, 2 * n});
    }
    if (half.up.below.empty())
      for (Rank root : half.down.roots)
        for (Rank n : half.down.below[root]) freed_.push_back({c, 2 * n + 1});
  }

  struct Half {
    Hung up = {}, down = {};
    std::vector<int> roads = {};  // by job
  };
  struct Ready {
    long long urgency = 0;  // rounds that it takes from here on, less those that chunks before it take
    Chunk chunk = 0;
    int job = 0;
    bool operator<(const Ready& other) const {
      return std::tuple(urgency, -chunk, -job) < std::tuple(other.urgency, -other.chunk, -other.job);
    }
  };

  const Half& tree(Chunk c) const { return halves_[tree_of_[c]]; }
  int& waits_of(Chunk c, Rank n) { return waits_[static_cast<std::size_t>(c) * topology_.ranks + n]; }

  Ready ready(Chunk c, int job) const {
    const Half& half = tree(c);
    const Rank n = job / 2;
    const int far =
        job % 2 == 0 ? half.up.depth[n] + half.down.height[half.down.roots.front()] : half.down.height[n];
    const long long due = first_ == First::Turn ? turn_[c] : first_ == First::Place ? place_[c] : 0;
    return {.urgency = static_cast<long long>(far) * rounds_ - due, .chunk = c, .job = job};
  }

  void take(int road, LinkId l, Step& step) {
    done_.push_back(ready_[road].top());
    ready_[road].pop();
    step.sends.push_back({.chunk = done_.back().chunk, .link = l, .reduce = done_.back().job % 2 == 0});
  }

  void take_road_by_road(Step& step) {
    for (int road = 0; road < std::ssize(links_); ++road)
      for (LinkId l : links_[road])
        for (int room = rounds_ * topology_.links[l].bandwidth; room > 0 && !ready_[road].empty(); --room)
          take(road, l, step);
  }

  // Over all roads, since they share limits.
  void take_most_urgent(Load& load, Step& step) {
    std::priority_queue<std::pair<Ready, int>> heads;
    const auto show = [&](int road) {
      if (!ready_[road].empty()) heads.push({ready_[road].top(), road});
    };
    for (int road = 0; road < std::ssize(links_); ++road) show(road);
    load.clear();
    while (!heads.empty()) {
      const int road = heads.top().second;
      heads.pop();
      for (LinkId l : links_[road]) {
        if (!load.has_room(l, rounds_)) continue;
        load.add(l);
        take(road, l, step);
        show(road);
        break;
      }
    }
  }

  // What goes up lets the rank above go up, or, at the root, all below it get the sum; what comes down lets those below.
  void free_by(const Ready& done) {
    const Half& half = tree(done.chunk);
    Rank complete = done.job / 2;
    if (done.job % 2 == 0) {
      const Rank above = above_of(done.chunk, complete);
      if (--waits_of(done.chunk, above) > 0) return;
      if (above != half.up.roots.front()) {
        freed_.push_back({done.chunk, 2 * above});
        return;
      }
      complete = above;
    }
    for (Rank n : half.down.below[complete]) freed_.push_back({done.chunk, 2 * n + 1});
  }
  Rank above_of(Chunk c, Rank n) const { return trees_[tree_of_[c]].up[n]; }

  const Topology& topology_;
  const std::vector<SumTree>& trees_;
  const std::vector<int>& tree_of_;  // by chunk
  const int chunks_;
  std::vector<std::vector<LinkId>> links_ = {};  // by road: all from one rank to another
  std::vector<Half> halves_ = {};
  std::vector<long long> turn_ = {}, place_ = {};  // by chunk: in which round it is due
  long long jobs_ = 0;
  // Of a try.
  int rounds_ = 0;
  First first_ = First::Turn;
  std::vector<int> waits_ = {};  // by chunk and rank: ranks below that have not come up
  std::vector<std::priority_queue<Ready>> ready_ = {};  // by road
  std::vector<std::pair<Chunk, int>> freed_ = {};       // since the last step
  std::vector<Ready> done_ = {};                        // in this step
};

}  // namespace

std::vector<Schedule> pipelines(const Topology& topology, const std::vector<SumTree>& trees, int chunks,
                                int rounds, const std::atomic<bool>* stop) {
  std::vector<int> tree_of;
  for (Chunk c = 0; c < chunks; ++c) tree_of.push_back(c % static_cast<int>(trees.size()));
  TreeJobs jobs(topology, trees, tree_of, rounds);
  const long long most = static_cast<long long>(rounds) * ((chunks - 1) / std::ssize(trees) + 1);
  std::vector<Schedule> schedules;
  long long placed = 0;
  for (long long width = 1; width <= most && placed <= kMostPlaced;) {
    for (const First first : {First::Turn, First::Place, First::Way}) {
      if (stop != nullptr && *stop) return schedules;
      if (first == First::Way && placed > kFewPlaced) break;
      keep_undominated(schedules, jobs.in_steps_of(static_cast<int>(width), first));
      placed += jobs.jobs();
    }
    width += placed > kFewPlaced ? width : width / 3 + 1;
  }
  return schedules;
}

std::vector<Schedule> copy_pipelines(const Topology& topology, const std::vector<SumTree>& trees,
                                     const std::vector<int>& tree_of, const std::atomic<bool>* stop) {
  TreeJobs jobs(topology, trees, tree_of, 1);
  std::vector<Schedule> schedules;
  const long long tries =
      std::clamp(kMostCopiesPlaced / std::max(1LL, jobs.jobs()), kFewestShares, kMostShares);
  for (long long i = 0; i < tries; ++i) {
    if (stop != nullptr && *stop) return schedules;
    const double share = std::pow(kLeastShare, static_cast<double>(i) / static_cast<double>(tries - 1));
    for (const First first : {First::Way, First::Place})
      keep_undominated(schedules, jobs.in_steps_of_share(share, first));
  }
  return schedules;
}

}  // namespace chorale
