// msccl-tools' topology: a matrix of links, by destination and then source, in chunks per round; and its
// "switches", which are limits over the links from some ranks to others. Two ranks that are linked by two
// chunks per round, of which a port lets one pass from rank 0 to rank 1:
//   {"msccl_type": "topology", "name": "pair", "links": [[0, 2], [2, 0]],
//    "switches": [[[0], [1], 1, "port"]]}
#include <fmt/format.h>

#include <algorithm>

#include "ir/json_reader.h"
#include "ir/sizes.h"
#include "topology/import/readers.h"

namespace chorale {
namespace {

constexpr int kMostChunksARound = 1'000'000;

std::vector<Rank> ranks_in(const JsonReader& json, int ranks) {
  std::vector<Rank> result;
  for (std::size_t i = 0; i < json.size(kMostRanks); ++i) result.push_back(json.at(i).integer(0, ranks - 1));
  return result;
}

}  // namespace

Topology read_msccl_topology(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  if (!json.has("msccl_type") || json["msccl_type"].text() != "topology")
    json.fail("is not a topology of msccl-tools", "give one with \"msccl_type\": \"topology\"");
  Topology machine{.name = json.has("name") ? json["name"].text() : ""};
  const JsonReader links = json["links"];
  machine.ranks = static_cast<int>(links.size(kMostRanks));
  if (machine.ranks == 0) links.fail("is empty", "list a row for each rank");
  for (Rank dst = 0; dst < machine.ranks; ++dst) {
    const JsonReader row = links.at(dst);
    if (static_cast<int>(row.size(kMostRanks)) != machine.ranks)
      row.fail(fmt::format("has {} columns", row.size(kMostRanks)),
               fmt::format("use {}, one per rank", machine.ranks));
    for (Rank src = 0; src < machine.ranks; ++src) {
      const int bandwidth = row.at(src).integer(0, kMostChunksARound);
      if (bandwidth > 0 && src == dst) row.at(src).fail("is a link from a rank to itself", "use 0");
      if (bandwidth > 0) machine.links.push_back({.src = src, .dst = dst, .bandwidth = bandwidth});
    }
  }
  if (!json.has("switches")) return machine;
  const JsonReader switches = json["switches"];
  for (std::size_t i = 0; i < switches.size(100'000); ++i) {
    const JsonReader each = switches.at(i);
    if (each.size(4) != 4)
      each.fail("does not have four parts", "use [sources, destinations, bandwidth, name]");
    const std::vector<Rank> from = ranks_in(each.at(0), machine.ranks),
                            to = ranks_in(each.at(1), machine.ranks);
    SharedLimit limit{.name = each.at(3).text(), .bandwidth = each.at(2).integer(1, kMostChunksARound)};
    for (LinkId l = 0; l < static_cast<int>(machine.links.size()); ++l)
      if (std::ranges::find(from, machine.links[l].src) != from.end() &&
          std::ranges::find(to, machine.links[l].dst) != to.end())
        limit.links.push_back(l);
    if (limit.links.empty()) each.fail("has no link in it", "list links for it, or leave it out");
    machine.limits.push_back(std::move(limit));
  }
  return machine;
}

}  // namespace chorale
