// NAME.h from top to bottom: the sizes; a rank's part of each tensor; the tables of its algorithms; a struct
// for each loop; the class that owns what lies between operations, and does them one after the other. Each
// has a file in tensor/lowering.
#include "tensor/lowering/workload_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/embedded_files.h"
#include "codegen/epilogue_source.h"
#include "codegen/source_tables.h"
#include "tensor/lowering/around_source.h"
#include "tensor/lowering/names.h"
#include "tensor/lowering/step_source.h"

namespace chorale {

std::span<const EmbeddedFile> workload_files();  // tensor/CMakeLists.txt compiles them in

namespace {

// Sizes may be given at run time, so all that depends on them is an expression of them: s.B * s.H. Parts of
// tensors are functions of sizes and rank, since other programs ask for them before there is a class.

using Kind = OperationKind;

// What the execution chooses, as constants.
std::string printed_pieces(const WorkloadPlaces& places) {
  std::string text;
  std::set<std::string> seen;
  for (const Operation& op : places.workload().operations)
    if (!op.overlap.empty() && seen.insert(op.overlap).second)
      text += fmt::format("constexpr int kPieces_{0} = {1};  // that {0} hands over; 0: the usual number\n",
                          op.overlap, pieces_of(places.execution(), op.overlap));
  return text;
}

// What the header needs of a compiler stands in it, since users include it in programs of their own.
std::string printed_top(const WorkloadPlaces& places) {
  return fmt::format(
      "// The workload {0}, made by chorale: a class over a transport (runtime/exchange/mpi.h, threads.h, "
      "...).\n"
      "// Needs -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math (Makefile).\n#pragma once\n\n"
      "#include <algorithm>\n#include <cstdint>\n#include <memory>\n#include <stdexcept>\n#include <string>\n"
      "#include <vector>\n\n#include \"tensor/exchange/device.h\"\n#include "
      "\"tensor/exchange/exchange.h\"\n"
      "#include \"tensor/exchange/overlap.h\"\n#include \"tensor/exchange/parts.h\"\n"
      "#include \"tensor/exchange/products.h\"\n#include \"tensor/exchange/pack.h\"\n\n"
      "namespace workloads::{1} {{\n\n"
      "constexpr const char* kName = \"{0}\";\n"
      "constexpr int kGroupRanks = {2}, kGroups = {3};  // consecutive ranks are a group\n"
      "constexpr int kRanks = kGroupRanks * kGroups;\n{4}\n",
      printable_name(places.workload().name), identifier(places.name()), places.workload().ranks,
      places.workload().groups, printed_pieces(places));
}

// Defaults are those of the tensor program; a caller sets others.
std::string printed_sizes(const WorkloadPlaces& places) {
  std::string text = "struct Sizes {\n";
  for (const WorkloadSize& size : places.workload().sizes)
    text += fmt::format("  std::int64_t {} = {};\n", identifier(size.name), size.value);
  return text + "};\n\n";
}

// Scalars are given by value, list inputs as a Scattered, all else as pointers; const unless an operation
// updates it.
std::string printed_tensors(const WorkloadPlaces& places) {
  std::string text =
      "// What a rank gives: scalars, and where its parts of tensors lie (row-major; elements_NAME has how "
      "many), none of\n"
      "// them in the memory of another. Those that are not const are changed.\nstruct Tensors {\n";
  for (const Operation& op : places.workload().operations) {
    if (!places.is_given_memory(op)) continue;
    const char* const type = c_type(op.type.element);
    const std::string comment = fmt::format("{} {}", to_string(op.type.shape), to_string(op.type.layout));
    if (places.by_value(op))
      text += fmt::format("  {} {} = {}(0);\n", type, identifier(op.name), type);
    else if (op.scattered)
      text += fmt::format("  chorale::Scattered<{}> {} = {{}};  // {}{}\n", type, identifier(op.name),
                          comment, places.is_updated(op.name) ? "" : ", only read");
    else
      text += fmt::format("  {}{}* {} = nullptr;  // {}\n",
                          op.kind == Kind::Input && !places.is_updated(op.name) ? "const " : "", type,
                          identifier(op.name), comment);
  }
  return text + "  std::uint64_t seed = 0;  // of random numbers\n};\n\n";
}

// By the layout: a slice, everything on one rank, or everything everywhere; nothing in groups that do not
// have the tensor. Groups are consecutive ranks, so a rank's number in its group is rank % kGroupRanks.
std::string printed_parts(const WorkloadPlaces& places) {
  std::string text = "// What a rank has of each tensor.\n";
  for (const Operation& op : places.workload().operations) {
    const TensorType& type = op.type;
    const bool grouped = type.scope == Scope::Group;
    const std::string rank = grouped ? "rank % kGroupRanks" : "rank";
    const bool everywhere =
        !grouped || (type.first_group == 0 && type.last_group == places.workload().groups - 1);
    const std::string here = everywhere ? "true" : printed_groups("rank", type.first_group, type.last_group);
    std::string part;
    if (type.layout.kind == LayoutKind::Sliced) {
      part = fmt::format("chorale::Share({}, {}, {}, {})", printed_sides(type.shape), type.layout.dim,
                         grouped ? "kGroupRanks" : "kRanks", rank);
      if (!everywhere)
        part = fmt::format("{} ? {} : chorale::Share({}, false)", here, part, printed_sides(type.shape));
    } else if (type.layout.kind == LayoutKind::Rooted) {
      part = fmt::format("chorale::Share({}, {} == {}{})", printed_sides(type.shape), rank, type.layout.root,
                         everywhere ? "" : " && " + here);
    } else {
      part = fmt::format("chorale::Share({}, {})", printed_sides(type.shape), here);
    }
    text += fmt::format(
        "inline chorale::Share part_{}([[maybe_unused]] const Sizes& s, [[maybe_unused]] int rank) {{\n  "
        "return {};\n}}\n",
        op.name, part);
    if (places.is_given_memory(op))
      text += fmt::format(
          "inline std::int64_t elements_{0}(const Sizes& s, int rank) {{\n  return part_{0}(s, "
          "rank).elements();\n}}\n",
          op.name);
  }
  return text + "\n";
}

// For each communication the rows of its algorithm (exchange_tables.h), which exchanges read at run time: no
// code is printed for an algorithm.
std::string printed_tables(const WorkloadPlaces& places) {
  std::string text;
  for (const auto& [name, rows] : places.rows()) {
    const Program& program = places.program(name);
    text += fmt::format("// How {} is done: {}.\n", name, printable_name(program.name));
    text += printed_steps(rows.steps, "_" + name);
  }
  return text;
}

std::string printed_declarations(const WorkloadPlaces& places) {
  return printed_top(places) + printed_sizes(places) + printed_tensors(places) + printed_parts(places) +
         printed_tables(places);
}

// Conditions that inference could check only for the sizes' defaults, as statements, each once.
// Sides are compared only where a size is involved: two numbers were compared when types were inferred.
class Checks {
 public:
  explicit Checks(const WorkloadPlaces& places) : places_(places) {
    for (const WorkloadSize& size : places.workload().sizes) {
      const char* const is = size.fixed ? "==" : ">=";
      const std::int64_t least = size.fixed ? size.value : 1;
      require(fmt::format("s.{} {} {}", identifier(size.name), is, least),
              fmt::format("size {} must be {}{}", size.name, size.fixed ? "" : "at least ", least));
    }
    for (const Operation& op : places.workload().operations) {
      for (const TensorShape* shape : {&op.type.shape, &op.shape})
        for (const Extent& side : *shape) whole(side);
      check(op);
    }
  }

