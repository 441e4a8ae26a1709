// The recipe: from a schedule to a program, by the passes of passes.h, relax.h and peer_lowering.h in their
// one order. All lowering goes through this function (tests/rooms/recipe.py); what differs between `run`,
// `bench`, `emit`, the preload libraries and workloads is data in the options.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "codegen/passes/peer_lowering.h"
#include "codegen/passes/relax.h"
#include "ir/block_program.h"
#include "ir/epilogue.h"
#include "ir/peer_program.h"
#include "ir/program.h"
#include "ir/schedule.h"
#include "ir/verified.h"
#include "semantics/verified.h"

namespace chorale {

struct LoweringOptions {
  std::string name = {};  // of the program; empty: the collective's
  bool in_place = false;  // input and output are in one memory, as NCCL and MPI_IN_PLACE have it
  // Messages that share a port go one after the other; cost/cost.h decides when that is faster.
  bool serialize_ports = false;
  // If false, independent chunks share no slots, for targets that run them concurrently. Slots of inputs that
  // are saved in place are reused nevertheless.
  bool reuse_scratch = true;
  std::optional<Epilogue> epilogue = {};  // follows each complete sum
  // Of a BlockProgram: channels, depth of queues, limits of the target (in_place: as above).
  RelaxOptions blocks = {};
  PeerOptions peers = {};  // of a PeerProgram: counters, limits of the target
};

// The form determines how an operation waits for another: Program by epochs, BlockProgram by queues and
// dependencies, PeerProgram by counters. A program of epochs is verified, and so is the other form that it
// becomes, each once. Its messages are numbered in the order of the schedule's sends, and without serialized
// ports and what is in place, epoch s is step s.
//
// A fault where a custom collective gives a chunk positions that make it another piece of its block
// in the input than in the output, where nothing is added that an epilogue could follow or its tensors do not
// lie where sums are completed, and where the target cannot hold any form of the program.
template <typename Form = Program>
Verification<Form> try_lower(const Verified<Schedule>&, const LoweringOptions& = {});
template <>
Verification<Program> try_lower(const Verified<Schedule>&, const LoweringOptions&);
template <>
Verification<BlockProgram> try_lower(const Verified<Schedule>&, const LoweringOptions&);
template <>
Verification<PeerProgram> try_lower(const Verified<Schedule>&, const LoweringOptions&);

// The same; throws InputError where there is none.
template <typename Form = Program>
Verified<Form> lower(const Verified<Schedule>&, const LoweringOptions& = {});

// By position of a chunk in the inputs: the ranks that complete its sum, by adding, of a program of any form
// with an epilogue; others get it from them. A function that keeps state with the elements (an optimizer with
// its moments) may run as an epilogue where every chunk has one such rank; where one has several, only a
// function that is the same everywhere.
template <typename Form>
std::map<int, std::set<Rank>> completion_points(const Form& program) {
  std::map<int, std::set<Rank>> points;
  for_each_instruction(program, [&](Rank n, int, int, const auto& i) {
    for (int k = 0; applies(i.does) && k < i.does.count; ++k) points[i.does.position + k].insert(n);
  });
  return points;
}

}  // namespace chorale
