// A stage is a collective of every group. For each chunk the ranks that hold it (a copy, or the sum so far)
// are tracked; they determine the blocks of the group's collective. A block that the group's schedule cuts
// into c pieces is done c chunks at a time, a slice. Slices and groups run side by side, stages one after the
// other: a schedule of few steps, whose stages wait for each other. Retiming it (construct/retiming.h)
// overlaps what uses different links: slice 2 is gathered in its node while slice 3 crosses between nodes.
// Both kinds are kept.
//
// A chunk that one rank needs goes to the rank of a group from which later stages can lead there, which is
// computed over the groups backwards. Of chunks that all ranks need, the k-th chunk of a group goes to its
// k-th rank, round-robin. So chunks are assigned to ranks in the order of their numbers, and slices of one
// stage are slices of the next.
//
// Nothing is trusted: an outline that does not make the collective is detected by the verifier.
#include "construct/composition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "construct/engine/work_budget.h"
#include "construct/incumbents.h"
#include "construct/more_steps.h"
#include "construct/retiming.h"
#include "graph/embedding.h"
#include "ir/error.h"
#include "ir/schedule.h"
#include "ir/undominated.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

// Sends placed by all compositions of one question together: about a second.
constexpr long long kComposeEffort = 3'000'000;
constexpr long long kQuickComposeEffort = 300'000;
constexpr std::size_t kQuickPolicies = 3, kQuickNestings = 2;
constexpr int kMostSlice = 8;  // chunks of a slice: parts of more take longer to make than they are better
constexpr int kMostRanksOfPart = 256;
// Chunks times ranks: beyond, constructing and verifying points that were not requested takes seconds.
constexpr long long kMostHeld = 1 << 18;

// Which rank of its group a chunk leads on from, stage by stage, to where it is wanted.
class LeadingRanks {
 public:
  LeadingRanks(int ranks, const Outline& outline) : reach_(outline.size() + 1) {
    reach_.back().assign(ranks, std::vector<bool>(ranks, false));
    for (Rank n = 0; n < ranks; ++n) reach_.back()[n][n] = true;
    for (std::size_t k = outline.size(); k-- > 0;) {
      reach_[k] = reach_[k + 1];
      for (const std::vector<Rank>& group : outline[k].groups) {
        std::vector<bool> all(ranks, false);
        for (Rank n : group)
          for (Rank d = 0; d < ranks; ++d) all[d] = all[d] || reach_[k + 1][n][d];
        for (Rank n : group) reach_[k][n] = all;
      }
    }
  }

  // From rank n, after stage k, to d.
  bool leads(std::size_t k, Rank n, Rank d) const { return reach_[k + 1][n][d]; }

 private:
  // What rank n has before stage k may be at d after the last stage if, in each stage on the way, a group may
  // move it from any of its members to any other.
  std::vector<std::vector<std::vector<bool>>> reach_;  // before stage k: by rank and destination
};

// Made once for groups that are alike.
class PartSchedules {
 public:
  explicit PartSchedules(const ComposeQuestion& question)
      : stop_(question.stop), without_(question.without), quick_(question.quick) {}

  const std::vector<Point>& points(const Topology& part, CollectiveKind kind, int chunks, Rank root) {
    const auto facts = [](const Topology& t) { return std::tie(t.ranks, t.links, t.limits); };
    const auto equal = std::ranges::find(seen_, facts(part), facts);
    const auto number = static_cast<int>(equal - seen_.begin());
    if (equal == seen_.end()) seen_.emplace_back(part);
    const auto [at, added] = points_.try_emplace({number, kind, chunks, root});
    if (!added) return at->second;
    const Collective collective = make_collective(kind, part.ranks, chunks, root);
    at->second = incumbents(seen_[number], collective, stop_, kAnyRounds, without_);
    if (!quick_)
      std::ranges::move(grown_incumbents(part, collective, stop_, kAnyRounds, without_),
                        std::back_inserter(at->second));
    return at->second;
  }

