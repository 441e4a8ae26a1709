// Stages of an overlap: a product beside the communication that brings its rows, and the one that takes them
// (device/workload_overlap.h); a chain of slices tile by tile. What is neither is done one after the other.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/workload/step_source.h"

namespace chorale {
// One whose blocks lie together.
bool StepPrinter::is_exchange(const Stage& stage) const {
  return stage.kind == StageKind::Communication &&
         workload_.operations[stage.operation].kind != OperationKind::Send &&
         !places_.is_packed(workload_.operations[stage.operation]);
}

// Whose rows can be made one after the other.
bool StepPrinter::is_product(const Stage& stage) const {
  if (stage.kind != StageKind::Call || workload_.operations[stage.operation].kind != OperationKind::MatMul)
    return false;
  return operation(workload_, workload_.operations[stage.operation].operands[1]).type.shape.size() == 2;
}

// The stages from there on that can be done tile by tile: a ReduceScatter, loops over its slices, a Send of them, their
// AllGather; where they end. A total over all elements is complete only after the last tile.
std::size_t StepPrinter::tiled_from(const std::vector<Stage>& stages, std::size_t begin) const {
  std::size_t end = begin;
  const TensorType* slices = nullptr;
  bool sends = false, exchanges = false;
  for (; end < stages.size(); ++end) {
    const Stage& stage = stages[end];
    if (stage.kind == StageKind::Slice || stage.kind == StageKind::Call) break;
    const bool folds = std::ranges::any_of(
        stage.loop, [&](int i) { return workload_.operations[i].kind == OperationKind::ReduceTensor; });
    const Operation& op = workload_.operations[stage.operation >= 0 ? stage.operation : stage.loop[0]];
    const TensorType& type = op.kind == OperationKind::AllGather ? places_.moved(op) : op.type;
    const bool known = op.kind == OperationKind::AllGather || op.kind == OperationKind::ReduceScatter ||
                       op.kind == OperationKind::Send || stage.kind == StageKind::Loop;
    if (!known || folds || type.layout.kind != LayoutKind::Sliced || type.layout.dim > 0) break;
    if (slices != nullptr && (type.shape != slices->shape || type.layout != slices->layout)) break;
    if (op.kind == OperationKind::ReduceScatter && end != begin) break;
    if (op.kind == OperationKind::Send && places_.home(op.name) == places_.home(op.operands[0])) break;
    slices = &type;
    sends = sends || op.kind == OperationKind::Send;
    exchanges = exchanges || op.kind == OperationKind::AllGather || op.kind == OperationKind::ReduceScatter;
    if (op.kind == OperationKind::AllGather) return sends ? end + 1 : begin;
  }
  return sends && exchanges ? end : begin;
}

std::string StepPrinter::tiles(const std::vector<Stage>& stages, const std::string& progress) {
  std::string name;
  for (const Stage& stage : stages)
    if (is_exchange(stage) && name.empty())
      name = fmt::format("tiles_{}_", workload_.operations[stage.operation].name);
  for (const Stage& stage : stages) {
    if (stage.operation >= 0) tiled_[workload_.operations[stage.operation].name] = name;
    for (const int i : stage.loop) tiled_[workload_.operations[i].name] = name;
  }
  std::string text;
  for (std::size_t i = 0; i < stages.size(); ++i) text += step(stages[i], i == 0 ? progress : "");
  return fmt::format("    for (int tile = 0; tile < {}; ++tile) {{\n{}    }}\n    transport_.finish();\n",
                     name, text);
}

std::string StepPrinter::overlapped(const std::vector<Stage>& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.size();) {
    if (stages[i].overlap.empty()) {
      text += step(stages[i++]);
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
        std::string made, after;
        if (brought) made = step(stages[i], "worker.arrivals()");
        if (taken && end > next + 1)
          after = tiles({stages.begin() + static_cast<std::ptrdiff_t>(next),
                         stages.begin() + static_cast<std::ptrdiff_t>(end)},
                        "worker.demands()");
        else if (taken)
          after = step(stages[next], "worker.demands()");
        text += fmt::format(
            "    // {}, beside what follows ({})\n    {{\n      chorale::RowWorker worker =\n          "
            "chorale::row_products({}, {}, {}, has_{}, has_{}, has_{});\n      worker.start({});\n{}{}      "
            "worker.finish();\n    }}\n",
            op.name, stages[i].overlap, places_.pointer(op.name), places_.first_of(op.operands[0]),
            places_.first_of(op.operands[1]), op.name, op.operands[0], op.operands[1],
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
                    "");
      i = end;
      continue;
    }
    text += step(stages[i++]);
  }
  return text;
}

}  // namespace chorale
