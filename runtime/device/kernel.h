// The work of a thread block for its part of a peer program: the kernel itself, for CUDA and, with a Team of
// CPU threads, for the tests. C++17; copied into emitted programs.
//
// Each block of the program is run by `slices` thread blocks. Chunks are cut into tiles of a fixed size, and
// slice s takes the tiles s, s + slices, ... of every chunk, and has counters of its own. So what one slice
// stores only the same slice reads, here and at the peers, in this launch and in later ones of other sizes,
// and slices never wait for each other: there is no barrier over the grid. All thread blocks of all ranks
// that wait for each other must be resident.
//
// Slices were parts of a segment at first. A shorter last segment then moved their borders in the mailboxes,
// and a slice overwrote data that another one had still to read; tiles of a fixed size have no such borders.
//
// One thread of the team synchronizes with other ranks: it waits and signals, and the Syncs of the program
// carry that over to the other threads, which store and load in between. A Sync before a Signal makes the
// stores of all threads precede its release; a Sync after a Wait makes the acquire precede their loads. So
// data are moved by plain stores and loads, and there are no more barriers than the program has, but for one
// at the beginning and one after each segment.
//
// What a switch does for a team (ir/peer_program.h) is asked of the memory, which has an address that stands
// for all ranks of the team, or is done here value by value: on CPU threads, with all ranks on one GPU, and
// where a GPU has no such switch. A stand-in adds in an order of its own at each rank, as a switch may, and
// 16-bit floats as float32, rounded once.
//
// A message of any size is done in segments, so that scratch stays small: as many launches
// (ir/peer_program.h) in a row. How many launches there were is kept in device memory, and counters only
// rise; so the kernel may be launched again without any preparation, also by a CUDA graph.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ir/peer_rows.h"
#include "ir/pieces.h"
#include "runtime/device/counters.h"
#include "runtime/device/elements.h"
#include "runtime/device/epilogue.h"

namespace chorale {

struct PeerTables {
  const PeerRow* rows = nullptr;
  const PeerPlaceRow* places = nullptr;
  const PeerBlockRow* blocks = nullptr;
  const PeerRankRow* ranks = nullptr;
  const PeerTeamRow* teams = nullptr;
  const int* members = nullptr;
  int all_ranks = 0;
  int pieces = 1;  // of a block of the collective
  bool double_scratch = false;
};

struct PeerShape {
  std::int64_t elements = 0;  // of a block of the collective
  // Of these, at a time; several segments only if each rank has one block. This and what follows may not
  // change from launch to launch: they determine the layout of scratch.
  std::int64_t segment = 1;
  std::int64_t tile = 4096;  // elements, a multiple of 16
  int slices = 1;
};

// Elements from one scratch slot to the next: a whole number of 16 bytes.
template <typename W>
CHORALE_DEVICE std::int64_t scratch_pitch(const PeerTables& tables, const PeerShape& shape) {
  constexpr std::int64_t unit = 16 / sizeof(W);
  return (Pieces{shape.segment, tables.pieces}.longest() + unit - 1) / unit * unit;
}

// Memory of the ranks as arrays of pointers by rank: ranks of one process, on one GPU or on the CPU. Kernels
// over real peers have a class of their own with the same functions (runtime/device/nccl_memory.h).
//
// T is the type of the user's data, W the type that is moved and added up: T itself, or float for 16-bit
// floats. Then `work` is a second output of W, and the program one that is right out of place; otherwise
// `work` is the output. Function is applied to complete sums by the moves that have a position.
template <typename T, typename W, typename Function = NoFunction>
struct SharedMemory {
  using User = T;
  using Work = W;
  using Epilogue = KernelEpilogue<Function>;
  T* const* inputs = nullptr;
  T* const* outputs = nullptr;
  W* const* works = nullptr;
  W* const* scratches = nullptr;
  std::uint64_t* const* all_counters = nullptr;  // by counter, then slice
  std::uint64_t* launches = nullptr;             // by block of the table, then slice
  Epilogue epilogue = {};

