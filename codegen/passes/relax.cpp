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
                      .in_place = options.in_place};
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    result.ranks.push_back({.input_chunks = program.ranks[n].input_chunks,
                            .output_chunks = program.ranks[n].output_chunks,
                            .scratch_chunks = program.ranks[n].scratch_chunks,
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

BlockProgram relax(const Collective& collective, const Program& program, const RelaxOptions& asked) {
  constexpr int kMostChannels = 32;
  // Blocks that hand values on first: they are fewest, and fuse. Where they would hang on queues as deep as
  // there are, a block for each direction.
  constexpr std::pair<bool, int> attempts[] = {{true, 1},  {true, 2},  {true, 4},  {true, 8},
                                               {false, 1}, {false, 2}, {false, 4}, {false, 8}};
  RelaxOptions options = asked;
  std::string fault;
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
      const auto faults = violations(collective, result, depth, options.in_place, 1);
      if (faults.empty()) return result;
      fault = faults.front();
      if (fault.find("waits forever") == std::string::npos) break;
    }
    if (!too_long) break;
  }
  if (fault.empty() || options.channels > kMostChannels)
    throw InputError(program.name,
                     fmt::format("has blocks of more than {} instructions even on {} channels",
                                 options.most_instructions, kMostChannels),
                     "use fewer chunks");
  if (fault.find("waits forever") != std::string::npos)
    throw InputError(program.name, "needs deeper queues: " + fault, "raise the depth, if the target has it");
  if (options.in_place)
    throw InputError(program.name, "cannot be done in place: " + fault, "use it out of place");
  throw std::logic_error("relaxing " + program.name + " is wrong: " + fault);
}

}  // namespace chorale
