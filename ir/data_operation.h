// What programs do with data, whatever they wait for: one operation, and the memory that it works on.
// Programs of epochs (ir/program.h), of blocks with queues (ir/block_program.h) and of blocks in shared
// memory (ir/peer_program.h) have the same operations; they differ in what an instruction waits for, and what
// that orders.
//
// A rank has three buffers, counted in chunks: input (read only), output, scratch. Positions are slots. Sizes
// in bytes enter only at execution: a block of n elements is cut into its chunks so that their lengths differ
// by at most one element (Pieces), so a size need not be divisible by the number of chunks, and chunks
// may be empty. Slot i of input and output is chunk i % chunks_per_block of block i / chunks_per_block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/pieces.h"
#include "ir/slot.h"
#include "ir/topology.h"

namespace chorale {

// Ranks whose memory one switch reaches at one address (NVLS), each sorted: two or more.
using Teams = std::vector<std::vector<Rank>>;

// A slot and in whose memory it is. Of a team the slot is in the memory of each of its ranks: what is read
// there is the sum over all of them, which the switch makes in an order of its own; what is stored there
// reaches all of them.
struct DataPlace {
  Slot slot = {};
  Rank rank = -1;  // -1: of the rank that does the operation
  int team = -1;   // of a program of shared memory; -1: of one rank
  auto operator<=>(const DataPlace&) const = default;
};

// Combines its operands, and stores and sends the result. Operands are the value of a message, if it takes
// one, and then `from`, in this order; the result goes to all of `to`, and into a message, if it sends one.
// All chunks of an operation are independent of each other: threads may do them in any order.
//
// A value may have a function applied to it once it is complete (ir/epilogue.h): by the operation that
// completes it, before the result is stored and sent, or by one that reads and stores it.
struct DataOperation {
  bool takes = false;
  std::vector<DataPlace> from = {};  // each the first of `count` consecutive slots
  std::vector<DataPlace> to = {};    // likewise
  bool sends = false;
  int count = 1;
  int piece =
      0;  // which chunk of its block the first one is, which decides its length; the next ones follow,
          // modulo chunks_per_block
  int position = -1;  // -1: no function is applied; else where the first chunk lies in the inputs, which all
                      // contributors agree on: elements have the index that they have there
  bool operator==(const DataOperation&) const = default;
};

// Return the usual ones: move one value, or add one to what lies in a slot.
DataOperation sending(const Slot& src, int piece = 0);
DataOperation receiving(const Slot& dst, int piece = 0);
DataOperation copying(const Slot& src, const Slot& dst, int piece = 0);
DataOperation adding(const Slot& src, const Slot& dst, int piece = 0);  // dst = dst (+) src

inline int operands(const DataOperation& op) {
  return (op.takes ? 1 : 0) + static_cast<int>(op.from.size());
}
inline bool adds(const DataOperation& op) {
  return operands(op) > 1;
}
inline bool applies(const DataOperation& op) {
  return op.position >= 0;
}
inline bool does_nothing(const DataOperation& op) {
  return operands(op) == 0 && op.to.empty() && !op.sends;
}
// Is it between slots only?
inline bool is_local(const DataOperation& op) {
  return !op.takes && !op.sends;
}

// Returns the slot, or the slot of the place, `by` positions further on.
Slot next_slot(const Slot&, int by);
DataPlace next_place(const DataPlace&, int by);
// Returns the places of the team's ranks that a place stands for; itself, if it is of one rank.
std::vector<DataPlace> single_places(const Teams&, const DataPlace&);

// What a rank of a program has, in chunks, and its blocks.
template <typename Block>
struct RankOf {
  int input_chunks = 0;
  int output_chunks = 0;
  int scratch_chunks = 0;
  int counters = 0;  // of peer programs
  int slice =
      0;  // where its first output lies in the inputs, for tensors that are sliced like it (ir/epilogue.h)
  std::vector<Block> blocks = {};
  bool operator==(const RankOf&) const = default;
};

template <typename Block>
int chunks_in(const RankOf<Block>& rank, Buffer buffer) {
  return buffer == Buffer::Input    ? rank.input_chunks
         : buffer == Buffer::Output ? rank.output_chunks
                                    : rank.scratch_chunks;
}

// function(rank, block, number, instruction) for all instructions of a program of any form.
template <typename Program, typename Function>
void for_each_instruction(Program& program, Function function) {
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
    for (int b = 0; b < static_cast<int>(program.ranks[n].blocks.size()); ++b)
      for (int i = 0; i < static_cast<int>(program.ranks[n].blocks[b].instructions.size()); ++i)
        function(n, b, i, program.ranks[n].blocks[b].instructions[i]);
}

// Does a program of any form add anything anywhere? Does it apply a function?
template <typename Program>
bool reduces(const Program& program) {
  bool any = false;
  for_each_instruction(program, [&](Rank, int, int, const auto& i) { any = any || adds(i.does); });
  return any;
}
template <typename Program>
bool has_epilogue(const Program& program) {
  bool any = false;
  for_each_instruction(program, [&](Rank, int, int, const auto& i) { any = any || applies(i.does); });
  return any;
}

// For people: "rank 3's output[2]"; "copy input[0] to output[1]".
std::string to_string(const DataPlace&);
std::string to_string(const DataOperation&);

}  // namespace chorale
