// Reductions that each rank does by itself, of all that it has, or along one dimension. Where the tensor is
// cut along what is reduced, ranks have summands, which a collective has to add up: the result is Local.
#include <fmt/format.h>

#include "ir/words.h"
#include "tensor/language/typing.h"

namespace chorale {

OrError<TensorType> reduce_tensor_type(const Typing& typing) {
  if (auto error = require_reduction(typing)) return *error;
  TensorType result = typing.only();
  result.shape = {};
  if (result.layout.kind == LayoutKind::Sliced) result.layout = {.kind = LayoutKind::Local};
  return result;
}

// The side stays, with length 1, so that the result broadcasts to what it was made of.
OrError<TensorType> reduce_along_type(const Typing& typing) {
  if (auto error = require_reduction(typing)) return *error;
  TensorType result = typing.only();
  const std::vector<int>& dims = typing.operation.dims;
  const int count = dimensions(result);
  if (dims.size() != 1 || dims[0] < 0 || dims[0] >= count)
    return typing.fail(
        fmt::format("{} is reduced along dimension {}, counted from 0, and has {}", typing.shown_operand(0),
                    dims.empty() ? -1 : dims[0], counted(count, "dimension")),
        "choose one that it has; ReduceTensor reduces all");
  if (result.layout.kind == LayoutKind::Sliced && result.layout.dim == kFlat)
    return typing.fail_not_taken("whole tensors, or slices along a dimension",
                                 "slice it along a dimension, or AllGather it");
  result.shape[dims[0]] = {};
  if (result.layout.kind == LayoutKind::Sliced && result.layout.dim == dims[0])
    result.layout = {.kind = LayoutKind::Local};
  return result;
}

}  // namespace chorale
