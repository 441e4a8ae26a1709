// All that follows from the size is done once: slots become addresses, pieces lengths, and steps what each
// message and each sum waits for, so that what is timed is messages and loops alone.
//
// Sums of 16-bit floats in float32 have a second pair of buffers of that type: converted to float32 at the
// beginning and back at the end, and all messages are of the wide type. Where float32 travels as something
// shorter, the second pair is of that.
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

// In the memory that both buffers share. Slots of both follow each other there, so the position of the first
// of each is sufficient.
std::int64_t first_element(const Program& program, Rank n, const Pieces& pieces, Buffer buffer) {
  return pieces.slot_begin(in_place_slot(program.collective, program.chunks_per_block, n, {buffer, 0}).index);
}

RankBuffers buffers(const Program& program, Rank n, const Pieces& pieces, std::int64_t size) {
  const RankProgram& rank = program.ranks[n];
  const std::int64_t input = pieces.slot_begin(rank.input_chunks) * size,
                     output = pieces.slot_begin(rank.output_chunks) * size;
  if (!program.in_place) return buffers_apart(input, output);
  return buffers_in_place(first_element(program, n, pieces, Buffer::Input) * size, input,
                          first_element(program, n, pieces, Buffer::Output) * size, output);
}

}  // namespace

// Addresses are places here: input and output have a place in common only where they share memory, and a rank
// that lacks one of them has nothing to share.
MessagePlan message_plan(const Program& program, const StepRows& rows, Rank n, const Pieces& pieces,
                         int element_bytes) {
  constexpr std::int64_t kApart = std::int64_t{1} << 60;
  const RankProgram& rank = program.ranks[n];
  std::int64_t begin[] = {1, kApart, 2 * kApart};  // by buffer
  if (program.in_place && rank.input_chunks > 0 && rank.output_chunks > 0)
    for (const Buffer buffer : {Buffer::Input, Buffer::Output})
      begin[static_cast<int>(buffer)] = 1 + first_element(program, n, pieces, buffer);
  const StepTables tables = rows.tables();
  return MessagePlanner(
             tables, n, pieces, element_bytes,
             [&](const Span& span) { return reinterpret_cast<const void*>(begin[span.buffer] + span.begin); },
             rows.numbers.data())
      .plan();
}

RankPlan::RankPlan(const Verified<Program>& verified, const StepRows& rows, Rank n, const BlockShape& shape,
                   const PlanCheck& check)
    : type_(shape.type),
      kept_type_(shape.type),
      wire_(shape.wire),
      length_(shape.elements),
      rank_(n),
      epilogue_(*verified, {shape.elements, rows.pieces}, n),
      in_place_(verified->in_place),
      adds_once_(rows.adds_once),
      reduces_(reduces(*verified)),
      has_epilogue_(has_epilogue(*verified)),
      ranks_(static_cast<int>(rows.slots.size())) {
  if (shape.accumulation == Accumulation::Float32 && reduces_) kept_type_ = wide_type(type_);
  const WireUnit unit = unit_on_wire(kept_type_, wire_);
  unit_bytes_ = unit.bytes;
  const Pieces lengths{(shape.elements + unit.elements - 1) / unit.elements, rows.pieces};
  buffers_ = buffers(*verified, n, {shape.elements, rows.pieces}, static_cast<std::int64_t>(size_of(type_)));
  if (kept_type_ != type_ || wire_ != Wire::Float32) kept_ = buffers(*verified, n, lengths, unit_bytes_);
  scratch_.resize(lengths.longest() * rows.slots[n][2] * unit_bytes_);
  const MessagePlan plan = message_plan(*verified, rows, n, lengths, static_cast<int>(unit_bytes_));
  if (check) check(rows, n, lengths, plan);
  for (const MessageTask& each : plan) tasks_.push_back(task(each, rows));
  driver_.emplace(plan);
}

// Indexed as Span::buffer numbers them: input, output, scratch.
std::byte* RankPlan::address(const Span& span) {
  const RankBuffers& buffers = kept_ ? *kept_ : buffers_;
  std::byte* const data[] = {buffers.input.data(), buffers.output.data(), scratch_.data()};
  return data[span.buffer] + span.begin * unit_bytes_;
}

// Messages are bytes of the type in which values are kept: wide sums are sent wide.
RankPlan::Task RankPlan::task(const MessageTask& task, const StepRows& rows) {
  if (task.kind == MessageTask::Kind::Sum) {
    Sum sum{.to = address(task.to), .elements = task.to.count, .index = task.index};
    for (const Span& from : task.from) sum.from.push_back(address(from));
    return {.sum = std::move(sum)};
  }
  const bool sends = task.kind == MessageTask::Kind::Send;
  return {.sends = sends,
          .message = {.peer = task.peer,
                      .tag = rows.numbers[task.row],
                      .data = address(task.span()),
                      .bytes = task.span().count * unit_bytes_,
                      .step = task.step,
                      .arrives = task.arrives}};
}

// With a function of the program, finish() has divided averages before it; dividing again would be wrong.
void RankPlan::make(const Sum& sum, ReduceOp op, const EpilogueFunction& epilogue) const {
  if (wire_ != Wire::Float32)
    combine_once(wire_, op, sum.from, sum.to, sum.elements);
  else if (adds_once_)
    combine_once(kept_type_, op, sum.from, sum.to, sum.elements);
  else
    combine(kept_type_, op, sum.from, sum.to, sum.elements);
  if (sum.index >= 0) finish(kept_type_, op, ranks_, epilogue, sum.to, sum.elements, sum.index, rank_);
}

// The mean of what travels as something shorter is that of the rounded sum, in float32.
void RankPlan::execute(ReduceOp op, Transport& transport) {
  const EpilogueFunction epilogue = epilogue_.function();
  const auto elements = [this](std::span<const std::byte> buffer) {
    return static_cast<std::int64_t>(buffer.size() / size_of(type_));
  };
  const bool packs = wire_ != Wire::Float32, divides_kept = kept_ && !packs;
  if (packs) pack(wire_, buffers_.input, length_, kept_->input.data());
  if (divides_kept) widen(type_, kept_->input.data(), buffers_.input.data(), elements(buffers_.input));
  const auto start = [&](int number) {
    Task& task = tasks_[number];
    if (task.message.bytes == 0)
      make(task.sum, op, epilogue);
    else
      transport.start(task.message, task.sends, number);
    return task.message.bytes == 0;
  };
  driver_->run(start, [&] { return transport.ended(); });
  if (packs) unpack(wire_, kept_->output.data(), length_, buffers_.output);
  if (op == ReduceOp::Avg && reduces_ && !has_epilogue_)
    divide(divides_kept ? kept_type_ : type_, (divides_kept ? *kept_ : buffers_).output.data(),
           elements(buffers_.output), ranks_);
  if (divides_kept) narrow(type_, buffers_.output.data(), kept_->output.data(), elements(buffers_.output));
}

}  // namespace chorale
