// MSCCL XML: the algorithm files of Microsoft's executors for NCCL and RCCL, and of ASTRA-sim.
//
// Rules of the loader and the kernel that are kept (msccl-executor-nccl): all attributes that it requires;
// one dependency per step, further ones on `nop`s before it, and hasdep on what is waited for; fewer than 72
// chunks per step; at most `most_steps` steps per block (64 in the executor's default build, 256 in
// microsoft/msccl); at most 32 channels, and 32 blocks per channel and direction; sums, products, minima and
// maxima come from the call.
//
// The format has no roots. Ours is one more attribute of <algo>, `root`, of the collectives that have one:
// loaders look attributes up by name and accept up to 16, so they ignore it (executors do not compare roots
// either: with such a file loaded, every call has its root). Files of other tools have none; their root is 0.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/passes/options.h"
#include "codegen/promised.h"
#include "ir/block_program.h"
#include "ir/collective.h"
#include "ir/error.h"
#include "ir/verified.h"

namespace chorale {

struct MscclOptions {
  int most_steps = 64;
  long long min_bytes = 0;
  long long max_bytes = 0;  // 0: no limit
};

// The limit of the format or of its loaders that is exceeded; none: to_msccl_xml prints it.
std::optional<Fault> msccl_limit(const Collective&, const BlockProgram&, const MscclOptions& = {});

// Throws InputError where there is such a limit.
std::string to_msccl_xml(const Verified<BlockProgram>&, const MscclOptions& = {});

// The options of a form that fits (LoweringOptions::blocks): blocks short enough, and in place if such a file
// serves both kinds of calls.
RelaxOptions blocks_for_msccl(const Collective&, const MscclOptions& = {});

struct MscclFile {
  Collective collective = {};  // from the attributes; the root is 0 where there is none
  BlockProgram program = {};   // in_place if the file is for that only
  bool in_place = false;       // as the file states
  bool out_of_place = false;
};

// Reads files of other tools. Throws InputError, with the location, if the text is not such a file;
// semantics/verify_blocks verifies the algorithm. coll="custom" says nothing of what is promised: `promised`
// does, which is for the file's ranks and cut into as many chunks as the file has.
MscclFile msccl_from_xml(std::string_view text, const std::string& file, const PromisedOf& promised = {});

}  // namespace chorale
