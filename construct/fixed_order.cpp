// A sum along a tree is a schedule in which every used partial sum is a node of it. For one chunk that leaves
// open which rank makes each node: of the ranks at which the two operands lie, one sends to the other. The
// cheapest choice is found from the leaves upwards, since what a node costs at a rank depends on its operands
// alone; links cost more as they fill up, so that later chunks go elsewhere. Then list scheduling, in steps
// of equal width: an operand may arrive once the other one is complete, or in the same step, since a step's
// arrivals are added along the tree. Where a node has more than two operands (sums that are made at once)
// they are single contributions, and come in the first step.
//
// A rank has one value of a chunk, so a partial sum may pass only through ranks whose own contributions are
// in it, or in what it is added to: the latter once that is complete. Without such paths a tree of pairs of
// pairs has no schedule on a ring of eight, and was never chosen for one.
#include "construct/fixed_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "construct/baselines/rings.h"
#include "construct/engine/list_scheduling.h"
#include "construct/engine/load.h"
#include "construct/engine/network.h"
#include "construct/engine/spreading.h"
#include "construct/nestings.h"
#include "graph/paths.h"
#include "ir/error.h"

namespace chorale {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kSweeps = 4;  // over all chunks

// A send that waits for others of its chunk. Operands of a sum that is made at once arrive in one step.
struct TreeTransfer {
  LinkId link = 0;
  bool reduce = false;
  bool at_once = false;
  std::vector<int> after = {};  // transfers that arrive in earlier steps
  std::vector<int> with = {};   // and that arrive no later
};
using TransferPlan = std::vector<TreeTransfer>;

// Plans chunk after chunk; what the others load makes links more expensive for it. The first have no others
// before them, and are planned again.
class OrderPlanner {
 public:
  OrderPlanner(const Topology& topology, const Collective& collective)
      : topology_(topology), collective_(collective), load_(topology), out_(topology.ranks) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      const Link& link = topology.links[l];
      out_[link.src].push_back(l);
    }
  }

  // Empty where some node cannot be made.
  std::vector<TransferPlan> plans() {
    std::vector<TransferPlan> plans(collective_.chunks.size());
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      for (Chunk c = 0; c < std::ssize(plans); ++c) {
        for (const TreeTransfer& each : plans[c]) load_.add(each.link, -1);
        std::optional<TransferPlan> plan = planned(collective_.chunks[c]);
        if (!plan) return {};
        plans[c] = *std::move(plan);
        for (const TreeTransfer& each : plans[c]) load_.add(each.link);
      }
    return plans;
  }

 private:
  // A node's value at a rank: where its operands lie, by child, and the links that bring them, none for the
  // one that lies here.
  struct Option {
    double cost = kNever;
    std::vector<Rank> ranks = {};
    std::vector<std::vector<LinkId>> paths = {};
  };
  using Paths = CheapestPaths<double>;

  // Twice as full costs eight times as much.
  double price(LinkId l) const {
    const double full = load_.price(l);
    return full * full * full;
  }

  // From where an operand may lie to all ranks, through those that are free, from a node before all of them.
  Paths paths_of(const std::map<Rank, Option>& operand, const std::vector<bool>& free) const {
    const int before_all = topology_.ranks;
    return cheapest_paths(before_all + 1, std::vector{before_all}, 0.0, kNever,
                          [&](int n, double so_far, const auto& reach) {
                            if (n == before_all)
                              for (const auto& [m, theirs] : operand) reach(m, -1, theirs.cost);
                            else if (free[n] || operand.contains(n))
                              for (const LinkId l : out_[n])
                                reach(topology_.links[l].dst, l, so_far + price(l));
                          });
  }

  // A node's value at rank n, where one operand lies; each other comes over its cheapest path.
  Option option(const std::vector<int>& children, const std::map<int, Paths>& paths, int here, double mine,
                Rank n) const {
    Option made{.cost = mine};
    for (const int child : children) {
      made.ranks.push_back(n);
      made.paths.emplace_back();
      if (child == here) continue;
      const Paths& to = paths.at(child);
      made.cost += to.cost[n];
      if (made.cost == kNever) return made;
      Rank& from = made.ranks.back();
      for (; to.by[from] >= 0; from = topology_.links[to.by[from]].src)
        made.paths.back().push_back(to.by[from]);
      std::ranges::reverse(made.paths.back());
    }
    return made;
  }

  // Dynamic programming over the tree, whose nodes are numbered after their children. The root's rank is
  // chosen with what it costs to reach the farthest destination from there.
  std::optional<TransferPlan> planned(const ChunkSpec& spec) {
    const CombinationTree tree = restricted(collective_.order.tree, {spec.pre.begin(), spec.pre.end()});
    const int nodes = static_cast<int>(tree.parent.size());
    std::vector<std::vector<int>> children(nodes);
    for (int node = 0; node < nodes; ++node)
      if (tree.parent[node] >= 0) children[tree.parent[node]].push_back(node);
    std::vector<std::map<Rank, Option>> at(nodes);
    for (const Rank n : spec.pre) at[n][n] = {.cost = 0};
    node_of_.assign(topology_.ranks, -1);
    for (const Rank n : spec.pre) node_of_[n] = n;
    for (int node = tree.leaves; node < nodes; ++node) {
      // Where three or more are added at once, none passes through others.
      std::vector<bool> free(topology_.ranks, false);
      for (Rank n = 0; n < topology_.ranks; ++n)
        free[n] = children[node].size() == 2 &&
                  std::ranges::find(children[node], node_of_[n]) != children[node].end();
      std::map<int, Paths> paths;
      for (const int child : children[node]) paths[child] = paths_of(at[child], free);
      for (const int here : children[node])
        for (const auto& [n, mine] : at[here]) {
          Option made = option(children[node], paths, here, mine.cost, n);
          if (made.cost < kNever) at[node][n] = std::move(made);
        }
      for (int& each : node_of_)
        if (each >= 0 && tree.parent[each] == node) each = node;
    }
    const int root_node = spec.pre.size() == 1 ? spec.pre.front() : nodes - 1;
    if (at[root_node].empty()) return std::nullopt;
    Rank root = -1;
    double least = kNever;
    for (const auto& [n, option] : at[root_node]) {
      const double cost = option.cost + reach(n, spec.post);
      if (cost < least) least = cost, root = n;
    }
    if (root < 0) return std::nullopt;
    TransferPlan plan;
    const std::vector<int> made = gather(plan, children, at, root_node, root);
    if (!spread(plan, root, spec.post, made)) return std::nullopt;
    return plan;
  }

  // From the nearest of some ranks to each.
  CheapestPaths<double> cheapest_ways(const std::vector<Rank>& from) const {
    return cheapest_paths(topology_.ranks, from, 0.0, kNever, [&](Rank n, double so_far, const auto& reach) {
      for (const LinkId l : out_[n]) reach(topology_.links[l].dst, l, so_far + price(l));
    });
  }
  // The price of the farthest destination from there.
  double reach(Rank from, const RankSet& post) const {
    const CheapestPaths<double> ways = cheapest_ways({from});
    double most = 0;
    for (const Rank d : post) most = std::max(most, ways.cost[d]);
    return most;
  }

  // The transfers that make a node at a rank; returns those after which its value is complete there.
  std::vector<int> gather(TransferPlan& plan, const std::vector<std::vector<int>>& children,
                          const std::vector<std::map<Rank, Option>>& at, int node, Rank n) const {
    if (children[node].empty()) return {};
    const Option& option = at[node].at(n);
    const auto count = std::ssize(children[node]);
    const auto here = std::ranges::find(option.ranks, n) - option.ranks.begin();
    std::vector<int> mine = gather(plan, children, at, children[node][here], n);
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      if (k == here) continue;
      std::vector<int> theirs = gather(plan, children, at, children[node][k], option.ranks[k]);
      // What it passes through may have a part of what is here.
      for (const LinkId l : option.paths[k]) {
        const bool is_last = l == option.paths[k].back();
        if (!is_last) theirs.insert(theirs.end(), mine.begin(), mine.end());
        plan.push_back({.link = l, .reduce = is_last, .at_once = count > 2, .after = std::move(theirs)});
        if (is_last) plan.back().with = mine;
        theirs = {static_cast<int>(plan.size()) - 1};
      }
      mine.push_back(theirs.front());
    }
    return mine;
  }

  // Repeatedly copies along the cheapest path from the ranks that have the sum to the nearest that needs it.
  bool spread(TransferPlan& plan, Rank root, const RankSet& post, const std::vector<int>& made) {
    std::map<Rank, std::vector<int>> has = {{root, made}};
    std::vector<Rank> wanting;
    for (const Rank d : post)
      if (d != root) wanting.push_back(d);
    while (!wanting.empty()) {
      std::vector<Rank> holders;
      for (const auto& [n, after] : has) holders.push_back(n);
      const CheapestPaths<double> ways = cheapest_ways(holders);
      const Rank nearest = *std::ranges::min_element(wanting, {}, [&](Rank n) { return ways.cost[n]; });
      if (ways.cost[nearest] == kNever) return false;
      std::vector<LinkId> way;
      for (Rank n = nearest; !has.contains(n); n = topology_.links[ways.by[n]].src) way.push_back(ways.by[n]);
      for (auto link = way.rbegin(); link != way.rend(); ++link) {
        plan.push_back({.link = *link, .after = has.at(topology_.links[*link].src)});
        has[topology_.links[*link].dst] = {static_cast<int>(plan.size()) - 1};
      }
      std::erase_if(wanting, [&](Rank d) { return has.contains(d); });
    }
    return true;
  }

  const Topology& topology_;
  const Collective& collective_;
  Load load_;
  std::vector<std::vector<LinkId>> out_;
  std::vector<int> node_of_ = {};  // by rank: the largest node of the tree so far that has its contribution
};

