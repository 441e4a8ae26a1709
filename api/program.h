// Lowered programs, whatever wrote them: read, verified, timed and run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cost/busbw.h"
#include "ir/collective.h"
#include "ir/message_time.h"
#include "ir/run_options.h"
#include "ir/topology.h"

namespace chorale {

// What a program is made of.
struct ProgramShape {
  std::string name = {};
  Collective collective = {};
  bool shared_memory = false;  // one-sided operations, ordered by counters; else blocks with queues
  bool in_place = false, out_of_place = false;  // what it is for
  long long ranks = 0, blocks = 0;
  long long longest = 0;                         // instructions of a block
  std::map<std::string, int> instructions = {};  // of each kind
  int channels = 1;                              // of queues
  int counters = 0;                              // of shared memory
  int pieces = 1;                                // chunks here in one of the file
  std::vector<std::string> notes = {};           // what executors stumble over, though it has a meaning
};

// The verdict of its verifier.
struct ProgramVerdict {
  std::string fault = {};  // "": it performs its collective, whatever the timing
  // with queues of this many messages, or more, of 1, 2, 4 and 8; 0: of shared memory
  int depth = 0;
  bool if_relaxed_orders = false;  // `fault` is not one where relaxed signals order data
};

class LoweredProgram {
 public:
  virtual ~LoweredProgram() = default;

  virtual const ProgramShape& shape() const = 0;
  // Requires a mode that it is for, as the others do.
  virtual ProgramVerdict verdict(bool in_place) const = 0;
  // On a machine without switches, with blocks of `block_bytes` and queues of `depth` messages. Requires a
  // correct program. Throws InputError that names ranks which send to each other without a link.
  virtual ProgramTime time(const Topology&, double block_bytes, int depth) const = 0;
  // Ranks are threads of this process. Requires a right program, and queues that are deep enough. Throws
  // Hang.
  virtual std::vector<RunRow> run(const RunOptions&, bool in_place, int depth) const = 0;
};

// From the text of a file: MSCCL's XML, a block program in JSON (docs/formats.md), an execution plan of
// MSCCL++. Throws InputError, which cites `file`, for any other text.
std::unique_ptr<LoweredProgram> lowered_program(std::string_view text, const std::string& file);

}  // namespace chorale
