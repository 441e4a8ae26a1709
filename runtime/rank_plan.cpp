#include "runtime/rank_plan.h"

#include <algorithm>
#include <cassert>
#include <cstring>

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

RankPlan::RankPlan(const Program& program, Rank n, const BlockShape& shape)
    : shape_(shape),
      reduces_(reduces(program)),
      ranks_(static_cast<int>(program.ranks.size())),
      epochs_(program.steps) {
  const RankProgram& rank = program.ranks[n];
  const std::int64_t longest = piece_begin(shape.elements, program.chunks_per_block, 1);
  input.resize(slot_begin(program, shape.elements, rank.input_chunks) * size_of(shape.type));
  output.resize(slot_begin(program, shape.elements, rank.output_chunks) * size_of(shape.type));
  scratch_.resize(longest * rank.scratch_chunks * size_of(shape.type));
  for (const ThreadBlock& block : rank.blocks)
    for (const Instruction& i : block.instructions) add(program, i);
  // The order of messages is part of the contract of Transport.
  for (Epoch& epoch : epochs_) {
    std::ranges::sort(epoch.sends, {}, &Transfer::message);
    std::ranges::sort(epoch.recvs, {}, &Transfer::message);
  }
}

std::byte* RankPlan::address(const Program& program, const Slot& slot) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(shape_.type));
  if (slot.buffer == Buffer::Scratch)
    return scratch_.data() + slot.index * piece_begin(shape_.elements, program.chunks_per_block, 1) * size;
  std::vector<std::byte>& buffer = slot.buffer == Buffer::Input ? input : output;
  return buffer.data() + slot_begin(program, shape_.elements, slot.index) * size;
}

void RankPlan::add(const Program& program, const Instruction& i) {
  const int k = program.chunks_per_block;
  const std::int64_t elements =
      piece_begin(shape_.elements, k, i.piece + 1) - piece_begin(shape_.elements, k, i.piece);
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(shape_.type));
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
  int step = 0;
  for (const Epoch& epoch : epochs_) {
    transport.exchange(step++, epoch.sends, epoch.recvs);
    for (const LocalWork& work : epoch.work) {
      if (work.opcode == Opcode::Reduce)
        reduce(shape_.type, op, work.dst, work.src, work.elements);
      else if (work.elements > 0)
        std::memcpy(work.dst, work.src, work.elements * size_of(shape_.type));
    }
  }
  if (op == ReduceOp::Avg && reduces_)
    divide(shape_.type, output.data(), static_cast<std::int64_t>(output.size() / size_of(shape_.type)),
           ranks_);
}

}  // namespace chorale
