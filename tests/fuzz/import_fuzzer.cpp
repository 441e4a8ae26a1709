// Foreign descriptions of machines; each format has its own first inputs.
#include <cmath>

#include "ir/json.h"
#include "tests/fuzz/readers.h"
#include "topology/import/import.h"
#include "topology/import_report.h"

namespace chorale::fuzz {

void import_machine(std::string_view text) {
  refusing([&] {
    const Import import = imported({{"input", std::string(text)}});
    const Topology& machine = import.machine;
    const auto nodes = static_cast<std::size_t>(machine.ranks + machine.switches);
    require(machine.ranks > 0 && machine.labels.size() == nodes, "a machine has a node without a label");
    const Topology read = topology_from_json(to_json(machine), "written");
    require(read == machine && read.labels == machine.labels, "a machine does not come back");
    for (const FittedRate& rate : import.rates)
      require(std::abs(rate.bandwidth * import.unit_gbs - rate.gbs) <= 0.0501 * rate.gbs,
              "a rate is off by more than is allowed");
    describe(import);
  });
}

}  // namespace chorale::fuzz
