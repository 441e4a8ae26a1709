// A thread does `width` elements at a time (tensor/exchange/several.h): it loads them, calls element() for
// each, and stores them. That needs the elements to follow each other for all operands: where a slice, a run
// or a piece of a list ends in between, they are done one by one.
#include "tensor/lowering/loop_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/epilogue_source.h"
#include "tensor/lowering/names.h"

namespace chorale {

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
      moved += fmt::format("    const auto {} = chorale::several_at<width>({});\n", p.name, address(p));
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
    results += fmt::format("    chorale::Several<{}, width> to_{};\n", loop.types.at(name), name);
    stores += fmt::format("    chorale::store_several({}, to_{});\n", address(*it), name);
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
      sum ? fmt::format(", const chorale::Several<{}, width>& sums", loop.types.at(loop.options.sum->name))
          : "";
  // Several at once only where all operands follow each other; `together` has what speaks against it.
  const std::string one_by_one =
      together.empty()
          ? ""
          : fmt::format(
                "    if constexpr (width > 1)\n      if ({}) {{\n        for (int k = 0; k < width; ++k) "
                "several<1>(begin + k, {}totals);\n        return;\n      }}\n",
                fmt::join(together, " || "),
                sum ? fmt::format("chorale::Several<{}, 1>{{{{sums.of[k]}}}}, ",
                                  loop.types.at(loop.options.sum->name))
                    : "");
  return fmt::format(
      "\n  static constexpr int kTotals = {};\n"
      "  CHORALE_ELEMENT static void start([[maybe_unused]] double* totals) {{{} }}\n"
      "  template <int width>\n"
      "  CHORALE_ELEMENT void several([[maybe_unused]] std::int64_t begin{}, [[maybe_unused]] double* "
      "totals) const {{\n    [[maybe_unused]] const std::int64_t index = part.index(begin);\n"
      "{}{}{}{}    CHORALE_UNROLL\n    for (int k = 0; k < width; ++k) {{\n{}      element({});\n{}    "
      "}}\n{}  }}\n"
      "  template <typename Team>\n  CHORALE_ELEMENT void finish([[maybe_unused]] const double* totals, "
      "[[maybe_unused]] const Team& team) const {{{} }}\n",
      loop.folds.size(), started, given, loads, one_by_one, moved, results, folds, fmt::join(arguments, ", "),
      added, stores, kept);
}

}  // namespace chorale
