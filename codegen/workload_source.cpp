// NAME.h from top to bottom: the sizes; what a rank has of each tensor; the tables of its algorithms (codegen/workload/
// exchange_tables.h); a struct for each loop (codegen/workload/loop_source.h); the class that owns what lies between
// operations, and does them one after the other.
//
// A tensor has memory where its value outlives its loop: in an input that it updates, in the caller's, or in the class's
// own. What an AllGather or Broadcast of the same kernel begins with is put where that begins.
#include "codegen/workload_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "codegen/embedded_files.h"
#include "codegen/epilogue_source.h"
#include "codegen/source_tables.h"
#include "codegen/workload/exchange_tables.h"
#include "codegen/workload/loop_source.h"
#include "codegen/workload/stages.h"
#include "ir/error.h"
#include "ir/json_writer.h"

namespace chorale {
namespace {

using Kind = OperationKind;

CollectiveKind collective_of(Kind kind) {
  switch (kind) {
    case Kind::AllReduce:
      return CollectiveKind::AllReduce;
    case Kind::ReduceScatter:
      return CollectiveKind::ReduceScatter;
    case Kind::AllGather:
      return CollectiveKind::Allgather;
    case Kind::Reduce:
      return CollectiveKind::Reduce;
    case Kind::Broadcast:
      return CollectiveKind::Broadcast;
    default:
      return CollectiveKind::Alltoall;
  }
}

// Names of tensors are names of members; those that mean something in C++, or here, get a _.
std::string identifier(const std::string& name) {
  static const std::set<std::string> taken = {"alignas",
                                              "alignof",
                                              "and",
                                              "and_eq",
                                              "asm",
                                              "auto",
                                              "bitand",
                                              "bitor",
                                              "bool",
                                              "break",
                                              "case",
                                              "catch",
                                              "char",
                                              "char8_t",
                                              "char16_t",
                                              "char32_t",
                                              "class",
                                              "compl",
                                              "concept",
                                              "const",
                                              "const_cast",
                                              "consteval",
                                              "constexpr",
                                              "constinit",
                                              "continue",
                                              "co_await",
                                              "co_return",
                                              "co_yield",
                                              "decltype",
                                              "default",
                                              "delete",
                                              "do",
                                              "double",
                                              "dynamic_cast",
                                              "else",
                                              "enum",
                                              "explicit",
                                              "export",
                                              "extern",
                                              "false",
                                              "float",
                                              "for",
                                              "friend",
                                              "goto",
                                              "if",
                                              "inline",
                                              "int",
                                              "long",
                                              "mutable",
                                              "namespace",
                                              "new",
                                              "noexcept",
                                              "not",
                                              "not_eq",
                                              "nullptr",
                                              "operator",
                                              "or",
                                              "or_eq",
                                              "private",
                                              "protected",
                                              "public",
                                              "register",
                                              "reinterpret_cast",
                                              "requires",
                                              "return",
                                              "seed",
                                              "short",
                                              "signed",
                                              "sizeof",
                                              "static",
                                              "static_assert",
                                              "static_cast",
                                              "struct",
                                              "switch",
                                              "template",
                                              "this",
                                              "thread_local",
                                              "throw",
                                              "true",
                                              "try",
                                              "typedef",
                                              "typeid",
                                              "typename",
                                              "union",
                                              "unsigned",
                                              "using",
                                              "virtual",
                                              "void",
                                              "volatile",
                                              "wchar_t",
                                              "while",
                                              "xor",
                                              "xor_eq",
                                              "main",
                                              "std",
                                              "chorale",
                                              "linux",
                                              "unix"};
  return taken.contains(name) ? name + "_" : name;
}

std::string printed_extent(const Extent& extent) {
  std::string text;
  for (const std::string& size : extent.sizes) text += (text.empty() ? "s." : " * s.") + identifier(size);
  if (text.empty()) return std::to_string(extent.factor);
  return extent.factor == 1 ? text : fmt::format("{} * {}", extent.factor, text);
}

const char* combination_of(ReduceOp op) {
  return op == ReduceOp::Min   ? "chorale::Combination::Min"
         : op == ReduceOp::Max ? "chorale::Combination::Max"
                               : "chorale::Combination::Sum";
}

// As a word of its own.
bool mentions(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_part(text[at - 1])) && !is_part(text[at + word.size()])) return true;
  return false;
}

class WorkloadPrinter : public LoopSurroundings {
 public:
  WorkloadPrinter(const Workload& workload, const std::vector<WorkloadAlgorithm>& algorithms,
                  std::string name)
      : workload_(workload), name_(std::move(name)), stages_(workload) {
    for (const NeededCollective& needed : needed_collectives(workload)) {
      const auto it = std::ranges::find(algorithms, needed.operation, &WorkloadAlgorithm::operation);
      if (it == algorithms.end())
        throw InputError(workload.name, fmt::format("{} has no algorithm", needed.operation),
                         fmt::format("give it one for {} among {} ranks", name_of(needed.collective),
                                     needed.collective.ranks));
      check_kind(needed, *it);
      algorithm_[needed.operation] = &*it;
      const Operation& op = operation(workload, needed.operation);
      const Stage& stage = stages_.all()[stages_.stage_of(needed.operation)];
      const bool sums = !stage.loop.empty();
      rows_[needed.operation] =
          exchange_rows(fmt::format("{}: {}", workload.name, op.name), it->collective, it->program, sums);
      if (is_gather(op) && !stages_.made_in_place(op.name).empty() && rows_[op.name].in_place)
        in_place_[stages_.made_in_place(op.name)] = op.name;
    }
  }

