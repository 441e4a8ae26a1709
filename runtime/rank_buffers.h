// The input and the output of a rank, apart or in one memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chorale {

struct RankBuffers {
  std::vector<std::byte> memory = {}, rest = {};  // in place `rest` is empty
  std::span<std::byte> input = {}, output = {};   // in them
};

RankBuffers buffers_apart(std::int64_t input_bytes, std::int64_t output_bytes);

// They share memory in which they begin at these bytes. A rank that has only one of them has just that.
RankBuffers buffers_in_place(std::int64_t input_begin, std::int64_t input_bytes, std::int64_t output_begin,
                             std::int64_t output_bytes);

}  // namespace chorale
