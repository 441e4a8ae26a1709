// Stages with one overlap, or one kernel, go to overlapped() together, which finds out what can go on at
// once; here are stages one after the other. On devices with launches a kernel's loops and communications are
// phases of one launch (chain), on hosts the same text does one phase after the other.
//
// A communication is printed as exchange.run(transport, input, output, loop, progress). Its input and output
// are the tensors' own memory, but for slices that do not lie together (packed, filled and emptied as blocks
// are needed and come), for what a loop has stored in place, and for an operand that lies where the result
// goes (kept).
#include "tensor/lowering/step_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "codegen/epilogue_source.h"
#include "tensor/lowering/names.h"

namespace chorale {
namespace {

using Kind = OperationKind;

bool is_communication_stage(const Stage& stage) {
  return stage.kind == StageKind::Communication;
}

}  // namespace

// For comments in the emitted step: what a reader of the tensor program looks for.
std::string names_of(const Workload& workload, const Stage& stage) {
  std::vector<std::string> names;
  if (stage.operation >= 0) names.push_back(workload.operations[stage.operation].name);
  for (const int i : stage.loop) names.push_back(workload.operations[i].name);
  for (std::size_t k = 1; k < stage.scalars.size(); ++k)
    names.push_back(workload.operations[stage.scalars[k]].name);
  return fmt::format("{}{}", fmt::join(names, ", "), stage.kernel.empty() ? "" : " (" + stage.kernel + ")");
}

// Text of all stages is made at once: members and loops are known when it is done.
StepPrinter::StepPrinter(const WorkloadPlaces& places) : workload_(places.workload()), places_(places) {
  const std::vector<Stage>& all = places.stages().all();
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    const auto is_same = [&](const Stage& other) {
      return all[i].overlap.empty() ? !all[i].kernel.empty() && other.kernel == all[i].kernel
                                    : other.overlap == all[i].overlap;
    };
    while (end < all.size() && is_same(all[end])) ++end;
    steps_ += overlapped(stages_between(all, i, end));
    i = end;
  }
}

// While is_plain_, tiles do not exist: the same stages as a device does them that has no tiles.
std::string StepPrinter::plain(const std::vector<Stage>& stages) {
  is_plain_ = true;
  std::string text;
  for (std::size_t i = 0; i < stages.size();) {
    const std::string phases = chain(stages, i);
    text += phases.empty() ? step(stages[i++]) : phases;
  }
  is_plain_ = false;
  return text;
}

// Null where the operation is done as a whole.
const StepPrinter::Tiles* StepPrinter::tiles_of(const std::string& name) const {
  const auto it = tiled_.find(name);
  return is_plain_ || it == tiled_.end() ? nullptr : &it->second;
}

// The stages of a kernel from there on, as phases of one launch, if they are several and one is a
// communication; then `begin` is where they end.
std::string StepPrinter::chain(const std::vector<Stage>& all, std::size_t& begin) {
  const auto joins = [&](const Stage& stage) {
    return !stage.kernel.empty() && stage.kernel == all[begin].kernel &&
           (stage.kind == StageKind::Loop || (is_exchange(stage) && !stage.goes_by_rows));
  };
  std::size_t end = begin;
  while (end < all.size() && joins(all[end])) ++end;
  const std::span<const Stage> stages(all.data() + begin, end - begin);
  const auto packed = [&](const Stage& stage) {
    return stage.operation >= 0 && (places_.is_packed(workload_.operations[stage.operation]) ||
                                    keeps_operand(workload_.operations[stage.operation]));
  };
  if (stages.size() < 2 || std::ranges::none_of(stages, is_communication_stage) ||
      std::ranges::any_of(stages, packed))
    return "";
  // What the phases refer to is made before the launch; totals are read after it.
  std::string comment, made, phases, after;
  for (std::size_t k = 0; k < stages.size(); ++k) {
    const std::string loop = fmt::format("loop{}", k);
    const Phase phase =
        stages[k].kind == StageKind::Loop ? this->loop(stages[k], loop) : communication(stages[k], loop);
    Stage named = stages[k];
    if (k + 1 < stages.size()) named.kernel.clear();
    comment += (k == 0 ? "" : ", ") + names_of(workload_, named);
    made += phase.made;
    phases += fmt::format(",\n                  device_.phase({})", phase.arguments);
    after += phase.totals;
  }
  begin = end;
  return fmt::format("    // {}\n    {{\n{}      device_.run(transport_{});\n{}    }}\n", comment, made,
                     phases, after);
}