  std::string header() {
    std::string loops, steps;
    const std::vector<Stage>& all = stages_.all();
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i + 1;
      while (!all[i].overlap.empty() && end < all.size() && all[end].overlap == all[i].overlap) ++end;
      steps += overlapped(
          {all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(end)},
          loops);
      i = end;
    }
    return top() + sizes() + tensors() + parts() + tables() + loops + program(steps) + "}  // namespace " +
           name_ + "\n";
  }
  std::string driver() const;
  std::string description() const;

  // For loops: where things are.
  LoopPlace read_at(const std::string& name, const TensorType& space) const override {
    const Operation& op = operation(workload_, behind(name));
    const bool whole =
        space.layout.kind == LayoutKind::Sliced && op.type.layout.kind == LayoutKind::Replicated;
    return {pointer(op.name), whole ? PlaceKind::Whole : PlaceKind::Own, is_scattered(op.name)};
  }
  bool is_stored(const std::string& name) const override { return stages_.is_stored(name); }
  LoopPlace stored_at(const std::string& name) const override {
    const auto it = in_place_.find(name);
    if (it == in_place_.end()) return {pointer(name), PlaceKind::Own, is_scattered(name)};
    const Operation& gather = operation(workload_, it->second);
    if (gather.kind == Kind::Broadcast)
      return {pointer(gather.name), PlaceKind::Own, is_scattered(gather.name)};
    if (is_packed(gather))
      return {fmt::format("({} + own_{})", packed(gather.name), gather.name), PlaceKind::Own};
    return {pointer(gather.name), PlaceKind::Whole, is_scattered(gather.name)};
  }
  std::string behind(const std::string& name) const override { return stages_.behind(name); }
  std::string sides(const TensorShape& shape) const override {
    std::vector<std::string> sides;
    for (const Extent& extent : shape) sides.push_back(printed_extent(extent));
    return fmt::format("chorale::Sides{{{}}}", fmt::join(sides, ", "));
  }
  std::string part(const std::string& name) const override { return fmt::format("has_{}", behind(name)); }

 private:
  static bool is_gather(const Operation& op) {
    return op.kind == Kind::AllGather || op.kind == Kind::Broadcast;
  }
  static bool is_constant(const Operation& op) {
    return op.kind == Kind::Rank || op.kind == Kind::Group || op.kind == Kind::Ranks;
  }
  bool is_updated(const std::string& input) const {
    return std::ranges::any_of(workload_.operations,
                               [&](const Operation& op) { return op.updates == input; });
  }
  // Given by value: scalars that stay as they are.
  bool by_value(const Operation& op) const {
    return op.kind == Kind::Input && op.type.shape.empty() && !is_updated(op.name);
  }
  bool is_output(const std::string& name) const { return std::ranges::count(workload_.outputs, name) > 0; }
  // The caller's memory: inputs, and outputs that are in none.
  bool is_given_memory(const Operation& op) const {
    return op.kind == Kind::Input || (is_output(op.name) && op.updates.empty());
  }
  std::string home(const std::string& name) const {
    const Operation& op = operation(workload_, behind(name));
    return op.updates.empty() ? op.name : op.updates;
  }
  // Does it lie in an input that is a list of tensors?
  bool is_scattered(const std::string& name) const { return operation(workload_, home(name)).scattered; }
  // For what can only do with one tensor.
  void require_together(const std::string& name, const std::string& reader) const {
    if (is_scattered(name))
      throw InputError(workload_.name,
                       fmt::format("{} is scattered, and {} wants it in one piece", home(name), reader),
                       "let a pointwise operation read it, or a collective");
  }
  std::string pointer(const std::string& name) const { return "at_" + home(name); }
  static std::string packed(const std::string& name) { return fmt::format("packed_{}_.get()", name); }
  std::string type_of(const std::string& name) const {
    return c_type(operation(workload_, name).type.element);
  }

  // The layout that cuts the tensor of a communication into blocks.
  const TensorLayout& slicing(const Operation& op) const {
    return op.kind == Kind::ReduceScatter ? op.type.layout : operation(workload_, op.operands[0]).type.layout;
  }
  // Its blocks do not lie together.
  bool is_packed(const Operation& op) const {
    return (op.kind == Kind::ReduceScatter || op.kind == Kind::AllGather) && slicing(op).dim > 0;
  }
  // Of what is moved.
  const TensorType& moved(const Operation& op) const { return operation(workload_, op.operands[0]).type; }
  int scope_ranks(const TensorType& type) const { return ranks_of(workload_, type); }

  void check_kind(const NeededCollective& needed, const WorkloadAlgorithm& given) const {
    const Collective &a = needed.collective, &b = given.collective;
    if (row_of(b.kind).result != a.kind || a.ranks != b.ranks || a.root != b.root)
      throw InputError(workload_.name,
                       fmt::format("{} is {} among {} ranks, and its algorithm {} among {}", needed.operation,
                                   name_of(a), a.ranks, name_of(b), b.ranks),
                       "give it one for its collective, ranks and root");
  }

  std::string top() const;
  std::string sizes() const;
  std::string tensors() const;
  std::string parts() const;
  std::string tables() const;
  std::string program(const std::string& steps) const;
  std::string checks() const;
  std::string memory() const;
  std::string pointers(const std::string& steps) const;
  std::string step(const Stage&, std::string& loops, const std::string& progress = "");
  std::string communication(const Stage&, std::string& loops, const std::string& progress);
  std::string loop(const Stage&, std::string& loops);
  std::string send(const Operation&) const;
  std::string blocks_of(const Operation&) const;
  std::string overlapped(const std::vector<Stage>&, std::string& loops);
  std::string tiles(const std::vector<Stage>&, std::string& loops, const std::string& progress);
  bool is_exchange(const Stage&) const;
  bool is_product(const Stage&) const;
  std::size_t tiled_from(const std::vector<Stage>&, std::size_t begin) const;
  std::string call(const Operation&) const;

  const Workload& workload_;
  const std::string name_;
  const Stages stages_;
  std::map<std::string, const WorkloadAlgorithm*> algorithm_ = {};
  std::map<std::string, ExchangeRows> rows_ = {};
  std::map<std::string, std::string> in_place_ = {};  // what is made where a gathering begins: which
  std::map<std::string, std::string> tiled_ = {};  // communications that are done tile by tile: their number
  int loop_count_ = 0;
};

