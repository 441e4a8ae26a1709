#include "codegen/workload/step_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/epilogue_source.h"
#include "codegen/workload/loop_source.h"
#include "codegen/workload/names.h"

namespace chorale {
namespace {

using Kind = OperationKind;

}  // namespace

std::string names_of(const Workload& workload, const Stage& stage) {
  std::vector<std::string> names;
  if (stage.operation >= 0) names.push_back(workload.operations[stage.operation].name);
  for (const int i : stage.loop) names.push_back(workload.operations[i].name);
  for (std::size_t k = 1; k < stage.scalars.size(); ++k)
    names.push_back(workload.operations[stage.scalars[k]].name);
  return fmt::format("{}{}", fmt::join(names, ", "), stage.kernel.empty() ? "" : " (" + stage.kernel + ")");
}

StepPrinter::StepPrinter(const WorkloadPlaces& places) : workload_(places.workload()), places_(places) {
  const std::vector<Stage>& all = places.stages().all();
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    const auto is_same = [&](const Stage& other) {
      return all[i].overlap.empty() ? !all[i].kernel.empty() && other.kernel == all[i].kernel
                                    : other.overlap == all[i].overlap;
    };
    while (end < all.size() && is_same(all[end])) ++end;
    steps_ += overlapped(
        {all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(end)});
    i = end;
  }
}

// A tile of it where it is done so.
StepPrinter::LoopText StepPrinter::loop_text(const Stage& stage) {
  const LoopOptions options{.name = fmt::format("Loop{}", ++loop_count_)};
  const PrintedLoop loop = printed_loop(workload_, stage.loop, options, places_);
  loops_ += loop.definition;
  const auto it = tiled_.find(workload_.operations[stage.loop[0]].name);
  const std::string run =
      it == tiled_.end()
          ? "      loop(0, loop.part->elements());\n"
          : fmt::format(
                "      const std::int64_t begin = chorale::part_begin(loop.part->elements(), {0}, tile);\n"
                "      loop(begin, chorale::part_begin(loop.part->elements(), {0}, tile + 1) - begin);\n",
                it->second.number);
  return {.made = loop.made, .run = run, .after = loop.after};
}
std::string StepPrinter::loop(const Stage& stage) {
  const LoopText text = loop_text(stage);
  return fmt::format("    {{\n{}{}{}    }}\n", text.made, text.run, text.after);
}

std::string StepPrinter::step(const Stage& stage, const std::string& progress) {
  const std::string comment = fmt::format("    // {}\n", names_of(workload_, stage));
  switch (stage.kind) {
    case StageKind::Loop:
      return comment + loop(stage);
    case StageKind::Slice: {
      const Operation& op = workload_.operations[stage.operation];
      if (!places_.stages().is_stored(op.name)) return "";
      places_.require_together(op.operands[0], op.name);
      return fmt::format("{}    chorale::copy_slice({}, {}, has_{});\n", comment, places_.pointer(op.name),
                         places_.pointer(op.operands[0]), op.name);
    }
    case StageKind::Call:
      return comment + call(workload_.operations[stage.operation]);
    case StageKind::Communication:
      return comment + communication(stage, progress);
  }
  return "";
}

// Ranks of groups that do not have the tensor have nothing to do.
std::string StepPrinter::where_it_is(const TensorType& type) const {
  if (type.scope == Scope::World || (type.first_group == 0 && type.last_group == workload_.groups - 1))
    return "";
  return fmt::format("if (rank_ / kGroupRanks >= {} && rank_ / kGroupRanks <= {}) ", type.first_group,
                     type.last_group);
}

std::string StepPrinter::sum_of_scalars(const Stage& stage) const {
  const Operation& first = workload_.operations[stage.operation];
  std::vector<std::string> values;
  std::string stores;
  for (const int i : stage.scalars) {
    const Operation& op = workload_.operations[i];
    stores += fmt::format("      *{} = sums[{}];\n", places_.pointer(op.name), values.size());
    values.push_back("*" + places_.first_of(op.operands[0]));
  }
  return fmt::format(
      "    {}{{\n      const {} values[] = {{{}}};\n      {} sums[{}];\n      exchange_{}_.run(transport_, "
      "values, sums);\n{}    }}\n",
      where_it_is(places_.moved(first)), c_type(first.type.element), fmt::join(values, ", "),
      c_type(first.type.element), values.size(), first.name, stores);
}

