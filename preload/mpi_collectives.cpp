// A call goes through four questions: is it one of ours at all (reduction, copying, plan); have the ranks of
// its communicator loaded the same (companion_of); is there an algorithm for it (Algorithms::has); how is it
// done, which is decided at the first call of its kind (make_plan). Then its data are copied into the plan's
// buffers, it is run, and the result is copied out. If any answer is no, the call is passed on to MPI.
//
// Every answer must be the same in all ranks, or they wait for each other in different collectives. The first
// and the third follow from arguments that MPI requires to be equal in all ranks and from files that were
// compared. The second and the fourth depend on what a rank has, so ranks meet for them in an MPI_Allreduce,
// and what fails in one before that is carried there as `good`: between two points where ranks meet nothing
// may throw or return in one of them alone. So a new communicator costs a meeting and a new kind of call
// another; all other calls use tables and synchronize only in the algorithm.
#include "preload/mpi_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "codegen/passes/lower.h"
#include "preload/bound_cores.h"
#include "preload/mpi_data.h"
#include "runtime/mpi/transport.h"
#include "runtime/rank_plan.h"

namespace chorale {
namespace {

constexpr std::size_t kMostPlans = 32;      // of a communicator: buffers of sizes that were used
constexpr std::size_t kMostPassed = 4'096;  // and sizes of which it is known that MPI does them
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

CollectiveCall wanted(const MpiCall& call, int ranks) {
  return {.collective = call.collective,
          .custom_name = call.counted,
          .ranks = ranks,
          .root = call.root,
          .block_bytes = static_cast<double>(call.elements) * static_cast<double>(size_of(call.type)),
          .counts = call.counts};
}

Verification<Program> lowered(const Verified<Schedule>& schedule, bool serialize_ports) {
  return try_lower(schedule, {.serialize_ports = serialize_ports});
}

// Counts of a call over all ranks, and where each rank's block lies in the buffers of the algorithm. Counts
// that differ by little are filled up to the largest, so that those of a vector that is parted as evenly as
// it goes are done as equal ones are: of n elements over N ranks that adds less than N / n. Where it would
// add more than an eighth of the elements, only an algorithm for these counts will do. That limit was chosen,
// not measured.
struct Counts {
  static constexpr int kMostPadding = 8;  // padding of at most an eighth

  Counts(const int counts[], MPI_Comm comm) : of(counts) {
    int inter = 1;
    if (comm != MPI_COMM_NULL) PMPI_Comm_test_inter(comm, &inter);
    if (inter || counts == nullptr) return;  // they are of the other group
    ranks = comm_size(comm);
    for (int n = 0; n < ranks; ++n) {
      largest = std::max(largest, counts[n]);
      unit = std::gcd(unit, counts[n]);
      all += counts[n];
    }
    alike = (std::int64_t{largest} * ranks - all) * kMostPadding <= all;
  }

  // Elements of a block of the algorithm.
  int block() const { return alike ? largest : unit; }
  // In all ranks' blocks together.
  std::int64_t room() const { return alike ? std::int64_t{largest} * ranks : all; }
  // Elements from one rank's to the next one's.
  std::int64_t stride(int n) const { return alike ? largest : of[n]; }

  // The call, for equal blocks or for these counts.
  MpiCall call(const char* function, CollectiveKind kind) const {
    if (alike) return {.function = function, .collective = kind};
    MpiCall call{.function = function, .counted = std::string(row_of(kind).counted)};
    for (int n = 0; n < ranks; ++n) call.counts.push_back(of[n] / unit);
    return call;
  }

