// From a schedule to what other runtimes take: files as texts, nothing is written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/elements.h"
#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/frontier.h"
#include "ir/option.h"
#include "ir/or_error.h"

namespace chorale {

enum class Target { Cuda, Nccl, Mpi, MscclXml, Mscclpp, Json, Dot, Simgrid, Goal, Chakra };

// What is written, on which its options depend.
enum class TargetForm {
  Program,   // checks itself, and has the function that follows sums
  Plan,      // loaded by an executor, which has limits and no such function
  Blocks,    // the program of thread blocks, with the function or a place for one
  Replayed,  // messages of one size, for a simulator: no data, so no function
};

struct TargetEntry {
  Target target = Target::Mpi;
  std::string name = {};         // "msccl-xml"
  std::string ending = {};       // ".xml"
  std::string description = {};  // what is written
  TargetForm form = TargetForm::Program;
};
const std::vector<TargetEntry>& known_targets();
const TargetEntry& entry_of(Target);
Target target_named(const std::string&);  // throws InputError
std::string names_of(TargetForm);         // "json and dot"

// Whether messages of such a program wait for their data and their port, and for nothing else: its time is by
// events (cost/event_time.h). docs/lowering.md has what those of other targets wait for.
constexpr bool driven_by_messages(Target target) {
  return target == Target::Mpi;
}

// How the kernel of target Cuda moves data between GPUs.
enum class PeerAccess {
  ByRates,  // receivers load where PCI joins the GPUs and loads are known to be faster, else senders store
  Loads,
  Stores,
};

struct CompileOptions {
  std::string name = {};  // of the file or directory, without its ending; "": machine_collective
  bool in_place =
      false;         // Mscclpp: for input and output in one memory (the others are for both, or say which)
  int channels = 1;  // Json, Dot: number of channels over which the messages of a connection are spread
  // What follows every complete sum. Not for MscclXml and Mscclpp; of an empty expression, a place for a
  // function of yours, which Json and Dot can have.
  std::optional<Epilogue> epilogue = {};
  int most_steps = 64;         // MscclXml, Mscclpp: of a thread block, as many as the executor loads
  std::int64_t min_bytes = 0;  // MscclXml, Mscclpp: the executor takes it for sizes from here
  std::int64_t max_bytes = 0;  // to here; 0: however large
  PeerAccess peer_access = PeerAccess::ByRates;  // Cuda
  Wire wire = Wire::Float32;  // Mpi, Nccl: as what elements of float32 travel, each sum made once
  // Of targets that are replayed: of a message, as nccl-tests counts it (cost/busbw.h).
  std::int64_t message_bytes = 1 << 20;
};

// On the command line and in Python. A new one is a member and a row.
std::span<const OptionRow<CompileOptions>> compile_rows();

struct Compiled {
  std::string path = {};  // of the file, or of the directory with all of them; relative
  // Ready for write_files; for a simulator one, the messages, of which the Python package writes what it
  // reads (python/chorale/simulators.py).
  std::vector<NamedText> files = {};
  // With an epilogue: how many ranks at most complete a sum. One: the function may keep state with its
  // elements; several: it must be the same in all of them, and keep none.
  int completed_by = 0;
  // Where the point counts on switches that multicast or reduce and the target cannot ask them to: that it
  // takes longer.
  std::string note = {};
};

// "dgx1_allgather": a name for files, in which nothing is left that paths or shells obey.
std::string file_stem(const Topology&, const Collective&);

// Of a point that counts on switches which multicast or reduce, what a target that cannot ask them to loses;
// "": nothing.
std::string unused_switches(const Topology&, const Point&, const std::string& target);

// What no program of that target can be for, whatever the schedule; else nothing.
std::optional<Fault> without_programs(Target, const Collective&);

// Returns the numbers of the points that programs for the target perform as the result counts them: those
// that count on no switch, and those for which the program asks the switches.
std::vector<int> performed_points(const Result&, Target);

// Points by rising sizes, for the machine or for it after some failures.
struct ReadyPoints {
  struct Sized {
    const Point* point = nullptr;
    double up_to = 0;  // bytes of a block; of the last: HUGE_VAL
  };
  // What has failed ("link 0-1"; "": nothing), and what the ranks of the points are called
  // then; empty: as they are.
  struct After {
    std::string failure = {};
    std::vector<Rank> ranks = {};
  };
  const Topology* topology = nullptr;
  std::vector<Sized> points = {};
  std::vector<After> after = {};
};

// One file that chooses by size and by what has failed, of targets Mpi and Nccl: points of one collective,
// first those of the whole machine. Of Cuda one directory, whose library for engines
// chooses by both (docs/cuda.md), and whose programs choose by size alone.
OrError<Compiled> try_compile(std::span<const ReadyPoints>, Target, const CompileOptions& = {});

// A point of a result for that machine; or what of it the target cannot express, as the error that compile()
// throws. Each form that it passes through is verified. Throws InputError if the schedule does not
// do what the point states.
OrError<Compiled> try_compile(const Topology&, const Point&, Target, const CompileOptions& = {});
Compiled compile(const Topology&, const Point&, Target, const CompileOptions& = {});

}  // namespace chorale
