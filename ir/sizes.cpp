// The limits are on what the readers of a noun do with it. A verifier has a cell for each slot of a program,
// executes an instruction chunk by chunk, and records at the end of every instruction of a block program the
// progress of each block. The length of a text shows none of that.
#include "ir/sizes.h"

#include <fmt/format.h>

#include "ir/error.h"

namespace chorale {
namespace {

constexpr long long kMostChunksMoved = 1 << 24, kMostKnowledge = 1LL << 30;

// The size of a program, counted over all ranks.
struct ProgramSize {
  long long slots = 0;  // of all buffers
  long long moved = 0;  // chunks, by all instructions
  long long blocks = 0;
  long long events = 0;  // at which what is known of all blocks is noted
};

// Of an instruction: moves(i) chunks, after dependencies(i).
template <typename Program, typename Moves, typename Dependencies>
ProgramSize size_of(const Program& program, Moves moves, Dependencies dependencies) {
  ProgramSize size;
  for (const auto& rank : program.ranks) {
    size.slots += 1LL * rank.input_chunks + rank.output_chunks + rank.scratch_chunks;
    size.blocks += static_cast<long long>(rank.blocks.size());
  }
  size.events = size.blocks;
  for_each_instruction(program, [&](Rank, int, int, const auto& i) {
    size.events += 1 + static_cast<long long>(dependencies(i));
    size.moved += moves(i);
  });
  return size;
}

std::string excess_of(const ProgramSize& size) {
  if (size.slots > kMostChunksMoved)
    return fmt::format("has buffers of {} chunks in all; {} are the most", size.slots, kMostChunksMoved);
  if (size.moved > kMostChunksMoved)
    return fmt::format("moves {} chunks in all; {} are the most", size.moved, kMostChunksMoved);
  // By division, since the product may not fit.
  if (size.blocks > 0 && size.events > kMostKnowledge / size.blocks)
    return fmt::format("has {} blocks with {} instructions and dependencies; the product may be {} at most",
                       size.blocks, size.events, kMostKnowledge);
  return "";
}

}  // namespace

// Dependencies are events too: at each of them what is known of other blocks is joined.
std::string excess(const BlockProgram& program) {
  return excess_of(size_of(
      program, [](const BlockInstruction& i) { return i.does.count; },
      [](const BlockInstruction& i) { return i.after.size(); }));
}

std::string excess(const PeerProgram& program) {
  const auto moves = [](const PeerInstruction& i) {
    const auto places = static_cast<long long>(i.does.from.size() + i.does.to.size());
    return i.opcode == PeerOpcode::Move ? i.does.count * places : 0;
  };
  ProgramSize size = size_of(program, moves, [](const PeerInstruction&) { return 0; });
  size.blocks += static_cast<long long>(program.ranks.size());  // the user is like one
  return excess_of(size);
}

// The words of the error that making it would throw.
std::string excess(const Collective& asked, CollectiveKind kind, int chunks) {
  const bool custom = kind == CollectiveKind::Custom;
  const auto fault = custom ? flaw_if_refined(bytes_of(asked), asked.ranks, asked.chunks_per_block, chunks)
                            : flaw(kind, asked.ranks, chunks, asked.root);
  if (!fault) return "";
  return InputError("collective " + (custom ? name_of(asked) : name_of(kind)), *fault).what();
}

}  // namespace chorale
