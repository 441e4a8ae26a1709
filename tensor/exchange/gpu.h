// A GPU as the device of a workload (specified in device.h): all work of a rank goes into
// one stream, in the order of the calls, but for products beside communication, which go into a second one.
// Events mark when the tiles that a communication sends are made, and when the inputs of a tile have arrived.
// So the host never waits, and no kernel waits for work that is not yet in a stream. Needs nvcc; C++17, and
// is copied into emitted programs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef CHORALE_CUBLAS
#include <cublas_v2.h>
#endif

#include "runtime/exchange/gpu_memory.h"
#include "tensor/exchange/blas.h"
#include "tensor/exchange/exchange.h"
#include "tensor/exchange/fused.h"
#include "tensor/exchange/kernels.h"
#include "tensor/exchange/overlap.h"
#include "tensor/exchange/parts.h"
#include "tensor/exchange/rows.h"

namespace chorale {

// Products on a GPU by cuBLAS, with -DCHORALE_CUBLAS (and -lcublas); without, none is, and a plain kernel
// does them (kernels.h).
#ifdef CHORALE_CUBLAS
class GpuBlas {
 public:
  GpuBlas() = default;
  ~GpuBlas() {
    if (handle_ != nullptr) cublasDestroy(handle_);
  }
  GpuBlas(const GpuBlas&) = delete;
  GpuBlas& operator=(const GpuBlas&) = delete;

  template <typename T, typename A, typename B>
  static constexpr bool has() {
    return (std::is_same_v<T, A> || std::is_same_v<T, Real<A>>)&&std::is_same_v<A, B> &&
           !std::is_integral_v<T> && !std::is_integral_v<A> && sizeof(A) > 1;
  }
  // cuBLAS stores columns where emitted programs store rows: the transposed product of transposed factors.
  // Sums are made in float for 16-bit floats. `adds`: to what is there.
  template <typename T, typename A>
  void product(cudaStream_t stream, Matrix<T> c, Matrix<const A> a, Matrix<const A> b, std::int64_t rows,
               std::int64_t inner, std::int64_t columns, bool adds) {
    if (handle_ == nullptr) check(cublasCreate(&handle_));
    check(cublasSetStream(handle_, stream));
    using R = Real<T>;
    const R one = 1, before = adds ? 1 : 0;
    check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(columns), static_cast<int>(rows),
                       static_cast<int>(inner), &one, b.at, type<A>(), static_cast<int>(b.row), a.at,
                       type<A>(), static_cast<int>(a.row), &before, c.at, type<T>(), static_cast<int>(c.row),
                       std::is_same_v<R, double> ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT));
  }

 private:
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLAS reports error " + std::to_string(static_cast<int>(status)));
  }
  template <typename T>
  static constexpr cudaDataType_t type() {
    return std::is_same_v<T, double>     ? CUDA_R_64F
           : std::is_same_v<T, Float16>  ? CUDA_R_16F
           : std::is_same_v<T, Bfloat16> ? CUDA_R_16BF
                                         : CUDA_R_32F;
  }

  cublasHandle_t handle_ = nullptr;
};
#else
struct GpuBlas {
  template <typename T, typename A, typename B>
  static constexpr bool has() {
    return false;
  }
  template <typename... Arguments>
  void product(const Arguments&...) {}
};
#endif

// The worker of a GPU (overlap.h): events in place of a thread.
//
// Tiles are put into the stream of products as soon as their operands are in a stream: the host goes through
// all of it once, in the order in which a worker of a host would.
template <typename Device>
class GpuTileWorker {
 public:
  GpuTileWorker(Device& device, TileGrid operand, TileGrid result, std::vector<TileWork> work,
                std::function<void(int)> make, bool in_order)
      : device_(device),
        tiles_(std::move(operand), std::move(result), std::move(work), in_order),
        make_(std::move(make)),
        place_(static_cast<std::size_t>(tiles_.tiles())) {}
  GpuTileWorker(const GpuTileWorker&) = delete;
  GpuTileWorker& operator=(const GpuTileWorker&) = delete;

  void start(const ElementParts& needed = {}) {
    device_.products_follow(kFollows);
    tiles_.start(needed);
    make();
  }
  void finish() {
    if (!tiles_.all_made()) throw std::logic_error("a tile waits for what does not come");
    device_.products_reached(kEnds);
    device_.wait_for(kEnds);
  }

