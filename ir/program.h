// What every rank does, as lists of instructions in epochs: the form that is executed, and printed for other
// runtimes. What an instruction does with data is in ir/data_operation.h; this is what it waits for.
//
// Time is cut into epochs, `step`. In an epoch a rank starts all its sends and receives, which read and write
// the buffers while messages fly; when all of them are complete, each thread block does its local
// instructions in order. So within an epoch a send reads what its slot held before, no slot is received into
// that is sent or received into elsewhere, and thread blocks share slots only for reading. Ranks wait for
// each other through messages alone; both ends of a message are in the same epoch. An instruction with a
// message does nothing else: it sends one slot, or receives into one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/data_operation.h"
#include "ir/epilogue.h"
#include "ir/topology.h"

namespace chorale {

struct Instruction {
  DataOperation does = {};
  Rank peer = -1;    // of the message, if it has one
  int message = -1;  // matches the two ends; unique in the program
  int step = 0;      // epoch; the instructions of a block are sorted by it, communication before local ones
  bool operator==(const Instruction&) const = default;
};

struct ThreadBlock {
  int channel = 0;
  std::vector<Instruction> instructions = {};
  bool operator==(const ThreadBlock&) const = default;
};

using RankProgram = RankOf<ThreadBlock>;

struct Program {
  std::string name = {};
  CollectiveKind collective = CollectiveKind::Custom;
  int steps = 0;
  int chunks_per_block = 1;
  // For input and output that share memory as NCCL has it (in_place_slot in ir/collective_kind.h), and then
  // only so; a write of an output slot may end the life of an input slot.
  bool in_place = false;
  Epilogue epilogue = {};  // what operations with a position apply
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

// By number. Requires a program that the verifier accepts.
std::vector<MessageEnds> messages_of(const Program&);

// Returns "send output[3] to rank 5 (message 17)".
std::string to_string(const Instruction&);

// The order in which a rank posts the messages of a step, where it posts them all at once: to the next rank
// first, then to the one after it, and round; and likewise what it receives, from the rank before it first.
//
// Behind a switch the order is time. Where all ranks send to rank 0 first, then to 1, ..., they queue up at
// one port while the others idle. By distance the k-th messages of all ranks go to different ranks, as of a
// rotation: benchmarks/fabric has the times.

// 1 for the next rank, .., ranks - 1 for the one before it. What is posted first has the smallest.
constexpr int posting_distance(Rank src, Rank dst, int ranks) {
  return (dst - src + ranks) % ranks;
}

}  // namespace chorale
