// The collectives of the MPI library itself, for comparison.
#include <fmt/format.h>
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <span>

#include "ir/error.h"
#include "runtime/rank_plan.h"
#include "runtime/rows.h"
#include "runtime/run.h"

namespace chorale {
namespace {

// By width, not by C type: int and long differ among platforms. MPI has no short floats.
MPI_Datatype datatype(ElementType type) {
  static const std::map<ElementType, MPI_Datatype> types = {
      {ElementType::Float32, MPI_FLOAT},   {ElementType::Float64, MPI_DOUBLE},
      {ElementType::Int32, MPI_INT32_T},   {ElementType::Int64, MPI_INT64_T},
      {ElementType::Int8, MPI_INT8_T},     {ElementType::Uint8, MPI_UINT8_T},
      {ElementType::Uint32, MPI_UINT32_T}, {ElementType::Uint64, MPI_UINT64_T}};
  const auto found = types.find(type);
  if (found == types.end())
    throw InputError("mpi", "has no type " + to_string(type), "use another type, or leave 'mpi' out");
  return found->second;
}

// Averages are sums here; execute() divides them.
MPI_Op operation(ReduceOp op) {
  return op == ReduceOp::Max    ? MPI_MAX
         : op == ReduceOp::Min  ? MPI_MIN
         : op == ReduceOp::Prod ? MPI_PROD
                                : MPI_SUM;
}

// Buffers and a call over the ranks of a session, in the shape of RankPlan. Throws InputError for
// collectives, types and sizes that MPI's interface does not have; 16-bit floats are among them, so their
// accumulation does not matter here. Requires an MpiSession.
class MpiLibraryPlan {
 public:
  // In place the buffers share memory as MPI_IN_PLACE has it: a ReduceScatter's output is the first block of
  // the input, unlike NCCL's.
  MpiLibraryPlan(const MpiSession&, const Collective&, const BlockShape&, bool in_place = false);

  std::span<std::byte> input() const { return buffers_.input; }
  std::span<std::byte> output() const { return buffers_.output; }
  bool in_place() const { return in_place_; }

  void execute(ReduceOp, Transport&);

 private:
  const Collective& collective_;
  const MPI_Comm comm_;
  const Rank rank_;
  const BlockShape shape_;
  const bool in_place_;
  RankBuffers buffers_ = {};
};

MpiLibraryPlan::MpiLibraryPlan(const MpiSession& session, const Collective& collective,
                               const BlockShape& shape, bool in_place)
    : collective_(collective),
      comm_(MPI_Comm_f2c(session.communicator())),
      rank_(session.rank()),
      shape_(shape),
      in_place_(in_place) {
  // Throws before a row begins, and not at its first call.
  datatype(shape.type);
  if (shape.elements > INT_MAX)
    throw InputError("mpi", fmt::format("counts in int, {} elements are too many", shape.elements),
                     "use smaller sizes");
  // Input and output of MPI_Reduce_scatter_block begin at one address; those of NCCL's do not.
  const int shift = collective.kind == CollectiveKind::ReduceScatter ? 0 : in_place_shift(collective.kind);
  buffers_ = buffers_of(collective, rank_, shape.elements * static_cast<std::int64_t>(size_of(shape.type)),
                        in_place ? std::optional(shift) : std::nullopt);
}

// In place, ranks that have both buffers pass MPI_IN_PLACE. A rank with one buffer passes that one, as MPI
// wants it of ranks that are not the root.
void MpiLibraryPlan::execute(ReduceOp op, Transport&) {
  // The constructor has tested that it fits.
  const int count = static_cast<int>(shape_.elements);
  const MPI_Datatype type = datatype(shape_.type);
  const int root = collective_.root;
  // Of collectives with a root, only the root has both buffers.
  const bool has_both = !buffers_.input.empty() && !buffers_.output.empty();
  const void* const in = in_place_ && has_both ? MPI_IN_PLACE : buffers_.input.data();
  void* const out = buffers_.output.data();
  int done = MPI_SUCCESS;
  switch (collective_.kind) {
    case CollectiveKind::AllReduce:
      done = MPI_Allreduce(in, out, count, type, operation(op), comm_);
      break;
    case CollectiveKind::Reduce:
      done = MPI_Reduce(in, out, count, type, operation(op), root, comm_);
      break;
    case CollectiveKind::ReduceScatter:
      done = MPI_Reduce_scatter_block(in, out, count, type, operation(op), comm_);
      break;
    case CollectiveKind::Allgather:
      done = MPI_Allgather(in, count, type, out, count, type, comm_);
      break;
    case CollectiveKind::Alltoall:
      done = MPI_Alltoall(in, count, type, out, count, type, comm_);
      break;
    case CollectiveKind::Gather:
      done = MPI_Gather(in, count, type, out, count, type, root, comm_);
      break;
    case CollectiveKind::Scatter:
      // Here the receiving side passes MPI_IN_PLACE.
      done = MPI_Scatter(buffers_.input.data(), count, type, in_place_ && has_both ? MPI_IN_PLACE : out,
                         count, type, root, comm_);
      break;
    case CollectiveKind::Broadcast:
      // Ours goes from input to output; MPI's has one buffer.
      if (rank_ == root && !in_place_ && has_both) std::memcpy(out, in, buffers_.input.size());
      done = MPI_Bcast(out, count, type, root, comm_);
      break;
    default:
      throw InputError("mpi", "has no collective " + name_of(collective_), "leave 'mpi' out");
  }
  if (done != MPI_SUCCESS)  // only where errors are returned (MpiSession::forced)
    throw InputError("mpi", "refuses " + name_of(collective_) + " by this algorithm", "leave it out");
  if (op == ReduceOp::Avg && collective_.combining)
    divide(shape_.type, buffers_.output.data(),
           static_cast<std::int64_t>(buffers_.output.size() / size_of(shape_.type)), collective_.ranks);
}

}  // namespace

// The same rows, data and check as for programs, so the two can be compared line by line.
std::vector<RunRow> run_mpi_library(MpiSession& session, const Collective& collective,
                                    const RunOptions& options, bool in_place) {
  check(options);
  require_ranks(session, name_of(collective), collective.ranks);
  const std::unique_ptr<Transport> transport = session.transport(options.timeout);
  const auto make_plan = [&](const BlockShape& shape) {
    return MpiLibraryPlan(session, collective, shape, in_place);
  };
  return rows(make_plan, !collective.combining, collective, options, *transport);
}

}  // namespace chorale