  Arrivals<GpuTileWorker> arrivals() { return {*this}; }
  Demands<GpuTileWorker> demands() { return {*this}; }

  void arrived(std::int64_t begin, std::int64_t count) {
    tiles_.arrived(begin, count);
    if (!tiles_.has_next()) return;
    device_.products_follow(kFollows);
    make();
  }
  void wait_for(std::int64_t begin, std::int64_t count) {
    std::size_t last = 0;
    tiles_.for_each_tile(begin, count, [&](int tile) {
      if (!tiles_.is_made(tile)) throw std::logic_error("a tile is needed before its operands");
      last = std::max(last, place_[static_cast<std::size_t>(tile)]);
    });
    if (last <= waited_) return;  // those before it in the stream are made, too
    device_.wait_for(kEnds + static_cast<int>(last));
    waited_ = last;
  }

 private:
  // Events: one that products wait for; their end; those of tiles follow. Each is always recorded in the same
  // stream.
  static constexpr int kFollows = 0, kEnds = 1;

  void make() {
    while (tiles_.has_next()) {
      const int k = tiles_.take();
      device_.beside([&] { make_(k); });
      if (!tiles_.made(k)) continue;
      place_[static_cast<std::size_t>(tiles_.work(k).makes)] = ++tiles_made_;
      device_.products_reached(kEnds + static_cast<int>(tiles_made_));
    }
  }

  Device& device_;
  TileQueue tiles_;
  const std::function<void(int)> make_;
  std::vector<std::size_t> place_;  // of tiles in the stream, from 1
  std::size_t tiles_made_ = 0, waited_ = 0;
};

template <typename T, Combination op>
class GpuExchange;

class GpuDevice : public ProductsByParts<GpuDevice> {
 public:
  // Communications marked to overlap run one after the other, in the stream.
  static constexpr bool kTileByTile = false;

