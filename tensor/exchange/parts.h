// The elements of a tensor that a rank has, and their indices: for programs emitted for workloads
// (lowering/workload_source.h). Dimensions are known at run time. C++17, and is copied into emitted
// programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "ir/pieces.h"
#include "runtime/device/epilogue.h"

// A loop keeps the aliasing promises of its pointers only as a function of its own, and is vectorized only
// with all its calls inlined: a sum of two 16-bit floats by a call was done one element at a time.
#define CHORALE_LOOP __attribute__((noinline, flatten))
#define CHORALE_ELEMENT CHORALE_DEVICE inline __attribute__((always_inline))

namespace chorale {

// For sums that no function, or loop, consumes.
struct NoSumFunction {
  static constexpr int kTotals = 0;
  void operator()(std::int64_t, std::int64_t, const void*, const void*) const {}
};

using Sides = std::vector<std::int64_t>;

inline std::int64_t product(const Sides& sides, std::size_t from = 0) {
  std::int64_t count = 1;
  for (std::size_t d = from; d < sides.size(); ++d) count *= sides[d];
  return count;
}

// What indices below 2^48, as there are in a tensor, are divided by: by a multiplication, since a division of
// 64-bit numbers is a call on GPUs. With m = floor((2^64 - 1) / by), i * m / 2^64 is at most i / by, and less
// by no more than i / 2^64: its floor is the quotient, or one less.
class Divisor {
 public:
  CHORALE_DEVICE Divisor(std::int64_t by = 1)
      : by_(by), inverse_(~std::uint64_t{0} / static_cast<std::uint64_t>(by > 0 ? by : 1)) {}
  CHORALE_DEVICE operator std::int64_t() const { return by_; }

  CHORALE_DEVICE friend std::int64_t operator/(std::int64_t i, const Divisor& d) {
    const std::int64_t quotient = high(static_cast<std::uint64_t>(i), d.inverse_);
    return quotient + (i - quotient * d.by_ >= d.by_ ? 1 : 0);
  }
  CHORALE_DEVICE friend std::int64_t operator%(std::int64_t i, const Divisor& d) { return i - i / d * d.by_; }

 private:
  CHORALE_DEVICE static std::int64_t high(std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH__
    return static_cast<std::int64_t>(__umul64hi(a, b));
#else
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(Wide{a} * b >> 64));
#endif
  }

  std::int64_t by_;
  std::uint64_t inverse_;
};

// The indices, in the whole tensor, of a rank's elements, for device code too: runs at equal distances.
struct Indices {
  std::int64_t first = 0, elements = 0;
  Divisor run = 0;         // elements of a run; 0: all is one
  std::int64_t pitch = 0;  // from the first index of one to that of the next

  CHORALE_DEVICE std::int64_t index(std::int64_t i) const {
    return run == 0 ? first + i : i / run * pitch + first + i % run;
  }
};

// The elements of a box of a tensor, in row-major order. Whole tensors are such, and slices along a
// dimension. Slices of the flat tensor are boxes of one dimension.
class Share {
 public:
  Share() = default;
  // Everything, or nothing.
  Share(Sides whole, bool here)
      : whole_(std::move(whole)), own_(whole_), elements_(here ? product(own_) : 0) {}
  // Part `rank` of `ranks` along dimension `dim`, -1: flat.
  Share(Sides whole, int dim, int ranks, int rank) {
    if (dim < 0) whole = {product(whole)}, dim = 0;
    whole_ = own_ = std::move(whole);
    along_ = static_cast<std::size_t>(dim);
    begin_ = part_begin(whole_[along_], ranks, rank);
    own_[along_] = part_begin(whole_[along_], ranks, rank + 1) - begin_;
    elements_ = product(own_);
  }

