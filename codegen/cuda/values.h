// What a rank's input and output hold before a run, and how much of the output is wrong after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithm.h"
#include "runtime/device/kernel.h"
#include "runtime/device/self_check.h"

// The values of inputs, and those required of outputs.
template <chorale::Combination op>
class Expected : public chorale::SelfCheck {
 public:
  Expected()
      : SelfCheck(algorithm::kRanks, algorithm::kPromised, algorithm::kTerms, algorithm::kSame,
                  op == chorale::Combination::Prod ? chorale::Numbers::Products : chorale::Numbers::Small) {}

  template <typename T>
  long wrong(const chorale::PromisedOutput& output, const chorale::Pieces& pieces, unsigned seed,
             const T* have) const {
    return SelfCheck::wrong(
        output, pieces, seed, have, chorale::combined<op, T>, [](T element, T sum, long e) {
          const T want = chorale::applied(algorithm::Function(), sum, e, chorale::TestTensors());
          return chorale::agree(element, want, algorithm::Function::kExact);
        });
  }
};

// The first element of a slot; a block of the collective has `elements` elements.
inline long begin(long elements, int slot) {
  return chorale::Pieces{elements, algorithm::kPieces}.slot_begin(slot);
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
  // Overwrites everything.
  RankValues(int rank, long elements)
      : rank_(rank),
        elements_(elements),
        values_{std::vector<T>(begin(elements, row().input_chunks), T(99)),
                std::vector<T>(begin(elements, row().output_chunks), T(99))} {}

  std::vector<T>& input() { return values_[0]; }
  std::vector<T>& output() { return values_[1]; }

  void put_inputs(const chorale::SelfCheck& expected, unsigned seed) {
    for (int slot = 0; slot < row().input_chunks; ++slot) {
      const chorale::PeerPlaceRow& at = algorithm::kPlaces[row().inputs + slot];
      const chorale::SelfCheck::Input numbers = expected.input(rank_, slot, seed);
      for (long e = begin(elements_, at.index); e < begin(elements_, at.index + 1); ++e)
        values_[at.buffer][e] = numbers.at<T>(e - begin(elements_, at.index));
    }
  }

  template <typename Checked>
  long wrong(const Checked& expected, unsigned seed) const {
    long wrong = 0;
    for (const chorale::PromisedOutput& output : expected.promised())
      if (output.rank == rank_) wrong += expected.wrong(output, pieces(), seed, slot(output.slot));
    return wrong;
  }

  // Hashes of the bits of this rank's promised slots.
  void add_hashes(const chorale::SelfCheck& expected, std::vector<std::uint64_t>& hashes) const {
    const auto& promised = expected.promised();
    hashes.resize(promised.size(), 0);
    for (std::size_t k = 0; k < promised.size(); ++k)
      if (promised[k].rank == rank_)
        hashes[k] = chorale::SelfCheck::hash(slot(promised[k].slot), pieces().slot_length(promised[k].slot));
  }

 private:
  const chorale::PeerRankRow& row() const { return algorithm::kRankRows[rank_]; }
  chorale::Pieces pieces() const { return {elements_, algorithm::kPieces}; }
  const T* slot(int output) const {
    const chorale::PeerPlaceRow& at = algorithm::kPlaces[row().outputs + output];
    return values_[at.buffer].data() + begin(elements_, at.index);
  }

  const int rank_;
  const long elements_;
  std::vector<T> values_[2];  // [buffer of a slot]: in place both kinds of slots may lie in one
};
