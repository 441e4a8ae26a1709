// Members come from what the statements of run() mention, which are printed first: so nothing is owned that
// is not used. Names have prefixes: has_ is a rank's part of a tensor, at_ its address in run(), memory_ its
// own memory, packed_ blocks of slices, kept_ a copy of an operand, exchange_ a communication, total_ a
// reduction.
#include "tensor/lowering/class_source.h"

#include <fmt/format.h>

#include "codegen/epilogue_source.h"
#include "tensor/lowering/declarations.h"
#include "tensor/lowering/names.h"

namespace chorale {
namespace {

// How many pieces an overlap hands over; what is in none: by sizes.
std::string pieces_in_words(const std::string& overlap) {
  return overlap.empty() ? "0" : "kPieces_" + overlap;
}

using Kind = OperationKind;

// Of the ranks that communicate, by where the tensor is; groups that do not have it have nothing to do, as
// rank -1.
std::string rank_in_scope(const Workload& workload, const Operation& op, const TensorType& type) {
  const Scope scope = scope_of(workload, op);
  if (scope == Scope::World) return "rank_";
  if (scope == Scope::Across) return "rank_ / kGroupRanks";
  if (type.first_group == 0 && type.last_group == workload.groups - 1) return "rank_ % kGroupRanks";
  return fmt::format("{} ? rank_ % kGroupRanks : -1",
                     printed_groups("rank_", type.first_group, type.last_group));
}
// The first rank of the scope among all ranks, and for a scope across groups also the distance to the next.
std::string first_in_scope(Scope scope) {
  return scope == Scope::World   ? "0"
         : scope == Scope::Group ? "rank_ / kGroupRanks * kGroupRanks"
                                 : "chorale::Peers(rank_ % kGroupRanks, kGroupRanks)";
}

// Members that hold what lies between operations. Exchanges are members, since their tables are prepared once
// for the sizes. One that is done tile by tile is a vector, and also a whole one where devices without tiles
// need it.
std::string printed_members(const WorkloadPlaces& places, const StepPrinter& printer) {
  std::string text;
  for (const Operation& op : places.workload().operations) {
    const std::string type = c_type(op.type.element);
    const auto memory = [&](const std::string& name, const std::string& elements) {
      text += fmt::format(
          "  const typename Device::template Memory<{0}> {1}_{2}_ =\n      device_.template "
          "memory<{0}>({3});\n",
          type, name, op.name, elements);
    };
    if (places.is_own_memory(op)) memory("memory", fmt::format("has_{}.elements()", op.name));
    if (mentions(printer.steps(), fmt::format("kept_{}_", op.name)))
      memory("kept", fmt::format("has_{}.elements()", op.operands[0]));
    if (mentions(printer.steps(), fmt::format("scalars_{}_", op.name)))
      memory("scalars",
             std::to_string(2 * places.stages().all()[places.stages().stage_of(op.name)].scalars.size()));
    if ((is_constant(op.kind) || places.by_value(op)) && mentions(printer.steps(), "at_" + op.name))
      text += fmt::format("  typename Device::template Held<{}> held_{}_{{device_}};\n", type, op.name);
    if (places.is_packed(op)) {
      text += fmt::format("  const chorale::SlicedBlocks slices_{}_{{{}, {}, {}}};\n", op.name,
                          printed_sides(places.moved(op).shape), places.slicing(op).dim, places.peers(op));
      memory("packed", fmt::format("has_{0}.elements() == 0 ? 0 : chorale::product(has_{0}.whole())",
                                   op.kind == Kind::ReduceScatter ? places.behind(op.operands[0]) : op.name));
    }
  }
  for (const Operation& op : places.workload().operations) {
    if (op.kind != Kind::AllToAllV) continue;
    const auto shape = [&](std::size_t k) -> const TensorShape& {
      return operation(places.workload(), op.operands[k]).type.shape;
    };
    const int ranks = places.scope_ranks(op.type);
    text += fmt::format(
        "  chorale::CountedExchange<Device> counted_{}_{{chorale::CountedRows{{\n      {}, {}, {}, {} / {}, "
        "{}, {}, chorale::product({}, 1)}}}};\n",
        op.name, rank_in_scope(places.workload(), op, op.type), first_in_scope(op.type.scope), ranks,
        printed_extent(shape(1)[0]), ranks, printed_extent(shape(0)[0]), printed_extent(op.type.shape[0]),
        printed_sides(op.type.shape));
  }
  // By the communication that gave the number its name.
  for (const auto& [name, tiles] : printer.tiled())
    if (tiles.number == fmt::format("tiles_{}_", name))
      text += fmt::format("  const int {} = chorale::tile_count({}, {});\n", tiles.number,
                          places.blocks_of(operation(places.workload(), name)),
                          pieces_in_words(operation(places.workload(), name).overlap));
  for (const auto& [name, rows] : places.rows()) {
    const Operation& op = operation(places.workload(), name);
    const TensorType& laid_out = op.over == Scope::Group ? op.type : places.moved(op);
    const std::string type = fmt::format("typename Device::template Exchange<{}, {}>",
                                         c_type(op.type.element), printed_combination(op.reduction));
    const std::string arguments =
        fmt::format("kTables_{}, {}, {}, {}", name, rank_in_scope(places.workload(), op, laid_out),
                    first_in_scope(scope_of(places.workload(), op)), places.blocks_of(op));
    const auto tiles = printer.tiled().find(name);
    // Tile by tile, and, for devices that do one after the other, as a whole.
    const bool whole = mentions(printer.steps(), fmt::format("whole_{}_", name));
    if (tiles == printer.tiled().end() || whole)
      text += fmt::format("  {} {}_{}_{{{}}};\n", type, whole ? "whole" : "exchange", name, arguments);
    if (tiles != printer.tiled().end())
      text += fmt::format("  std::vector<{0}> exchange_{1}_ = chorale::tiled_exchange<{0}>({2}, {3}{4});\n",
                          type, name, arguments, tiles->second.number,
                          tiles->second.row.empty() ? "" : ", " + tiles->second.row);
  }
  text += printer.members();
  return text;
}

// Of the names that `steps` mention.
// A scattered tensor is a view, whose number of elements is compared with the rank's part as the class cannot
// see it otherwise.
std::string printed_pointers(const WorkloadPlaces& places, const std::string& steps) {
  std::string text;
  for (const Operation& op : places.workload().operations) {
    const std::string type = c_type(op.type.element);
    if (places.is_packed(op) && op.kind == Kind::AllGather && places.is_made_in_place(op.operands[0]))
      text += fmt::format("    const std::int64_t own_{} = chorale::blocks_of({}, {}, {})[{}];\n", op.name,
                          printed_sides(op.type.shape), places.slicing(op).dim, places.peers(op),
                          places.moved(op).scope == Scope::Group ? "rank_ % kGroupRanks" : "rank_");
    if (!mentions(steps, "at_" + op.name)) continue;
    if (is_constant(op.kind)) {
      text += fmt::format("    const std::int32_t* const at_{0} = held_{0}_.at({1});\n", op.name,
                          printed_constant(op));
    } else if (places.by_value(op)) {
      text += fmt::format("    const {0}* const at_{1} = held_{1}_.at(tensors.{2});\n", type, op.name,
                          identifier(op.name));
    } else if (op.scattered) {
      text += fmt::format(
          "    const chorale::ScatteredView<{}> at_{} = device_.view(tensors.{});\n    "
          "chorale::require(at_{}.elements == "
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

// Members are in the order of their initialization: the transport, its device, sizes that were checked, the
// rank, parts of tensors, then memory that depends on these.
std::string printed_class(const WorkloadPlaces& places, const StepPrinter& printer) {
  std::string part_members;
  for (const Operation& op : places.workload().operations)
    part_members += fmt::format("  const chorale::Share has_{0} = part_{0}(s, rank_);\n", op.name);
  return fmt::format(
      "// One rank. Make it once for its sizes, run it often.\ntemplate <typename Transport>\nclass Program "
      "{{\n public:\n  using Device = typename Transport::Device;\n\n"
      "  explicit Program(Transport& transport, const Sizes& sizes = {{}})\n      : transport_(transport), "
      "device_(transport.device()), s(checked(transport, sizes)), rank_(transport.rank()) {{}}\n\n"
      "  void run([[maybe_unused]] const Tensors& tensors) {{\n{}{}  }}\n\n private:\n"
      "  static const Sizes& checked(const Transport& transport, const Sizes& s) {{\n"
      "    chorale::require(transport.ranks() == kRanks, \"{}: is for {} ranks, and there are \" + "
      "std::to_string(transport.ranks()));\n{}    return s;\n  }}\n\n"
      "  Transport& transport_;\n  Device& device_;\n  const Sizes s;\n  const int rank_;\n{}{}}};\n\n",
      printed_pointers(places, printer.steps()), printer.steps(), places.name(),
      places.workload().ranks * places.workload().groups, printed_checks(places), part_members,
      printed_members(places, printer));
}

}  // namespace chorale