  const int* of;
  int ranks = 0;
  int largest = 0, unit = 0;
  std::int64_t all = 0;
  bool alike = true;
};

}  // namespace

// What we keep with a communicator.
struct MpiCollectives::Companion {
  // The call, as far as it is the same in all ranks. (A tuple would be exported, by its destructor.)
  struct Kind {
    CollectiveKind collective = CollectiveKind::Custom;
    std::string counted = {};
    int root = 0;
    ElementType type = ElementType::Uint8;
    std::int64_t elements = 0;
    std::vector<int> counts = {};
    auto operator<=>(const Kind&) const = default;
  };
  // How it is done; without an algorithm by MPI, and why.
  struct Plan {
    const LoadedAlgorithm* algorithm = nullptr;
    std::unique_ptr<RankPlan> plan = {};
    std::string why_not = {};
  };

  MPI_Comm comm = MPI_COMM_NULL;  // a duplicate, for our messages only; made for the first plan
  std::unique_ptr<Transport> transport = {};
  std::map<Kind, Plan> plans = {};
  std::size_t buffered = 0;                  // of the plans
  std::vector<RankLocation> locations = {};  // by rank
  int additions = 0;                         // of algorithms, when the plans were made
  FailureName failure = {};                  // what had failed then

  void forget_plans() {
    plans.clear();
    buffered = 0;
  }
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

MpiCollectives::MpiCollectives(Algorithms algorithms, Observer observer, std::string host,
                               std::optional<TierRates> rates, const std::string& failure_file,
                               const std::string& failure_signal)
    : observer_(std::move(observer)),
      host_(std::move(host)),
      failure_file_(failure_file, failure_signal),
      alltoallv_(rates, host_),
      algorithms_(std::move(algorithms)) {}

void MpiCollectives::add(Algorithms more) {
  const std::lock_guard lock(mutex_);
  algorithms_.add(std::move(more));
  ++additions_;
}

void MpiCollectives::set_failure(const std::string& failure) {
  const std::lock_guard lock(mutex_);
  failure_ = failure_name(failure.c_str());
  ++additions_;
}

int MpiCollectives::forget_companion(MPI_Comm, int, void* companion, void*) {
  return forget<Companion>(companion);
}

bool MpiCollectives::learn_locations(MPI_Comm comm, Companion& companion) const {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  if (host_.empty()) PMPI_Get_processor_name(name, &length);
  const Whereabouts mine{
      .host = number_of_host(host_.empty() ? std::string_view(name, length) : std::string_view(host_)),
      .place = first_bound_core()};
  std::vector<Whereabouts> told;
  bool good = true;
  try {
    told.resize(comm_size(comm));
    companion.locations.resize(told.size());
  } catch (const std::bad_alloc&) {
    good = false;
  }
  if (!all_agree(comm, good, 0)) return false;
  if (PMPI_Allgather(&mine, 2, MPI_UINT64_T, told.data(), 2, MPI_UINT64_T, comm) != MPI_SUCCESS) return false;
  locate_ranks(told, companion.locations);
  return true;
}

// The first rank reads, so that all have what was there at one moment.
void MpiCollectives::learn_failure(MPI_Comm comm, Companion& companion) {
  FailureName now = {};
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (rank == 0) now = failure_file_.name();
  PMPI_Bcast(now.data(), static_cast<int>(now.size()), MPI_CHAR, 0, comm);
  if (now == companion.failure) return;
  companion.failure = now;
  companion.forget_plans();
  if (rank != 0) return;
  try {
    if (const std::string words = algorithms_.not_ready_for(now.data()); !words.empty())
      observer_.complaint(words + ": MPI does the collectives");
  } catch (const std::exception&) {
    // There is no memory for the message.
  }
}

// Null: its ranks loaded different algorithms, or one had no memory, and MPI does what they do together. Null
// is kept like any other companion: ranks that differed once are not compared again. A communicator made from
// this one has none.
MpiCollectives::Companion* MpiCollectives::companion_of(MPI_Comm comm) {
  int key = MPI_KEYVAL_INVALID, additions = 0;
  std::uint64_t fingerprint = 0;
  FailureName failure = {};
  {
    const std::lock_guard lock(mutex_);
    if (key_ == MPI_KEYVAL_INVALID)
      PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_companion, &key_, nullptr);
    key = key_;
    additions = additions_;
    failure = failure_;
    // Ranks with and without a file would wait for each other.
    fingerprint = algorithms_.fingerprint() + (failure_file_.given() ? 1 : 0);
  }
  void* known = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(comm, key, &known, &found);
  Companion* companion = static_cast<Companion*>(known);
  if (!found) {
    companion = new (std::nothrow) Companion;
    if (!all_agree(comm, companion != nullptr, fingerprint)) {
      delete companion;
      companion = nullptr;
      complain_of_difference(comm, fingerprint);
    } else if (!learn_locations(comm, *companion)) {
      delete companion;
      companion = nullptr;
      complain_of_memory(comm);
    }
    PMPI_Comm_set_attr(comm, key, companion);  // the communicator owns it from here on
  }
  if (companion != nullptr && companion->additions != additions) {
    companion->forget_plans();  // there may be a better one now, in all ranks
    companion->additions = additions;
    companion->failure = failure;
  }
  return companion;
}

// Printed by the first rank, which names another; and by that one, if it has more to report.
void MpiCollectives::complain_of_difference(MPI_Comm comm, std::uint64_t fingerprint) const {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  std::uint64_t of_first = fingerprint;
  PMPI_Bcast(&of_first, 1, MPI_UINT64_T, 0, comm);
  const int mine = of_first == fingerprint ? ranks : rank;
  int other = ranks;
  PMPI_Allreduce(&mine, &other, 1, MPI_INT, MPI_MIN, comm);
  if (other == ranks) return complain_of_memory(comm);
  try {
    if (rank == 0)
      observer_.complaint(
          fmt::format("ranks 0 and {} of {} have loaded different algorithms: MPI does their "
                      "collectives; give all ranks the same files",
                      other, ranks));
    if (rank == other && !algorithms_.complaints().empty())
      observer_.complaint(fmt::format("rank {}: {}", rank, algorithms_.complaints().front()));
  } catch (const std::exception&) {
    // There is no memory for the message.
  }
}

void MpiCollectives::report(MPI_Comm comm, const MpiCall& call, const std::string& algorithm,
                            const std::string& why_not) const {
  try {
    observer_.call(comm, call, algorithm, why_not);
  } catch (const std::exception&) {
    // There is no memory for the message.
  }
}

MpiCollectives::Ready MpiCollectives::pass(MPI_Comm comm, const MpiCall& call, const std::string& why) const {
  report(comm, call, "", why);
  return {};
}

void MpiCollectives::pass_own_counts(MPI_Comm comm, const char* function, CollectiveKind kind) const try {
  pass(comm, {.function = function, .collective = kind}, "no rank knows the counts of all");
} catch (const std::bad_alloc&) {
}

void MpiCollectives::complain_of_memory(MPI_Comm comm) const {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  try {
    if (rank == 0)
      observer_.complaint("a rank has not enough memory for our algorithms: MPI does its collectives");
  } catch (const std::exception&) {
    // Nor is there any for the message.
  }
}

// The first call of a kind: all ranks make a plan for it, or none. What needs memory stands inside of the
// try; the two calls in which ranks meet, MPI_Comm_dup and all_agree, stand outside, so that every rank comes
// to them. The number of the algorithm is compared, too: a rank that could not lower the best one would have
// chosen the next.
bool MpiCollectives::make_plan(MPI_Comm comm, const MpiCall& call, Companion& companion) {
  if (companion.comm == MPI_COMM_NULL) PMPI_Comm_dup(comm, &companion.comm);
  // Which is dropped must not depend on the rank, so all are.
  if (companion.buffered >= kMostPlans || companion.plans.size() >= kMostPassed) companion.forget_plans();
  const Companion::Kind kind{.collective = call.collective,
                             .counted = call.counted,
                             .root = call.root,
                             .type = call.type,
                             .elements = call.elements,
                             .counts = call.counts};
  Companion::Plan plan;
  bool good = companion.comm != MPI_COMM_NULL;
  std::uint64_t number = 0;
  try {
    if (good && !companion.transport) companion.transport = mpi_transport(companion.comm, kPatience);
    {
      const std::lock_guard lock(mutex_);
      plan.algorithm = algorithms_.choose(wanted(call, comm_size(comm)), companion.locations, lowered,
                                          plan.why_not, companion.failure.data());
    }
    if (good && plan.algorithm != nullptr)
      plan.plan = std::make_unique<RankPlan>(plan.algorithm->program, plan.algorithm->steps,
                                             companion.transport->rank(),
                                             BlockShape{.type = call.type, .elements = call.elements});
    if (plan.algorithm != nullptr) number = plan.algorithm->number + 1;
    if (plan.plan) ++companion.buffered;
    companion.plans.emplace(kind, std::move(plan));
  } catch (const std::exception&) {
    good = false;  // no memory
  }
  if (all_agree(comm, good, number)) return true;
  companion.plans.erase(kind);  // in all ranks; the next call of this kind tries again
  return false;
}

MpiCollectives::Ready MpiCollectives::plan(MPI_Comm comm, const MpiCall& call) {
  if (comm == MPI_COMM_NULL) return pass(comm, call, "there is no communicator");
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) return pass(comm, call, "it is between two groups");
  const int ranks = comm_size(comm);
  if (ranks < 2) return pass(comm, call, "there is one rank only");
  if (call.elements <= 0) return pass(comm, call, "there is nothing to move");
  Companion* const companion = companion_of(comm);
  if (companion == nullptr) return pass(comm, call, "its ranks have loaded different algorithms");
  if (failure_file_.given()) learn_failure(comm, *companion);
  std::string why;
  bool exists = false;
  {
    const std::lock_guard lock(mutex_);
    exists = algorithms_.has(wanted(call, ranks), why);
  }
  if (!exists) return pass(comm, call, why);
  const Companion::Kind kind{.collective = call.collective,
                             .counted = call.counted,
                             .root = call.root,
                             .type = call.type,
                             .elements = call.elements,
                             .counts = call.counts};
  auto at = companion->plans.find(kind);
  if (at == companion->plans.end()) {
    if (!make_plan(comm, call, *companion)) {
      complain_of_memory(comm);
      return pass(comm, call, "a rank has not enough memory for it");
    }
    at = companion->plans.find(kind);
  }
  const Companion::Plan& plan = at->second;
  if (plan.algorithm == nullptr) return pass(comm, call, plan.why_not);
  report(comm, call, plan.algorithm->name, "");
  return {.plan = plan.plan.get(), .transport = companion->transport.get(), .op = call.op};
}

