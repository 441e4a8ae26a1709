// Sizes may be given at run time, so all that depends on them is an expression of them: s.B * s.H. Parts of
// tensors are functions of sizes and rank, since other programs ask for them before there is a class.
#include "tensor/lowering/declarations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/epilogue_source.h"
#include "codegen/source_tables.h"
#include "tensor/lowering/names.h"

namespace chorale {
namespace {

using Kind = OperationKind;

// What the execution chooses, as constants.
std::string printed_pieces(const WorkloadPlaces& places) {
  std::string text;
  std::set<std::string> seen;
  for (const Operation& op : places.workload().operations)
    if (!op.overlap.empty() && seen.insert(op.overlap).second)
      text += fmt::format("constexpr int kPieces_{0} = {1};  // that {0} hands over; 0: by sizes\n",
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
      "#include \"tensor/exchange/products.h\"\n#include \"tensor/exchange/several.h\"\n\n"
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

}  // namespace

std::string printed_declarations(const WorkloadPlaces& places) {
  return printed_top(places) + printed_sizes(places) + printed_tensors(places) + printed_parts(places) +
         printed_tables(places);
}

namespace {

// Conditions that inference could check only for the sizes' defaults, as statements, each once.
// Sides are compared only where a size is involved: two numbers were compared when types were inferred.
class Checks {
 public:
  explicit Checks(const WorkloadPlaces& places) : places_(places) {
    for (const WorkloadSize& size : places.workload().sizes)
      require(fmt::format("s.{} >= 1", identifier(size.name)),
              fmt::format("size {} must be at least 1", size.name));
    for (const Operation& op : places.workload().operations) check(op);
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
      case Kind::Concat:
        concat(op);
        break;
      // The numbers say where each row goes, so the leading dimensions are those of the rows.
      case Kind::ScatterRows: {
        const TensorShape &from = type_of(op, 0).shape, &numbers = type_of(op, 1).shape;
        for (std::size_t d = 0; d < numbers.size(); ++d) equal(op, numbers[d], from[d]);
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

}  // namespace

std::string printed_checks(const WorkloadPlaces& places) {
  return Checks(places).text();
}

}  // namespace chorale