  std::string text() const { return fmt::format("{}", fmt::join(lines_, "")); }

 private:
  // Several operations ask for the same: it is asked once.
  void require(const std::string& condition, const std::string& what) {
    std::string line =
        fmt::format("    chorale::require({}, \"{}: {}\");\n", condition, places_.name(), what);
    if (std::ranges::count(lines_, line) == 0) lines_.push_back(std::move(line));
  }
  void require(const Operation& op, const std::string& condition, const std::string& what) {
    require(condition, op.name + ": " + what);
  }
  void equal(const Operation& op, const Extent& a, const Extent& b) {
    if (a == b || (a.sizes.empty() && b.sizes.empty())) return;
    require(op, fmt::format("{} == {}", printed_extent(a), printed_extent(b)),
            fmt::format("{} and {} must be equal", to_string(a), to_string(b)));
  }
  void whole(const Extent& side) {
    if (side.divisor == 1) return;
    Extent whole = side;
    whole.divisor = 1;
    require(fmt::format("{} % {} == 0", printed_extent(whole), side.divisor),
            fmt::format("{} must be divisible by {}", to_string(whole), side.divisor));
  }
  // AllToAll cuts into equal blocks.
  void divisible(const Operation& op, const Extent& extent, int ranks, const char* what) {
    require(op, fmt::format("{} % {} == 0", printed_extent(extent), ranks),
            fmt::format("{}{} must be divisible by the {} ranks", to_string(extent), what, ranks));
  }
  const TensorType& type_of(const Operation& op, std::size_t operand) const {
    return operation(places_.workload(), op.operands[operand]).type;
  }

