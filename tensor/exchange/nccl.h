// Ranks with one GPU each, over NCCL, for emitted workloads: all work of a rank goes into one stream. The
// messages of a step are a group of sends and receives, sums and loops are kernels after it, so nothing waits
// on the host. C++17, needs nvcc and NCCL, and is copied into emitted programs.
#pragma once

#include <nccl.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/nccl_group.h"
#include "tensor/exchange/device.h"
#include "tensor/exchange/gpu.h"

namespace chorale {

inline void check(ncclResult_t code, const char* what) {
  if (code != ncclSuccess) throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(code));
}

// Operands of one sum: more are added up in several.
template <typename T>
struct SumOperands {
  static constexpr int kMost = 4;
  BufferView<T> at[kMost];
  int count;
};

// The sum of `operands` into `to` (where `stores`), and into the loop, from its element `index` on; blocks
// before those of this launch have kept totals already.
template <typename T, Combination op, typename Loop>
__global__ void __launch_bounds__(256)
    sum_kernel(const __grid_constant__ SumOperands<T> operands, const __grid_constant__ BufferView<T> to,
               bool stores, const __grid_constant__ Loop loop, std::int64_t index, std::int64_t count,
               int before) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     threads = std::int64_t{gridDim.x} * blockDim.x;
  double totals[Loop::kTotals + 1];
  if constexpr (Loop::kTotals > 0) Loop::start(totals);
  bool together = !stores || to.is_together();
  for (int k = 0; k < operands.count; ++k) together = together && operands.at[k].is_together();
  const auto one = [&](auto width, std::int64_t e) {
    constexpr int count_at_once = decltype(width)::value;
    Pack<T, count_at_once> sum = {};
    CHORALE_UNROLL
    for (int k = 0; k < SumOperands<T>::kMost; ++k) {
      if (k >= operands.count) break;
      const Pack<T, count_at_once> more = pack_at<count_at_once>(operands.at[k].element(e));
      CHORALE_UNROLL
      for (int i = 0; i < count_at_once; ++i)
        sum.of[i] = k == 0 ? more.of[i] : combined<op>(sum.of[i], more.of[i]);
    }
    if (stores) store_pack(to.element(e), sum);
    if constexpr (!std::is_same_v<Loop, NoSumFunction>)
      loop.template pack<count_at_once>(index + e, sum, totals);
  };
  if (together)
    for_packs<kWidthOf<T>>(0, count, thread, threads, one);
  else
    for (std::int64_t e = thread; e < count; e += threads) one(Width<1>(), e);
  if constexpr (Loop::kTotals > 0)
    loop.finish(totals,
                KernelTeam{before + static_cast<int>(blockIdx.x), before + static_cast<int>(gridDim.x),
                           static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)});
}

// An exchange whose steps are in a stream. Scattered tensors are sent and received in one piece.
template <typename T, Combination op>
class StreamExchange : public ExchangePlan {
 public:
  using Element = T;

  template <typename... Rest>
  StreamExchange(const OwnedTables& tables, Rest&&... rest)
      : ExchangePlan(sizeof(T), tables, std::forward<Rest>(rest)...) {
    round_each(is_short<T>);
  }

