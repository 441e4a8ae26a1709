// A tree with the ranks at its foot: the level of a switch is how far it is from the nearest rank, and it
// stands over the ranks that it reaches downwards. Ranks under the same switches stand together, the largest
// sets deciding first.
#include <algorithm>
#include <map>

#include "ir/words.h"
#include "pages/placed.h"

namespace chorale {
namespace {

constexpr double kWidestTree = 22;  // 16 ranks in four groups: more of them go in further rows

// The first row of ranks is at y = 0 and further rows are below it; each level of switches is 1.9 above the
// one before.
class Layers {
 public:
  explicit Layers(const Parts& parts) : parts_(parts), nodes_(static_cast<int>(parts.near.size())) {
    find_levels();
    find_ranks_below();
  }

  Placed place() {
    Placed p = unplaced(parts_);
    place_ranks(p);
    int top = 0;
    for (int n = parts_.t.ranks; n < nodes_; ++n) top = std::max(top, level_[n]);
    for (int level = 1; level <= top; ++level) place_level(p, level, -1.9 * level);
    p.shape = "switches in " + counted(top, "layer");
    return p;
  }

 private:
  // Breadth first, from all ranks at once.
  void find_levels() {
    level_.assign(nodes_, 0);
    std::vector<int> queue = numbers_below(parts_.t.ranks);
    for (int n = parts_.t.ranks; n < nodes_; ++n) level_[n] = -1;
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (int next : parts_.near[queue[i]])
        if (level_[next] < 0) {
          level_[next] = level_[queue[i]] + 1;
          queue.push_back(next);
        }
  }

  // From the ranks upwards, so that the sets of a level are complete before the next one takes them.
  void find_ranks_below() {
    below_.resize(nodes_);
    std::vector<int> upwards = numbers_below(nodes_);
    std::stable_sort(upwards.begin(), upwards.end(), [&](int a, int b) { return level_[a] < level_[b]; });
    for (int n : upwards) {
      if (level_[n] == 0) below_[n] = {n};
      for (int next : parts_.near[n])
        if (level_[next] < level_[n]) below_[n].insert(below_[next].begin(), below_[next].end());
    }
  }

  // Ranks under the same switches stand together, in rows where there are many; the first row at height 0.
  void place_ranks(Placed& p) const {
    std::map<std::vector<int>, std::vector<Rank>>
        groups;  // by the first ranks of the sets that they are in, largest first
    for (Rank r = 0; r < parts_.t.ranks; ++r) {
      std::set<std::pair<int, int>> sets;
      for (int n = parts_.t.ranks; n < nodes_; ++n)
        if (below_[n].contains(r)) sets.insert({-static_cast<int>(below_[n].size()), *below_[n].begin()});
      // The largest sets come first in the key, so ranks are grouped by the top of the tree before its lower
      // levels divide them.
      std::vector<int> key;
      for (const auto& [size, first] : sets) key.push_back(first);
      groups[key].push_back(r);
    }
    // As few rows as keep the tree within its width, four at most.
    int rows = 0;
    for (double width = 1e9; width > kWidestTree && rows < 4;) {
      ++rows;
      width = 0;
      for (const auto& [key, ranks] : groups) width += columns(ranks.size(), rows) * 1.1 + 0.7;
    }
    double left = 0;
    for (const auto& [key, ranks] : groups) {
      const int across = columns(ranks.size(), rows);
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const int row = static_cast<int>(i) / across, at = static_cast<int>(i) % across;
        p.nodes[ranks[i]].at = {.x = left + 1.1 * at + (row % 2 == 1 ? 0.55 : 0.0), .y = 1.1 * row};
      }
      left += across * 1.1 + 0.7;
    }
  }
  static int columns(std::size_t ranks, int rows) { return (static_cast<int>(ranks) + rows - 1) / rows; }

  // Switches over the same ranks share the width of these ranks evenly.
  void place_level(Placed& p, int level, double y) const {
    std::map<std::vector<int>, std::vector<int>> equal;  // by the ranks below
    for (int n = parts_.t.ranks; n < nodes_; ++n)
      if (level_[n] == level) equal[{below_[n].begin(), below_[n].end()}].push_back(n);
    std::vector<int> placed;
    for (const auto& [ranks, switches] : equal) {
      double left = 1e300, right = -1e300;
      for (Rank r : ranks) {
        left = std::min(left, p.nodes[r].at.x);
        right = std::max(right, p.nodes[r].at.x);
      }
      const std::vector<double> x = evenly(left - 0.5, right + 0.5, switches.size(), 1.25);
      for (std::size_t i = 0; i < switches.size(); ++i) {
        p.nodes[switches[i]].at = {.x = x[i], .y = y};
        placed.push_back(switches[i]);
      }
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [&](int a, int b) { return p.nodes[a].at.x < p.nodes[b].at.x; });
    double nearest = 1.9;
    for (std::size_t i = 1; i < placed.size(); ++i) {  // to the right, where two groups come too near
      double& x = p.nodes[placed[i]].at.x;
      x = std::max(x, p.nodes[placed[i - 1]].at.x + 1.25);
      nearest = std::min(nearest, x - p.nodes[placed[i - 1]].at.x);
    }
    for (const int n : placed) p.nodes[n].width = nearest - 0.15;
  }

  const Parts& parts_;
  int nodes_;
  std::vector<int> level_ = {};
  std::vector<std::set<Rank>> below_ = {};
};

}  // namespace

Placed place_in_layers(const Parts& parts) {
  return Layers(parts).place();
}

}  // namespace chorale
