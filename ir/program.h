// What one rank does, as a list of instructions: the form that is executed and printed for other runtimes.
//
// A rank has three buffers, counted in chunks: input (read only), output, scratch. Positions are slots. Sizes
// in bytes enter only at execution: a block of n elements is cut into its chunks so that their lengths differ
// by at most one element, so a size need not be divisible by the number of chunks.
#pragma once

#include <string>
#include <vector>

#include "ir/topology.h"

namespace chorale {

enum class Buffer { Input, Output, Scratch };

struct Slot {
  Buffer buffer = Buffer::Input;
  int index = 0;  // in chunks
  bool operator==(const Slot&) const = default;
};

enum class Opcode {
  Send,    // src -> message `message` to `peer`
  Recv,    // message `message` from `peer` -> dst (replaces)
  Copy,    // src -> dst, local
  Reduce,  // dst = dst (+) src, local
};

struct Instruction {
  Opcode opcode = Opcode::Copy;
  Slot src = {};
  Slot dst = {};
  Rank peer = -1;    // of Send and Recv
  int message = -1;  // of Send and Recv: matches the two ends; unique in the program
  int step = 0;      // epoch; instructions are sorted by it
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
  std::string collective = {};
  int steps = 0;
  int chunks_per_block =
      1;  // slot i of input and output is chunk i % chunks_per_block of block i / chunks_per_block
  std::vector<RankProgram> ranks = {};
  bool operator==(const Program&) const = default;
};

}  // namespace chorale
