// Sums by phases of copies. Adding up at one rank, along an in-tree, is copying from that rank backwards
// (construct/engine/spreading.h on the reversed machine); with several *roots* it is copying from several,
// and each contribution ends in the sum of exactly one of them, since a rank is sent a chunk once. So:
//
//   gather     contributions are added up at the chunk's roots;
//   exchange   one step, if there are several: every root sends its part to each rank of `exchanged_to`;
//   spread     ranks with the whole sum give it to the destinations that lack it.
//
// A rank has one value per chunk, and in the exchange all read what was there before the step, so nothing
// counts twice. Three choices for each chunk are tried: one root for least depth (as few steps as a root
// allows); one root for least load (roots are assigned round-robin, which makes ReduceScatter + Allgather of
// an AllReduce); and roots that are linked with one another (fewer steps; on a full machine one).
//
// With unidirectional links there may be no rank that is reached by all and reaches all. Then contributions
// are first folded into *carriers*: contributors of which none reaches another. Each destination is reached
// by all carriers, so any group of destinations below a common rank can have its sum gathered there, from the
// carriers, one group after the other: the carriers keep their parts, since nothing arrives at them any more.
// What earlier gathers have left at other ranks is replaced by the first arrival of a later one. Roots are
// taken by how many destinations without one they reach, most first; so no root lies on a path to another,
// and a schedule is found wherever there is one.
//
// What lost: one list of sends with precedences for both phases, which lets the spread of one chunk begin
// while another is gathered. Each chunk's in-tree must then be fixed before anything is scheduled, and the
// freedom to hand on from any rank that has it, forwards and backwards, is gone.
#include "construct/sums.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "construct/baselines/plan.h"
#include "construct/engine/spreading.h"
#include "construct/more_steps.h"
#include "graph/embedding.h"

namespace chorale {
namespace {

// Of machines of which a root is found by the distances between all, a tenth of a second at most.
constexpr int kMaxRanksExamined = 512;

struct Gather {
  RankSet from = {};
  RankSet roots = {};  // a sum at a single one is whole
  bool operator==(const Gather&) const = default;
};

struct ChunkPlan {
  std::vector<Gather> gathers = {};     // one after the other
  std::vector<Rank> exchanged_to = {};  // by the roots of the first; empty: no exchange
  bool operator==(const ChunkPlan&) const = default;
};
using SumPlan = std::vector<ChunkPlan>;

// Ranks that contributions to a chunk can be added up at, by contributors and destinations.
struct Places {
  struct Root {
    Rank rank = 0;
    int steps = 0;  // to it and from it
  };
  std::vector<Root> roots = {};  // by rank
  std::optional<ChunkPlan> linked =
      {};  // roots that exchange, where that takes fewer steps than any single one
  std::optional<ChunkPlan> carried = {};  // where there is no root
};

class Planner {
 public:
  Planner(const Topology& topology, const WorkBudget& effort)
      : topology_(topology),
        effort_(effort),
        distances_(topology.ranks),
        hops_(topology),
        hops_back_(reversed(topology)) {
    for (const Link& link : topology.links) linked_.insert({link.src, link.dst});
  }

  // Null where some contribution cannot reach a destination, or when stopped.
  const Places* places(const ChunkSpec& spec) {
    const auto [at, fresh] = known_.try_emplace({spec.pre, spec.post});
    if (fresh) at->second = find_places(listed(spec.pre), listed(spec.post));
    return at->second ? &*at->second : nullptr;
  }

 private:
  using Ranks = std::vector<Rank>;

  static Ranks listed(const RankSet& set) { return {set.begin(), set.end()}; }

  const std::vector<int>& from(Rank n) {
    if (distances_[n].empty()) distances_[n] = hops_.from({n});
    return distances_[n];
  }
  bool reaches(Rank a, Rank b) { return from(a)[b] >= 0; }

  // A root is a rank that is reached by all and reaches all: of large machines the first one, where there is
  // no effort for more. Roots that exchange are searched only where one alone takes more steps than the
  // farthest contribution has hops: fewer than these nothing can take.
  std::optional<Places> find_places(const Ranks& pre, const Ranks& post) {
    if (!effort_.affords(1) && topology_.ranks > kMaxRanksExamined)
      for (Rank r = 0; r < topology_.ranks && !effort_.stopped(); ++r) {
        const int in = most_of(hops_back_.from({r}), pre), out = most_of(hops_.from({r}), post);
        if (in >= 0 && out >= 0) return Places{.roots = {{.rank = r, .steps = in + out}}};
      }
    for (Rank p : pre)
      for (Rank d : post)
        if (effort_.stopped() || !reaches(p, d)) return std::nullopt;
    Places places;
    if (post.empty()) return places;
    const std::vector<int> in = farthest(pre);
    for (Rank r = 0; r < topology_.ranks; ++r) {
      if (effort_.stopped()) return std::nullopt;
      if (in[r] < 0) continue;
      const int depth = most_of(from(r), post);
      if (depth < 0) continue;
      places.roots.push_back({.rank = r, .steps = in[r] + depth});
    }
    if (places.roots.empty()) places.carried = carried(pre, post);
    if (!places.roots.empty()) {
      const int fewest = std::ranges::min(places.roots, {}, &Places::Root::steps).steps;
      if (fewest > most_of(in, post)) places.linked = linked(pre, post, fewest);
    }
    return places;
  }

