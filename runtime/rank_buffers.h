// The input and the output of a rank, apart or in one memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/collective.h"

namespace chorale {

struct RankBuffers {
  std::vector<std::byte> memory = {}, rest = {};  // in place `rest` is empty
  std::span<std::byte> input = {}, output = {};   // in them
};

RankBuffers buffers_apart(std::int64_t input_bytes, std::int64_t output_bytes);

// They share memory in which they begin at these bytes. A rank that has only one of them has just that.
RankBuffers buffers_in_place(std::int64_t input_begin, std::int64_t input_bytes, std::int64_t output_begin,
                             std::int64_t output_bytes);

// Of a rank of a collective whose blocks have as many bytes. In place, where the input of rank n begins
// n * `shift` blocks after its output (in_place_shift, ir/collective_kind.h); no shift: apart.
RankBuffers buffers_of(const Collective&, Rank, std::int64_t block_bytes, std::optional<int> shift);

}  // namespace chorale
