// Ranks are numbered along the mesh, the last axis fastest, and nodes take consecutive ranks: so the
// fastest axes lie inside of nodes, and what is left of each axis is the mesh of nodes. A node whose ranks
// are no box of the mesh (6 of 4 x 4) is refused: neighbours along an axis would be on different nodes for
// different ranks.
//
// Data 4 x tensor 4 in nodes of 8 ranks: a node has all of tensor and 2 of data, and the mesh of nodes is
// data 2.
//
// Communications of the same pattern over the same axes are added up, since they load the same links in
// the same proportion.
#include "placement/node_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/error.h"

namespace chorale {
namespace {

// By axis: its factor inside of a node. The fastest axes fill it.
std::vector<int> factors_inside(const Job& job, int node_ranks) {
  std::vector<int> inside(job.axes.size(), 1);
  int rest = node_ranks;
  for (std::size_t a = job.axes.size(); a-- > 0 && rest > 1;) {
    const int size = job.axes[a].size, smaller = std::min(size, rest);
    if (size % smaller != 0 || rest % smaller != 0)
      throw InputError(
          "--node-ranks",
          fmt::format("{} ranks of a node do not fill a whole part of the mesh: {} of them meet the "
                      "axis {} of {}",
                      node_ranks, rest, job.axes[a].name, size),
          "choose sizes of axes that divide, the fastest axis last");
    inside[a] = smaller;
    rest /= smaller;
  }
  if (rest > 1)
    throw InputError("--node-ranks", fmt::format("the job has fewer than {} ranks", node_ranks),
                     "give the number of ranks per node");
  return inside;
}

// The nodes that differ in these axes only, in order.
// In mesh order, as a ring of NCCL follows it.
std::vector<std::vector<int>> groups_over(const NodeMesh& mesh, const std::vector<int>& axes) {
  std::map<int, std::vector<int>> groups;  // by the node whose coordinates in these axes are 0
  for (int node = 0; node < mesh.nodes; ++node) {
    int first = 0, stride = 1, left = node;
    for (std::size_t a = mesh.sizes.size(); a-- > 0; stride *= mesh.sizes[a], left /= mesh.sizes[a]) {
      const int at = left % mesh.sizes[a];
      if (std::ranges::find(axes, static_cast<int>(a)) == axes.end()) first += at * stride;
    }
    groups[first].push_back(node);
  }
  std::vector<std::vector<int>> all;
  for (auto& [first, group] : groups) all.push_back(std::move(group));
  return all;
}

GroupPattern pattern_of(Goal goal) {
  return goal == Goal::AllToAll ? GroupPattern::All
         : goal == Goal::Shift  ? GroupPattern::Line
                                : GroupPattern::Ring;
}

// Of one message from node to node. `inside` ranks of a group are in one node, of `ranks` in all, and
// `groups` groups meet in it.
// Rings over K ranks: 2 (K-1)/K of the bytes per edge for AllReduce, half of it for ReduceScatter and
// AllGather. All to all: each of `inside` ranks sends 1/K of its bytes to each of `inside` ranks of the
// other node. A shift sends everything.
double message_bytes(const Reduction& reduction, double ranks, double inside, double groups) {
  const double bytes = reduction.bytes * reduction.times * groups;
  switch (reduction.goal) {
    case Goal::AllReduce:
      return 2 * (ranks - 1) / ranks * bytes;
    case Goal::ReduceScatter:
    case Goal::AllGather:
      return (ranks - 1) / ranks * bytes;
    case Goal::AllToAll:
      return inside * inside * bytes / ranks;
    case Goal::Shift:
      return bytes;
  }
  return bytes;
}

}  // namespace

// What stays inside of nodes loads no link of a switch, and is left out.
NodeMesh node_mesh(const Job& job, int node_ranks) {
  if (overlaps(job))
    throw InputError(
        "--job", "has communications that run side by side",
        "leave out \"after\": an order of nodes is of a job whose communications run one after the other");
  const std::vector<int> inside = factors_inside(job, node_ranks);
  NodeMesh mesh;
  for (std::size_t a = 0; a < job.axes.size(); ++a) {
    mesh.sizes.push_back(job.axes[a].size / inside[a]);
    mesh.nodes *= mesh.sizes.back();
  }
  for (int r = 0; r < static_cast<int>(job.reductions.size()); ++r) {
    const Reduction& reduction = job.reductions[r];
    std::vector<int> axes;
    double ranks = 1, together = 1;
    for (const int a : reduction.axes) {
      ranks *= job.axes[a].size;
      together *= inside[a];
      if (mesh.sizes[a] > 1) axes.push_back(a);
    }
    if (axes.empty()) continue;
    const GroupPattern pattern = pattern_of(reduction.goal);
    const double bytes = message_bytes(reduction, ranks, together, node_ranks / together);
    auto same = std::ranges::find_if(
        mesh.traffic, [&](const NodeTraffic& t) { return t.pattern == pattern && t.axes == axes; });
    if (same == mesh.traffic.end()) {
      mesh.traffic.push_back({.pattern = pattern, .axes = axes, .groups = groups_over(mesh, axes)});
      same = std::prev(mesh.traffic.end());
    }
    same->bytes += bytes;
    same->reductions.emplace_back(r, bytes);
  }
  return mesh;
}

}  // namespace chorale
