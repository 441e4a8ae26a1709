#include "codegen/workload/class_source.h"

#include <fmt/format.h>

#include "codegen/epilogue_source.h"
#include "codegen/workload/declarations.h"
#include "codegen/workload/names.h"

namespace chorale {
namespace {

using Kind = OperationKind;

// Members that hold what lies between operations.
std::string printed_members(const WorkloadPlaces& places, const StepPrinter& printer) {
  std::string text;
  for (const Operation& op : places.workload().operations) {
    const std::string type = c_type(op.type.element);
    if (places.is_own_memory(op))
      text += fmt::format(
          "  const std::unique_ptr<{0}[]> memory_{1}_ = chorale::memory<{0}>(has_{1}.elements());\n", type,
          op.name);
    if (places.is_packed(op)) {
      text += fmt::format("  const chorale::SlicedBlocks slices_{}_{{{}, {}, {}}};\n", op.name,
                          printed_sides(places.moved(op).shape), places.slicing(op).dim,
                          places.scope_ranks(places.moved(op)));
      text += fmt::format(
          "  const std::unique_ptr<{0}[]> packed_{1}_ = chorale::memory<{0}>(has_{2}.elements() == 0 ? 0 : "
          "chorale::product(has_{2}.whole()));\n",
          c_type(op.type.element), op.name,
          op.kind == Kind::ReduceScatter ? places.behind(op.operands[0]) : op.name);
    }
  }
  // By the communication that gave the number its name.
  for (const auto& [name, tiles] : printer.tiled())
    if (tiles.number == fmt::format("tiles_{}_", name))
      text += fmt::format("  const int {} = chorale::tile_count({}, kPieces_{});\n", tiles.number,
                          places.blocks_of(operation(places.workload(), name)),
                          operation(places.workload(), name).overlap);
  for (const auto& [name, rows] : places.rows()) {
    const Operation& op = operation(places.workload(), name);
    const bool grouped = places.moved(op).scope == Scope::Group;
    const std::string type =
        fmt::format("{}, {}", c_type(op.type.element), printed_combination(op.reduction));
    const std::string arguments =
        fmt::format("kTables_{}, {}, {}, {}", name, grouped ? "rank_ % kGroupRanks" : "rank_",
                    grouped ? "rank_ / kGroupRanks * kGroupRanks" : "0", places.blocks_of(op));
    const auto tiles = printer.tiled().find(name);
    text += tiles == printer.tiled().end()
                ? fmt::format("  chorale::Exchange<{}> exchange_{}_{{{}}};\n", type, name, arguments)
                : fmt::format(
                      "  std::vector<chorale::Exchange<{0}>> exchange_{1}_ = "
                      "chorale::tiled_exchange<{0}>({2}, "
                      "{3}{4});\n",
                      type, name, arguments, tiles->second.number,
                      tiles->second.row.empty() ? "" : ", " + tiles->second.row);
  }
  return text;
}

// Of what `steps` speak of.
std::string printed_pointers(const WorkloadPlaces& places, const std::string& steps) {
  std::string text;
  for (const Operation& op : places.workload().operations) {
    const std::string type = c_type(op.type.element);
    if (places.is_packed(op) && op.kind == Kind::AllGather && places.is_made_in_place(op.operands[0]))
      text += fmt::format("    const std::int64_t own_{} = chorale::blocks_of({}, {}, {})[{}];\n", op.name,
                          printed_sides(op.type.shape), places.slicing(op).dim, places.scope_ranks(op.type),
                          op.type.scope == Scope::Group ? "rank_ % kGroupRanks" : "rank_");
    if (!mentions(steps, "at_" + op.name)) continue;
    if (is_constant(op)) {
      const std::string value = op.kind == Kind::Rank    ? "rank_ % kGroupRanks"
                                : op.kind == Kind::Group ? "rank_ / kGroupRanks"
                                                         : "kRanks";
      text += fmt::format(
          "    const std::int32_t value_{0} = {1};\n    const std::int32_t* const at_{0} = "
          "&value_{0};\n",
          op.name, value);
    } else if (places.by_value(op)) {
      text += fmt::format("    const {}* const at_{} = &tensors.{};\n", type, op.name, identifier(op.name));
    } else if (op.scattered) {
      text += fmt::format(
          "    const chorale::Scattered<{}>* const at_{} = &tensors.{};\n    "
          "chorale::require(at_{}->elements() == "
          "has_{}.elements(), \"{}: {} must have \" + std::to_string(has_{}.elements()) + \" elements\");\n",
          type, op.name, identifier(op.name), op.name, op.name, places.name(), op.name, op.name);
    } else if (places.is_given_memory(op)) {
      text += fmt::format("    {}* const at_{} = tensors.{};\n",
                          op.kind == Kind::Input && !places.is_updated(op.name) ? "const " + type : type,
                          op.name, identifier(op.name));
    } else if (places.is_own_memory(op)) {
      text += fmt::format("    {}* const at_{} = memory_{}_.get();\n", type, op.name, op.name);
    }
  }
  return text;
}

}  // namespace

std::string printed_class(const WorkloadPlaces& places, const StepPrinter& printer) {
  std::string part_members;
  for (const Operation& op : places.workload().operations)
    part_members += fmt::format("  const chorale::Share has_{0} = part_{0}(s, rank_);\n", op.name);
  return fmt::format(
      "// One rank. Make it once for its sizes, run it often.\ntemplate <typename Transport>\nclass Program "
      "{{\n public:\n"
      "  explicit Program(Transport& transport, const Sizes& sizes = {{}})\n      : transport_(transport), "
      "s(checked("
      "transport, sizes)), rank_(transport.rank()) {{}}\n\n"
      "  void run([[maybe_unused]] const Tensors& tensors) {{\n{}{}  }}\n\n private:\n"
      "  static const Sizes& checked(const Transport& transport, const Sizes& s) {{\n"
      "    chorale::require(transport.ranks() == kRanks, \"{}: is for {} ranks, and there are \" + "
      "std::to_string(transport.ranks()));\n{}    return s;\n  }}\n\n"
      "  Transport& transport_;\n  const Sizes s;\n  const int rank_;\n{}{}}};\n\n",
      printed_pointers(places, printer.steps()), printer.steps(), places.name(),
      places.workload().ranks * places.workload().groups, printed_checks(places), part_members,
      printed_members(places, printer));
}

}  // namespace chorale
