#include "ir/block_program.h"
#include "semantics/verify_blocks.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

void block_program(std::string_view text) {
  refusing([&] {
    const BlockProgram program = block_program_from_json(text, "input");
    require(block_program_from_json(to_json(program), "written") == program, "a program does not come back");
    const int ranks = static_cast<int>(program.ranks.size());
    if (program.chunks_per_block > 1000 || ranks > 64) return;
    const Collective collective = make_collective(program.collective, ranks, program.chunks_per_block);
    for (bool in_place : {false, true})
      for (int depth : {1, 2}) violations(collective, program, depth, in_place);
  });
}

}  // namespace chorale::fuzz
