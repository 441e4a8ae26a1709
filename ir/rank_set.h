// A set of ranks, as chunks name them: immutable, so that copies may share it. The thousand chunks of an
// AllReduce on a thousand ranks name one set twice each.
#pragma once

#include <compare>
#include <initializer_list>
#include <memory>
#include <vector>

namespace chorale {

using Rank = int;  // 0 .. ranks-1

class RankSet {
 public:
  using value_type = Rank;
  using iterator = const Rank*;
  using const_iterator = const Rank*;

  RankSet() = default;  // empty
  // In any order; a rank that is named twice stays so, since verifiers report what is wrong with a
  // collective.
  RankSet(std::vector<Rank> ranks);  // NOLINT: a list of ranks is a set of ranks
  RankSet(std::initializer_list<Rank> ranks) : RankSet(std::vector<Rank>(ranks)) {}
  static RankSet all(int ranks);  // 0 to ranks - 1

  // In ascending order.
  const Rank* begin() const { return many_ ? many_->data() : &one_; }
  const Rank* end() const { return begin() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Rank operator[](std::size_t i) const { return begin()[i]; }
  Rank front() const { return *begin(); }
  Rank back() const { return end()[-1]; }
  bool contains(Rank) const;

  // By value; as std::vector orders.
  friend bool operator==(const RankSet&, const RankSet&);
  friend std::strong_ordering operator<=>(const RankSet&, const RankSet&);

  // Are the two known to be one set by their storage alone, without a comparison of ranks?
  bool shares(const RankSet& other) const { return many_ == other.many_; }

 private:
  std::shared_ptr<const std::vector<Rank>> many_ = {};  // if there are two or more
  std::size_t size_ = 0;
  Rank one_ = 0;
};

}  // namespace chorale
