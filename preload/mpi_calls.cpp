// A call of MPI in four parts: what it is as an MpiCall, the same in all ranks; a plan for it, or MPI's own
// function with the arguments as they came; the data into the plan's input; the plan's output to the caller.
//
// Reductions have contiguous data, since their types are MPI's own, and are copied. Others may have any
// types: MPI packs and unpacks these, and the plan moves bytes. From the plan on a rank takes part whatever
// fails in it, or others would wait; MPI's error is returned at the end.
#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <optional>

#include "preload/mpi_collectives.h"

namespace chorale {
namespace {

// Types by what the platform makes of them: long has 8 bytes on Linux and 4 elsewhere. MPI_CHAR and MPI_BYTE
// have no sums, and pair types (MPI_FLOAT_INT) have only MINLOC and MAXLOC: MPI does these.
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

// Handles of operations need not be constants, so they are compared one after the other and not switched on.
std::optional<ReduceOp> reduce_op(MPI_Op op) {
  if (op == MPI_SUM) return ReduceOp::Sum;
  if (op == MPI_PROD) return ReduceOp::Prod;
  if (op == MPI_MIN) return ReduceOp::Min;
  if (op == MPI_MAX) return ReduceOp::Max;
  return std::nullopt;
}

// Counts of a call over all ranks, and where each rank's block lies in the buffers of the algorithm. Counts
// that differ by little are filled up to the largest, so that those of a vector that is parted as evenly as
// it goes are done as equal ones are: of n elements over N ranks that adds less than N / n. Where it would
// add more than an eighth of the elements, only an algorithm for these counts will do. That limit was chosen,
// not measured.
struct Counts {
  static constexpr int kMostPadding = 8;  // padding of at most an eighth

  Counts(const int counts[], MPI_Comm comm) : of(counts) {
    // Between two groups they are those of the other one.
    if (comm == MPI_COMM_NULL || is_between_groups(comm) || counts == nullptr) return;
    ranks = comm_size(comm);
    if (std::any_of(counts, counts + ranks, [](int count) { return count < 0; })) {
      largest = -1;  // no count of a call: MPI reports the error
      return;
    }
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

// The sum of what all ranks send, as much of it as the plan gives this rank, where it `receives` any.
int MpiCollectives::reduced(const Ready& ready, const void* send, void* recv, bool receives) {
  std::memcpy(ready.input(), send == MPI_IN_PLACE ? recv : send, ready.plan->input().size());
  const std::byte* const output = ready.output();
  if (receives) std::memcpy(recv, output, ready.plan->output().size());
  return MPI_SUCCESS;
}

// A reduction of types and operations that are supported. What is thrown here and in copying() is thrown for
// want of memory on the way to MPI's own function, which the other ranks call, too.
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
  return reduced(ready, send, recv, true);
}

int MpiCollectives::reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type,
                                         MPI_Op op, MPI_Comm comm) {
  const MpiCall call{
      .function = "MPI_Reduce_scatter_block", .collective = CollectiveKind::ReduceScatter, .elements = count};
  const Ready ready = reduction(comm, call, type, op);
  if (!ready) return PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
  return reduced(ready, send, recv, true);
}

int MpiCollectives::reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root,
                           MPI_Comm comm) {
  const MpiCall call{
      .function = "MPI_Reduce", .collective = CollectiveKind::Reduce, .elements = count, .root = root};
  const Ready ready = reduction(comm, call, type, op);
  if (!ready) return PMPI_Reduce(send, recv, count, type, op, root, comm);
  return reduced(ready, send, recv, ready.rank() == root);
}

int MpiCollectives::allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                              int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  const std::int64_t bytes = packed_bytes(recv_type, recv_count);
  const MpiCall call{.function = "MPI_Allgather", .collective = CollectiveKind::Allgather, .elements = bytes};
  const int ranks = comm_size(comm);
  const Ready ready = copying(comm, call, bytes * ranks);
  if (!ready) return PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
  int packed = MPI_SUCCESS;
  if (send == MPI_IN_PLACE)
    packed = pack(static_cast<const std::byte*>(recv) + extent_of(recv_type) * recv_count * ready.rank(),
                  recv_count, recv_type, ready.input(), bytes, comm);
  else
    packed = pack(send, send_count, send_type, ready.input(), bytes, comm);
  return both(packed, unpack(ready.output(), bytes * ranks, recv, recv_count * ranks, recv_type, comm));
}

// Counts are the same in all ranks, displacements are not: each rank unpacks to its own. A shorter block is
// padded with the data that lay there.
int MpiCollectives::allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                               const int recv_counts[], const int places[], MPI_Datatype recv_type,
                               MPI_Comm comm) {
  const Counts counts(recv_counts, comm);
  const auto bytes = [&](std::int64_t elements) { return packed_bytes(recv_type, elements); };
  MpiCall call = counts.call("MPI_Allgatherv", CollectiveKind::Allgather);
  call.elements = bytes(counts.block());
  const Ready ready = copying(comm, call, bytes(counts.room()));
  if (!ready) return PMPI_Allgatherv(send, send_count, send_type, recv, recv_counts, places, recv_type, comm);
  const MPI_Aint extent = extent_of(recv_type);
  const auto at = [&](int rank) { return static_cast<std::byte*>(recv) + extent * places[rank]; };
  const int me = ready.rank();
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
  std::memcpy(recv, output, bytes(recv_counts[ready.rank()]));
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

void MpiCollectives::pass_own_counts(MPI_Comm comm, const char* function, CollectiveKind kind) const try {
  pass(comm, {.function = function, .collective = kind}, "no rank knows the counts of all");
} catch (const std::bad_alloc&) {
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
  const bool has_it = ready.rank() == root;
  int moved = has_it ? pack(data, count, type, ready.input(), bytes, comm) : MPI_SUCCESS;
  const std::byte* const output = ready.output();
  if (!has_it) moved = unpack(output, bytes, data, count, type, comm);
  return moved;
}

}  // namespace chorale
