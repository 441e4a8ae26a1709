#include "topology/hardware/computing.h"

namespace chorale {

void compute_at(Topology& machine, Node at, const GpuFacts& gpu, RateKind rates) {
  const SwitchFacts& facts = switch_facts(gpu.nvswitch);
  if (machine.abilities.empty()) machine.name += " whose switches " + in_words(facts.abilities);
  machine.abilities.resize(static_cast<std::size_t>(machine.switches));
  machine.abilities[at - machine.ranks] = facts.abilities;
  machine.switch_gain = switch_gain(facts, gpu, rates);
}

InputError no_computing_switches(const std::string& machine) {
  return {"--switches-in-network", machine + " has no switches that are known to copy and add",
          "leave it out, or state them: --switches-multicast, --switches-reduce"};
}

}  // namespace chorale
