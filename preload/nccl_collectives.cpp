#include "preload/nccl_collectives.h"

#include <fmt/format.h>

#include <cstdio>
#include <limits>

namespace chorale {
namespace {

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

// NCCL takes calls whatever the current device is; kernels and memory are on the current one.
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
    : nccl_(nccl), settings_(settings) {
  const std::string complaints = load(settings.algorithms);
  if (!complaints.empty()) std::fprintf(stderr, "chorale: %s\n", complaints.c_str());
}

NcclCollectives::~NcclCollectives() {
  if (settings_.log && speaks_)
    std::fprintf(stderr, "chorale: %ld collectives by algorithms of ours, %ld passed on to NCCL\n", used_,
                 passed_);
}

std::string& NcclCollectives::last_error() {
  thread_local std::string text;
  return text;
}

std::string NcclCollectives::load(const std::string& path) {
  auto fresh = std::make_unique<Algorithms>(path);
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
  say(call, mine, "passed on to NCCL: " + why);
}

// Once for each kind of call.
void NcclCollectives::say(const NcclCall& call, const Place& mine, const std::string& what) {
  if (mine.rank != 0) return;
  speaks_ = true;
  if (!settings_.log) return;
  const std::string line = fmt::format("chorale: {}, {} ranks, blocks of {} {}: {}\n", call.function,
                                       mine.ranks, call.count, name_of(call.type), what);
  if (said_.insert(line).second) std::fputs(line.c_str(), stderr);
}

NcclCollectives::Place NcclCollectives::place(ncclComm_t comm) const {
  Place mine;
  nccl_.user_rank(comm, &mine.rank);
  nccl_.count(comm, &mine.ranks);
  nccl_.device(comm, &mine.device);
  return mine;
}

// The one for this call; null: there is none, and why.
NcclAlgorithm* NcclCollectives::chosen(const NcclCall& call, const Place& mine, std::string& why) {
  if (!StreamMemory::available())
    why = "the device has no memory pools";
  else if (!is_known(call.type) || (call.op && !is_summable(call.type)))
    why = "its type is none of ours";
  else if (call.op && (*call.op < ncclSum || *call.op > ncclAvg))
    why = "its operation is not sum, prod, min, max or avg";
  else if (call.count > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max() / 8 / mine.ranks))
    why = "it is too large";
  if (!why.empty()) return nullptr;
  const double bytes = static_cast<double>(call.count) * static_cast<double>(size_of(call.type));
  const Algorithm* const algorithm =
      algorithms_.back()->choose(call.collective, mine.ranks, call.root, bytes, why);
  if (algorithm == nullptr) return nullptr;
  std::unique_ptr<Lowered>& lowered = lowered_[algorithm];
  if (!lowered)
    lowered = std::make_unique<Lowered>(*algorithm->program, input_lies(call.collective), nccl_.steps);
  used_ += mine.rank == 0;
  say(call, mine, algorithm->name);
  return &lowered->algorithm;
}

std::optional<ncclResult_t> NcclCollectives::run(const NcclCall& call) {
  if (call.comm == nullptr || call.count == 0) return std::nullopt;
  const Place mine = place(call.comm);
  if (mine.ranks < 2) return std::nullopt;
  const OnDevice device(mine.device);
  std::string why;
  NcclAlgorithm* algorithm = nullptr;
  {
    const std::lock_guard lock(mutex_);
    algorithm = chosen(call, mine, why);
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
