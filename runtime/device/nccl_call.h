// One algorithm as a collective of NCCL's shape: plans for the sizes that were requested, input and output
// that share memory, scratch.
//
// Host code in C++17; it is also copied into emitted programs.
//
// Three cases, by where the buffers lie: apart; in place as NCCL means it, by a plan made for that; and with
// the input copied to scratch first, where the plan would lose what it still needs or where buffers overlap
// otherwise. Each rank decides for itself, since the messages are the same in all three.
//
// Nothing is kept for a communicator: a communicator at the address of a destroyed one is not confused with
// it.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "runtime/device/failure_file.h"
#include "runtime/device/local_work.h"
#include "runtime/device/nccl_steps.h"
#include "runtime/device/step_plan.h"

namespace chorale {

// During its lifetime, the thread may make calls unrelated to streams although a stream is captured.
class Uncaptured {
 public:
  Uncaptured() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~Uncaptured() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Uncaptured(const Uncaptured&) = delete;
  Uncaptured& operator=(const Uncaptured&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Memory in the order of a stream, so that calls on several streams do not share it, and a graph that
// captures a call has its own. A pool keeps what was freed: after the first call of a size it costs little.
class StreamMemory {
 public:
  explicit StreamMemory(cudaStream_t stream) : stream_(stream) {}
  ~StreamMemory() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  cudaError_t allocate(std::size_t bytes) {
    cudaMemPool_t pool = nullptr;
    if (const cudaError_t code = own_pool(&pool); code != cudaSuccess) return code;
    return cudaMallocFromPoolAsync(&data_, bytes, pool, stream_);
  }

  char* data() const { return data_; }

  // Whether the current device supports that.
  static bool available() {
    int device = 0, pools = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device) == cudaSuccess &&
           pools != 0;
  }

 private:
  // Of the current device, as long as the process lives.
  static cudaError_t own_pool(cudaMemPool_t* pool) {
    static std::mutex mutex;
    static std::map<int, cudaMemPool_t> pools;
    int device = 0;
    if (const cudaError_t code = cudaGetDevice(&device); code != cudaSuccess) return code;
    const std::lock_guard<std::mutex> lock(mutex);
    if (pools.count(device) == 0) {
      const Uncaptured uncaptured;
      cudaMemPool_t fresh = nullptr;
      if (const cudaError_t code = make_pool(device, &fresh); code != cudaSuccess) return code;
      pools[device] = fresh;
    }
    *pool = pools[device];
    return cudaSuccess;
  }

  static cudaError_t make_pool(int device, cudaMemPool_t* pool) {
    cudaMemPoolProps wanted = {};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = device;
    if (const cudaError_t code = cudaMemPoolCreate(pool, &wanted); code != cudaSuccess) return code;
    std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    if (const cudaError_t code = cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &all);
        code != cudaSuccess)
      return code;
    // Between GPUs of one process NCCL reads and writes the buffers of a call directly. It can access memory
    // of cudaMalloc; memory of a pool only after this call.
    int devices = 0;
    if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess) return code;
    for (int other = 0; other < devices; ++other) {
      int can = 0;
      if (other == device || cudaDeviceCanAccessPeer(&can, other, device) != cudaSuccess || can == 0)
        continue;
      cudaMemAccessDesc access = {};
      access.location.type = cudaMemLocationTypeDevice;
      access.location.id = other;
      access.flags = cudaMemAccessFlagsProtReadWrite;
      if (const cudaError_t code = cudaMemPoolSetAccess(*pool, &access, 1); code != cudaSuccess) return code;
    }
    return cudaSuccess;
  }

  const cudaStream_t stream_;
  char* data_ = nullptr;
};

// May be used by several threads, one for each rank that lives in this process.
class NcclAlgorithm {
 public:
  // The tables must live as long as this. In place, the input of rank n begins n * `input_shift` blocks after
  // its output (ir/collective_kind.h).
  NcclAlgorithm(const StepTables& tables, int input_shift, const NcclCalls& nccl)
      : tables_(tables), input_shift_(input_shift), nccl_(nccl) {}

