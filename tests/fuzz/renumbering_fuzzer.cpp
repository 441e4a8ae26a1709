// Renumberings, as libraries have them. What was read is permutations: their inverse undoes them, and a ring
// of this many ranks and links is the same machine when it is numbered there and back.
#include "ir/renumbering.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {
namespace {

constexpr int kMostRanks = 200;

// Its links in a row, as many as there are, whatever the ranks.
Topology row(int ranks, int links) {
  Topology topology{.name = "row", .ranks = ranks};
  for (int l = 0; l < links; ++l)
    topology.links.push_back({.src = l % ranks, .dst = (l + 1) % ranks, .bandwidth = 1 + l % 5});
  return topology;
}

}  // namespace

void renumbering(std::string_view text) {
  refusing([&] {
    const Renumbering by = renumbering_from_json(text, "fuzzed");
    require(renumbering_from_json(to_json(by), "written") == by,
            "a renumbering is read otherwise than written");
    const Renumbering back = inverse(by);
    require(inverse(back) == by, "the inverse of the inverse is another one");
    const int ranks = static_cast<int>(by.ranks.size()), links = static_cast<int>(by.links.size());
    const Topology topology = row(ranks, ranks < 2 ? 0 : links);
    const Renumbering none = no_renumbering(row(ranks, ranks < 1 ? 0 : links));
    if (ranks > 0) require(compose(by, back) == none, "there and back is elsewhere");
    if (ranks < 2 || ranks > kMostRanks || links > kMostRanks) return;
    require(renumbered(renumbered(topology, by), back).links == topology.links, "links come back as others");
  });
}

}  // namespace chorale::fuzz