 private:
  const std::atomic<bool>* stop_;
  const std::string without_;
  const bool quick_;
  std::vector<Machine> seen_ = {};
  std::map<std::tuple<int, CollectiveKind, int, Rank>, std::vector<Point>> points_ = {};
};

// How schedules of groups are chosen: by rounds plus `step_weight` times their steps, for whole blocks or
// slices of one chunk.
struct Policy {
  double step_weight = 0;
  bool sliced = false;
};
// The fewest steps, the fewest rounds, and something between; the first two also in slices.
constexpr Policy kPolicies[] = {{1e6, false}, {1e-3, false}, {1, false}, {1e6, true}, {1e-3, true}};

// One group's work in a stage: [block] -> chunks, in the order in which the collective numbers its blocks.
struct GroupWork {
  std::vector<Rank> group = {};
  CollectiveKind kind = CollectiveKind::Allgather;
  Rank root = 0;  // in the group
  std::vector<std::vector<Chunk>> blocks = {};
  std::size_t longest() const {
    std::size_t most = 0;
    for (const std::vector<Chunk>& block : blocks) most = std::max(most, block.size());
    return most;
  }
};

class Composer {
 public:
  Composer(const Topology& topology, const Collective& collective, const Outline& outline,
           PartSchedules& parts)
      : topology_(topology),
        collective_(collective),
        outline_(outline),
        parts_(parts),
        ways_(topology.ranks, outline) {
    machines_.resize(outline.size());
    for (std::size_t k = 0; k < outline.size(); ++k)
      for (const std::vector<Rank>& group : outline[k].groups)
        machines_[k].push_back(part_at(topology, group));
  }

  // Nothing if the stages cannot be composed; why() then gives the reason.
  std::optional<Schedule> sequential(const Policy& policy) {
    held_.assign(collective_.chunks.size(), std::vector<bool>(topology_.ranks, false));
    for (std::size_t c = 0; c < held_.size(); ++c)
      for (Rank n : collective_.chunks[c].pre) held_[c][n] = true;
    Schedule whole;
    for (std::size_t k = 0; k < outline_.size(); ++k) {
      std::vector<Step> steps;
      // All works are found before one takes effect: groups of a stage act on what the stage began with.
      std::vector<std::pair<std::size_t, GroupWork>> works;
      for (std::size_t g = 0; g < outline_[k].groups.size(); ++g)
        if (outline_[k].groups[g].size() > 1)
          for (GroupWork& work : works_of(k, outline_[k].groups[g]))
            if (work.longest() > 0) works.push_back({g, std::move(work)});
      for (const auto& [g, work] : works)
        if (!place(k, machines_[k][g], work, policy, steps)) return {};
      for (const auto& [g, work] : works) after(work);
      whole.steps.insert(whole.steps.end(), steps.begin(), steps.end());
    }
    return tidy(topology_, collective_, std::move(whole));
  }
  const std::string& why() const { return why_; }

 private:
  std::nullptr_t refuse(std::size_t k, const std::string& why) {
    why_ = fmt::format("stage {} ({} {}): {}", k + 1, name_of(outline_[k].kind), outline_[k].where, why);
    return nullptr;
  }

  // What is scattered over all ranks is gathered by all in the next stage.
  bool is_spread_at_once(std::size_t k) const {
    return outline_[k].kind == CollectiveKind::Scatter && outline_[k].groups.size() == 1;
  }

  // The position in the group from which a chunk leads on; the `number`-th of the chunks that all need is
  // assigned round-robin.
  int place_of(std::size_t k, const std::vector<Rank>& group, Chunk c, int holder, int number) const {
    const ChunkSpec& spec = collective_.chunks[c];
    if (spec.post.size() != 1) {
      // A holder that keeps no part for itself has all its links for the others' parts.
      const int others = static_cast<int>(group.size()) - (is_spread_at_once(k) ? 1 : 0);
      return others == static_cast<int>(group.size()) ? number % others
                                                      : (holder + 1 + number % others) % (others + 1);
    }
    for (std::size_t i = 0; i < group.size(); ++i)
      if (ways_.leads(k, group[i], spec.post.front())) return static_cast<int>(i);
    return -1;
  }

