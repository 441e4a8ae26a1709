#include "codegen/workload/declarations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/epilogue_source.h"
#include "codegen/source_tables.h"
#include "codegen/workload/names.h"

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

std::string printed_top(const WorkloadPlaces& places) {
  return fmt::format(
      "// The workload {0}, made by chorale: a class over a transport (runtime/exchange/mpi.h or "
      "workload_threads.h).\n"
      "// Needs -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math (Makefile).\n#pragma once\n\n"
      "#include <algorithm>\n#include <cstdint>\n#include <memory>\n#include <stdexcept>\n#include <string>\n"
      "#include <vector>\n\n#include \"runtime/exchange/device.h\"\n#include "
      "\"runtime/exchange/exchange.h\"\n"
      "#include \"runtime/exchange/overlap.h\"\n#include \"runtime/exchange/parts.h\"\n"
      "#include \"runtime/exchange/products.h\"\n#include \"runtime/exchange/several.h\"\n\nnamespace {1} "
      "{{\n\n"
      "constexpr const char* kName = \"{0}\";\n"
      "constexpr int kGroupRanks = {2}, kGroups = {3};  // consecutive ranks are a group\n"
      "constexpr int kRanks = kGroupRanks * kGroups;\n{4}\n",
      printable_name(places.workload().name), places.name(), places.workload().ranks,
      places.workload().groups, printed_pieces(places));
}

std::string printed_sizes(const WorkloadPlaces& places) {
  std::string text = "struct Sizes {\n";
  for (const WorkloadSize& size : places.workload().sizes)
    text += fmt::format("  std::int64_t {} = {};\n", identifier(size.name), size.value);
  return text + "};\n\n";
}

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

