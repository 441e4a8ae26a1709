// Trees for sums on any machine: links may be wider one way, and limits shared.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "construct/tree_pipeline.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// So many trees side by side, and the rounds in which the fullest link or limit carries them.
struct PricedTrees {
  int rounds = 0;
  std::vector<SumTree> trees = {};
};
// In `wanted` rounds, or as few more as are found. Requires a machine on which every rank reaches every other, of two ranks or more, and wanted >= 1.
// The same question has the same answer.
PricedTrees priced_trees(const Topology&, int trees, int wanted, const std::atomic<bool>* stop = nullptr);

// Schedules of an AllReduce over such trees, in a pipeline (tree_pipeline.h). `bound`: rounds that no schedule is under; it is asked only where trees are
// looked for. None of other collectives, where a rank cannot reach another, or when stopped.
std::vector<Schedule> sum_on_priced_trees(const Topology&, const Collective&,
                                          const std::function<int()>& bound,
                                          const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
