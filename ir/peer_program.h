// What the thread blocks of every rank do in memory that ranks share: the form for kernels that store to, and
// load from, each other's buffers (peer memory, NVLS), and for plans of MSCCL++. There are no queues: data
// are moved, and counters show that they have arrived.
//
// A rank runs the program launch after launch; a launch starts when all blocks of the rank have finished the
// last one, and what the user does with input and output happens between two launches of that rank. Ranks
// meet through counters alone, so one may be a launch ahead of another.
//
// A block runs its instructions in order, with many threads. What one thread has stored the others see after
// Sync. A Signal makes visible to its waiters all that the block did before its last Sync; a relaxed one
// shows only that the block has reached it (and all that was before the launch).
//
// A counter belongs to a rank and is raised by one block of one rank, which may be another one. Its values in
// a launch are 1, 2, ... in the order of that block's Signals; they go on from launch to launch, so nothing
// is reset. A Wait is for a value of this launch, or of `lag` launches ago (before the first: at once).
//
// A Signal may name in `to` what it is about, slots of that rank that the block has stored before: a network
// that carries nothing by itself sends them then.
//
// What a Move does with data is in ir/data_operation.h, without messages; its places may be in the memory of
// any rank, or of a team: a load from a team is multimem.ld_reduce of CUDA, a store to it multimem.st, and a
// Signal to it, which raises the counters of one number at all its ranks, multimem.red. With double_scratch
// even and odd launches have a scratch each.
#pragma once

#include <string>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/data_operation.h"
#include "ir/epilogue.h"
#include "ir/peer_rows.h"

namespace chorale {

enum class PeerOpcode {
  Move,    // what it does
  Signal,  // counter `counter` of rank `rank` becomes `value`
  Wait,    // until counter `counter` of this rank is at least `value`
  Sync,    // the threads of the block meet
};

struct PeerInstruction {
  PeerOpcode opcode = PeerOpcode::Sync;
  DataOperation does = {};  // of Move; of Signal: `to`, one place or none, count and piece
  Rank rank = -1;           // of Signal; -1: to all ranks of a team
  int team = -1;            // of Signal
  int counter = -1;         // of Signal and Wait
  int value = 1;            // of Signal and Wait: 1 or more
  int lag = 0;              // of Wait, in launches: 0, or 1, or 2
  bool relaxed = false;     // of Signal
  bool operator==(const PeerInstruction&) const = default;
};

struct PeerBlock {
  std::vector<PeerInstruction> instructions = {};
  bool operator==(const PeerBlock&) const = default;
};

using PeerRank = RankOf<PeerBlock>;

struct PeerProgram {
  std::string name = {};
  CollectiveKind collective = CollectiveKind::Custom;
  int chunks_per_block = 1;
  bool in_place = false;  // input and output share memory as NCCL has it (in_place_slot); else they do not
  bool double_scratch = false;
  Epilogue epilogue = {};  // what operations with a position apply
  Teams teams = {};
  std::vector<PeerRank> ranks = {};
  bool operator==(const PeerProgram&) const = default;
};

// Returns the ranks whose counter a Signal raises.
std::vector<Rank> signalled(const PeerProgram&, const PeerInstruction& signal);

// By rank and counter: the largest value of a launch, so that value v of launch l is l * this + v.
std::vector<std::vector<int>> values_of_a_launch(const PeerProgram&);

std::string to_string(PeerOpcode);              // "move"
std::string to_string(const PeerInstruction&);  // "wait for counter 4 to be 1"

// A peer program as tables of plain rows.
struct PeerTable {
  std::vector<PeerRow> rows = {};
  std::vector<PeerPlaceRow> places = {};
  std::vector<PeerBlockRow> blocks = {};  // all of rank 0, of rank 1, ...
  std::vector<PeerRankRow> ranks = {};
  std::vector<PeerTeamRow> teams = {};
  std::vector<int> members = {};  // of all teams
};

// Requires a program that the verifier (semantics/verify_peers.h) accepts.
PeerTable table_of(const PeerProgram&);

}  // namespace chorale
