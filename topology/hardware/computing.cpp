#include "topology/hardware/computing.h"

#include <fmt/format.h>

#include <cmath>

namespace chorale {
namespace {

// What a switch delivers is a whole number of units (topology/switches.cpp). Smaller units, where rounding
// would change it by more: of eight H100 10 instead of 10.36 would be a bound below what is measured.
void refine_units(Topology& machine, Node at) {
  constexpr double kError = 0.005;
  constexpr int kMaxParts = 8;
  double out = 0;
  for (const Link& link : machine.links) out += link.src == at ? link.bandwidth : 0;
  const double exact = machine.switch_gain * out;
  const auto error = [&](int parts) { return std::abs(std::round(exact * parts) / (exact * parts) - 1); };
  int parts = 1;
  while (parts < kMaxParts && error(parts) > kError) ++parts;
  for (Link& link : machine.links) {
    link.bandwidth *= parts;
    link.beta_us_per_byte *= parts;
  }
  for (SharedLimit& limit : machine.limits) limit.bandwidth *= parts;
}

}  // namespace

void compute_at(Topology& machine, Node at, const GpuFacts& gpu, RateKind rates) {
  const SwitchFacts& facts = switch_facts(gpu.nvswitch);
  machine.abilities.resize(static_cast<std::size_t>(machine.switches));
  machine.abilities[at - machine.ranks] = facts.abilities;
  machine.switch_gain = switch_gain(facts, gpu, rates);
  refine_units(machine, at);
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