  template <typename Transport, typename Loop = NoSumFunction, typename Progress = NoProgress>
  void run(Transport& transport, const BufferView<T>& input, const BufferView<T>& output,
           const Loop& loop = {}, Progress progress = {}) {
    prepare();
    GpuDevice& device = transport.device();
    const BufferView<T> buffers[] = {input, output, BufferView<T>(scratch_.get())};
    int kept = 0;  // blocks that have left totals
    if constexpr (Loop::kTotals > 0) {
      add(device, {}, {}, false, loop, 0, 0, 0, 1);
      kept = 1;
    }
    for (const Step& step : steps_) {
      T* aside = aside_.get();
      std::vector<Delivery> sends, receives;
      // Where the elements of a message lie, or, if they are scattered, aside.
      const auto place = [&](std::vector<Delivery>& list, const OwnMessage& m, const Span& at) {
        const BufferView<T>& lies = buffers[at.buffer];
        const bool together = lies.is_together();
        list.push_back({peers_.rank(m.peer), m.row, together ? lies.at(at.begin) : aside, at.count * size_});
        if (!together) aside += at.count;
        return BufferView<T>(static_cast<T*>(list.back().data));
      };
      for (const OwnMessage& m : step.sends) {
        if (m.from.buffer == 0) progress.needs(m.from.begin, m.from.count);
        const BufferView<T> to = place(sends, m, m.from);
        if (const BufferView<T>& from = buffers[m.from.buffer]; !from.is_together())
          copy(device, from, m.from.begin, to, 0, m.from.count);
      }
      for (const OwnMessage& m : step.receives) place(receives, m, m.to);
      transport.exchange(sends, receives);
      for (std::size_t i = 0; i < receives.size(); ++i)
        if (const Span& at = step.receives[i].to; !buffers[at.buffer].is_together())
          copy(device, BufferView<T>(static_cast<T*>(receives[i].data)), 0, buffers[at.buffer], at.begin,
               at.count);
      for (const OwnSum& sum : step.sums) {
        std::vector<BufferView<T>> operands;
        for (const Span& from : sum.from) {
          if (from.buffer == 0) progress.needs(from.begin, sum.to.count);
          const Span& at = from.receive < 0 ? from : step.receives[static_cast<std::size_t>(from.receive)].to;
          operands.push_back(buffers[at.buffer].from(at.begin));
        }
        add_up(device, sum, operands, buffers, loop, kept);
      }
      for (const Span& at : step.finished) progress.has(at.begin, at.count);
    }
  }

 private:
  void prepare() {
    if (scratch_) return;
    std::int64_t aside = 0, longest = 0;
    for (const Step& step : steps_) {
      std::int64_t count = 0;
      for (const OwnMessage& m : step.sends) count += m.from.count;
      for (const OwnMessage& m : step.receives) count += m.to.count;
      aside = std::max(aside, count);
      for (const OwnSum& sum : step.sums) longest = std::max(longest, sum.to.count);
      for (const OwnSum& sum : step.sums) completing_ += sum.completes != 0 ? 1 : 0;
    }
    scratch_ = std::shared_ptr<T>(gpu_memory<T>(scratch_elements()).release(), GpuFree());
    aside_ = std::shared_ptr<T>(gpu_memory<T>(aside).release(), GpuFree());
    partial_ = std::shared_ptr<T>(gpu_memory<T>(longest).release(), GpuFree());
  }
  template <typename Loop>
  void add_up(GpuDevice& device, const OwnSum& sum, std::vector<BufferView<T>> operands,
              const BufferView<T>* buffers, const Loop& loop, int& kept) {
    constexpr std::size_t most = SumOperands<T>::kMost;
    const std::int64_t count = sum.to.count;
    // If there are too many operands, partial sums are made in separate memory; each element by the thread
    // that reads it.
    while (operands.size() > most) {
      const BufferView<T> partial(partial_.get());
      add(device, {operands.begin(), operands.begin() + most}, partial, true, NoSumFunction(), 0, count, 0,
          blocks(count));
      operands.erase(operands.begin(), operands.begin() + most - 1);
      operands[0] = partial;
    }
    const bool stores = sum.completes != 1;
    const BufferView<T> to = stores ? buffers[sum.to.buffer].from(sum.to.begin) : BufferView<T>();
    if (sum.completes == 0)
      return add(device, operands, to, true, NoSumFunction(), 0, count, 0, blocks(count));
    const int here = Loop::kTotals > 0 ? std::max(1, std::min(blocks(count), 4096 / std::max(1, completing_)))
                                       : blocks(count);
    add(device, operands, to, stores, loop, sum.index, count, kept, here);
    kept += here;
  }
  template <typename Loop>
  static void add(GpuDevice& device, const std::vector<BufferView<T>>& operands, const BufferView<T>& to,
                  bool stores, const Loop& loop, std::int64_t index, std::int64_t count, int before,
                  int blocks) {
    SumOperands<T> given = {};
    given.count = static_cast<int>(operands.size());
    std::copy(operands.begin(), operands.end(), given.at);
    device.launch(sum_kernel<T, op, Loop>, blocks, 256, given, to, stores, loop, index, count, before);
  }
  static void copy(GpuDevice& device, const BufferView<T>& from, std::int64_t from_begin,
                   const BufferView<T>& to, std::int64_t to_begin, std::int64_t count) {
    add(device, {from.from(from_begin)}, to.from(to_begin), true, NoSumFunction(), 0, count, 0,
        blocks(count));
  }
  static int blocks(std::int64_t count) {
    return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(1024, (count + 1023) / 1024)));
  }

  int completing_ = 0;  // sums that go to the loop
  std::shared_ptr<T> scratch_ = {}, aside_ = {}, partial_ = {};
};

