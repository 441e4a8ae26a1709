// What the thread blocks of every rank do, without steps: the form for runtimes in which blocks run by
// themselves and wait for messages and for each other (MSCCL, MSCCL++, kernels). Made from a Program by
// codegen/passes/relax.h, or read from others' files.
//
// A block runs its instructions in order. It sends to at most one rank and receives from at most one. A
// connection (from, to, channel) is a queue: one block fills it, one empties it, and the i-th message sent is
// the i-th received. An instruction starts when those that it names in `after` are complete; a Send is
// complete when its data are in the queue, whose depth is the runtime's affair.
//
// Buffers and pieces are as in ir/program.h. An instruction moves `count` chunks in consecutive slots.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/collective.h"
#include "ir/program.h"

namespace chorale {

enum class BlockOpcode {
  Nop,                 // waits for `after` only
  Send,                // src -> queue
  Recv,                // queue -> dst
  RecvCopySend,        // queue -> dst and queue out
  RecvReduce,          // queue (+) src -> dst
  RecvReduceSend,      // queue (+) src -> queue out
  RecvReduceCopySend,  // queue (+) src -> dst and queue out
  Copy,                // src -> dst
  Reduce,              // dst (+) src -> dst
  Barrier,             // waits until all blocks of the rank that have this `barrier` are there
  Epilogue,            // f(dst, index) -> dst, with a function of the caller's; dst is a complete sum
};

struct BlockReference {
  int block = 0;
  int instruction = 0;
  auto operator<=>(const BlockReference&) const = default;
};

struct BlockInstruction {
  BlockOpcode opcode = BlockOpcode::Nop;
  Slot src = {};  // of all that read a local slot
  Slot dst = {};  // of all that write one
  int count = 1;
  int piece = 0;  // of the first chunk; the next ones follow, modulo chunks_per_block
  std::vector<BlockReference> after = {};  // of the same rank, in other blocks
  int barrier = 0;                         // of Barrier: its number; a block has each at most once
  int position =
      0;  // of Epilogue: where its first chunk lies in the inputs, which all contributors agree on:
          // elements have the index that they have there
  bool operator==(const BlockInstruction&) const = default;
};

struct Block {
  Rank send_to = -1;    // -1: it never sends
  Rank recv_from = -1;  // -1: it never receives
  int channel = 0;
  std::vector<BlockInstruction> instructions = {};
  bool operator==(const Block&) const = default;
};

struct BlockRank {
  int input_chunks = 0;
  int output_chunks = 0;
  int scratch_chunks = 0;
  std::vector<Block> blocks = {};
  bool operator==(const BlockRank&) const = default;
};

struct BlockProgram {
  std::string name = {};
  CollectiveKind collective = CollectiveKind::Custom;
  int chunks_per_block = 1;
  bool in_place = false;  // right for input and output that share memory as NCCL has it (in_place_slot)
  int queue_depth = 1;    // messages that a queue must be able to hold
  std::vector<BlockRank> ranks = {};
  bool operator==(const BlockProgram&) const = default;
};

bool sends(BlockOpcode);
bool receives(BlockOpcode);
bool reads_src(BlockOpcode);  // the local src
bool reads_dst(BlockOpcode);
bool writes_dst(BlockOpcode);
bool reduces(BlockOpcode);  // adds
bool has_epilogue(const BlockProgram&);

std::string to_string(BlockOpcode);  // "rrcs", as in MSCCL files
std::string to_string(const BlockInstruction&);

// A program, and what it is to do.
struct BlockProgramFile {
  Collective collective = {};
  BlockProgram program = {};
  bool operator==(const BlockProgramFile&) const = default;
};

// Text form: docs/formats.md. The program is named after the collective and has its chunks a block.
std::string to_json(const Collective&, const BlockProgram&);
BlockProgramFile block_program_from_json(std::string_view text, const std::string& file);

}  // namespace chorale
