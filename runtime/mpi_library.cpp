#include "runtime/mpi_library.h"

#include <fmt/format.h>
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <climits>
#include <cstring>

#include "ir/error.h"

namespace chorale {
namespace {

MPI_Datatype datatype(ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return MPI_FLOAT;
    case ElementType::Float64:
      return MPI_DOUBLE;
    case ElementType::Int32:
      return MPI_INT32_T;
    case ElementType::Int64:
      return MPI_INT64_T;
    case ElementType::Int8:
      return MPI_INT8_T;
    case ElementType::Uint8:
      return MPI_UINT8_T;
    case ElementType::Uint32:
      return MPI_UINT32_T;
    case ElementType::Uint64:
      return MPI_UINT64_T;
    case ElementType::Float16:
    case ElementType::Bfloat16:
      break;
  }
  throw InputError("mpi", "has no type " + to_string(type), "use another type, or leave 'mpi' out");
}

MPI_Op operation(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg:
      return MPI_SUM;
    case ReduceOp::Max:
      return MPI_MAX;
    case ReduceOp::Min:
      return MPI_MIN;
    case ReduceOp::Prod:
      return MPI_PROD;
  }
  return MPI_SUM;
}

}  // namespace

MpiLibraryPlan::MpiLibraryPlan(const Collective& collective, Rank rank, const BlockShape& shape)
    : collective_(collective), rank_(rank), shape_(shape) {
  datatype(shape.type);
  if (shape.elements > INT_MAX)
    throw InputError("mpi", fmt::format("counts in int, {} elements are too many", shape.elements),
                     "use smaller sizes");
  const std::size_t block = static_cast<std::size_t>(shape.elements) * size_of(shape.type);
  input.resize(block *
               static_cast<std::size_t>(input_chunks(collective, rank) / collective.chunks_per_block));
  output.resize(block *
                static_cast<std::size_t>(output_chunks(collective, rank) / collective.chunks_per_block));
}

void MpiLibraryPlan::execute(ReduceOp op, Transport&) {
  const int count = static_cast<int>(shape_.elements);
  const MPI_Datatype type = datatype(shape_.type);
  const std::string& name = collective_.name;
  const int root = collective_.root;
  if (name == "allreduce") {
    MPI_Allreduce(input.data(), output.data(), count, type, operation(op), MPI_COMM_WORLD);
  } else if (name == "reduce") {
    MPI_Reduce(input.data(), output.data(), count, type, operation(op), root, MPI_COMM_WORLD);
  } else if (name == "reducescatter") {
    MPI_Reduce_scatter_block(input.data(), output.data(), count, type, operation(op), MPI_COMM_WORLD);
  } else if (name == "allgather") {
    MPI_Allgather(input.data(), count, type, output.data(), count, type, MPI_COMM_WORLD);
  } else if (name == "alltoall") {
    MPI_Alltoall(input.data(), count, type, output.data(), count, type, MPI_COMM_WORLD);
  } else if (name == "gather") {
    MPI_Gather(input.data(), count, type, output.data(), count, type, root, MPI_COMM_WORLD);
  } else if (name == "scatter") {
    MPI_Scatter(input.data(), count, type, output.data(), count, type, root, MPI_COMM_WORLD);
  } else if (name == "broadcast") {
    // Ours goes from input to output; MPI's has one buffer.
    if (rank_ == root && !input.empty()) std::memcpy(output.data(), input.data(), input.size());
    MPI_Bcast(output.data(), count, type, root, MPI_COMM_WORLD);
  } else {
    throw InputError("mpi", "has no collective " + name, "leave 'mpi' out");
  }
  if (op == ReduceOp::Avg && collective_.combining)
    divide(shape_.type, output.data(), static_cast<std::int64_t>(output.size() / size_of(shape_.type)),
           collective_.ranks);
}

}  // namespace chorale
