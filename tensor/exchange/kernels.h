// Local work of a rank on a GPU, as kernels of a given number of blocks: loops, totals, slices of tensors,
// products, convolutions. Needs nvcc; C++17, and is copied into emitted programs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tensor/exchange/blas.h"
#include "tensor/exchange/fused_block.h"
#include "tensor/exchange/pack.h"
#include "tensor/exchange/parts.h"
#include "tensor/exchange/rows.h"

namespace chorale {

// Of four blocks a multiprocessor: without it ptxas keeps to 32 registers, and spills in sums of halves.
template <typename Loop>
__global__ void __launch_bounds__(256, 4)
    loop_kernel(const __grid_constant__ Loop loop, std::int64_t begin, std::int64_t count) {
  const KernelTeam team{static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x),
                        static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
  double totals[Loop::kTotals + 1];
  Loop::start(totals);
  for_packs<Loop::kWidth>(0, count, std::int64_t{team.block} * team.threads + team.thread,
                          std::int64_t{team.blocks} * team.threads, [&](auto width, std::int64_t e) {
                            loop.template pack<decltype(width)::value>(begin + e, totals);
                          });
  loop.finish(totals, team);
}

// The total of the values left by KernelTeam::keep_total, by one warp.
template <Combination op, typename T>
__global__ void total_kernel(const double* slots, T* to) {
  const std::int64_t count = static_cast<std::int64_t>(slots[0]);
  double total = identity<op>();
  for (std::int64_t i = threadIdx.x % kLanes; i < count; i += kLanes)
    total = combined<op>(total, slots[1 + i]);
  total = of_all_lanes<op>(total);
  if (threadIdx.x == 0) *to = total_as<op, T>(total);
}

// A row is a warp's.
struct RowTeam {
  std::int64_t row;
  int lane;

  template <Combination op, typename T>
  __device__ void keep_row(T* rows, double mine) const {
    const double total = of_all_lanes<op>(mine);
    if (lane == 0) rows[row] = total_as<op, T>(total);
  }
  // What lanes have stored, all can read.
  __device__ void sync() const {
#ifdef __CUDA_ARCH__
    __syncwarp();
#endif
  }
};

// The loops of a kernel that goes row by row.
template <typename... Loops>
struct RowChain {
  __device__ void run(const RowTeam&, std::int64_t) const {}
};
template <typename First, typename... Rest>
struct RowChain<First, Rest...> {
  First first;
  RowChain<Rest...> rest;

  __device__ void run(const RowTeam& team, std::int64_t length) const {
    double totals[First::kTotals + 1];
    if constexpr (First::kValueOfRow) {
      if (team.lane == 0) first.template pack<1>(team.row, totals);
    } else {
      First::start(totals);
      for_packs<First::kWidth>(0, length, team.lane, kLanes, [&](auto width, std::int64_t e) {
        first.template pack<decltype(width)::value>(team.row * length + e, totals);
      });
      first.finish(totals, team);
    }
    team.sync();
    rest.run(team, length);
  }
};
inline RowChain<> row_chain() {
  return {};
}
template <typename First, typename... Rest>
RowChain<First, Rest...> row_chain(const First& first, const Rest&... rest) {
  return {first, row_chain(rest...)};
}

template <typename Chain>
__global__ void __launch_bounds__(256)
    rows_kernel(const __grid_constant__ Chain chain, std::int64_t rows, std::int64_t length) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     teams = std::int64_t{gridDim.x} * blockDim.x / kLanes;
  for (std::int64_t row = thread / kLanes; row < rows; row += teams)
    chain.run(RowTeam{row, static_cast<int>(thread % kLanes)}, length);
}

// A sum's function that stores it.
template <typename T>
struct StoredSums {
  T* to;

