// The passes in their order, with the reason where it matters. None of them verifies: what they end with is
// verified, as a program of epochs, where its links are known, and once more as what that becomes.
#include "codegen/passes/lower.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "codegen/passes/passes.h"
#include "ir/error.h"

namespace chorale {
namespace {

// Executors move pieces by their number in the block, since blocks that are not divisible have pieces of two
// lengths. A chunk that became another piece would change its length on the way.
std::optional<Fault> other_pieces(const Collective& collective) {
  const int k = collective.chunks_per_block;
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    if (const ChunkSpec& spec = collective.chunks[c]; spec.input % k != spec.output % k)
      return Fault{
          .kind = Fault::Kind::Limit,
          .place = {.chunk = c},
          .words = fmt::format("chunk {} of {} is piece {} of its block in the input and piece {} in "
                               "the output",
                               c, name_of(collective), spec.input % k, spec.output % k),
          .remedy = fmt::format("give it positions that are equal modulo chunks_per_block, {}", k)};
  return std::nullopt;
}

// A fault: nothing is added that an epilogue could follow.
std::optional<Fault> into_epochs(const Verified<Schedule>& schedule, const LoweringOptions& options,
                                 Program& p) {
  const Topology& topology = schedule.topology();
  const Collective& collective = schedule.collective();
  p = assign_slots(topology, collective, *schedule);
  if (!options.name.empty()) p.name = options.name;
  p = order_epochs(std::move(p));
  if (options.reuse_scratch) p = reuse_scratch(std::move(p));  // it examines all uses of a slot
  if (options.in_place) p = reuse_scratch(in_place(collective, std::move(p)));  // it puts inputs aside
  if (options.epilogue)
    if (std::optional<Fault> fault = apply_epilogue(topology, collective, *options.epilogue, p)) return fault;
  if (options.serialize_ports)
    p = serialize_ports(topology, *schedule, std::move(p));  // last: it cuts steps up
  return std::nullopt;
}

}  // namespace

template <>
Verification<Program> try_lower(const Verified<Schedule>& schedule, const LoweringOptions& options) {
  if (std::optional<Fault> fault = other_pieces(schedule.collective())) return {.fault = std::move(fault)};
  Program program;
  if (std::optional<Fault> fault = into_epochs(schedule, options, program))
    return {.fault = std::move(fault)};
  // verify() takes the program; the name is for the message.
  const std::string name = program.name;
  Verification<Program> verification = verify(schedule, std::move(program));
  if (verification.accepted) return verification;
  if (!options.epilogue || !has_sliced_operand(*options.epilogue))
    throw std::logic_error("lowering " + name + " is wrong: " + verification.fault->words);
  verification.fault->remedy = "give it tensors that are replicated, or another point";
  return verification;
}

template <>
Verification<BlockProgram> try_lower(const Verified<Schedule>& schedule, const LoweringOptions& options) {
  // In place, its dependencies order what epochs have to put aside.
  LoweringOptions apart = options;
  apart.in_place = false;
  RelaxOptions blocks = options.blocks;
  blocks.in_place = options.in_place;
  Verification<Program> program = try_lower(schedule, apart);
  if (!program.accepted) return {.fault = std::move(program.fault)};
  return try_relax(*program.accepted, blocks);
}

template <>
Verification<PeerProgram> try_lower(const Verified<Schedule>& schedule, const LoweringOptions& options) {
  Verification<Program> program = try_lower(schedule, options);
  if (!program.accepted) return {.fault = std::move(program.fault)};
  return try_to_peers(*program.accepted, options.peers,
                      options.peers.switches ? switch_uses(schedule) : SwitchUses{});
}

template <typename Form>
Verified<Form> lower(const Verified<Schedule>& schedule, const LoweringOptions& options) {
  // The name of the program, or else of the collective, is the place that the error names.
  Verification<Form> result = try_lower<Form>(schedule, options);
  if (!result.accepted)
    throw InputError(options.name.empty() ? "collective " + name_of(schedule.collective()) : options.name,
                     *result.fault);
  return std::move(*result.accepted);
}
template Verified<Program> lower(const Verified<Schedule>&, const LoweringOptions&);
template Verified<BlockProgram> lower(const Verified<Schedule>&, const LoweringOptions&);
template Verified<PeerProgram> lower(const Verified<Schedule>&, const LoweringOptions&);

}  // namespace chorale