  void check(const Operation& op) {
    switch (op.kind) {
      case Kind::Pointwise:
        for (std::size_t k = 0; k < op.operands.size(); ++k) broadcast(op, type_of(op, k).shape);
        break;
      // The contracted dimensions, and of batches all before the last two.
      case Kind::MatMul: {
        const TensorShape &a = type_of(op, 0).shape, &b = type_of(op, 1).shape;
        equal(op, a.back(), b[b.size() - 2]);
        for (std::size_t d = 0; b.size() > 2 && d + 2 < b.size(); ++d) equal(op, a[d], b[d]);
        break;
      }
      case Kind::Convolution:
        convolution(op, type_of(op, 0).shape, type_of(op, 1).shape);
        break;
      case Kind::Reshape:
        reshape(op, type_of(op, 0));
        break;
      case Kind::Narrow: {
        const Extent& from = type_of(op, 0).shape[op.dims[0]];
        require(op,
                fmt::format("{} + {} <= {}", printed_extent(op.shape[0]), printed_extent(op.shape[1]),
                            printed_extent(from)),
                fmt::format("{} must have {} elements from {} on", to_string(from), to_string(op.shape[1]),
                            to_string(op.shape[0])));
        break;
      }
      case Kind::TopK: {
        const Extent& from = type_of(op, 0).shape[op.dims[0]];
        require(op, fmt::format("{} <= {}", printed_extent(op.shape[0]), printed_extent(from)),
                fmt::format("{} must have {} elements", to_string(from), to_string(op.shape[0])));
        break;
      }
      case Kind::TakeAlong: {
        const TensorShape &from = type_of(op, 0).shape, &numbers = type_of(op, 1).shape;
        for (int d = 0; d < static_cast<int>(from.size()); ++d)
          if (d != op.dims[0]) equal(op, numbers[d], from[d]);
        break;
      }
      case Kind::Concat:
        concat(op);
        break;
      // The numbers say where each row goes, so the leading dimensions are those of the rows.
      case Kind::ScatterRows: {
        const TensorShape &from = type_of(op, 0).shape, &numbers = type_of(op, 1).shape;
        for (std::size_t d = 0; d < numbers.size(); ++d) equal(op, numbers[d], from[d]);
        break;
      }
      // A row for each number, of the tensor's length.
      case Kind::PutRows: {
        const TensorShape &of = type_of(op, 0).shape, &rows = type_of(op, 1).shape,
                          &numbers = type_of(op, 2).shape;
        for (std::size_t d = 0; d < rows.size(); ++d)
          equal(op, rows[d], d < numbers.size() ? numbers[d] : of[d - numbers.size() + 1]);
        break;
      }
      case Kind::AllToAll:
        divisible(op, op.type.shape[0], places_.scope_ranks(places_.moved(op)), "");
        break;
      case Kind::AllToAllV:
        divisible(op, type_of(op, 1).shape[0], places_.scope_ranks(op.type), " counts");
        break;
      default:
        break;
    }
    // A tensor is updated in its own memory, so the new one is as large.
    if (op.updates.empty()) return;
    const TensorShape& shape = operation(places_.workload(), op.updates).type.shape;
    for (std::size_t d = 0; d < shape.size(); ++d) equal(op, shape[d], op.type.shape[d]);
  }

  // By the last dimensions: a side of 1 by the defaults has to stay 1.
  void broadcast(const Operation& op, const TensorShape& shape) {
    for (std::size_t k = 1; k <= shape.size(); ++k) {
      const Extent &own = shape[shape.size() - k], &of = op.type.shape[op.type.shape.size() - k];
      equal(op, own, own.value == 1 && of.value != 1 ? Extent{} : of);
    }
  }

  // Sides of its result are numbers, those of the defaults.
  void convolution(const Operation& op, const TensorShape& x, const TensorShape& w) {
    equal(op, x[1], w[1]);
    for (const std::size_t d : {2, 3})
      if (!x[d].sizes.empty() || !w[d].sizes.empty())
        require(op,
                fmt::format("({} + {} - {}) / {} == {}", printed_extent(x[d]), 2 * op.padding,
                            printed_extent(w[d]), op.stride, op.type.shape[d].value - 1),
                fmt::format("images of {} with kernels of {} must give {}", to_string(x[d]), to_string(w[d]),
                            to_string(op.type.shape[d])));
  }

