// Tables in the order of the enumerations: the names and bytes of types, the names of reductions. A type that
// is added needs an entry in both of its tables; the lengths of the arrays do not show one that is missing,
// since the rest would be null.
#include "ir/elements.h"

#include <array>

#include "ir/error.h"

namespace chorale {
namespace {

constexpr std::array<const char*, kElementTypes> kTypeNames = {
    "float32", "float64", "int32",   "int64",    "int8",        "uint8",
    "uint32",  "uint64",  "float16", "bfloat16", "float8_e4m3", "float8_e5m2"};
constexpr std::array<std::size_t, kElementTypes> kTypeSizes = {4, 8, 4, 8, 1, 1, 4, 8, 2, 2, 1, 1};
constexpr std::array<const char*, kReduceOps> kOpNames = {"sum", "max", "min", "prod", "avg"};

struct WireRow {
  const char* name = "";
  WireUnit unit = {};
};
constexpr WireRow kWires[] = {{"float32", {1, 4}},
                              {"float16", {1, 2}},
                              {"bfloat16", {1, 2}},
                              {"float8_e4m3", {1, 1}},
                              {"float8_e5m2", {1, 1}},
                              {"int8 of one scale for 32", {32, 33}},
                              {"float8_e4m3 of one scale for 32", {32, 33}}};

// The position in the table is the value of the enumeration.
template <typename Enum, std::size_t count>
Enum by_name(const std::array<const char*, count>& names, const std::string& name, const char* what) {
  std::string known;
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
    known += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  throw InputError(what, "unknown name '" + name + "'", "use one of " + known);
}

}  // namespace

std::size_t size_of(ElementType type) {
  return kTypeSizes[static_cast<std::size_t>(type)];
}

WireUnit unit_on_wire(ElementType type, Wire wire) {
  return type == ElementType::Float32 ? kWires[static_cast<std::size_t>(wire)].unit
                                      : WireUnit{.bytes = static_cast<std::int64_t>(size_of(type))};
}

// The 16-bit and 8-bit floats are the last ones of the enumeration, so one comparison finds them.
bool is_short_type(ElementType type) {
  return type >= ElementType::Float16;
}

std::string to_string(ElementType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

std::string to_string(ReduceOp op) {
  return kOpNames[static_cast<std::size_t>(op)];
}

std::string to_string(Wire wire) {
  return kWires[static_cast<std::size_t>(wire)].name;
}

ElementType element_type(const std::string& name) {
  return by_name<ElementType>(kTypeNames, name, "element type");
}

ReduceOp reduce_op(const std::string& name) {
  return by_name<ReduceOp>(kOpNames, name, "reduction");
}

}  // namespace chorale
