// Copies to all ranks on trees that are chosen for their load alone: each chunk goes down one.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "construct/tree_pipeline.h"
#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Chunks that start in the same ranks take the trees that start there, in turns.
struct CopyTrees {
  int rounds = 0;                   // of the fullest link or limit, if each tree is taken once
  int takers = 1;                   // chunks that take a tree
  std::vector<SumTree> trees = {};  // only down
  std::vector<int> tree_of = {};    // by chunk
};

// With which all chunks load no link or limit with more than so many rounds, if such are found, else with as few as are found.
// As few trees as do, but at least so many, if there are as many chunks. The same question has the same answer. Requires what
// copies_on_trees wants.
CopyTrees copy_trees(const Topology&, const Collective&, int rounds, int least_trees = 1,
                     const std::atomic<bool>* stop = nullptr);

// Schedules over them in a pipeline (tree_pipeline.h), by steps, none better than another in both: with many chunks within 1 % of
// the tightest cut in some ten to twenty steps on boxes with one NIC each. `bound`: rounds that no schedule is under; nothing is looked for where `known`
// has as few. None of collectives that do not copy each chunk to all ranks, where a rank cannot be reached, where growing
// each tree once would take a second, or when stopped.
std::vector<Schedule> copies_on_trees(const Topology&, const Collective&, const std::vector<Schedule>& known,
                                      const std::function<int()>& bound,
                                      const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
