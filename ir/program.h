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

// "send output[3] to rank 5 (message 17)".
std::string to_string(const Instruction&);

}  // namespace chorale
