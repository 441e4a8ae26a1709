// The idea: the verifier's symbolic run determines the content of each operation's result, so it finds where
// a sum becomes complete, and the function is attached to that operation.
//
// What lost: putting it into programs of blocks. An instruction that completes a sum and sends it on had to
// be cut open, and the peer form had no function.
#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/passes/passes.h"
#include "ir/promise.h"
#include "semantics/verify_program.h"

namespace chorale {
namespace {

// Where in the inputs the outputs of each rank begin. The verifier checks that they are contiguous there.
void set_slices(const Collective& collective, Program& program) {
  const Promise promise(collective);
  for (Rank n = 0; n < promise.ranks(); ++n)
    if (const std::vector<Promise::Output> outputs = promise.outputs(n); !outputs.empty())
      program.ranks[n].slice =
          std::max(0, collective.chunks[outputs.front().chunks.front()].input - outputs.front().slot);
}

}  // namespace

// Completions are found before the function is stored: a program without any has no place for one. The
// position goes with the operation, since the function may depend on the index.
std::optional<Fault> apply_epilogue(const Topology& topology, const Collective& collective,
                                    const Epilogue& epilogue, Program& program) {
  const std::vector<Completion> all = completions(topology, collective, program);
  if (all.empty())
    return Fault{.kind = Fault::Kind::Limit,
                 .words = name_of(collective) + " has no sums that an epilogue could follow",
                 .remedy = "use a reduce, reducescatter or allreduce"};
  program.epilogue = epilogue;
  if (has_sliced_operand(epilogue)) set_slices(collective, program);
  for (const Completion& each : all)
    program.ranks[each.rank].blocks[each.block].instructions[each.instruction].does.position = each.position;
  return std::nullopt;
}

}  // namespace chorale
