// Collectives over NCCL's sends and receives by algorithms of ours: what the C interface and the preload
// library share. Thread safe, as NCCL is: one thread at a time uses a communicator.
#pragma once

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/step_rows.h"
#include "library/algorithms.h"
#include "runtime/device/nccl_call.h"

namespace chorale {

// NCCL's own functions, wherever they were found.
struct NcclFunctions {
  NcclCalls steps = {};
  decltype(&ncclCommCount) count = nullptr;
  decltype(&ncclCommUserRank) user_rank = nullptr;
  decltype(&ncclCommCuDevice) device = nullptr;
  // Exchanges the fingerprints of loaded files, and the hosts of ranks, at the first call of a communicator;
  // null: neither is done, and algorithms fit by the number of ranks.
  decltype(&ncclAllGather) all_gather = nullptr;
};

// A call of the program. What not all have comes last: such a call is one line to write.
struct NcclCall {
  const char* function = "";
  CollectiveKind collective = CollectiveKind::Custom;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;  // elements of a block, as defined in ir/collective.h
  ncclDataType_t type = ncclFloat32;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  int root = 0;
  std::optional<ncclRedOp_t> op = {};  // of reductions
};

struct NcclSettings {
  std::string algorithms = {};  // result files, or directories of them, separated by colons
  bool log = false;  // print once for each kind of call the algorithm that was used, or the reason for none
  std::chrono::milliseconds check{0};  // if not 0: wait after each step, at most so long
  std::string host = {};               // where this process is; empty: the name that the system has
  std::string order = {};              // "fixed": sums by algorithms of one fixed order alone
  // The first rank of a communicator reads it at each call that is not captured, or after a signal alone
  // (runtime/device/failure_file.h), and all follow in this call. Empty: there is none.
  std::string failure_file = {}, failure_signal = {};
};

class NcclCollectives {
 public:
  NcclCollectives(const NcclFunctions&, const NcclSettings&);
  // Prints on standard error how often it was used, if logging is on and there is something to report.
  ~NcclCollectives();

  // Enqueues the collective; nothing: NCCL is to do it. All ranks decide alike: by the size of the
  // communicator, the call, whether their device has memory pools, whether all loaded the same, and their
  // hosts and GPUs. These two are exchanged in the first call of a communicator that is not captured, which
  // waits for the other ranks.
  std::optional<ncclResult_t> run(const NcclCall&);

  // Before it is destroyed: another may be where it was.
  void forget(ncclComm_t);

  // What has failed of the machine from the next call of the communicator on; "": nothing. All ranks call it
  // between the same calls.
  void set_failure(ncclComm_t, const std::string&);

  // NCCL is to do this call; logs the reason.
  void pass(const NcclCall&, const std::string& why);

  // Takes other algorithms from now on. What could not be read, in words; empty: all was.
  std::string load(const std::string& path);

  // What went wrong last in this thread.
  static std::string& last_error();

 private:
  // Of a communicator, queried at each call: a new one may have the address of a destroyed one.
  struct Place {
    int rank = 0, ranks = 1, device = 0;
  };

  Place place(ncclComm_t) const;
  // The data that a rank sends to the others.
  struct Report {
    std::uint64_t fingerprint = 0;
    Whereabouts where = {};
  };
  // A communicator after the exchange.
  struct Group {
    bool same = true;                          // they loaded the same
    std::vector<RankLocation> locations = {};  // by rank; empty: it is not known
  };

  const Group* group_of(const NcclCall&, const Place&, std::string& why);
  std::vector<Report> reports(ncclComm_t, const Place&, const Report& mine) const;
  NcclFailure& failure_of(ncclComm_t);
  ncclResult_t learn_failure(const NcclCall&, const Place&, NcclFailure&);
  NcclAlgorithm* chosen(const NcclCall&, const Place&, const std::vector<RankLocation>&,
                        const FailureName& failure, std::string& why);
  void log(const NcclCall&, const Place&, const std::string& what);
  void log_once(const std::string& line);

  const NcclFunctions nccl_;
  const NcclSettings settings_;
  FailureFile failure_file_;
  std::mutex mutex_ = {};  // of all that follows
  // The last ones count; calls may use earlier ones.
  std::vector<std::unique_ptr<Algorithms>> algorithms_ = {};
  std::map<const LoadedAlgorithm*, NcclAlgorithm> lowered_ = {};
  std::map<ncclComm_t, Group> groups_ = {};
  std::map<ncclComm_t, NcclFailure> failures_ = {};
  std::set<std::string> logged_ = {};
  long used_ = 0, passed_ = 0;
  bool speaks_ = false;  // rank 0 of something lives here
};

}  // namespace chorale
