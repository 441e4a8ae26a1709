// Everything that reduction strategies over a number of levels can do, as a graph of states.
//
// Which strategies are valid depends on the number of levels that are larger than 1, not on their sizes
// (tried on many sizes by the tests; what leaves this room is verified at true size). So the graph is
// explored once for a number of levels, with every level of size 2, by the verifier's rules. True sizes enter
// the price of its edges only: an edge has a Charge: what an instruction moves, level by level.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "cost/simulator.h"
#include "ir/place_options.h"

namespace chorale {

// Bytes before an instruction and the groups that have any: what its time depends on.
struct Charge {
  struct Part {                      // groups that hold equal shares
    std::vector<Place> places = {};  // by level (not counting the root); All where the group's devices differ
    std::vector<int> scattered = {};  // a device holds the product over levels of size^-scattered of the data
    bool operator==(const Part&) const = default;
    auto operator<=>(const Part&) const = default;
  };
  StrategyInstruction::Operation operation = StrategyInstruction::Operation::AllReduce;
  std::vector<bool> joined = {};  // by level: the group's devices differ there
  std::vector<Part> parts = {};   // what holds nothing is in none
  bool operator==(const Charge&) const = default;
  auto operator<=>(const Charge&) const = default;
};

class StrategySpace {
 public:
  struct Edge {
    int to = 0;
    StrategyInstruction instruction = {};
    int charge = 0;
  };

  static constexpr int kMostLevels = kMostReducedLevels;  // 4: 3,943 states, in half a second

  // Shared by all callers in this process; 1 <= levels <= kMostLevels.
  static std::shared_ptr<const StrategySpace> of(int levels);

  // With edges of these groupings alone (their operations do not count); shared likewise. Perhaps none lead
  // to the goal.
  static std::shared_ptr<const StrategySpace> of(int levels, std::vector<StrategyInstruction> groupings);

  int levels() const { return levels_; }
  int states() const { return static_cast<int>(edges_.size()); }  // from which the goal can be reached
  int start() const { return 0; }
  int goal() const { return goal_; }
  const std::vector<Edge>& edges(int state) const { return edges_[state]; }
  const std::vector<Charge>& charges() const { return charges_; }
  // States such that every edge goes to a later one.
  const std::vector<int>& in_order() const { return order_; }
  int longest() const;  // instructions of the longest strategy
  bool one_step(int from, int to) const;

 private:
  explicit StrategySpace(int levels);
  void sort_states();
  void keep_only(const std::vector<StrategyInstruction>& groupings);

  int levels_ = 0;
  int goal_ = 0;
  std::vector<std::vector<Edge>> edges_ = {};
  std::vector<Charge> charges_ = {};
  std::vector<int> order_ = {};
};

// All strategies of at most `most_instructions` instructions; sorted by length, then lexicographically.
std::vector<Strategy> all_strategies(const StrategySpace&, Rules, int most_instructions);

void sort_by_length(std::vector<Strategy>&);  // then lexicographically

// How many there are, by length: result[n] with exactly n instructions.
std::vector<long long> count_strategies(const StrategySpace&, Rules, int most_instructions);

// To twelve digits: sums of the same numbers in another order are the same price.
double rounded_price(double);

struct PricedStrategy {
  Strategy instructions = {};
  std::vector<int> charges = {};
  double price = 0;
};

// Counts of strategies of at most a number of instructions; and of these, those cheaper than a price.
struct Count {
  long long all = 0, cheaper = 0;
};
Count count_cheaper(const StrategySpace&, const std::vector<double>& prices, Rules, int most_instructions,
                    double than);
// The same of a list of strategies, by their charges.
Count count_cheaper(const std::vector<PricedStrategy>&, const std::vector<double>& prices, double than);

// The `most` cheapest of any length, cheapest first; `prices` by charge, positive, infinite where an
// instruction cannot be done. Where prices are the same but for rounding, the shorter comes first. A path
// search whose estimate is the true remaining price, so what comes first is proven to be cheapest. With
// `longest`, of at most so many instructions.
std::vector<PricedStrategy> cheapest_strategies(const StrategySpace&, const std::vector<double>& prices,
                                                Rules, int most,
                                                int longest = std::numeric_limits<int>::max());

// The same of a list of strategies, by their charges.
std::vector<PricedStrategy> cheapest_of(std::vector<PricedStrategy>, const std::vector<double>& prices,
                                        int most);

// The same for strategies that end with the sum scattered: ReduceScatters alone, over each level once.
// Reversed, with AllGather in its place, each gathers what it has scattered.
std::vector<PricedStrategy> cheapest_scatters(const StrategySpace&, const std::vector<double>& prices,
                                              int most);

}  // namespace chorale
