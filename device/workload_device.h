// Where a workload computes: a part of the transport that its class is a template over. Memory, loops, copies, products, and
// what else is done with elements are the device's. Here, of hosts; device/workload_gpu.h has that of GPUs.
//
// A device has what HostDevice has, with these names; functions that do not come back before they are done, or whose work
// is done in the order of the calls, before anything that reads it. C++17, and goes along with what is emitted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "device/workload_blas.h"
#include "device/workload_exchange.h"
#include "device/workload_overlap.h"
#include "device/workload_parts.h"

namespace chorale {

class HostDevice {
 public:
  // Is what overlaps done tile by tile, beside each other? Otherwise one comes after the other.
  static constexpr bool kTileByTile = true;

  template <typename T>
  using Memory = std::unique_ptr<T[]>;
  template <typename T>
  static Memory<T> memory(std::int64_t elements) {
    return chorale::memory<T>(elements);
  }
  // Of messages and sums between ranks.
  template <typename T, Combination op>
  using Exchange = chorale::Exchange<T, op>;

  // A value that the caller has, for those who want memory that it is in.
  template <typename T>
  class Held {
   public:
    explicit Held(HostDevice&) {}
    const T* at(const T& value) {
      value_ = value;
      return &value_;
    }

   private:
    T value_ = {};
  };

  // What a loop adds up, from start() to store().
  template <Combination op>
  class Total {
   public:
    explicit Total(HostDevice&) {}
    double* start() {
      total_ = identity<op>();
      return &total_;
    }
    template <typename T>
    void store(T* to) const {
      *to = rounded_to<T>(total_);
    }

   private:
    double total_ = identity<op>();
  };

  // What makes up a kernel, one after the other: communications and loops. On GPUs it is one launch.
  template <typename Exchange, typename Function = NoSumFunction>
  static auto phase(Exchange& exchange, const Lies<typename Exchange::Element>& input,
                    const Lies<typename Exchange::Element>& output, const Function& function = {}) {
    return [=, &exchange](auto& transport) { exchange.run(transport, input, output, function); };
  }
  template <typename Loop>
  static auto phase(const Loop& loop) {
    return [=](auto&) { loop(0, loop.part.elements); };
  }
  template <typename Transport, typename... Phases>
  static void run(Transport& transport, const Phases&... phases) {
    (phases(transport), ...);
  }

  template <typename Transport, typename T>
  static void send_on(Transport& transport, int to, int from, const T* input, std::int64_t input_elements,
                      T* output, std::int64_t output_elements) {
    chorale::send_on(transport, to, from, input, input_elements, output, output_elements);
  }
  template <typename Transport, typename T>
  static void send_tile(Transport& transport, int to, int from, const T* input, std::int64_t input_elements,
                        T* output, std::int64_t output_elements, int tile, int tiles) {
    chorale::send_tile(transport, to, from, input, input_elements, output, output_elements, tile, tiles);
  }

  template <typename T>
  static ScatteredView<T> view(const Scattered<T>& scattered) {
    return scattered.view();
  }

  template <typename Loop>
  static void each(const Loop& loop, std::int64_t begin, std::int64_t count) {
    loop(begin, count);
  }
  template <typename T>
  static void copy(T* to, const T* from, std::int64_t count) {
    std::copy_n(from, count, to);
  }
  template <typename T>
  static void copy_slice(T* slice, const T* whole, const Share& part) {
    chorale::copy_slice(slice, whole, part);
  }
  template <typename T>
  static void pack(T* blocks, const T* whole, const Sides& sides, int dim, int ranks) {
    SlicedBlocks(sides, dim, ranks)
        .for_each_run(0, product(sides), [&](std::int64_t to, std::int64_t from, std::int64_t n) {
          std::copy_n(whole + from, n, blocks + to);
        });
  }
  template <typename T>
  static void unpack(T* whole, const T* blocks, const Sides& sides, int dim, int ranks) {
    SlicedBlocks(sides, dim, ranks)
        .for_each_run(0, product(sides), [&](std::int64_t from, std::int64_t to, std::int64_t n) {
          std::copy_n(blocks + from, n, whole + to);
        });
  }
  template <typename T, typename A, typename B>
  static void matrix_products(T* c, const A* a, const B* b, const Share& result, const Share& left,
                              const Share& right, bool batched) {
    chorale::matrix_products(c, a, b, result, left, right, batched);
  }
  template <typename T, typename A, typename B>
  static void convolution(T* c, const A* images, const B* kernels, const ConvolutionSides& sides) {
    chorale::convolution(c, images, kernels, sides);
  }

  // For those who fill tensors from a host, and look at them.
  static void upload(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  static void download(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  static void finish() {}
};

}  // namespace chorale