  std::int64_t elements() const { return elements_; }
  const Sides& whole() const { return whole_; }
  const Sides& own() const { return own_; }
  std::int64_t side(std::size_t dim) const { return own_[dim]; }
  // The index in the whole tensor of the first one; the others follow it if this is a slice along the first
  // dimension.
  std::int64_t first() const { return begin_ * inner(); }
  // Of any one.
  std::int64_t index(std::int64_t i) const {
    if (along_ == 0) return first() + i;
    const std::int64_t run = own_[along_] * inner();
    return run == 0 ? 0 : i / run * whole_[along_] * inner() + first() + i % run;
  }
  Indices indices() const {
    if (along_ == 0) return {first(), elements_, 0, 0};
    return {first(), elements_, own_[along_] * inner(), whole_[along_] * inner()};
  }
  // The length of a contiguous run: that many elements, from one whose index within the share is a multiple
  // of the length, are contiguous in the whole tensor.
  std::int64_t run() const { return along_ == 0 ? elements_ : own_[along_] * inner(); }

 private:
  std::int64_t inner() const { return product(whole_, along_ + 1); }

  Sides whole_ = {}, own_ = {};
  std::size_t along_ = 0;
  std::int64_t begin_ = 0, elements_ = 0;
};

// As a matrix, with rows along the last dimension.
inline std::int64_t rows_of(const Share& share) {
  return share.elements() == 0 ? 0 : share.elements() / share.own().back();
}

// The beginnings of the blocks that all elements are cut into, and the end of the last.
using Blocks = std::vector<std::int64_t>;

// Slice by slice: for slices along the first dimension, and flat ones, in the order that elements have
// anyway.
inline Blocks blocks_of(const Sides& whole, int dim, int ranks) {
  Blocks blocks = {0};
  for (int r = 0; r < ranks; ++r) blocks.push_back(blocks.back() + Share(whole, dim, ranks, r).elements());
  return blocks;
}
// As many, of one length.
inline Blocks even_blocks(const Sides& whole, int ranks) {
  Blocks blocks = {0};
  for (int r = 0; r < ranks; ++r) blocks.push_back(blocks.back() + product(whole) / ranks);
  return blocks;
}

// Where the elements of a tensor that is broadcast lie, by the indices of the tensor that it is broadcast to:
// that tensor's dimensions, and the stride of each in the broadcast tensor (0: none of its own).
template <int dims>
class Walk {
 public:
  Walk() = default;
  // The last dimensions of `to` are those of `from`, or 1 in `from`.
  Walk(const Sides& to, const Sides& from) {
    for (int d = 0; d < dims; ++d) sides_[d] = to[static_cast<std::size_t>(d)];
    std::int64_t step = 1;
    for (std::size_t k = 1; k <= from.size(); ++k) {
      const std::int64_t side = from[from.size() - k];
      if (side != 1) steps_[to.size() - k] = step;
      step *= side;
    }
  }
  CHORALE_DEVICE std::int64_t at(std::int64_t index) const {
    std::int64_t result = 0;
    for (int d = dims; d-- > 0;) {
      result += index % sides_[d] * steps_[d];
      index = index / sides_[d];
    }
    return result;
  }

 private:
  Divisor sides_[dims] = {};
  std::int64_t steps_[dims] = {};
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument(what);
}

template <typename T>
std::unique_ptr<T[]> memory(std::int64_t elements) {
  return std::unique_ptr<T[]>(new T[static_cast<std::size_t>(std::max<std::int64_t>(1, elements))]);
}

// Sums of many: in double, and in lanes that a compiler vectorizes.
template <Combination op>
CHORALE_DEVICE inline double identity() {
  return op == Combination::Sum ? 0.0 : op == Combination::Max ? -HUGE_VAL : HUGE_VAL;
}
// Such a total as an element: sums of integers wrap around, as those over ranks do. In double they are exact
// up to 2^53.
template <Combination op, typename T>
CHORALE_DEVICE inline T total_as(double total) {
  if constexpr (op == Combination::Sum && std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint32_t>(static_cast<std::int64_t>(total)));
  else
    return rounded_to<T>(total);
}
inline constexpr std::int64_t kFolded = 1024;  // at once
template <Combination op>
double folded(const double* values, std::int64_t count, double first) {
  constexpr int lanes = 8;
  double sums[lanes];
  for (double& sum : sums) sum = identity<op>();
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int k = 0; k < lanes; ++k) sums[k] = combined<op>(sums[k], values[i + k]);
  for (; i < count; ++i) first = combined<op>(first, values[i]);
  for (const double sum : sums) first = combined<op>(first, sum);
  return first;
}

}  // namespace chorale
