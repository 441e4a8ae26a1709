// The struct of a loop, for hosts: an element, the loop over a run, and the traversal of the space.
//
// Parts of the struct, from the inside: element() computes one element from values; run() calls it for
// consecutive elements, with pointers that do not overlap, as __restrict__ declares, and
// vectorizes that; operator() goes from run to run. The kernels' members (loop_kernels.cpp) call element(),
// too, so hosts and GPUs compute alike.
#include "tensor/lowering/loop_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/epilogue_source.h"
#include "tensor/lowering/names.h"

namespace chorale {
namespace {

// A thread does `width` elements at a time (exchange/several.h): it loads them, calls element() for
// each, and stores them. That needs the elements to follow each other for all operands: where a slice, a run
// or a piece of a list ends in between, they are done one by one.

// Totals of a row, and where they are put.
// begin_row() is given where a row's totals are; end_row() puts them into the row's values. take() sets the
// address of a row that is handed over, less the row's first index, since loops count from the tensor's
// beginning.
std::string members_for_rows(const LoopContents& loop) {
  if (loop.options.row == RowLoop::None) return "";
  std::string results, begun, ended;
  for (std::size_t k = 0; k < loop.folds.size(); ++k) {
    const std::string &name = loop.folds[k]->name, type = c_type(loop.folds[k]->type.element),
                      op = printed_combination(loop.folds[k]->reduction);
    results += fmt::format("  {}* rows_{} = nullptr;\n", type, name);
    begun += fmt::format(" total_{0} = totals + {1}, *total_{0} = chorale::identity<{2}>();", name, k, op);
    ended += fmt::format(" rows_{0}[row] = chorale::total_as<{1}, {2}>(*total_{0});", name, op, type);
  }
  // The row that it is given: where it lies, and the index of its first element.
  if (loop.options.handed != nullptr) {
    const auto handed = std::ranges::find(loop.parameters, true, &LoopParameter::is_handed);
    const bool reads = handed != loop.parameters.end();
    results += fmt::format(
        "  std::int64_t handed = 0;\n  void take([[maybe_unused]] const {}* row, std::int64_t begin) {{{} "
        "handed = "
        "begin; }}\n",
        c_type(loop.options.handed->type.element), reads ? fmt::format(" {} = row;", member(*handed)) : "");
  }
  return fmt::format(
      "\n  static constexpr bool kValueOfRow = {};\n{}"
      "  void begin_row([[maybe_unused]] double* totals) {{{} }}\n"
      "  void end_row([[maybe_unused]] std::int64_t row) const {{{} }}\n",
      loop.options.row == RowLoop::Value, results, begun, ended);
}

// Where several elements do not follow each other for all operands, they are done one by one.
// start() sets a thread's totals to the identity, finish() hands them to the team: a block's of the launch,
// or a warp's of a row. Names in the text: index + k is an element's index, to_X.of[k] its result.
std::string members_for_kernels(const LoopContents& loop) {
  const bool sum = loop.options.sum != nullptr;
  std::vector<std::string> together, arguments = {"seed", "index + k"};
  if (sum) arguments.push_back("sums.of[k]");
  if (is_box(loop)) together.push_back("(part.run > 0 && begin % part.run + width > part.run)");
  if (has_span(loop)) together.push_back("index % span + width > span");
  std::string loads, results, moved, stores;
  for (const LoopParameter& p : loop.parameters) {
    const std::string offset = p.offset.empty() ? "0" : p.offset;
    if (p.scattered) {
      loads += fmt::format("    const auto run_{} = {}.run({});\n", p.name, member(p), offset);
      if (!p.stays) together.push_back(fmt::format("run_{}.count < width", p.name));
    }
  }
  const auto address = [](const LoopParameter& p) {
    return p.scattered ? fmt::format("run_{}.at", p.name) : fmt::format("{} + {}", member(p), p.offset);
  };
  for (const LoopParameter& p : loop.parameters) {
    const bool read = std::ranges::any_of(loop.inputs, [&](const auto& i) { return i.second == p.name; });
    if (!read || p.is_value) continue;
    if (p.stays)
      moved += fmt::format("    const {} {} = {};\n", p.type, p.name,
                           p.scattered        ? fmt::format("*run_{}.at", p.name)
                           : p.offset.empty() ? fmt::format("*{}", member(p))
                                              : fmt::format("{}[{}]", member(p), p.offset));
    else
      moved += fmt::format("    const auto {} = chorale::pack_at<width>({});\n", p.name, address(p));
  }
  for (const auto& [name, parameter] : loop.inputs) {
    const auto it = std::ranges::find(loop.parameters, parameter, &LoopParameter::name);
    arguments.push_back(it->is_value ? member(*it) : it->stays ? parameter : parameter + ".of[k]");
  }
  for (const int dim : loop.indices) {
    moved += fmt::format("    const std::int64_t index_{} = {};\n", dim, index_along(dim));
    arguments.push_back(fmt::format("index_{}{}", dim, is_last(loop, dim) ? " + k" : ""));
  }
  for (const auto& [name, parameter] : loop.outputs) {
    const auto it = std::ranges::find(loop.parameters, parameter, &LoopParameter::name);
    results += fmt::format("    chorale::Pack<{}, width> to_{};\n", loop.types.at(name), name);
    stores += fmt::format("    chorale::store_pack({}, to_{});\n", address(*it), name);
    arguments.push_back(fmt::format("to_{}.of[k]", name));
  }
  std::string folds, added, started, kept;
  for (std::size_t k = 0; k < loop.folds.size(); ++k) {
    const std::string op = printed_combination(loop.folds[k]->reduction);
    folds += fmt::format("      double fold_{};\n", loop.folds[k]->name);
    added += fmt::format("      totals[{0}] = chorale::combined<{1}>(totals[{0}], fold_{2});\n", k, op,
                         loop.folds[k]->name);
    started += fmt::format(" totals[{}] = chorale::identity<{}>();", k, op);
    kept +=
        loop.options.row == RowLoop::None
            ? fmt::format(" team.template keep_total<{}>(total_{}, totals[{}]);", op, loop.folds[k]->name, k)
            : fmt::format(" team.template keep_row<{}>(rows_{}, totals[{}]);", op, loop.folds[k]->name, k);
    arguments.push_back(fmt::format("fold_{}", loop.folds[k]->name));
  }
  const std::string given =
      sum ? fmt::format(", const chorale::Pack<{}, width>& sums", loop.types.at(loop.options.sum->name)) : "";
  std::set<std::string> types;
  for (const LoopParameter& p : loop.parameters)
    if (!p.is_value && !p.stays) types.insert(p.type);
  // Several at once only where all operands follow each other; `together` has what speaks against it.
  const std::string one_by_one =
      together.empty()
          ? ""
          : fmt::format(
                "    if constexpr (width > 1)\n      if ({}) {{\n        for (int k = 0; k < width; ++k) "
                "pack<1>(begin + k, {}totals);\n        return;\n      }}\n",
                fmt::join(together, " || "),
                sum ? fmt::format("chorale::Pack<{}, 1>{{{{sums.of[k]}}}}, ",
                                  loop.types.at(loop.options.sum->name))
                    : "");
  return fmt::format(
      "\n  static constexpr int kTotals = {}, kWidth = chorale::kWidthOf<{}>;\n"
      "  CHORALE_ELEMENT static void start([[maybe_unused]] double* totals) {{{} }}\n"
      "  template <int width>\n"
      "  CHORALE_ELEMENT void pack([[maybe_unused]] std::int64_t begin{}, [[maybe_unused]] double* "
      "totals) const {{\n    [[maybe_unused]] const std::int64_t index = part.index(begin);\n"
      "{}{}{}{}    CHORALE_UNROLL\n    for (int k = 0; k < width; ++k) {{\n{}      element({});\n{}    "
      "}}\n{}  }}\n"
      "  template <typename Team>\n  CHORALE_ELEMENT void finish([[maybe_unused]] const double* totals, "
      "[[maybe_unused]] const Team& team) const {{{} }}\n",
      loop.folds.size(), fmt::join(types, ", "), started, given, loads, one_by_one, moved, results, folds,
      fmt::join(arguments, ", "), added, stores, kept);
}

// void element(values in, references out).
// The order of arguments is one everywhere: seed, index, the sum, inputs by name, indices along dimensions,
// results, folds.
std::string element(const LoopContents& loop) {
  std::vector<std::string> parameters = {"[[maybe_unused]] std::uint64_t seed",
                                         "[[maybe_unused]] std::int64_t index"};
  if (loop.options.sum != nullptr)
    parameters.push_back(fmt::format("[[maybe_unused]] const {} {}", loop.types.at(loop.options.sum->name),
                                     fresh(loop.options.sum->name)));
  for (const auto& [name, parameter] : loop.inputs)
    parameters.push_back(fmt::format("const {} {}", loop.types.at(name), fresh(name)));
  for (const int dim : loop.indices) parameters.push_back(fmt::format("const std::int64_t index_{}", dim));
  std::string results;
  for (const auto& [name, parameter] : loop.outputs) {
    parameters.push_back(fmt::format("{}& to_{}", loop.types.at(name), name));
    results += fmt::format("    to_{} = {};\n", name, fresh(name));
  }
  for (const Operation* fold : loop.folds) parameters.push_back(fmt::format("double& fold_{}", fold->name));
  return fmt::format("  CHORALE_ELEMENT static void element({}) {{\n{}{}  }}\n", fmt::join(parameters, ", "),
                     loop.body, results);
}

// The loop over a run.
// With `operands` 2 the sum's last two terms are added here, in registers. Folds of a run are put into an
// array of kFolded numbers, which folded() adds up in lanes.
std::string run(const LoopContents& loop) {
  const bool sum = loop.options.sum != nullptr;
  std::vector<std::string> parameters = {"std::int64_t count", "[[maybe_unused]] std::uint64_t seed",
                                         "[[maybe_unused]] std::int64_t index"};
  std::vector<std::string> arguments = {"seed", "index + i"};
  if (sum) {
    const std::string& type = loop.types.at(loop.options.sum->name);
    parameters.push_back(fmt::format("const {}* __restrict__ a", type));
    parameters.push_back(fmt::format("[[maybe_unused]] const {}* __restrict__ b", type));
    arguments.push_back("sum");
  }
  for (const LoopParameter& p : loop.parameters)
    parameters.push_back(
        p.stays ? fmt::format("const {} {}", p.type, p.name)
                : fmt::format("{}{}* __restrict__ {}", p.stored ? "" : "const ", p.type, p.name));
  for (const auto& [name, parameter] : loop.inputs) {
    const auto it = std::ranges::find(loop.parameters, parameter, &LoopParameter::name);
    arguments.push_back(it->stays ? parameter : parameter + "[i]");
  }
  for (const int dim : loop.indices) {
    parameters.push_back(fmt::format("std::int64_t index_{}", dim));
    arguments.push_back(fmt::format("index_{}{}", dim, is_last(loop, dim) ? " + i" : ""));
  }
  std::string results, stores;
  for (const auto& [name, parameter] : loop.outputs) {
    results += fmt::format("      {} to_{};\n", loop.types.at(name), name);
    stores += fmt::format("      {}[i] = to_{};\n", parameter, name);
    arguments.push_back("to_" + name);
  }
  for (const Operation* fold : loop.folds) {
    parameters.push_back(fmt::format("double* __restrict__ folds_{}", fold->name));
    arguments.push_back(fmt::format("folds_{}[i]", fold->name));
  }
  return fmt::format(
      "{}  CHORALE_LOOP static void run({}) {{\n    for (std::int64_t i = 0; i < count; ++i) {{\n"
      "{}{}      element({});\n{}    }}\n  }}\n",
      sum ? "  template <int operands>\n" : "", fmt::join(parameters, ", "),
      sum ? fmt::format("      const {} sum = operands == 2 ? chorale::combined<{}>(a[i], b[i]) : a[i];\n",
                        loop.types.at(loop.options.sum->name),
                        printed_combination(loop.options.sum->reduction))
          : "",
      results, fmt::join(arguments, ", "), stores);
}

// Elements begin .. begin + count of what the rank has, from run to run.
// n, the length of the next run, is the least of what is left and of where a slice, a run of operands, the
// array of folds or a piece of a list ends.
std::string traversal(const LoopContents& loop) {
  const bool sum = loop.options.sum != nullptr;
  std::vector<std::string> arguments = {"n", "seed", "index"};
  if (sum) arguments.insert(arguments.end(), {"a", "b"});
  for (const LoopParameter& p : loop.parameters)
    arguments.push_back(p.is_value         ? member(p)
                        : p.scattered      ? fmt::format("{}run_{}.at", p.stays ? "*" : "", p.name)
                        : p.offset.empty() ? fmt::format("*{}", member(p))
                        : p.stays          ? fmt::format("{}[{}]", member(p), p.offset)
                                           : fmt::format("{} + {}", member(p), p.offset));
  for (const int dim : loop.indices) arguments.push_back(index_along(dim));
  for (const Operation* fold : loop.folds) arguments.push_back("folds_" + fold->name);
  std::string limits;
  if (is_box(loop)) limits += "      if (part.run > 0) n = std::min(n, part.run - begin % part.run);\n";
  if (has_span(loop)) limits += "      n = std::min(n, span - index % span);\n";
  if (!loop.folds.empty()) limits += "      n = std::min(n, chorale::kFolded);\n";
  for (const LoopParameter& p : loop.parameters)
    if (p.scattered) {
      limits += fmt::format("      const auto run_{} = {}.run({});\n", p.name, member(p),
                            p.offset.empty() ? "0" : p.offset);
      if (!p.stays) limits += fmt::format("      n = std::min(n, run_{}.count);\n", p.name);
    }
  std::string kept, totals;
  for (const Operation* fold : loop.folds) {
    kept += fmt::format("    double folds_{}[chorale::kFolded];\n", fold->name);
    totals += fmt::format("      *total_{} = chorale::folded<{}>(folds_{}, n, *total_{});\n", fold->name,
                          printed_combination(fold->reduction), fold->name, fold->name);
  }
  const std::string all = fmt::format("{}", fmt::join(arguments, ", "));
  return fmt::format(
      "  void operator()(std::int64_t begin, std::int64_t count{}) const {{\n{}"
      "    while (count > 0) {{\n      [[maybe_unused]] const std::int64_t index = part.index(begin);\n"
      "      std::int64_t n = count;\n{}{}{}      begin += n;\n      count -= n;\n{}    }}\n  }}\n",
      sum ? fmt::format(", const {0}* a, const {0}* b", loop.types.at(loop.options.sum->name)) : "", kept,
      limits,
      sum ? fmt::format("      if (b != nullptr)\n        run<2>({});\n      else\n        run<1>({});\n",
                        all, all)
          : fmt::format("      run({});\n", all),
      totals, sum ? "      a += n;\n      if (b != nullptr) b += n;\n" : "");
}

// Values and pointers only, so that the struct is a kernel's argument as it is.
std::string definition(const LoopContents& loop) {
  std::vector<std::string> names;
  if (loop.options.sum != nullptr) names.push_back(loop.options.sum->name);
  for (const Operation* op : loop.operations) names.push_back(op->name);
  std::string members = "  chorale::Indices part = {};\n  std::uint64_t seed = 0;\n";
  // A member for each pointer, though several parameters may begin there.
  for (const LoopParameter& p : loop.parameters)
    members += p.is_value    ? fmt::format("  {} {} = {{}};  // {}\n", p.type, member(p), p.pointer)
               : p.scattered ? fmt::format("  chorale::ScatteredView<{}> {} = {{}};  // {}\n", p.type,
                                           member(p), p.pointer)
                             : fmt::format("  {}{}* {} = nullptr;  // {}\n", p.stored ? "" : "const ", p.type,
                                           member(p), p.pointer);
  for (const auto& [walk, made] : loop.walks)
    members += fmt::format("  chorale::Walk<{}> {} = {{}};\n", loop.space.shape.size(), walk);
  if (has_span(loop)) members += "  chorale::Divisor span = 1;\n";
  for (const int dim : loop.indices)
    members += fmt::format("  chorale::Divisor inner_{0} = 1, side_{0} = 1;\n", dim);
  for (const Operation* fold : loop.folds)
    members += fmt::format("  double* total_{} = nullptr;\n", fold->name);
  return fmt::format("// {}.\nstruct {} {{\n{}\n{}{}{}{}{}}};\n\n", fmt::join(names, ", "), loop.options.name,
                     members, element(loop), run(loop), traversal(loop), members_for_kernels(loop),
                     members_for_rows(loop));
}

// Statements in run(), where the sizes and addresses are known.
std::string construction(const LoopContents& loop) {
  const std::string& variable = loop.options.variable;
  std::string text =
      fmt::format("      {0} {1};\n      {1}.part = {2}.indices();\n      {1}.seed = tensors.seed;\n",
                  loop.options.name, variable, part_of(loop));
  for (const LoopParameter& p : loop.parameters)
    text += fmt::format("      {}.{} = {};\n", variable, member(p), p.pointer);
  // A walk goes through a tensor that is broadcast along some dimensions; the part of the loop is known here
  // only.
  for (const auto& [walk, made] : loop.walks) {
    std::string with_part = made;
    if (const std::size_t at = with_part.find(kPartOfLoop); at != std::string::npos)
      with_part.replace(at, std::string(kPartOfLoop).size(), part_of(loop));
    text += fmt::format("      {}.{} = {};\n", variable, walk, with_part);
  }
  for (const int dim : loop.indices)
    text += fmt::format("      {0}.inner_{1} = chorale::product({2}, {3});\n      {0}.side_{1} = {2}[{1}];\n",
                        variable, dim, loop.around.sides(loop.space.shape), dim + 1);
  if (has_span(loop))
    text += fmt::format("      {}.span = std::max<std::int64_t>(1, chorale::product({}, {}));\n", variable,
                        loop.around.sides(loop.space.shape), loop.run_from);
  for (const Operation* fold : loop.folds)
    text += loop.options.row == RowLoop::None
                ? fmt::format("      {}.total_{} = total_{}_.start();\n", variable, fold->name, fold->name)
                : fmt::format("      {}.rows_{} = {};\n", variable, fold->name,
                              loop.around.stored_at(fold->name).pointer);
  return text;
}

// Only ranks that have the result store it.
std::string totals(const LoopContents& loop) {
  if (loop.options.row != RowLoop::None) return "";
  std::string text;
  for (const Operation* fold : loop.folds)
    text += fmt::format("      if ({}.elements() > 0) total_{}_.store({});\n", loop.around.part(fold->name),
                        fold->name, loop.around.stored_at(fold->name).pointer);
  return text;
}

// Totals of rows lie in the rows' values, so loops over rows have no members.
std::string total_members(const LoopContents& loop) {
  if (loop.options.row != RowLoop::None) return "";
  std::string text;
  for (const Operation* fold : loop.folds)
    text += fmt::format("  typename Device::template Total<{}> total_{}_{{device_}};\n",
                        printed_combination(fold->reduction), fold->name);
  return text;
}

}  // namespace

// Four texts, since they stand in four places: the struct before the class, its construction and what follows
// it in run(), its totals among the members.
PrintedLoop printed_loop(const Workload& workload, const std::vector<int>& operations,
                         const LoopOptions& options, const LoopSurroundings& around) {
  const LoopContents loop = loop_contents(workload, operations, options, around);
  return {.definition = definition(loop),
          .made = construction(loop),
          .after = totals(loop),
          .members = total_members(loop)};
}

}  // namespace chorale