  CHORALE_DEVICE T* input(int rank) const { return inputs[rank]; }
  CHORALE_DEVICE T* output(int rank) const { return outputs[rank]; }
  CHORALE_DEVICE W* work(int rank) const { return works[rank]; }
  CHORALE_DEVICE W* scratch(int rank) const { return scratches[rank]; }

  CHORALE_DEVICE void raise(int rank, int counter, std::uint64_t value) const {
    store_release(all_counters[rank] + counter, value);
  }
  // Of the own counter; it is raised by rank `by`.
  CHORALE_DEVICE std::uint64_t value(int rank, int counter, int /*by*/) const {
    return load_acquire(all_counters[rank] + counter);
  }
  static constexpr bool kCarries = false;  // what is stored is there
  static constexpr bool kSwitch = false;   // no address stands for several ranks
};

// One launch, of all blocks that a device runs. Combine is Always or Given (runtime/device/elements.h).
template <typename Memory, typename Combine>
struct PeerLaunch {
  PeerTables tables;
  PeerShape shape;
  Memory memory;
  Patience patience;
  Combine combine;
  bool average;     // divide the outputs by the number of ranks
  int first_block;  // of the table: those of the ranks that this device runs
  int first_rank;   // likewise
};

template <typename Memory, typename Combine, typename Team>
class PeerKernel {
 public:
  using T = typename Memory::User;
  using W = typename Memory::Work;

  // Must not outlive the launch.
  CHORALE_DEVICE PeerKernel(const PeerLaunch<Memory, Combine>& launch, int block, int slice, Team& team)
      : tables_(launch.tables),
        shape_(launch.shape),
        memory_(launch.memory),
        patience_(launch.patience),
        combine_(launch.combine),
        average_(launch.average),
        block_(block),
        slice_(slice),
        team_(team) {}

  // All segments.
  CHORALE_DEVICE void run() {
    // Of this block and slice alone, so no other thread block reads or writes it. After a wait in vain it
    // stays as it was, while counters have risen: the memory is of no use any more.
    std::uint64_t* const launches = memory_.launches + block_ * shape_.slices + slice_;
    launch_ = *launches;
    team_.sync();
    std::int64_t begin = 0;
    do {
      begin_ = begin;
      length_ = shape_.elements - begin < shape_.segment ? shape_.elements - begin : shape_.segment;
      if (!launch()) return;
      ++launch_;
      begin += shape_.segment;
    } while (begin < shape_.elements);
    if (team_.thread() == 0) *launches = launch_;
  }

  // Averages and what was kept in W, once all blocks of the rank are done with it.
  CHORALE_DEVICE void finish(int rank) {
    if (!divides_last() && !kWidened) return;
    begin_ = 0, length_ = shape_.elements;
    for (int o = 0; o < tables_.ranks[rank].output_chunks; ++o) finish_slot(rank, o);
  }

  static constexpr bool kWidened = sizeof(T) != sizeof(W);

 private:
  static constexpr bool kMayApply = Memory::Epilogue::kMayApply;

  // Where a function follows the sums, averages are divided before it.
  CHORALE_DEVICE bool divides_last() const {
    if constexpr (kMayApply)
      if (memory_.epilogue.applies()) return false;
    return average_;
  }

  // One launch; false if a wait timed out.
  CHORALE_DEVICE bool launch() {
    const PeerBlockRow block = tables_.blocks[block_];
    // What thread 0 has found out reaches the others at the next Sync, where all leave together: a thread
    // that left alone would keep the rest at a barrier. The Sync at the end keeps the moves of the next
    // launch behind those of this one.
    bool good = true;  // of thread 0
    for (int r = 0; r < block.rows; ++r) {
      const PeerRow row = tables_.rows[block.row + r];
      switch (row.kind) {
        case 0:
          for_tiles(row, [&](int c, std::int64_t begin, std::int64_t end, auto applies) {
            move<decltype(applies)::value>(row, c, begin, end);
          });
          break;
        case 4:
          if constexpr (Memory::kSwitch) memory_.meet_aliases();
          for_tiles(row, [&](int c, std::int64_t begin, std::int64_t end, auto applies) {
            move_by_switch<decltype(applies)::value>(row, c, begin, end);
          });
          if constexpr (Memory::kSwitch) memory_.meet_aliases();
          break;
        case 1:
          if (team_.thread() == 0 && good) signal(row);
          break;
        case 2:
          if (team_.thread() == 0 && good && launch_ >= static_cast<std::uint64_t>(row.lag))
            good = wait_for(
                [&] { return memory_.value(block.rank, row.counter * shape_.slices + slice_, row.rank); },
                (launch_ - row.lag) * row.a_launch + row.value, patience_, block_, slice_, r);
          break;
        default:
          if (!team_.sync(good)) return false;
      }
    }
    if (!team_.sync(good)) return false;
    return true;
  }

