// Memory of real peers, one process per GPU, through NCCL's device API (2.28 and later): a symmetric window
// with the scratch and the counters of each rank. Peers that this GPU can load from and store to (NCCL's LSA
// team) are reached by loads and stores; data for others are stored in an outbox of the own window, and
// carried by GIN where the toolkit has it. Copied into emitted programs.
//
// The kernel does not distinguish them: for a far rank scratch() is the outbox, where it stores as if it were
// there, and the Signal that follows lists the slots to put (`to`, ir/peer_program.h). An outbox has the
// layout of the peer's scratch, so a byte is put where it lay. A far counter is a GIN signal that goes up by
// one each time, which is what a counter's values do in the order of its Signals.
//
// by_switch: a team is what NCCL has an address for, all ranks of the LSA team, and the switch copies, and
// adds if sums_by_switch; else the kernel loads and stores value by value.
#pragma once

#include <nccl_device.h>

#include "runtime/device/gpu.h"
#include "runtime/device/multimem.h"

#if NCCL_VERSION_CODE >= 22807
#define CHORALE_GIN 1
#endif

namespace chorale {

template <typename T, typename Function = NoFunction, bool by_switch = false, bool sums_by_switch = false>
struct NcclMemory : OwnMemory<T, Function> {
  ncclDevComm comm;
  ncclWindow_t window;
  std::size_t scratch_at;    // bytes from the beginning of the window
  std::size_t counters_at;   // likewise
  std::size_t outboxes_at;   // likewise: as many scratches as ranks
  std::size_t scratch_size;  // bytes of the largest scratch

  __device__ T* scratch(int rank) const {
    if (is_far(rank)) return static_cast<T*>(ncclGetLocalPointer(window, outboxes_at + rank * scratch_size));
    return static_cast<T*>(ncclGetLsaPointer(window, scratch_at, near_rank(rank)));
  }

  __device__ void raise(int rank, int counter, std::uint64_t value) const {
    store_release(
        static_cast<std::uint64_t*>(ncclGetLsaPointer(window, counters_at, near_rank(rank))) + counter,
        value);
  }
  __device__ std::uint64_t value(int, int counter, int by) const {
#ifdef CHORALE_GIN
    if (is_far(by)) return ncclGin(comm, 0).readSignal(static_cast<ncclGinSignal_t>(counter));
#endif
    return load_acquire(static_cast<const std::uint64_t*>(ncclGetLocalPointer(window, counters_at)) +
                        counter);
  }

  static constexpr bool kSwitch = by_switch;
  // Offsets are of elements of a scratch, and of a counter.
  template <Combination op, typename Wide>
  __device__ void sum_of_all(Wide& value, std::int64_t offset) const {
    static_assert(
        !sums_by_switch || switch_combines<op, T>,
        "a switch does not combine these elements so: build 'peers', which does it by loads, or emit "
        "a schedule that was searched with --switches-forward-only");
    if constexpr (sums_by_switch)
      switch_load<op, T>(value, everywhere(scratch_at + static_cast<std::size_t>(offset) * sizeof(T)));
  }
  template <typename Wide>
  __device__ void store_to_all(std::int64_t offset, const Wide& value) const {
    switch_store(everywhere(scratch_at + static_cast<std::size_t>(offset) * sizeof(T)), value);
  }
  __device__ void add_one_to_all(int counter) const {
    switch_add_one(static_cast<std::uint64_t*>(everywhere(counters_at)) + counter);
  }
  __device__ void meet_aliases() const {
    switch_meet_aliases();
  }
  __device__ void* everywhere(std::size_t offset) const {
    return ncclGetLsaMultimemPointer(window, offset, comm);
  }

#ifdef CHORALE_GIN
  static constexpr bool kCarries = true;
  __device__ bool is_far(int rank) const {
    return !ncclTeamRankIsMember(ncclTeamLsa(comm), ncclTeamWorld(comm), rank);
  }
  __device__ void carry(int rank, std::int64_t begin, std::int64_t elements) const {
    put(rank, begin, elements, ncclGin_None{});
  }
  // With the last elements, or none: the counter goes up by one when all have arrived.
  __device__ void carry_and_raise(int rank, std::int64_t begin, std::int64_t elements, int counter) const {
    const ncclGin_SignalInc up{static_cast<ncclGinSignal_t>(counter)};
    if (elements > 0)
      put(rank, begin, elements, up);
    else
      ncclGin(comm, 0).signal(ncclTeamWorld(comm), rank, up);
  }

 private:
  template <typename Action>
  __device__ void put(int rank, std::int64_t begin, std::int64_t elements, Action action) const {
    const std::size_t at = static_cast<std::size_t>(begin) * sizeof(T);
    ncclGin(comm, 0).put(ncclTeamWorld(comm), rank, window, scratch_at + at, window,
                         outboxes_at + rank * scratch_size + at,
                         static_cast<std::size_t>(elements) * sizeof(T), action);
  }
#else
  static constexpr bool kCarries = false;
  __device__ bool is_far(int) const {
    return false;
  }

 private:
#endif
  __device__ int near_rank(int rank) const {
    return ncclTeamRankToLsa(comm, ncclTeamWorld(comm), rank);
  }
};

}  // namespace chorale
