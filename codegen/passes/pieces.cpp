// The program is run with pieces in place of data, each block as far as it goes, until none goes on. The
// order in which blocks run does not matter in a right program: a queue has one sender and one receiver, and
// counters and dependencies order the uses of scratch. Each instruction runs once; those that would wait
// forever run in the end, as they come.
#include "codegen/passes/pieces.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace chorale {
namespace {

// Of consecutive chunks from slot s on, piece k of the operation is (piece of s + k) modulo the pieces of a
// block: so one number is enough for an operation, and one for each scratch slot that it fills.
class HeldPieces {
 public:
  explicit HeldPieces(int pieces, Teams teams = {}) : pieces_(pieces), teams_(std::move(teams)) {}

  // Of the operation of a rank; `taken` is the piece of the message that it takes, if known.
  void find(DataOperation& op, Rank n, int taken = -1) {
    int piece = taken;
    for (const std::vector<DataPlace>* places : {&op.from, &op.to})
      for (const DataPlace& place : single(*places))
        if (place.slot.buffer != Buffer::Scratch)
          piece = place.slot.index % pieces_;
        else if (const auto at = held_.find(of(place, n)); at != held_.end() && piece < 0)
          piece = at->second;
    op.piece = std::max(piece, 0);
    for (const DataPlace& place : single(op.to))
      for (int k = 0; k < op.count && place.slot.buffer == Buffer::Scratch; ++k)
        held_[next_place(of(place, n), k)] = (op.piece + k) % pieces_;
  }

 private:
  std::vector<DataPlace> single(const std::vector<DataPlace>& places) const {
    std::vector<DataPlace> all;
    for (const DataPlace& place : places)
      for (const DataPlace& one : single_places(teams_, place)) all.push_back(one);
    return all;
  }
  static DataPlace of(DataPlace place, Rank n) {
    if (place.rank < 0) place.rank = n;
    return place;
  }

  const int pieces_;
  const Teams teams_;
  std::map<DataPlace, int> held_ = {};  // in scratch
};

// may_run(rank, block, instruction) runs it, or reports that it waits.
// One loop for both kinds of programs; next[rank][block] is the instruction that comes next.
template <typename Program, typename Run, typename Rest>
void run_all(Program& program, Run may_run, Rest rest) {
  std::vector<std::vector<std::size_t>> next;
  for (const auto& rank : program.ranks) next.emplace_back(rank.blocks.size(), 0);
  const auto each = [&](auto function) {
    for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
      for (std::size_t b = 0; b < program.ranks[n].blocks.size(); ++b)
        for (auto& all = program.ranks[n].blocks[b].instructions; next[n][b] < all.size(); ++next[n][b])
          if (!function(n, program.ranks[n].blocks[b], all[next[n][b]])) break;
  };
  for (bool moved = true; moved;) {
    moved = false;
    each([&](Rank n, const auto& block, auto& instruction) {
      const bool runs = may_run(n, block, instruction, next[n]);
      moved = moved || runs;
      return runs;
    });
  }
  each([&](Rank n, const auto&, auto& instruction) { return rest(n, instruction), true; });
}

}  // namespace

// Counters carry no piece: what a Move loads from scratch was stored there by a Move that has run before.
void find_pieces(PeerProgram& program) {
  std::vector<std::vector<int>> raised;  // by rank and counter
  for (const auto& rank : program.ranks) raised.emplace_back(rank.counters, 0);
  HeldPieces held(program.chunks_per_block, program.teams);
  const auto find = [&](Rank n, PeerInstruction& i) {
    if (i.opcode == PeerOpcode::Move) held.find(i.does, n);
  };
  run_all(
      program,
      [&](Rank n, const PeerBlock&, PeerInstruction& i, const std::vector<std::size_t>&) {
        if (i.opcode == PeerOpcode::Wait && raised[n][i.counter] < i.value) return false;
        if (i.opcode == PeerOpcode::Signal)
          for (const Rank owner : signalled(program, i)) raised[owner][i.counter] = i.value;
        find(n, i);
        return true;
      },
      find);
}

// Queues do: an instruction that takes a message has the piece that its sender had.
void find_pieces(BlockProgram& program) {
  std::map<std::tuple<Rank, Rank, int>, std::deque<int>> queues;
  HeldPieces held(program.chunks_per_block);
  run_all(
      program,
      [&](Rank n, const Block& block, BlockInstruction& i, const std::vector<std::size_t>& next) {
        for (const BlockReference& before : i.after)
          if (before.block < std::ssize(next) && std::cmp_less_equal(next[before.block], before.instruction))
            return false;
        int taken = -1;
        if (i.does.takes) {
          auto& queue = queues[{block.recv_from, n, block.channel}];
          if (queue.empty()) return false;
          taken = queue.front();
          queue.pop_front();
        }
        held.find(i.does, n, taken);
        if (i.does.sends) queues[{n, block.send_to, block.channel}].push_back(i.does.piece);
        return true;
      },
      [&](Rank n, BlockInstruction& i) { held.find(i.does, n); });
}

}  // namespace chorale
