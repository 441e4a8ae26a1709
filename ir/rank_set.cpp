// One rank is stored in the object; the sets of an Allgather or a ReduceScatter are one rank or all of them.
// More ranks are stored in a vector that copies share. Equality first tests whether the vectors are the same
// object, so to compare the chunks of a class is to compare pointers.
#include "ir/rank_set.h"

#include <algorithm>
#include <numeric>

namespace chorale {

RankSet::RankSet(std::vector<Rank> ranks) : size_(ranks.size()) {
  std::ranges::sort(ranks);
  if (size_ == 1) one_ = ranks.front();
  if (size_ > 1) many_ = std::make_shared<const std::vector<Rank>>(std::move(ranks));
}

RankSet RankSet::all(int ranks) {
  std::vector<Rank> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool RankSet::contains(Rank rank) const {
  return std::binary_search(begin(), end(), rank);
}

bool operator==(const RankSet& a, const RankSet& b) {
  return (a.many_ && a.many_ == b.many_) || std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Lexicographic, as vectors compare: {0 1} < {0 1 2} < {1}.
std::strong_ordering operator<=>(const RankSet& a, const RankSet& b) {
  if (a.many_ && a.many_ == b.many_) return std::strong_ordering::equal;
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace chorale