// A GPU whose communications are steps in its stream, and so are kernels, one launch after the other.
class NcclDevice : public GpuDevice, public PhaseByPhase {
 public:
  using GpuDevice::GpuDevice;
  using PhaseByPhase::phase, PhaseByPhase::run, PhaseByPhase::send_on, PhaseByPhase::send_tile,
      PhaseByPhase::all_to_all_v;

  template <typename T, Combination op>
  using Exchange = StreamExchange<T, op>;
};

class NcclTransport : public Transport {
 public:
  using Device = NcclDevice;

  // The caller owns the communicator and the stream; both are of the current device.
  NcclTransport(ncclComm_t comm, cudaStream_t stream) : comm_(comm), device_(stream) {
    check(ncclCommUserRank(comm, &rank_), "ncclCommUserRank");
    check(ncclCommCount(comm, &ranks_), "ncclCommCount");
    numbers_ = gpu_memory<double>(ranks_ + 1);
  }

  Device& device() { return device_; }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    if (sends.empty() && receives.empty() && posted_.empty()) return;
    NcclGroup group(nccl_, comm_, device_.stream());
    for (Delivery& receive : receives) {
      group.receive(receive.data, receive.bytes, receive.peer);
      receive.at = receive.data;
    }
    for (const Delivery& send : sends) group.send(send.data, send.bytes, send.peer);
    // Together with posted sends: a tile may go to the rank that this rank's tile comes from.
    for (const Delivery& send : posted_) group.send(send.data, send.bytes, send.peer);
    posted_.clear();
    const ncclResult_t code = group.end();
    check(code, group.failed().c_str());
  }

  std::vector<double> all(double mine) override {
    double* const memory = numbers_.get();
    device_.upload(memory, &mine, sizeof mine);
    check(ncclAllGather(memory, memory + 1, 1, ncclFloat64, comm_, device_.stream()), "ncclAllGather");
    std::vector<double> numbers(static_cast<std::size_t>(ranks_));
    device_.download(numbers.data(), memory + 1, numbers.size() * sizeof(double));
    return numbers;
  }

 private:
  const NcclCalls nccl_ = linked_nccl();
  ncclComm_t comm_;
  int rank_ = 0, ranks_ = 1;
  NcclDevice device_;
  GpuMemory<double> numbers_ = {};
};

// One thread per rank, each with a GPU or, where NCCL allows it, with a share of one. Calls the function, and
// waits for all; throws what the first one threw.
inline void on_nccl_ranks(int ranks, const std::function<void(NcclTransport&)>& each) {
  // To load a kernel at its first launch may take until all work of the GPU has ended. Read when CUDA begins.
  if (ranks_may_share()) setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  const std::string too_few = too_few_gpus(devices, ranks);
  require(too_few.empty(), too_few);
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  std::vector<std::vector<void*>> memory(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      if (devices < ranks) freed_later() = &memory[static_cast<std::size_t>(rank)];
      ncclComm_t comm = nullptr;
      cudaStream_t stream = nullptr;
      try {
        check(cudaSetDevice(rank % devices), "cudaSetDevice");
        check(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
        NcclTransport transport(comm, stream);
        each(transport);
        transport.device().finish();
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
        if (comm != nullptr) ncclCommAbort(comm), comm = nullptr;  // others wait for this rank
      }
      if (stream != nullptr) cudaStreamDestroy(stream);
      if (comm != nullptr) ncclCommDestroy(comm);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<void*>& of_rank : memory)
    for (void* each : of_rank) cudaFree(each);
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace chorale
