// Every group gets the blocks of its kind (add_blocks), one group after the other: groups share no rank, so
// positions never collide. The kind's row determines which count a block has: that of its source if each rank
// has a block of its own before, else that of its destination; of a pair's block both.
#include "ir/group_collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "ir/error.h"
#include "ir/limits.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr long long kMostGroupChunks = 1'000'000;  // of a collective in a file, too
constexpr std::size_t kLongestListed = 24;         // letters of ranks that a name lists

// Of a pair, counts are by source and then destination: s * n + d. Of ReduceScatter the destination decides,
// of Allgather the source.
int count_of(const GroupQuestion& asked, std::size_t group, int s, int d) {
  if (asked.counts.empty()) return 1;
  const std::vector<int>& counts = asked.counts[group];
  const CollectiveRow& row = row_of(asked.kind);
  if (row.before != Participants::Each) return counts[d];
  return row.after == Participants::Each ? counts[s * asked.groups[group].size() + d] : counts[s];
}

// "allgather of 3 groups", "allgather of each column", "allgatherv", "allgatherv of 0,2,4", "allgather of 12
// ranks".
std::string name_of(const GroupQuestion& asked, int ranks) {
  const std::string name(asked.counts.empty() ? row_of(asked.kind).name : row_of(asked.kind).counted);
  if (asked.groups.size() > 1)
    return name + (asked.groups_name.empty() ? fmt::format(" of {} groups", asked.groups.size())
                                             : " of each " + asked.groups_name);
  const std::vector<Rank>& group = asked.groups.front();
  if (std::ssize(group) == ranks && std::ranges::is_sorted(group)) return name;
  const std::string listed = fmt::format("{}", fmt::join(group, ","));
  return listed.size() <= kLongestListed ? name + " of " + listed
                                         : name + " of " + counted(std::ssize(group), "rank");
}

// Then it is a collective of its kind, which has a dual, baselines and a name in files, and not a custom one.
bool is_everyone(const GroupQuestion& asked, int ranks) {
  return asked.counts.empty() && asked.groups.size() == 1 && std::ssize(asked.groups.front()) == ranks &&
         std::ranges::is_sorted(asked.groups.front());
}

// Before anything is allocated. With counts a group's chunks are their sum, whatever the kind: one count per
// block.
void require_room(const GroupQuestion& asked) {
  double chunks = 0, named = 0, members = 0;
  for (std::size_t g = 0; g < asked.groups.size(); ++g) {
    const BlockPairs pairs = block_pairs(asked.kind, static_cast<int>(asked.groups[g].size()));
    double of_group = 1.0 * pairs.sources * pairs.destinations;
    if (!asked.counts.empty())
      of_group = std::accumulate(asked.counts[g].begin(), asked.counts[g].end(), 0.0);
    chunks += of_group;
    members += static_cast<double>(asked.groups[g].size());
    named += of_group * pairs.named;
  }
  if (chunks == 0) throw InputError("--counts", "are all 0: nothing is sent", "give a rank some");
  if (chunks > kMostGroupChunks || bytes_of(chunks, members, named) > kMostCollectiveBytes)
    throw InputError(asked.counts.empty() ? "--groups" : "--counts",
                     fmt::format("make {:.0f} chunks with {:.0f} positions", chunks, named),
                     "count in larger units: the command's options cut them into more");
}

}  // namespace

Collective make_collective(const GroupQuestion& asked, int ranks) {
  assert(asked.kind != CollectiveKind::Custom && !asked.groups.empty());
  assert(asked.counts.empty() || asked.counts.size() == asked.groups.size());
  if (is_everyone(asked, ranks)) return make_collective(asked.kind, ranks, 1, asked.root);
  require_room(asked);
  Collective collective{
      .custom_name = name_of(asked, ranks), .ranks = ranks, .combining = is_combining(asked.kind)};
  for (std::size_t g = 0; g < asked.groups.size(); ++g)
    add_blocks(collective, asked.kind, asked.groups[g], asked.root,
               [&](int s, int d) { return count_of(asked, g, s, d); });
  return collective;
}

// A custom collective keeps its name and chunks alone. Counts are read off the chunks, and trusted if the
// collective of these counts has the same chunks in the same order.
std::vector<int> counts_of(const Collective& collective) {
  const std::optional<CollectiveKind> kind = kind_with_counts(collective.custom_name);
  if (!is_custom(collective) || (kind != CollectiveKind::Allgather && kind != CollectiveKind::ReduceScatter))
    return {};
  GroupQuestion question{.kind = *kind, .groups = {{}}, .counts = {std::vector<int>(collective.ranks, 0)}};
  for (Rank n = 0; n < collective.ranks; ++n) question.groups.front().push_back(n);
  for (const ChunkSpec& spec : collective.chunks) {
    const RankSet& one = *kind == CollectiveKind::Allgather ? spec.pre : spec.post;
    if (one.size() != 1) return {};
    ++question.counts.front()[one.front()];
  }
  // A collective may have this name without being of this kind.
  return make_collective(question, collective.ranks).chunks == collective.chunks ? question.counts.front()
                                                                                 : std::vector<int>();
}

}  // namespace chorale
