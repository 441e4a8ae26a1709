#include "ir/block_program.h"
#include "semantics/verify_blocks.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

void block_program(std::string_view text) {
  refusing([&] {
    const BlockProgramFile file = block_program_from_json(text, "input");
    const auto& [collective, program] = file;
    require(block_program_from_json(to_json(collective, program), "written") == file,
            "a program does not come back");
    if (program.chunks_per_block > 1000 || collective.chunks.size() > 1000 || collective.ranks > 64) return;
    for (bool in_place : {false, true})
      for (int depth : {1, 2}) violations(collective, program, {.depth = depth, .in_place = in_place});
  });
}

}  // namespace chorale::fuzz
