// The table of kinds, and what follows from a row. What differs between kinds is a column: the root, sums,
// blocks, the place of the input. A kind that is added is a row.
#include "ir/collective_kind.h"

#include <algorithm>
#include <array>

#include "ir/error.h"
#include "ir/words.h"

namespace chorale {
namespace {

// Columns: kind, name, name with counts, what a block is, holders before, receivers after, dual (by default
// Custom: it has no name), result (by default the kind itself). In the order of the enumeration, which the
// assertion below checks.
constexpr auto table() {
  using enum CollectiveKind;
  using enum Participants;
  constexpr std::string_view vector = "the whole vector", to_one = "what one rank sends to one other";
  return std::to_array<CollectiveRow>({
      {Broadcast, "broadcast", "", vector, Root, All, Reduce},
      {Scatter, "scatter", "scatterv", to_one, Root, Each},
      {Gather, "gather", "gatherv", to_one, Each, Root},
      {Allgather, "allgather", "allgatherv", "what a rank contributes", Each, All, ReduceScatter},
      {Alltoall, "alltoall", "alltoallv", to_one, Each, Each},
      {Reduce, "reduce", "", vector, All, Root, Broadcast},
      {ReduceScatter, "reducescatter", "reducescatterv", "what a rank receives", All, Each, Allgather},
      {AllReduce, "allreduce", "", vector, All, All},
      {AllReduceByGather, "allreduce_by_gather", "", vector, Each, All, Custom, AllReduce},
      {AllReduceInPhases, "allreduce_in_phases", "", vector, Each, All, Custom, AllReduce},
      {Custom, "custom", "", "a chunk of the collective"},
  });
}
constexpr auto kRows = table();

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].kind != static_cast<CollectiveKind>(i)) return false;
  return true;
}
static_assert(in_order());

// The vectors that are gathered for an AllReduce are added up in the one block of an AllReduce.
const CollectiveRow& buffers_of(CollectiveKind kind) {
  return row_of(row_of(kind).result);
}

// Names of NCCL, MPI and PyTorch, in any case, with '-' or '_': "MPI_Reduce_scatter_block" and
// "reduce_scatter_tensor" as "reducescatter".
std::string as_rows_have_it(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '-' && c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string_view library : {"mpi", "nccl", "rccl"})
    if (plain.starts_with(library)) plain.erase(0, library.size());
  // PyTorch's names of what works on one tensor, and MPI's of equal blocks. "intotensor" comes before its own
  // ending "tensor".
  for (const std::string_view form : {"intotensor", "tensor", "single", "block"})
    if (plain.ends_with(form)) plain.resize(plain.size() - form.size());
  return plain == "bcast" ? "broadcast" : plain;
}

}  // namespace

const CollectiveRow& row_of(CollectiveKind kind) {
  return kRows[static_cast<std::size_t>(kind)];
}

std::string name_of(CollectiveKind kind) {
  return std::string(row_of(kind).name);
}

std::optional<CollectiveKind> kind_named(std::string_view name) {
  const auto row = std::ranges::find_if(kRows, [&](const CollectiveRow& row) {
    return row.kind != CollectiveKind::Custom && row.name == name;
  });
  return row == kRows.end() ? std::nullopt : std::optional(row->kind);
}

std::optional<CollectiveKind> kind_spelled(const std::string& name) {
  const std::optional<CollectiveKind> kind = kind_named(name);
  return kind ? kind : kind_named(as_rows_have_it(name));
}

CollectiveKind known_kind(const std::string& name) {
  if (const std::optional<CollectiveKind> kind = kind_spelled(name)) return *kind;
  throw InputError("collective", "unknown name '" + name.substr(0, 60) + "'",
                   did_you_mean(name, collective_names(),
                                "use one of " + joined(collective_names()) + ", or a JSON file"));
}

// What implements an AllReduce has a row with another result, so it is not offered.
bool is_offered(CollectiveKind kind) {
  return kind != CollectiveKind::Custom && row_of(kind).result == kind;
}

const std::vector<std::string>& usual_collectives() {
  static const std::vector<std::string> names = {"allreduce", "allgather", "reducescatter", "alltoall",
                                                 "broadcast"};
  return names;
}

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const CollectiveRow& row : kRows)
      if (is_offered(row.kind)) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

std::optional<CollectiveKind> kind_with_counts(std::string_view name) {
  const std::string plain = as_rows_have_it(name);  // of "mpi" nothing is left
  const auto row = std::ranges::find(kRows, plain, &CollectiveRow::counted);
  return row == kRows.end() || plain.empty() ? std::nullopt : std::optional(row->kind);
}

const std::vector<std::string>& counted_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const CollectiveRow& row : kRows)
      if (!row.counted.empty()) all.emplace_back(row.counted);
    return all;
  }();
  return names;
}

bool is_rooted(CollectiveKind kind) {
  return row_of(kind).before == Participants::Root || row_of(kind).after == Participants::Root;
}

bool is_combining(CollectiveKind kind) {
  return row_of(kind).before == Participants::All;
}

// The input has a block for each receiver if each needs one of its own, and the output one for each holder.
int input_blocks(CollectiveKind kind, int ranks) {
  return buffers_of(kind).after == Participants::Each ? ranks : 1;
}

int output_blocks(CollectiveKind kind, int ranks) {
  return buffers_of(kind).before == Participants::Each ? ranks : 1;
}

int blocks_of(CollectiveKind kind, int ranks) {
  return std::max(input_blocks(kind, ranks), output_blocks(kind, ranks));
}

// Of two ranks, so that the difference is 1, 0 or -1: it shows which of the buffers has a block for each
// rank.
int in_place_shift(CollectiveKind kind) {
  return output_blocks(kind, 2) - input_blocks(kind, 2);
}

// Slots of the smaller buffer are renamed as slots of the larger one, or as the output's where both have one
// size. Example: Allgather (shift 1) of 2 chunks per block: rank 3's input[1] is output[7].
Slot in_place_slot(CollectiveKind kind, int chunks_per_block, Rank rank, const Slot& slot) {
  const int shift = in_place_shift(kind);
  if (slot.buffer == Buffer::Input && shift >= 0)
    return {Buffer::Output, shift * rank * chunks_per_block + slot.index};
  if (slot.buffer == Buffer::Output && shift < 0)
    return {Buffer::Input, -shift * rank * chunks_per_block + slot.index};
  return slot;
}

Slot in_place_slot(CollectiveKind kind, int chunks_per_block, Rank rank, const Slot& slot, int input_chunks,
                   int output_chunks) {
  const Slot place = in_place_slot(kind, chunks_per_block, rank, slot);
  const int chunks = place.buffer == Buffer::Input ? input_chunks : output_chunks;
  // A slot that the other buffer does not have is shared with nothing.
  return place.buffer == Buffer::Scratch || place.index < chunks ? place : slot;
}

}  // namespace chorale
