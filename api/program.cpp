// One class per form of program: blocks with queues (MSCCL's XML, Chorale's JSON), and one-sided operations
// in shared memory (plans of MSCCL++). Both are read from files of any origin, so nothing is run before its
// verifier has accepted it; the accepted program is kept.
#include "api/program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/run.h"
#include "codegen/msccl_xml.h"
#include "codegen/mscclpp/read_plan.h"
#include "cost/program_time.h"
#include "runtime/block_executor.h"
#include "runtime/elements.h"
#include "runtime/peer_executor.h"
#include "semantics/verified.h"

namespace chorale {
namespace {

// By the first character, since programs come by any name; MSCCL's algorithms are the only form in XML.
bool is_xml(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

// Chorale's JSON states whether input and output may be one buffer; two are possible in any case.
MscclFile read_blocks(std::string_view text, const std::string& file) {
  if (is_xml(text)) return msccl_from_xml(text, file);
  BlockProgramFile read = block_program_from_json(text, file);
  return {.collective = std::move(read.collective),
          .program = read.program,
          .in_place = read.program.in_place,
          .out_of_place = true};
}

// What both forms share: ranks that have blocks that have instructions.
template <typename Program, typename NameOf>
void count(ProgramShape& shape, const Program& program, const NameOf& name_of_instruction) {
  shape.name = program.name;
  shape.ranks = std::ssize(program.ranks);
  for (const auto& rank : program.ranks)
    for (const auto& block : rank.blocks) {
      ++shape.blocks;
      shape.longest = std::max<long long>(shape.longest, std::ssize(block.instructions));
      for (const auto& i : block.instructions) ++shape.instructions[name_of_instruction(i)];
    }
}

class QueuedProgram : public LoweredProgram {
 public:
  explicit QueuedProgram(MscclFile file) : file_(std::move(file)) {
    shape_ = {.collective = file_.collective, .in_place = file_.in_place, .out_of_place = file_.out_of_place};
    count(shape_, file_.program, [](const BlockInstruction& i) { return name_of(i); });
    for (const BlockRank& rank : file_.program.ranks)
      for (const Block& block : rank.blocks) shape_.channels = std::max(shape_.channels, block.channel + 1);
  }

  const ProgramShape& shape() const override { return shape_; }

  // A program that is correct with queues of some depth is correct with deeper ones. So the search goes down
  // from 8, the depth that executors give, and the last depth that is accepted is reported.
  ProgramVerdict verdict(bool in_place) const override {
    ProgramVerdict verdict;
    for (const int depth : {8, 4, 2, 1}) {
      Verification<BlockProgram> with_depth =
          verify(file_.collective, file_.program, {.depth = depth, .in_place = in_place});
      if (with_depth.fault) {
        // At less depth a fault is a lack of room; at 8 it is reported as the program's.
        if (verdict.depth == 0) verdict.fault = with_depth.fault->words;
        break;
      }
      accepted_[in_place] = std::move(with_depth.accepted);
      verdict.depth = depth;
    }
    return verdict;
  }

  ProgramTime time(const Topology& topology, double block_bytes, int depth) const override {
    return program_time(file_.program, topology, block_bytes, depth);
  }

  std::vector<RunRow> run(const RunOptions& options, bool in_place, int depth) const override {
    if (!accepted_[in_place]) verdict(in_place);
    return with_busbw(
        run_blocks_on_threads(accepted_[in_place].value(), options,
                              {.queue_depth = depth, .in_place = in_place, .epilogue = add_index}),
        file_.collective);
  }

 private:
  const MscclFile file_;
  ProgramShape shape_ = {};
  mutable std::array<std::optional<Verified<BlockProgram>>, 2> accepted_ = {};  // [in place]: by verdict()
};

class SharedMemoryProgram : public LoweredProgram {
 public:
  explicit SharedMemoryProgram(MscclppFile file) : file_(std::move(file)) {
    shape_ = {.collective = file_.collective,
              .shared_memory = true,
              .in_place = file_.program.in_place,
              .out_of_place = !file_.program.in_place,
              .pieces = file_.pieces,
              .notes = file_.notes};
    count(shape_, file_.program, [](const PeerInstruction& i) { return to_string(i.opcode); });
    for (const PeerRank& rank : file_.program.ranks) shape_.counters += rank.counters;
  }

  const ProgramShape& shape() const override { return shape_; }

  // A plan whose only fault is the order of its reads and writes is reported as such: it is correct on GPUs
  // that keep the orders which the memory model leaves open. It is verified a second time with these.
  ProgramVerdict verdict(bool) const override {
    PeerVerifierOptions options{.packets = file_.packets};
    Verification<PeerProgram> verification = verify(file_.collective, file_.program, options);
    accepted_ = std::move(verification.accepted);
    if (!verification.fault) return {};
    options.relaxed_orders = true;
    const std::vector<Fault> more = violations(file_.collective, file_.program, options, 1);
    return {.fault = more.empty() ? verification.fault->words : more.front().words,
            .if_relaxed_orders = more.empty()};
  }

  ProgramTime time(const Topology& topology, double block_bytes, int) const override {
    return program_time(file_.program, topology, block_bytes);
  }

  std::vector<RunRow> run(const RunOptions& options, bool, int) const override {
    // A plan states itself whether it is in place, so the mode and the depth of queues mean nothing here.
    if (!accepted_) verdict(false);
    return with_busbw(run_peers_on_threads(accepted_.value(), options, {.segment_bytes = 0}),
                      file_.collective);
  }

 private:
  const MscclppFile file_;
  ProgramShape shape_ = {};
  mutable std::optional<Verified<PeerProgram>> accepted_ = {};  // by verdict()
};

}  // namespace

// Plans and block programs are both JSON; the fields of a plan distinguish it.
std::unique_ptr<LoweredProgram> lowered_program(std::string_view text, const std::string& file) {
  if (!is_xml(text) && is_mscclpp_plan(text, file))
    return std::make_unique<SharedMemoryProgram>(mscclpp_from_json(text, file));
  return std::make_unique<QueuedProgram>(read_blocks(text, file));
}

}  // namespace chorale