std::string WorkloadPrinter::top() const {
  return fmt::format(
      "// The workload {0}, made by chorale: a class over a transport (device/workload_mpi.h or "
      "workload_threads.h).\n"
      "// Wants -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math (Makefile).\n#pragma once\n\n"
      "#include <algorithm>\n#include <cstdint>\n#include <memory>\n#include <stdexcept>\n#include <string>\n"
      "#include <vector>\n\n#include \"device/workload_blas.h\"\n#include \"device/workload_exchange.h\"\n"
      "#include \"device/workload_parts.h\"\n\nnamespace {1} {{\n\n"
      "constexpr const char* kName = \"{0}\";\n"
      "constexpr int kGroupRanks = {2}, kGroups = {3};  // consecutive ranks are a group\n"
      "constexpr int kRanks = kGroupRanks * kGroups;\n\n",
      printable_name(workload_.name), name_, workload_.ranks, workload_.groups);
}

std::string WorkloadPrinter::sizes() const {
  std::string text = "struct Sizes {\n";
  for (const WorkloadSize& size : workload_.sizes)
    text += fmt::format("  std::int64_t {} = {};\n", identifier(size.name), size.value);
  return text + "};\n\n";
}

std::string WorkloadPrinter::tensors() const {
  std::string text =
      "// What a rank gives: scalars, and where its parts of tensors lie (row-major; elements_NAME says how "
      "many), none of\n"
      "// them in the memory of another. Those that are not const are changed.\nstruct Tensors {\n";
  for (const Operation& op : workload_.operations) {
    if (!is_given_memory(op)) continue;
    const char* const type = c_type(op.type.element);
    const std::string comment = fmt::format("{} {}", to_string(op.type.shape), to_string(op.type.layout));
    if (by_value(op))
      text += fmt::format("  {} {} = {}(0);\n", type, identifier(op.name), type);
    else if (op.scattered)
      text += fmt::format("  chorale::Scattered<{}> {} = {{}};  // {}{}\n", type, identifier(op.name),
                          comment, is_updated(op.name) ? "" : ", only read");
    else
      text += fmt::format("  {}{}* {} = nullptr;  // {}\n",
                          op.kind == Kind::Input && !is_updated(op.name) ? "const " : "", type,
                          identifier(op.name), comment);
  }
  return text + "  std::uint64_t seed = 0;  // of random numbers\n};\n\n";
}

std::string WorkloadPrinter::parts() const {
  std::string text = "// What a rank has of each tensor.\n";
  for (const Operation& op : workload_.operations) {
    const TensorType& type = op.type;
    const bool grouped = type.scope == Scope::Group;
    const std::string rank = grouped ? "rank % kGroupRanks" : "rank";
    const bool everywhere = !grouped || (type.first_group == 0 && type.last_group == workload_.groups - 1);
    const std::string here = everywhere ? "true"
                                        : fmt::format("rank / kGroupRanks >= {} && rank / kGroupRanks <= {}",
                                                      type.first_group, type.last_group);
    std::string part;
    if (type.layout.kind == LayoutKind::Sliced) {
      part = fmt::format("chorale::Share({}, {}, {}, {})", sides(type.shape), type.layout.dim,
                         grouped ? "kGroupRanks" : "kRanks", rank);
      if (!everywhere)
        part = fmt::format("{} ? {} : chorale::Share({}, false)", here, part, sides(type.shape));
    } else if (type.layout.kind == LayoutKind::Rooted) {
      part = fmt::format("chorale::Share({}, {} == {}{})", sides(type.shape), rank, type.layout.root,
                         everywhere ? "" : " && " + here);
    } else {
      part = fmt::format("chorale::Share({}, {})", sides(type.shape), here);
    }
    text += fmt::format(
        "inline chorale::Share part_{}([[maybe_unused]] const Sizes& s, [[maybe_unused]] int rank) {{\n  "
        "return "
        "{};\n}}\n",
        op.name, part);
    if (is_given_memory(op))
      text += fmt::format(
          "inline std::int64_t elements_{0}(const Sizes& s, int rank) {{\n  return part_{0}(s, "
          "rank).elements();\n}}\n",
          op.name);
  }
  return text + "\n";
}

std::string WorkloadPrinter::tables() const {
  std::string text;
  for (const auto& [name, rows] : rows_) {
    const Program& program = algorithm_.at(name)->program;
    const CollectiveKind kind = collective_of(operation(workload_, name).kind);
    text += fmt::format("// How {} is done: {}.\n", name, printable_name(program.name));
    text += printed_table("step, from, to, from buffer, slot, to buffer, slot, block, piece, may be lent",
                          "chorale::ExchangeMessage", "kMessages_" + name, rows.messages, 10);
    text += printed_table(
        "rank, step, add?, from buffer, slot, to buffer, slot, block, piece, complete: 1 for the loop, 2 "
        "stored too",
        "chorale::ExchangeWork", "kWork_" + name, rows.work, 10);
    text += fmt::format(
        "constexpr int kScratch_{0}[] = {{{1}}};\n"
        "constexpr chorale::ExchangeTables kTables_{0} = {{{2}, {3}, {4}, {5}, {6}, kScratch_{0}, "
        "kMessages_{0}, {7}, "
        "kWork_{0}, {8}}};\n\n",
        name, fmt::join(rows.scratch, ", "), program.ranks.size(), program.steps, program.chunks_per_block,
        kind == CollectiveKind::Allgather, kind == CollectiveKind::ReduceScatter, rows.messages.size(),
        rows.work.size());
  }
  return text;
}

