// Products of matrices, and convolutions: by a BLAS where there is one (-DCHORALE_BLAS, with a cblas.h; or
// that of the process, which the caller of a library names), else by built-in loops, which go over memory in
// pieces that stay in caches. Sums are made in float for float and 16-bit floats, in double for others, and
// rounded once. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#ifdef CHORALE_BLAS
#include <cblas.h>
#endif

#include "runtime/device/epilogue.h"
#include "tensor/exchange/parts.h"

namespace chorale {

// Rows of a matrix begin `row` elements after each other.
template <typename T>
struct Matrix {
  T* at;
  std::int64_t row;
  Matrix from(std::int64_t i, std::int64_t j) const { return {at + i * row + j, row}; }
};

// sgemm_ and dgemm_ of the process, or null: Fortran's, of matrices by columns. So what is a row here is a
// column there, and the factors change places.
template <typename R>
using FortranGemm = void (*)(const char*, const char*, const int*, const int*, const int*, const R*, const R*,
                             const int*, const R*, const int*, const R*, R*, const int*);
template <typename R>
FortranGemm<R>& process_gemm() {
  static FortranGemm<R> gemm = nullptr;
  return gemm;
}

#ifdef CHORALE_BLAS
template <typename R>
bool has_blas() {
  return true;
}
inline void blas_product(int m, int n, int k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c,
                         float before) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a.at, static_cast<int>(a.row), b.at,
              static_cast<int>(b.row), before, c.at, static_cast<int>(c.row));
}
inline void blas_product(int m, int n, int k, Matrix<const double> a, Matrix<const double> b,
                         Matrix<double> c, double before) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a.at, static_cast<int>(a.row), b.at,
              static_cast<int>(b.row), before, c.at, static_cast<int>(c.row));
}
#else
template <typename R>
bool has_blas() {
  return process_gemm<R>() != nullptr;
}
template <typename R>
void blas_product(int m, int n, int k, Matrix<const R> a, Matrix<const R> b, Matrix<R> c, R before) {
  const R one = 1;
  const int next_a = static_cast<int>(a.row), next_b = static_cast<int>(b.row),
            next_c = static_cast<int>(c.row);
  process_gemm<R>()("N", "N", &n, &m, &k, &one, b.at, &next_b, a.at, &next_a, &before, c.at, &next_c);
}
#endif
// The operand of a BLAS call: the matrix itself, or a copy of it.
template <typename R, typename A>
Matrix<const R> as_real(Matrix<const A> a, std::int64_t rows, std::int64_t columns, std::vector<R>& kept) {
  if constexpr (std::is_same_v<R, A>) {
    return a;
  } else {
    kept.resize(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) kept[i * columns + j] = real<R>(a.at[i * a.row + j]);
    return {kept.data(), columns};
  }
}
inline bool fits_int(std::int64_t a, std::int64_t b, std::int64_t c) {
  return std::max({a, b, c}) <= std::numeric_limits<int>::max();
}

// to[m, n] += the sum over k of a[m, k] b[k, n]; `to` does not overlap a or b.
template <typename R, typename A, typename B>
void add_product(Matrix<R> to, Matrix<const A> a, Matrix<const B> b, std::int64_t rows, std::int64_t inner,
                 std::int64_t columns) {
  if (rows == 0 || inner == 0 || columns == 0) return;
  if (has_blas<R>() && fits_int(std::max(rows, to.row), std::max(inner, a.row), std::max(columns, b.row))) {
    std::vector<R> left, right;
    return blas_product(static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(inner),
                        as_real<R>(a, rows, inner, left), as_real<R>(b, inner, columns, right), to, R(1));
  }
  // A strip of columns whose sums stay in the first cache, for a few rows at once.
  constexpr std::int64_t kColumns = 256, kInner = 64;
  std::vector<R> strip(static_cast<std::size_t>(kInner * kColumns));
  for (std::int64_t j = 0; j < columns; j += kColumns) {
    const std::int64_t width = std::min(kColumns, columns - j);
    for (std::int64_t k = 0; k < inner; k += kInner) {
      const std::int64_t depth = std::min(kInner, inner - k);
      for (std::int64_t d = 0; d < depth; ++d)
        for (std::int64_t e = 0; e < width; ++e)
          strip[d * width + e] = real<R>(b.at[(k + d) * b.row + j + e]);
      for (std::int64_t i = 0; i < rows; ++i) {
        R* __restrict__ const sums = to.at + i * to.row + j;
        for (std::int64_t d = 0; d < depth; ++d) {
          const R factor = real<R>(a.at[i * a.row + k + d]);
          const R* __restrict__ const from = strip.data() + d * width;
          for (std::int64_t e = 0; e < width; ++e) sums[e] += factor * from[e];
        }
      }
    }
  }
}

template <typename T, typename R>
void put_rounded(Matrix<T> to, Matrix<const R> from, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      to.at[i * to.row + j] = rounded_to<T>(from.at[i * from.row + j]);
}

