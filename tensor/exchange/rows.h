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
  std::int64_t outer = 1;
  Divisor side, inner;

  AlongSides() = default;
  AlongSides(const Share& share, int dim)
      : side(share.side(static_cast<std::size_t>(dim))),
        inner(product(share.own(), static_cast<std::size_t>(dim) + 1)) {
    for (int d = 0; d < dim; ++d) outer *= share.side(static_cast<std::size_t>(d));
  }
};

// In the order of TopK: NaNs first, and of equals the first one.
CHORALE_DEVICE inline bool is_larger(double a, std::int64_t at_a, double b, std::int64_t at_b) {
  if ((a != a) != (b != b)) return a != a;
  return a == b || a != a ? at_a < at_b : a > b;
}
// Element e of TakeAlong, of `count` numbers along the middle.
template <typename T>
CHORALE_DEVICE T taken_along(const T* from, const std::int32_t* numbers, const AlongSides& s,
                             const Divisor& count, std::int64_t e) {
  const std::int64_t k = numbers[e];
  return k >= 0 && k < s.side ? from[(e / s.inner / count * s.side + k) * s.inner + e % s.inner]
                              : rounded_to<T>(0.0f);
}

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
  // Each element with those before it along the middle, in double.
  template <Combination op, typename T>
  static void scan_along(T* to, const T* from, const AlongSides& s, std::int64_t) {
    for (std::int64_t o = 0; o < s.outer; ++o)
      for (std::int64_t i = 0; i < s.inner; ++i) {
        double total = identity<op>();
        for (std::int64_t k = 0; k < s.side; ++k) {
          const std::int64_t e = (o * s.side + k) * s.inner + i;
          to[e] = total_as<op, T>(total = combined<op>(total, real<double>(from[e])));
        }
      }
  }
  // The numbers of the `count` largest.
  template <typename A>
  static void top_k(std::int32_t* to, const A* from, const AlongSides& s, std::int64_t count) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(s.side));
    for (std::int64_t o = 0; o < s.outer; ++o)
      for (std::int64_t i = 0; i < s.inner; ++i) {
        for (std::int64_t k = 0; k < s.side; ++k)
          order[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(k);
        const auto at = [&](std::int32_t k) { return real<double>(from[(o * s.side + k) * s.inner + i]); };
        std::partial_sort(order.begin(), order.begin() + count, order.end(),
                          [&](std::int32_t a, std::int32_t b) { return is_larger(at(a), a, at(b), b); });
        for (std::int64_t k = 0; k < count; ++k)
          to[(o * count + k) * s.inner + i] = order[static_cast<std::size_t>(k)];
      }
  }
  template <typename T>
  static void take_along(T* to, const T* from, const std::int32_t* numbers, const AlongSides& s,
                         std::int64_t count) {
    for (std::int64_t e = 0; e < s.outer * count * s.inner; ++e)
      to[e] = taken_along(from, numbers, s, count, e);
  }
  template <typename... Loops>
  static void each_row(std::int64_t rows, std::int64_t length, Loops... loops) {
    for (std::int64_t row = 0; row < rows; ++row) (in_row(loops, row, length), ...);
  }
};

// A box of elements: how long it is, and how far it is from one to the next, where they come from and go to,
// by dimension.
struct ElementBox {
  static constexpr int kMost = 8;
  int dims = 0;
  std::int64_t elements = 1, from_first = 0, to_first = 0;
  Divisor sides[kMost] = {};
  std::int64_t from[kMost] = {}, to[kMost] = {};

  CHORALE_DEVICE std::int64_t from_at(std::int64_t e) const { return at(from, from_first, e); }
  CHORALE_DEVICE std::int64_t to_at(std::int64_t e) const { return at(to, to_first, e); }

 private:
  CHORALE_DEVICE std::int64_t at(const std::int64_t* steps, std::int64_t place, std::int64_t e) const {
    for (int d = dims; d-- > 0;) {
      place += e % sides[d] * steps[d];
      e = e / sides[d];
    }
    return place;
  }
};

