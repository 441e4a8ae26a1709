// Ranks of one process on GPUs, for emitted workloads: all of them on one GPU, or one on each. A thread of the host speaks for
// each rank. Each kernel of the workload is one launch: on one GPU that of all ranks, for which the threads meet, since
// blocks that wait for each other must be resident together; on several GPUs one each. C++17, needs nvcc, and goes along with
// what is emitted.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/workload_gpu.h"

namespace chorale {

struct GpuRankOptions {
  int channels = 0;            // blocks a rank; 0: as many as are resident
  int threads = kMostThreads;  // of a block
  double patience = 60;        // seconds until a wait is in vain
};

template <int kRanks>
class CudaTransport;

// What they share.
class CudaRanks {
 public:
  CudaRanks(int ranks, const GpuRankOptions& options)
      : ranks_(ranks), options_(options), numbers_(static_cast<std::size_t>(ranks)) {
    require(options.threads > 0 && options.threads <= kMostThreads && options.threads % 32 == 0,
            "a block has 32 to " + std::to_string(kMostThreads) + " threads, a multiple of 32");
    int device = 0, processors = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
    if (options_.channels <= 0) options_.channels = std::max(1, processors / ranks);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    const std::int64_t count = std::int64_t{ranks} * options_.channels;
    memory_ = gpu_memory<Door>(count);
    check(cudaMemset(memory_.get(), 0, static_cast<std::size_t>(count) * sizeof(Door)), "cudaMemset");
    std::vector<Door*> doors;
    for (int rank = 0; rank < ranks; ++rank)
      doors.push_back(memory_.get() + std::int64_t{rank} * options_.channels);
    doors_ = gpu_table(doors);
    trouble_ = gpu_table(std::vector<Trouble>(1));
  }
  ~CudaRanks() { cudaStreamDestroy(stream_); }
  CudaRanks(const CudaRanks&) = delete;
  CudaRanks& operator=(const CudaRanks&) = delete;

  // Throws where a kernel has waited in vain.
  void require_no_trouble() {
    Trouble trouble;
    check(cudaMemcpy(&trouble, trouble_.get(), sizeof trouble, cudaMemcpyDeviceToHost), "cudaMemcpy");
    if (trouble.state != 0)
      throw std::runtime_error("rank " + std::to_string(trouble.block) + " has waited for rank " +
                               std::to_string(trouble.row) + " longer than " +
                               std::to_string(options_.patience) + " seconds");
  }

 private:
  template <int ranks>
  friend class CudaTransport;
  template <int ranks>
  friend void on_cuda_ranks(const GpuRankOptions&, const std::function<void(CudaTransport<ranks>&)>&);
  struct Stopped {};

  // All ranks come here; what the last one does is done before any of them goes on.
  template <typename Last>
  void meet(Last last) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (failure_) throw Stopped();
    if (++arrived_ < ranks_) {
      const std::uint64_t meeting = meeting_;
      changed_.wait(lock, [&] { return failure_ || meeting_ != meeting; });
      if (meeting_ == meeting) throw Stopped();
      return;
    }
    arrived_ = 0;
    last();
    ++meeting_;
    changed_.notify_all();
  }
  void stop(std::exception_ptr why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = why;
    changed_.notify_all();
  }

  template <int ranks, typename Chain>
  void launch(int rank, const Chain& chain) {
    static_assert(std::is_trivially_copyable_v<Chain>, "a kernel is given values");
    static_assert(sizeof(FusedLaunch<ranks, Chain>) < 32764, "too many ranks for one launch");
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!pending_) pending_ = std::make_shared<FusedLaunch<ranks, Chain>>();
      static_cast<FusedLaunch<ranks, Chain>*>(pending_.get())->chains[rank] = chain;
    }
    meet([&] {
      FusedLaunch<ranks, Chain>& all = *static_cast<FusedLaunch<ranks, Chain>*>(pending_.get());
      all.ground = {doors_.get(),
                    {static_cast<std::uint64_t>(options_.patience * 1e9), trouble_.get()},
                    options_.channels,
                    0};
      void* arguments[] = {&all};
      const cudaError_t code = cudaLaunchCooperativeKernel(
          fused_kernel<ranks, Chain>, dim3(static_cast<unsigned>(ranks * options_.channels)),
          dim3(static_cast<unsigned>(options_.threads)), arguments, 0, stream_);
      pending_.reset();
      check(code, "a kernel of all ranks (fewer --channels, if they cannot all be resident)");
    });
  }

  const int ranks_;
  GpuRankOptions options_;
  cudaStream_t stream_ = nullptr;
  GpuMemory<Door> memory_ = {};
  GpuMemory<Door*> doors_ = {};
  GpuMemory<Trouble> trouble_ = {};
  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  int arrived_ = 0;
  std::uint64_t meeting_ = 0;
  std::exception_ptr failure_ = {};
  std::shared_ptr<void> pending_ = {};  // the launch that ranks are coming to
  std::vector<double> numbers_;
};

// One of so many ranks on one GPU.
template <int kRanks>
class CudaTransport {
 public:
  using Device = GpuDevice;

  CudaTransport(CudaRanks& all, int rank) : all_(all), rank_(rank), device_(all.stream_) {}

  Device& device() { return device_; }
  int rank() const { return rank_; }
  int ranks() const { return kRanks; }

  // By all ranks, with chains of one type.
  template <typename Chain>
  void launch(const Chain& chain) {
    all_.launch<kRanks>(rank_, chain);
  }
  // After what was sent tile by tile: it is all in one stream.
  void finish() {}

  // The work of all is done.
  void barrier() {
    all_.meet([&] {
      device_.finish();
      all_.require_no_trouble();
    });
  }
  // By rank.
  std::vector<double> all(double mine) {
    all_.numbers_[static_cast<std::size_t>(rank_)] = mine;
    all_.meet([] {});
    const std::vector<double> result = all_.numbers_;
    all_.meet([] {});  // before anyone writes again
    return result;
  }

 private:
  CudaRanks& all_;
  const int rank_;
  GpuDevice device_;
};

// Runs a function in a thread a rank, and waits for all. What one throws stops the others where they meet, and is thrown on.
template <int ranks>
void on_cuda_ranks(const GpuRankOptions& options, const std::function<void(CudaTransport<ranks>&)>& each) {
  CudaRanks all(ranks, options);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&all, &each, rank] {
      try {
        CudaTransport<ranks> transport(all, rank);
        each(transport);
        transport.barrier();
      } catch (const CudaRanks::Stopped&) {
      } catch (...) {
        all.stop(std::current_exception());
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (all.failure_) std::rethrow_exception(all.failure_);
}

}  // namespace chorale
