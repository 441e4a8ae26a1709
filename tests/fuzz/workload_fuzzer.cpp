#include "tensor/language/infer.h"
#include "tensor/language/text.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

void workload(std::string_view text) {
  refusing([&] {
    const Workload workload = parse_workload(text, "input");
    require(inferred(workload, "read").or_throw() == workload,
            "a workload that was read is inferred as another one");
    require(parse_workload(to_text(workload), "written") == workload, "a workload does not come back");
  });
}

}  // namespace chorale::fuzz
