// Groups of a machine by the names that libraries have for them: all ranks, pairs that are linked in both
// directions, and the levels of the machine. A list of members is text ("0 8 16"), in one spelling only, so
// that equal groups are equal texts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include "api/machines.h"
#include "graph/embedding.h"
#include "jobs/library.h"

namespace chorale {
namespace {

RankGroup all_of(const Topology& whole) {
  RankGroup all(whole.ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Pairs that are linked in both directions are those that can do a collective by themselves.
bool is_pair(const Topology& whole, Rank a, Rank b) {
  return a < b && find_link(whole, a, b) >= 0 && find_link(whole, b, a) >= 0;
}

}  // namespace

std::vector<RankGroup> groups_named(const std::string& name, const std::string& spec, const Topology& whole,
                                    const Refusal& refuse) {
  if (name == "all") return {all_of(whole)};
  std::vector<RankGroup> groups;
  if (name == "pairs") {
    for (Rank a = 0; a < whole.ranks; ++a)
      for (Rank b = a + 1; b < whole.ranks; ++b)
        if (is_pair(whole, a, b)) groups.push_back({a, b});
    if (groups.empty())
      refuse("no two ranks of " + spec + " are linked in both directions", "leave pairs out");
    return groups;
  }
  const Nesting nested = nesting(spec);
  const auto level = std::ranges::find(nested.names, name);
  if (level == nested.names.end())
    refuse("'" + name + "' is not a group of " + spec,
           fmt::format("use one of all, pairs, {}", fmt::join(nested.names, ", ")));
  return groups_at(nested, {static_cast<int>(level - nested.names.begin())});
}

// Pairs and "all" are decided without a list of all groups: n ranks have up to n (n - 1) / 2 pairs.
bool is_group_named(const std::string& name, const std::string& spec, const Topology& whole,
                    const RankGroup& group) {
  if (name == "pairs") return group.size() == 2 && is_pair(whole, group[0], group[1]);
  if (name == "all") return group == all_of(whole);
  const Nesting nested = nesting(spec);
  const auto level = std::ranges::find(nested.names, name);
  if (level == nested.names.end()) return false;
  const std::vector<RankGroup> groups = groups_at(nested, {static_cast<int>(level - nested.names.begin())});
  return std::ranges::find(groups, group) != groups.end();
}

// Links to ranks outside of the group are left out (part_at), so its collectives use no other rank.
Topology group_of(const Topology& whole, const std::string& name, const RankGroup& group) {
  return name == "all" ? whole : part_at(whole, group);
}

std::string in_words(const RankGroup& group) {
  return fmt::format("{}", fmt::join(group, " "));
}

// What is not in the one spelling is no group: an empty one, which no entry has.
RankGroup ranks_in(const std::string& words, int ranks) {
  RankGroup group;
  std::istringstream numbers(words);
  for (Rank n = 0; numbers >> n;) {
    if (n < 0 || n >= ranks || std::ranges::find(group, n) != group.end()) return {};
    group.push_back(n);
  }
  return in_words(group) == words ? group : RankGroup{};
}

// Hosts are numbered again in the order in which the group meets them, so that groups on other hosts of the
// same pattern are equal.
std::vector<int> hosts_at(const std::vector<int>& hosts, const RankGroup& group) {
  std::vector<int> result;
  std::map<int, int> numbers;
  if (!hosts.empty())
    for (const Rank n : group)
      result.push_back(numbers.emplace(hosts.at(n), static_cast<int>(numbers.size())).first->second);
  return result;
}

}  // namespace chorale