// What is only known of the sizes' defaults.
std::string WorkloadPrinter::checks() const {
  std::vector<std::string> lines;  // each once
  const auto line = [&](const std::string& text) {
    if (std::ranges::count(lines, text) == 0) lines.push_back(text);
  };
  const auto equal = [&](const Extent& a, const Extent& b, const std::string& what) {
    if (a == b || (a.sizes.empty() && b.sizes.empty())) return;
    line(fmt::format("    chorale::require({} == {}, \"{}: {}: {} and {} must be equal\");\n",
                     printed_extent(a), printed_extent(b), name_, what, to_string(a), to_string(b)));
  };
  for (const WorkloadSize& size : workload_.sizes)
    line(fmt::format("    chorale::require(s.{} >= 1, \"{}: size {} must be at least 1\");\n",
                     identifier(size.name), name_, size.name));
  for (const Operation& op : workload_.operations) {
    if (op.kind == Kind::Pointwise)
      for (const std::string& operand : op.operands) {
        const TensorShape& shape = operation(workload_, operand).type.shape;
        for (std::size_t k = 1; k <= shape.size(); ++k) {
          const Extent &own = shape[shape.size() - k], &of = op.type.shape[op.type.shape.size() - k];
          if (own.value == 1 && of.value != 1)
            equal(own, Extent{}, op.name);
          else
            equal(own, of, op.name);
        }
      }
    if (op.kind == Kind::MatMul) {
      const TensorShape &a = operation(workload_, op.operands[0]).type.shape,
                        &b = operation(workload_, op.operands[1]).type.shape;
      equal(a.back(), b[b.size() - 2], op.name);
      for (std::size_t d = 0; b.size() > 2 && d + 2 < b.size(); ++d) equal(a[d], b[d], op.name);
    }
    if (op.kind == Kind::Convolution)
      equal(operation(workload_, op.operands[0]).type.shape[1],
            operation(workload_, op.operands[1]).type.shape[1], op.name);
    if (op.kind == Kind::AllToAll)
      line(fmt::format(
          "    chorale::require({} % {} == 0, \"{}: {}: {} must be divisible by the {} ranks\");\n",
          printed_extent(op.type.shape[0]), scope_ranks(moved(op)), name_, op.name,
          to_string(op.type.shape[0]), scope_ranks(moved(op))));
    if (!op.updates.empty()) {
      const TensorShape& shape = operation(workload_, op.updates).type.shape;
      for (std::size_t d = 0; d < shape.size(); ++d) equal(shape[d], op.type.shape[d], op.name);
    }
  }
  return fmt::format("{}", fmt::join(lines, ""));
}

// Members that hold what lies between operations.
std::string WorkloadPrinter::memory() const {
  std::string text;
  for (const Operation& op : workload_.operations) {
    const std::string type = c_type(op.type.element);
    const bool own = stages_.is_stored(op.name) && !is_given_memory(op) && !is_constant(op) &&
                     op.updates.empty() && !in_place_.contains(op.name);
    // A sum that goes to its loop needs a place where parts of it may be, nevertheless.
    const bool partial = rows_.contains(op.name) && !stages_.is_stored(op.name);
    if (own || partial)
      text += fmt::format(
          "  const std::unique_ptr<{0}[]> memory_{1}_ = chorale::memory<{0}>(has_{1}.elements());\n", type,
          op.name);
    if (is_packed(op))
      text += fmt::format(
          "  const std::unique_ptr<{0}[]> packed_{1}_ = chorale::memory<{0}>(has_{2}.elements() == 0 ? 0 : "
          "chorale::product(has_{2}.whole()));\n",
          c_type(op.type.element), op.name,
          op.kind == Kind::ReduceScatter ? behind(op.operands[0]) : op.name);
  }
  std::set<std::string> tiles_seen;
  for (const auto& [name, tiles] : tiled_)
    if (rows_.contains(name) && tiles_seen.insert(tiles).second)
      text += fmt::format("  const int {} = chorale::tile_count({});\n", tiles,
                          blocks_of(operation(workload_, name)));
  for (const auto& [name, rows] : rows_) {
    const Operation& op = operation(workload_, name);
    const bool grouped = moved(op).scope == Scope::Group;
    const std::string type = fmt::format("{}, {}", c_type(op.type.element), combination_of(op.reduction));
    const std::string arguments =
        fmt::format("kTables_{}, {}, {}, {}", name, grouped ? "rank_ % kGroupRanks" : "rank_",
                    grouped ? "rank_ / kGroupRanks * kGroupRanks" : "0", blocks_of(op));
    const auto tiles = tiled_.find(name);
    text +=
        tiles == tiled_.end()
            ? fmt::format("  chorale::Exchange<{}> exchange_{}_{{{}}};\n", type, name, arguments)
            : fmt::format(
                  "  std::vector<chorale::Exchange<{0}>> exchange_{1}_ = chorale::tiled_exchange<{0}>({2}, "
                  "{3});\n",
                  type, name, arguments, tiles->second);
  }
  return text;
}

// What the elements of a communication are cut into.
std::string WorkloadPrinter::blocks_of(const Operation& op) const {
  const std::string whole = sides(moved(op).shape);
  const int ranks = scope_ranks(moved(op));
  if (op.kind == Kind::ReduceScatter || op.kind == Kind::AllGather)
    return fmt::format("chorale::blocks_of({}, {}, {})", whole, slicing(op).dim, ranks);
  if (op.kind == Kind::AllToAll) return fmt::format("chorale::even_blocks({}, {})", whole, ranks);
  return fmt::format("chorale::Blocks{{0, chorale::product({})}}", whole);
}

