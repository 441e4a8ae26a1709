#include "bounds/distance.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "ir/error.h"

namespace chorale {
namespace {

class HopTable {
 public:
  explicit HopTable(const Topology& topology) : topology_(topology) {}

  int between(const std::vector<Rank>& from, Rank to) {
    const auto [at, fresh] = known_.try_emplace(from);
    if (fresh) at->second = hops(topology_, from);
    if (at->second[to] < 0 && !from.empty())
      throw InputError("topology " + topology_.name,
                       fmt::format("no path from rank {} to rank {}", from.front(), to),
                       "add links, or a collective without this transfer");
    return at->second[to];
  }

 private:
  const Topology& topology_;
  std::map<std::vector<Rank>, std::vector<int>> known_ = {};
};

}  // namespace

Farthest farthest(const Topology& topology, const Collective& collective) {
  HopTable table(topology);
  Farthest most;
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c) {
    const ChunkSpec& spec = collective.chunks[c];
    if (c > 0 && spec.pre == collective.chunks[c - 1].pre && spec.post == collective.chunks[c - 1].post)
      continue;
    const auto consider = [&](const std::vector<Rank>& from, Rank to, Rank named) {
      const int steps = table.between(from, to);
      if (steps > most.steps) most = {.steps = steps, .chunk = c, .rank = named};
    };
    if (!collective.combining) {
      for (Rank d : spec.post) consider(spec.pre, d, d);
    } else {
      for (Rank p : spec.pre)
        for (Rank d : spec.post) consider({p}, d, p);
    }
  }
  return most;
}

}  // namespace chorale
