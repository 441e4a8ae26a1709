// The passes in their order, with the reason where it matters. None of them verifies: what they end with is
// verified, as a program of epochs, where its links are known, and once more as what that becomes.
#include "codegen/passes/lower.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "codegen/passes/passes.h"
#include "ir/error.h"
#include "semantics/verified.h"

namespace chorale {
namespace {

void require_same_pieces(const Collective& collective) {
  const int k = collective.chunks_per_block;
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    if (const ChunkSpec& spec = collective.chunks[c]; spec.input % k != spec.output % k)
      throw InputError(
          "collective " + name_of(collective),
          fmt::format("chunk {} is piece {} of its block in the input and piece {} in the output", c,
                      spec.input % k, spec.output % k),
          fmt::format("give it positions that are equal modulo chunks_per_block, {}", k));
}

Program in_epochs(const Verified<Schedule>& schedule, const LoweringOptions& options) {
  const Topology& topology = schedule.topology();
  const Collective& collective = schedule.collective();
  Program p = assign_slots(topology, collective, *schedule);
  if (!options.name.empty()) p.name = options.name;
  p = order_epochs(std::move(p));
  if (options.reuse_scratch) p = reuse_scratch(std::move(p));  // it examines all uses of a slot
  if (options.in_place) p = reuse_scratch(in_place(collective, std::move(p)));  // it puts inputs aside
  if (options.epilogue) p = apply_epilogue(topology, collective, std::move(p), *options.epilogue);
  if (options.serialize_ports)
    p = serialize_ports(topology, *schedule, std::move(p));  // last: it cuts steps up
  return p;
}

}  // namespace

template <>
Verified<Program> lower(const Verified<Schedule>& schedule, const LoweringOptions& options) {
  require_same_pieces(schedule.collective());
  Program program = in_epochs(schedule, options);
  const std::string name = program.name;
  Verification<Program> verification = verify(schedule, std::move(program));
  if (verification.accepted) return std::move(*verification.accepted);
  if (options.epilogue && has_sliced_operand(*options.epilogue))
    throw InputError(name, verification.fault->words,
                     "give it tensors that are replicated, or another point");
  throw std::logic_error("lowering " + name + " is wrong: " + verification.fault->words);
}

template <>
Verified<BlockProgram> lower(const Verified<Schedule>& schedule, const LoweringOptions& options) {
  // In place, its dependencies order what epochs have to put aside.
  LoweringOptions apart = options;
  apart.in_place = false;
  RelaxOptions blocks = options.blocks;
  blocks.in_place = options.in_place;
  return relax(lower(schedule, apart), blocks);
}

template <>
Verified<PeerProgram> lower(const Verified<Schedule>& schedule, const LoweringOptions& options) {
  return to_peers(lower(schedule, options), options.peers);
}

}  // namespace chorale
