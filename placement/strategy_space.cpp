// States are what devices hold after some instructions, by the verifier's own rules, with the share of the
// data that each device holds beside it, since the price of an instruction depends on it. Edges never lead
// back to a state (sort_states stops the program if one does), so paths need no memory of where they have
// been, and what does not lead to the goal is dropped at once (of four levels 21,804 states are found, and
// 3,943 are left).
#include "placement/strategy_space.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <queue>
#include <stdexcept>

#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"

namespace chorale {
namespace {

using Operation = StrategyInstruction::Operation;

// The share of the data that each device holds: by level, how often it was scattered over the level; empty:
// nothing.
using Shares = std::vector<std::vector<int>>;

struct State {
  ReductionState held;
  Shares shares;
  auto operator<=>(const State&) const = default;
  bool operator==(const State&) const = default;
};

// A grouping of the model and where its groups differ.
struct ModelGrouping {
  Grouping grouping;
  std::vector<bool> joined;
};

class Explorer {
 public:
  // A grouping joins a level if devices of one of its groups differ there; all its groups are copies of
  // the first.
  explicit Explorer(int levels) : levels_(levels), devices_(1 << levels) {
    std::vector<int> sizes(levels + 1, 2);
    sizes[0] = 1;
    for (Grouping& grouping : all_groupings(sizes)) {
      std::vector<bool> joined(levels, false);
      const std::vector<int>& group = grouping.groups.front();
      for (int device : group)
        for (int l = 0; l < levels; ++l)
          if (digit(device, l) != digit(group.front(), l)) joined[l] = true;
      groupings_.push_back({std::move(grouping), std::move(joined)});
    }
  }

  // Each device holds its own summand and all of the data.
  State start() const { return {ReductionState(devices_), Shares(devices_, std::vector<int>(levels_, 0))}; }
  // All hold the whole sum, and all of the data: what was scattered was gathered again.
  State goal() const {
    State state = start();
    std::vector<int> all(devices_);
    for (int d = 0; d < devices_; ++d) all[d] = d;
    state.held = ReductionState::reduced(devices_, {all});
    return state;
  }

  template <typename Visit>
  void successors(const State& state, Visit visit) const {
    for (const ModelGrouping& g : groupings_)
      for (Operation operation : kAllOperations) {
        if (!state.held.allows(operation, g.grouping.groups)) continue;
        State next = state;
        next.held.apply(operation, g.grouping.groups);
        const Charge charge = share(state, next.shares, operation, g);
        StrategyInstruction instruction = g.grouping.name;
        instruction.operation = operation;
        visit(std::move(next), instruction, charge);
      }
  }

 private:
  int digit(int device, int level) const { return device >> (levels_ - 1 - level) & 1; }

  // New shares, and what the instruction moves. The first device of a group represents all: in a Broadcast no
  // other counts, and in all others the rules require all to hold equally much. Groups may differ from each
  // other; those that hold the same become one part of the charge.
  Charge share(const State& before, Shares& shares, Operation operation, const ModelGrouping& g) const {
    std::map<std::vector<int>, std::vector<int>> acting;  // by what they hold: first devices of groups
    for (const std::vector<int>& group : g.grouping.groups) {
      const std::vector<int> held = before.shares[group.front()];
      if (held.empty()) continue;
      acting[held].push_back(group.front());
      for (int device : group) {
        shares[device] = held;
        if (operation == Operation::Reduce && device != group.front()) shares[device] = {};
        for (int l = 0; l < levels_; ++l) {
          if (!g.joined[l] || shares[device].empty()) continue;
          if (operation == Operation::ReduceScatter) ++shares[device][l];
          if (operation == Operation::AllGather) --shares[device][l];
        }
      }
    }
    Charge charge{.operation = operation, .joined = g.joined};
    for (const auto& [held, firsts] : acting) {
      for (const std::vector<Place>& places : boxes(firsts, g.joined)) charge.parts.push_back({places, held});
    }
    return charge;
  }

