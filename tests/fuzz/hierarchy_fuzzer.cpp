#include "ir/hierarchy.h"
#include "placement/place.h"
#include "tests/fuzz/readers.h"
#include "topology/levels.h"

namespace chorale::fuzz {

// The outermost level is one axis, all others together another, which is summed over.
void hierarchy(std::string_view text) {
  refusing([&] {
    const Hierarchy machine = hierarchy_from_json(text, "input");
    require(hierarchy_from_json(to_json(machine), "written") == machine, "a hierarchy does not come back");
    if (devices(machine) > 64 || machine.levels.size() > 3) return;
    const Topology graph = graph_of(machine);
    if (const Levels levels = levels_of(graph); levels.hierarchy)
      require(graph_of(*levels.hierarchy).links.size() == graph.links.size(),
              "levels of a graph are another's");
    const int outer = machine.levels.front().fan_out, inner = static_cast<int>(devices(machine) / outer);
    const Job job{.name = "job",
                  .axes = {{"outer", outer}, {"inner", inner}},
                  .reductions = {{.name = "sum", .axes = {1}, .bytes = 1e6}}};
    rank_placements(machine, job, {.top = 1});
  });
}

}  // namespace chorale::fuzz
