// Ranks of one process on GPUs, for emitted workloads: all of them on one GPU, or dealt over several that
// reach each other's memory. A thread of the host acts for each rank. Each kernel of the workload is one
// launch per GPU, for all ranks there, for which the threads meet: blocks that wait for each other must be
// resident together. C++17, needs nvcc, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/exchange/gpu.h"
#include "tensor/exchange/gpu_exchange.h"

// Set in the Makefile to the choice of the tuner.
#ifndef CHORALE_CHANNELS
#define CHORALE_CHANNELS 0
#endif
#ifndef CHORALE_THREADS
#define CHORALE_THREADS chorale::kMostThreads
#endif

namespace chorale {

struct GpuRankOptions {
  // If more than 1, consecutive ranks share a GPU: equally many on each, or one less on the last ones.
  int gpus = 1;
  int channels = CHORALE_CHANNELS;  // blocks per rank; 0: as many as are resident
  int beside = 0;                   // blocks per rank of the work beside a product; 0: a quarter of these
  int threads = CHORALE_THREADS;    // of a block
  int patience = 60;                // seconds until a wait times out; 0: none does
};

template <int kRanks>
class CudaTransport;

// State that the ranks share.
class CudaRanks {
 public:
  CudaRanks(int ranks, const GpuRankOptions& options)
      : ranks_(ranks), options_(options), numbers_(static_cast<std::size_t>(ranks)) {
    require(options.threads > 0 && options.threads <= kMostThreads && options.threads % 32 == 0,
            "a block has 32 to " + std::to_string(kMostThreads) + " threads, a multiple of 32");
    check(cudaGetDevice(&home_), "cudaGetDevice");
    choose_gpus();
    int processors = 0;
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, home_),
          "cudaDeviceGetAttribute");
    if (options_.channels <= 0) options_.channels = std::max(1, processors / gpus_[0].ranks);
    if (options_.beside <= 0) options_.beside = std::max(1, options_.channels / 4);
    make_doorbells();
  }
  ~CudaRanks() {
    for (const Gpu& gpu : gpus_) {
      if (gpu.recorded != nullptr) cudaGraphExecDestroy(gpu.recorded);
      if (gpu.stream != nullptr) cudaStreamDestroy(gpu.stream);
    }
  }
  CudaRanks(const CudaRanks&) = delete;
  CudaRanks& operator=(const CudaRanks&) = delete;

 private:
  template <int ranks>
  friend class CudaTransport;
  template <int ranks>
  friend void on_cuda_ranks(const GpuRankOptions&, const std::function<void(CudaTransport<ranks>&)>&);
  struct Stopped {};

  // Of all ranks: those of kernels by themselves, and those of kernels beside products, which have fewer
  // channels.
  struct Doorbells {
    GpuMemory<Doorbell> memory = {};    // of the ranks here
    GpuMemory<Doorbell*> by_rank = {};  // of all
  };
  struct Gpu {
    int device = 0, first = 0, ranks = 0;
    cudaStream_t stream = nullptr;
    cudaGraphExec_t recorded = nullptr;
    Doorbells doorbells[2] = {};
    GpuMemory<Trouble> trouble = {};
  };

  int channels(bool beside) const { return beside ? options_.beside : options_.channels; }
  const Gpu& gpu_of(int rank) const {
    const auto is_there = [&](const Gpu& gpu) { return rank < gpu.first + gpu.ranks; };
    return *std::find_if(gpus_.begin(), gpus_.end(), is_there);
  }

  void choose_gpus() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    require(options_.gpus >= 1 && options_.gpus <= ranks_,
            "--gpus: " + std::to_string(ranks_) + " ranks go on 1 to " + std::to_string(ranks_) + " GPUs");
    require(options_.gpus == 1 || options_.gpus <= count,
            "--gpus: there are " + std::to_string(count) + " GPUs, not " + std::to_string(options_.gpus));
    gpus_.resize(static_cast<std::size_t>(options_.gpus));
    for (int g = 0; g < options_.gpus; ++g) {
      const auto begin = [&](int of) { return static_cast<int>(part_begin(ranks_, options_.gpus, of)); };
      Gpu& gpu = gpus_[static_cast<std::size_t>(g)];
      gpu.device = options_.gpus == 1 ? home_ : g;
      gpu.first = begin(g);
      gpu.ranks = begin(g + 1) - begin(g);
    }
    for (const Gpu& gpu : gpus_)
      for (const Gpu& other : gpus_)
        if (gpu.device != other.device) open(gpu.device, other.device);
  }
  // Kernels of the one read and write memory of the other.
  static void open(int device, int other) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, device, other), "cudaDeviceCanAccessPeer");
    require(can != 0, "--gpus: GPU " + std::to_string(device) + " does not reach the memory of GPU " +
                          std::to_string(other) + "; put all ranks on one GPU, or take target nccl");
    check(cudaSetDevice(device), "cudaSetDevice");
    const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
    if (code != cudaErrorPeerAccessAlreadyEnabled)
      check(code, "cudaDeviceEnablePeerAccess");
    else
      cudaGetLastError();  // it stays there otherwise
  }

  // A doorbell lies on the GPU of its rank, and every rank has a list of all.
  void make_doorbells() {
    std::vector<Doorbell*> all[2];
    for (Gpu& gpu : gpus_) {
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      check(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "cudaStreamCreate");
      gpu.trouble = gpu_table(std::vector<Trouble>(1));
      for (const bool beside : {false, true}) {
        const std::int64_t count = std::int64_t{gpu.ranks} * channels(beside);
        GpuMemory<Doorbell>& doorbells = gpu.doorbells[beside].memory;
        doorbells = gpu_memory<Doorbell>(count);
        check(cudaMemset(doorbells.get(), 0, static_cast<std::size_t>(count) * sizeof(Doorbell)),
              "cudaMemset");
        for (int rank = 0; rank < gpu.ranks; ++rank)
          all[beside].push_back(doorbells.get() + std::int64_t{rank} * channels(beside));
      }
    }
    for (Gpu& gpu : gpus_) {
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      for (const bool beside : {false, true}) gpu.doorbells[beside].by_rank = gpu_table(all[beside]);
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // before another GPU reads doorbells here
    }
    check(cudaSetDevice(home_), "cudaSetDevice");
  }

  // Waits until the work of all is done. Throws if a wait of a kernel timed out.
  void finish() {
    for (const Gpu& gpu : gpus_) check(cudaStreamSynchronize(gpu.stream), "the work of a GPU");
    for (const Gpu& gpu : gpus_) {
      Trouble trouble;
      check(cudaMemcpy(&trouble, gpu.trouble.get(), sizeof trouble, cudaMemcpyDeviceToHost), "cudaMemcpy");
      if (trouble.state != 0)
        throw std::runtime_error("rank " + std::to_string(trouble.block) + " has waited for rank " +
                                 std::to_string(trouble.row) + " longer than " +
                                 std::to_string(options_.patience) + " seconds");
    }
  }

  // Between these calls, work that ranks put into streams is recorded as graphs, one per GPU: streams of
  // different GPUs wait for each other only in kernels. Called by one thread.
  void begin_recording() {
    for (const Gpu& gpu : gpus_)
      check(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  }
  void end_recording() {
    for (Gpu& gpu : gpus_) {
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(gpu.stream, &graph), "cudaStreamEndCapture");
      if (gpu.recorded != nullptr) cudaGraphExecDestroy(std::exchange(gpu.recorded, nullptr));
      const cudaError_t code = cudaGraphInstantiate(&gpu.recorded, graph, 0);
      cudaGraphDestroy(graph);
      check(code, "cudaGraphInstantiate");
    }
  }
  void replay() {
    for (const Gpu& gpu : gpus_) check(cudaGraphLaunch(gpu.recorded, gpu.stream), "cudaGraphLaunch");
  }

  // A barrier of all ranks; the last one's action is done before any of them continues.
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

  // All work that a kernel waits for on its GPU is in streams when the ranks meet: so kernels that wait for
  // each other all begin.
  template <int ranks, typename Chain>
  void launch(int rank, const Chain& chain, bool beside) {
    static_assert(std::is_trivially_copyable_v<Chain>, "a kernel is given values");
    using Launch = FusedLaunch<ranks, Chain>;
    static_assert(sizeof(Launch) < 32764, "too many ranks for one launch");
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!pending_) pending_ = std::make_shared<std::vector<Launch>>(gpus_.size());
      const Gpu& gpu = gpu_of(rank);
      const std::size_t g = static_cast<std::size_t>(&gpu - gpus_.data());
      (*static_cast<std::vector<Launch>*>(pending_.get()))[g].chains[rank - gpu.first] = chain;
    }
    meet([&] {
      std::vector<Launch>& all = *static_cast<std::vector<Launch>*>(pending_.get());
      for (std::size_t g = 0; g < gpus_.size(); ++g) {
        const Gpu& gpu = gpus_[g];
        all[g].ground = {
            gpu.doorbells[beside].by_rank.get(),
            {std::uint64_t{1'000'000'000} * static_cast<unsigned>(options_.patience), gpu.trouble.get()},
            channels(beside),
            gpu.first};
        void* arguments[] = {&all[g]};
        check(cudaSetDevice(gpu.device), "cudaSetDevice");
        check(cudaLaunchCooperativeKernel(
                  fused_kernel<ranks, Chain>, dim3(static_cast<unsigned>(gpu.ranks * channels(beside))),
                  dim3(static_cast<unsigned>(options_.threads)), arguments, 0, gpu.stream),
              "a kernel of all ranks (fewer --channels, if they cannot all be resident)");
      }
      pending_.reset();
      check(cudaSetDevice(gpu_of(rank).device), "cudaSetDevice");
    });
  }

  const int ranks_;
  GpuRankOptions options_;
  int home_ = 0;  // the caller's device
  std::vector<Gpu> gpus_ = {};
  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  int arrived_ = 0;
  std::uint64_t meeting_ = 0;
  std::exception_ptr failure_ = {};
  std::shared_ptr<void> pending_ = {};  // the launches that ranks will make
  std::vector<double> numbers_;
};