// Of what `steps` speak of.
std::string WorkloadPrinter::pointers(const std::string& steps) const {
  std::string text;
  for (const Operation& op : workload_.operations) {
    const std::string type = c_type(op.type.element);
    if (is_packed(op) && op.kind == Kind::AllGather && in_place_.contains(op.operands[0]))
      text += fmt::format("    const std::int64_t own_{} = chorale::blocks_of({}, {}, {})[{}];\n", op.name,
                          sides(op.type.shape), slicing(op).dim, scope_ranks(op.type),
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
    } else if (by_value(op)) {
      text += fmt::format("    const {}* const at_{} = &tensors.{};\n", type, op.name, identifier(op.name));
    } else if (op.scattered) {
      text += fmt::format(
          "    const chorale::Scattered<{}>* const at_{} = &tensors.{};\n    "
          "chorale::require(at_{}->elements() == "
          "has_{}.elements(), \"{}: {} must have \" + std::to_string(has_{}.elements()) + \" elements\");\n",
          type, op.name, identifier(op.name), op.name, op.name, name_, op.name, op.name);
    } else if (is_given_memory(op)) {
      text += fmt::format("    {}* const at_{} = tensors.{};\n",
                          op.kind == Kind::Input && !is_updated(op.name) ? "const " + type : type, op.name,
                          identifier(op.name));
    } else if (op.updates.empty() && !in_place_.contains(op.name) &&
               (stages_.is_stored(op.name) || rows_.contains(op.name))) {
      text += fmt::format("    {}* const at_{} = memory_{}_.get();\n", type, op.name, op.name);
    }
  }
  return text;
}

std::string names_of(const Workload& workload, const Stage& stage) {
  std::vector<std::string> names;
  if (stage.operation >= 0) names.push_back(workload.operations[stage.operation].name);
  for (const int i : stage.loop) names.push_back(workload.operations[i].name);
  return fmt::format("{}{}", fmt::join(names, ", "), stage.kernel.empty() ? "" : " (" + stage.kernel + ")");
}

// A tile of it where its overlap is done so.
std::string WorkloadPrinter::loop(const Stage& stage, std::string& loops) {
  const LoopOptions options{.name = fmt::format("Loop{}", ++loop_count_)};
  const PrintedLoop loop = printed_loop(workload_, stage.loop, options, *this);
  loops += loop.definition;
  const auto it = tiled_.find(workload_.operations[stage.loop[0]].name);
  const std::string all =
      it == tiled_.end()
          ? "      loop(0, loop.part->elements());\n"
          : fmt::format(
                "      const std::int64_t begin = chorale::part_begin(loop.part->elements(), {0}, tile);\n"
                "      loop(begin, chorale::part_begin(loop.part->elements(), {0}, tile + 1) - begin);\n",
                it->second);
  return fmt::format("    {{\n{}{}{}    }}\n", loop.made, all, loop.after);
}

std::string WorkloadPrinter::step(const Stage& stage, std::string& loops, const std::string& progress) {
  const std::string comment = fmt::format("    // {}\n", names_of(workload_, stage));
  switch (stage.kind) {
    case StageKind::Loop:
      return comment + loop(stage, loops);
    case StageKind::Slice: {
      const Operation& op = workload_.operations[stage.operation];
      if (!stages_.is_stored(op.name)) return "";
      require_together(op.operands[0], op.name);
      return fmt::format("{}    chorale::copy_slice({}, {}, has_{});\n", comment, pointer(op.name),
                         pointer(op.operands[0]), op.name);
    }
    case StageKind::Call:
      return comment + call(workload_.operations[stage.operation]);
    case StageKind::Communication:
      return comment + communication(stage, loops, progress);
  }
  return "";
}

// One whose blocks lie together.
bool WorkloadPrinter::is_exchange(const Stage& stage) const {
  return stage.kind == StageKind::Communication && workload_.operations[stage.operation].kind != Kind::Send &&
         !is_packed(workload_.operations[stage.operation]);
}
// Whose rows can be made one after the other.
bool WorkloadPrinter::is_product(const Stage& stage) const {
  if (stage.kind != StageKind::Call || workload_.operations[stage.operation].kind != Kind::MatMul)
    return false;
  return operation(workload_, workload_.operations[stage.operation].operands[1]).type.shape.size() == 2;
}

// The stages from there on that can be done tile by tile: a ReduceScatter, loops over its slices, a Send of them, their
// AllGather; where they end. A total over all elements is complete only after the last tile.
std::size_t WorkloadPrinter::tiled_from(const std::vector<Stage>& stages, std::size_t begin) const {
  std::size_t end = begin;
  const TensorType* slices = nullptr;
  bool sends = false, exchanges = false;
  for (; end < stages.size(); ++end) {
    const Stage& stage = stages[end];
    if (stage.kind == StageKind::Slice || stage.kind == StageKind::Call) break;
    const bool folds = std::ranges::any_of(
        stage.loop, [&](int i) { return workload_.operations[i].kind == Kind::ReduceTensor; });
    const Operation& op = workload_.operations[stage.operation >= 0 ? stage.operation : stage.loop[0]];
    const TensorType& type = op.kind == Kind::AllGather ? moved(op) : op.type;
    const bool known = op.kind == Kind::AllGather || op.kind == Kind::ReduceScatter ||
                       op.kind == Kind::Send || stage.kind == StageKind::Loop;
    if (!known || folds || type.layout.kind != LayoutKind::Sliced || type.layout.dim > 0) break;
    if (slices != nullptr && (type.shape != slices->shape || type.layout != slices->layout)) break;
    if (op.kind == Kind::ReduceScatter && end != begin) break;
    if (op.kind == Kind::Send && home(op.name) == home(op.operands[0])) break;
    slices = &type;
    sends = sends || op.kind == Kind::Send;
    exchanges = exchanges || op.kind == Kind::AllGather || op.kind == Kind::ReduceScatter;
    if (op.kind == Kind::AllGather) return sends ? end + 1 : begin;
  }
  return sends && exchanges ? end : begin;
}