// A reduction of types and operations that are supported. What is thrown here and in copying() is thrown
// where MPI is to do the call, in the other ranks too: for want of memory for a message.
MpiCollectives::Ready MpiCollectives::reduction(MPI_Comm comm, MpiCall call, MPI_Datatype type,
                                                MPI_Op op) try {
  const auto known_type = element_type(type);
  const auto known_op = reduce_op(op);
  if (!known_op) return pass(comm, call, "its operation is not sum, prod, min or max");
  if (!known_type) return pass(comm, call, "its type is not supported");
  call.type = *known_type;
  call.op = *known_op;
  return plan(comm, call);
} catch (const std::bad_alloc&) {
  if (!call.counts.empty()) throw;  // counts are copied in each rank for itself: others may be waiting
  return {};
}

// One that moves bytes.
MpiCollectives::Ready MpiCollectives::copying(MPI_Comm comm, const MpiCall& call,
                                              std::int64_t most_bytes) try {
  if (most_bytes > kMostPacked) return pass(comm, call, "it moves more than 2 GiB");
  return plan(comm, call);
} catch (const std::bad_alloc&) {
  if (!call.counts.empty()) throw;  // counts are copied in each rank for itself: others may be waiting
  return {};
}

int MpiCollectives::allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm) {
  const MpiCall call{.function = "MPI_Allreduce", .collective = CollectiveKind::AllReduce, .elements = count};
  const Ready ready = reduction(comm, call, type, op);
  if (!ready) return PMPI_Allreduce(send, recv, count, type, op, comm);
  std::memcpy(ready.input(), send == MPI_IN_PLACE ? recv : send, ready.input_bytes());
  std::memcpy(recv, ready.output(), ready.plan->output().size());
  return MPI_SUCCESS;
}

