// Chooses for each call between an algorithm of ours and NCCL. The choice follows from the call and the
// communicator's size, which NCCL requires to be equal in all ranks, from the device, and from the files and
// the hosts of the ranks, which the preload library exchanges once per communicator. A call that is captured
// cannot wait for other ranks, so before that it is NCCL's.
//
// An algorithm is lowered when it is first chosen and stays; its plans are by size
// (runtime/device/nccl_call.h). The mutex guards the tables and is not held where ranks wait for each other:
// two ranks may be threads of one process.
#include "preload/nccl_collectives.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <type_traits>

#include "codegen/passes/lower.h"

namespace chorale {
namespace {

// In the order of NCCL's enumeration, which has no gaps up to bfloat16 (nccl.h).
const char* name_of(ncclDataType_t type) {
  constexpr const char* names[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                   "uint64", "float16", "float32", "float64", "bfloat16"};
  return static_cast<std::size_t>(type) < std::size(names) ? names[type] : "bytes";
}

// Types after these are a byte long: NCCL's float8.
bool is_summable(ncclDataType_t type) {
  return type >= ncclInt8 && type <= ncclBfloat16;
}
bool is_known(ncclDataType_t type) {
  return type >= ncclInt8 && type < ncclNumTypes;
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

std::string name_of_host() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// In the order of their PCI addresses, domain:bus:device.function, in which GPUs are numbered in what
// describes machines; CUDA may number them otherwise (CUDA_DEVICE_ORDER, CUDA_VISIBLE_DEVICES).
std::uint64_t place_of(int device) {
  char address[32] = {};
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (cudaDeviceGetPCIBusId(address, sizeof address, device) != cudaSuccess ||
      std::sscanf(address, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
    return 0;
  return std::uint64_t{domain} << 32 | bus << 16 | slot << 8 | function;
}

// NCCL accepts calls with any current device; kernels and memory are on the current one.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (cudaGetDevice(&before_) == cudaSuccess && before_ != device && cudaSetDevice(device) == cudaSuccess)
      moved_ = true;
  }
  ~OnDevice() {
    if (moved_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool moved_ = false;
};

}  // namespace

NcclCollectives::NcclCollectives(const NcclFunctions& nccl, const NcclSettings& settings)
    : nccl_(nccl), settings_(settings), failure_file_(settings.failure_file, settings.failure_signal) {
  const std::string complaints = load(settings.algorithms);
  if (!complaints.empty()) std::fprintf(stderr, "chorale: %s\n", complaints.c_str());
}

NcclCollectives::~NcclCollectives() {
  if (settings_.log && speaks_)
    std::fprintf(stderr, "chorale: %ld collectives by Chorale's algorithms, %ld passed on to NCCL\n", used_,
                 passed_);
}

std::string& NcclCollectives::last_error() {
  thread_local std::string text;
  return text;
}

std::string NcclCollectives::load(const std::string& path) {
  auto fresh = std::make_unique<Algorithms>(path, "nccl", settings_.order);
  std::string complaints;
  for (const std::string& complaint : fresh->complaints())
    complaints += (complaints.empty() ? "" : "; ") + complaint;
  const std::lock_guard lock(mutex_);
  algorithms_.push_back(std::move(fresh));
  return complaints;
}

void NcclCollectives::pass(const NcclCall& call, const std::string& why) {
  const Place mine = place(call.comm);
  const std::lock_guard lock(mutex_);
  passed_ += mine.rank == 0;
  log(call, mine, "passed on to NCCL: " + why);
}

// Once for each kind of call.
void NcclCollectives::log(const NcclCall& call, const Place& mine, const std::string& what) {
  if (mine.rank != 0) return;
  speaks_ = true;
  if (!settings_.log) return;
  log_once(fmt::format("chorale: {}, {} ranks, blocks of {} {}: {}\n", call.function, mine.ranks, call.count,
                       name_of(call.type), what));
}

void NcclCollectives::log_once(const std::string& line) {
  if (logged_.insert(line).second) std::fputs(line.c_str(), stderr);
}

NcclCollectives::Place NcclCollectives::place(ncclComm_t comm) const {
  Place mine;
  nccl_.user_rank(comm, &mine.rank);
  nccl_.count(comm, &mine.ranks);
  nccl_.device(comm, &mine.device);
  return mine;
}

// Of all ranks, by NCCL on a stream of our own; empty: it went wrong. Each rank puts its report where NCCL's
// in-place Allgather has it, at `rank` reports from the beginning. A communicator that does not block returns
// ncclInProgress: the loop asks until that has passed.
std::vector<NcclCollectives::Report> NcclCollectives::reports(ncclComm_t comm, const Place& mine,
                                                              const Report& own) const {
  static_assert(std::is_trivially_copyable_v<Report> && sizeof(Report) % sizeof(std::uint64_t) == 0);
  const Uncaptured uncaptured;
  std::vector<Report> all(mine.ranks);
  const std::size_t bytes = all.size() * sizeof(own);
  cudaStream_t stream = nullptr;
  ncclResult_t result = ncclInProgress;
  bool good = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
  if (!good) return {};
  {
    StreamMemory memory(stream);  // cudaFree would wait for kernels of ranks that share the GPU
    good = memory.allocate(bytes) == cudaSuccess;
    char* const device = memory.data();
    good = good && cudaMemcpyAsync(device + mine.rank * sizeof(own), &own, sizeof(own),
                                   cudaMemcpyHostToDevice, stream) == cudaSuccess;
    if (good) {
      result = nccl_.all_gather(device + mine.rank * sizeof(own), device, sizeof(own) / sizeof(std::uint64_t),
                                ncclUint64, comm, stream);
      while (result == ncclInProgress && nccl_.steps.async_error(comm, &result) == ncclSuccess) {
      }
      good = result == ncclSuccess &&
             cudaMemcpyAsync(all.data(), device, bytes, cudaMemcpyDeviceToHost, stream) == cudaSuccess &&
             cudaStreamSynchronize(stream) == cudaSuccess;
    }
  }
  cudaStreamDestroy(stream);
  if (!good) all.clear();
  return all;
}

// Null: NCCL is to do it, and why. Ranks that differ would wait for each other in different algorithms.
// Exchanged data are kept by the communicator's address, until forget().
const NcclCollectives::Group* NcclCollectives::group_of(const NcclCall& call, const Place& mine,
                                                        std::string& why) {
  static const Group nothing_told;
  if (nccl_.all_gather == nullptr) return &nothing_told;
  Report own;
  const auto if_same = [&](const Group& group) {
    if (!group.same) why = "its ranks have loaded different algorithms";
    return group.same ? &group : nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = groups_.find(call.comm); known != groups_.end()) return if_same(known->second);
    // Ranks with and without a file would wait for each other.
    own.fingerprint = algorithms_.back()->fingerprint() + (failure_file_.given() ? 1 : 0);
  }
  if (is_captured(call.stream)) {
    why = "what the ranks have loaded is compared in the first call that is not captured";
    return nullptr;
  }
  own.where = {.host = number_of_host(settings_.host.empty() ? name_of_host() : settings_.host),
               .place = place_of(mine.device)};
  const std::vector<Report> all = reports(call.comm, mine, own);
  const auto other = std::ranges::find_if(
      all, [&](const Report& each) { return each.fingerprint != all.front().fingerprint; });
  std::vector<Whereabouts> where;
  for (const Report& each : all) where.push_back(each.where);
  Group group{.same = !all.empty() && other == all.end(), .locations = std::vector<RankLocation>(all.size())};
  locate_ranks(where, group.locations);
  const std::lock_guard lock(mutex_);
  if (!group.same && mine.rank == 0)
    log_once(all.empty() ? "chorale: the ranks could not compare what they have loaded: NCCL does their "
                           "collectives\n"
                         : fmt::format("chorale: ranks 0 and {} of {} have loaded different algorithms: NCCL "
                                       "does their collectives; give all ranks the same files\n",
                                       other - all.begin(), mine.ranks));
  return if_same(groups_[call.comm] = std::move(group));
}

// NCCL may give a new communicator the address of a destroyed one, with other ranks.
void NcclCollectives::forget(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  groups_.erase(comm);
  failures_.erase(comm);
}

NcclFailure& NcclCollectives::failure_of(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  return failures_[comm];
}

void NcclCollectives::set_failure(ncclComm_t comm, const std::string& failure) {
  failure_of(comm).name = failure_name(failure.c_str());
}

ncclResult_t NcclCollectives::learn_failure(const NcclCall& call, const Place& mine, NcclFailure& failure) {
  if (!failure_file_.given() || is_captured(call.stream)) return ncclSuccess;
  const FailureName before = failure.name;
  const ncclResult_t result = failure.learn(nccl_.steps, call.comm, call.stream, mine.rank, mine.ranks,
                                            mine.rank == 0 ? failure_file_.name() : FailureName{});
  if (result != ncclSuccess)
    last_error() = "the name of what has failed did not come from rank 0";
  else if (mine.rank == 0 && failure.name != before) {
    const std::lock_guard lock(mutex_);
    if (const std::string words = algorithms_.back()->not_ready_for(failure.name.data()); !words.empty())
      log_once("chorale: " + words + ": NCCL does the collectives\n");
  }
  return result;
}

// The one for this call; null: there is none, and why. Counts are bounded so that no number of bytes, of all
// ranks together, is beyond 63 bits.
NcclAlgorithm* NcclCollectives::chosen(const NcclCall& call, const Place& mine,
                                       const std::vector<RankLocation>& locations, const FailureName& failure,
                                       std::string& why) {
  if (!StreamMemory::available())
    why = "the device has no memory pools";
  else if (!is_known(call.type) || (call.op && !is_summable(call.type)))
    why = "its type is not supported";
  else if (call.op && (*call.op < ncclSum || *call.op > ncclAvg))
    why = "its operation is not sum, prod, min, max or avg";
  else if (call.count > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max() / 8 / mine.ranks))
    why = "it is too large";
  if (!why.empty()) return nullptr;
  const LoadedAlgorithm* const algorithm = algorithms_.back()->choose(
      {.collective = call.collective,
       .ranks = mine.ranks,
       .root = call.root,
       .block_bytes = static_cast<double>(call.count) * static_cast<double>(size_of(call.type))},
      locations,
      // NCCL deals a group's messages out by itself.
      [](const Verified<Schedule>& schedule, bool) { return try_lower(schedule); }, why, failure.data());
  if (algorithm == nullptr) return nullptr;
  // Of the algorithm, whose tables it refers to: both live as long as this.
  NcclAlgorithm& lowered =
      lowered_.try_emplace(algorithm, algorithm->steps.tables(), in_place_shift(call.collective), nccl_.steps)
          .first->second;
  used_ += mine.rank == 0;
  log(call, mine, algorithm->name);
  return &lowered;
}

// Calls that move nothing are passed to NCCL silently: it may report errors in them.
std::optional<ncclResult_t> NcclCollectives::run(const NcclCall& call) {
  if (call.comm == nullptr || call.count == 0) return std::nullopt;
  const Place mine = place(call.comm);
  if (mine.ranks < 2) return std::nullopt;
  const OnDevice device(mine.device);
  std::string why;
  NcclAlgorithm* algorithm = nullptr;
  if (const Group* const group = group_of(call, mine, why)) {
    NcclFailure& failure = failure_of(call.comm);
    if (const ncclResult_t result = learn_failure(call, mine, failure); result != ncclSuccess) return result;
    const std::lock_guard lock(mutex_);
    algorithm = chosen(call, mine, group->locations, failure.name, why);
  }
  if (algorithm == nullptr) {
    pass(call, why);
    return std::nullopt;
  }
  const NcclRun run{.type = call.type,
                    .op = call.op.value_or(ncclSum),
                    .input = call.send,
                    .output = call.recv,
                    .comm = call.comm,
                    .stream = call.stream,
                    .rank = mine.rank};
  const bool checked = settings_.check.count() > 0 && !is_captured(call.stream);
  return algorithm->run(run, static_cast<std::int64_t>(call.count),
                        checked ? settings_.check : std::chrono::milliseconds(0), last_error());
}

}  // namespace chorale
