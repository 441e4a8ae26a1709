// A stable sort by step and kind: receives may not come before sends, which read what receives overwrite, nor
// local work before what it adds has come.
#include <algorithm>
#include <utility>

#include "codegen/passes/passes.h"

namespace chorale {

Program order_epochs(Program program) {
  const auto place = [](const Instruction& i) {
    return std::pair{i.step, is_local(i.does) ? 2 : i.does.takes ? 1 : 0};
  };
  for (RankProgram& rank : program.ranks)
    for (ThreadBlock& block : rank.blocks) std::ranges::stable_sort(block.instructions, {}, place);
  return program;
}

}  // namespace chorale
