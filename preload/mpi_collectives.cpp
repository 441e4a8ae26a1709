#include "preload/mpi_collectives.h"

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "runtime/mpi_transport.h"
#include "runtime/rank_plan.h"

namespace chorale {
namespace {

constexpr std::size_t kMostPlans = 32;  // of a communicator: buffers of sizes that were used
// A program may be late for reasons of its own; this only ends what would never end.
constexpr std::chrono::hours kPatience{24};

std::optional<ElementType> element_type(MPI_Datatype type) {
  static const std::map<MPI_Datatype, ElementType> known = {
      {MPI_FLOAT, ElementType::Float32},
      {MPI_DOUBLE, ElementType::Float64},
      {MPI_INT, ElementType::Int32},
      {MPI_INT32_T, ElementType::Int32},
      {MPI_INT64_T, ElementType::Int64},
      {MPI_LONG_LONG, ElementType::Int64},
      {MPI_UNSIGNED, ElementType::Uint32},
      {MPI_UINT32_T, ElementType::Uint32},
      {MPI_UINT64_T, ElementType::Uint64},
      {MPI_UNSIGNED_LONG_LONG, ElementType::Uint64},
      {MPI_INT8_T, ElementType::Int8},
      {MPI_SIGNED_CHAR, ElementType::Int8},
      {MPI_UINT8_T, ElementType::Uint8},
      {MPI_UNSIGNED_CHAR, ElementType::Uint8},
      {MPI_LONG, sizeof(long) == 8 ? ElementType::Int64 : ElementType::Int32},
      {MPI_UNSIGNED_LONG, sizeof(long) == 8 ? ElementType::Uint64 : ElementType::Uint32}};
  const auto at = known.find(type);
  return at == known.end() ? std::nullopt : std::optional(at->second);
}

std::optional<ReduceOp> reduce_op(MPI_Op op) {
  if (op == MPI_SUM) return ReduceOp::Sum;
  if (op == MPI_PROD) return ReduceOp::Prod;
  if (op == MPI_MIN) return ReduceOp::Min;
  if (op == MPI_MAX) return ReduceOp::Max;
  return std::nullopt;
}

// Elements of a type that a call moves but does not look at, as bytes one after the other.
std::int64_t packed_bytes(MPI_Datatype type, std::int64_t count) {
  if (type == MPI_DATATYPE_NULL) return 0;  // MPI will say what is wrong with it
  int size = 0;
  PMPI_Type_size(type, &size);
  return size * count;
}

int comm_size(MPI_Comm comm) {
  int ranks = 1;
  if (comm != MPI_COMM_NULL) PMPI_Comm_size(comm, &ranks);
  return ranks;
}

bool is_dense(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  int size = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_size(type, &size);
  MPI_Aint true_lower = 0, true_extent = 0;
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED && lower == 0 && extent == size && true_extent == size;
}

void pack(const void* from, int count, MPI_Datatype type, std::byte* to, std::int64_t bytes, MPI_Comm comm) {
  if (is_dense(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else {
    int position = 0;
    PMPI_Pack(from, count, type, to, static_cast<int>(bytes), &position, comm);
  }
}

void unpack(const std::byte* from, std::int64_t bytes, void* to, int count, MPI_Datatype type,
            MPI_Comm comm) {
  if (is_dense(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else {
    int position = 0;
    PMPI_Unpack(from, static_cast<int>(bytes), &position, to, count, type, comm);
  }
}

// MPI packs into at most 2 GiB.
constexpr std::int64_t kMostPacked = (std::int64_t{1} << 31) - 1;

}  // namespace

// What we keep with a communicator.
struct MpiCollectives::Companion {
  MPI_Comm comm = MPI_COMM_NULL;  // a duplicate, for our messages only
  std::unique_ptr<Transport> transport = {};
  std::map<std::tuple<const Algorithm*, ElementType, std::int64_t>, std::unique_ptr<RankPlan>> plans = {};
};

struct MpiCollectives::Ready {
  RankPlan* plan = nullptr;
  Transport* transport = nullptr;
  ReduceOp op = ReduceOp::Sum;

  explicit operator bool() const { return plan != nullptr; }
  std::byte* input() const { return plan->input().data(); }
  std::size_t input_bytes() const { return plan->input().size(); }
  // Runs it; the output.
  const std::byte* output() const {
    plan->execute(op, *transport);
    return plan->output().data();
  }
};

MpiCollectives::MpiCollectives(Algorithms algorithms, Observer observer)
    : algorithms_(std::move(algorithms)), observer_(std::move(observer)) {}

int MpiCollectives::forget_companion(MPI_Comm, int, void* companion, void*) {
  Companion* const mine = static_cast<Companion*>(companion);
  mine->transport.reset();
  PMPI_Comm_free(&mine->comm);
  delete mine;
  return MPI_SUCCESS;
}

MpiCollectives::Companion* MpiCollectives::companion_of(MPI_Comm comm) {
  if (key_ == MPI_KEYVAL_INVALID)
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_companion, &key_, nullptr);
  void* known = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(comm, key_, &known, &found);
  if (found) return static_cast<Companion*>(known);
  auto fresh = std::make_unique<Companion>();
  PMPI_Comm_dup(comm, &fresh->comm);
  fresh->transport = mpi_transport(PMPI_Comm_c2f(fresh->comm), kPatience);
  Companion* const companion = fresh.release();  // the communicator owns it from here on
  PMPI_Comm_set_attr(comm, key_, companion);
  return companion;
}

MpiCollectives::Ready MpiCollectives::pass(MPI_Comm comm, const MpiCall& call, const std::string& why) {
  observer_(comm, call, "", why);
  return {};
}

MpiCollectives::Ready MpiCollectives::plan(MPI_Comm comm, const MpiCall& call) {
  if (comm == MPI_COMM_NULL) return pass(comm, call, "there is no communicator");
  int inter = 0, ranks = 0, threads = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&threads);
  if (threads == MPI_THREAD_MULTIPLE)
    return pass(comm, call, "the program uses MPI from several threads at once");
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) return pass(comm, call, "it is between two groups");
  PMPI_Comm_size(comm, &ranks);
  if (ranks < 2) return pass(comm, call, "there is one rank only");
  if (call.elements <= 0) return pass(comm, call, "there is nothing to move");
  std::string why;
  const std::int64_t bytes = call.elements * static_cast<std::int64_t>(size_of(call.type));
  const Algorithm* const algorithm =
      algorithms_.choose(call.collective, ranks, call.root, static_cast<double>(bytes), why);
  if (algorithm == nullptr) return pass(comm, call, why);
  Companion& companion = *companion_of(comm);
  // Which is dropped must not depend on the rank, so all are.
  const std::tuple key{algorithm, call.type, call.elements};
  if (companion.plans.size() >= kMostPlans && !companion.plans.contains(key)) companion.plans.clear();
  std::unique_ptr<RankPlan>& plan = companion.plans[key];
  if (!plan)
    plan = std::make_unique<RankPlan>(*algorithm->program, companion.transport->rank(),
                                      BlockShape{.type = call.type, .elements = call.elements});
  observer_(comm, call, algorithm->name, "");
  return {.plan = plan.get(), .transport = companion.transport.get(), .op = call.op};
}

// One that adds numbers that we know.
MpiCollectives::Ready MpiCollectives::reduction(MPI_Comm comm, MpiCall call, MPI_Datatype type, MPI_Op op) {
  const auto known_type = element_type(type);
  const auto known_op = reduce_op(op);
  if (!known_op) return pass(comm, call, "its operation is not sum, prod, min or max");
  if (!known_type) return pass(comm, call, "its type is none of ours");
  call.type = *known_type;
  call.op = *known_op;
  return plan(comm, call);
}

// One that moves bytes.
MpiCollectives::Ready MpiCollectives::copying(MPI_Comm comm, const MpiCall& call, std::int64_t most_bytes) {
  if (most_bytes > kMostPacked) return pass(comm, call, "it moves more than 2 GiB");
  return plan(comm, call);
}

int MpiCollectives::allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm) {
  const MpiCall call{.function = "MPI_Allreduce", .collective = "allreduce", .elements = count};
  const Ready ready = reduction(comm, call, type, op);
  if (!ready) return PMPI_Allreduce(send, recv, count, type, op, comm);
  std::memcpy(ready.input(), send == MPI_IN_PLACE ? recv : send, ready.input_bytes());
  std::memcpy(recv, ready.output(), ready.plan->output().size());
  return MPI_SUCCESS;
}

int MpiCollectives::reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type,
                                         MPI_Op op, MPI_Comm comm) {
  const MpiCall call{
      .function = "MPI_Reduce_scatter_block", .collective = "reducescatter", .elements = count};
  const Ready ready = reduction(comm, call, type, op);
  if (!ready) return PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
  std::memcpy(ready.input(), send == MPI_IN_PLACE ? recv : send, ready.input_bytes());
  std::memcpy(recv, ready.output(), ready.plan->output().size());
  return MPI_SUCCESS;
}