std::string WorkloadPrinter::tiles(const std::vector<Stage>& stages, std::string& loops,
                                   const std::string& progress) {
  std::string name, blocks;
  for (const Stage& stage : stages)
    if (is_exchange(stage) && name.empty()) {
      name = fmt::format("tiles_{}_", workload_.operations[stage.operation].name);
      blocks = blocks_of(workload_.operations[stage.operation]);
    }
  for (const Stage& stage : stages) {
    if (stage.operation >= 0) tiled_[workload_.operations[stage.operation].name] = name;
    for (const int i : stage.loop) tiled_[workload_.operations[i].name] = name;
  }
  std::string text;
  for (std::size_t i = 0; i < stages.size(); ++i) text += step(stages[i], loops, i == 0 ? progress : "");
  return fmt::format("    for (int tile = 0; tile < {}; ++tile) {{\n{}    }}\n    transport_.finish();\n",
                     name, text);
}

// A product beside the communication that brings its rows, and the one that takes them; a chain of slices tile by tile.
// What is neither is done one after the other.
std::string WorkloadPrinter::overlapped(const std::vector<Stage>& stages, std::string& loops) {
  std::string text;
  for (std::size_t i = 0; i < stages.size();) {
    if (stages[i].overlap.empty()) {
      text += step(stages[i++], loops);
      continue;
    }
    const auto result = [&](std::size_t k) { return workload_.operations[stages[k].operation].name; };
    const auto reads = [&](std::size_t k, std::size_t of) {
      return workload_.operations[stages[k].operation].operands[0] == result(of);
    };
    const bool brought = i + 1 < stages.size() && is_exchange(stages[i]) && stages[i].loop.empty() &&
                         is_product(stages[i + 1]) && reads(i + 1, i);
    const std::size_t product = brought ? i + 1 : i;
    if (is_product(stages[product])) {
      const std::size_t next = product + 1;
      const bool taken = next < stages.size() && is_exchange(stages[next]) && reads(next, product);
      const std::size_t end = taken ? std::max(next + 1, tiled_from(stages, next)) : next;
      if (brought || taken) {
        const Operation& op = workload_.operations[stages[product].operation];
        const auto at = [&](const std::string& name) {
          return behind(name) == name ? pointer(name)
                                      : fmt::format("{} + has_{}.first()", pointer(name), name);
        };
        std::string made, after;
        if (brought) made = step(stages[i], loops, "worker.arrivals()");
        if (taken && end > next + 1)
          after = tiles({stages.begin() + static_cast<std::ptrdiff_t>(next),
                         stages.begin() + static_cast<std::ptrdiff_t>(end)},
                        loops, "worker.demands()");
        else if (taken)
          after = step(stages[next], loops, "worker.demands()");
        text += fmt::format(
            "    // {}, beside what follows ({})\n    {{\n      chorale::RowWorker worker =\n          "
            "chorale::row_products({}, {}, {}, has_{}, has_{}, has_{});\n      worker.start({});\n{}{}      "
            "worker.finish();\n    }}\n",
            op.name, stages[i].overlap, pointer(op.name), at(op.operands[0]), at(op.operands[1]), op.name,
            op.operands[0], op.operands[1],
            brought          ? ""
            : end > next + 1 ? fmt::format("chorale::needed(exchange_{}_)", result(next))
                             : fmt::format("exchange_{}_.needed()", result(next)),
            made, after);
        i = end;
        continue;
      }
    }
    if (const std::size_t end = tiled_from(stages, i); end > i) {
      text += tiles({stages.begin() + static_cast<std::ptrdiff_t>(i),
                     stages.begin() + static_cast<std::ptrdiff_t>(end)},
                    loops, "");
      i = end;
      continue;
    }
    text += step(stages[i++], loops);
  }
  return text;
}

