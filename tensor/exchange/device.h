// Where a workload computes: a part of the transport that its class is a template over. Memory, loops,
// copies, products, and what else is done with elements are the device's. Here, of hosts;
// gpu.h has that of GPUs.
//
// A device has what HostDevice has, with these names; each function returns when its work is done, or its
// work is done in the order of the calls, before anything that reads it. C++17, and is copied into emitted
// programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "tensor/exchange/blas.h"
#include "tensor/exchange/counted.h"
#include "tensor/exchange/exchange.h"
#include "tensor/exchange/overlap.h"
#include "tensor/exchange/parts.h"
#include "tensor/exchange/rows.h"

namespace chorale {

// A kernel that goes row by row over a sum: each row as soon as it is complete, from a buffer that a cache
// keeps, so that the sum is neither stored nor read. C++17, and is copied into emitted programs.

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

// The communications and loops of a kernel run one after the other. On other devices a kernel is one launch.
struct PhaseByPhase {
  template <typename Exchange, typename Function = NoSumFunction>
  static auto phase(Exchange& exchange, const BufferView<typename Exchange::Element>& input,
                    const BufferView<typename Exchange::Element>& output, const Function& function = {}) {
    return [=, &exchange](auto& transport) { exchange.run(transport, input, output, function); };
  }
  template <typename Loop>
  static auto phase(const Loop& loop) {
    return [=](auto& transport) { transport.device().each(loop, 0, loop.part.elements); };
  }
  template <typename Transport, typename... Phases>
  static void run(Transport& transport, const Phases&... phases) {
    (phases(transport), ...);
  }

  // Rows by counts (AllToAllV).
  template <typename Transport, typename Counted, typename T>
  static void all_to_all_v(Transport& transport, Counted& exchange, const T* input,
                           const std::int32_t* counts, T* output) {
    exchange.run(transport, input, counts, output);
  }
  // Sends a tile of this rank's data to one rank, and receives a tile from another; -1: none. What is sent is
  // in flight until transport.finish().
  template <typename Transport, typename T>
  static void send_tile(Transport& transport, int to, int from, const T* input, std::int64_t input_elements,
                        T* output, std::int64_t output_elements, int tile, int tiles) {
    const int size = static_cast<int>(sizeof(T)), tag = (1 << 20) + tile;
    const auto begin = [&](std::int64_t elements, int t) { return part_begin(elements, tiles, t); };
    const std::int64_t out = begin(input_elements, tile), out_end = begin(input_elements, tile + 1),
                       in = begin(output_elements, tile), in_end = begin(output_elements, tile + 1);
    std::vector<Delivery> none, receives;
    if (to >= 0 && out_end > out)
      transport.post({to, tag, const_cast<T*>(input) + out, (out_end - out) * size, 0, true});
    if (from >= 0 && in_end > in) receives.push_back({from, tag, output + in, (in_end - in) * size});
    transport.exchange(none, receives);
    transport.release(none, receives);
  }

  // Sends this rank's data to one rank, and receives those of another; -1: none.
  template <typename Transport, typename T>
  static void send_on(Transport& transport, int to, int from, const T* input, std::int64_t input_elements,
                      T* output, std::int64_t output_elements) {
    constexpr int tag = 1 << 20;
    const int size = static_cast<int>(sizeof(T));
    std::vector<Delivery> sends, receives;
    if (to >= 0 && input_elements > 0)
      sends.push_back({to, tag, const_cast<T*>(input), input_elements * size, 0, true});
    if (from >= 0 && output_elements > 0) receives.push_back({from, tag, output, output_elements * size});
    transport.exchange(sends, receives);
    transport.release(sends, receives);
  }
};

class HostDevice : public PhaseByPhase,
                   public ProductsByParts<HostDevice>,
                   public HostBoxes,
                   public HostRows {
 public:
  // Whether communications that overlap are done tile by tile, a tile of one beside the next one of another.
  // Otherwise they run one after the other.
  static constexpr bool kTileByTile = true;
  // Makes tiles beside communication (overlap.h).
  using Worker = TileWorker;
  static Worker worker(TileGrid operand, TileGrid result, std::vector<TileWork> work,
                       std::function<void(int)> make, bool in_order = false) {
    return Worker(std::move(operand), std::move(result), std::move(work), std::move(make), in_order);
  }

  template <typename T>
  using Memory = std::unique_ptr<T[]>;
  template <typename T>
  static Memory<T> memory(std::int64_t elements) {
    return chorale::memory<T>(elements);
  }
  // Of messages and sums between ranks.
  template <typename T, Combination op>
  using Exchange = chorale::Exchange<T, op>;

  // A value of the caller, for functions that take the address of one.
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

  // The sums of a loop, from start() to store().
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
      *to = total_as<op, T>(total_);
    }