  // Elements before a slot. Scratch has a pitch, so that a slot is aligned whatever piece it holds, and with
  // double scratch odd launches use the second copy.
  CHORALE_DEVICE std::int64_t place(const PeerPlaceRow& at, int further) const {
    const int index = at.index + further;
    if (at.buffer == 2) {
      const bool odd = tables_.double_scratch && (launch_ & 1) != 0;
      return (index + (odd ? tables_.ranks[at.rank].scratch_chunks : 0)) * scratch_pitch<W>(tables_, shape_);
    }
    return in_vector(index);
  }
  // The first element of a chunk of an input or output. A segment is cut into pieces as a whole block would
  // be: of a block of 10 in segments of 6 and 4, with two pieces, piece 1 is elements 3 to 5 and then 8 and
  // 9.
  CHORALE_DEVICE std::int64_t in_vector(int index) const {
    return index / tables_.pieces * shape_.elements + begin_ +
           Pieces{length_, tables_.pieces}.begin(index % tables_.pieces);
  }

  // The function of element e of chunk c.
  CHORALE_DEVICE W applied(const PeerRow& row, int c, std::int64_t e, W value) const {
    if (average_) value = averaged(value, tables_.all_ranks);
    const int rank = tables_.blocks[block_].rank;
    return memory_.epilogue(value, in_vector(row.position + c) + e, rank,
                            tables_.ranks[rank].slice / tables_.pieces * shape_.elements);
  }

  CHORALE_DEVICE W* stored(const PeerPlaceRow& at, int further) const {
    if constexpr (!kWidened)
      if (at.buffer == 0) return memory_.input(at.rank) + place(at, further);  // in place
    return (at.buffer == 2 ? memory_.scratch(at.rank) : memory_.work(at.rank)) + place(at, further);
  }

  // Where the user's input is of another type, it is widened as it is read.
  struct Source {
    const T* user = nullptr;
    const W* work = nullptr;
    CHORALE_DEVICE W operator[](std::int64_t e) const {
      if constexpr (kWidened) return user != nullptr ? static_cast<W>(user[e]) : work[e];
      return work[e];
    }
  };
  CHORALE_DEVICE Source source(const PeerPlaceRow& at, int further) const {
    if (at.buffer != 0) return {nullptr, stored(at, further)};
    const T* const user = memory_.input(at.rank) + place(at, further);
    if constexpr (kWidened)
      return {user, nullptr};
    else
      return {user, user};
  }

  // The tiles of this slice, chunk by chunk. Which slice has an element follows from its position in the
  // chunk alone, so a later reader of the chunk, here or at a peer, finds it stored by its own slice.
  template <typename Move>
  CHORALE_DEVICE void for_tiles(const PeerRow& row, Move move) {
    for (int c = 0; c < row.count; ++c) {
      const int piece = (row.piece + c) % tables_.pieces;
      const std::int64_t elements = Pieces{length_, tables_.pieces}.length(piece);
      for (std::int64_t begin = slice_ * shape_.tile; begin < elements;
           begin += shape_.slices * shape_.tile) {
        const std::int64_t end = begin + shape_.tile < elements ? begin + shape_.tile : elements;
        if constexpr (kMayApply)
          if (row.position >= 0 && memory_.epilogue.applies()) {
            move(c, begin, end, std::true_type());
            continue;
          }
        move(c, begin, end, std::false_type());
      }
    }
  }

