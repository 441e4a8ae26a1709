// The idea: the symbolic run of the referee knows after each operation what is in its result, so it says where a sum
// becomes complete, and the function goes with that operation. It used to be put into programs of blocks, where an
// instruction that completed a sum and sent it on had to be cut open, and the peer form had none.
#include "codegen/passes/epilogue.h"

#include <stdexcept>

#include "ir/error.h"
#include "semantics/verify_program.h"

namespace chorale {

std::map<int, std::set<Rank>> completion_points(const Topology& topology, const Collective& collective,
                                                const Program& program) {
  std::map<int, std::set<Rank>> points;
  for (const Completion& each : completions(topology, collective, program))
    points[each.position].insert(each.rank);
  return points;
}

Program with_epilogue(const Topology& topology, const Collective& collective, const Program& program) {
  const std::vector<Completion> all = completions(topology, collective, program);
  if (all.empty())
    throw InputError(program.name, name_of(collective) + " has no sums that an epilogue could follow",
                     "use a reduce, reducescatter or allreduce");
  Program result = program;
  for (const Completion& each : all)
    result.ranks[each.rank].blocks[each.block].instructions[each.instruction].does.position = each.position;
  if (const auto faults = violations(topology, collective, result, 1); !faults.empty())
    throw std::logic_error("the epilogue in " + program.name + " is wrong: " + faults.front().words);
  return result;
}

}  // namespace chorale
