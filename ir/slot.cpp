// "input[3]": names by the order of the enumeration Buffer.
#include "ir/slot.h"

#include <fmt/format.h>

namespace chorale {

std::string to_string(const Slot& slot) {
  const char* names[] = {"input", "output", "scratch"};
  return fmt::format("{}[{}]", names[static_cast<int>(slot.buffer)], slot.index);
}

}  // namespace chorale