  // What there is to do in a group; of collectives with a root, a work a root. Copies (Allgather, Broadcast)
  // are for chunks that a member lacks; sums (AllReduce, ReduceScatter, Reduce) for chunks to which every
  // member contributes; Scatter, Gather and Alltoall move a chunk to the member from which it leads on.
  // Chunks without a holder in the group are left out.
  std::vector<GroupWork> works_of(std::size_t k, const std::vector<Rank>& group) const {
    const CollectiveKind kind = outline_[k].kind;
    const int n = static_cast<int>(group.size());
    std::map<Rank, GroupWork> by_root;
    const auto work_of = [&](Rank root, int blocks) -> GroupWork& {
      GroupWork& work = by_root[root];
      if (work.blocks.empty()) work = {.group = group, .kind = kind, .root = root};
      work.blocks.resize(static_cast<std::size_t>(blocks));
      return work;
    };
    std::map<int, int> numbers;  // of chunks that all need, by the rank that holds them
    for (Chunk c = 0; c < std::ssize(held_); ++c) {
      int holders = 0, first = -1;
      for (int i = 0; i < n; ++i)
        if (held_[c][group[i]]) {
          if (holders++ == 0) first = i;
        }
      if (holders == 0) continue;
      switch (kind) {
        case CollectiveKind::Allgather:
          if (holders < n) work_of(0, n).blocks[first].push_back(c);
          break;
        case CollectiveKind::Broadcast:
          if (holders < n) work_of(first, 1).blocks[0].push_back(c);
          break;
        case CollectiveKind::AllReduce:
          if (holders == n) work_of(0, 1).blocks[0].push_back(c);
          break;
        default: {
          const int to = place_of(k, group, c, first, numbers[first]++);
          if (to < 0) break;  // not wanted beyond this group
          if (kind == CollectiveKind::Scatter)
            work_of(first, n).blocks[to].push_back(c);
          else if (kind == CollectiveKind::Alltoall)
            work_of(0, n * n).blocks[first * n + to].push_back(c);
          else if (kind == CollectiveKind::Gather)
            work_of(collective_.chunks[c].post.size() == 1 ? to : 0, n).blocks[first].push_back(c);
          else if (kind == CollectiveKind::ReduceScatter && holders == n)
            work_of(0, n).blocks[to].push_back(c);
          else if (kind == CollectiveKind::Reduce && holders == n)
            work_of(collective_.chunks[c].post.size() == 1 ? to : 0, 1).blocks[0].push_back(c);
          break;
        }
      }
    }
    std::vector<GroupWork> works;
    for (auto& [root, work] : by_root) works.push_back(std::move(work));
    return works;
  }

  // Its sends, all slices at once from the stage's first step on. False where it cannot be done. Step s of
  // the group's schedule carries that step of every slice. Retiming takes slices apart.
  bool place(std::size_t k, const Topology& machine, const GroupWork& work, const Policy& policy,
             std::vector<Step>& steps) {
    const Point* const found = chosen(k, machine, work, policy);
    if (found == nullptr) return false;
    const Point& point = *found;
    const int slice = point.cost.chunks;
    std::vector<LinkId> links;  // of the part in the whole, as part_at numbers them
    std::vector<bool> inside(topology_.ranks, false);
    for (Rank n : work.group) inside[n] = true;
    for (LinkId l = 0; l < std::ssize(topology_.links); ++l)
      if (inside[topology_.links[l].src] && inside[topology_.links[l].dst]) links.push_back(l);
    if (steps.size() < point.schedule.steps.size()) steps.resize(point.schedule.steps.size());
    for (std::size_t s = 0; s < point.schedule.steps.size(); ++s)
      for (const Send& send : point.schedule.steps[s].sends) {
        const std::vector<Chunk>& block = work.blocks[send.chunk / slice];
        for (std::size_t at = send.chunk % slice; at < block.size(); at += slice)
          steps[s].sends.push_back({.chunk = block[at], .link = links[send.link], .reduce = send.reduce});
      }
    return true;
  }