// Transfers of a plan that arrive at once come first in it: all in the first step, which is not of the graph.
int before_any(const TransferPlan& plan) {
  return static_cast<int>(std::ranges::count(plan, true, &TreeTransfer::at_once));
}

// What adds on must arrive no earlier than what was added before it; what is complete leaves in a later
// step.
SendGraph graph_of(const std::vector<TransferPlan>& plans, const Network& network) {
  SendGraph graph(network);
  for (const TransferPlan& plan : plans) {
    const int first = graph.count();
    for (const TreeTransfer& transfer : plan) {
      if (transfer.at_once) continue;
      const int job = graph.add(transfer.link);
      const auto wait = [&](int other, bool later) {
        if (!plan[other].at_once) graph.wait(job, first + other - before_any(plan), later);
      };
      for (const int other : transfer.after) wait(other, true);
      for (const int other : transfer.with) wait(other, false);
    }
  }
  graph.finish();
  return graph;
}

// The longest path still ahead goes first.
Schedule ordered(const Topology& topology, const std::vector<TransferPlan>& plans, const SendGraph& graph,
                 long long width) {
  const StepAssignment assignment =
      in_even_steps(
          graph, [&](int, int j) { return -graph.height(j); }, static_cast<double>(width))
          .value();
  const int first = std::ranges::any_of(plans, before_any) ? 1 : 0;
  Schedule schedule{.steps = std::vector<Step>(first + assignment.rounds.size())};
  int job = 0;
  for (Chunk c = 0; c < std::ssize(plans); ++c)
    for (const TreeTransfer& each : plans[c])
      schedule.steps[each.at_once ? 0 : first + assignment.step_of[job++]].sends.push_back(
          {.chunk = c, .link = each.link, .reduce = each.reduce});
  for (Step& step : schedule.steps) {
    step.rounds = needed_rounds(topology, step);
    std::ranges::sort(step.sends);
  }
  return schedule;
}

