// The inputs of an emitted program that checks itself, and the values that it requires of outputs. The tables
// come from the collective's promise (ir/promise.h) and not from the program, so it cannot confirm what it
// does wrong. C++17, and is copied into emitted programs.
//
// Numbers are small integers, so that sums are exact in any order and in every type, or with the seed
// kRounding floats of mixed magnitude, whose sums have equal bits only if they are made in one order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ir/pieces.h"

namespace chorale {

struct PromisedOutput {
  int rank, slot;
  int sum;  // slots with one sum are promised the same
};
struct PromisedTerm {  // ascending by sum
  int sum;
  int rank, slot;  // of the input
};
struct SameInput {  // a slot that has the same data as another
  int rank, slot;
  int as_rank, as_slot;
};

constexpr unsigned kRounding = 0;

// Small integers; 1 and 2, for products; or those that no type of 8 bits rounds, and as few in all that
// groups with one scale round none of their sums.
enum class Numbers { Small, Products, Travel };

class SelfCheck {
 public:
  // Tables without a row have one of -1.
  template <std::size_t outputs, std::size_t terms, std::size_t same>
  SelfCheck(int ranks, const PromisedOutput (&promised)[outputs], const PromisedTerm (&summed)[terms],
            const SameInput (&alike)[same], Numbers numbers = Numbers::Small)
      : ranks_(ranks),
        numbers_(numbers),
        promised_(promised, promised + outputs),
        terms_(summed, summed + terms),
        same_(alike, alike + same) {
    for (std::size_t t = 0; t < terms; ++t)
      if (t == 0 || summed[t].sum != summed[t - 1].sum) first_.push_back(t);
    first_.push_back(terms);
  }

  // The numbers of an input slot.
  class Input {
   public:
    template <typename T>
    T at(std::int64_t element) const {
      std::uint64_t x = slot_ + static_cast<std::uint64_t>(element) * 0xbf58476d1ce4e5b9u;
      x ^= x >> 29;
      x *= 0xd6e8feb86659fd93u;
      x ^= x >> 32;
      if constexpr (!std::is_integral_v<T>)
        if (rounding_) {
          const double magnitude =
              std::ldexp(1 + static_cast<double>(x >> 12) * 0x1p-52, static_cast<int>(x % 8) - 4);
          return of<T>(x / 8 % 2 != 0 ? -magnitude : magnitude);
        }
      if (numbers_ == Numbers::Products) return of<T>(x % 16 == 0 ? 2 : 1);
      return of<T>(static_cast<double>(x % (sizeof(T) < 4 || numbers_ == Numbers::Travel ? few_ : 1000)));
    }

   private:
    friend class SelfCheck;
    template <typename T>
    static T of(double value) {
      if constexpr (sizeof(T) == 8)
        return static_cast<T>(value);
      else
        return static_cast<T>(static_cast<float>(value));
    }

    std::uint64_t slot_ = 0;
    bool rounding_ = false;
    Numbers numbers_ = Numbers::Small;
    std::uint64_t few_ = 2;
  };
  Input input(int rank, int slot, unsigned seed) const {
    for (const SameInput& same : same_)
      if (same.rank == rank && same.slot == slot) return input(same.as_rank, same.as_slot, seed);
    Input input;
    input.slot_ = 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(rank) * 100003 + slot + 1) +
                  seed * 0x94d049bb133111ebu;
    input.rounding_ = seed == kRounding;
    input.numbers_ = numbers_;
    // Sums of all ranks are at most 256 in types of few bits; in groups 127, of the first ranks if need be.
    input.few_ = static_cast<std::uint64_t>(numbers_ != Numbers::Travel ? std::max(2, 250 / ranks_)
                                            : rank < 127                ? std::clamp(127 / ranks_ + 1, 2, 8)
                                                                        : 1);
    return input;
  }
  // Of all slots, which lie one after the other.
  template <typename T>
  void fill(int rank, int slots, const Pieces& pieces, unsigned seed, T* buffer) const {
    for (int slot = 0; slot < slots; ++slot) {
      const Input numbers = input(rank, slot, seed);
      for (std::int64_t e = 0; e < pieces.slot_length(slot); ++e)
        buffer[pieces.slot_begin(slot) + e] = numbers.at<T>(e);
    }
  }

  // The output slots of all ranks that have a promise.
  const std::vector<PromisedOutput>& promised() const { return promised_; }

  // Elements of a slot that are wrong. combine(a, b) adds; right(have, sum, index) checks an element; `index`
  // is the element's in the inputs.
  template <typename T, typename Combine, typename Right>
  long wrong(const PromisedOutput& output, const Pieces& pieces, unsigned seed, const T* have,
             Combine combine, Right right) const {
    std::vector<Input> inputs;
    for (std::size_t t = first_[output.sum]; t < first_[output.sum + 1]; ++t)
      inputs.push_back(input(terms_[t].rank, terms_[t].slot, seed));
    const std::int64_t begin = pieces.slot_begin(terms_[first_[output.sum]].slot);
    long wrong = 0;
    for (std::int64_t e = 0; e < pieces.slot_length(output.slot); ++e) {
      T sum = inputs[0].at<T>(e);
      for (std::size_t k = 1; k < inputs.size(); ++k) sum = combine(sum, inputs[k].at<T>(e));
      wrong += !right(have[e], sum, begin + e);
    }
    return wrong;
  }
  // Of a rank's whole output.
  template <typename T, typename Combine, typename Right>
  long wrong(int rank, const Pieces& pieces, unsigned seed, const std::vector<T>& have, Combine combine,
             Right right) const {
    long all = 0;
    for (const PromisedOutput& output : promised_)
      if (output.rank == rank)
        all += wrong(output, pieces, seed, have.data() + pieces.slot_begin(output.slot), combine, right);
    return all;
  }

  // A hash of the bits of elements.
  template <typename T>
  static std::uint64_t hash(const T* elements, std::int64_t count) {
    std::uint64_t hash = 0;
    for (std::int64_t e = 0; e < count; ++e) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &elements[e], sizeof(T));
      hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
  // By promised(): of this rank's slots, and 0 for those of others, so that sums over ranks are those of all.
  template <typename T>
  std::vector<std::uint64_t> hashes(int rank, const Pieces& pieces, const std::vector<T>& have) const {
    std::vector<std::uint64_t> hashes(promised_.size());
    for (std::size_t k = 0; k < hashes.size(); ++k)
      if (promised_[k].rank == rank)
        hashes[k] =
            hash(have.data() + pieces.slot_begin(promised_[k].slot), pieces.slot_length(promised_[k].slot));
    return hashes;
  }
  // The number of slots whose bits differ from those of the first slot with the same promised sum.
  long disagreements(const std::vector<std::uint64_t>& hashes) const {
    std::vector<std::size_t> like(first_.size(), hashes.size());
    long differ = 0;
    for (std::size_t k = 0; k < hashes.size(); ++k) {
      if (promised_[k].sum < 0) continue;
      std::size_t& first = like[promised_[k].sum];
      if (first == hashes.size()) first = k;
      differ += hashes[k] != hashes[first];
    }
    return differ;
  }

 private:
  const int ranks_;
  const Numbers numbers_;
  const std::vector<PromisedOutput> promised_;
  const std::vector<PromisedTerm> terms_;
  const std::vector<SameInput> same_;
  std::vector<std::size_t> first_ = {};  // by sum, with one more at the end: its terms
};

}  // namespace chorale
