// A tree is examined from its root: the decision with which all cubes begin is made there, and the cubes of
// each branch, without that decision, are a tree again. Two complete branches cover all schedules; whether a
// leaf contains any does not matter.
#include "ir/cube.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace chorale {
namespace {

bool same_question(const Decision& a, const Decision& b) {
  return a.chunk == b.chunk && a.link == b.link && a.step == b.step;
}

}  // namespace

// Leaves come in any order within their branch, so the cubes of a branch are gathered as they are met. A
// branch that one cube ends at is a leaf; two equal cubes meet at the same depth, where neither has a
// decision left, and are refused.
bool is_partition(std::span<const Cube> cubes) {
  if (cubes.empty()) return false;
  std::vector<const Cube*> all;
  for (const Cube& cube : cubes) all.push_back(&cube);
  std::vector<std::pair<std::vector<const Cube*>, std::size_t>> open = {
      {all, 0}};  // cubes that agree so deep
  while (!open.empty()) {
    const auto [members, depth] = std::move(open.back());
    open.pop_back();
    if (members.size() == 1 && members.front()->decisions.size() == depth) continue;
    std::vector<const Cube*> with, without;
    for (const Cube* cube : members) {
      if (cube->decisions.size() <= depth) return false;
      const Decision& decision = cube->decisions[depth];
      if (!same_question(decision, members.front()->decisions[depth])) return false;
      (decision.sent ? with : without).push_back(cube);
    }
    if (with.empty() || without.empty()) return false;
    open.emplace_back(std::move(with), depth + 1);
    open.emplace_back(std::move(without), depth + 1);
  }
  return true;
}

}  // namespace chorale
