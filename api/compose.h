// Hierarchical composition: schedules of a machine from schedules of its groups (ir/outline.h).
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "api/machines.h"
#include "ir/frontier.h"
#include "ir/machine_changes.h"
#include "ir/outline.h"

namespace chorale {

// "reducescatter gpu, allreduce node, allgather gpu"; a stage "allreduce node=FILE" takes the points of a
// result for one of its groups. Or a file ("p.json") that 'chorale place --json' wrote: its best strategy.
// Throws InputError at "--outline".
Outline read_outline(const std::string& text, const std::string& spec_or_file, const MachineChanges& = {});

struct Composition {
  Result result = {};                      // of kind Algorithm, with the bounds of its collective
  std::vector<std::string> outlines = {};  // by point: the outline that it was composed by
};

struct ComposeOptions {
  int min_chunks = 1, max_chunks = 1;  // into which each block is cut
  Outline outline = {};  // empty: all that are known, on all divisions of the machine into alike groups
  const std::atomic<bool>* stop = nullptr;  // set: what there is by then
  // Called with the composition so far whenever a point is found; without bounds of a chunk count until all
  // of it is composed.
  std::function<void(const Composition&)> found = {};
};

// Switches of the machine are removed first. The result has no points if no outline fits. frontier()
// (api/search.h) begins with the same schedules if no outline is given, so it is never worse.
Composition compose(const Topology&, const Collective&, const ComposeOptions& = {});

}  // namespace chorale