std::string StepPrinter::communication(const Stage& stage, const std::string& progress) {
  const Operation& op = workload_.operations[stage.operation];
  if (op.kind == Kind::Send) return send(op);
  if (!stage.scalars.empty()) return sum_of_scalars(stage);
  const TensorType& type = places_.moved(op);
  const std::string& from = op.operands[0];
  const std::string result =
      places_.is_scattered(op.name) ? "*" + places_.pointer(op.name) : places_.pointer(op.name);
  std::string text, input = places_.is_scattered(from) ? "*" + places_.pointer(from) : places_.pointer(from),
                    output = result, after;
  const auto begun_at = [&](const std::string& memory, const std::string& in) {
    return places_.is_scattered(in)
               ? fmt::format("chorale::Lies<{}>({}, has_{}.first())", c_type(op.type.element), memory, from)
               : fmt::format("{} + has_{}.first()", memory, from);
  };
  // A slice that is no tensor of its own begins within one.
  if (places_.behind(from) != from) input = begun_at(input, from);
  std::string told = progress;
  if (places_.is_packed(op) && op.kind == Kind::ReduceScatter) {
    told = fmt::format("chorale::Packing(slices_{}_, {}, {}{})", op.name, places_.packed(op.name), input,
                       progress.empty() ? "" : ", " + progress);
    input = places_.packed(op.name);
  } else if (op.kind == Kind::AllGather && places_.is_packed(op)) {
    output = places_.packed(op.name);
    if (places_.is_made_in_place(from)) input = fmt::format("{} + own_{}", output, op.name);
    told = fmt::format("chorale::Unpacking(slices_{}_, {}, {}{})", op.name, result, output,
                       progress.empty() ? "" : ", " + progress);
  } else if (places_.is_made_in_place(from)) {
    input = op.kind == Kind::AllGather ? begun_at(result, op.name) : result;
  } else if (places_.home(from) == places_.home(op.name)) {
    places_.require_together(from, op.name);
    text += fmt::format(
        "      const auto kept = chorale::memory<{}>(has_{}.elements());\n      std::copy_n({}, "
        "has_{}.elements(), "
        "kept.get());\n",
        c_type(op.type.element), from, input, from);
    input = "kept.get()";
  }
  std::string loop = told.empty() ? "" : ", chorale::NoSumFunction()";
  if (!stage.loop.empty()) {
    const LoopOptions options{.name = fmt::format("Loop{}", ++loop_count_), .sum = &op};
    const PrintedLoop printed = printed_loop(workload_, stage.loop, options, places_);
    loops_ += printed.definition;
    text += printed.made;
    loop = ", loop";
    after += printed.after;
  }
  return fmt::format("    {}{{\n{}      exchange_{}_{}.run(transport_, {}, {}{}{});\n{}    }}\n",
                     where_it_is(type), text, op.name,
                     tiled_.contains(op.name) ? "[static_cast<std::size_t>(tile)]" : "", input, output, loop,
                     told.empty() ? "" : ", " + told, after);
}

std::string StepPrinter::send(const Operation& op) const {
  const std::string& from = op.operands[0];
  places_.require_together(from, op.name);
  places_.require_together(op.name, op.name);
  std::string input = places_.first_of(from);
  const TensorType &sent = places_.moved(op), &got = op.type;
  // Group g sends where g has the operand, and the group that it sends to has the result.
  const auto peer = [](int first, int last, const std::string& rank) {
    return fmt::format("rank_ / kGroupRanks >= {} && rank_ / kGroupRanks <= {} ? {} : -1", first, last, rank);
  };
  std::string kept;
  if (places_.home(from) == places_.home(op.name)) {
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
      places_.pointer(op.name), op.name,
      tiles == tiled_.end() ? "" : fmt::format(", tile, {}", tiles->second.number));
}

std::string StepPrinter::factors_of(const Operation& op) const {
  for (const std::string& operand : op.operands) places_.require_together(operand, op.name);
  return fmt::format("{}, {}, {}", places_.pointer(op.name), places_.first_of(op.operands[0]),
                     places_.first_of(op.operands[1]));
}
std::string StepPrinter::shares_of(const Operation& op) const {
  const auto sides = [&](int k) { return operation(workload_, op.operands[k]).type.shape.size(); };
  return fmt::format("has_{}, has_{}, has_{}, {}", op.name, op.operands[0], op.operands[1],
                     sides(0) > 2 && sides(1) > 2);
}
std::string StepPrinter::convolution_sides(const Operation& op) const {
  return fmt::format(
      "chorale::ConvolutionSides{{has_{0}.side(0), has_{0}.side(1), has_{0}.side(2), has_{0}.side(3), "
      "has_{1}.side(0), has_{1}.side(2), has_{1}.side(3), {2}, {3}}}",
      op.operands[0], op.operands[1], op.stride, op.padding);
}

std::string StepPrinter::call(const Operation& op) const {
  if (op.kind == Kind::MatMul)
    return fmt::format("    chorale::matrix_products({}, {});\n", factors_of(op), shares_of(op));
  return fmt::format("    if (has_{}.elements() > 0) chorale::convolution({}, {});\n", op.name,
                     factors_of(op), convolution_sides(op));
}

}  // namespace chorale
