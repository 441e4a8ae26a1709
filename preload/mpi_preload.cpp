// LD_PRELOAD=libchorale-mpi-preload.so: MPI_Allreduce, MPI_Allgather, MPI_Reduce_scatter_block, MPI_Alltoall
// and MPI_Bcast of an unmodified program by algorithms of ours, where there is one for the communicator's
// size; else MPI's own, by its profiling interface.
//
//   CHORALE_ALGORITHMS   result files, or directories of them, separated by colons
//   CHORALE_LOG=1        says on standard error, once for each kind of call, which algorithm was used, or why
//                        none
//
// All ranks decide alike: by the communicator's size, the bytes, the type and the operation, which MPI
// requires to be the same everywhere. Data that lie scattered are packed first.
#define OMPI_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "preload/algorithms.h"
#include "runtime/mpi_transport.h"
#include "runtime/rank_plan.h"

#define CHORALE_EXPORT extern "C" __attribute__((visibility("default")))

namespace chorale {
namespace {

constexpr std::size_t kMostPlans = 32;  // of a communicator: buffers of sizes that were used
// A program may be late for reasons of its own; this only ends what would never end.
constexpr std::chrono::hours kPatience{24};

// What we keep with a communicator.
struct Companion {
  MPI_Comm comm = MPI_COMM_NULL;  // a duplicate, for our messages only
  std::unique_ptr<Transport> transport = {};
  std::map<std::tuple<const Algorithm*, ElementType, std::int64_t>, std::unique_ptr<RankPlan>> plans = {};
};

int forget_companion(MPI_Comm, int, void* companion, void*) {
  Companion* const mine = static_cast<Companion*>(companion);
  mine->transport.reset();
  PMPI_Comm_free(&mine->comm);
  delete mine;
  return MPI_SUCCESS;
}

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

// One call of the program, in our terms.
struct Call {
  const char* function = "";
  const char* collective = "";
  ElementType type = ElementType::Uint8;
  ReduceOp op = ReduceOp::Sum;
  std::int64_t elements = 0;  // of a block
  int root = 0;
};

class Preload {
 public:
  static Preload& here() {
    static Preload preload;
    return preload;
  }

  // The plan for this call, with its input and output buffers; null: MPI is to do it.
  RankPlan* plan(MPI_Comm comm, const Call& call, Companion*& companion) {
    int inter = 0, ranks = 0, threads = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&threads);
    if (threads == MPI_THREAD_MULTIPLE)
      return pass(comm, call, "the program uses MPI from several threads at once");
    PMPI_Comm_test_inter(comm, &inter);
    if (inter) return pass(comm, call, "it is between two groups");
    PMPI_Comm_size(comm, &ranks);
    if (ranks < 2) return nullptr;
    if (call.elements == 0) return nullptr;
    std::string why;
    const std::int64_t bytes = call.elements * static_cast<std::int64_t>(size_of(call.type));
    const Algorithm* const algorithm =
        algorithms_.choose(call.collective, ranks, call.root, static_cast<double>(bytes), why);
    if (algorithm == nullptr) return pass(comm, call, why);
    companion = companion_of(comm);
    say(comm, call, algorithm->name);
    ++used_;
    auto& plan = companion->plans[{algorithm, call.type, call.elements}];
    if (!plan) {
      if (companion->plans.size() > kMostPlans) {
        // The new entry is empty, and so is the whole store with it.
        companion->plans.clear();
        return this->plan(comm, call, companion);
      }
      plan = std::make_unique<RankPlan>(*algorithm->program, companion->transport->rank(),
                                        BlockShape{.type = call.type, .elements = call.elements});
    }
    return plan.get();
  }

  void refused(MPI_Comm comm, const Call& call, const std::string& why) { pass(comm, call, why); }

  void summary() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (log_ && rank == 0)
      std::fprintf(stderr, "chorale: %ld collectives by algorithms of ours, %ld passed on to MPI\n", used_,
                   passed_);
  }

 private:
  Preload()
      : log_(std::getenv("CHORALE_LOG") != nullptr && std::strcmp(std::getenv("CHORALE_LOG"), "0") != 0),
        algorithms_(std::getenv("CHORALE_ALGORITHMS") != nullptr ? std::getenv("CHORALE_ALGORITHMS") : "") {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) return;
    for (const std::string& complaint : algorithms_.complaints())
      std::fprintf(stderr, "chorale: %s\n", complaint.c_str());
    if (log_) std::fprintf(stderr, "chorale: %d algorithms are at hand\n", algorithms_.size());
  }

  RankPlan* pass(MPI_Comm comm, const Call& call, const std::string& why) {
    ++passed_;
    say(comm, call, "passed on to MPI: " + why);
    return nullptr;
  }

  // Once for each kind of call.
  void say(MPI_Comm comm, const Call& call, const std::string& what) {
    if (!log_) return;
    int rank = 0, ranks = 0;
    PMPI_Comm_rank(comm, &rank);
    if (rank != 0) return;
    PMPI_Comm_size(comm, &ranks);
    const std::string line = fmt::format("chorale: {}, {} ranks, blocks of {} {}: {}\n", call.function, ranks,
                                         call.elements, to_string(call.type), what);
    if (said_.insert(line).second) std::fputs(line.c_str(), stderr);
  }

  Companion* companion_of(MPI_Comm comm) {
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

  const bool log_;
  Algorithms algorithms_;
  int key_ = MPI_KEYVAL_INVALID;
  long used_ = 0, passed_ = 0;
  std::set<std::string> said_ = {};
};

