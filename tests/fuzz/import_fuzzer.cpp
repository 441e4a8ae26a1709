// Foreign descriptions of machines: one function a format, so that each has its own first inputs.
#include <cmath>

#include "ir/json.h"
#include "tests/fuzz/readers.h"
#include "topology/import/import.h"
#include "topology/import_report.h"

namespace chorale::fuzz {
namespace {

void machine_file(std::string_view text) {
  refusing([&] {
    const Import import = imported({{"input", std::string(text)}});
    const Topology& machine = import.machine;
    const auto nodes = static_cast<std::size_t>(machine.ranks + machine.switches);
    require(machine.ranks > 0 && import.names.size() == nodes, "a machine has a node without a name");
    require(topology_from_json(to_json(machine), "written") == machine, "a machine does not come back");
    for (const FittedRate& rate : import.rates)
      require(std::abs(rate.bandwidth * import.unit_gbs - rate.gbs) <= 0.0501 * rate.gbs,
              "a rate is off by more than is allowed");
    describe(import);
  });
}

}  // namespace

void import_nccl(std::string_view text) {
  machine_file(text);
}
void import_hwloc(std::string_view text) {
  machine_file(text);
}
void import_smi(std::string_view text) {
  machine_file(text);
}
void import_msccl(std::string_view text) {
  machine_file(text);
}
void import_taccl(std::string_view text) {
  machine_file(text);
}
void import_teccl(std::string_view text) {
  machine_file(text);
}
void import_astra(std::string_view text) {
  machine_file(text);
}
void import_ns3(std::string_view text) {
  machine_file(text);
}

}  // namespace chorale::fuzz
