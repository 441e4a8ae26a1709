// A block of a kernel on GPUs: its threads and elements, and its doorbell, by which it meets the blocks of
// other ranks (fused.h has the protocol). For device code, C++17; copied into emitted
// programs.
#pragma once

#include <cstdint>

#include "runtime/device/counters.h"
#include "runtime/exchange/scattered.h"
#include "tensor/exchange/parts.h"

namespace chorale {

// Threads of a block: with 512, which leaves a thread 128 registers, kernels of layers with dropout spill.
inline constexpr int kMostThreads = 384;

// Threads that combine what they have in registers: a warp; on hosts, which stand in for GPUs, a thread
// alone.
#ifdef __CUDACC__
inline constexpr int kLanes = 32;
#else
inline constexpr int kLanes = 1;
#endif

// What all lanes have, combined, in the first one.
template <Combination op>
__device__ inline double of_all_lanes(double mine) {
#ifdef __CUDA_ARCH__
  for (int step = kLanes / 2; step > 0; step /= 2)
    mine = combined<op>(mine, __shfl_down_sync(0xffffffffu, mine, step));
#endif
  return mine;
}

// Of the whole launch, or of the channel, as a loop's totals see it.
struct KernelTeam {
  int block, blocks, thread, threads;

  // A total of each warp, where the code that adds them up finds their number: gpu.h.
  template <Combination op>
  __device__ void keep_total(double* slots, double mine) const {
    mine = of_all_lanes<op>(mine);
    const int each = threads / kLanes;
    if (thread % kLanes == 0) slots[1 + block * each + thread / kLanes] = mine;
    if (block == blocks - 1 && thread == 0) slots[0] = blocks * each;
  }
};

template <int count>
struct Width {
  static constexpr int value = count;
};

// function(Width, element) for all elements of begin .. end, `several` or one at a time, by thread `thread`
// of `threads`.
template <int several, typename Function>
__device__ inline void for_packs(std::int64_t begin, std::int64_t end, std::int64_t thread,
                                 std::int64_t threads, const Function& function) {
  const std::int64_t whole = begin + (end - begin) / several * several;
  for (std::int64_t e = begin + thread * several; e < whole; e += threads * several)
    function(Width<several>(), e);
  for (std::int64_t e = whole + thread; e < end; e += threads) function(Width<1>(), e);
}

// At its doorbell, a channel publishes its progress, and where its buffers lie.
struct alignas(128) Doorbell {
  std::uint64_t progress;
  alignas(128) unsigned char buffers[3][64];
};

struct FusedGround {
  Doorbell* const* doorbells;  // by rank; then by channel
  Patience patience;
  Divisor channels;
  int first_rank;
};

class FusedBlock {
 public:
  __device__ FusedBlock(const FusedGround& ground, int rank, int channel)
      : rank(rank),
        channel(channel),
        thread(static_cast<int>(threadIdx.x)),
        threads(static_cast<int>(blockDim.x)),
        ground_(ground),
        begun_(load_acquire(&doorbell(rank, channel).progress)),
        base_(begun_) {}

  const int rank, channel, thread, threads;

  __device__ int channels() const { return static_cast<int>(ground_.channels); }
  __device__ KernelTeam team() const { return {channel, channels(), thread, threads}; }

  // The slice of this channel.
  __device__ std::int64_t slice(std::int64_t count, int of) const {
    constexpr std::int64_t unit = 64;  // elements, so that slices begin where pieces do, in respect of loads
    const std::int64_t begin = (count + unit - 1) / unit * of / ground_.channels * unit;
    return begin < count ? begin : count;
  }
  __device__ std::int64_t begin(std::int64_t count) const { return slice(count, channel); }
  __device__ std::int64_t end(std::int64_t count) const { return slice(count, channel + 1); }

  template <typename T>
  __device__ void publish(int buffer, const BufferView<T>& lies) const {
    static_assert(sizeof(BufferView<T>) <= 64);
    if (thread == 0) *reinterpret_cast<BufferView<T>*>(doorbell(rank, channel).buffers[buffer]) = lies;
  }
  template <typename T>
  __device__ BufferView<T> published(int of, int buffer) const {
    return *reinterpret_cast<const BufferView<T>*>(doorbell(of, channel).buffers[buffer]);
  }

  __device__ bool sync() const { return __syncthreads_and(1) != 0; }
  // All threads of the block have done what comes before; `progress` counts from the beginning of the phase.
  __device__ void reach(std::uint64_t progress) const {
    sync();
    if (thread == 0) store_release(&doorbell(rank, channel).progress, base_ + progress);
  }
  // Waits until each of these ranks has reached `progress`; false if that took too long.
  __device__ bool wait(const int* ranks, int count, std::uint64_t progress) const {
    bool good = true;
    for (int i = thread; i < count && good; i += threads) good = arrived(ranks[i], channel, base_ + progress);
    return __syncthreads_and(good ? 1 : 0) != 0;
  }
  // Likewise for ranks that follow each other.
  __device__ bool wait_all(int first, int count, std::uint64_t progress) const {
    bool good = true;
    for (int i = thread; i < count && good; i += threads)
      good = arrived(first + i, channel, base_ + progress);
    return __syncthreads_and(good ? 1 : 0) != 0;
  }
  // Continues a phase whose earlier steps were done by the launches before.
  __device__ void resume(std::uint64_t progress) { base_ = begun_ - progress; }
  // Waits until all channels of this rank have done the preceding work. At the beginning of a launch they
  // have.
  __device__ bool join() const {
    if (base_ == begun_) return true;
    bool good = true;
    for (int c = thread; c < ground_.channels && good; c += threads) good = arrived(rank, c, base_);
    return __syncthreads_and(good ? 1 : 0) != 0;
  }
  // The end of a phase, and the beginning of the next one.
  __device__ void end_phase(std::uint64_t progress) {
    reach(progress);
    base_ += progress;
  }

 private:
  __device__ Doorbell& doorbell(int of, int which) const { return ground_.doorbells[of][which]; }
  __device__ bool arrived(int of, int which, std::uint64_t progress) const {
    const std::uint64_t* const there = &doorbell(of, which).progress;
    return wait_for([&] { return load_acquire(there); }, progress, ground_.patience, rank, channel, of);
  }

  const FusedGround& ground_;
  const std::uint64_t begun_;
  std::uint64_t base_;  // progress when the phase began
};

}  // namespace chorale
