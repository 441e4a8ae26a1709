#include "topology/hardware/peer_access.h"

#include <algorithm>
#include <cmath>

namespace chorale {

const PciFacts* pci_between_gpus(const Topology& machine) {
  const auto is_of_one_box = [](const NodeLabel& label) {
    return label.kind != "NVSwitch" && label.kind != "NIC" && label.kind != "network" &&
           !label.name.starts_with("node1:");
  };
  if (machine.labels.empty() || machine.labels.front().kind != "GPU" ||
      !std::ranges::all_of(machine.labels, is_of_one_box))
    return nullptr;
  double gbs = 0;
  for (const Link& link : machine.links) gbs = std::max(gbs, link.bandwidth / link.beta_us_per_byte / 1e3);
  const auto row = std::ranges::find_if(
      pci_table(), [&](const PciFacts& pci) { return std::abs(gbs - pci.gbs) <= 0.05 * pci.gbs; });
  return row == pci_table().end() ? nullptr : &*row;
}

bool reads_are_faster(const Topology& machine) {
  const PciFacts* const pci = pci_between_gpus(machine);
  return pci != nullptr && pci->peer_read_gbs > pci->peer_write_gbs;
}

}  // namespace chorale