int MpiCollectives::allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                              int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  const std::int64_t bytes = packed_bytes(recv_type, recv_count);
  const MpiCall call{.function = "MPI_Allgather", .collective = "allgather", .elements = bytes};
  const int ranks = comm_size(comm);
  const Ready ready = copying(comm, call, bytes * ranks);
  if (!ready) return PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
  if (send == MPI_IN_PLACE) {
    MPI_Aint lower = 0, extent = 0;
    PMPI_Type_get_extent(recv_type, &lower, &extent);
    pack(static_cast<const std::byte*>(recv) + extent * recv_count * ready.transport->rank(), recv_count,
         recv_type, ready.input(), bytes, comm);
  } else {
    pack(send, send_count, send_type, ready.input(), bytes, comm);
  }
  unpack(ready.output(), bytes * ranks, recv, recv_count * ranks, recv_type, comm);
  return MPI_SUCCESS;
}

int MpiCollectives::alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                             int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  const std::int64_t bytes = packed_bytes(recv_type, recv_count);
  const MpiCall call{.function = "MPI_Alltoall", .collective = "alltoall", .elements = bytes};
  const int ranks = comm_size(comm);
  const Ready ready = copying(comm, call, bytes * ranks);
  if (!ready) return PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
  if (send == MPI_IN_PLACE)
    pack(recv, recv_count * ranks, recv_type, ready.input(), bytes * ranks, comm);
  else
    pack(send, send_count * ranks, send_type, ready.input(), bytes * ranks, comm);
  unpack(ready.output(), bytes * ranks, recv, recv_count * ranks, recv_type, comm);
  return MPI_SUCCESS;
}

int MpiCollectives::bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const std::int64_t bytes = packed_bytes(type, count);
  const MpiCall call{.function = "MPI_Bcast", .collective = "broadcast", .elements = bytes, .root = root};
  const Ready ready = copying(comm, call, bytes);
  if (!ready) return PMPI_Bcast(data, count, type, root, comm);
  const bool has_it = ready.transport->rank() == root;
  if (has_it) pack(data, count, type, ready.input(), bytes, comm);
  const std::byte* const output = ready.output();
  if (!has_it) unpack(output, bytes, data, count, type, comm);
  return MPI_SUCCESS;
}

}  // namespace chorale