// Runs `work` where nothing may be thrown through; what is thrown ends the program, since other ranks may be
// waiting.
template <typename Work>
int guarded(Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "chorale: %s\n", error.what());
    PMPI_Abort(MPI_COMM_WORLD, 1);
    return MPI_ERR_INTERN;
  }
}

// Elements of a type that a call moves but does not look at, as bytes one after the other.
std::int64_t packed_bytes(MPI_Datatype type, std::int64_t count) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return size * count;
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

// A reduction that we know; otherwise why not is said.
std::optional<Call> reduction(MPI_Comm comm, const char* function, const char* collective, MPI_Datatype type,
                              MPI_Op op, int count) {
  Call call{.function = function, .collective = collective, .elements = count};
  const auto known_type = element_type(type);
  const auto known_op = reduce_op(op);
  if (!known_type || !known_op) {
    Preload::here().refused(
        comm, call, known_type ? "its operation is not sum, prod, min or max" : "its type is none of ours");
    return std::nullopt;
  }
  call.type = *known_type;
  call.op = *known_op;
  return call;
}

}  // namespace
}  // namespace chorale

using namespace chorale;

CHORALE_EXPORT int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                                 MPI_Comm comm) {
  return guarded([&] {
    const auto call = reduction(comm, "MPI_Allreduce", "allreduce", type, op, count);
    Companion* companion = nullptr;
    RankPlan* const plan = call ? Preload::here().plan(comm, *call, companion) : nullptr;
    if (plan == nullptr) return PMPI_Allreduce(send, recv, count, type, op, comm);
    std::memcpy(plan->input().data(), send == MPI_IN_PLACE ? recv : send, plan->input().size());
    plan->execute(call->op, *companion->transport);
    std::memcpy(recv, plan->output().data(), plan->output().size());
    return MPI_SUCCESS;
  });
}

CHORALE_EXPORT int MPI_Reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type,
                                            MPI_Op op, MPI_Comm comm) {
  return guarded([&] {
    const auto call = reduction(comm, "MPI_Reduce_scatter_block", "reducescatter", type, op, count);
    Companion* companion = nullptr;
    RankPlan* const plan = call ? Preload::here().plan(comm, *call, companion) : nullptr;
    if (plan == nullptr) return PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
    std::memcpy(plan->input().data(), send == MPI_IN_PLACE ? recv : send, plan->input().size());
    plan->execute(call->op, *companion->transport);
    std::memcpy(recv, plan->output().data(), plan->output().size());
    return MPI_SUCCESS;
  });
}

CHORALE_EXPORT int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                                 int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  return guarded([&] {
    int ranks = 1, rank = 0;
    PMPI_Comm_size(comm, &ranks);
    PMPI_Comm_rank(comm, &rank);
    const std::int64_t bytes = packed_bytes(recv_type, recv_count);
    const Call call{.function = "MPI_Allgather", .collective = "allgather", .elements = bytes};
    Companion* companion = nullptr;
    RankPlan* const plan =
        bytes * ranks > kMostPacked ? nullptr : Preload::here().plan(comm, call, companion);
    if (plan == nullptr)
      return PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
    if (send == MPI_IN_PLACE) {
      MPI_Aint lower = 0, extent = 0;
      PMPI_Type_get_extent(recv_type, &lower, &extent);
      pack(static_cast<const std::byte*>(recv) + extent * recv_count * rank, recv_count, recv_type,
           plan->input().data(), bytes, comm);
    } else {
      pack(send, send_count, send_type, plan->input().data(), bytes, comm);
    }
    plan->execute(ReduceOp::Sum, *companion->transport);
    unpack(plan->output().data(), bytes * ranks, recv, recv_count * ranks, recv_type, comm);
    return MPI_SUCCESS;
  });
}

CHORALE_EXPORT int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                                int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  return guarded([&] {
    int ranks = 1;
    PMPI_Comm_size(comm, &ranks);
    const std::int64_t bytes = packed_bytes(recv_type, recv_count);
    const Call call{.function = "MPI_Alltoall", .collective = "alltoall", .elements = bytes};
    Companion* companion = nullptr;
    RankPlan* const plan =
        bytes * ranks > kMostPacked ? nullptr : Preload::here().plan(comm, call, companion);
    if (plan == nullptr) return PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
    if (send == MPI_IN_PLACE)
      pack(recv, recv_count * ranks, recv_type, plan->input().data(), bytes * ranks, comm);
    else
      pack(send, send_count * ranks, send_type, plan->input().data(), bytes * ranks, comm);
    plan->execute(ReduceOp::Sum, *companion->transport);
    unpack(plan->output().data(), bytes * ranks, recv, recv_count * ranks, recv_type, comm);
    return MPI_SUCCESS;
  });
}

CHORALE_EXPORT int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return guarded([&] {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    const std::int64_t bytes = packed_bytes(type, count);
    const Call call{.function = "MPI_Bcast", .collective = "broadcast", .elements = bytes, .root = root};
    Companion* companion = nullptr;
    RankPlan* const plan = bytes > kMostPacked ? nullptr : Preload::here().plan(comm, call, companion);
    if (plan == nullptr) return PMPI_Bcast(data, count, type, root, comm);
    if (rank == root) pack(data, count, type, plan->input().data(), bytes, comm);
    plan->execute(ReduceOp::Sum, *companion->transport);
    if (rank != root) unpack(plan->output().data(), bytes, data, count, type, comm);
    return MPI_SUCCESS;
  });
}

CHORALE_EXPORT int MPI_Finalize() {
  Preload::here().summary();
  return PMPI_Finalize();
}
