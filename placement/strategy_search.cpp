// Walks over the graph of states (placement/strategy_space.h): all strategies, their number, the cheapest.
//
// The cheapest strategies come from the best-first search with the true remaining price as its estimate,
// which one pass backwards over the graph gives. With an exact estimate nothing is opened that is not the
// beginning of an answer (or of a detour, under Rules::Paper), so listing more costs what is listed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "placement/strategy_space.h"

namespace chorale {
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
