// What the rules of types share. Layout flaws and broadcasting follow PyTorch: dimensions are aligned from
// the last one backwards, and a side of 1 stretches.
#include "tensor/language/typing.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/words.h"

namespace chorale {

InputError Typing::fail(const std::string& problem, const std::string& remedy) const {
  return InputError(where, fmt::format("{}: {}", operation.name, problem), remedy);
}

InputError Typing::fail_not_taken(const std::string& takes, const std::string& remedy) const {
  return fail(fmt::format("{} takes {}, and not {}", to_string(operation.kind), takes, shown_operand(0)),
              remedy);
}

std::string Typing::shown_operand(std::size_t k) const {
  return fmt::format("{} ({})", operation.operands[k], to_string(*operands[k]));
}

int dimensions(const TensorType& type) {
  return static_cast<int>(type.shape.size());
}

MaybeError require_reduction(const Typing& typing) {
  const ReduceOp op = typing.operation.reduction;
  if (op != ReduceOp::Sum && op != ReduceOp::Min && op != ReduceOp::Max)
    return typing.fail(fmt::format("{} by '{}'", to_string(typing.operation.kind), to_string(op)),
                       "use \"+\", \"min\" or \"max\"");
  return {};
}

// The intersection of the operands' groups. Of tensors of the world, those that each rank can index by
// itself may be read in groups: Replicated (each has all) and Local (each has its own). A slice over the
// world is cut among other ranks than a slice over a group, so mixing them is refused.
OrError<TensorType> scoped(const Typing& typing) {
  const auto in_groups = [](const TensorType* type) { return type->scope == Scope::Group; };
  const auto first = std::ranges::find_if(typing.operands, in_groups);
  TensorType result;
  if (!typing.operands.empty()) result.element = typing.only().element;
  if (first == typing.operands.end()) return result;
  result.scope = Scope::Group;
  result.first_group = (*first)->first_group;
  result.last_group = (*first)->last_group;
  // A tensor of which each rank has its own is another one in each group.
  result.each = std::ranges::all_of(typing.operands, [](const TensorType* type) {
    return type->each || (type->scope == Scope::World && type->layout.kind == LayoutKind::Replicated);
  });
  for (std::size_t k = 0; k < typing.operands.size(); ++k) {
    const TensorType& type = *typing.operands[k];
    if (type.scope == Scope::World) {
      const bool anywhere =
          type.layout.kind == LayoutKind::Replicated || type.layout.kind == LayoutKind::Local;
      if (anywhere) continue;
      return typing.fail(
          fmt::format("{} is laid out over the world, and {} over groups", typing.shown_operand(k),
                      typing.shown_operand(first - typing.operands.begin())),
          "in groups, only Replicated and Local tensors of the world can be read: declare both with GROUP");
    }
    result.first_group = std::max(result.first_group, type.first_group);
    result.last_group = std::min(result.last_group, type.last_group);
  }
  if (result.first_group > result.last_group)
    return typing.fail("no group has all of its operands",
                       "declare them for the same groups, or Send one to where the others are");
  return result;
}

// [H] sliced along 0 is sliced along 2 when it is broadcast to [B, S, H].
TensorLayout aligned(TensorLayout layout, int dimensions, int to_dimensions) {
  if (layout.kind == LayoutKind::Sliced && layout.dim != kFlat) layout.dim += to_dimensions - dimensions;
  return layout;
}

bool same_sides(const TensorShape& a, const TensorShape& b) {
  return std::ranges::equal(a, b, {}, &Extent::value, &Extent::value);
}

// From the last side backwards; leading sides that the smaller shape lacks are as if they were 1.
bool broadcasts(const TensorShape& shape, const TensorShape& to) {
  if (shape.size() > to.size()) return false;
  return std::equal(shape.rbegin(), shape.rend(), to.rbegin(),
                    [](const Extent& a, const Extent& b) { return a.value == 1 || a.value == b.value; });
}

// Slices of any length are allowed: parts may differ by one, and be empty.
std::string layout_flaw(const TensorLayout& layout, int dimensions, int ranks) {
  if (layout.kind == LayoutKind::Rooted && (layout.root < 0 || layout.root >= ranks))
    return fmt::format("{} names rank {}, and the ranks are 0 to {}", to_string(layout), layout.root,
                       ranks - 1);
  if (layout.kind != LayoutKind::Sliced) return "";
  if (dimensions == 0) return "a scalar has no slices";
  if (layout.dim != kFlat && (layout.dim < 0 || layout.dim >= dimensions))
    return fmt::format("{} is along dimension {}, counted from 0, and the tensor has {}", to_string(layout),
                       layout.dim, counted(dimensions, "dimension"));
  return "";
}

bool is_workload_type(ElementType type) {
  return type == ElementType::Float64 || type == ElementType::Float32 || is_short_type(type) ||
         type == ElementType::Int32;
}

// Divides instead of multiplying, so that it cannot overflow.
std::int64_t counted_elements(const TensorShape& shape) {
  std::int64_t count = 1;
  for (const Extent& extent : shape) {
    if (extent.value < 1 || extent.value > kMostElements / count) return -1;
    count *= extent.value;
  }
  return count;
}

}  // namespace chorale
