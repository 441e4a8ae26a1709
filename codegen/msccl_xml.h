// MSCCL XML: the algorithm files of Microsoft's executors for NCCL and RCCL, and of ASTRA-sim.
//
// Rules of the loader and the kernel that are kept (msccl-executor-nccl): all attributes that it requires;
// one dependency a step, further ones on `nop`s before it, and hasdep on what is waited for; fewer than 72
// chunks a step; at most `most_steps` steps a block (64 in the executor's default build, 256 in
// microsoft/msccl); at most 32 channels, and 32 blocks a channel and direction; sums, products, minima and
// maxima come from the call.
//
// The format knows no roots. Ours is one more attribute of <algo>, `root`, of the collectives that have one:
// loaders look attributes up by name and take up to 16, so they pass over it (executors do not compare roots
// either: with such a file loaded, every call has its root). Files of others have none, and mean 0.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/passes/relax.h"
#include "ir/block_program.h"
#include "ir/collective.h"
#include "ir/fault.h"
#include "ir/verified.h"

namespace chorale {

struct MscclOptions {
  int most_steps = 64;
  long long min_bytes = 0;
  long long max_bytes = 0;  // 0: no limit
};

// What the format cannot express, or its loaders cannot hold; none: to_msccl_xml prints it.
std::optional<Fault> msccl_limit(const Collective&, const BlockProgram&, const MscclOptions& = {});

// Throws InputError where there is such a limit.
std::string to_msccl_xml(const Verified<BlockProgram>&, const MscclOptions& = {});

// What the form has to be that fits (LoweringOptions::blocks): blocks short enough, in place where such a
// file serves both kinds of calls.
RelaxOptions blocks_for_msccl(const Collective&, const MscclOptions& = {});

struct MscclFile {
  Collective collective = {};  // as the attributes say; the root is 0 where there is none
  BlockProgram program = {};   // in_place if the file is for that only
  bool in_place = false;       // says the file
  bool out_of_place = false;
};

// Reads what others wrote. Throws InputError for what is no such file, with the place; whether the algorithm
// is right is said by semantics/verify_blocks.
MscclFile msccl_from_xml(std::string_view text, const std::string& file);

}  // namespace chorale