  // Of the outline's own points, or of constructed ones, the cheapest by the policy. A constructed slice
  // divides the longest block, so no slice of that is short; a point of an outline comes with its slice, its
  // chunk count. Null: refused, and why_ has the reason.
  const Point* chosen(std::size_t k, const Topology& machine, const GroupWork& work, const Policy& policy) {
    const OutlineStage& stage = outline_[k];
    const auto longest = static_cast<int>(work.longest());
    const std::vector<Point>* points = &stage.points;
    if (points->empty()) {
      if (machine.ranks > kMostRanksOfPart) return refuse(k, "a group of over 256 ranks");
      int slice = policy.sliced ? 1 : std::min(longest, kMostSlice);
      while (longest % slice != 0) --slice;
      points = &parts_.points(machine, work.kind, slice, is_rooted(work.kind) ? work.root : 0);
    }
    const Point* best = nullptr;
    const auto price = [&](const Point& p) {
      const int slices = (longest + p.cost.chunks - 1) / p.cost.chunks;
      return policy.step_weight * p.cost.steps + static_cast<double>(p.cost.rounds) * slices;
    };
    for (const Point& point : *points) {
      const Collective& does = point.collective;
      if (does.ranks != machine.ranks || does.kind != work.kind ||
          (is_rooted(does.kind) && does.root != work.root))
        continue;
      if (best == nullptr || price(point) < price(*best)) best = &point;
    }
    if (best == nullptr)
      return refuse(k, stage.points.empty()
                           ? "the links of a group do not join it"
                           : "no schedule that was given is of this collective, ranks and root");
    for (const Step& step : best->schedule.steps)
      for (const Send& send : step.sends)
        if (send.link >= std::ssize(machine.links))
          return refuse(k, "the schedule that was given is for another machine");
    return best;
  }

  // The holders after the stage.
  void after(const GroupWork& work) {
    const int n = static_cast<int>(work.group.size());
    for (std::size_t b = 0; b < work.blocks.size(); ++b)
      for (Chunk c : work.blocks[b]) {
        std::vector<bool>& held = held_[c];
        const auto only = [&](int place) {
          for (Rank each : work.group) held[each] = false;
          held[work.group[place]] = true;
        };
        switch (work.kind) {
          case CollectiveKind::Allgather:
          case CollectiveKind::Broadcast:
            for (Rank each : work.group) held[each] = true;
            break;
          case CollectiveKind::Scatter:
          case CollectiveKind::ReduceScatter:
            only(static_cast<int>(b));
            break;
          case CollectiveKind::Alltoall:
            only(static_cast<int>(b) % n);
            break;
          case CollectiveKind::Gather:
          case CollectiveKind::Reduce:
            only(work.root);
            break;
          default:
            break;
        }
      }
  }

  const Topology& topology_;
  const Collective& collective_;
  const Outline& outline_;
  PartSchedules& parts_;
  std::string why_ = {};
  const LeadingRanks ways_;
  std::vector<std::vector<Topology>> machines_ = {};  // by stage and group
  std::vector<std::vector<bool>> held_ = {};          // by chunk and rank
};

// Points by steps; of equal ones the first.
class BestComposed {
 public:
  BestComposed(const ComposeQuestion& question) : question_(question) {}

