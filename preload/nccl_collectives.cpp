#include "preload/nccl_collectives.h"

#include <fmt/format.h>

#include <cstdio>
#include <limits>

namespace chorale {
namespace {

constexpr std::size_t kMostPlans = 256;
constexpr std::int64_t kAlignment = 256;

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

// Where the input lies in the output when NCCL calls it in place (ir/block_program.h).
std::int64_t in_place_shift(const std::string& collective, int rank, std::int64_t elements) {
  if (collective == "allgather") return rank * elements;
  if (collective == "reducescatter") return -rank * elements;
  return 0;
}

enum class Overlap { None, InPlace, Other };

Overlap overlap(const NcclCall& call, const StepPlan& plan, std::int64_t shift) {
  const std::int64_t size = size_of(call.type);
  const std::int64_t input = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(call.send)),
                     output = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(call.recv));
  if (input + plan.input * size <= output || output + plan.output * size <= input || plan.input == 0 ||
      plan.output == 0)
    return Overlap::None;
  return input == output + shift * size ? Overlap::InPlace : Overlap::Other;
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

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
  return mine;
}

std::shared_ptr<const StepPlan> NcclCollectives::plan(const Algorithm& algorithm, int rank,
                                                      const NcclCall& call, bool in_place) {
  const std::tuple key{&algorithm, rank, call.type, call.count, in_place};
  if (const auto at = plans_.find(key); at != plans_.end()) return at->second;
  std::unique_ptr<StepProgram>& program = programs_[&algorithm];
  if (!program) program = std::make_unique<StepProgram>(*algorithm.program);
  const std::int64_t elements = static_cast<std::int64_t>(call.count);
  if (plans_.size() >= kMostPlans) plans_.clear();
  load_local_work(call.type, call.op.value_or(ncclSum));
  const StepTables tables = program->tables();
  return plans_[key] = std::make_shared<const StepPlan>(make_step_plan(
             tables, rank, elements, {in_place, in_place_shift(call.collective, rank, elements)}));
}

std::optional<ncclResult_t> NcclCollectives::run(const NcclCall& call) {
  if (call.comm == nullptr || call.count == 0) return std::nullopt;
  std::shared_ptr<const StepPlan> chosen;
  std::string why;
  bool staged = false;
  const Place mine = place(call.comm);
  if (mine.ranks < 2) return std::nullopt;
  const bool captured = is_captured(call.stream);
  {
    const std::lock_guard lock(mutex_);
    int device = 0, pools = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device);
    if (!pools)
      why = "the device has no memory pools";
    else if (!is_known(call.type) || (call.op && !is_summable(call.type)))
      why = "its type is none of ours";
    else if (call.op && (*call.op < ncclSum || *call.op > ncclAvg))
      why = "its operation is not sum, prod, min, max or avg";
    else if (call.count > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max() / 8 / mine.ranks))
      why = "it is too large";
    const double bytes =
        static_cast<double>(call.count) * static_cast<double>(is_known(call.type) ? size_of(call.type) : 1);
    const Algorithm* const algorithm =
        why.empty() ? algorithms_.back()->choose(call.collective, mine.ranks, call.root, bytes, why)
                    : nullptr;
    if (algorithm != nullptr) {
      const std::int64_t shift =
          in_place_shift(call.collective, mine.rank, static_cast<std::int64_t>(call.count));
      chosen = plan(*algorithm, mine.rank, call, false);
      const Overlap how = overlap(call, *chosen, shift);
      staged = how == Overlap::Other;
      if (how == Overlap::InPlace) {
        const std::shared_ptr<const StepPlan> in_place = plan(*algorithm, mine.rank, call, true);
        staged = !in_place->sound;
        if (in_place->sound) chosen = in_place;
      }
      used_ += mine.rank == 0;
      say(call, mine, algorithm->name);
    }
  }
  if (chosen) return run(call, *chosen, staged, mine.rank, captured);
  pass(call, why);
  return std::nullopt;
}

std::optional<ncclResult_t> NcclCollectives::run(const NcclCall& call, const StepPlan& plan, bool staged,
                                                 int rank, bool captured) {
  const auto failed = [&](cudaError_t code, const char* what) {
    last_error() = fmt::format("rank {}: {}: {}", rank, what, cudaGetErrorString(code));
    return ncclUnhandledCudaError;
  };
  const std::int64_t size = size_of(call.type);
  const std::int64_t input = staged ? (plan.input * size + kAlignment - 1) / kAlignment * kAlignment : 0;
  const std::size_t bytes = static_cast<std::size_t>(input + plan.scratch * size);
  char* memory = nullptr;
  // In stream order, so that a captured call owns its memory in the graph, and calls on several streams do not
  // meet. The pool keeps what was freed.
  if (bytes > 0) {
    cudaMemPool_t pool = nullptr;
    if (!captured)
      if (const cudaError_t code = own_pool(&pool); code != cudaSuccess) return failed(code, "a memory pool");
    const cudaError_t code = captured ? cudaMallocAsync(&memory, bytes, call.stream)
                                      : cudaMallocFromPoolAsync(&memory, bytes, pool, call.stream);
    if (code != cudaSuccess) return failed(code, fmt::format("{} bytes of scratch", bytes).c_str());
  }
  if (staged) {
    const cudaError_t code = cudaMemcpyAsync(memory, call.send, static_cast<std::size_t>(plan.input * size),
                                             cudaMemcpyDeviceToDevice, call.stream);
    if (code != cudaSuccess) return failed(code, "a copy of the input");
  }
  const NcclRun run{.type = call.type,
                    .op = call.op.value_or(ncclSum),
                    .input = staged ? memory : call.send,
                    .output = call.recv,
                    .scratch = memory + input,
                    .comm = call.comm,
                    .stream = call.stream,
                    .rank = rank};
  NcclSteps steps(plan, nccl_.steps, run);
  ncclResult_t result =
      settings_.check.count() > 0 && !captured ? steps.run_checked(settings_.check) : steps.enqueue();
  if (result != ncclSuccess) last_error() = steps.fault();
  if (memory != nullptr)
    if (const cudaError_t code = cudaFreeAsync(memory, call.stream);
        code != cudaSuccess && result == ncclSuccess)
      return failed(code, "scratch cannot be freed");
  return result;
}

// Freed memory stays with it instead of going back to the system at every synchronization.
cudaError_t NcclCollectives::own_pool(cudaMemPool_t* pool) {
  int device = 0;
  if (const cudaError_t code = cudaGetDevice(&device); code != cudaSuccess) return code;
  const std::lock_guard lock(mutex_);
  cudaMemPool_t& mine = pools_[device];
  if (mine == nullptr) {
    cudaMemPoolProps wanted = {};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = device;
    if (const cudaError_t code = cudaMemPoolCreate(&mine, &wanted); code != cudaSuccess) return code;
    std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    if (const cudaError_t code = cudaMemPoolSetAttribute(mine, cudaMemPoolAttrReleaseThreshold, &all);
        code != cudaSuccess)
      return code;
  }
  *pool = mine;
  return cudaSuccess;
}

}  // namespace chorale
