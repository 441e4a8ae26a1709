// All that follows from the size is done once: slots become addresses and pieces lengths, so that a run is an
// exchange and a loop for each epoch, and what is timed is that alone.
//
// Sums of 16-bit floats in float32 have a second pair of buffers of that type: converted to float32 at the
// beginning and back at the end, and all messages are of the wide type.
#include "runtime/rank_plan.h"

#include <algorithm>

namespace chorale {

// Two forms of one struct: apart, input and output have a vector each; in place both are spans of the first
// vector, and the second is empty. A rank that has only one buffer has nothing to share.
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

namespace {

RankBuffers buffers(const Program& program, Rank n, const Pieces& pieces, ElementType type) {
  const RankProgram& rank = program.ranks[n];
  const auto bytes = [&](int slots) {
    return pieces.slot_begin(slots) * static_cast<std::int64_t>(size_of(type));
  };
  if (!program.in_place) return buffers_apart(bytes(rank.input_chunks), bytes(rank.output_chunks));
  // Slots of both follow each other in the shared memory, so the position of the first of each is sufficient.
  const auto begin = [&](Buffer buffer) {
    return bytes(in_place_slot(program.collective, program.chunks_per_block, n, {buffer, 0}).index);
  };
  return buffers_in_place(begin(Buffer::Input), bytes(rank.input_chunks), begin(Buffer::Output),
                          bytes(rank.output_chunks));
}

}  // namespace

// Steps of this rank become epochs: messages by address and length, with their numbers as tags, and local
// sums, of which those over the same elements are one loop (fused_sums).
RankPlan::RankPlan(const Verified<Program>& verified, const StepRows& rows, Rank n, const BlockShape& shape)
    : type_(shape.type),
      kept_type_(shape.type),
      rank_(n),
      epilogue_(*verified, {shape.elements, rows.pieces}, n),
      in_place_(verified->in_place),
      reduces_(reduces(*verified)),
      has_epilogue_(has_epilogue(*verified)),
      ranks_(static_cast<int>(rows.slots.size())) {
  const EvenLengths lengths{{shape.elements, rows.pieces}};
  if (shape.accumulation == Accumulation::Float32 && reduces_) kept_type_ = wide_type(type_);
  buffers_ = buffers(*verified, n, lengths.pieces, type_);
  if (kept_type_ != type_) wide_ = buffers(*verified, n, lengths.pieces, kept_type_);
  scratch_.resize(lengths.pieces.longest() * rows.slots[n][2] * size_of(kept_type_));
  for (const OwnStep& step : own_steps(rows.tables(), n, lengths)) {
    const int s = static_cast<int>(epochs_.size());
    Epoch& epoch = epochs_.emplace_back();
    for (const OwnMessage& m : step.sends)
      epoch.sends.push_back(delivery(m.peer, rows.numbers[m.row], m.from, s));
    for (const OwnMessage& m : step.receives)
      epoch.receives.push_back(delivery(m.peer, rows.numbers[m.row], m.to, s));
    for (const OwnSum& sum : fused_sums(step.work)) {
      Sum& mine = epoch.sums.emplace_back(address(sum.to));
      mine.elements = sum.to.count, mine.index = sum.index;
      for (const Span& from : sum.from) mine.from.push_back(address(from));
    }
  }
}

// Indexed as Span::buffer numbers them: input, output, scratch.
std::byte* RankPlan::address(const Span& span) {
  const RankBuffers& buffers = wide_ ? *wide_ : buffers_;
  std::byte* const data[] = {buffers.input.data(), buffers.output.data(), scratch_.data()};
  return data[span.buffer] + span.begin * static_cast<std::int64_t>(size_of(kept_type_));
}

// Bytes of the type in which values are kept: wide sums are sent wide.
Delivery RankPlan::delivery(int peer, int tag, const Span& span, int step) {
  return {.peer = peer,
          .tag = tag,
          .data = address(span),
          .bytes = span.count * static_cast<std::int64_t>(size_of(kept_type_)),
          .step = step};
}

// With a function of the program, finish() has divided averages before it; dividing again would be wrong.
void RankPlan::execute(ReduceOp op, Transport& transport) {
  const EpilogueFunction epilogue = epilogue_.function();
  const auto elements = [this](std::span<const std::byte> buffer) {
    return static_cast<std::int64_t>(buffer.size() / size_of(type_));
  };
  if (wide_) widen(type_, wide_->input.data(), buffers_.input.data(), elements(buffers_.input));
  for (Epoch& epoch : epochs_) {
    transport.exchange(epoch.sends, epoch.receives);
    for (const Sum& sum : epoch.sums) {
      combine(kept_type_, op, sum.from, sum.to, sum.elements);
      if (sum.index >= 0) finish(kept_type_, op, ranks_, epilogue, sum.to, sum.elements, sum.index, rank_);
    }
  }
  if (op == ReduceOp::Avg && reduces_ && !has_epilogue_)
    divide(kept_type_, (wide_ ? *wide_ : buffers_).output.data(), elements(buffers_.output), ranks_);
  if (wide_) narrow(type_, buffers_.output.data(), wide_->output.data(), elements(buffers_.output));
}

}  // namespace chorale