std::string WorkloadPrinter::communication(const Stage& stage, std::string& loops,
                                           const std::string& progress) {
  const Operation& op = workload_.operations[stage.operation];
  if (op.kind == Kind::Send) return send(op);
  const TensorType& type = moved(op);
  const std::string& from = op.operands[0];
  const std::string result = is_scattered(op.name) ? "*" + pointer(op.name) : pointer(op.name);
  std::string text, input = is_scattered(from) ? "*" + pointer(from) : pointer(from), output = result, after;
  const auto begun_at = [&](const std::string& memory, const std::string& in) {
    return is_scattered(in)
               ? fmt::format("chorale::Lies<{}>({}, has_{}.first())", c_type(op.type.element), memory, from)
               : fmt::format("{} + has_{}.first()", memory, from);
  };
  // A slice that is no tensor of its own begins within one.
  if (behind(from) != from) input = begun_at(input, from);
  if (is_packed(op) && op.kind == Kind::ReduceScatter) {
    text += fmt::format("      chorale::pack({}, {}, {}, {}, {});\n", packed(op.name), input,
                        sides(type.shape), slicing(op).dim, scope_ranks(type));
    input = packed(op.name);
  } else if (op.kind == Kind::AllGather && is_packed(op)) {
    output = packed(op.name);
    if (in_place_.contains(from)) input = fmt::format("{} + own_{}", output, op.name);
    after = fmt::format("      chorale::unpack({}, {}, {}, {}, {});\n", result, output, sides(op.type.shape),
                        slicing(op).dim, scope_ranks(type));
  } else if (in_place_.contains(from)) {
    input = op.kind == Kind::AllGather ? begun_at(result, op.name) : result;
  } else if (home(from) == home(op.name)) {
    require_together(from, op.name);
    text += fmt::format(
        "      const auto kept = chorale::memory<{}>(has_{}.elements());\n      std::copy_n({}, "
        "has_{}.elements(), "
        "kept.get());\n",
        c_type(op.type.element), from, input, from);
    input = "kept.get()";
  }
  std::string loop = progress.empty() ? "" : ", chorale::NoSumFunction()";
  if (!stage.loop.empty()) {
    const LoopOptions options{.name = fmt::format("Loop{}", ++loop_count_), .sum = &op};
    const PrintedLoop printed = printed_loop(workload_, stage.loop, options, *this);
    loops += printed.definition;
    text += printed.made;
    loop = ", loop";
    after += printed.after;
  }
  // Ranks of groups that do not have the tensor have nothing to do.
  const bool everywhere =
      type.scope == Scope::World || (type.first_group == 0 && type.last_group == workload_.groups - 1);
  return fmt::format("    {}{{\n{}      exchange_{}_{}.run(transport_, {}, {}{}{});\n{}    }}\n",
                     everywhere ? ""
                                : fmt::format("if (rank_ / kGroupRanks >= {} && rank_ / kGroupRanks <= {}) ",
                                              type.first_group, type.last_group),
                     text, op.name, tiled_.contains(op.name) ? "[static_cast<std::size_t>(tile)]" : "", input,
                     output, loop, progress.empty() ? "" : ", " + progress, after);
}

std::string WorkloadPrinter::send(const Operation& op) const {
  const std::string& from = op.operands[0];
  require_together(from, op.name);
  require_together(op.name, op.name);
  std::string input = pointer(from);
  if (behind(from) != from) input = fmt::format("{} + has_{}.first()", input, from);
  const TensorType &sent = moved(op), &got = op.type;
  // Group g sends where g has the operand, and the group that it sends to has the result.
  const auto peer = [](int first, int last, const std::string& rank) {
    return fmt::format("rank_ / kGroupRanks >= {} && rank_ / kGroupRanks <= {} ? {} : -1", first, last, rank);
  };
  std::string kept;
  if (home(from) == home(op.name)) {
    kept = fmt::format(
        "      const auto kept = chorale::memory<{}>(has_{}.elements());\n      std::copy_n({}, "
        "has_{}.elements(), "
        "kept.get());\n",
        c_type(op.type.element), from, input, from);
    input = "kept.get()";
  }
  const auto tiles = tiled_.find(op.name);
  return fmt::format(
      "    {{\n{}      chorale::{}(transport_, {},\n                        {},\n                        {}, "
      "has_{}.elements(), {}, has_{}.elements(){});\n    }}\n",
      kept, tiles == tiled_.end() ? "send_on" : "send_tile",
      peer(std::max(sent.first_group, got.first_group - op.shift),
           std::min(sent.last_group, got.last_group - op.shift),
           fmt::format("rank_ + {} * kGroupRanks", op.shift)),
      peer(got.first_group, got.last_group, fmt::format("rank_ - {} * kGroupRanks", op.shift)), input, from,
      pointer(op.name), op.name, tiles == tiled_.end() ? "" : fmt::format(", tile, {}", tiles->second));
}

std::string WorkloadPrinter::call(const Operation& op) const {
  for (const std::string& operand : op.operands) require_together(operand, op.name);
  const std::string &a = op.operands[0], &b = op.operands[1];
  const auto at = [&](const std::string& name) {
    return behind(name) == name ? pointer(name) : fmt::format("{} + has_{}.first()", pointer(name), name);
  };
  if (op.kind == Kind::MatMul) {
    const std::size_t dims = operation(workload_, a).type.shape.size(),
                      factor_dims = operation(workload_, b).type.shape.size();
    return fmt::format("    chorale::matrix_products({}, {}, {}, has_{}, has_{}, has_{}, {});\n",
                       pointer(op.name), at(a), at(b), op.name, a, b,
                       factor_dims > 2 && dims > 2 ? "true" : "false");
  }
  return fmt::format(
      "    if (has_{0}.elements() > 0) chorale::convolution({1}, {2}, {3}, "
      "chorale::ConvolutionSides{{has_{4}.side(0), "
      "has_{4}.side(1), has_{4}.side(2), has_{4}.side(3), has_{5}.side(0), has_{5}.side(2), "
      "has_{5}.side(3), {6}, {7}}});\n",
      op.name, pointer(op.name), at(a), at(b), a, b, op.stride, op.padding);
}

std::string WorkloadPrinter::program(const std::string& steps) const {
  std::string part_members;
  for (const Operation& op : workload_.operations)
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
      pointers(steps), steps, name_, workload_.ranks * workload_.groups, checks(), part_members, memory());
}

