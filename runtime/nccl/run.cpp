// Programs over NCCL's sends and receives, and NCCL's own collectives, in the shape that runtime/rows.h
// times: one GPU per rank. Other data that ranks exchange (a communicator's id, times, counts) go over a
// Transport. A time is from the call on the host to the end of the stream's work, so it has what a launch
// costs.
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <mpi.h>
#include <nccl.h>

#include <map>
#include <memory>

#include "ir/error.h"
#include "ir/step_rows.h"
#include "runtime/device/nccl_call.h"
#include "runtime/exchange/gpu_memory.h"
#include "runtime/mpi_session.h"
#include "runtime/nccl_run.h"
#include "runtime/rank_plan.h"
#include "runtime/rows.h"

namespace chorale {
namespace {

void require(cudaError_t code, const char* what) {
  if (code != cudaSuccess)
    throw InputError("nccl", fmt::format("{}: {}", what, cudaGetErrorString(code)), "each rank needs a GPU");
}
void require(ncclResult_t code, const char* what) {
  if (code != ncclSuccess)
    throw InputError("nccl", fmt::format("{}: {}", what, ncclGetErrorString(code)), "see NCCL_DEBUG=INFO");
}

ncclDataType_t nccl_type(ElementType type) {
  static const std::map<ElementType, ncclDataType_t> types = {
      {ElementType::Float32, ncclFloat32}, {ElementType::Float64, ncclFloat64},
      {ElementType::Int32, ncclInt32},     {ElementType::Int64, ncclInt64},
      {ElementType::Int8, ncclInt8},       {ElementType::Uint8, ncclUint8},
      {ElementType::Uint32, ncclUint32},   {ElementType::Uint64, ncclUint64},
      {ElementType::Float16, ncclFloat16}, {ElementType::Bfloat16, ncclBfloat16}};
  return types.at(type);
}

ncclRedOp_t nccl_op(ReduceOp op) {
  static const std::map<ReduceOp, ncclRedOp_t> ops = {{ReduceOp::Sum, ncclSum},
                                                      {ReduceOp::Max, ncclMax},
                                                      {ReduceOp::Min, ncclMin},
                                                      {ReduceOp::Prod, ncclProd},
                                                      {ReduceOp::Avg, ncclAvg}};
  return ops.at(op);
}

// A rank's GPU, stream and communicator.
class Gpu {
 public:
  // The device comes first: stream and communicator are made on it. Ranks of a host are dealt over its GPUs
  // round-robin.
  Gpu(Transport& transport, int host_rank) {
    int devices = 0;
    require(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices == 0) throw InputError("nccl", "no GPU here", "run it where each rank has one");
    require(cudaSetDevice(host_rank % devices), "cudaSetDevice");
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    const ncclUniqueId id = from_the_first(transport);
    require(ncclCommInitRank(&comm, transport.ranks(), id, transport.rank()), "ncclCommInitRank");
  }
  ~Gpu() {
    if (comm != nullptr) ncclCommDestroy(comm);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;

 private:
  // Byte by byte, by what every transport can do.
  static ncclUniqueId from_the_first(Transport& transport) {
    ncclUniqueId id = {};
    if (transport.rank() == 0) require(ncclGetUniqueId(&id), "ncclGetUniqueId");
    for (char& byte : id.internal) {
      const double mine = transport.rank() == 0 ? static_cast<unsigned char>(byte) : 0;
      byte = static_cast<char>(static_cast<unsigned char>(transport.most(mine)));
    }
    return id;
  }
};

// Buffers on the host and their counterparts on the GPU, of a byte at least, so that an empty one has an
// address, too.
class GpuBuffers {
 public:
  explicit GpuBuffers(RankBuffers host)
      : host_(std::move(host)),
        memory_(allocated(host_.memory.size())),
        rest_(allocated(host_.rest.size())) {}

  const RankBuffers& host() const { return host_; }

  // The counterparts of input and output. The input is in the first memory always, the output where the
  // second is empty.
  void* input() const { return at(host_.input); }
  void* output() const { return host_.rest.empty() ? at(host_.output) : rest_.get(); }

  void upload() { copy(cudaMemcpyHostToDevice); }
  void download() { copy(cudaMemcpyDeviceToHost); }

 private:
  static GpuMemory<std::byte> allocated(std::size_t bytes) {
    std::byte* memory = nullptr;
    require(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
    return GpuMemory<std::byte>(memory);
  }

  // An empty part has the address of the memory.
  std::byte* at(std::span<std::byte> part) const {
    return part.empty() ? memory_.get() : memory_.get() + (part.data() - host_.memory.data());
  }

  void copy(cudaMemcpyKind kind) {
    const bool up = kind == cudaMemcpyHostToDevice;
    for (auto [here, there] : {std::pair(&host_.memory, memory_.get()), std::pair(&host_.rest, rest_.get())})
      if (!here->empty())
        require(cudaMemcpy(up ? there : here->data(), up ? here->data() : there, here->size(), kind),
                "cudaMemcpy");
  }

  RankBuffers host_;
  GpuMemory<std::byte> memory_, rest_;
};

// In the shape of RankPlan. work(input, output, op) enqueues on the GPU's stream.
template <typename Work>
class GpuPlan {
 public:
  GpuPlan(RankBuffers buffers, bool in_place, cudaStream_t stream, Work work)
      : buffers_(std::make_unique<GpuBuffers>(std::move(buffers))),
        in_place_(in_place),
        stream_(stream),
        work_(std::move(work)) {
    upload();
  }

  std::span<std::byte> input() const { return buffers_->host().input; }
  std::span<std::byte> output() const { return buffers_->host().output; }
  bool in_place() const { return in_place_; }
  // rows() calls them where data on the host are written before a run, or checked after it.
  void upload() { buffers_->upload(); }
  void download() { buffers_->download(); }

