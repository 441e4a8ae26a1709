// Matrix products and convolutions for programs that are emitted for workloads: by a BLAS with -DCHORALE_BLAS (and
// -lopenblas, or another one that has cblas.h), and by loops otherwise. Sums are made in float for float and halves, in
// double for others, and rounded once. C++17, and goes along with what is emitted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#ifdef CHORALE_BLAS
#include <cblas.h>
#endif

#include "device/epilogue.h"
#include "device/workload_overlap.h"
#include "device/workload_parts.h"

namespace chorale {

// c[m, n] = the sum over k of a[m, k] b[k, n]; dense, and c lies apart.
template <typename T, typename A, typename B>
void matrix_product(T* __restrict__ c, const A* __restrict__ a, const B* __restrict__ b, std::int64_t rows,
                    std::int64_t inner, std::int64_t columns) {
#ifdef CHORALE_BLAS
  const int m = static_cast<int>(rows), n = static_cast<int>(columns), k = static_cast<int>(inner);
  if constexpr (std::is_same_v<T, float> && std::is_same_v<A, float> && std::is_same_v<B, float>) {
    if (k > 0) return cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
  } else if constexpr (std::is_same_v<T, double> && std::is_same_v<A, double> && std::is_same_v<B, double>) {
    if (k > 0) return cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
  }
#endif
  using R = Real<T>;
  // A strip of columns whose sums stay in the first cache, for a few rows at once.
  constexpr std::int64_t kColumns = 256, kInner = 64;
  std::vector<R> strip(static_cast<std::size_t>(kInner * kColumns));
  std::vector<R> kept(static_cast<std::size_t>(rows * std::min(kColumns, columns)));
  for (std::int64_t j = 0; j < columns; j += kColumns) {
    const std::int64_t width = std::min(kColumns, columns - j);
    std::fill(kept.begin(), kept.end(), R(0));
    for (std::int64_t k = 0; k < inner; k += kInner) {
      const std::int64_t depth = std::min(kInner, inner - k);
      for (std::int64_t d = 0; d < depth; ++d)
        for (std::int64_t e = 0; e < width; ++e) strip[d * width + e] = real<R>(b[(k + d) * columns + j + e]);
      for (std::int64_t i = 0; i < rows; ++i) {
        R* __restrict__ const to = kept.data() + i * width;
        for (std::int64_t d = 0; d < depth; ++d) {
          const R factor = real<R>(a[i * inner + k + d]);
          const R* __restrict__ const from = strip.data() + d * width;
          for (std::int64_t e = 0; e < width; ++e) to[e] += factor * from[e];
        }
      }
    }
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t e = 0; e < width; ++e) c[i * columns + j + e] = rounded_to<T>(kept[i * width + e]);
  }
}

// What ranks have of [.., M, K] and of [K, N], or, batched, [.., K, N], of which each may have more of the batch.
template <typename T, typename A, typename B>
void matrix_products(T* c, const A* a, const B* b, const Share& result, const Share& left, const Share& right,
                     bool batched) {
  if (result.elements() == 0) return;
  const std::size_t dims = left.own().size();
  const std::int64_t inner = left.side(dims - 1), columns = right.own().back();
  if (!batched) {
    matrix_product(c, a, b, result.elements() / columns, inner, columns);
    return;
  }
  const std::int64_t rows = left.side(dims - 2), batches = result.elements() / (rows * columns);
  const std::int64_t whole = left.whole()[dims - 1] * left.whole()[dims - 2];
  const bool all = right.own()[0] == right.whole()[0];
  for (std::int64_t i = 0; i < batches; ++i) {
    const std::int64_t other = all && inner > 0 ? left.index(i * rows * inner) / whole : i;
    matrix_product(c + i * rows * columns, a + i * rows * inner, b + other * inner * columns, rows, inner,
                   columns);
  }
}

// The same, not batched, some rows at a time, beside a communication.
template <typename T, typename A, typename B>
RowWorker row_products(T* c, const A* a, const B* b, const Share& result, const Share& left,
                       const Share& right) {
  const std::int64_t inner = left.own().back(), columns = right.own().back();
  const std::int64_t rows = result.elements() == 0 ? 0 : result.elements() / columns;
  return RowWorker(rows, inner, columns, [=](std::int64_t begin, std::int64_t end) {
    matrix_product(c + begin * columns, a + begin * inner, b, end - begin, inner, columns);
  });
}

struct ConvolutionSides {
  std::int64_t batch, channels, height, width, outputs, kernel_height, kernel_width;
  int stride, padding;
  std::int64_t out_height() const { return (height + 2 * padding - kernel_height) / stride + 1; }
  std::int64_t out_width() const { return (width + 2 * padding - kernel_width) / stride + 1; }
};
// [N, C, H, W] with [O, C, h, w]: a matrix product an image, with the image's patches as columns.
template <typename T, typename A, typename B>
void convolution(T* c, const A* images, const B* kernels, const ConvolutionSides& s) {
  const std::int64_t oh = s.out_height(), ow = s.out_width(),
                     inner = s.channels * s.kernel_height * s.kernel_width;
  std::vector<A> patches(static_cast<std::size_t>(inner * oh * ow));
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const A* const image = images + n * s.channels * s.height * s.width;
    A* at = patches.data();
    for (std::int64_t ch = 0; ch < s.channels; ++ch)
      for (std::int64_t y = 0; y < s.kernel_height; ++y)
        for (std::int64_t x = 0; x < s.kernel_width; ++x)
          for (std::int64_t i = 0; i < oh; ++i)
            for (std::int64_t j = 0; j < ow; ++j) {
              const std::int64_t h = i * s.stride + y - s.padding, w = j * s.stride + x - s.padding;
              const bool inside = h >= 0 && h < s.height && w >= 0 && w < s.width;
              *at++ = inside ? image[(ch * s.height + h) * s.width + w] : rounded_to<A>(0.0);
            }
    matrix_product(c + n * s.outputs * oh * ow, kernels, patches.data(), s.outputs, inner, oh * ow);
  }
}

}  // namespace chorale
