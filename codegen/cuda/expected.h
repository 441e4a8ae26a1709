// Inputs whose results are exact in any order, and the results: small integers, signs and twos for products.
// Ranks that are to have the same data do.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithm.h"
#include "device/elements.h"

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