  // The positions of groups with these first devices, in as few boxes as possible. In a level of size 2,
  // digit 0 is the first position and digit 1 stands for all the rest, so a charge has a meaning for levels
  // of every size.
  std::vector<std::vector<Place>> boxes(const std::vector<int>& firsts,
                                        const std::vector<bool>& joined) const {
    std::vector<std::vector<Place>> result;
    for (int device : firsts) {
      result.emplace_back(levels_, Place::All);
      for (int l = 0; l < levels_; ++l)
        if (!joined[l]) result.back()[l] = digit(device, l) == 0 ? Place::First : Place::Rest;
    }
    // Two that differ in one level only become one.
    for (int l = 0; l < levels_; ++l) {
      std::vector<std::vector<Place>> merged;
      for (std::vector<Place> box : result) {
        std::vector<Place> twin = box;
        twin[l] = box[l] == Place::First ? Place::Rest : Place::First;
        if (box[l] != Place::All && std::find(result.begin(), result.end(), twin) != result.end()) {
          if (box[l] == Place::Rest) continue;
          box[l] = Place::All;
        }
        merged.push_back(std::move(box));
      }
      result = std::move(merged);
    }
    return result;
  }

  int levels_, devices_;
  std::vector<ModelGrouping> groupings_ = {};
};

// All states that instructions reach from the start, numbered as they are found, breadth first. What is found
// is read while it grows: keys of a map stay where they are.
struct Explored {
  struct Edge {
    int to = 0;
    StrategyInstruction instruction = {};
    Charge charge = {};
  };
  std::vector<std::vector<Edge>> edges = {};
  int goal = 0;
};

// Breadth first, so states are numbered by the fewest instructions that reach them.
Explored explore(const Explorer& explorer) {
  Explored found;
  std::map<State, int> numbers;
  std::vector<const State*> states;
  const auto number = [&](State state) {
    const auto [at, added] = numbers.emplace(std::move(state), static_cast<int>(states.size()));
    if (added) {
      states.push_back(&at->first);
      found.edges.emplace_back();
    }
    return at->second;
  };
  number(explorer.start());
  for (int from = 0; from < static_cast<int>(states.size()); ++from)
    explorer.successors(*states[from],
                        [&](State next, const StrategyInstruction& instruction, const Charge& charge) {
                          const int to = number(std::move(next));
                          found.edges[from].push_back({to, instruction, charge});
                        });
  const auto goal = numbers.find(explorer.goal());
  if (goal == numbers.end()) throw std::logic_error("no strategy reaches the goal");
  found.goal = goal->second;
  return found;
}

// The states that lead to the goal, numbered again in the same order; -1 for the others.
// One pass backwards from the goal.
std::vector<int> numbers_of_useful(const Explored& all) {
  std::vector<std::vector<int>> into(all.edges.size());
  for (int from = 0; from < static_cast<int>(all.edges.size()); ++from)
    for (const Explored::Edge& edge : all.edges[from]) into[edge.to].push_back(from);
  std::vector<int> kept(all.edges.size(), -1), queue = {all.goal};
  kept[all.goal] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (int from : into[queue[i]])
      if (kept[from] < 0) {
        kept[from] = 0;
        queue.push_back(from);
      }
  int count = 0;
  for (int& state : kept)
    if (state == 0) state = count++;
  return kept;
}

}  // namespace

// Equal charges of different edges are one, so that a machine prices each once.
StrategySpace::StrategySpace(int levels) : levels_(levels) {
  const Explored all = explore(Explorer(levels));
  const std::vector<int> kept = numbers_of_useful(all);
  goal_ = kept[all.goal];
  std::map<Charge, int> charges;
  for (std::size_t from = 0; from < all.edges.size(); ++from) {
    if (kept[from] < 0) continue;
    edges_.emplace_back();
    for (const Explored::Edge& edge : all.edges[from]) {
      if (kept[edge.to] < 0) continue;
      const auto [at, added] = charges.emplace(edge.charge, static_cast<int>(charges_.size()));
      if (added) charges_.push_back(edge.charge);
      edges_.back().push_back({kept[edge.to], edge.instruction, at->second});
    }
  }
  sort_states();
}

// Kahn's algorithm. That it reaches every state is the proof that there are no cycles.
void StrategySpace::sort_states() {
  std::vector<int> incoming(edges_.size(), 0);
  for (const std::vector<Edge>& out : edges_)
    for (const Edge& edge : out) ++incoming[edge.to];
  for (int state = 0; state < states(); ++state)
    if (incoming[state] == 0) order_.push_back(state);
  for (std::size_t i = 0; i < order_.size(); ++i)
    for (const Edge& edge : edges_[order_[i]])
      if (--incoming[edge.to] == 0) order_.push_back(edge.to);
  if (order_.size() != edges_.size()) throw std::logic_error("strategies can return to a state");
}

std::shared_ptr<const StrategySpace> StrategySpace::of(int levels) {
  static std::mutex mutex;
  static std::array<std::shared_ptr<const StrategySpace>, kMostLevels + 1> spaces;
  if (levels < 1 || levels > kMostLevels) throw std::logic_error("no such strategy space");
  // A second thread waits for the first rather than exploring the same.
  const std::lock_guard lock(mutex);
  if (!spaces[levels]) spaces[levels].reset(new StrategySpace(levels));
  return spaces[levels];
}

// States stay as they are. States with no path to the goal any more lose their edges, so that no search
// enters them.
void StrategySpace::keep_only(const std::vector<StrategyInstruction>& groupings) {
  const auto known = [&](StrategyInstruction name) {
    name.operation = StrategyInstruction{}.operation;
    return std::ranges::find(groupings, name) != groupings.end();
  };
  std::vector<bool> leads(edges_.size(), false);
  leads[goal_] = true;
  for (auto state = order_.rbegin(); state != order_.rend(); ++state) {
    std::erase_if(edges_[*state],
                  [&](const Edge& edge) { return !leads[edge.to] || !known(edge.instruction); });
    leads[*state] = leads[*state] || !edges_[*state].empty();
  }
}

std::shared_ptr<const StrategySpace> StrategySpace::of(int levels,
                                                       std::vector<StrategyInstruction> groupings) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::vector<StrategyInstruction>>, std::shared_ptr<const StrategySpace>>
      spaces;
  const auto all = of(levels);
  const std::lock_guard lock(mutex);
  const auto [at, added] = spaces.try_emplace({levels, std::move(groupings)});
  if (added) {
    auto part = std::shared_ptr<StrategySpace>(new StrategySpace(*all));
    part->keep_only(at->first.second);
    at->second = std::move(part);
  }
  return at->second;
}

