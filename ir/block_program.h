// What the thread blocks of every rank do, without steps: the form for runtimes in which blocks run by
// themselves and wait for messages and for each other (MSCCL, kernels). Made from a Program by
// codegen/passes/relax.h, or read from others' files. What an instruction does with data is in
// ir/data_operation.h, of slots of its own rank; this is what it waits for.
//
// A block runs its instructions in order. It sends to at most one rank and receives from at most one. A
// connection (from, to, channel) is a queue: one block fills it, one empties it, and the i-th message sent is
// the i-th received. An instruction starts when those that it names in `after` are complete; one that sends
// is complete when its data are in the queue, whose depth is the runtime's affair.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/collective.h"
#include "ir/data_operation.h"
#include "ir/epilogue.h"

namespace chorale {

struct BlockReference {
  int block = 0;
  int instruction = 0;
  auto operator<=>(const BlockReference&) const = default;
};

struct BlockInstruction {
  DataOperation does = {};
  std::vector<BlockReference> after = {};  // of the same rank, in other blocks
  // Not -1: it does nothing, and waits until all blocks of the rank that have this number are there; a block
  // has each at most once.
  int barrier = -1;
  bool operator==(const BlockInstruction&) const = default;
};

struct Block {
  Rank send_to = -1;    // -1: it never sends
  Rank recv_from = -1;  // -1: it never receives
  int channel = 0;
  std::vector<BlockInstruction> instructions = {};
  bool operator==(const Block&) const = default;
};

using BlockRank = RankOf<Block>;

struct BlockProgram {
  std::string name = {};
  CollectiveKind collective = CollectiveKind::Custom;
  int chunks_per_block = 1;
  bool in_place = false;   // right for input and output that share memory as NCCL has it (in_place_slot)
  int queue_depth = 1;     // messages that a queue must be able to hold
  Epilogue epilogue = {};  // what operations with a position apply
  std::vector<BlockRank> ranks = {};
  bool operator==(const BlockProgram&) const = default;
};

// The operations that MSCCL has names for.
struct OperationShape {
  const char* name = "";
  bool takes = false;   // a message
  bool reads = false;   // src
  bool adds = false;    // to dst, which it reads
  bool stores = false;  // into dst
  bool sends = false;   // a message
};
const OperationShape* shape_of(const DataOperation&);  // null: no MSCCL name
const OperationShape* shape_named(std::string_view);   // null: unknown name
DataOperation shaped(const OperationShape&, const Slot& src, const Slot& dst);
// Of an operation that has a name; of what its shape does not use, nothing in particular.
Slot src_of(const DataOperation&);
Slot dst_of(const DataOperation&);

// Returns "rrcs", as in MSCCL files; "bar", "epi" (a function on a slot) and "move" (an operation without a
// name) are ours.
std::string name_of(const BlockInstruction&);
std::string to_string(const BlockInstruction&);

// A program, and what it is to do.
struct BlockProgramFile {
  Collective collective = {};
  BlockProgram program = {};
  bool operator==(const BlockProgramFile&) const = default;
};

// Text form: docs/formats.md. The program is named after the collective and has its chunks per block.
std::string to_json(const Collective&, const BlockProgram&);
BlockProgramFile block_program_from_json(std::string_view text, const std::string& file);

}  // namespace chorale
