#include "topology/hardware/computing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/links_alone.h"
#include "ir/switch_gain.h"
#include "topology/hardware/deliveries.h"

namespace chorale {

int compute_at(Topology& machine, const std::vector<Node>& switches, const GpuFacts& gpu,
               const ImportOptions& options) {
  if (switches.empty()) return 1;
  const SwitchFacts& facts = switch_facts(gpu.nvswitch);
  machine.abilities.resize(static_cast<std::size_t>(machine.switches));
  for (const Node at : switches) machine.abilities[at - machine.ranks] = facts.abilities;
  machine.switch_gain = switch_gain(facts, gpu, options.line_rates ? RateKind::Line : RateKind::Effective);
  if (options.forward_only) {
    machine = by_links_alone(std::move(machine));
    return 1;
  }
  int divisor = 1;
  for (const Node at : switches) divisor = std::max(divisor, chunk_divisor(deliveries(machine, at)));
  for (Link& link : machine.links) {
    link.bandwidth *= divisor;
    link.beta_us_per_byte *= divisor;
  }
  for (SharedLimit& limit : machine.limits) limit.bandwidth *= divisor;
  return divisor;
}

std::string computing_in_words(const GpuFacts& gpu) {
  const SwitchFacts& facts = switch_facts(gpu.nvswitch);
  return fmt::format(
      "NVSwitches {} (NVLS; {}, {}): an AllReduce of eight reaches {} of the rate; --switches-forward-only "
      "is "
      "for links alone",
      in_words(facts.abilities), facts.name, gpu.name, facts.share);
}

InputError no_computing_switches(const std::string& machine) {
  return {"--switches-in-network", machine + " has no switches that are known to copy and add",
          "leave it out, or state them: --switches-multicast, --switches-reduce"};
}

}  // namespace chorale
