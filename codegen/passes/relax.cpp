// The cheapest program first: blocks that hand values on, on shallow queues, then on deeper ones; then a
// block for each direction; more channels only where blocks are longer than the target takes. Every attempt
// is made from the beginning and verified with its queues. A deadlock is the only fault that the next attempt
// may remove; any other is returned.
#include "codegen/passes/relax.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "codegen/passes/block_passes.h"
#include "semantics/verify_blocks.h"

namespace chorale {
namespace {

// From the beginning each time: every pass changes the events in place.
BlockProgram build(const Collective& collective, const Program& program, const RelaxOptions& options,
                   bool paired) {
  std::vector<Events> ranks;
  for (const RankProgram& rank : program.ranks) ranks.push_back(landed(rank));
  merge_messages(ranks, program.chunks_per_block);
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

// In instructions, of any rank.
int longest_block(const BlockProgram& program) {
  int longest = 0;
  for_each_instruction(program, [&](Rank, int, int i, const auto&) { longest = std::max(longest, i + 1); });
  return longest;
}

// Local sums are stored over an operand: a sum that is stored elsewhere becomes a copy, and additions to
// that. c = a + b becomes c = a, c = c + b.
Program with_sums_in_place(Program program) {
  for (RankProgram& rank : program.ranks)
    for (ThreadBlock& block : rank.blocks) {
      std::vector<Instruction> split;
      for (const Instruction& i : block.instructions) {
        const DataOperation& op = i.does;
        const bool elsewhere = is_local(op) && op.from.size() > 1 && op.to.size() == 1 &&
                               std::ranges::find(op.from, op.to.front()) == op.from.end();
        for (std::size_t k = 0; k < (elsewhere ? op.from.size() : 1); ++k) {
          Instruction& part = split.emplace_back(i);
          if (elsewhere && k == 0) part.does.from = {op.from[0]};
          if (elsewhere && k > 0) part.does.from = {op.to[0], op.from[k]};
        }
      }
      block.instructions = std::move(split);
    }
  return program;
}

// With blocks as short as requested. `steps` are those of the program, or their sums are elsewhere. More
// channels make blocks shorter, so their number grows as long as some attempt was too long.
Verification<BlockProgram> relaxed(const Verified<Program>& program, const Program& steps,
                                   const RelaxOptions& asked) {
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
      BlockProgram result = build(program.collective(), steps, options, paired);
      result.queue_depth = depth;
      if (options.most_instructions > 0 && longest_block(result) > options.most_instructions) {
        too_long = true;
        continue;
      }
      Verification<BlockProgram> verification = verify(program, std::move(result));
      if (!verification.fault) return verification;
      fault = *verification.fault;
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
    throw std::logic_error("relaxing " + program->name + " is wrong: " + fault->words);
  fault->words = (hangs ? "needs deeper queues: " : "cannot be done in place: ") + fault->words;
  fault->remedy = hangs ? "raise the depth, if the target has it" : "use it out of place";
  return {.fault = std::move(fault)};
}

// Ever shorter, until the target takes it.
// The target prints a program to find out whether it fits, so this is a loop around all passes. In place
// comes first: the one file then serves both kinds of calls, if no input is overwritten.
Verification<BlockProgram> fitted(const Verified<Program>& program, const Program& steps,
                                  RelaxOptions options) {
  const int most = options.most_instructions;
  Verification<BlockProgram> result{
      .fault =
          Fault{Fault::Kind::Limit, {}, "blocks of less than 4 steps are not enough", "raise the limit"}};
  for (const bool in_place : options.for_both ? std::vector{true, false} : std::vector{options.in_place}) {
    options.in_place = in_place;
    // Steps that only wait are counted by targets, too, so blocks may have to be shorter than the limit.
    for (int limit = most; limit >= 4; limit -= std::max(1, limit / 4)) {
      options.most_instructions = limit;
      result = relaxed(program, steps, options);
      if (result.fault) break;
      result.fault = options.excess(**result.accepted);
      if (result.fault) continue;
      // What works in place works out of place as well, if it writes no input.
      const BlockProgram& blocks = **result.accepted;
      if (options.for_both && in_place &&
          !violations(program.collective(), blocks, {.depth = blocks.queue_depth}, 1).empty())
        break;
      return result;
    }
  }
  result.accepted.reset();
  return result;
}

}  // namespace

// Only targets that print their program to see whether it fits have an excess to ask for.
Verification<BlockProgram> try_relax(const Verified<Program>& program, const RelaxOptions& options) {
  const Program steps = options.sums_in_place ? with_sums_in_place(*program) : *program;
  return options.excess ? fitted(program, steps, options) : relaxed(program, steps, options);
}

}  // namespace chorale