  // As many elements; and of slices, as many before the sliced dimension, which is cut at the same elements.
  void reshape(const Operation& op, const TensorType& from) {
    const TensorShape& shape = op.type.shape;
    const auto first = [](const TensorShape& sides, int count) {
      return printed_sides(TensorShape(sides.begin(), sides.begin() + count));
    };
    require(op,
            fmt::format("chorale::product({}) == chorale::product({})", printed_sides(from.shape),
                        printed_sides(shape)),
            fmt::format("{} and {} must have as many elements", to_string(from.shape), to_string(shape)));
    const int dim = from.layout.dim, to = op.type.layout.dim;
    if (from.layout.kind != LayoutKind::Sliced || dim == kFlat || to == kFlat) return;
    std::string condition =
        fmt::format("chorale::product({}) == chorale::product({})", first(from.shape, dim), first(shape, to));
    if (from.shape[dim] != shape[to])
      condition +=
          fmt::format(" && ({0} == {1} || ({0} % {2} == 0 && {1} % {2} == 0))",
                      printed_extent(from.shape[dim]), printed_extent(shape[to]), places_.scope_ranks(from));
    require(op, condition,
            fmt::format("slices of {} must be those of {}", to_string(from.shape), to_string(shape)));
  }

  // All dimensions but one are equal, and along that one the operands follow each other.
  void concat(const Operation& op) {
    std::string sum = "0";
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const TensorShape& shape = type_of(op, k).shape;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (static_cast<int>(d) != op.dims[0]) equal(op, shape[d], op.type.shape[d]);
      sum += " + " + printed_extent(shape[op.dims[0]]);
    }
    const Extent& side = op.type.shape[op.dims[0]];
    require(op, fmt::format("{} == {}", sum, printed_extent(side)),
            fmt::format("its dimension {} must be {} long", op.dims[0], to_string(side)));
  }

  const WorkloadPlaces& places_;
  std::vector<std::string> lines_ = {};
};

// Statements: conditions that inference could check only for the sizes' defaults.
std::string printed_checks(const WorkloadPlaces& places) {
  return Checks(places).text();
}

// Members come from what the statements of run() mention, which are printed first: so nothing is owned that
// is not used. Names have prefixes: has_ is a rank's part of a tensor, at_ its address in run(), memory_ its
// own memory, packed_ blocks of slices, kept_ a copy of an operand, exchange_ a communication, total_ a
// reduction.

// How many pieces an overlap hands over; what is in none: the usual number.
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
    const std::string tables = printer.is_beside(name)
                                   ? fmt::format("chorale::by_pieces(kTables_{}, {}, {})", name,
                                                 places.blocks_of(op), pieces_in_words(op.overlap))
                                   : "kTables_" + name;
    const std::string arguments =
        fmt::format("{}, {}, {}, {}", tables, rank_in_scope(places.workload(), op, laid_out),
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

// Printed first and placed last: what the class needs is known when its steps are printed.
std::string printed_header(const WorkloadPlaces& places) {
  const StepPrinter printer(places);
  return printed_declarations(places) + printer.loops() + printed_class(places, printer) +
         "}  // namespace workloads::" + identifier(places.name()) + "\n";
}

}  // namespace

// Faults are found while places are made and while statements are printed, so both are asked.
OrError<std::vector<NamedText>> to_workload_sources(const Workload& workload,
                                                    const std::vector<WorkloadAlgorithm>& algorithms,
                                                    const WorkloadSourceOptions& options) {
  const std::string name = options.name.empty() ? workload.name : options.name;
  const WorkloadPlaces places(workload, algorithms, name, options.execution);
  if (places.error()) return *places.error();
  std::vector<NamedText> files = {{name + ".h", printed_header(places)},
                                  {name + "_main.cpp", printed_driver(places)},
                                  {name + ".json", printed_description(places)},
                                  {"Makefile", printed_makefile(places, options.carrier)}};
  if (places.error()) return *places.error();
  // The directory compiles by itself, without an installation of ours.
  for (const EmbeddedFile& file : workload_files())
    if (includes_header(options.carrier, file.path)) files.push_back({file.path, file.contents});
  return files;
}

}  // namespace chorale
