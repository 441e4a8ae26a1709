// What every rank does, as lists of instructions: the form that is executed, and printed for other runtimes.
//
// A rank has three buffers, counted in chunks: input (read only), output, scratch. Positions are slots. Sizes
// in bytes enter only at execution: a block of n elements is cut into its chunks so that their lengths differ
// by at most one element (piece_begin), so a size need not be divisible by the number of chunks, and chunks
// may be empty.
//
// Time is cut into epochs, `step`. In an epoch a rank starts all its Sends and Recvs, which read and write
// the buffers while messages fly; when all of them are complete, each thread block does its local
// instructions in order. So within an epoch a Send reads what its slot held before, no slot is received into
// that is sent or received into elsewhere, and thread blocks share slots only for reading. Ranks wait for
// each other through messages alone; both ends of a message are in the same epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/slot.h"
#include "ir/topology.h"

namespace chorale {

enum class Opcode {
  Send,    // src -> message `message` to `peer`
  Recv,    // message `message` from `peer` -> dst (replaces)
  Copy,    // src -> dst, local
  Reduce,  // dst = dst (+) src, local
};

struct Instruction {
  Opcode opcode = Opcode::Copy;
  Slot src = {};     // of all but Recv
  Slot dst = {};     // of all but Send
  Rank peer = -1;    // of Send and Recv
  int message = -1;  // of Send and Recv: matches the two ends; unique in the program
  int step = 0;      // epoch; the instructions of a block are sorted by it, communication before local ones
  int piece = 0;  // which chunk of its block this is, 0 .. chunks_per_block-1: decides its length in elements
  bool operator==(const Instruction&) const = default;
};

struct ThreadBlock {
  int channel = 0;
  std::vector<Instruction> instructions = {};
  bool operator==(const ThreadBlock&) const = default;
};

struct RankProgram {
  int input_chunks = 0;
  int output_chunks = 0;
  int scratch_chunks = 0;
  std::vector<ThreadBlock> blocks = {};
  bool operator==(const RankProgram&) const = default;
};

struct Program {
  std::string name = {};
  CollectiveKind collective = CollectiveKind::Custom;
  int steps = 0;
  // Slot i of input and output is chunk i % chunks_per_block of block i / chunks_per_block.
  int chunks_per_block = 1;
  // For input and output that share memory as NCCL has it (in_place_slot in ir/collective_kind.h), and then
  // only so; a write of an output slot may end the life of an input slot.
  bool in_place = false;
  std::vector<RankProgram> ranks = {};
  bool operator==(const Program&) const = default;
};

// One message of a program.
struct MessageEnds {
  int number = 0;
  int step = 0;
  Rank from = -1;
  Slot src = {};
  Rank to = -1;
  Slot dst = {};
  int piece = 0;
  bool operator==(const MessageEnds&) const = default;
};

// By number. Requires a program that the referee accepts.
std::vector<MessageEnds> messages_of(const Program&);

// Does this instruction concern one rank only?
bool is_local(Opcode);

// Where piece 0 .. pieces of a block of `elements` begins; piece `pieces` begins where the block ends. The
// longer pieces come first.
std::int64_t piece_begin(std::int64_t elements, int pieces, int piece);

// For people: "send output[3] to rank 5 (message 17)".
std::string to_string(const Instruction&);

}  // namespace chorale
