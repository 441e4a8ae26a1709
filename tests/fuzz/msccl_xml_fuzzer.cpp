#include "codegen/msccl_xml.h"
#include "ir/sizes.h"
#include "semantics/verify_blocks.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

void msccl_xml(std::string_view text) {
  refusing([&] {
    const MscclFile file = msccl_from_xml(text, "input");
    if (bytes_of(file.collective) > 1e5) return;
    for (bool in_place : {false, true})
      violations(file.collective, file.program, {.depth = 2, .in_place = in_place});
  });
}

}  // namespace chorale::fuzz