std::string printed_parts(const WorkloadPlaces& places) {
  std::string text = "// What a rank has of each tensor.\n";
  for (const Operation& op : places.workload().operations) {
    const TensorType& type = op.type;
    const bool grouped = type.scope == Scope::Group;
    const std::string rank = grouped ? "rank % kGroupRanks" : "rank";
    const bool everywhere =
        !grouped || (type.first_group == 0 && type.last_group == places.workload().groups - 1);
    const std::string here = everywhere ? "true"
                                        : fmt::format("rank / kGroupRanks >= {} && rank / kGroupRanks <= {}",
                                                      type.first_group, type.last_group);
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

// Of what moves elements.
template <typename Equal, typename Line>
void check_moved(const WorkloadPlaces& places, const Operation& op, const Equal& equal, const Line& line) {
  if (op.kind < Kind::Transpose || op.kind > Kind::ScatterRows) return;
  const TensorType& from = operation(places.workload(), op.operands[0]).type;
  const auto needs = [&](const std::string& condition, const std::string& what) {
    line(fmt::format("    chorale::require({}, \"{}: {}: {}\");\n", condition, places.name(), op.name, what));
  };
  const auto first = [](const TensorShape& shape, int count) {
    return printed_sides(TensorShape(shape.begin(), shape.begin() + count));
  };
  if (op.kind == Kind::Reshape) {
    needs(
        fmt::format("chorale::product({}) == chorale::product({})", printed_sides(from.shape),
                    printed_sides(op.type.shape)),
        fmt::format("{} and {} must have as many elements", to_string(from.shape), to_string(op.type.shape)));
    const int dim = from.layout.dim, to = op.type.layout.dim;
    if (from.layout.kind != LayoutKind::Sliced || dim == kFlat || to == kFlat) return;
    std::string condition = fmt::format("chorale::product({}) == chorale::product({})",
                                        first(from.shape, dim), first(op.type.shape, to));
    if (from.shape[dim] != op.type.shape[to])
      condition += fmt::format(" && ({0} == {1} || ({0} % {2} == 0 && {1} % {2} == 0))",
                               printed_extent(from.shape[dim]), printed_extent(op.type.shape[to]),
                               places.scope_ranks(from));
    needs(condition,
          fmt::format("slices of {} must be those of {}", to_string(from.shape), to_string(op.type.shape)));
  }
  if (op.kind == Kind::Narrow)
    needs(fmt::format("{} + {} <= {}", printed_extent(op.shape[0]), printed_extent(op.shape[1]),
                      printed_extent(from.shape[op.dims[0]])),
          fmt::format("{} must have {} elements from {} on", to_string(from.shape[op.dims[0]]),
                      to_string(op.shape[1]), to_string(op.shape[0])));
  if (op.kind == Kind::Concat) {
    std::string sum = "0";
    for (const std::string& operand : op.operands) {
      const TensorShape& shape = operation(places.workload(), operand).type.shape;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (static_cast<int>(d) != op.dims[0]) equal(shape[d], op.type.shape[d], op.name);
      sum += " + " + printed_extent(shape[op.dims[0]]);
    }
    needs(fmt::format("{} == {}", sum, printed_extent(op.type.shape[op.dims[0]])),
          fmt::format("its dimension {} must be {} long", op.dims[0], to_string(op.type.shape[op.dims[0]])));
  }
  if (op.kind == Kind::ScatterRows) {
    const TensorShape& numbers = operation(places.workload(), op.operands[1]).type.shape;
    for (std::size_t d = 0; d < numbers.size(); ++d) equal(numbers[d], from.shape[d], op.name);
  }
}

}  // namespace

// What is only known of the sizes' defaults.
std::string printed_checks(const WorkloadPlaces& places) {
  std::vector<std::string> lines;  // each once
  const auto line = [&](const std::string& text) {
    if (std::ranges::count(lines, text) == 0) lines.push_back(text);
  };
  const auto equal = [&](const Extent& a, const Extent& b, const std::string& what) {
    if (a == b || (a.sizes.empty() && b.sizes.empty())) return;
    line(fmt::format("    chorale::require({} == {}, \"{}: {}: {} and {} must be equal\");\n",
                     printed_extent(a), printed_extent(b), places.name(), what, to_string(a), to_string(b)));
  };
  for (const WorkloadSize& size : places.workload().sizes)
    line(fmt::format("    chorale::require(s.{} >= 1, \"{}: size {} must be at least 1\");\n",
                     identifier(size.name), places.name(), size.name));
  for (const Operation& op : places.workload().operations) {
    if (op.kind == Kind::Pointwise)
      for (const std::string& operand : op.operands) {
        const TensorShape& shape = operation(places.workload(), operand).type.shape;
        for (std::size_t k = 1; k <= shape.size(); ++k) {
          const Extent &own = shape[shape.size() - k], &of = op.type.shape[op.type.shape.size() - k];
          if (own.value == 1 && of.value != 1)
            equal(own, Extent{}, op.name);
          else
            equal(own, of, op.name);
        }
      }
    if (op.kind == Kind::MatMul) {
      const TensorShape &a = operation(places.workload(), op.operands[0]).type.shape,
                        &b = operation(places.workload(), op.operands[1]).type.shape;
      equal(a.back(), b[b.size() - 2], op.name);
      for (std::size_t d = 0; b.size() > 2 && d + 2 < b.size(); ++d) equal(a[d], b[d], op.name);
    }
    if (op.kind == Kind::Convolution) {
      const TensorShape &x = operation(places.workload(), op.operands[0]).type.shape,
                        &w = operation(places.workload(), op.operands[1]).type.shape;
      equal(x[1], w[1], op.name);
      // Sides of its result are numbers, those of the defaults.
      for (const std::size_t d : {2, 3})
        if (!x[d].sizes.empty() || !w[d].sizes.empty())
          line(
              fmt::format("    chorale::require(({} + {} - {}) / {} == {}, \"{}: {}: images of {} with "
                          "kernels of {} must give {}\");\n",
                          printed_extent(x[d]), 2 * op.padding, printed_extent(w[d]), op.stride,
                          op.type.shape[d].value - 1, places.name(), op.name, to_string(x[d]),
                          to_string(w[d]), to_string(op.type.shape[d])));
    }
    check_moved(places, op, equal, line);
    if (op.kind == Kind::AllToAll)
      line(fmt::format(
          "    chorale::require({} % {} == 0, \"{}: {}: {} must be divisible by the {} ranks\");\n",
          printed_extent(op.type.shape[0]), places.scope_ranks(places.moved(op)), places.name(), op.name,
          to_string(op.type.shape[0]), places.scope_ranks(places.moved(op))));
    if (op.kind == Kind::AllToAllV) {
      const Extent& counts = operation(places.workload(), op.operands[1]).type.shape[0];
      line(fmt::format(
          "    chorale::require({} % {} == 0, \"{}: {}: {} counts must be divisible by the {} ranks\");\n",
          printed_extent(counts), places.scope_ranks(op.type), places.name(), op.name, to_string(counts),
          places.scope_ranks(op.type)));
    }
    if (!op.updates.empty()) {
      const TensorShape& shape = operation(places.workload(), op.updates).type.shape;
      for (std::size_t d = 0; d < shape.size(); ++d) equal(shape[d], op.type.shape[d], op.name);
    }
  }
  return fmt::format("{}", fmt::join(lines, ""));
}

}  // namespace chorale