  // Enqueues the collective on blocks of `elements` elements; with a time limit, waits for each step (not
  // where the stream is captured). `fault` gets the failure: rank, step, peer, and cause. The scratch of
  // `run` is ignored.
  ncclResult_t run(NcclRun run, std::int64_t elements, std::chrono::milliseconds limit, std::string& fault) {
    std::shared_ptr<const StepPlan> plan = plan_for(run, elements, false);
    const Overlap overlap = overlap_of(run, *plan, elements);
    bool staged = overlap == Overlap::Other;
    if (overlap == Overlap::InPlace) {
      const std::shared_ptr<const StepPlan> in_place = plan_for(run, elements, true);
      staged = !in_place->sound;
      if (!staged) plan = in_place;
    }
    const auto failed = [&](cudaError_t code, const std::string& what) {
      fault = "rank " + std::to_string(run.rank) + ": " + what + ": " + cudaGetErrorString(code);
      return ncclUnhandledCudaError;
    };
    const std::int64_t size = size_of(run.type), input = staged ? (plan->input * size + 255) / 256 * 256 : 0;
    const std::size_t bytes = static_cast<std::size_t>(input + plan->scratch * size);
    StreamMemory memory(run.stream);
    if (bytes > 0)
      if (const cudaError_t code = memory.allocate(bytes); code != cudaSuccess)
        return failed(code, std::to_string(bytes) + " bytes of scratch");
    if (staged) {
      const cudaError_t code =
          cudaMemcpyAsync(memory.data(), run.input, static_cast<std::size_t>(plan->input * size),
                          cudaMemcpyDeviceToDevice, run.stream);
      if (code != cudaSuccess) return failed(code, "a copy of the input");
      run.input = memory.data();
    }
    run.scratch = bytes > 0 ? memory.data() + input : nullptr;
    NcclSteps steps(*plan, nccl_, run);
    const ncclResult_t result = limit.count() > 0 ? steps.run_checked(limit) : steps.enqueue();
    if (result != ncclSuccess) fault = steps.fault();
    return result;
  }

 private:
  enum class Overlap { None, InPlace, Other };
  static constexpr std::size_t kMostPlans = 256;

  std::int64_t shift(int rank, std::int64_t elements) const { return input_shift_ * rank * elements; }

  // As numbers: pointers of different allocations may not be compared.
  Overlap overlap_of(const NcclRun& run, const StepPlan& plan, std::int64_t elements) const {
    const std::int64_t size = size_of(run.type);
    const std::int64_t input = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(run.input)),
                       output = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(run.output));
    if (plan.input == 0 || plan.output == 0 || input + plan.input * size <= output ||
        output + plan.output * size <= input)
      return Overlap::None;
    return input == output + shift(run.rank, elements) * size ? Overlap::InPlace : Overlap::Other;
  }

  // Type and operation do not affect the plan. They are in the key because the kernel of each is to be loaded
  // before its first launch. A plan that is dropped while another thread uses it stays alive there.
  std::shared_ptr<const StepPlan> plan_for(const NcclRun& run, std::int64_t elements, bool in_place) {
    const std::tuple<int, std::int64_t, ncclDataType_t, ncclRedOp_t, bool> key{run.rank, elements, run.type,
                                                                               run.op, in_place};
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto at = plans_.find(key); at != plans_.end()) return at->second;
    {
      const Uncaptured uncaptured;
      load_local_work(run.type, run.op);
    }
    if (plans_.size() >= kMostPlans) plans_.clear();
    return plans_[key] = std::make_shared<const StepPlan>(
               make_step_plan(tables_, run.rank, elements, {in_place, shift(run.rank, elements)}));
  }

  const StepTables tables_;
  const int input_shift_;
  const NcclCalls nccl_;
  std::mutex mutex_ = {};
  std::map<std::tuple<int, std::int64_t, ncclDataType_t, ncclRedOp_t, bool>, std::shared_ptr<const StepPlan>>
      plans_ = {};
};

// What has failed of the machine, as the first rank of a communicator knows it, in all of its ranks from the
// same call on. Of a communicator, which one thread at a time uses.
class NcclFailure {
 public:
  NcclFailure() = default;
  ~NcclFailure() {
    if (data_ != nullptr) cudaFree(data_);
  }
  NcclFailure(const NcclFailure&) = delete;
  NcclFailure& operator=(const NcclFailure&) = delete;

  FailureName name = {};

  // Takes the name that the first rank passes; waits for it, on the stream of the call, after what it sent
  // before. All ranks call it on their current device.
  ncclResult_t learn(const NcclCalls& nccl, ncclComm_t comm, cudaStream_t stream, int rank, int ranks,
                     const FailureName& first) {
    const Uncaptured uncaptured;
    if (data_ == nullptr && cudaMalloc(&data_, sizeof name) != cudaSuccess) return ncclUnhandledCudaError;
    if (rank == 0) name = first;
    if (cudaMemcpyAsync(data_, name.data(), sizeof name, cudaMemcpyHostToDevice, stream) != cudaSuccess)
      return ncclUnhandledCudaError;
    NcclGroup group(nccl, comm, stream);
    if (rank != 0) group.receive(data_, sizeof name, 0);
    for (int peer = 1; rank == 0 && peer < ranks; ++peer) group.send(data_, sizeof name, peer);
    if (const ncclResult_t result = group.end(); result != ncclSuccess) return result;
    const bool good =
        cudaMemcpyAsync(name.data(), data_, sizeof name, cudaMemcpyDeviceToHost, stream) == cudaSuccess &&
        cudaStreamSynchronize(stream) == cudaSuccess;
    return good ? ncclSuccess : ncclUnhandledCudaError;
  }

 private:
  void* data_ = nullptr;
};

}  // namespace chorale
