// Counters only grow within a launch, so the largest value that is signalled is what a launch adds to a
// counter; a wait in the next launch is for that much more.
#include "ir/peer_program.h"

#include <fmt/format.h>

#include <algorithm>

namespace chorale {
std::vector<std::vector<int>> values_of_a_launch(const PeerProgram& program) {
  std::vector<std::vector<int>> result;
  for (const PeerRank& rank : program.ranks) result.emplace_back(std::max(rank.counters, 0), 0);
  // Every signal of every rank, since a counter may be raised from another rank.
  for_each_instruction(program, [&](Rank, int, int, const PeerInstruction& i) {
    if (i.opcode != PeerOpcode::Signal) return;
    int& most = result.at(i.rank).at(i.counter);
    most = std::max(most, i.value);
  });
  return result;
}

std::string to_string(PeerOpcode opcode) {
  const char* names[] = {"move", "signal", "wait", "sync"};
  return names[static_cast<int>(opcode)];
}

std::string to_string(const PeerInstruction& i) {
  switch (i.opcode) {
    case PeerOpcode::Move:
      return to_string(i.does);
    case PeerOpcode::Signal:
      return fmt::format("raise counter {} of rank {} to {}{}", i.counter, i.rank, i.value,
                         i.relaxed ? ", relaxed" : "");
    case PeerOpcode::Wait:
      return fmt::format("wait for counter {} to be {}{}", i.counter, i.value,
                         i.lag == 0   ? ""
                         : i.lag == 1 ? " since the last launch"
                                      : fmt::format(" since {} launches ago", i.lag));
    case PeerOpcode::Sync:
      return "sync";
  }
  return "";
}

}  // namespace chorale
