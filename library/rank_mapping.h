// Rank mapping: the rank of an algorithm that each rank of a group performs, by its host and by the root.
//
// An algorithm of a machine defines what rank n of the machine does. A program numbers its ranks as it likes,
// and any of them may be the root. So an algorithm is carried over by a permutation of ranks, and is then an
// algorithm of the machine as the program numbers it. All decisions depend only on data that all ranks of a
// group share.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

// Where a rank of a group sits.
struct RankLocation {
  int host = 0;             // ranks of one host have one number
  std::uint64_t place = 0;  // on it: ranks of a host are taken in this order, and equal ones by their number
  auto operator<=>(const RankLocation&) const = default;
};

// What a rank reports to the others about its host.
struct Whereabouts {
  std::uint64_t host = 0;   // number_of_host()
  std::uint64_t place = 0;  // as in RankLocation
};

// Of the name of a host: with overwhelming odds hosts of two names have two numbers.
std::uint64_t number_of_host(std::string_view name);

// By rank; hosts are numbered in the order in which ranks have them. Requires spans of one length; takes no
// memory.
void locate_ranks(std::span<const Whereabouts>, std::span<RankLocation>);

// By rank of a machine with these hosts the rank of the group that is to be it: hosts of the machine in the
// order of their first ranks are hosts of the group of the same size, in that order; so are the ranks of a
// host. None: the group has other hosts.
std::optional<std::vector<Rank>> rank_mapping(const std::vector<int>& hosts,
                                              const std::vector<RankLocation>& group);

// [rank] -> a symmetry of the machine that carries `from` to that rank; empty if there is none.
std::vector<std::vector<Rank>> carrying(const Topology&, Rank from);

// The same with rank n called ranks[n]: links stay where they are in their list, and chunks in theirs, so a
// schedule of the one is a schedule of the other. Requires a permutation, of a collective a kind that is not
// Custom.
Topology renamed(Topology, const std::vector<Rank>& ranks);
Collective renamed(Collective, const std::vector<Rank>& ranks);

}  // namespace chorale
