// What a rank's input and output hold before a run, and how much of the output is wrong after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "algorithm.h"
#include "expected.h"
#include "runtime/device/kernel.h"

// The first element of a slot; a block of the collective has so many elements.
inline long begin(long elements, int slot) {
  return slot / algorithm::kPieces * elements +
         static_cast<long>(chorale::piece_start(elements, algorithm::kPieces, slot % algorithm::kPieces));
}

// Of the largest buffer of any rank.
inline long most_elements(long elements) {
  long most = 0;
  for (const chorale::PeerRankRow& rank : algorithm::kRankRows)
    most = std::max({most, begin(elements, rank.input_chunks), begin(elements, rank.output_chunks)});
  return most;
}

// A rank's slice of the vector begins at this element; and a tensor of the function as the rank has it.
inline long slice_begin(int rank, long elements) {
  return begin(elements, algorithm::kRankRows[rank].slice);
}
inline std::vector<char> tensor(int operand, int rank, long elements) {
  long whole = 0;
  for (const chorale::PeerRankRow& each : algorithm::kRankRows)
    whole = std::max(whole, begin(elements, each.input_chunks));
  return algorithm::Function::test_tensor(operand, whole, slice_begin(rank, elements),
                                          begin(elements, algorithm::kRankRows[rank].output_chunks));
}

template <typename T>
class RankValues {
 public:
  // Everything spoilt.
  RankValues(int rank, long elements)
      : rank_(rank),
        elements_(elements),
        values_{std::vector<T>(begin(elements, row().input_chunks), T(99)),
                std::vector<T>(begin(elements, row().output_chunks), T(99))} {}

  std::vector<T>& input() { return values_[0]; }
  std::vector<T>& output() { return values_[1]; }

  void put_inputs(const Expected& expected, unsigned seed) {
    for (int slot = 0; slot < row().input_chunks; ++slot) {
      const chorale::PeerPlaceRow& at = algorithm::kPlaces[row().inputs + slot];
      for (long e = begin(elements_, at.index); e < begin(elements_, at.index + 1); ++e)
        values_[at.buffer][e] = expected.input<T>(rank_, slot, e - begin(elements_, at.index), seed);
    }
  }

  long wrong(const Expected& expected, unsigned seed) const {
    long wrong = 0;
    expected.for_each_promise(rank_, [&](int slot, const auto& value) {
      const chorale::PeerPlaceRow& at = algorithm::kPlaces[row().outputs + slot];
      const long first = begin(elements_, value.position());
      for (long e = 0; e < begin(elements_, at.index + 1) - begin(elements_, at.index); ++e) {
        const T want = chorale::applied(algorithm::Function(), value.template at<T>(e, seed), first + e,
                                        chorale::TestTensors());
        wrong += !chorale::agree(values_[at.buffer][begin(elements_, at.index) + e], want,
                                 algorithm::Function::kExact);
      }
    });
    return wrong;
  }

  // What the bits of this rank's slots of promised_slots() make.
  void add_hashes(std::vector<std::uint64_t>& hashes) const {
    const std::vector<PromisedSlot> slots = promised_slots();
    hashes.resize(slots.size(), 0);
    for (std::size_t k = 0; k < slots.size(); ++k) {
      if (slots[k].rank != rank_) continue;
      const chorale::PeerPlaceRow& at = algorithm::kPlaces[row().outputs + slots[k].slot];
      for (long e = begin(elements_, at.index); e < begin(elements_, at.index + 1); ++e) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &values_[at.buffer][e], sizeof(T));
        hashes[k] = (hashes[k] ^ bits) * 0x9e3779b97f4a7c15u;
        hashes[k] ^= hashes[k] >> 29;
      }
    }
  }

 private:
  const chorale::PeerRankRow& row() const { return algorithm::kRankRows[rank_]; }

  const int rank_;
  const long elements_;
  std::vector<T> values_[2];  // as places number them: in place both kinds of slots may lie in one
};