  // The usual numbers of operands have loops of their own; so has what applies the function, since a test
  // inside would keep compilers from vectors: with it, the kernel on CPU threads took 96 to 102 ms for 16 MB
  // where it takes 24 to 33.
  template <bool applies>
  CHORALE_DEVICE void move(const PeerRow& row, int c, std::int64_t begin, std::int64_t end) {
    if constexpr (applies && Memory::Epilogue::kInterpreted)
      move<0, 0, applies>(row, c, begin, end);
    else if (row.from == 1 && row.to == 1)
      move<1, 1, applies>(row, c, begin, end);
    else if (row.from == 2 && row.to == 1)
      move<2, 1, applies>(row, c, begin, end);
    else if (row.from == 1 && row.to == 2)
      move<1, 2, applies>(row, c, begin, end);
    else if (row.from == 2 && row.to == 2)
      move<2, 2, applies>(row, c, begin, end);
    else
      move<0, 0, applies>(row, c, begin, end);
  }

  struct alignas(16) Wide {
    W element[16 / sizeof(W)];
  };
  CHORALE_DEVICE static bool is_aligned(const void* pointer) {
    return (reinterpret_cast<std::uintptr_t>(pointer) & 15) == 0;
  }

  // Values of a launch go on from those of the launch before: value v of launch l is l * a_launch + v, and
  // nothing is ever set back.
  CHORALE_DEVICE void signal(const PeerRow& row) {
    const int counter = row.counter * shape_.slices + slice_;
    const std::uint64_t value = launch_ * row.a_launch + row.value;
    if (row.rank < 0) return signal_to_team(tables_.teams[-1 - row.rank], counter, value);
    if constexpr (Memory::kCarries)
      if (memory_.is_far(row.rank)) return carry(row, counter);
    memory_.raise(row.rank, counter, value);
  }
  CHORALE_DEVICE void signal_to_team(const PeerTeamRow& team, int counter, std::uint64_t value) {
    if constexpr (Memory::kSwitch)
      memory_.add_one_to_all(counter);
    else
      for (int m = 0; m < team.count; ++m) memory_.raise(tables_.members[team.first + m], counter, value);
  }

  // What this slice has stored for the message, tile by tile; the counter goes up with the last one. Each
  // tile is put when the next one is known, so that the last can take the counter along. A slice without
  // tiles raises it nevertheless: the receiver waits for it.
  CHORALE_DEVICE void carry(const PeerRow& row, int counter) {
    std::int64_t due = 0, due_elements = 0;
    for (int c = 0; c < (row.to > 0 ? row.count : 0); ++c) {
      const int piece = (row.piece + c) % tables_.pieces;
      const std::int64_t start = place(tables_.places[row.places], c),
                         elements = Pieces{length_, tables_.pieces}.length(piece);
      for (std::int64_t begin = slice_ * shape_.tile; begin < elements;
           begin += shape_.slices * shape_.tile) {
        if (due_elements > 0) memory_.carry(row.rank, due, due_elements);
        due = start + begin;
        due_elements = elements - begin < shape_.tile ? elements - begin : shape_.tile;
      }
    }
    memory_.carry_and_raise(row.rank, due, due_elements, counter);
  }

