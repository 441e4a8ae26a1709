#include "codegen/passes/lower.h"

#include <fmt/format.h>

#include <stdexcept>

#include "codegen/passes/passes.h"
#include "ir/error.h"
#include "semantics/verify.h"
#include "semantics/verify_program.h"

namespace chorale {
namespace {

void require_valid(const Topology& topology, const Collective& collective, const Schedule& schedule) {
  if (const auto faults = violations(topology, collective, schedule, 1); !faults.empty())
    throw InputError("schedule of " + name_of(collective), faults.front().words,
                     "run only what `chorale check` accepts");
}

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

Program verified(const Topology& topology, const Collective& collective, Program program) {
  if (const auto faults = violations(topology, collective, program, 1); !faults.empty())
    throw std::logic_error("lowering of " + name_of(collective) + " is wrong: " + faults.front().words);
  return program;
}

}  // namespace

Program lower(const Topology& topology, const Collective& collective, const Schedule& schedule,
              bool reuse_scratch_slots) {
  require_valid(topology, collective, schedule);
  require_same_pieces(collective);
  Program p = assign_slots(topology, collective, schedule);
  p = order_epochs(std::move(p));
  if (reuse_scratch_slots) p = reuse_scratch(std::move(p));  // last: it looks at all uses of a slot
  return verified(topology, collective, std::move(p));
}

}  // namespace chorale