// Longest paths by dynamic programming in topological order.
int StrategySpace::longest() const {
  std::vector<int> steps(edges_.size(), 0);  // of the longest path there
  for (int state : order_)
    for (const Edge& edge : edges_[state]) steps[edge.to] = std::max(steps[edge.to], steps[state] + 1);
  return steps[goal_];
}

bool StrategySpace::one_step(int from, int to) const {
  return std::any_of(edges_[from].begin(), edges_[from].end(),
                     [&](const Edge& edge) { return edge.to == to; });
}

// Walks over the graph of states (placement/strategy_space.h): all strategies, their number, the cheapest.
//
// The cheapest strategies come from the best-first search with the true remaining price as its estimate,
// which one pass backwards over the graph gives. With an exact estimate nothing is opened that is not the
// beginning of an answer (or of a detour, under Rules::Paper), so listing more costs what is listed.

namespace {

// Would `next` be a detour: does a state of the path before its last reach it in one step?
bool is_detour(const StrategySpace& space, const std::vector<int>& path, int next) {
  if (next == space.goal()) return false;
  return std::any_of(path.begin(), path.end() - 1,
                     [&](int earlier) { return space.one_step(earlier, next); });
}

// Calls visit(edges) for every strategy, depth first. None goes on from the goal, where no instruction is
// legal any more.
template <typename Visit>
void walk(const StrategySpace& space, Rules rules, int most, Visit visit) {
  std::vector<int> path = {space.start()};
  std::vector<const StrategySpace::Edge*> edges;
  const auto go = [&](const auto& self) -> void {
    for (const StrategySpace::Edge& edge : space.edges(path.back())) {
      if (rules == Rules::Paper && is_detour(space, path, edge.to)) continue;
      edges.push_back(&edge);
      path.push_back(edge.to);
      if (edge.to == space.goal())
        visit(edges);
      else if (static_cast<int>(edges.size()) < most)
        self(self);
      path.pop_back();
      edges.pop_back();
    }
  };
  if (most > 0) go(go);
}

}  // namespace

