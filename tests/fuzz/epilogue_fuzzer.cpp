#include "ir/epilogue.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

void epilogue(std::string_view text) {
  refusing([&] {
    const Epilogue epilogue = epilogue_from_json(text, "input");
    require(flaw(epilogue).empty(), "an epilogue with a flaw");
    require(epilogue_from_json(to_json(epilogue), "written") == epilogue, "an epilogue does not come back");
  });
}

}  // namespace chorale::fuzz
