// An edge colouring of a bipartite multigraph, items against kinds, with colours of even size (de Werra
// 1971): steps are colours. One colour after the other is a flow: an item with as many uses left as steps
// must use something now, and a kind with more uses left than later steps carry must be used. If uses are
// even among steps as fractions, that is a flow, so there is an integral one, and what is left is again even.
#include "construct/edge_colours.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "graph/max_flow.h"

namespace chorale {

std::optional<std::vector<std::vector<int>>> edge_colours(std::vector<std::vector<int>> uses,
                                                          const std::vector<int>& widths, int steps,
                                                          int rounds) {
  const int items = static_cast<int>(uses.size()), kinds = static_cast<int>(widths.size());
  std::vector<std::vector<int>> chosen(items, std::vector<int>(steps, -1));
  std::vector<long long> left(kinds, 0);  // uses of each kind
  for (const std::vector<int>& of : uses)
    for (int k = 0; k < kinds; ++k) left[k] += of[k];
  for (int s = 0; s < steps; ++s) {
    // Rounds that are left are divided evenly over the steps that are left, the larger parts first.
    const int after = steps - s - 1, now = (rounds + after) / (after + 1);
    rounds -= now;
    // A flow from `out` to `in` and back with lower bounds: what must flow comes from `must` and ends in
    // `done`.
    // An item has one unit: from `must` if it has to use something now, else from `out`. A kind has to be
    // used `least` times, as later steps cannot carry more than the rest, and at most `most` times. A lower
    // bound on an arc a -> b is an arc must -> b and an arc a -> done.
    const int out = items + kinds, in = out + 1, must = out + 2, done = out + 3;
    MaxFlow flow(done + 1);
    std::int64_t wanted = 0, of_items = 0, of_kinds = 0;
    std::vector<std::pair<int, std::pair<int, int>>> arcs;
    for (int x = 0; x < items; ++x) {
      const int uses_left = std::accumulate(uses[x].begin(), uses[x].end(), 0);
      if (uses_left > after + 1) return std::nullopt;
      const bool has_to = uses_left == after + 1;
      flow.add_arc(has_to ? must : out, x, 1);
      of_items += has_to;
      for (int k = 0; k < kinds; ++k)
        if (uses[x][k] > 0) arcs.push_back({flow.add_arc(x, items + k, 1), {x, k}});
    }
    for (int k = 0; k < kinds; ++k) {
      const long long most = static_cast<long long>(widths[k]) * now;
      const long long least = std::max(0LL, left[k] - static_cast<long long>(widths[k]) * rounds);
      if (least > most) return std::nullopt;
      flow.add_arc(items + k, done, least);
      flow.add_arc(items + k, in, most - least);
      of_kinds += least;
    }
    wanted = of_items + of_kinds;
    flow.add_arc(out, done, of_items);
    flow.add_arc(must, in, of_kinds);
    flow.add_arc(in, out, wanted + items);
    if (flow.run(must, done) != wanted) return std::nullopt;
    for (const auto& [arc, use] : arcs)
      if (flow.flow(arc) > 0) {
        chosen[use.first][s] = use.second;
        --uses[use.first][use.second];
        --left[use.second];
      }
  }
  return chosen;
}

}  // namespace chorale