  static constexpr int kTotals = 0, kWidth = kWidthOf<T>;
  __device__ static void start(double*) {}
  template <int width>
  __device__ void pack(std::int64_t begin, const Pack<T, width>& sums, double*) const {
    store_pack(to + begin, sums);
  }
  template <typename Team>
  __device__ void finish(const double*, const Team&) const {}
};

// One result per warp if rows are reduced, else per thread.
template <Combination op, typename T, typename A>
__global__ void __launch_bounds__(256) along_kernel(T* to, const A* from, AlongSides s) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     threads = std::int64_t{gridDim.x} * blockDim.x, results = s.outer * s.inner;
  if (s.inner == 1) {
    for (std::int64_t row = thread / kLanes; row < results; row += threads / kLanes) {
      double total = identity<op>();
      for (std::int64_t k = thread % kLanes; k < s.side; k += kLanes)
        total = combined<op>(total, real<double>(from[row * s.side + k]));
      RowTeam{row, static_cast<int>(thread % kLanes)}.template keep_row<op>(to, total);
    }
    return;
  }
  for (std::int64_t e = thread; e < results; e += threads) {
    double total = identity<op>();
    for (std::int64_t k = 0; k < s.side; ++k)
      total = combined<op>(total, real<double>(from[(e / s.inner * s.side + k) * s.inner + e % s.inner]));
    to[e] = total_as<op, T>(total);
  }
}

// function(i) for i of 0 .. count, dealt over the threads of the grid.
template <typename Function>
__device__ inline void each_of_grid(std::int64_t count, const Function& function) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads)
    function(i);
}

template <Combination op, typename T>
__global__ void scan_kernel(T* to, const T* from, AlongSides s) {
  each_of_grid(s.outer * s.inner, [&](std::int64_t r) {
    double total = identity<op>();
    for (std::int64_t k = 0; k < s.side; ++k) {
      const std::int64_t e = (r / s.inner * s.side + k) * s.inner + r % s.inner;
      to[e] = total_as<op, T>(total = combined<op>(total, real<double>(from[e])));
    }
  });
}
// Place k is that of the element which k others come before.
template <typename A>
__global__ void top_kernel(std::int32_t* to, const A* from, AlongSides s, std::int64_t count) {
  each_of_grid(s.outer * s.side * s.inner, [&](std::int64_t e) {
    const std::int64_t o = e / s.inner / s.side, own = e / s.inner % s.side, i = e % s.inner;
    const auto at = [&](std::int64_t k) { return real<double>(from[(o * s.side + k) * s.inner + i]); };
    const double value = at(own);
    std::int64_t place = 0;
    for (std::int64_t k = 0; k < s.side && place < count; ++k)
      if (k != own && is_larger(at(k), k, value, own)) ++place;
    if (place < count) to[(o * count + place) * s.inner + i] = static_cast<std::int32_t>(own);
  });
}
template <typename T>
__global__ void take_kernel(T* to, const T* from, const std::int32_t* numbers, AlongSides s, Divisor count) {
  each_of_grid(s.outer * count * s.inner,
               [&](std::int64_t e) { to[e] = taken_along(from, numbers, s, count, e); });
}

template <typename T>
__global__ void set_kernel(T* to, T value) {
  if (threadIdx.x == 0) *to = value;
}

// Of a part of a tensor, from its element `first` on: into one piece, or, `puts`, from there.
template <typename T>
__global__ void slice_kernel(T* slice, T* whole, Indices part, std::int64_t first, std::int64_t count,
                             bool puts) {
  each_of_grid(count, [&](std::int64_t i) {
    if (puts)
      whole[part.index(first + i)] = slice[i];
    else
      slice[i] = whole[part.index(first + i)];
  });
}