  // One pass of F operands to N places, 0 of either: as many as the row has. All sources of 16 bytes are in
  // registers before any is stored, so a destination may be one of them, and those of several units are
  // loaded before the first is waited for (Team::kTogether). Tiles begin at multiples of 16 elements, so what
  // is aligned at its beginning is so in each tile.
  template <int F, int N, bool applies>
  CHORALE_DEVICE void move(const PeerRow& row, int c, std::int64_t begin, std::int64_t end) {
    const int sources = F > 0 ? F : row.from, targets = N > 0 ? N : row.to;
    Source known_from[F > 0 ? F : 1];
    W* known_to[N > 0 ? N : 1];
    for (int k = 0; k < F; ++k) known_from[k] = source(tables_.places[row.places + k], c);
    for (int k = 0; k < N; ++k) known_to[k] = stored(tables_.places[row.places + row.from + k], c);
    const auto from = [&](int k) {
      return F > 0 ? known_from[k] : source(tables_.places[row.places + k], c);
    };
    const auto to = [&](int k) {
      return N > 0 ? known_to[k] : stored(tables_.places[row.places + row.from + k], c);
    };
    bool aligned = true;
    for (int k = 0; k < sources; ++k)
      aligned = aligned && from(k).work != nullptr && is_aligned(from(k).work + begin);
    for (int k = 0; k < targets; ++k) aligned = aligned && is_aligned(to(k) + begin);
    constexpr std::int64_t unit = 16 / sizeof(W);
    if (aligned) {
      const std::int64_t whole = (end - begin) / unit;
      constexpr int kTogether = Team::kTogether;
      for (std::int64_t i = team_.thread(); i < whole; i += kTogether * team_.threads()) {
        Wide value[kTogether], other[kTogether];
        const auto each = [&](auto&& with) {
          for (int t = 0; t < kTogether; ++t)
            if (const std::int64_t at = i + t * team_.threads(); t == 0 || at < whole)
              with(t, begin + at * unit);
        };
        const auto load = [&](Wide(&to)[kTogether], const W* memory) {
          each([&](int t, std::int64_t at) { to[t] = *reinterpret_cast<const Wide*>(memory + at); });
        };
        load(value, from(0).work);
        for (int k = 1; k < sources; ++k) {
          load(other, from(k).work);
          each([&](int t, std::int64_t) { combine_(value[t].element, other[t].element); });
        }
        if constexpr (applies)
          each([&](int t, std::int64_t at) {
            for (int e = 0; e < unit; ++e) value[t].element[e] = applied(row, c, at + e, value[t].element[e]);
          });
        for (int k = 0; k < targets; ++k) {
          W* const memory = to(k);
          each([&](int t, std::int64_t at) { *reinterpret_cast<Wide*>(memory + at) = value[t]; });
        }
      }
      begin += whole * unit;
    }
    for (std::int64_t i = begin + team_.thread(); i < end; i += team_.threads()) {
      W value[] = {from(0)[i]};
      for (int k = 1; k < sources; ++k) {
        const W other[] = {from(k)[i]};
        combine_(value, other);
      }
      if constexpr (applies) value[0] = applied(row, c, i, value[0]);
      for (int k = 0; k < targets; ++k) to(k)[i] = value[0];
    }
  }

  // --- Teams. Units of 16 bytes: a chunk that ends inside of one is stored to its end by itself, and whole
  // to a team, in whose scratch a slot has room for whole ones. As many loads are in flight as in other
  // moves.
  template <bool applies>
  CHORALE_DEVICE void move_by_switch(const PeerRow& row, int c, std::int64_t begin, std::int64_t end) {
    constexpr int unit = 16 / sizeof(W), kTogether = Team::kTogether;
    const std::int64_t stride = static_cast<std::int64_t>(team_.threads()) * unit;
    for (std::int64_t i = begin + team_.thread() * unit; i < end; i += kTogether * stride) {
      Wide value[kTogether], other[kTogether];
      const auto each = [&](auto&& with) {
        for (int t = 0; t < kTogether; ++t)
          if (const std::int64_t at = i + t * stride; at < end)
            with(t, at, static_cast<int>(end - at < unit ? end - at : unit));
      };
      each([&](int t, std::int64_t at, int count) { load(value[t], row, c, 0, at, count); });
      for (int k = 1; k < row.from; ++k) {
        each([&](int t, std::int64_t at, int count) { load(other[t], row, c, k, at, count); });
        each([&](int t, std::int64_t, int) { combine_(value[t].element, other[t].element); });
      }
      if constexpr (applies)
        each([&](int t, std::int64_t at, int count) {
          for (int e = 0; e < count; ++e) value[t].element[e] = applied(row, c, at + e, value[t].element[e]);
        });
      for (int k = row.from; k < row.from + row.to; ++k)
        each([&](int t, std::int64_t at, int count) { store(value[t], row, c, k, at, count); });
    }
  }

