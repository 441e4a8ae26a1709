// A program of epochs (ir/program.h) as tables of integers: what executors plan from that know no Program, in
// this process and in emitted programs. C++17 without other headers of ours, since it is copied along.
//
// Buffers are 0 input, 1 output, 2 scratch. In a step a rank starts its messages in the order of their rows,
// and when all of them are complete, it does its work in the order of the rows.
#pragma once

#include <array>

namespace chorale {

struct StepMessage {
  int step, from, from_buffer, from_slot, to, to_buffer, to_slot;
  int block, piece;  // that the length is of; where all blocks have one length, the block is 0
  int borrows;       // 1: the receiver may read it where the sender has it, in this step alone
  int lane = 0;      // of its sender: what leaves by one port, in the order of steps
};

struct StepWork {
  int rank, step;
  int add;  // 1: to what lies there
  int from_buffer, from_slot, to_buffer, to_slot;
  int block, piece;  // as of a message
  // The result is a complete sum, of the chunk `piece` of block `block` of the inputs, and a function takes
  // it. 1: the function alone; 2: it is stored as well; 3: what the function makes of it is stored. Else 0.
  int completes;
};

struct StepTables {
  int ranks = 0, steps = 0, pieces = 1;       // pieces of a block
  const std::array<int, 3>* slots = nullptr;  // by rank: of input, output, scratch
  const StepMessage* messages = nullptr;      // by step, and then by ir/program.h
  int message_count = 0;
  const StepWork* work = nullptr;  // by step, and then by rank
  int work_count = 0;
  const int* slices = nullptr;                 // by rank: where its first output lies in the inputs
  bool own_input = false, own_output = false;  // a rank has its own block there alone
  bool adds_once = false;                      // sums of several operands round once, in their order
};

}  // namespace chorale
