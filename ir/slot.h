// A place in a rank's memory, counted in chunks.
#pragma once

#include <compare>
#include <string>

namespace chorale {

enum class Buffer { Input, Output, Scratch };

struct Slot {
  Buffer buffer = Buffer::Input;
  int index = 0;  // in chunks
  auto operator<=>(const Slot&) const = default;
};

std::string to_string(const Slot&);  // "output[3]"

}  // namespace chorale