// Loops with equal members share them: stages printed twice, with tiles and without, do.
PrintedLoop StepPrinter::added_loop(const std::vector<int>& operations, LoopOptions options) {
  options.name = fmt::format("Loop{}", ++loop_count_);
  PrintedLoop loop = printed_loop(workload_, operations, options, places_);
  loops_ += loop.definition;
  if (members_.find(loop.members) == members_.npos) members_ += loop.members;
  return loop;
}

StepPrinter::Phase StepPrinter::loop(const Stage& stage, const std::string& variable) {
  const PrintedLoop loop = added_loop(stage.loop, {.variable = variable});
  return {.made = loop.made, .arguments = variable, .totals = loop.after};
}

// A tile of it where it is done so.
// part_begin cuts the rank's elements into tiles as the exchanges cut their blocks.
StepPrinter::LoopText StepPrinter::loop_text(const Stage& stage) {
  const Phase phase = loop(stage, "loop");
  const Tiles* const tiles = tiles_of(workload_.operations[stage.loop[0]].name);
  const std::string run =
      tiles == nullptr
          ? "      device_.each(loop, 0, loop.part.elements);\n"
          : fmt::format(
                "      const std::int64_t begin = chorale::part_begin(loop.part.elements, {0}, tile);\n"
                "      device_.each(loop, begin, chorale::part_begin(loop.part.elements, {0}, tile + 1) - "
                "begin);\n",
                tiles->number);
  return {.made = phase.made, .run = run, .after = phase.totals};
}

// By `progress` a communication and the worker beside it wait for each other; packing stands between the two.
std::string StepPrinter::single(const Stage& stage, const std::string& progress) {
  if (stage.kind == StageKind::Loop) {
    const LoopText text = loop_text(stage);
    return fmt::format("    {{\n{}{}{}    }}\n", text.made, text.run, text.after);
  }
  const Operation& op = workload_.operations[stage.operation];
  if (op.kind == Kind::Send) return send(op);
  if (op.kind == Kind::AllToAllV) return rows_by_counts(op);
  if (!stage.scalars.empty()) return sum_of_scalars(stage);
  const Phase phase = communication(stage, "loop");
  if (!progress.empty() && tiles_of(op.name) == nullptr) beside_.insert(op.name);
  // Blocks are filled as they are needed, and emptied as they come.
  std::string told = progress;
  if (!phase.unpacked.empty())
    told = fmt::format("chorale::{}{}{})", op.kind == Kind::ReduceScatter ? "Packing" : "Unpacking",
                       phase.unpacked, progress.empty() ? "" : ", " + progress);
  if (stage.goes_by_rows) return rows(stage, phase, told);
  // The first argument is the exchange itself, whose member run() is called with the others.
  const std::size_t comma = phase.arguments.find(", ");
  const std::string none = told.empty() || !stage.loop.empty() ? "" : ", chorale::NoSumFunction()";
  return fmt::format("    {{\n{}{}      {}.run(transport_{}{}{});\n{}    }}\n", phase.before, phase.made,
                     phase.arguments.substr(0, comma), phase.arguments.substr(comma), none,
                     told.empty() ? "" : ", " + told, phase.totals);
}