  // By rank: hops from the farthest of these; -1 where it does not hear of one.
  std::vector<int> farthest(const Ranks& ranks) {
    std::vector<int> most(topology_.ranks, 0);
    for (Rank p : ranks)
      for (Rank n = 0; n < topology_.ranks; ++n)
        most[n] = most[n] < 0 || from(p)[n] < 0 ? -1 : std::max(most[n], from(p)[n]);
    return most;
  }

  // To the farthest of these; -1 where one is not reached.
  static int most_of(const std::vector<int>& distance, const Ranks& ranks) {
    int most = 0;
    for (Rank n : ranks) {
      if (distance[n] < 0) return -1;
      most = std::max(most, distance[n]);
    }
    return most;
  }

  bool all_linked(const Ranks& a, const Ranks& b) const {
    return std::ranges::all_of(a, [&](Rank n) {
      return std::ranges::all_of(b, [&](Rank m) { return n == m || linked_.contains({n, m}); });
    });
  }

  // All contributors to all directly; else contributors that are linked with one another in both directions:
  // pairs, and what grows from a rank by adding the next that is linked with all. Roots contribute
  // themselves, so each has something to send and no other rank has the complete sum.
  std::optional<ChunkPlan> linked(const Ranks& pre, const Ranks& post, int fewest) {
    if (all_linked(pre, post))
      return ChunkPlan{.gathers = {{.from = pre, .roots = pre}}, .exchanged_to = post};
    constexpr std::size_t kMostPairs = 512;
    std::set<Ranks> groups;
    for (Rank a : pre) {
      Ranks group = {a};
      for (Rank b : pre) {
        if (b == a || !all_linked({a, b}, {a, b})) continue;
        if (groups.size() < kMostPairs) groups.insert({std::min(a, b), std::max(a, b)});
        if (all_linked(group, {b}) && all_linked({b}, group)) group.push_back(b);
      }
      std::ranges::sort(group);
      if (group.size() > 1) groups.insert(group);
    }
    std::optional<ChunkPlan> best;
    for (const Ranks& group : groups) {
      if (effort_.stopped()) break;
      const int in = most_of(hops_back_.from(group), pre), out = most_of(hops_.from(group), post);
      if (in < 0 || out < 0 || in + 1 + out >= fewest) continue;
      fewest = in + 1 + out;
      best = ChunkPlan{.gathers = {{.from = pre, .roots = group}}, .exchanged_to = group};
    }
    return best;
  }

  // Carriers: of contributors that reach one another the least, unless one of them reaches a contributor that
  // does not reach it. Every contribution then folds into some carrier. A root for what is left is there as
  // long as there is a destination left: each of them hears of all, and so is one itself.
  ChunkPlan carried(const Ranks& pre, const Ranks& post) {
    Ranks carriers;
    for (Rank p : pre) {
      const bool folds = std::ranges::any_of(
          pre, [&](Rank q) { return reaches(p, q) && (!reaches(q, p) || q < p) && q != p; });
      if (!folds) carriers.push_back(p);
    }
    ChunkPlan plan{.gathers = {{.from = pre, .roots = carriers}}};
    const std::vector<int> in = farthest(pre);
    for (Ranks left = post; !left.empty();) {
      const auto served = [&](Rank n) {
        return in[n] < 0 ? 0 : std::ranges::count_if(left, [&](Rank d) { return reaches(n, d); });
      };
      Rank root = left.front();
      for (Rank n = 0; n < topology_.ranks; ++n)
        if (served(n) > served(root)) root = n;
      plan.gathers.push_back({.from = carriers, .roots = {root}});
      std::erase_if(left, [&](Rank d) { return reaches(root, d); });
    }
    return plan;
  }