template <typename T>
__global__ void box_kernel(T* to, const T* from, ElementBox box) {
  each_of_grid(box.elements, [&](std::int64_t e) { to[box.to_at(e)] = from[box.from_at(e)]; });
}
template <typename T>
__global__ void gather_kernel(T* to, const T* from, const std::int32_t* numbers, std::int64_t count,
                              std::int64_t rows, std::int64_t length) {
  const Divisor width = length;
  each_of_grid(count * length, [&](std::int64_t e) {
    const std::int64_t row = numbers[e / width];
    to[e] = row >= 0 && row < rows ? from[row * length + e % width] : rounded_to<T>(0.0f);
  });
}
// A column per thread, so that of equal numbers the last row stays.
template <typename T>
__global__ void put_kernel(T* to, const T* from, const std::int32_t* numbers, std::int64_t count,
                           std::int64_t rows, std::int64_t length) {
  each_of_grid(length, [&](std::int64_t i) {
    for (std::int64_t k = 0; k < count; ++k)
      if (numbers[k] >= 0 && numbers[k] < rows) to[numbers[k] * length + i] = from[k * length + i];
  });
}
// A column per thread, so that sums are made in the order of rows.
template <typename T>
__global__ void scatter_kernel(T* to, const T* from, const std::int32_t* numbers, std::int64_t count,
                               std::int64_t rows, std::int64_t length) {
  each_of_grid(length, [&](std::int64_t i) {
    for (std::int64_t row = 0; row < rows; ++row) to[row * length + i] = rounded_to<T>(0.0f);
    for (std::int64_t k = 0; k < count; ++k)
      if (numbers[k] >= 0 && numbers[k] < rows) {
        T& sum = to[numbers[k] * length + i];
        sum = combined<Combination::Sum>(sum, from[k * length + i]);
      }
  });
}

// One element of the product per thread, added up in the order of the host's code; `adds`: to the value
// there.
template <typename T, typename A, typename B>
__global__ void __launch_bounds__(256)
    product_kernel(Matrix<T> c, Matrix<const A> a, Matrix<const B> b, std::int64_t rows, std::int64_t inner,
                   std::int64_t columns, bool adds) {
  using R = Real<T>;
  const Divisor width = columns;
  each_of_grid(rows * columns, [&](std::int64_t e) {
    const std::int64_t i = e / width, j = e % width;
    T& to = c.at[i * c.row + j];
    R sum = adds ? real<R>(to) : R(0);
    for (std::int64_t k = 0; k < inner; ++k)
      sum += real<R>(a.at[i * a.row + k]) * real<R>(b.at[k * b.row + j]);
    to = rounded_to<T>(sum);
  });
}

template <typename T, typename R>
__global__ void round_kernel(T* to, const R* from, std::int64_t count) {
  each_of_grid(count, [&](std::int64_t e) { to[e] = rounded_to<T>(from[e]); });
}

// One element of the result per thread.
template <typename T, typename A, typename B>
__global__ void __launch_bounds__(256)
    convolution_kernel(T* c, const A* images, const B* kernels, ConvolutionSides s, std::int64_t count,
                       std::int64_t out_height, std::int64_t out_width) {
  using R = Real<T>;
  const Divisor width = out_width, height = out_height, outputs = s.outputs;
  each_of_grid(count, [&](std::int64_t e) {
    const std::int64_t row = e / width, image = row / height;
    const std::int64_t j = e % width, i = row % height, o = image % outputs, n = image / outputs;
    R sum = R(0);
    for (std::int64_t ch = 0; ch < s.channels; ++ch)
      for (std::int64_t y = 0; y < s.kernel_height; ++y)
        for (std::int64_t x = 0; x < s.kernel_width; ++x) {
          const std::int64_t h = i * s.stride + y - s.padding, w = j * s.stride + x - s.padding;
          if (h < 0 || h >= s.height || w < 0 || w >= s.width) continue;
          sum += real<R>(kernels[((o * s.channels + ch) * s.kernel_height + y) * s.kernel_width + x]) *
                 real<R>(images[((n * s.channels + ch) * s.height + h) * s.width + w]);
        }
    c[e] = rounded_to<T>(sum);
  });
}

}  // namespace chorale
