#include "codegen/passes/peer_pieces.h"

#include <map>
#include <span>
#include <utility>
#include <vector>

namespace chorale {
namespace {

void find_piece(DataOperation& move, std::map<DataPlace, int>& held, int pieces) {
  if (const auto at = held.find(move.from[0]); at != held.end()) move.piece = at->second;
  for (const auto& places : {move.from, move.to})
    for (const DataPlace& place : places)
      if (place.slot.buffer != Buffer::Scratch) move.piece = place.slot.index % pieces;
  for (const DataPlace& place : move.to)
    for (int k = 0; k < move.count && place.slot.buffer == Buffer::Scratch; ++k)
      held[next_place(place, k)] = (move.piece + k) % pieces;
}

}  // namespace

void find_pieces(PeerProgram& program) {
  std::vector<std::vector<int>> raised;  // by rank and counter
  std::vector<std::pair<Rank, std::span<PeerInstruction>>> left;
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
    raised.emplace_back(program.ranks[n].counters, 0);
    for (PeerBlock& block : program.ranks[n].blocks) left.push_back({n, block.instructions});
  }
  std::map<DataPlace, int> held;  // scratch
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [n, instructions] : left)
      for (; !instructions.empty(); instructions = instructions.subspan(1), moved = true) {
        PeerInstruction& i = instructions.front();
        if (i.opcode == PeerOpcode::Wait && raised[n][i.counter] < i.value) break;
        if (i.opcode == PeerOpcode::Signal) raised[i.rank][i.counter] = i.value;
        if (i.opcode == PeerOpcode::Move) find_piece(i.does, held, program.chunks_per_block);
      }
  }
  for (auto& [n, instructions] : left)  // they wait forever
    for (PeerInstruction& i : instructions)
      if (i.opcode == PeerOpcode::Move) find_piece(i.does, held, program.chunks_per_block);
}

}  // namespace chorale
