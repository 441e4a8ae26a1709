#include "bounds/lower_bounds.h"
#include "ir/json.h"
#include "tests/fuzz/readers.h"
#include "topology/levels.h"
#include "topology/switches.h"
#include "topology/text.h"

namespace chorale::fuzz {

void topology(std::string_view text) {
  refusing([&] {
    const Topology machine = topology_from_json(text, "input");
    require(topology_from_json(to_json(machine), "written") == machine, "a machine does not come back");
    if (machine.ranks + machine.switches > 64 || machine.links.size() > 500) return;
    report_of(machine);
    const Topology flat = flatten(machine);
    require(topology_from_json(to_json(flat), "written") == flat, "a flattened machine does not come back");
    levels_of(flat);
    if (flat.ranks <= 8 && flat.links.size() <= 64)
      fewest_steps(flat, make_collective("allgather", flat.ranks, 1));
  });
}

}  // namespace chorale::fuzz