int MpiCollectives::reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type,
                                         MPI_Op op, MPI_Comm comm) {
  const MpiCall call{
      .function = "MPI_Reduce_scatter_block", .collective = CollectiveKind::ReduceScatter, .elements = count};
  const Ready ready = reduction(comm, call, type, op);
  if (!ready) return PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
  std::memcpy(ready.input(), send == MPI_IN_PLACE ? recv : send, ready.input_bytes());
  std::memcpy(recv, ready.output(), ready.plan->output().size());
  return MPI_SUCCESS;
}

int MpiCollectives::reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root,
                           MPI_Comm comm) {
  const MpiCall call{
      .function = "MPI_Reduce", .collective = CollectiveKind::Reduce, .elements = count, .root = root};
  const Ready ready = reduction(comm, call, type, op);
  if (!ready) return PMPI_Reduce(send, recv, count, type, op, root, comm);
  std::memcpy(ready.input(), send == MPI_IN_PLACE ? recv : send, ready.input_bytes());
  const std::byte* const output = ready.output();
  if (ready.transport->rank() == root) std::memcpy(recv, output, ready.plan->output().size());
  return MPI_SUCCESS;
}

int MpiCollectives::allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                              int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  const std::int64_t bytes = packed_bytes(recv_type, recv_count);
  const MpiCall call{.function = "MPI_Allgather", .collective = CollectiveKind::Allgather, .elements = bytes};
  const int ranks = comm_size(comm);
  const Ready ready = copying(comm, call, bytes * ranks);
  if (!ready) return PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
  int packed = MPI_SUCCESS;
  if (send == MPI_IN_PLACE) {
    MPI_Aint lower = 0, extent = 0;
    PMPI_Type_get_extent(recv_type, &lower, &extent);
    packed = pack(static_cast<const std::byte*>(recv) + extent * recv_count * ready.transport->rank(),
                  recv_count, recv_type, ready.input(), bytes, comm);
  } else {
    packed = pack(send, send_count, send_type, ready.input(), bytes, comm);
  }
  return both(packed, unpack(ready.output(), bytes * ranks, recv, recv_count * ranks, recv_type, comm));
}