  // The k-th place of the row. What is beyond `count` is no element, and is not looked at.
  CHORALE_DEVICE void load(Wide& value, const PeerRow& row, int c, int k, std::int64_t at, int count) const {
    const PeerPlaceRow from = tables_.places[row.places + k];
    if (from.rank >= 0) return load(value, from, c, at, count);
    const PeerTeamRow team = tables_.teams[-1 - from.rank];
    if constexpr (Memory::kSwitch) {
      memory_.template sum_of_all<Combine::kOp>(value, place(of_member(from, team, 0), c) + at);
    } else {
      using Sum = std::conditional_t<is_short<W>, float, W>;
      Sum sum[16 / sizeof(W)];
      const int own = tables_.blocks[block_].rank % team.count;
      for (int m = 0; m < team.count; ++m) {
        load(value, of_member(from, team, (own + m) % team.count), c, at, count);
        Sum term[16 / sizeof(W)];
        for (std::size_t e = 0; e < 16 / sizeof(W); ++e) term[e] = static_cast<Sum>(value.element[e]);
        if (m > 0)
          combine_(sum, term);
        else
          for (std::size_t e = 0; e < 16 / sizeof(W); ++e) sum[e] = term[e];
      }
      for (std::size_t e = 0; e < 16 / sizeof(W); ++e) value.element[e] = static_cast<W>(sum[e]);
    }
  }
  CHORALE_DEVICE void load(Wide& value, const PeerPlaceRow& from, int c, std::int64_t at, int count) const {
    const Source memory = source(from, c);
    for (std::size_t e = 0; e < 16 / sizeof(W); ++e)
      value.element[e] = static_cast<int>(e) < count ? memory[at + static_cast<std::int64_t>(e)] : W{};
  }

  CHORALE_DEVICE void store(const Wide& value, const PeerRow& row, int c, int k, std::int64_t at,
                            int count) const {
    const PeerPlaceRow to = tables_.places[row.places + k];
    if (to.rank >= 0) return store(value, to, c, at, count);
    const PeerTeamRow team = tables_.teams[-1 - to.rank];
    if constexpr (Memory::kSwitch)
      memory_.store_to_all(place(of_member(to, team, 0), c) + at, value);
    else
      for (int m = 0; m < team.count; ++m) store(value, of_member(to, team, m), c, at, count);
  }
  CHORALE_DEVICE void store(const Wide& value, const PeerPlaceRow& to, int c, std::int64_t at,
                            int count) const {
    W* const memory = stored(to, c) + at;
    if (count == static_cast<int>(16 / sizeof(W)) && is_aligned(memory))
      *reinterpret_cast<Wide*>(memory) = value;
    else
      for (int e = 0; e < count; ++e) memory[e] = value.element[e];
  }
  CHORALE_DEVICE PeerPlaceRow of_member(const PeerPlaceRow& at, const PeerTeamRow& team, int m) const {
    return {tables_.members[team.first + m], at.buffer, at.index};
  }

  // Slices share a slot as they like here: all of it is there, and no other rank accesses it.
  CHORALE_DEVICE void finish_slot(int rank, int o) {
    const PeerPlaceRow at = tables_.places[tables_.ranks[rank].outputs + o];
    const std::int64_t start = place(at, 0);
    const int piece = at.index % tables_.pieces;
    const std::int64_t elements = Pieces{length_, tables_.pieces}.length(piece);
    const std::int64_t begin = elements * slice_ / shape_.slices,
                       end = elements * (slice_ + 1) / shape_.slices;
    T* const user = (at.buffer == 0 ? memory_.input(rank) : memory_.output(rank)) + start;
    const W* const work = memory_.work(rank) + start;
    for (std::int64_t i = begin + team_.thread(); i < end; i += team_.threads()) {
      const W value = kWidened ? work[i] : static_cast<W>(user[i]);
      user[i] = static_cast<T>(divides_last() ? averaged(value, tables_.all_ranks) : value);
    }
  }

  const PeerTables& tables_;
  const PeerShape& shape_;
  const Memory& memory_;
  const Patience& patience_;
  const Combine combine_;
  const bool average_;
  const int block_, slice_;
  Team& team_;
  std::uint64_t launch_ = 0;
  std::int64_t begin_ = 0, length_ = 0;  // of the segment, in each block of the collective
};

}  // namespace chorale
