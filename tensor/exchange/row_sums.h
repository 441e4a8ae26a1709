// A kernel that goes row by row over a sum: each row as soon as it is complete, from a buffer that a cache
// keeps, so that the sum is neither stored nor read. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "tensor/exchange/exchange.h"
#include "tensor/exchange/rows.h"

namespace chorale {

// For Exchange::run: complete sums come in pieces of any lengths, in any order, each once. Rows that several
// of them make wait in buffers of their own.
template <typename Sum, typename... Loops>
class RowsOfSums {
 public:
  using T = typename Sum::Element;

  RowsOfSums(std::int64_t length, const Loops&... loops) : length_(length), loops_(loops...) {}

  // `index` is that of the first one.
  void operator()(std::int64_t index, std::int64_t count, const T* a, const T* b) {
    while (count > 0) {
      const std::int64_t row = index / length_, at = index % length_, n = std::min(count, length_ - at);
      if (n == length_ && b == nullptr)
        finish(row, a);
      else
        put(row, at, n, a, b);
      index += n, count -= n, a += n;
      if (b != nullptr) b += n;
    }
  }

 private:
  struct Begun {
    std::int64_t row = -1, filled = 0;  // -1: of none
    std::vector<T> sums = {};
  };

  void put(std::int64_t row, std::int64_t at, std::int64_t count, const T* a, const T* b) {
    Begun& begun = begun_at(row);
    T* const to = begun.sums.data() + at;
    if (b != nullptr)
      combine<Sum::kCombination>(to, a, b, count);
    else
      std::copy_n(a, count, to);
    begun.filled += count;
    if (begun.filled < length_) return;
    finish(row, begun.sums.data());
    begun.row = -1, begun.filled = 0;
  }
  Begun& begun_at(std::int64_t row) {
    for (const std::int64_t wanted : {row, std::int64_t{-1}})
      for (Begun& begun : begun_)
        if (begun.row == wanted) {
          begun.row = row;
          return begun;
        }
    begun_.push_back({row, 0, std::vector<T>(static_cast<std::size_t>(length_))});
    return begun_.back();
  }
  void finish(std::int64_t row, const T* sums) {
    std::apply(
        [&](Loops&... loops) {
          (loops.take(sums, row * length_), ...);
          (in_row(loops, row, length_), ...);
        },
        loops_);
  }

  const std::int64_t length_;
  std::tuple<Loops...> loops_;
  std::vector<Begun> begun_ = {};
};

}  // namespace chorale
