#include "ir/peer_program.h"

#include <fmt/format.h>

#include <algorithm>

namespace chorale {
namespace {

std::string places(const std::vector<PeerSlot>& slots, int count, const char* between) {
  std::string text;
  for (const PeerSlot& slot : slots) text += (text.empty() ? "" : between) + to_string(slot);
  return count == 1 ? text : fmt::format("{} and the {} after", text, count - 1);
}

}  // namespace

std::vector<std::vector<int>> values_of_a_launch(const PeerProgram& program) {
  std::vector<std::vector<int>> result;
  for (const PeerRank& rank : program.ranks) result.emplace_back(std::max(rank.counters, 0), 0);
  for (const PeerRank& rank : program.ranks)
    for (const PeerBlock& block : rank.blocks)
      for (const PeerInstruction& i : block.instructions)
        if (i.opcode == PeerOpcode::Signal) {
          int& most = result.at(i.rank).at(i.counter);
          most = std::max(most, i.value);
        }
  return result;
}

std::string to_string(PeerOpcode opcode) {
  const char* names[] = {"move", "signal", "wait", "sync"};
  return names[static_cast<int>(opcode)];
}

std::string to_string(const PeerSlot& place) {
  return fmt::format("rank {}'s {}", place.rank, to_string(place.slot));
}

std::string to_string(const PeerInstruction& i) {
  switch (i.opcode) {
    case PeerOpcode::Move:
      return fmt::format("move {} to {}", places(i.from, i.count, " + "), places(i.to, i.count, " and "));
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