   private:
    double total_ = identity<op>();
  };

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
  static void clear(T* at, std::int64_t count) {
    if (count > 0) std::memset(static_cast<void*>(at), 0, static_cast<std::size_t>(count) * sizeof(T));
  }
  template <typename T>
  static void copy_slice(T* slice, const T* whole, const Share& part) {
    const std::int64_t run = part.run();
    for (std::int64_t i = 0; i < part.elements(); i += run)
      std::copy_n(whole + part.index(i), run, slice + i);
  }
  // Copies elements of the tensor into blocks of slices; and back.
  template <typename T>
  static void fill(const SlicedBlocks& slices, T* blocks, const T* tensor, std::int64_t begin,
                   std::int64_t count) {
    slices.for_each_run(begin, count, [&](std::int64_t to, std::int64_t from, std::int64_t n) {
      std::copy_n(tensor + from, n, blocks + to);
    });
  }
  template <typename T>
  static void empty(const SlicedBlocks& slices, T* tensor, const T* blocks, std::int64_t begin,
                    std::int64_t count) {
    slices.for_each_run(begin, count, [&](std::int64_t from, std::int64_t to, std::int64_t n) {
      std::copy_n(blocks + from, n, tensor + to);
    });
  }
  // The rows of what an exchange sums up; the loops take() them.
  template <typename Transport, typename Sum, typename Progress, typename... Loops>
  static void each_row_of_sums(Transport& transport, Sum& sum, const BufferView<typename Sum::Element>& input,
                               typename Sum::Element* output, std::int64_t, std::int64_t length,
                               Progress&& progress, const Loops&... loops) {
    sum.run(transport, input, output, RowsOfSums<Sum, Loops...>(length, loops...), progress);
  }
  template <typename T, typename A, typename B>
  static void product_part(T* c, const A* a, const B* b, const ProductSides& s, std::int64_t row,
                           std::int64_t rows, std::int64_t column, std::int64_t columns) {
    matrix_product(Matrix<T>{c, s.columns}.from(row, column), Matrix<const A>{a, s.inner}.from(row, 0),
                   Matrix<const B>{b, s.columns}.from(s.second_row(row), column), rows, s.inner, columns);
  }
  // Partial products, added one after the other: each is a range of the summed dimension, from `from` on.
  // After the last one, the sums are stored to c.
  template <typename T, typename A, typename B>
  class Summands {
   public:
    Summands(HostDevice&, T* c, const A* a, const B* b, const ProductSides& sides)
        : c_(c), a_(a), b_(b), s_(sides), sums_(static_cast<std::size_t>(s_.rows * s_.columns)) {}
    void add(std::int64_t from, std::int64_t count) {
      add_product(Matrix<R>{sums_.data(), s_.columns}, Matrix<const A>{a_, s_.inner}.from(0, from),
                  Matrix<const B>{b_, s_.columns}.from(from, 0), s_.rows, count, s_.columns);
    }
    void put() {
      put_rounded(Matrix<T>{c_, s_.columns}, Matrix<const R>{sums_.data(), s_.columns}, s_.rows, s_.columns);
    }

   private:
    using R = Real<T>;
    T* const c_;
    const A* const a_;
    const B* const b_;
    const ProductSides s_;
    std::vector<R> sums_;
  };

  // Parts of a convolution: channels of an image.
  template <typename T, typename A, typename B>
  class ImageParts {
   public:
    ImageParts(HostDevice&, T* c, const A* images, const B* kernels, const ConvolutionSides& sides)
        : c_(c),
          images_(images),
          kernels_(kernels),
          s_(sides),
          patches_(static_cast<std::size_t>(s_.inner() * s_.out_image() + 1)) {}
    void make(std::int64_t image, std::int64_t output, std::int64_t outputs) {
      if (image != image_) patches_of(patches_.data(), images_ + image * s_.image(), s_);
      image_ = image;
      convolution_part(c_, patches_.data(), kernels_, s_, image, output, outputs);
    }

   private:
    T* const c_;
    const A* const images_;
    const B* const kernels_;
    const ConvolutionSides s_;
    std::vector<A> patches_;  // of the last image
    std::int64_t image_ = -1;
  };

  template <typename T, typename A, typename B>
  void convolution(T* c, const A* images, const B* kernels, const ConvolutionSides& sides) {
    ImageParts<T, A, B> parts(*this, c, images, kernels, sides);
    for (std::int64_t n = 0; n < sides.batch; ++n) parts.make(n, 0, sides.outputs);
  }

  // For callers that fill tensors from a host, and read them.
  static void upload(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  static void download(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  static void finish() {}
};

inline HostDevice& HostTransport::device() {
  static HostDevice device;  // has no state
  return device;
}

}  // namespace chorale
