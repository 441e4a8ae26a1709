// Schedules that leave sums and copies to switches, and their programs as our kernel runs them.
#pragma once

#include <string>
#include <vector>

#include "codegen/passes/lower.h"
#include "construct/in_network.h"
#include "ir/machine_changes.h"
#include "semantics/verified.h"
#include "topology/builders.h"
#include "topology/changes.h"
#include "topology/switches.h"

namespace chorale::test {

// The machine, whose switches all multicast and reduce.
inline Topology with_able_switches(const std::string& spec) {
  MachineChanges able;
  able.switches = {.multicast = true, .reduce = true};
  return flatten(changed(named_topology(spec), able));
}

// Of 2 to 16 ranks.
inline const std::vector<std::string> able_machines = {"hub:2",  "hub:3",  "hub:4",      "hub:5",  "hub:6",
                                                       "hub:8",  "hub:13", "dgx-h100:1", "b200:1", "hub:16",
                                                       "hub:11", "dgx2",   "dgx-h100:2"};

inline std::vector<Verified<Schedule>> able_schedules(const Topology& topology, const std::string& kind,
                                                      int chunks, const SumOrder& order = {}) {
  Collective collective = make_collective(kind, topology.ranks, chunks);
  collective.order = order;
  std::vector<Verified<Schedule>> all;
  for (Schedule& schedule : in_network(topology, collective))
    all.push_back(accepted(topology, collective, std::move(schedule)));
  return all;
}

inline Verified<PeerProgram> switched(const Verified<Schedule>& schedule, bool in_place = false) {
  return lower<PeerProgram>(schedule, {.in_place = in_place, .peers = peers_for_kernel()});
}

// How many operations a switch does, by kind.
struct SwitchCount {
  int sums = 0, copies = 0, signals = 0;
};
inline SwitchCount count_of(const PeerProgram& program) {
  SwitchCount count;
  for_each_instruction(program, [&](Rank, int, int, const PeerInstruction& i) {
    for (const DataPlace& from : i.does.from) count.sums += from.team >= 0;
    for (const DataPlace& to : i.does.to) count.copies += to.team >= 0;
    count.signals += i.opcode == PeerOpcode::Signal && i.team >= 0;
  });
  return count;
}

}  // namespace chorale::test
