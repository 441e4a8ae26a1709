// Two forms of one struct: apart, input and output have a vector each; in place both are spans of the first
// vector, and the second is empty. A rank that has only one buffer has nothing to share.
#include "runtime/rank_buffers.h"

#include <algorithm>

namespace chorale {

RankBuffers buffers_apart(std::int64_t input_bytes, std::int64_t output_bytes) {
  RankBuffers buffers;
  buffers.memory.resize(input_bytes);
  buffers.rest.resize(output_bytes);
  buffers.input = buffers.memory;
  buffers.output = buffers.rest;
  return buffers;  // vectors keep their memory when they move
}

RankBuffers buffers_in_place(std::int64_t input_begin, std::int64_t input_bytes, std::int64_t output_begin,
                             std::int64_t output_bytes) {
  if (input_bytes == 0 || output_bytes == 0) return buffers_apart(input_bytes, output_bytes);
  RankBuffers buffers;
  buffers.memory.resize(std::max(input_begin + input_bytes, output_begin + output_bytes));
  buffers.input = std::span(buffers.memory).subspan(input_begin, input_bytes);
  buffers.output = std::span(buffers.memory).subspan(output_begin, output_bytes);
  return buffers;
}

// A positive shift moves the input behind the output, a negative one the output behind the input: neither
// begins before the memory.
RankBuffers buffers_of(const Collective& collective, Rank n, std::int64_t block_bytes,
                       std::optional<int> shift) {
  const std::int64_t input = input_chunks(collective, n) / collective.chunks_per_block * block_bytes,
                     output = output_chunks(collective, n) / collective.chunks_per_block * block_bytes;
  if (!shift) return buffers_apart(input, output);
  const std::int64_t apart = std::int64_t{*shift} * n * block_bytes;
  return buffers_in_place(std::max<std::int64_t>(apart, 0), input, std::max<std::int64_t>(-apart, 0), output);
}

}  // namespace chorale