// One of `kRanks` ranks, in a thread whose device is the rank's.
template <int kRanks>
class CudaTransport {
 public:
  using Device = GpuDevice;

  CudaTransport(CudaRanks& all, int rank) : all_(all), rank_(rank), device_(all.gpu_of(rank).stream) {}

  Device& device() { return device_; }
  int rank() const { return rank_; }
  int ranks() const { return kRanks; }

  // Called by all ranks, with chains of one type. `beside`: while products are computed.
  template <typename Chain>
  void launch(const Chain& chain, bool beside = false) {
    all_.launch<kRanks>(rank_, chain, beside);
  }
  // After sends tile by tile: all are in one stream.
  void finish() {}

  // Records the work that work() puts into streams, for replay() to repeat it. Called by all ranks; no memory
  // may be allocated meanwhile, so the work has been done once before.
  template <typename Work>
  void record(const Work& work) {
    all_.meet([] {});
    if (rank_ == 0) all_.begin_recording();
    all_.meet([] {});
    work();
    all_.meet([] {});
    if (rank_ == 0) all_.end_recording();
    all_.meet([] {});
  }
  void replay() {
    all_.meet([&] { all_.replay(); });
  }

  // The work of all is done.
  void barrier() {
    all_.meet([&] { all_.finish(); });
  }
  // By rank.
  std::vector<double> all(double mine) {
    all_.numbers_[static_cast<std::size_t>(rank_)] = mine;
    all_.meet([] {});
    const std::vector<double> result = all_.numbers_;
    all_.meet([] {});  // before any rank writes again
    return result;
  }

 private:
  CudaRanks& all_;
  const int rank_;
  GpuDevice device_;
};

// Runs a function in one thread per rank, and waits for all. An exception of one stops the others at their
// next meeting, and is rethrown.
template <int ranks>
void on_cuda_ranks(const GpuRankOptions& options, const std::function<void(CudaTransport<ranks>&)>& each) {
  CudaRanks all(ranks, options);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&all, &each, rank] {
      try {
        check(cudaSetDevice(all.gpu_of(rank).device), "cudaSetDevice");
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
