// The cheapest program first: blocks that hand values on, on shallow queues, then on deeper ones; then a block for each
// direction; more channels only where blocks are longer than the target takes. Every attempt is made from the beginning and
// refereed with its queues. That it would wait forever is the one fault that the next attempt may mend; any other is the
// answer.
#include "codegen/passes/relax.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "codegen/passes/block_passes.h"
#include "ir/error.h"
#include "semantics/verify_blocks.h"

namespace chorale {
namespace {

BlockProgram build(const Collective& collective, const Program& program, const RelaxOptions& options,
                   bool paired) {
  std::vector<Events> ranks;
  for (const RankProgram& rank : program.ranks) ranks.push_back(landed(rank));
  if (options.merge) merge_messages(ranks, program.chunks_per_block);
  spread(ranks, options.channels);
  match_order(ranks);
  BlockProgram result{.name = program.name,
                      .collective = program.collective,
                      .chunks_per_block = program.chunks_per_block,
                      .in_place = options.in_place,
                      .epilogue = program.epilogue};
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    result.ranks.push_back({.input_chunks = program.ranks[n].input_chunks,
                            .output_chunks = program.ranks[n].output_chunks,
                            .scratch_chunks = program.ranks[n].scratch_chunks,
                            .slice = program.ranks[n].slice,
                            .blocks = blocks_of(collective, n, std::move(ranks[n]), options, paired)});
  drop_implied_dependencies(result);
  return result;
}

int longest_block(const BlockProgram& program) {
  std::size_t longest = 0;
  for (const BlockRank& rank : program.ranks)
    for (const Block& block : rank.blocks) longest = std::max(longest, block.instructions.size());
  return static_cast<int>(longest);
}

}  // namespace

Relaxed try_relax(const Collective& collective, const Program& program, const RelaxOptions& asked) {
  constexpr int kMostChannels = 32;
  // Blocks that hand values on first: they are fewest, and fuse. Where they would hang on queues as deep as
  // there are, a block for each direction.
  constexpr std::pair<bool, int> attempts[] = {{true, 1},  {true, 2},  {true, 4},  {true, 8},
                                               {false, 1}, {false, 2}, {false, 4}, {false, 8}};
  RelaxOptions options = asked;
  std::optional<Fault> fault;
  for (; options.channels <= kMostChannels; ++options.channels) {
    bool too_long = false;
    for (const auto& [paired, depth] : attempts) {
      if (depth > options.queue_depth) continue;
      BlockProgram result = build(collective, program, options, paired);
      result.queue_depth = depth;
      if (options.most_instructions > 0 && longest_block(result) > options.most_instructions) {
        too_long = true;
        continue;
      }
      const auto faults = violations(collective, result, {.depth = depth, .in_place = options.in_place}, 1);
      if (faults.empty()) return {.program = std::move(result)};
      fault = faults.front();
      if (fault->kind != Fault::Kind::Deadlock) break;
    }
    if (!too_long) break;
  }
  if (!fault || options.channels > kMostChannels)
    return {.fault = Fault{.kind = Fault::Kind::Limit,
                           .words = fmt::format("has blocks of more than {} instructions even on {} channels",
                                                options.most_instructions, kMostChannels),
                           .remedy = "use fewer chunks"}};
  const bool hangs = fault->kind == Fault::Kind::Deadlock;
  if (!hangs && !options.in_place)
    throw std::logic_error("relaxing " + program.name + " is wrong: " + fault->words);
  fault->words = (hangs ? "needs deeper queues: " : "cannot be done in place: ") + fault->words;
  fault->remedy = hangs ? "raise the depth, if the target has it" : "use it out of place";
  return {.fault = std::move(fault)};
}

BlockProgram relax(const Collective& collective, const Program& program, const RelaxOptions& options) {
  Relaxed relaxed = try_relax(collective, program, options);
  if (relaxed.fault) throw InputError(program.name, *relaxed.fault);
  return std::move(relaxed.program);
}

}  // namespace chorale
