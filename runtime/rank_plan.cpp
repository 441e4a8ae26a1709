// All that follows from the size is done once: slots become addresses and pieces lengths, so that a run is an
// exchange and a loop for each epoch, and what is timed is that alone. Blocks of a rank are gone here: within
// an epoch they share slots only for reading (ir/program.h), so their local work may be done one after the
// other.
//
// Sums of 16-bit floats in float32 have a second pair of buffers of that type: converted to float32 at the
// beginning and back at the end, and all messages are of the wide type.
#include "runtime/rank_plan.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "ir/posting_order.h"

namespace chorale {

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

RankPlan::RankPlan(const Program& program, Rank n, const BlockShape& shape)
    : type_(shape.type),
      kept_type_(shape.type),
      pieces_{shape.elements, program.chunks_per_block},
      rank_(n),
      epilogue_(program, pieces_, n),
      in_place_(program.in_place),
      reduces_(reduces(program)),
      has_epilogue_(has_epilogue(program)),
      ranks_(static_cast<int>(program.ranks.size())),
      epochs_(program.steps) {
  if (shape.accumulation == Accumulation::Float32 && reduces_) kept_type_ = wide_type(type_);
  const RankProgram& rank = program.ranks[n];
  buffers_ = buffers(program, n, pieces_, type_);
  if (kept_type_ != type_) wide_ = buffers(program, n, pieces_, kept_type_);
  scratch_.resize(pieces_.longest() * rank.scratch_chunks * size_of(kept_type_));
  for (const ThreadBlock& block : rank.blocks)
    for (const Instruction& i : block.instructions) add(program, i);
  // The order of messages is part of the contract of Transport.
  for (Epoch& epoch : epochs_) {
    std::ranges::sort(epoch.sends, {}, [&](const Delivery& send) {
      return std::pair(posting_distance(n, send.peer, ranks_), send.tag);
    });
    std::ranges::sort(epoch.recvs, {}, [&](const Delivery& recv) {
      return std::pair(posting_distance(recv.peer, n, ranks_), recv.tag);
    });
  }
}

// A slot of scratch may hold any piece, so it has room for the longest.
std::byte* RankPlan::address(const Slot& slot) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(kept_type_));
  if (slot.buffer == Buffer::Scratch) return scratch_.data() + slot.index * pieces_.longest() * size;
  const RankBuffers& buffers = wide_ ? *wide_ : buffers_;
  const std::span<std::byte> buffer = slot.buffer == Buffer::Input ? buffers.input : buffers.output;
  return buffer.data() + pieces_.slot_begin(slot.index) * size;
}

void RankPlan::add(const Program& program, const Instruction& i) {
  Epoch& epoch = epochs_[i.step];
  for (int k = 0; k < i.does.count; ++k) {
    const std::int64_t elements = pieces_.length((i.does.piece + k) % program.chunks_per_block);
    if (is_local(i.does)) {
      LocalWork work{.elements = elements};
      for (const DataPlace& from : i.does.from) work.from.push_back(address(next_place(from, k).slot));
      for (const DataPlace& to : i.does.to) work.to.push_back(address(next_place(to, k).slot));
      if (applies(i.does)) work.index = pieces_.slot_begin(i.does.position + k);
      epoch.work.push_back(std::move(work));
      continue;
    }
    const DataPlace& place = i.does.sends ? i.does.from.front() : i.does.to.front();
    (i.does.sends ? epoch.sends : epoch.recvs)
        .push_back({.peer = i.peer,
                    .tag = i.message,
                    .data = address(next_place(place, k).slot),
                    .bytes = elements * static_cast<std::int64_t>(size_of(kept_type_)),
                    .step = i.step});
  }
}

void RankPlan::execute(ReduceOp op, Transport& transport) {
  const EpilogueFunction epilogue = epilogue_.function();
  const auto elements = [this](std::span<const std::byte> buffer) {
    return static_cast<std::int64_t>(buffer.size() / size_of(type_));
  };
  if (wide_) widen(type_, wide_->input.data(), buffers_.input.data(), elements(buffers_.input));
  for (Epoch& epoch : epochs_) {
    transport.exchange(epoch.sends, epoch.recvs);
    for (const LocalWork& work : epoch.work) {
      std::byte* const result = combine(kept_type_, op, work.from, work.to.front(), work.elements);
      if (work.index >= 0) finish(kept_type_, op, ranks_, epilogue, result, work.elements, work.index, rank_);
      for (std::size_t t = 1; t < work.to.size(); ++t)
        if (work.elements > 0) std::memcpy(work.to[t], result, work.elements * size_of(kept_type_));
    }
  }
  if (op == ReduceOp::Avg && reduces_ && !has_epilogue_)
    divide(kept_type_, (wide_ ? *wide_ : buffers_).output.data(), elements(buffers_.output), ranks_);
  if (wide_) narrow(type_, buffers_.output.data(), wide_->output.data(), elements(buffers_.output));
}

}  // namespace chorale