// Trees are made as texts of nested pairs: ((0 1) (2 3)).

// "(a b)" of the two halves of these texts, recursively.
std::string halved(const std::vector<std::string>& parts) {
  if (parts.size() == 1) return parts.front();
  const auto middle = parts.begin() + static_cast<std::ptrdiff_t>((parts.size() + 1) / 2);
  return "(" + halved({parts.begin(), middle}) + " " + halved({middle, parts.end()}) + ")";
}

// Halves at each level, the innermost first.
std::string by_levels(const Nesting& nesting) {
  std::vector<std::string> parts;
  for (Rank n = 0;
       n < std::accumulate(nesting.fan_outs.begin(), nesting.fan_outs.end(), 1, std::multiplies<>()); ++n)
    parts.push_back(std::to_string(n));
  for (auto fan_out = nesting.fan_outs.rbegin(); fan_out != nesting.fan_outs.rend(); ++fan_out) {
    std::vector<std::string> outer;
    for (std::size_t first = 0; first < parts.size(); first += static_cast<std::size_t>(*fan_out))
      outer.push_back(halved({parts.begin() + static_cast<std::ptrdiff_t>(first),
                              parts.begin() + static_cast<std::ptrdiff_t>(first) + *fan_out}));
    parts = std::move(outer);
  }
  return parts.front();
}