  // Work goes into this stream, which the caller owns.
  explicit GpuDevice(cudaStream_t stream) : stream_(stream) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
  }
  ~GpuDevice() {
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
    if (beside_ != nullptr) cudaStreamDestroy(beside_);
  }
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  cudaStream_t stream() const { return stream_; }

  using Worker = GpuTileWorker<GpuDevice>;
  Worker worker(TileGrid operand, TileGrid result, std::vector<TileWork> work, std::function<void(int)> make,
                bool in_order = false) {
    return Worker(*this, std::move(operand), std::move(result), std::move(work), std::move(make), in_order);
  }

  // Work that `work` enqueues goes into the stream of products.
  template <typename Work>
  void beside(const Work& work) {
    into_ = products_stream();
    work();
    into_ = stream_;
  }
  // One stream waits for the work enqueued in the other.
  void products_follow(int event) { follow(products_stream(), stream_, event); }
  // wait_for(event) waits for it.
  void products_reached(int event) {
    check(cudaEventRecord(this->event(event), products_stream()), "cudaEventRecord");
  }
  void wait_for(int event) {
    check(cudaStreamWaitEvent(stream_, this->event(event), 0), "cudaStreamWaitEvent");
  }

  template <typename T>
  using Memory = GpuMemory<T>;
  template <typename T>
  static Memory<T> memory(std::int64_t elements) {
    return gpu_memory<T>(elements);
  }
  template <typename T, Combination op>
  using Exchange = GpuExchange<T, op>;

  template <typename T>
  class Held {
   public:
    explicit Held(GpuDevice& device) : device_(device), memory_(gpu_memory<T>(1)) {}
    const T* at(const T& value) {
      device_.launch(set_kernel<T>, 1, 32, memory_.get(), value);
      return memory_.get();
    }

   private:
    GpuDevice& device_;
    GpuMemory<T> memory_;
  };

  template <Combination op>
  class Total {
   public:
    explicit Total(GpuDevice& device) : device_(device), slots_(gpu_memory<double>(kMostTotals)) {}
    double* start() { return slots_.get(); }
    template <typename T>
    void store(T* to) {
      device_.launch(total_kernel<op, T>, 1, 32, static_cast<const double*>(slots_.get()), to);
    }

   private:
    GpuDevice& device_;
    GpuMemory<double> slots_;
  };

  template <typename T>
  ScatteredView<T> view(const Scattered<T>& scattered) {
    std::shared_ptr<void>& elsewhere = scattered.elsewhere();
    if (!elsewhere)
      elsewhere = std::make_shared<Table<T>>(Table<T>{
          gpu_table(scattered.tensors()), gpu_table(scattered.begins()), gpu_table(scattered.table())});
    const Table<T>& table = *static_cast<const Table<T>*>(elsewhere.get());
    return {table.tensors.get(), table.begins.get(), table.table.get(), scattered.elements()};
  }

  template <typename Exchange, typename Loop = NoSumFunction>
  static auto phase(Exchange& exchange, const BufferView<typename Exchange::Element>& input,
                    const BufferView<typename Exchange::Element>& output, const Loop& loop = {}) {
    return exchange.phase(input, output, loop);
  }
  template <typename Loop>
  static LoopPhase<Loop> phase(const Loop& loop) {
    return {loop};
  }
  template <typename Transport, typename... Phases>
  static void run(Transport& transport, const Phases&... phases) {
    transport.launch(chain(phases...));
  }
  template <typename First, typename... Rest>
  static FusedChain<First, Rest...> chain(const First& first, const Rest&... rest) {
    if constexpr (sizeof...(Rest) == 0)
      return {first, {}};
    else
      return {first, chain(rest...)};
  }

  // All ranks take part, also those that neither send nor receive.
  template <typename Transport, typename Counted, typename T>
  static void all_to_all_v(Transport& transport, Counted& exchange, const T* input,
                           const std::int32_t* counts, T* output) {
    transport.launch(chain(CountedPhase<T>{exchange.rows(), input, counts, output}));
  }
  template <typename Transport, typename T>
  static void send_on(Transport& transport, int to, int from, const T* input, std::int64_t, T* output,
                      std::int64_t output_elements) {
    transport.launch(chain(SendPhase<T>{to, from, input, output, output_elements}));
  }
  template <typename Transport, typename T>
  static void send_tile(Transport& transport, int to, int from, const T* input, std::int64_t input_elements,
                        T* output, std::int64_t output_elements, int tile, int tiles) {
    const std::int64_t begin = part_begin(output_elements, tiles, tile),
                       end = part_begin(output_elements, tiles, tile + 1);
    send_on(transport, to, from, input + part_begin(input_elements, tiles, tile), input_elements,
            output + begin, end - begin);
  }

  template <typename Loop>
  void each(const Loop& loop, std::int64_t begin, std::int64_t count) {
    if (count > 0 || Loop::kTotals > 0)
      launch(loop_kernel<Loop>, blocks(count, 256 * Loop::kWidth), 256, loop, begin, count);
  }
  template <typename T>
  void copy(T* to, const T* from, std::int64_t count) {
    if (count > 0)
      check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyDeviceToDevice,
                            into_),
            "cudaMemcpyAsync");
  }
  template <typename T>
  void clear(T* at, std::int64_t count) {
    if (count > 0)
      check(cudaMemsetAsync(at, 0, static_cast<std::size_t>(count) * sizeof(T), into_), "cudaMemsetAsync");
  }
  template <typename T>
  void copy_slice(T* slice, const T* whole, const Share& part) {
    slices(slice, const_cast<T*>(whole), part, 0, part.elements(), false);
  }
  template <typename T>
  void fill(const SlicedBlocks& slices, T* blocks, const T* tensor, std::int64_t begin, std::int64_t count) {
    slices.for_each_slice(begin, count,
                          [&](std::int64_t at, const Share& part, std::int64_t first, std::int64_t n) {
                            this->slices(blocks + at, const_cast<T*>(tensor), part, first, n, false);
                          });
  }
  template <typename T>
  void empty(const SlicedBlocks& slices, T* tensor, const T* blocks, std::int64_t begin, std::int64_t count) {
    slices.for_each_slice(begin, count,
                          [&](std::int64_t at, const Share& part, std::int64_t first, std::int64_t n) {
                            this->slices(const_cast<T*>(blocks) + at, tensor, part, first, n, true);
                          });
  }

  template <typename T>
  void copy_box(T* to, const T* from, const ElementBox& box) {
    if (box.elements > 0) launch(box_kernel<T>, blocks(box.elements, 256), 256, to, from, box);
  }
  template <typename T>
  void gather_rows(T* to, const T* from, const std::int32_t* numbers, std::int64_t count, std::int64_t rows,
                   std::int64_t length) {
    launch(gather_kernel<T>, blocks(count * length, 256), 256, to, from, numbers, count, rows, length);
  }
  template <typename T>
  void put_rows(T* to, const T* from, const std::int32_t* numbers, std::int64_t count, std::int64_t rows,
                std::int64_t length) {
    launch(put_kernel<T>, blocks(length, 256), 256, to, from, numbers, count, rows, length);
  }
  template <typename T>
  void scatter_rows(T* to, const T* from, const std::int32_t* numbers, std::int64_t count, std::int64_t rows,
                    std::int64_t length) {
    launch(scatter_kernel<T>, blocks(length, 256), 256, to, from, numbers, count, rows, length);
  }
  template <Combination op, typename T, typename A>
  void reduce_along(T* to, const A* from, const AlongSides& sides) {
    const std::int64_t results = sides.outer * sides.inner;
    launch(along_kernel<op, T, A>, blocks(results * (sides.inner == 1 ? kLanes : 1), 256), 256, to, from,
           sides);
  }
  template <Combination op, typename T>
  void scan_along(T* to, const T* from, const AlongSides& s, std::int64_t) {
    launch(scan_kernel<op, T>, blocks(s.outer * s.inner, 256), 256, to, from, s);
  }
  template <typename A>
  void top_k(std::int32_t* to, const A* from, const AlongSides& s, std::int64_t count) {
    launch(top_kernel<A>, blocks(s.outer * s.side * s.inner, 256), 256, to, from, s, count);
  }
  template <typename T>
  void take_along(T* to, const T* from, const std::int32_t* numbers, const AlongSides& s,
                  std::int64_t count) {
    launch(take_kernel<T>, blocks(s.outer * count * s.inner, 256), 256, to, from, numbers, s, Divisor(count));
  }
  template <typename... Loops>
  void each_row(std::int64_t rows, std::int64_t length, const Loops&... loops) {
    if (rows > 0)
      launch(rows_kernel<RowChain<Loops...>>, blocks(rows * kLanes, 256), 256, row_chain(loops...), rows,
             length);
  }
  // Sums are stored, and then read row by row.
  template <typename Transport, typename Sum, typename Progress, typename... Loops>
  void each_row_of_sums(Transport& transport, Sum& sum, const BufferView<typename Sum::Element>& input,
                        typename Sum::Element* output, std::int64_t rows, std::int64_t length,
                        const Progress& progress, const Loops&... loops) {
    sum.run(transport, input, output, StoredSums<typename Sum::Element>{output}, progress);
    each_row(rows, length, loops...);
  }
  template <typename T, typename A, typename B>
  void product_part(T* c, const A* a, const B* b, const ProductSides& s, std::int64_t row, std::int64_t rows,
                    std::int64_t column, std::int64_t columns) {
    product(Matrix<T>{c, s.columns}.from(row, column), Matrix<const A>{a, s.inner}.from(row, 0),
            Matrix<const B>{b, s.columns}.from(s.second_row(row), column), rows, s.inner, columns, false);
  }
  template <typename T, typename A, typename B>
  class Summands {
   public:
    Summands(GpuDevice& device, T* c, const A* a, const B* b, const ProductSides& sides)
        : device_(device),
          c_(c),
          a_(a),
          b_(b),
          s_(sides),
          sums_(static_cast<R*>(device.kept_sums(s_.rows * s_.columns * sizeof(R)))) {}
    void add(std::int64_t from, std::int64_t count) {
      device_.product(Matrix<R>{sums_, s_.columns}, Matrix<const A>{a_, s_.inner}.from(0, from),
                      Matrix<const B>{b_, s_.columns}.from(from, 0), s_.rows, count, s_.columns, added_);
      added_ = true;
    }
    void put() {
      const std::int64_t count = s_.rows * s_.columns;
      device_.launch(round_kernel<T, R>, device_.blocks(count, 256), 256, c_, static_cast<const R*>(sums_),
                     count);
    }

   private:
    using R = Real<T>;
    GpuDevice& device_;
    T* const c_;
    const A* const a_;
    const B* const b_;
    const ProductSides s_;
    R* const sums_;
    bool added_ = false;
  };

  template <typename T, typename A, typename B>
  void convolution(T* c, const A* images, const B* kernels, const ConvolutionSides& s) {
    const std::int64_t count = s.batch * s.outputs * s.out_image();
    launch(convolution_kernel<T, A, B>, blocks(count, 256), 256, c, images, kernels, s, count, s.out_height(),
           s.out_width());
  }
  template <typename T, typename A, typename B>
  class ImageParts {
   public:
    ImageParts(GpuDevice& device, T* c, const A* images, const B* kernels, const ConvolutionSides& sides)
        : device_(device), c_(c), images_(images), kernels_(kernels), s_(sides) {}
    void make(std::int64_t image, std::int64_t output, std::int64_t outputs) {
      ConvolutionSides part = s_;
      part.batch = 1, part.outputs = outputs;
      device_.convolution(c_ + (image * s_.outputs + output) * s_.out_image(), images_ + image * s_.image(),
                          kernels_ + output * s_.inner(), part);
    }

   private:
    GpuDevice& device_;
    T* const c_;
    const A* const images_;
    const B* const kernels_;
    const ConvolutionSides s_;
  };

  // For callers that fill tensors from a host, and read them: these functions wait.
  void upload(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0)
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
    finish();
  }
  void download(void* to, const void* from, std::size_t bytes) {
    finish();
    if (bytes > 0)
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    finish();
  }
  void finish() { check(cudaStreamSynchronize(stream_), "the work of a rank"); }

  template <typename... Parameters, typename... Arguments>
  void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
              const Arguments&... arguments) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.stream = into_;
    check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), "a kernel");
  }

 private:
  static constexpr std::int64_t kMostTotals = 1 << 16;
  template <typename T>
  struct Table {
    GpuMemory<Interval<T>> tensors;
    GpuMemory<std::int64_t> begins;
    GpuMemory<std::int32_t> table;
  };

  // As many as there is work for, and at most as many as can be resident.
  std::int64_t blocks(std::int64_t count, std::int64_t each) const {
    return std::max<std::int64_t>(1, std::min<std::int64_t>((count + each - 1) / each, 8 * processors_));
  }
  template <typename T>
  void slices(T* slice, T* whole, const Share& part, std::int64_t first, std::int64_t count, bool puts) {
    if (count > 0)
      launch(slice_kernel<T>, blocks(count, 256), 256, slice, whole, part.indices(), first, count, puts);
  }
  template <typename T, typename A, typename B>
  void product(Matrix<T> c, Matrix<const A> a, Matrix<const B> b, std::int64_t rows, std::int64_t inner,
               std::int64_t columns, bool adds) {
    if constexpr (GpuBlas::has<T, A, B>())
      if (rows > 0 && inner > 0 && columns > 0)
        return blas_.product(into_, c, a, b, rows, inner, columns, adds);
    if (rows * columns > 0)
      launch(product_kernel<T, A, B>, blocks(rows * columns, 256), 256, c, a, b, rows, inner, columns, adds);
  }

  // For sums in the stream of products, where they follow each other.
  void* kept_sums(std::size_t bytes) {
    if (bytes > sums_bytes_) {
      check(cudaStreamSynchronize(products_stream()), "products");
      sums_ = gpu_memory<char>(static_cast<std::int64_t>(bytes));
      sums_bytes_ = bytes;
    }
    return sums_.get();
  }
  cudaStream_t products_stream() {
    if (beside_ == nullptr)
      check(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), "cudaStreamCreate");
    return beside_;
  }
  // An event may be used again once all waits for it have been enqueued.
  cudaEvent_t event(int number) {
    while (static_cast<int>(events_.size()) <= number) {
      events_.push_back(nullptr);
      check(cudaEventCreateWithFlags(&events_.back(), cudaEventDisableTiming), "cudaEventCreate");
    }
    return events_[static_cast<std::size_t>(number)];
  }
  void follow(cudaStream_t later, cudaStream_t earlier, int number) {
    check(cudaEventRecord(event(number), earlier), "cudaEventRecord");
    check(cudaStreamWaitEvent(later, event(number), 0), "cudaStreamWaitEvent");
  }

  const cudaStream_t stream_;
  cudaStream_t into_ = stream_, beside_ = nullptr;
  GpuBlas blas_ = {};
  std::vector<cudaEvent_t> events_ = {};
  GpuMemory<char> sums_ = {};
  std::size_t sums_bytes_ = 0;
  int processors_ = 1;
};

}  // namespace chorale
