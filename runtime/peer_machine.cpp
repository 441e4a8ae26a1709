// Where a program is for one memory, its table has the buffer of each slot, so inputs go in and outputs come
// out slot by slot.
//
// Long messages are done in segments only where each rank has one block. A launch is to begin when all blocks
// of the rank have ended the last one (ir/peer_program.h), and between the segments of a kernel nothing makes
// the blocks of a rank wait for each other.
#include "runtime/peer_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/hang.h"
#include "runtime/test_data.h"

namespace chorale {

PeerMachine::PeerMachine(const PeerProgram& program, const BlockShape& shape, const PeerRunOptions& options)
    : program_(program),
      table_(table_of(program)),
      block_shape_(shape),
      options_(options),
      epilogue_(program, {shape.elements, program.chunks_per_block}) {
  // 0: the whole block at once.
  std::int64_t segment = options.segment_bytes / static_cast<std::int64_t>(size_of(shape.type));
  for (const PeerRank& rank : program.ranks)
    if (rank.blocks.size() > 1) segment = 0;
  shape_ = {
      .elements = shape.elements,
      .segment = std::max<std::int64_t>(1, segment > 0 ? std::min(segment, shape.elements) : shape.elements),
      .tile = options.tile,
      .slices = options.slices};
  tables_ = {.rows = table_.rows.data(),
             .places = table_.places.data(),
             .blocks = table_.blocks.data(),
             .ranks = table_.ranks.data(),
             .teams = table_.teams.data(),
             .members = table_.members.data(),
             .all_ranks = ranks(),
             .pieces = program.chunks_per_block,
             .double_scratch = program.double_scratch};
  for (Rank n = 0; n < ranks(); ++n) {
    const PeerRankRow& rank = table_.ranks[n];
    input_.emplace_back(begin(rank.input_chunks) * size());
    output_.emplace_back(begin(rank.output_chunks) * size());
  }
}

// Slot by slot, since in place a slot may lie in the other buffer.
void PeerMachine::write_input(Rank n, const std::vector<std::byte>& bytes) {
  for (int i = 0; i < table_.ranks[n].input_chunks; ++i)
    std::copy_n(bytes.begin() + begin(i) * size(), length(i) * size(), at(n, {Buffer::Input, i}));
}

// By slots, in the order of the collective, wherever they lie.
std::vector<std::byte> PeerMachine::read(Rank n, Buffer buffer, int chunks) {
  std::vector<std::byte> bytes(begin(chunks) * size());
  for (int i = 0; i < chunks; ++i)
    std::copy_n(at(n, {buffer, i}), length(i) * size(), bytes.begin() + begin(i) * size());
  return bytes;
}

void PeerMachine::spoil_output(Rank n) {
  TestData::spoil_output(output_[n]);
}

// The table numbers the blocks of all ranks in one row; in words they are numbered in each rank.
void PeerMachine::require_no_trouble(const Trouble& trouble, std::chrono::milliseconds timeout) const {
  if (trouble.state == 0) return;
  const PeerBlockRow& block = table_.blocks[trouble.block];
  int first = trouble.block;
  while (first > 0 && table_.blocks[first - 1].rank == block.rank) --first;
  const PeerInstruction& i =
      program_.ranks[block.rank].blocks[trouble.block - first].instructions[trouble.row];
  throw Hang(fmt::format("rank {}, block {}, instruction {} ({}): rank {} did not raise it within {:.3g} s",
                         block.rank, trouble.block - first, trouble.row, to_string(i),
                         table_.rows[block.row + trouble.row].rank,
                         std::chrono::duration<double>(timeout).count()));
}

// Of a program in place the table may name the other buffer: places come from it, not from the slot.
std::byte* PeerMachine::at(Rank n, const Slot& slot) {
  const PeerRankRow& rank = table_.ranks[n];
  const PeerPlaceRow& place =
      table_.places[(slot.buffer == Buffer::Input ? rank.inputs : rank.outputs) + slot.index];
  return (place.buffer == 0 ? input_ : output_)[n].data() + begin(place.index) * size();
}

bool adds_up(const PeerProgram& program) {
  bool by_switch = false;
  for_each_instruction(program, [&](Rank, int, int, const PeerInstruction& i) {
    by_switch =
        by_switch || std::ranges::any_of(i.does.from, [](const DataPlace& from) { return from.team >= 0; });
  });
  return by_switch || reduces(program);
}

void check(const PeerProgram& program, const PeerRunOptions& options, Accumulation accumulation) {
  if (options.slices < 1 || options.slices > 1024)
    throw InputError("run", fmt::format("{} slices", options.slices), "use 1 to 1024");
  if (options.tile < 16 || options.tile % 16 != 0)
    throw InputError("run", fmt::format("tiles of {} elements", options.tile), "use a multiple of 16");
  if (options.threads < 1 || options.threads > 1024)
    throw InputError("run", fmt::format("{} threads", options.threads), "use 1 to 1024");
  if (accumulation == Accumulation::Float32 && program.in_place)
    throw InputError(program.name,
                     "input and output are in one memory, where float32 sums of 16-bit floats have no room",
                     "leave out --accumulate");
}

}  // namespace chorale
