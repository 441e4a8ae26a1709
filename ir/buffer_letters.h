// Buffers as MSCCL, MSCCL++ and our files name them: i, o and s.
#pragma once

#include <optional>
#include <string_view>

#include "ir/slot.h"

namespace chorale {

inline const char* letter_of(Buffer buffer) {
  return buffer == Buffer::Input ? "i" : buffer == Buffer::Output ? "o" : "s";
}

inline std::optional<Buffer> buffer_of(std::string_view letter) {
  for (const Buffer each : {Buffer::Input, Buffer::Output, Buffer::Scratch})
    if (letter == letter_of(each)) return each;
  return {};
}

}  // namespace chorale
