#include "bounds/crossings.h"

#include <algorithm>
#include <map>

namespace chorale {
namespace {

RankSet joined(const RankSet& a, const RankSet& b) {
  std::vector<Rank> all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

std::vector<int> groups_of(const RankSet& ranks, const std::vector<int>& group) {
  std::vector<int> groups;
  for (const Rank n : ranks) groups.push_back(group[n]);
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

}  // namespace

Crossings::Crossings(const Collective& collective) : combining_(collective.combining) {
  std::map<RankSet, std::int64_t> weights;
  for (ChunkClass& each : chunk_classes(collective)) {
    if (each.pre.empty() || each.post.empty()) continue;
    const bool tree = each.pre.size() == 1 || (combining_ && each.post.size() == 1);
    if (tree)
      weights[joined(each.pre, each.post)] += each.count();
    else if (combining_ && each.pre == each.post)
      weights[each.pre] += 2 * each.count();
    else
      others_.push_back(std::move(each));
  }
  for (const auto& [ranks, weight] : weights)
    if (ranks.size() > 1) trees_.push_back({.ranks = ranks, .weight = weight});
}

std::int64_t Crossings::of_other(const ChunkClass& each, const std::vector<int>& group) const {
  const std::vector<int> pre = groups_of(each.pre, group), post = groups_of(each.post, group);
  std::vector<int> both;
  std::ranges::set_intersection(pre, post, std::back_inserter(both));
  const auto crossings = static_cast<std::int64_t>(
      combining_ ? pre.size() + post.size() - 2 + (both.empty() ? 1 : 0) : post.size() - both.size());
  return crossings * each.count();
}

std::int64_t Crossings::of(const std::vector<int>& group) const {
  std::int64_t sum = 0;
  for (const Terminals& tree : trees_)
    sum += tree.weight * (static_cast<std::int64_t>(groups_of(tree.ranks, group).size()) - 1);
  for (const ChunkClass& each : others_) sum += of_other(each, group);
  return sum;
}

bool Crossings::has_wide_trees() const {
  return !others_.empty() ||
         std::ranges::any_of(trees_, [](const Terminals& tree) { return tree.ranks.size() > 2; });
}

}  // namespace chorale
