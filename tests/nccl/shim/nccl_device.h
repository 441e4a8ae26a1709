// The part of NCCL's device interface that emitted programs use, over threads of one process: a window is
// memory of all ranks, a node is CHORALE_SHIM_NODE ranks in a row (all, if that is not set), and what goes
// between nodes is carried by a thread of the sender, later. Compiled instead of the real header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "nccl.h"

struct ShimWindow;   // of one rank: its memory and that of all others
struct ShimNetwork;  // of all ranks
using ncclWindow_t = ShimWindow*;
constexpr int NCCL_WIN_COLL_SYMMETRIC = 1;

struct ncclTeam {
  int nRanks, rank, stride;
};
using ncclTeam_t = ncclTeam;

struct ncclDevCommRequirements {
  bool lsaMultimem;
  int lsaBarrierCount;
  bool ginForceEnable;
  int ginContextCount, ginSignalCount;
};
struct ncclDevComm {
  int rank, ranks, node;  // node: ranks of one
  ShimNetwork* network;
};

extern "C" {
ncclResult_t ncclMemAlloc(void**, std::size_t bytes);  // poisoned
ncclResult_t ncclMemFree(void*);
ncclResult_t ncclCommWindowRegister(ncclComm_t, void*, std::size_t bytes, ncclWindow_t*, int flags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t);
ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements*, ncclDevComm*);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm*);

void* ncclGetLocalPointer(ncclWindow_t, std::size_t offset);
void* ncclGetLsaPointer(ncclWindow_t, std::size_t offset, int lsa_rank);

// An address that stands for that of all ranks of the node; k from 0 on: of one of them, null: there are no
// more.
void* shim_everywhere(ncclWindow_t, std::size_t offset);
void* shim_one_of(const void* everywhere, int k);
void shim_lsa_barrier(const ncclDevComm*,
                      unsigned index);  // by one thread of a block of each rank of the node

// These end the program where something is out of range.
void* shim_address(ncclWindow_t, std::size_t offset, int rank);
// Copies, and then adds one to a signal of the peer, if there is one (not negative). Takes its time.
void shim_put(const ncclDevComm*, int peer, void* to, const void* from, std::size_t bytes, long signal);
std::uint64_t shim_signal(const ncclDevComm*, long signal);
int shim_node(int ranks);
}

inline ncclTeam ncclTeamWorld(const ncclDevComm& comm) {
  return {comm.ranks, comm.rank, 1};
}
inline ncclTeam ncclTeamLsa(const ncclDevComm& comm) {
  return {comm.node, comm.rank % comm.node, 1};
}
inline ncclTeam ncclTeamLsa(ncclComm_t comm) {
  int ranks = 0, rank = 0;
  ncclCommCount(comm, &ranks);
  ncclCommUserRank(comm, &rank);
  const int node = shim_node(ranks);
  return {node, rank % node, 1};
}
// Ranks of both are counted from the own one.
inline bool ncclTeamRankIsMember(ncclTeam in, ncclTeam of, int rank) {
  const int there = in.rank + (rank - of.rank);
  return 0 <= there && there < in.nRanks;
}
inline int ncclTeamRankToLsa(const ncclDevComm& comm, ncclTeam of, int rank) {
  return comm.rank % comm.node + (rank - of.rank);
}

inline void* ncclGetLsaMultimemPointer(ncclWindow_t window, std::size_t offset, const ncclDevComm&) {
  return shim_everywhere(window, offset);
}

namespace cuda {
enum memory_order { memory_order_acq_rel };
}
struct ncclCoopCta {};
struct ncclTeamTagLsa {};
template <typename Cooperation>
class ncclLsaBarrierSession {
 public:
  ncclLsaBarrierSession(Cooperation, const ncclDevComm& comm, ncclTeamTagLsa, std::uint32_t index, bool)
      : comm_(comm), index_(index) {}
  void sync(Cooperation, cuda::memory_order) {
    __syncthreads_and(1);
    if (threadIdx.x == 0) shim_lsa_barrier(&comm_, index_);
    __syncthreads_and(1);
  }

 private:
  const ncclDevComm& comm_;
  const std::uint32_t index_;
};

using ncclGinSignal_t = std::uint32_t;
struct ncclGin_None {};
struct ncclGin_SignalInc {
  ncclGinSignal_t signal;
};

class ncclGin {
 public:
  ncclGin(const ncclDevComm& comm, int) : comm_(comm) {}

  template <typename Action = ncclGin_None>
  void put(ncclTeam, int peer, ncclWindow_t to, std::size_t to_offset, ncclWindow_t from,
           std::size_t from_offset, std::size_t bytes, Action action = {}) const {
    if (bytes > 0) shim_address(to, to_offset + bytes - 1, peer);
    shim_put(&comm_, peer, shim_address(to, to_offset, peer), shim_address(from, from_offset, comm_.rank),
             bytes, number(action));
  }
  void signal(ncclTeam, int peer, ncclGin_SignalInc action) const {
    shim_put(&comm_, peer, nullptr, nullptr, 0, number(action));
  }
  std::uint64_t readSignal(ncclGinSignal_t signal) const { return shim_signal(&comm_, signal); }

 private:
  static long number(ncclGin_None) { return -1; }
  static long number(ncclGin_SignalInc action) { return action.signal; }

  const ncclDevComm& comm_;
};
