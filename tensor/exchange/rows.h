// Reductions along a dimension of tensors, and kernels that go row by row: loops over the elements of a row,
// which a cache keeps meanwhile, and over the values that a row has of its own. C++17, and is copied into
// emitted programs.
//
// Sums are made in double, and rounded once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensor/exchange/parts.h"

namespace chorale {

// A tensor as `outer` times `side` times `inner` elements, reduced along the middle.
struct AlongSides {
  std::int64_t outer = 1, side = 1, inner = 1;

  AlongSides() = default;
  AlongSides(const Share& share, int dim) {
    const Sides& own = share.own();
    for (std::size_t d = 0; d < own.size(); ++d)
      (d < static_cast<std::size_t>(dim)    ? outer
       : d == static_cast<std::size_t>(dim) ? side
                                            : inner) *= own[d];
  }
};

template <Combination op, typename A>
double folded_row(const A* row, std::int64_t count) {
  double values[kFolded], total = identity<op>();
  for (std::int64_t begin = 0; begin < count; begin += kFolded) {
    const std::int64_t n = std::min(kFolded, count - begin);
    for (std::int64_t i = 0; i < n; ++i) values[i] = real<double>(row[begin + i]);
    total = folded<op>(values, n, total);
  }
  return total;
}

// One of the loops of a kernel, for one row.
template <typename Loop>
void in_row(Loop& loop, std::int64_t row, std::int64_t length) {
  if constexpr (Loop::kValueOfRow) {
    loop(row, 1);
  } else {
    double totals[Loop::kTotals + 1];
    loop.begin_row(totals);
    loop(row * length, length);
    loop.end_row(row);
  }
}

// Reductions along a dimension, and the loops of a kernel row by row, of a host.
struct HostRows {
  template <Combination op, typename T, typename A>
  static void reduce_along(T* to, const A* from, const AlongSides& s) {
    if (s.inner == 1) {
      for (std::int64_t o = 0; o < s.outer; ++o)
        to[o] = total_as<op, T>(folded_row<op>(from + o * s.side, s.side));
      return;
    }
    std::vector<double> totals(static_cast<std::size_t>(s.inner));
    for (std::int64_t o = 0; o < s.outer; ++o) {
      std::fill(totals.begin(), totals.end(), identity<op>());
      for (std::int64_t k = 0; k < s.side; ++k) {
        const A* const row = from + (o * s.side + k) * s.inner;
        for (std::int64_t i = 0; i < s.inner; ++i)
          totals[static_cast<std::size_t>(i)] =
              combined<op>(totals[static_cast<std::size_t>(i)], real<double>(row[i]));
      }
      for (std::int64_t i = 0; i < s.inner; ++i)
        to[o * s.inner + i] = total_as<op, T>(totals[static_cast<std::size_t>(i)]);
    }
  }
  template <typename... Loops>
  static void each_row(std::int64_t rows, std::int64_t length, Loops... loops) {
    for (std::int64_t row = 0; row < rows; ++row) (in_row(loops, row, length), ...);
  }
};

}  // namespace chorale