void sort_by_length(std::vector<Strategy>& strategies) {
  std::ranges::sort(strategies, [](const Strategy& a, const Strategy& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
}

std::vector<Strategy> all_strategies(const StrategySpace& space, Rules rules, int most) {
  std::vector<Strategy> result;
  walk(space, rules, most, [&](const std::vector<const StrategySpace::Edge*>& edges) {
    result.emplace_back();
    for (const StrategySpace::Edge* edge : edges) result.back().push_back(edge->instruction);
  });
  sort_by_length(result);
  return result;
}

// One by one, and not by adding up over states: whether a step is a detour depends on the path to it.
std::vector<long long> count_strategies(const StrategySpace& space, Rules rules, int most) {
  std::vector<long long> counts(most + 1, 0);
  walk(space, rules, most,
       [&](const std::vector<const StrategySpace::Edge*>& edges) { ++counts[edges.size()]; });
  return counts;
}

// Twelve significant digits: 11 behind the first one.
double rounded_price(double price) {
  if (!(price > 0) || !std::isfinite(price)) return price;
  const double unit = std::pow(10.0, std::floor(std::log10(price)) - 11);
  return std::round(price / unit) * unit;
}

// A strategy with an instruction that cannot be done has an infinite price, and is not counted.
Count count_cheaper(const StrategySpace& space, const std::vector<double>& prices, Rules rules, int most,
                    double than) {
  Count count;
  walk(space, rules, most, [&](const std::vector<const StrategySpace::Edge*>& edges) {
    double price = 0;
    for (const StrategySpace::Edge* edge : edges) price += prices[edge->charge];
    if (!std::isfinite(price)) return;
    ++count.all;
    count.cheaper += rounded_price(price) < rounded_price(than);
  });
  return count;
}

namespace {

double price_of(const PricedStrategy& strategy, const std::vector<double>& prices) {
  double price = 0;
  for (int charge : strategy.charges) price += prices[charge];
  return price;
}

}  // namespace

Count count_cheaper(const std::vector<PricedStrategy>& strategies, const std::vector<double>& prices,
                    double than) {
  Count count;
  for (const PricedStrategy& strategy : strategies) {
    const double price = price_of(strategy, prices);
    if (!std::isfinite(price)) continue;
    ++count.all;
    count.cheaper += rounded_price(price) < rounded_price(than);
  }
  return count;
}

namespace {

// Sums of the same numbers in another order are equal, and then the shorter comes first.
// Rounded to twelve digits before they are compared, or equal strategies would change places by compiler.
void sort_by_price(std::vector<PricedStrategy>& strategies) {
  std::stable_sort(strategies.begin(), strategies.end(),
                   [](const PricedStrategy& a, const PricedStrategy& b) {
                     return std::pair(rounded_price(a.price), a.instructions.size()) <
                            std::pair(rounded_price(b.price), b.instructions.size());
                   });
}

}  // namespace

std::vector<PricedStrategy> cheapest_strategies(const StrategySpace& space, const std::vector<double>& prices,
                                                Rules rules, int most, int longest) {
  // What is still to be paid from each state on, by one pass from the goal backwards.
  std::vector<double> remaining(space.states(), std::numeric_limits<double>::infinity());
  remaining[space.goal()] = 0;
  const std::vector<int>& order = space.in_order();
  for (auto state = order.rbegin(); state != order.rend(); ++state)
    for (const StrategySpace::Edge& edge : space.edges(*state))
      remaining[*state] = std::min(remaining[*state], prices[edge.charge] + remaining[edge.to]);

  struct Walked {  // a path, by its last edge
    int state;
    // Parents are positions, since the list grows while it is read.
    int before;  // in `walked`, -1 at the start
    const StrategySpace::Edge* edge;
    double price;
    int length = 0;
  };
  // Paths share their beginnings, and none is forgotten, so each is written down once.
  std::vector<Walked> walked = {{space.start(), -1, nullptr, 0}};
  using Entry = std::pair<double, int>;  // estimate, path; ties in the order of finding
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  open.push({remaining[space.start()], 0});
  std::vector<PricedStrategy> result;
  while (!open.empty() && static_cast<int>(result.size()) < most) {
    const int at = open.top().second;
    open.pop();
    // The estimate of an ended path is its price, and nothing open is less: it is the next cheapest.
    if (walked[at].state == space.goal()) {
      PricedStrategy found{.price = walked[at].price};
      for (int i = at; walked[i].edge != nullptr; i = walked[i].before) {
        found.instructions.push_back(walked[i].edge->instruction);
        found.charges.push_back(walked[i].edge->charge);
      }
      std::reverse(found.instructions.begin(), found.instructions.end());
      std::reverse(found.charges.begin(), found.charges.end());
      result.push_back(std::move(found));
      continue;
    }
    if (walked[at].length == longest) continue;
    // Whether a step is a detour depends on the entire path, so it is walked back.
    std::vector<int> path;
    if (rules == Rules::Paper) {
      for (int i = at; i >= 0; i = walked[i].before) path.push_back(walked[i].state);
      std::reverse(path.begin(), path.end());
    }
    for (const StrategySpace::Edge& edge : space.edges(walked[at].state)) {
      if (rules == Rules::Paper && is_detour(space, path, edge.to)) continue;
      const double price = walked[at].price + prices[edge.charge];
      if (!std::isfinite(price + remaining[edge.to])) continue;
      walked.push_back({edge.to, at, &edge, price, walked[at].length + 1});
      open.push({price + remaining[edge.to], static_cast<int>(walked.size()) - 1});
    }
  }
  sort_by_price(result);
  return result;
}

std::vector<PricedStrategy> cheapest_of(std::vector<PricedStrategy> strategies,
                                        const std::vector<double>& prices, int most) {
  for (PricedStrategy& strategy : strategies) strategy.price = price_of(strategy, prices);
  std::erase_if(strategies, [](const PricedStrategy& each) { return !std::isfinite(each.price); });
  sort_by_price(strategies);
  if (static_cast<int>(strategies.size()) > most) strategies.resize(static_cast<std::size_t>(most));
  return strategies;
}

// Few: the combinations of joined levels and their orders.
std::vector<PricedStrategy> cheapest_scatters(const StrategySpace& space, const std::vector<double>& prices,
                                              int most) {
  std::vector<PricedStrategy> result;
  PricedStrategy so_far;
  // Each level is scattered once, so the path is complete when as many levels are as there are.
  const auto go = [&](const auto& self, int state, int scattered) -> void {
    if (scattered == space.levels()) {
      result.push_back(so_far);
      return;
    }
    for (const StrategySpace::Edge& edge : space.edges(state)) {
      if (edge.instruction.operation != StrategyInstruction::Operation::ReduceScatter) continue;
      if (!std::isfinite(prices[edge.charge])) continue;
      const PricedStrategy before = so_far;
      const std::vector<bool>& joined = space.charges()[edge.charge].joined;
      so_far.instructions.push_back(edge.instruction);
      so_far.charges.push_back(edge.charge);
      so_far.price += prices[edge.charge];
      self(self, edge.to, scattered + static_cast<int>(std::count(joined.begin(), joined.end(), true)));
      so_far = before;
    }
  };
  go(go, space.start(), 0);
  sort_by_price(result);
  if (static_cast<int>(result.size()) > most) result.resize(static_cast<std::size_t>(most));
  return result;
}

}  // namespace chorale
