#include "runtime/rank_plan.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "ir/block_program.h"

namespace chorale {

std::int64_t slot_begin(const Program& program, std::int64_t block_elements, int index) {
  const int k = program.chunks_per_block;
  return index / k * block_elements + piece_begin(block_elements, k, index % k);
}

std::int64_t buffer_bytes(const Program& program, const BlockShape& shape) {
  std::int64_t elements = 0;
  for (const RankProgram& rank : program.ranks)
    elements = std::max({elements, slot_begin(program, shape.elements, rank.input_chunks),
                         slot_begin(program, shape.elements, rank.output_chunks)});
  return elements * static_cast<std::int64_t>(size_of(shape.type));
}

bool reduces(const Program& program) {
  for (const RankProgram& rank : program.ranks)
    for (const ThreadBlock& block : rank.blocks)
      for (const Instruction& i : block.instructions)
        if (i.opcode == Opcode::Reduce) return true;
  return false;
}

namespace {

RankBuffers buffers(const Program& program, Rank n, std::int64_t block_elements, ElementType type) {
  const RankProgram& rank = program.ranks[n];
  const auto bytes = [&](int slots) {
    return slot_begin(program, block_elements, slots) * static_cast<std::int64_t>(size_of(type));
  };
  if (!program.in_place) return buffers_apart(bytes(rank.input_chunks), bytes(rank.output_chunks));
  // Slots of both follow each other in the shared memory, so where the first of each lies says it all.
  const auto begin = [&](Buffer buffer) {
    return bytes(in_place_slot(program.collective, program.chunks_per_block, n, {buffer, 0}).index);
  };
  return buffers_in_place(begin(Buffer::Input), bytes(rank.input_chunks), begin(Buffer::Output),
                          bytes(rank.output_chunks));
}

}  // namespace

RankPlan::RankPlan(const Program& program, Rank n, const BlockShape& shape)
    : type_(shape.type),
      kept_type_(shape.type),
      block_elements_(shape.elements),
      in_place_(program.in_place),
      reduces_(reduces(program)),
      ranks_(static_cast<int>(program.ranks.size())),
      epochs_(program.steps) {
  if (shape.accumulation == Accumulation::Float32 && reduces_) kept_type_ = wide_type(type_);
  const RankProgram& rank = program.ranks[n];
  const std::int64_t longest = piece_begin(shape.elements, program.chunks_per_block, 1);
  door_ = buffers(program, n, shape.elements, type_);
  if (kept_type_ != type_) wide_ = buffers(program, n, shape.elements, kept_type_);
  scratch_.resize(longest * rank.scratch_chunks * size_of(kept_type_));
  for (const ThreadBlock& block : rank.blocks)
    for (const Instruction& i : block.instructions) add(program, i);
  // The order of messages is part of the contract of Transport.
  for (Epoch& epoch : epochs_) {
    std::ranges::sort(epoch.sends, {}, &MessageTransfer::message);
    std::ranges::sort(epoch.recvs, {}, &MessageTransfer::message);
  }
}

std::byte* RankPlan::address(const Program& program, const Slot& slot) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(kept_type_));
  if (slot.buffer == Buffer::Scratch)
    return scratch_.data() + slot.index * piece_begin(block_elements_, program.chunks_per_block, 1) * size;
  const RankBuffers& buffers = wide_ ? *wide_ : door_;
  const std::span<std::byte> buffer = slot.buffer == Buffer::Input ? buffers.input : buffers.output;
  return buffer.data() + slot_begin(program, block_elements_, slot.index) * size;
}

void RankPlan::add(const Program& program, const Instruction& i) {
  const int k = program.chunks_per_block;
  const std::int64_t elements =
      piece_begin(block_elements_, k, i.piece + 1) - piece_begin(block_elements_, k, i.piece);
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(kept_type_));
  Epoch& epoch = epochs_[i.step];
  switch (i.opcode) {
    case Opcode::Send:
      epoch.sends.push_back(
          {.message = i.message, .peer = i.peer, .data = address(program, i.src), .bytes = bytes});
      return;
    case Opcode::Recv:
      epoch.recvs.push_back(
          {.message = i.message, .peer = i.peer, .data = address(program, i.dst), .bytes = bytes});
      return;
    case Opcode::Copy:
    case Opcode::Reduce:
      epoch.work.push_back({.opcode = i.opcode,
                            .dst = address(program, i.dst),
                            .src = address(program, i.src),
                            .elements = elements});
      return;
  }
}

void RankPlan::execute(ReduceOp op, Transport& transport) {
  const auto elements = [this](std::span<const std::byte> buffer) {
    return static_cast<std::int64_t>(buffer.size() / size_of(type_));
  };
  if (wide_) widen(type_, wide_->input.data(), door_.input.data(), elements(door_.input));
  int step = 0;
  for (const Epoch& epoch : epochs_) {
    transport.exchange(step++, epoch.sends, epoch.recvs);
    for (const LocalWork& work : epoch.work) {
      if (work.opcode == Opcode::Reduce)
        reduce(kept_type_, op, work.dst, work.src, work.elements);
      else if (work.elements > 0)
        std::memcpy(work.dst, work.src, work.elements * size_of(kept_type_));
    }
  }
  if (op == ReduceOp::Avg && reduces_)
    divide(kept_type_, (wide_ ? *wide_ : door_).output.data(), elements(door_.output), ranks_);
  if (wide_) narrow(type_, door_.output.data(), wide_->output.data(), elements(door_.output));
}

}  // namespace chorale