// c[m, n] = the sum over k of a[m, k] b[k, n]; c does not overlap a or b.
template <typename T, typename A, typename B>
void matrix_product(Matrix<T> c, Matrix<const A> a, Matrix<const B> b, std::int64_t rows, std::int64_t inner,
                    std::int64_t columns) {
  using R = Real<T>;
  if constexpr (std::is_same_v<T, R>) {
    for (std::int64_t i = 0; i < rows; ++i) std::fill_n(c.at + i * c.row, columns, T(0));
    add_product(c, a, b, rows, inner, columns);
  } else {
    // Rows whose sums stay in a cache: a seventh less time for 16,384 rows of 32. A BLAS, which would convert
    // its second operand anew, takes all rows.
    constexpr std::int64_t kColumns = 1024, kRows = 128, kSums = 1 << 15;
    std::vector<R> sums;
    for (std::int64_t j = 0; j < columns; j += kColumns) {
      const std::int64_t width = std::min(kColumns, columns - j),
                         at_once = has_blas<R>() ? rows : std::max(kRows, kSums / width);
      for (std::int64_t i = 0; i < rows; i += at_once) {
        const std::int64_t count = std::min(at_once, rows - i);
        sums.assign(static_cast<std::size_t>(count * width), R(0));
        add_product(Matrix<R>{sums.data(), width}, a.from(i, 0), b.from(0, j), count, inner, width);
        put_rounded(c.from(i, j), Matrix<const R>{sums.data(), width}, count, width);
      }
    }
  }
}

// A rank's part of a product: of [.., M, K] and of [K, N], or, batched, of [.., K, N], of which it may have
// more of the batch than of the first factor.
struct ProductSides {
  std::int64_t rows = 0, inner = 0, columns = 0;  // rows: of all of the batch together
  std::int64_t period = 1;                        // rows of one of the batch
  ProductSides(const Share& result, const Share& left, const Share& right, bool batched)
      : inner(left.own().back()), columns(right.own().back()), left_(left) {
    const std::size_t dims = left.own().size();
    rows = result.elements() == 0 ? 0 : result.elements() / columns;
    period = std::max<std::int64_t>(1, batched ? left.side(dims - 2) : rows);
    if (batched && right.own() == right.whole()) whole_ = left.whole()[dims - 1] * left.whole()[dims - 2];
  }
  // Of the second factor: the row that a row of the result begins with.
  std::int64_t second_row(std::int64_t row) const {
    const std::int64_t batch = row / period;
    return (whole_ > 0 && inner > 0 ? left_.index(batch * period * inner) / whole_ : batch) * inner;
  }

 private:
  Share left_ = {};
  // Elements of one of the batch of the first factor; 0: both have the same of the batch.
  std::int64_t whole_ = 0;
};

// Products of a device by parts: it has product_part(c, a, b, sides, row, rows, column, columns), of those
// rows, all of one of the batch, and columns.
template <typename Device>
struct ProductsByParts {
  template <typename T, typename A, typename B>
  void product_rows(T* c, const A* a, const B* b, const ProductSides& s, std::int64_t begin,
                    std::int64_t end) {
    for (std::int64_t next = 0; s.rows > 0 && begin < end; begin = next) {
      next = std::min(end, (begin / s.period + 1) * s.period);
      static_cast<Device&>(*this).product_part(c, a, b, s, begin, next - begin, 0, s.columns);
    }
  }
  template <typename T, typename A, typename B>
  void matrix_products(T* c, const A* a, const B* b, const Share& result, const Share& left,
                       const Share& right, bool batched) {
    const ProductSides s(result, left, right, batched);
    product_rows(c, a, b, s, 0, s.rows);
  }
};

struct ConvolutionSides {
  std::int64_t batch, channels, height, width, outputs, kernel_height, kernel_width;
  int stride, padding;
  std::int64_t out_height() const { return (height + 2 * padding - kernel_height) / stride + 1; }
  std::int64_t out_width() const { return (width + 2 * padding - kernel_width) / stride + 1; }
  std::int64_t image() const { return channels * height * width; }
  std::int64_t inner() const { return channels * kernel_height * kernel_width; }
  std::int64_t out_image() const { return out_height() * out_width(); }
};
// [N, C, H, W] with [O, C, h, w]: one matrix product per image, with the image's patches as columns.
template <typename A>
void patches_of(A* patches, const A* image, const ConvolutionSides& s) {
  for (std::int64_t ch = 0; ch < s.channels; ++ch)
    for (std::int64_t y = 0; y < s.kernel_height; ++y)
      for (std::int64_t x = 0; x < s.kernel_width; ++x)
        for (std::int64_t i = 0; i < s.out_height(); ++i)
          for (std::int64_t j = 0; j < s.out_width(); ++j) {
            const std::int64_t h = i * s.stride + y - s.padding, w = j * s.stride + x - s.padding;
            const bool inside = h >= 0 && h < s.height && w >= 0 && w < s.width;
            *patches++ = inside ? image[(ch * s.height + h) * s.width + w] : rounded_to<A>(0.0);
          }
}
// Those channels of the result of image n.
template <typename T, typename A, typename B>
void convolution_part(T* c, const A* patches, const B* kernels, const ConvolutionSides& s, std::int64_t n,
                      std::int64_t output, std::int64_t outputs) {
  matrix_product(Matrix<T>{c + (n * s.outputs + output) * s.out_image(), s.out_image()},
                 Matrix<const B>{kernels + output * s.inner(), s.inner()},
                 Matrix<const A>{patches, s.out_image()}, outputs, s.inner(), s.out_image());
}

}  // namespace chorale
