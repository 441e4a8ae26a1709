// An operation of a block program is a row of the table below: whether it takes a message, reads an operand,
// adds to one, stores, sends. The names are those of MSCCL's XML. Operations that no row describes are legal
// in our JSON ("move"), and refused by the printer of MSCCL XML.
#include "ir/block_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace chorale {
namespace {

// An operation is named by how many operands and results it has, so no two rows have the same; only of "re"
// does it matter which slots they are: the first operand is the result.
constexpr OperationShape kOperationShapes[] = {
    {.name = "nop"},
    {.name = "s", .reads = true, .sends = true},
    {.name = "r", .takes = true, .stores = true},
    {.name = "rcs", .takes = true, .stores = true, .sends = true},
    {.name = "rrc", .takes = true, .reads = true, .stores = true},
    {.name = "rrs", .takes = true, .reads = true, .sends = true},
    {.name = "rrcs", .takes = true, .reads = true, .stores = true, .sends = true},
    {.name = "cpy", .reads = true, .stores = true},
    {.name = "re", .reads = true, .adds = true, .stores = true},
};

// A function on a slot, where it lies. Its shape is that of "cpy", so this is asked first.
bool is_epilogue_only(const DataOperation& op) {
  return applies(op) && is_local(op) && op.from.size() == 1 && op.from == op.to;
}

}  // namespace

const OperationShape* shape_of(const DataOperation& op) {
  for (const OperationShape& shape : kOperationShapes) {
    const std::size_t from = (shape.reads ? 1 : 0) + (shape.adds ? 1 : 0), to = shape.stores ? 1 : 0;
    if (op.takes == shape.takes && op.sends == shape.sends && op.from.size() == from && op.to.size() == to &&
        (!shape.adds || op.from.front() == op.to.front()))
      return &shape;
  }
  return nullptr;
}

const OperationShape* shape_named(std::string_view name) {
  const auto* at =
      std::ranges::find_if(kOperationShapes, [&](const OperationShape& shape) { return shape.name == name; });
  return at == std::end(kOperationShapes) ? nullptr : at;
}

// The inverse of shape_of(). Of "re" the first operand is dst, which holds the sum so far.
DataOperation shaped(const OperationShape& shape, const Slot& src, const Slot& dst) {
  DataOperation op{.takes = shape.takes, .sends = shape.sends};
  if (shape.adds) op.from.push_back({dst});
  if (shape.reads) op.from.push_back({src});
  if (shape.stores) op.to.push_back({dst});
  return op;
}

Slot src_of(const DataOperation& op) {
  return op.from.empty() ? Slot() : op.from.back().slot;
}

Slot dst_of(const DataOperation& op) {
  return op.to.empty() ? Slot() : op.to.front().slot;
}

// Barriers and functions on a slot have names of their own; their shape alone would not show them.
std::string name_of(const BlockInstruction& i) {
  if (i.barrier >= 0) return "bar";
  if (is_epilogue_only(i.does)) return "epi";
  const OperationShape* const shape = shape_of(i.does);
  return shape != nullptr ? shape->name : "move";
}

std::string to_string(const BlockInstruction& i) {
  std::string text = name_of(i);
  if (i.barrier >= 0) return text + fmt::format(" {}", i.barrier);
  const OperationShape* const shape = shape_of(i.does);
  if (shape == nullptr) return to_string(i.does);
  if (shape->reads) text += " " + to_string(src_of(i.does));
  if (shape->stores && !is_epilogue_only(i.does)) text += " -> " + to_string(dst_of(i.does));
  if (applies(i.does)) text += fmt::format(" as {}", i.does.position);
  if (i.does.count != 1) text += fmt::format(" x {}", i.does.count);
  return text;
}

}  // namespace chorale