// A program around it. Its tensors are named by strings there.
std::string WorkloadPrinter::driver() const {
  std::string sizes, visits;
  for (const WorkloadSize& size : workload_.sizes)
    sizes += fmt::format("    visit(\"{}\", s.{});\n", size.name, identifier(size.name));
  for (const Operation& op : workload_.operations) {
    if (!is_given_memory(op)) continue;
    const bool local = op.type.layout.kind == LayoutKind::Local;
    visits += fmt::format(
        "    visit(chorale::DriverTensor{{\"{}\", {}, {}, {}, {}}}, t.{}, {}::part_{}(s, rank));\n", op.name,
        op.kind == Kind::Input, op.kind != Kind::Input || is_updated(op.name), local, scope_ranks(op.type),
        identifier(op.name), name_, op.name);
  }
  return fmt::format(
      "// {0} with numbers or files as inputs: see device/workload_driver.h for what it takes.\n"
      "#include \"{0}.h\"\n\n#include \"device/workload_driver.h\"\n"
      "#ifdef CHORALE_LIBRARY\n#include \"device/workload_library.h\"\n#endif\n\nnamespace {{\n\n"
      "struct Workload {{\n  static constexpr const char* kName = {0}::kName;\n"
      "  static constexpr int kRanks = {0}::kRanks;\n"
      "  using Sizes = {0}::Sizes;\n  using Tensors = {0}::Tensors;\n  template <typename Transport>\n"
      "  using Program = {0}::Program<Transport>;\n"
      "  template <typename Visit>\n  static void sizes([[maybe_unused]] Sizes& s, [[maybe_unused]] Visit&& "
      "visit) "
      "{{\n{1}  }}\n"
      "  template <typename Visit>\n  static void tensors([[maybe_unused]] Tensors& t, [[maybe_unused]] "
      "const Sizes& s, "
      "[[maybe_unused]] int rank, [[maybe_unused]] Visit&& visit) {{\n{2}  }}\n}};\n\n}}  // namespace\n\n"
      "#ifdef CHORALE_LIBRARY\nCHORALE_C_INTERFACE(Workload)\n#else\n"
      "int main(int argc, char** argv) {{\n  return chorale::workload_main<Workload>(argc, "
      "argv);\n}}\n#endif\n",
      name_, sizes, visits);
}

// What callers of the library have to know (device/workload_library.h).
std::string WorkloadPrinter::description() const {
  std::vector<std::string> tensors, sizes, outputs;
  for (const WorkloadSize& size : workload_.sizes) sizes.push_back(quoted(size.name));
  for (const std::string& name : workload_.outputs) outputs.push_back(quoted(name));
  for (const Operation& op : workload_.operations) {
    if (!is_given_memory(op) && !is_output(op.name)) continue;
    std::vector<std::string> shape;
    for (const Extent& side : op.type.shape) {
      std::vector<std::string> factors;
      for (const std::string& size : side.sizes) factors.push_back(quoted(size));
      shape.push_back(
          fmt::format(R"({{"factor": {}, "sizes": [{}]}})", side.factor, fmt::join(factors, ", ")));
    }
    tensors.push_back(fmt::format(
        R"({{"name": {}, "type": "{}", "shape": [{}], "layout": "{}", "input": {}, "in": {}, "address": {}}})",
        quoted(op.name), short_name(op.type.element), fmt::join(shape, ", "), to_string(op.type.layout),
        op.kind == Kind::Input, quoted(op.updates), is_given_memory(op)));
  }
  return fmt::format(
      "{{\n  \"name\": {},\n  \"ranks\": {},\n  \"groups\": {},\n  \"sizes\": [{}],\n  \"outputs\": [{}],\n"
      "  \"tensors\": {}\n}}\n",
      quoted(workload_.name), workload_.ranks, workload_.groups, fmt::join(sizes, ", "),
      fmt::join(outputs, ", "), lines(tensors, "  "));
}

std::string makefile(const std::string& name, int ranks) {
  return fmt::format(
      "# make threads, make mpi, make library; with a BLAS: make mpi BLAS=\"-DCHORALE_BLAS -lopenblas\"\n"
      "FLAGS = -std=c++17 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -I.\nCXX ?= "
      "g++\n"
      "BLAS ?=\n\n"
      "threads: {0}_threads\nmpi: {0}_mpi\n\n"
      "{0}_threads: {0}_main.cpp {0}.h\n\t$(CXX) $(FLAGS) {0}_main.cpp -o $@ -pthread $(BLAS)\n\n"
      "{0}_mpi: {0}_main.cpp {0}.h\n\tmpicxx $(FLAGS) -DCHORALE_MPI {0}_main.cpp -o $@ -pthread $(BLAS)\n\n"
      "library: lib{0}.so\nlib{0}.so: {0}_main.cpp {0}.h\n"
      "\t$(CXX) $(FLAGS) -DCHORALE_LIBRARY -shared -fPIC {0}_main.cpp -o $@ -pthread $(BLAS)\n\n"
      "run: {0}_mpi\n\tmpirun -n {1} ./{0}_mpi\n\nclean:\n\trm -f {0}_threads {0}_mpi lib{0}.so\n\n.PHONY: "
      "threads mpi "
      "library run clean\n",
      name, ranks);
}

}  // namespace

std::vector<NeededCollective> needed_collectives(const Workload& workload) {
  std::vector<NeededCollective> needed;
  for (const Operation& op : workload.operations) {
    if (!is_communication(op.kind) || op.kind == Kind::Send) continue;
    const TensorType& type = operation(workload, op.operands[0]).type;
    const int root = op.kind == Kind::Reduce      ? op.type.layout.root
                     : op.kind == Kind::Broadcast ? type.layout.root
                                                  : 0;
    needed.push_back({op.name, make_collective(collective_of(op.kind), ranks_of(workload, type), 1, root)});
  }
  return needed;
}

std::vector<NamedText> to_workload_sources(const Workload& workload,
                                           const std::vector<WorkloadAlgorithm>& algorithms,
                                           const WorkloadSourceOptions& options) {
  const std::string name = identifier(options.name.empty() ? workload.name : options.name);
  WorkloadPrinter printer(workload, algorithms, name);
  std::vector<NamedText> files = {{name + ".h", printer.header()},
                                  {name + "_main.cpp", printer.driver()},
                                  {name + ".json", printer.description()},
                                  {"Makefile", makefile(name, workload.ranks * workload.groups)}};
  for (const EmbeddedFile& file : workload_files()) files.push_back({file.path, file.contents});
  return files;
}

}  // namespace chorale
