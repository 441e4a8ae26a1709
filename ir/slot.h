// A place in a rank's memory, counted in chunks.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace chorale {

enum class Buffer { Input, Output, Scratch };

struct Slot {
  Buffer buffer = Buffer::Input;
  int index = 0;  // in chunks
  auto operator<=>(const Slot&) const = default;
};

std::string to_string(const Slot&);  // "output[3]"

// Returns the name of a buffer in our files and those of MSCCL and MSCCL++: i, o or s.
inline const char* letter_of(Buffer buffer) {
  return buffer == Buffer::Input ? "i" : buffer == Buffer::Output ? "o" : "s";
}

inline std::optional<Buffer> buffer_of(std::string_view letter) {
  for (const Buffer each : {Buffer::Input, Buffer::Output, Buffer::Scratch})
    if (letter == letter_of(each)) return each;
  return {};
}

}  // namespace chorale