  void add(Schedule schedule, const std::string& outline) {
    Point point{.method = Method::Levels,
                .construction = construction_name(outline),
                .collective = question_.collective};
    point.cost = cost_of(schedule, question_.collective.chunks_per_block);
    if (is_beaten(point.cost)) return;
    point.schedule = std::move(schedule);
    if (!fit_in_more_steps(question_.topology, point, question_.extra_rounds) || is_beaten(point.cost))
      return;
    if (const auto wrong = violations(question_.topology, question_.collective, point.schedule, 1);
        !wrong.empty()) {
      if (wrong.front().kind == Fault::Kind::Order) return;  // other steps, and ranks add up in another order
      throw std::logic_error("a schedule composed of sound ones is wrong: " + outline);
    }
    keep_undominated(points_, ComposedPoint{.point = std::move(point), .outline = outline},
                     [](const ComposedPoint& a, const ComposedPoint& b) {
                       return is_as_good(a.point.cost, b.point.cost);
                     });
    if (question_.found) question_.found(points_);
  }

  std::vector<ComposedPoint> points() && {
    std::ranges::sort(points_, {}, [](const ComposedPoint& p) { return p.point.cost.steps; });
    return std::move(points_);
  }

 private:
  bool is_beaten(const Cost& cost) const {
    return std::ranges::any_of(
        points_, [&](const ComposedPoint& other) { return is_as_good(other.point.cost, cost); });
  }

  const ComposeQuestion& question_;
  std::vector<ComposedPoint> points_ = {};
};

// Why the outline is not one for this machine and collective, in words; empty if it is. Policies that come to
// equal schedules are tried once. A schedule with its stages one after the other is kept beside its
// retimings: it may have the fewest steps.
std::string compose_into(BestComposed& best, const ComposeQuestion& question, const Outline& outline,
                         PartSchedules& parts, WorkBudget& effort) {
  Composer composer(question.topology, question.collective, outline, parts);
  std::vector<Schedule> tried;
  const std::string text = to_text(outline);
  for (const Policy& policy :
       std::span(kPolicies).first(question.quick ? kQuickPolicies : std::size(kPolicies))) {
    if (!tried.empty() && !effort.affords(0)) return "";
    const std::optional<Schedule> made = composer.sequential(policy);
    if (!made) return composer.why();
    const Schedule& flat = *made;
    effort.spend(total_sends(flat));
    if (std::ranges::find(tried, flat) != tried.end()) continue;
    tried.push_back(flat);
    if (const auto wrong = violations(question.topology, question.collective, flat, 1); !wrong.empty()) {
      if (wrong.front().kind == Fault::Kind::Order) continue;
      return fmt::format("the stages do not make this {}: {}", name_of(question.collective),
                         wrong.front().words);
    }
    best.add(flat, text);
    for (Schedule& schedule : retimings(question.topology, flat, effort)) best.add(std::move(schedule), text);
  }
  return "";
}

// Stages of a kind over these levels, one after the other.
void add_stages(Outline& outline, const Nesting& nesting, CollectiveKind kind,
                const std::vector<int>& levels) {
  for (int j : levels)
    outline.push_back({.kind = kind, .where = nesting.names[j], .groups = groups_at(nesting, {j})});
}

Outline stages_of(const Nesting& nesting, const std::vector<CollectiveKind>& kinds) {
  Outline outline;
  for (const CollectiveKind kind : kinds) add_stages(outline, nesting, kind, {0});
  return outline;
}

}  // namespace