  const Topology& topology_;
  const WorkBudget& effort_;
  std::vector<std::vector<int>> distances_;  // by rank, where known: hops to every other
  HopCounts hops_, hops_back_;
  std::set<std::pair<Rank, Rank>> linked_ = {};
  std::map<std::pair<RankSet, RankSet>, std::optional<Places>> known_ = {};
};

enum class TreeShape { Shallow, Spread, Linked };

// One plan for every chunk by one choice. Of roots that are equal to it the one used least so far.
SumPlan plan_for(TreeShape choice, const Collective& sums, const std::vector<const Places*>& places) {
  std::vector<int> used(sums.ranks, 0);
  SumPlan plan;
  for (std::size_t c = 0; c < sums.chunks.size(); ++c) {
    const ChunkSpec& spec = sums.chunks[c];
    const Places& p = *places[c];
    if (p.carried || (choice == TreeShape::Linked && p.linked)) {
      plan.push_back(p.carried ? *p.carried : *p.linked);
    } else if (p.roots.empty()) {
      plan.push_back({});  // no rank needs it
    } else {
      const Rank root = std::ranges::min(p.roots, {}, [&](const Places::Root& r) {
                          return choice == TreeShape::Spread ? std::tuple(used[r.rank], r.steps, r.rank)
                                                             : std::tuple(r.steps, used[r.rank], r.rank);
                        }).rank;
      ++used[root];
      plan.push_back({.gathers = {{.from = spec.pre, .roots = {root}}}});
    }
  }
  return plan;
}

class Phases {
 public:
  Phases(const Topology& topology, const Collective& sums, const SumPlan& plan, WorkBudget& effort)
      : topology_(topology), sums_(sums), plan_(plan), effort_(effort) {}

  std::vector<Schedule> run() {
    std::vector<Schedule> whole = {Schedule{}};
    std::size_t gathers = 0;
    for (const ChunkPlan& chunk : plan_) gathers = std::max(gathers, chunk.gathers.size());
    for (std::size_t i = 0; i < gathers; ++i) whole = followed_by(std::move(whole), gather(i));
    if (Schedule exchanged = exchange(); !exchanged.steps.empty())
      whole = followed_by(std::move(whole), {std::move(exchanged)});
    whole = followed_by(std::move(whole), spread_sums());
    for (Schedule& schedule : whole) remove_needless(schedule);
    return whole;
  }

 private:
  // Of as many chunks as the sums have, so that sends keep their chunk; one that has nothing to do in a phase
  // starts somewhere and goes nowhere.
  Collective copies() const {
    Collective c{.custom_name = "phase", .ranks = sums_.ranks};
    c.chunks.resize(sums_.chunks.size(), {.pre = {0}});
    return c;
  }

  std::vector<Schedule> gather(std::size_t i) {
    // From the roots to the contributors on the reversed machine; read backwards, contributions flow to the
    // roots.
    Collective backwards = copies();
    for (std::size_t c = 0; c < plan_.size(); ++c)
      if (i < plan_[c].gathers.size())
        backwards.chunks[c] = {.pre = plan_[c].gathers[i].roots, .post = plan_[c].gathers[i].from};
    std::vector<Schedule> schedules;
    for (const Schedule& schedule : spread(reversed(topology_), backwards, effort_))
      schedules.push_back(i == 0 ? reversed(schedule, true) : replacing(reversed(schedule, true)));
    return schedules;
  }

  // Outside of the carriers, which nothing arrives at, the first arrival of a chunk replaces what is there.
  Schedule replacing(Schedule schedule) const {
    std::set<std::pair<Chunk, Rank>> met;
    for (Step& step : schedule.steps) {
      for (Send& send : step.sends)
        if (met.insert({send.chunk, topology_.links[send.link].dst}).second) send.reduce = false;
      std::ranges::sort(step.sends);
    }
    return schedule;
  }

  // All roots send in one step, so each reads what was gathered there and not what others send it.
  Schedule exchange() const {
    Plan plan;
    for (Chunk c = 0; c < static_cast<int>(plan_.size()); ++c)
      for (Rank to : plan_[c].exchanged_to)
        for (Rank root : plan_[c].gathers[0].roots)
          if (root != to) add(plan, 0, {.chunk = c, .src = root, .dst = to, .reduce = true});
    return on_topology(plan, topology_).value();  // only ranks that are linked exchange
  }

  // From the ranks that have the whole sum by then: those of the exchange, or each gather's only root.
  std::vector<Schedule> spread_sums() {
    Collective forwards = copies();
    for (std::size_t c = 0; c < plan_.size(); ++c) {
      if (plan_[c].gathers.empty()) continue;
      std::vector<Rank> whole = plan_[c].exchanged_to;
      if (whole.empty())
        for (const Gather& gather : plan_[c].gathers)
          if (gather.roots.size() == 1) whole.push_back(gather.roots[0]);
      std::ranges::sort(whole);
      forwards.chunks[c] = {.pre = whole, .post = sums_.chunks[c].post};
    }
    return spread(topology_, forwards, effort_);
  }