// One stage by itself, with its comment.
std::string StepPrinter::step(const Stage& stage, const std::string& progress) {
  const std::string comment = fmt::format("    // {}\n", names_of(workload_, stage));
  switch (stage.kind) {
    case StageKind::Loop:
    case StageKind::Communication:
      return comment + single(stage, progress);
    case StageKind::Rows:
      return comment + rows(stage);
    case StageKind::Slice: {
      const Operation& op = workload_.operations[stage.operation];
      if (!places_.stages().is_stored(op.name)) return "";
      places_.require_together(op.operands[0], op.name);
      return fmt::format("{}    device_.copy_slice({}, {}, has_{});\n", comment, places_.pointer(op.name),
                         places_.pointer(op.operands[0]), op.name);
    }
    case StageKind::Call:
      return comment + call(workload_.operations[stage.operation]);
  }
  return "";
}

// Its operand lies where its result is put, and is copied to where it is not. Packed operands, and those that
// a loop has stored in place, need no copy.
bool StepPrinter::keeps_operand(const Operation& op) const {
  return !places_.is_packed(op) && !places_.is_made_in_place(op.operands[0]) &&
         places_.home(op.operands[0]) == places_.home(op.name);
}
std::string StepPrinter::kept(const Operation& op, const std::string& input) const {
  return fmt::format("      device_.copy(kept_{0}_.get(), {1}, has_{2}.elements());\n", op.name, input,
                     op.operands[0]);
}

// They are put beside each other, and taken from there. Sums come behind the terms, in the second half of the
// same memory.
std::string StepPrinter::sum_of_scalars(const Stage& stage) const {
  const std::string& name = workload_.operations[stage.operation].name;
  std::string puts, takes;
  for (std::size_t k = 0; k < stage.scalars.size(); ++k) {
    const Operation& op = workload_.operations[stage.scalars[k]];
    puts += fmt::format("      device_.copy(scalars_{}_.get() + {}, {}, has_{}.elements());\n", name, k,
                        places_.first_of(op.operands[0]), op.operands[0]);
    takes += fmt::format("      device_.copy({}, scalars_{}_.get() + {}, has_{}.elements());\n",
                         places_.pointer(op.name), name, stage.scalars.size() + k, op.name);
  }
  return fmt::format(
      "    {{\n{0}      exchange_{1}_.run(transport_, scalars_{1}_.get(), scalars_{1}_.get() + {2});\n{3}    "
      "}}\n",
      puts, name, stage.scalars.size(), takes);
}

// Where its operand and result lie, in the order of the cases above.
StepPrinter::Phase StepPrinter::communication(const Stage& stage, const std::string& variable) {
  const Operation& op = workload_.operations[stage.operation];
  const std::string& from = op.operands[0];
  const std::string result = places_.pointer(op.name);
  std::string input = places_.first_of(from), output = result;
  Phase phase;
  if (places_.is_packed(op) && op.kind == Kind::ReduceScatter) {
    phase.unpacked = fmt::format("(device_, slices_{}_, {}, {}", op.name, places_.packed(op.name), input);
    input = places_.packed(op.name);
  } else if (op.kind == Kind::AllGather && places_.is_packed(op)) {
    output = places_.packed(op.name);
    phase.unpacked = fmt::format("(device_, slices_{}_, {}, {}", op.name, result, output);
    if (places_.is_made_in_place(from)) input = fmt::format("{} + own_{}", output, op.name);
  } else if (places_.is_made_in_place(from)) {
    input = op.kind == Kind::AllGather ? places_.begun_at(op.name, from) : result;
  } else if (keeps_operand(op)) {
    places_.require_together(from, op.name);
    phase.before = kept(op, input);
    input = fmt::format("kept_{}_.get()", op.name);
  }
  std::string loop;
  if (!stage.loop.empty() && !stage.goes_by_rows) {
    const PrintedLoop printed = added_loop(stage.loop, {.variable = variable, .sum = &op});
    phase.made = printed.made;
    phase.totals = printed.after;
    loop = ", " + variable;
  }
  phase.arguments = fmt::format(
      "{}_{}_{}, {}, {}{}", is_plain_ && tiled_.contains(op.name) ? "whole" : "exchange", op.name,
      tiles_of(op.name) != nullptr ? "[static_cast<std::size_t>(tile)]" : "", input, output, loop);
  return phase;
}

