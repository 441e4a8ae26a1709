// Inputs whose results are exact in any order, and the results: small integers, signs and twos for products.
// Inputs whose sums are rounded, and which outputs have the same bits then if all ranks add up in one order.
// Ranks that are to have the same data do.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithm.h"
#include "runtime/device/elements.h"

constexpr unsigned kRounding = 0;  // as a seed: floats of mixed magnitude

class Expected {
 public:
  explicit Expected(chorale::Combination op) : op_(op) {}

  template <typename T>
  T input(int rank, int slot, long element, unsigned seed) const {
    for (const auto& same : algorithm::kSame)
      if (same[0] == rank && same[1] == slot) return input<T>(same[2], same[3], element, seed);
    std::uint64_t x = 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(rank) * 100003 + slot + 1) +
                      element * 0xbf58476d1ce4e5b9u + seed * 0x94d049bb133111ebu;
    x ^= x >> 29;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    if constexpr (!std::is_integral_v<T>)
      if (seed == kRounding) {
        const double magnitude =
            std::ldexp(1 + static_cast<double>(x >> 12) * 0x1p-52, static_cast<int>(x % 8) - 4);
        const double value = x / 8 % 2 != 0 ? -magnitude : magnitude;
        if constexpr (sizeof(T) == 8)
          return T(value);
        else
          return T(static_cast<float>(value));
      }
    if (op_ == chorale::Combination::Prod) return T(x % 16 == 0 ? 2 : 1);
    return T(static_cast<float>(x % 8));  // sixteen of them are exact in every type
  }

  // What an output slot is to hold.
  class Promise {
   public:
    Promise(const Expected& expected, std::vector<std::pair<int, int>> sources)
        : expected_(expected), sources_(std::move(sources)) {}

    int position() const { return sources_.front().second; }  // in the inputs

    template <typename T>
    T at(long element, unsigned seed) const {
      T value{};
      for (std::size_t k = 0; k < sources_.size(); ++k) {
        const T one = expected_.input<T>(sources_[k].first, sources_[k].second, element, seed);
        value = k == 0 ? one : expected_.combine(value, one);
      }
      return value;
    }

   private:
    const Expected& expected_;
    std::vector<std::pair<int, int>> sources_;  // rank, input slot
  };

  template <typename Function>  // void(slot, Promise)
  void for_each_promise(int rank, Function function) const {
    std::vector<std::pair<int, int>> sources;
    int slot = -1;
    for (const auto& row : algorithm::kPromised) {
      if (row[0] != rank) continue;
      if (row[1] != slot && !sources.empty()) {
        function(slot, Promise(*this, sources));
        sources.clear();
      }
      slot = row[1];
      sources.push_back({row[2], row[3]});
    }
    if (!sources.empty()) function(slot, Promise(*this, sources));
  }

 private:
  template <typename T>
  T combine(T a, T b) const {
    switch (op_) {
      case chorale::Combination::Max:
        return chorale::combined<chorale::Combination::Max>(a, b);
      case chorale::Combination::Min:
        return chorale::combined<chorale::Combination::Min>(a, b);
      case chorale::Combination::Prod:
        return chorale::combined<chorale::Combination::Prod>(a, b);
      default:
        return chorale::combined<chorale::Combination::Sum>(a, b);
    }
  }

  const chorale::Combination op_;
};

// An output slot, and the first of all that is promised the same.
struct PromisedSlot {
  int rank, slot;
  std::size_t like;
};
inline std::vector<PromisedSlot> promised_slots() {
  std::vector<PromisedSlot> slots;
  std::map<std::vector<std::pair<int, int>>, std::size_t> first;  // by what is added up
  std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> sources;
  for (const auto& row : algorithm::kPromised) sources[{row[0], row[1]}].push_back({row[2], row[3]});
  for (const auto& [at, sum] : sources)
    slots.push_back({at.first, at.second, first.emplace(sum, slots.size()).first->second});
  return slots;
}

// How many differ from the one that they are like, of a number for each.
inline long disagreeing(const std::vector<std::uint64_t>& hashes) {
  const std::vector<PromisedSlot> slots = promised_slots();
  long differ = 0;
  for (std::size_t k = 0; k < slots.size(); ++k) differ += hashes[k] != hashes[slots[k].like];
  return differ;
}