// Counts are the same in all ranks, displacements are not. A shorter block is padded with the data that lay
// there.
int MpiCollectives::allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                               const int recv_counts[], const int places[], MPI_Datatype recv_type,
                               MPI_Comm comm) {
  const Counts counts(recv_counts, comm);
  const auto bytes = [&](std::int64_t elements) { return packed_bytes(recv_type, elements); };
  MpiCall call = counts.call("MPI_Allgatherv", CollectiveKind::Allgather);
  call.elements = bytes(counts.block());
  const Ready ready = copying(comm, call, bytes(counts.room()));
  if (!ready) return PMPI_Allgatherv(send, send_count, send_type, recv, recv_counts, places, recv_type, comm);
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(recv_type, &lower, &extent);
  const auto at = [&](int rank) { return static_cast<std::byte*>(recv) + extent * places[rank]; };
  const int me = ready.transport->rank();
  const bool in_place = send == MPI_IN_PLACE;
  int moved = pack(in_place ? at(me) : send, in_place ? recv_counts[me] : send_count,
                   in_place ? recv_type : send_type, ready.input(), bytes(recv_counts[me]), comm);
  const std::byte* output = ready.output();
  for (int n = 0; n < counts.ranks; output += bytes(counts.stride(n)), ++n)
    if (n != me || !in_place)
      moved = both(moved, unpack(output, bytes(recv_counts[n]), at(n), recv_counts[n], recv_type, comm));
  return moved;
}

