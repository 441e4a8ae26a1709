#include "codegen/mscclpp/read_plan.h"
#include "ir/sizes.h"
#include "semantics/verify_peers.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

void mscclpp_plan(std::string_view text) {
  refusing([&] {
    if (!is_mscclpp_plan(text, "input")) return;
    const MscclppFile file = mscclpp_from_json(text, "input");
    if (bytes_of(file.collective) > 1e5) return;
    violations(file.collective, file.program, {.packets = file.packets, .proxies = file.proxies});
    violations(file.collective, file.program,
               {.relaxed_orders = true, .packets = file.packets, .proxies = file.proxies});
  });
}

}  // namespace chorale::fuzz