inline Sides steps_of(const Sides& sides) {
  Sides steps(sides.size(), 1);
  for (std::size_t d = sides.size(); d-- > 1;) steps[d - 1] = steps[d] * sides[d];
  return steps;
}
inline ElementBox box_of(const Sides& sides, const Sides& from, const Sides& to) {
  ElementBox box;
  box.dims = static_cast<int>(sides.size());
  box.elements = product(sides);
  std::copy(sides.begin(), sides.end(), box.sides);
  std::copy(from.begin(), from.end(), box.from);
  std::copy(to.begin(), to.end(), box.to);
  return box;
}

// With two dimensions exchanged.
inline ElementBox transposed_box(const Share& to, const Share& from, std::size_t a, std::size_t b) {
  Sides steps = steps_of(from.own());
  std::swap(steps[a], steps[b]);
  return box_of(to.own(), steps, steps_of(to.own()));
}
// What begins there along a dimension, and is as long as the result.
inline ElementBox narrowed_box(const Share& to, const Share& from, std::size_t dim, std::int64_t begin) {
  ElementBox box = box_of(to.own(), steps_of(from.own()), steps_of(to.own()));
  box.from_first = begin * box.from[dim];
  return box;
}
// All of a tensor, to where it begins along a dimension of the result.
inline ElementBox placed_box(const Share& to, const Share& from, std::size_t dim, std::int64_t begin) {
  ElementBox box = box_of(from.own(), steps_of(from.own()), steps_of(to.own()));
  box.to_first = begin * box.to[dim];
  return box;
}

// Of a host.
struct HostBoxes {
  template <typename T>
  static void copy_box(T* to, const T* from, const ElementBox& box) {
    if (box.elements == 0) return;
    const int last = box.dims - 1;
    const std::int64_t run = box.dims == 0 ? 1 : std::int64_t{box.sides[last]};
    const std::int64_t step = box.dims == 0 ? 1 : box.from[last], to_step = box.dims == 0 ? 1 : box.to[last];
    for (std::int64_t e = 0; e < box.elements; e += run) {
      const T* const a = from + box.from_at(e);
      T* const b = to + box.to_at(e);
      if (step == 1 && to_step == 1)
        std::copy_n(a, run, b);
      else
        for (std::int64_t i = 0; i < run; ++i) b[i * to_step] = a[i * step];
    }
  }

  // Rows by their numbers, of a tensor that has so many; zeros for numbers that no row has.
  template <typename T>
  static void gather_rows(T* to, const T* from, const std::int32_t* numbers, std::int64_t count,
                          std::int64_t rows, std::int64_t length) {
    for (std::int64_t k = 0; k < count; ++k)
      if (numbers[k] >= 0 && numbers[k] < rows)
        std::copy_n(from + numbers[k] * length, length, to + k * length);
      else
        std::fill_n(to + k * length, length, rounded_to<T>(0.0f));
  }
  // Rows put where the numbers say, of equal ones the last; those of other numbers are left out.
  template <typename T>
  static void put_rows(T* to, const T* from, const std::int32_t* numbers, std::int64_t count,
                       std::int64_t rows, std::int64_t length) {
    for (std::int64_t k = 0; k < count; ++k)
      if (numbers[k] >= 0 && numbers[k] < rows)
        std::copy_n(from + k * length, length, to + numbers[k] * length);
  }
  // Rows added to those of their numbers, one after the other; those of other numbers are left out.
  template <typename T>
  static void scatter_rows(T* to, const T* from, const std::int32_t* numbers, std::int64_t count,
                           std::int64_t rows, std::int64_t length) {
    std::fill_n(to, rows * length, rounded_to<T>(0.0f));
    for (std::int64_t k = 0; k < count; ++k) {
      if (numbers[k] < 0 || numbers[k] >= rows) continue;
      T* const row = to + numbers[k] * length;
      for (std::int64_t i = 0; i < length; ++i)
        row[i] = combined<Combination::Sum>(row[i], from[k * length + i]);
    }
  }
};

}  // namespace chorale