// Parts that are linked are merged in pairs, those with the widest links between them first.
std::string by_pairs(const Topology& topology) {
  std::vector<int> part(topology.ranks);
  std::iota(part.begin(), part.end(), 0);
  std::map<int, std::string> texts;
  for (Rank n = 0; n < topology.ranks; ++n) texts[n] = std::to_string(n);
  while (texts.size() > 1) {
    std::map<std::pair<int, int>, long long> width;
    for (const Link& link : topology.links)
      if (const int a = part[link.src], b = part[link.dst]; a != b)
        width[{std::min(a, b), std::max(a, b)}] += link.bandwidth;
    std::vector<std::tuple<long long, int, int>> pairs;
    for (const auto& [ends, wide] : width) pairs.push_back({-wide, ends.first, ends.second});
    std::ranges::sort(pairs);
    std::vector<bool> merged(topology.ranks, false);
    bool any = false;
    for (const auto& [wide, a, b] : pairs) {
      if (merged[a] || merged[b]) continue;
      merged[a] = merged[b] = any = true;
      texts[a] = "(" + texts[a] + " " + texts[b] + ")";
      texts.erase(b);
      for (int& each : part)
        if (each == b) each = a;
    }
    if (!any) {  // nothing is linked with the rest
      std::string all;
      for (const auto& [n, text] : texts) all += (all.empty() ? "(" : " ") + text;
      return all + ")";
    }
  }
  return texts.begin()->second;
}

// As texts, in the form of --order, so that what is chosen is printed and asked for in the same words.
std::vector<std::string> candidates(const Topology& topology) {
  std::vector<std::string> ranks;
  for (Rank n = 0; n < topology.ranks; ++n) ranks.push_back(std::to_string(n));
  std::vector<std::string> all = {halved(ranks), by_pairs(topology)};
  for (const Nesting& nesting : nestings(topology)) all.push_back(by_levels(nesting));
  if (const Order ring = widest_ring(topology); !ring.empty()) {
    all.push_back(fmt::format("({})", fmt::join(ring, " ")));
    std::vector<std::string> along;
    for (const Rank n : ring) along.push_back(std::to_string(n));
    all.push_back(halved(along));
  }
  return all;
}

}  // namespace

// Of up to 64 ranks an AllReduce is tried with as many chunks as ranks, so that trees are compared by how
// evenly they load links, and not by one chunk's path.
CombinationTree suitable_tree(const Topology& topology, const Collective& collective) {
  Collective tried = collective.kind == CollectiveKind::AllReduce && topology.ranks <= 64
                         ? of_kind(collective, collective.kind, topology.ranks)
                         : collective;
  CombinationTree best;
  std::pair<int, int> least = {std::numeric_limits<int>::max(), 0};
  for (const std::string& text : candidates(topology)) {
    tried.order = parse_sum_order(text, topology.ranks, "--order");
    WorkBudget effort(std::numeric_limits<long long>::max(), nullptr);
    if (best.parent.empty()) best = tried.order.tree;
    if (!tried.combining) return best;
    for (const Schedule& schedule : sums_in_order(topology, tried, effort))
      if (const std::pair cost(total_rounds(schedule), static_cast<int>(schedule.steps.size()));
          cost < least) {
        least = cost;
        best = tried.order.tree;
      }
  }
  return best;
}

// Widths 1, 2, 4, ... trade rounds for steps, up to steps in which nothing waits for room.
std::vector<Schedule> sums_in_order(const Topology& topology, const Collective& collective,
                                    WorkBudget& effort) {
  if (!collective.combining || collective.order.kind != SumOrder::Kind::Fixed) return {};
  const std::vector<TransferPlan> plans = OrderPlanner(topology, collective).plans();
  if (plans.empty()) return {};
  const Network network(topology);
  const SendGraph graph = graph_of(plans, network);
  const long long transfers = std::max(1, graph.count());
  std::vector<Schedule> schedules;
  for (long long width = 1; width <= 2 * transfers; width *= 2) {
    if (!schedules.empty() && !effort.affords(transfers)) break;
    Schedule schedule = ordered(topology, plans, graph, width);
    effort.spend(transfers * static_cast<long long>(schedule.steps.size()));
    keep_undominated(schedules, std::move(schedule));
  }
  return schedules;
}

}  // namespace chorale