// Zeros fill the shorter blocks: sums there are not read, and must not overflow.
int MpiCollectives::reduce_scatter(const void* send, void* recv, const int recv_counts[], MPI_Datatype type,
                                   MPI_Op op, MPI_Comm comm) {
  const Counts counts(recv_counts, comm);
  MpiCall call = counts.call("MPI_Reduce_scatter", CollectiveKind::ReduceScatter);
  call.elements = counts.block();
  const Ready ready = reduction(comm, std::move(call), type, op);
  if (!ready) return PMPI_Reduce_scatter(send, recv, recv_counts, type, op, comm);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(packed_bytes(type, elements));
  };
  const auto* from = static_cast<const std::byte*>(send == MPI_IN_PLACE ? recv : send);
  std::byte* to = ready.input();
  for (int n = 0; n < counts.ranks; ++n) {
    std::memcpy(to, from, bytes(recv_counts[n]));
    std::memset(to + bytes(recv_counts[n]), 0, bytes(counts.stride(n) - recv_counts[n]));
    from += bytes(recv_counts[n]);
    to += bytes(counts.stride(n));
  }
  const std::byte* const output = ready.output();
  std::memcpy(recv, output, bytes(recv_counts[ready.transport->rank()]));
  return MPI_SUCCESS;
}

int MpiCollectives::alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                             int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  const std::int64_t bytes = packed_bytes(recv_type, recv_count);
  const MpiCall call{.function = "MPI_Alltoall", .collective = CollectiveKind::Alltoall, .elements = bytes};
  const int ranks = comm_size(comm);
  const Ready ready = copying(comm, call, bytes * ranks);
  if (!ready) return PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
  const int packed = send == MPI_IN_PLACE
                         ? pack(recv, recv_count * ranks, recv_type, ready.input(), bytes * ranks, comm)
                         : pack(send, send_count * ranks, send_type, ready.input(), bytes * ranks, comm);
  return both(packed, unpack(ready.output(), bytes * ranks, recv, recv_count * ranks, recv_type, comm));
}

int MpiCollectives::alltoallv(const void* send, const int send_counts[], const int send_places[],
                              MPI_Datatype send_type, void* recv, const int recv_counts[],
                              const int recv_places[], MPI_Datatype recv_type, MPI_Comm comm) {
  const MpiCall call{.function = "MPI_Alltoallv", .collective = CollectiveKind::Alltoall};
  std::string done;
  const std::optional<int> result = alltoallv_.call(send, send_counts, send_places, send_type, recv,
                                                    recv_counts, recv_places, recv_type, comm, done);
  report(comm, call, result ? done : "", result ? "" : done);
  if (result) return *result;
  return PMPI_Alltoallv(send, send_counts, send_places, send_type, recv, recv_counts, recv_places, recv_type,
                        comm);
}

// The root has its data already, so nothing is copied out there.
int MpiCollectives::bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const std::int64_t bytes = packed_bytes(type, count);
  const MpiCall call{
      .function = "MPI_Bcast", .collective = CollectiveKind::Broadcast, .elements = bytes, .root = root};
  const Ready ready = copying(comm, call, bytes);
  if (!ready) return PMPI_Bcast(data, count, type, root, comm);
  const bool has_it = ready.transport->rank() == root;
  int moved = has_it ? pack(data, count, type, ready.input(), bytes, comm) : MPI_SUCCESS;
  const std::byte* const output = ready.output();
  if (!has_it) moved = unpack(output, bytes, data, count, type, comm);
  return moved;
}

}  // namespace chorale