  // Whole calls are timed, so the host waits for the stream before it looks at the clock.
  void execute(ReduceOp op, Transport&) {
    work_(buffers_->input(), buffers_->output(), op);
    require(cudaStreamSynchronize(stream_), "the collective");
  }

 private:
  // Behind a pointer: a plan is returned by value, addresses on the GPU stay.
  std::unique_ptr<GpuBuffers> buffers_;
  const bool in_place_;
  const cudaStream_t stream_;
  Work work_;
};

RankBuffers buffers(const Collective& collective, Rank rank, const BlockShape& shape, bool in_place) {
  return buffers_of(collective, rank, shape.elements * static_cast<std::int64_t>(size_of(shape.type)),
                    in_place ? std::optional(in_place_shift(collective.kind)) : std::nullopt);
}

// NCCL sums in the type of the elements; there is no wide sum to ask for.
void require_own_type(const RunOptions& options) {
  if (options.accumulation != Accumulation::OwnType)
    throw InputError("--accumulate float32", "is not for GPUs here", "run it as threads or processes");
}

// NCCL's own.
ncclResult_t call_library(const Collective& collective, const Gpu& gpu, const void* input, void* output,
                          std::size_t count, ncclDataType_t type, ncclRedOp_t op) {
  switch (collective.kind) {
    case CollectiveKind::AllReduce:
      return ncclAllReduce(input, output, count, type, op, gpu.comm, gpu.stream);
    case CollectiveKind::ReduceScatter:
      return ncclReduceScatter(input, output, count, type, op, gpu.comm, gpu.stream);
    case CollectiveKind::Allgather:
      return ncclAllGather(input, output, count, type, gpu.comm, gpu.stream);
    case CollectiveKind::Broadcast:
      return ncclBroadcast(input, output, count, type, collective.root, gpu.comm, gpu.stream);
    case CollectiveKind::Reduce:
      return ncclReduce(input, output, count, type, op, collective.root, gpu.comm, gpu.stream);
#if NCCL_VERSION_CODE >= 22800
    case CollectiveKind::Alltoall:
      return ncclAlltoAll(input, output, count, type, gpu.comm, gpu.stream);
#endif
    default:
      return ncclInvalidUsage;  // not one that it has
  }
}

// Among the processes that share memory with this one: it determines the GPU of each.
int rank_on_host() {
  MPI_Comm host = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}

}  // namespace

// Has to agree with call_library, which serves exactly these.
bool nccl_library_has(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Allgather:
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
      return true;
    case CollectiveKind::Alltoall:
      return NCCL_VERSION_CODE >= 22800;
    default:
      return false;
  }
}

std::vector<RunRow> run_on_nccl(Transport& transport, int host_rank, const Verified<Program>& verified,
                                const RunOptions& options, bool in_place) {
  const Program& program = *verified;
  const Collective& collective = verified.collective();
  check(options);
  require_own_type(options);
  require_ranks(transport, program.name, static_cast<int>(program.ranks.size()));
  const Gpu gpu(transport, host_rank);
  const StepRows tables = step_rows(program);
  // For all sizes; in place only the buffers differ, and it detects that they overlap.
  NcclAlgorithm algorithm(tables.tables(), in_place_shift(collective.kind), linked_nccl());
  const auto make_plan = [&](const BlockShape& shape) {
    return GpuPlan(buffers(collective, transport.rank(), shape, in_place), in_place, gpu.stream,
                   [&, shape](const void* input, void* output, ReduceOp op) {
                     std::string fault;
                     if (algorithm.run({.type = nccl_type(shape.type),
                                        .op = nccl_op(op),
                                        .input = input,
                                        .output = output,
                                        .comm = gpu.comm,
                                        .stream = gpu.stream,
                                        .rank = transport.rank()},
                                       shape.elements, std::chrono::milliseconds(0), fault) != ncclSuccess)
                       throw Hang(fault);
                   });
  };
  return rows(make_plan, !reduces(program), collective, options, transport);
}

// In the shape of programs, so that both are timed and checked alike. A collective that NCCL lacks is refused
// before a GPU is touched.
std::vector<RunRow> run_nccl_library(Transport& transport, int host_rank, const Collective& collective,
                                     const RunOptions& options, bool in_place) {
  check(options);
  require_own_type(options);
  require_ranks(transport, name_of(collective), collective.ranks);
  if (!nccl_library_has(collective.kind))
    throw InputError("nccl", "NCCL has no " + name_of(collective), "compare other algorithms");
  const Gpu gpu(transport, host_rank);
  const auto make_plan = [&](const BlockShape& shape) {
    return GpuPlan(
        buffers(collective, transport.rank(), shape, in_place), in_place, gpu.stream,
        [&, shape](const void* input, void* output, ReduceOp op) {
          require(call_library(collective, gpu, input, output, static_cast<std::size_t>(shape.elements),
                               nccl_type(shape.type), nccl_op(op)),
                  "NCCL's own");
        });
  };
  return rows(make_plan, !collective.combining, collective, options, transport);
}

// Processes are those of MPI, which also names the ranks of a host; the data go over NCCL.
std::vector<RunRow> run_on_nccl(MpiSession& session, const Verified<Program>& program,
                                const RunOptions& options, bool in_place) {
  return run_on_nccl(*session.transport(options.timeout), rank_on_host(), program, options, in_place);
}

std::vector<RunRow> run_nccl_library(MpiSession& session, const Collective& collective,
                                     const RunOptions& options, bool in_place) {
  return run_nccl_library(*session.transport(options.timeout), rank_on_host(), collective, options, in_place);
}

}  // namespace chorale