// To the rank of the same number in a later group, by `shift` groups. Ranks that neither send nor receive
// call it as well: on GPUs it is a launch of all.
std::string StepPrinter::send(const Operation& op) const {
  const std::string& from = op.operands[0];
  places_.require_together(from, op.name);
  places_.require_together(op.name, op.name);
  std::string input = places_.first_of(from);
  const TensorType &sent = places_.moved(op), &got = op.type;
  // Group g sends where g has the operand, and the group that it sends to has the result.
  const auto peer = [&](int first, int last, const std::string& rank) {
    if (sent.scope == Scope::World) return rank;
    return fmt::format("{} ? {} : -1", printed_groups("rank_", first, last), rank);
  };
  const int ranks = places_.scope_ranks(sent);
  const auto further = [&](int by) {
    return op.around ? fmt::format("rank_ / {0} * {0} + (rank_ + {1}) % {0}", ranks, (ranks + by) % ranks)
                     : fmt::format("rank_ + {} * kGroupRanks", by);
  };
  const int shift = op.around ? 0 : op.shift;  // of groups
  std::string before;
  if (keeps_operand(op)) {
    before = kept(op, input);
    input = fmt::format("kept_{}_.get()", op.name);
  }
  if (op.around && ranks == 1)
    return fmt::format("    {{\n{}      device_.copy({}, {}, has_{}.elements());\n    }}\n", before,
                       places_.pointer(op.name), input, op.name);
  const Tiles* const tiles = tiles_of(op.name);
  return fmt::format(
      "    {{\n{}      device_.{}(transport_, {},\n                        {},\n                        {}, "
      "has_{}.elements(), {}, has_{}.elements(){});\n    }}\n",
      before, tiles == nullptr ? "send_on" : "send_tile",
      peer(std::max(sent.first_group, got.first_group - shift),
           std::min(sent.last_group, got.last_group - shift), further(op.shift)),
      peer(got.first_group, got.last_group, further(-op.shift)), input, from, places_.pointer(op.name),
      op.name, tiles == nullptr ? "" : fmt::format(", tile, {}", tiles->number));
}

std::string StepPrinter::rows_by_counts(const Operation& op) const {
  for (const std::string& operand : op.operands) places_.require_together(operand, op.name);
  return fmt::format("    device_.all_to_all_v(transport_, counted_{}_, {}, {}, {});\n", op.name,
                     places_.first_of(op.operands[0]), places_.first_of(op.operands[1]),
                     places_.pointer(op.name));
}

// As products and convolutions take them: result first.
std::string StepPrinter::factors_of(const Operation& op) const {
  for (const std::string& operand : op.operands) places_.require_together(operand, op.name);
  return fmt::format("{}, {}, {}", places_.pointer(op.name), places_.first_of(op.operands[0]),
                     places_.first_of(op.operands[1]));
}
// Batched: both factors have more than two dimensions.
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

// Work of a rank by itself, which the device does by a function of that name.
std::string StepPrinter::call(const Operation& op) const {
  if (op.kind == Kind::ReduceAlong) return reduction(op);
  if (goes_along(op.kind)) return along(op);
  if (op.kind >= Kind::Transpose && op.kind <= Kind::PutRows) return moved(op);
  if (op.kind == Kind::MatMul)
    return fmt::format("    device_.matrix_products({}, {});\n", factors_of(op), shares_of(op));
  return fmt::format("    if (has_{}.elements() > 0) device_.convolution({}, {});\n", op.name, factors_of(op),
                     convolution_sides(op));
}

}  // namespace chorale