// Levels are numbered from the outermost: inwards goes from the network to the nodes. Where data are divided
// first (a Scatter or ReduceScatter inside), each rank of a node sends its own part over the network.
std::vector<Outline> outlines_for(const Collective& collective, const Nesting& nesting) {
  using Kind = CollectiveKind;
  const int levels = static_cast<int>(nesting.fan_outs.size());
  std::vector<int> inwards, outwards;
  for (int j = 0; j < levels; ++j) inwards.push_back(j);
  outwards.assign(inwards.rbegin(), inwards.rend());
  if (levels == 1) {  // one group, whose data are divided first
    if (collective.kind == Kind::Broadcast) return {stages_of(nesting, {Kind::Scatter, Kind::Allgather})};
    if (collective.kind == Kind::Reduce) return {stages_of(nesting, {Kind::ReduceScatter, Kind::Gather})};
    return {};
  }
  const std::vector<int> outermost = {0}, inner_out(outwards.begin(), outwards.end() - 1),
                         inner_in(inwards.begin() + 1, inwards.end());
  std::vector<Outline> result;
  using Stages = std::vector<std::pair<Kind, std::vector<int>>>;
  const auto add = [&](const Stages& stages) {
    Outline outline;
    for (const auto& [kind, where] : stages) add_stages(outline, nesting, kind, where);
    result.push_back(std::move(outline));
  };
  switch (collective.kind) {
    case Kind::Allgather:
    case Kind::ReduceScatter:
    case Kind::Alltoall:
    case Kind::Scatter:
    case Kind::Gather:
      add({{collective.kind, inwards}});
      add({{collective.kind, outwards}});
      break;
    case Kind::Broadcast:
      add({{Kind::Broadcast, inwards}});
      add({{Kind::Scatter, inner_out}, {Kind::Broadcast, outermost}, {Kind::Allgather, inner_in}});
      add({{Kind::Scatter, outwards}, {Kind::Allgather, inwards}});
      add({{Kind::Broadcast, outwards}});
      break;
    case Kind::Reduce:
      add({{Kind::Reduce, outwards}});
      add({{Kind::ReduceScatter, inner_out}, {Kind::Reduce, outermost}, {Kind::Gather, inner_in}});
      add({{Kind::ReduceScatter, outwards}, {Kind::Gather, inwards}});
      break;
    case Kind::AllReduce:
      add({{Kind::ReduceScatter, inner_out}, {Kind::AllReduce, outermost}, {Kind::Allgather, inner_in}});
      add({{Kind::ReduceScatter, outwards}, {Kind::Allgather, inwards}});
      add({{Kind::AllReduce, outwards}});
      add({{Kind::Reduce, inner_out}, {Kind::AllReduce, outermost}, {Kind::Broadcast, inner_in}});
      break;
    default:
      break;
  }
  return result;
}

std::vector<ComposedPoint> compose(const ComposeQuestion& question, const Outline& outline,
                                   const std::string& where) {
  PartSchedules parts(question);
  WorkBudget effort(question.quick ? kQuickComposeEffort : kComposeEffort, question.stop);
  BestComposed best(question);
  if (const std::string why = compose_into(best, question, outline, parts, effort); !why.empty())
    throw InputError(where, why, "see 'chorale compose --help' for what stages there are");
  return std::move(best).points();
}

std::vector<ComposedPoint> compose_on(const ComposeQuestion& question, const std::vector<Nesting>& nestings) {
  if (std::ssize(question.collective.chunks) * question.topology.ranks > kMostHeld) return {};
  PartSchedules parts(question);
  WorkBudget effort(question.quick ? kQuickComposeEffort : kComposeEffort, question.stop);
  BestComposed best(question);
  std::vector<Nesting> all = nestings;
  if (question.quick) all.resize(std::min(all.size(), kQuickNestings));
  all.push_back({.names = {"rank"}, .fan_outs = {question.topology.ranks}});
  std::vector<Outline> outlines;
  for (const Nesting& nesting : all)
    std::ranges::move(outlines_for(question.collective, nesting), std::back_inserter(outlines));
  for (std::size_t i = 0; i < outlines.size() && !effort.stopped(); ++i) {
    WorkBudget each = effort.part(outlines.size() - i);
    compose_into(best, question, outlines[i], parts, each);  // or the links are not there
    effort.take_back(each);
  }
  return std::move(best).points();
}

}  // namespace chorale
