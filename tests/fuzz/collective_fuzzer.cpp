#include "ir/json.h"
#include "ir/promise.h"
#include "ir/sizes.h"
#include "semantics/verify.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

// For as many ranks as the text is long, modulo 9: a file does not state for how many it is.
void collective(std::string_view text) {
  refusing([&] {
    const int ranks = 1 + static_cast<int>(text.size() % 9);
    const Collective asked = collective_from_json(text, "input", ranks);
    if (bytes_of(asked) > 2e4) return;
    require(collective_from_json(to_json(asked), "written", ranks) == asked,
            "a collective does not come back");
    require(differences(asked, asked).empty(), "a collective does not do what it does");
    const Promise promise(asked);
    const Collective finer = refined(asked, 2);
    require(finer.chunks.size() == 2 * asked.chunks.size(), "refined has another number of chunks");
    violations({.name = "nothing", .ranks = ranks}, asked, Schedule{});
  });
}

}  // namespace chorale::fuzz