  // Every continuation of every beginning, if no other dominates it.
  static std::vector<Schedule> followed_by(std::vector<Schedule> begun, const std::vector<Schedule>& more) {
    struct Pair {
      std::size_t steps = 0;
      int rounds = 0;
      const Schedule* first = nullptr;
      const Schedule* second = nullptr;
    };
    std::vector<Pair> pairs;
    for (const Schedule& a : begun)
      for (const Schedule& b : more)
        pairs.push_back({a.steps.size() + b.steps.size(), total_rounds(a) + total_rounds(b), &a, &b});
    std::ranges::stable_sort(pairs, {}, [](const Pair& p) { return std::pair(p.steps, p.rounds); });
    std::vector<Schedule> result;
    int fewest = -1;
    for (const Pair& pair : pairs) {
      if (fewest >= 0 && pair.rounds >= fewest) continue;
      fewest = pair.rounds;
      result.push_back(sequence(*pair.first, *pair.second));
    }
    return result;
  }

  // A root without a contribution of its own that hears of all from one rank is not the only one with the
  // whole sum: that rank has it too, and needs no copy.
  void remove_needless(Schedule& schedule) const {
    std::set<Chunk> to_look_at;
    for (std::size_t c = 0; c < plan_.size(); ++c)
      for (const Gather& gather : plan_[c].gathers)
        if (gather.roots.size() == 1 && !std::ranges::binary_search(gather.from, gather.roots[0]))
          to_look_at.insert(static_cast<Chunk>(c));
    if (to_look_at.empty()) return;
    std::map<std::pair<Chunk, Rank>, std::vector<std::pair<std::size_t, Send>>> arrivals;
    for (std::size_t s = 0; s < schedule.steps.size(); ++s)
      for (const Send& send : schedule.steps[s].sends)
        if (to_look_at.contains(send.chunk))
          arrivals[{send.chunk, topology_.links[send.link].dst}].push_back({s, send});

    std::set<std::pair<std::size_t, Send>> needless;
    for (Chunk c : to_look_at)
      for (const Gather& gather : plan_[c].gathers) {
        if (gather.roots.size() != 1) continue;
        // What is in the value of n before step s: arrivals since the last one that replaced it.
        Rank n = gather.roots[0];
        for (std::size_t s = schedule.steps.size();;) {
          std::vector<std::pair<std::size_t, Send>> parts;
          bool own = std::ranges::binary_search(sums_.chunks[c].pre, n);
          for (const auto& arrival : arrivals[{c, n}]) {
            if (arrival.first >= s) {
              needless.insert(arrival);
              continue;
            }
            if (!arrival.second.reduce) {
              own = false;
              std::erase_if(parts, [&](const auto& part) { return part.first < arrival.first; });
            }
            parts.push_back(arrival);
          }
          if (own || parts.size() != 1) break;
          s = parts[0].first;
          n = topology_.links[parts[0].second.link].src;
        }
      }
    if (needless.empty()) return;
    for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
      Step& step = schedule.steps[s];
      std::erase_if(step.sends, [&](const Send& send) { return needless.contains({s, send}); });
      step.rounds = needed_rounds(topology_, step);
    }
    std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
  }

  const Topology& topology_;
  const Collective& sums_;
  const SumPlan& plan_;
  WorkBudget& effort_;
};

}  // namespace

std::vector<Schedule> add_up(const Topology& topology, const Collective& sums, WorkBudget& effort,
                             int extra) {
  Planner planner(topology, effort);
  std::vector<const Places*> places;
  for (const ChunkSpec& spec : sums.chunks) {
    places.push_back(planner.places(spec));
    if (places.back() == nullptr) return {};
  }
  std::vector<SumPlan> tried;
  std::vector<Schedule> best;
  // The first is made in any case. Choices that come to the same plan make it once.
  for (TreeShape choice : {TreeShape::Shallow, TreeShape::Linked, TreeShape::Spread}) {
    SumPlan plan = plan_for(choice, sums, places);
    if (std::ranges::find(tried, plan) != tried.end()) continue;
    if (!tried.empty() && !effort.affords(1)) break;
    // An exchange may need all its rounds in one step: what goes by a single root must not be dropped for it
    // before.
    for (const Schedule& schedule : Phases(topology, sums, plan, effort).run())
      if (std::optional<Schedule> fitting = in_more_steps(topology, sums, schedule, extra))
        keep_undominated(best, std::move(*fitting));
    tried.push_back(std::move(plan));
  }
  return best;
}

}  // namespace chorale
