// Stages that overlap, in five forms:
//
//   a product on a thread of its own, beside the communication that brings one of its factors, and beside
//   the one that takes its result (exchange/products.h);
//   rows through several products, and computations between them, likewise;
//   rows between two AllToAlls, in tiles one after the other: one comes while another is computed, and a
//   third leaves;
//   a communication, and on a thread of its own all that does not depend on it;
//   a chain of slices tile by tile: what is made of one is on its way while the next one is added up, or
//   computed.
//
// Other stages are done one after the other, and so is the last form on devices that do not overlap it.
// Workers are the device's.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/lowering/step_source.h"

namespace chorale {

bool StepPrinter::is_exchange(const Stage& stage) const {
  return stage.kind == StageKind::Communication && has_algorithm(workload_.operations[stage.operation].kind);
}

bool StepPrinter::is_product(const Stage& stage) const {
  return stage.kind == StageKind::Call && chorale::is_product(workload_.operations[stage.operation].kind);
}

// The stages from there on that can be done tile by tile: a ReduceScatter, loops over its slices, a Send of
// them, their AllGather; where they end. A total over all elements is complete only after the last tile.
std::size_t StepPrinter::tiled_from(const std::vector<Stage>& stages, std::size_t begin) const {
  std::size_t end = begin;
  const TensorType* slices = nullptr;
  bool sends = false, exchanges = false;
  for (; end < stages.size(); ++end) {
    const Stage& stage = stages[end];
    if (stage.kind != StageKind::Loop && stage.kind != StageKind::Communication) break;
    if (stage.goes_by_rows) break;
    const bool folds = std::ranges::any_of(
        stage.loop, [&](int i) { return workload_.operations[i].kind == OperationKind::ReduceTensor; });
    const Operation& op = workload_.operations[stage.operation >= 0 ? stage.operation : stage.loop[0]];
    const TensorType& type = op.kind == OperationKind::AllGather ? places_.moved(op) : op.type;
    const bool known = op.kind == OperationKind::AllGather || op.kind == OperationKind::ReduceScatter ||
                       op.kind == OperationKind::Send || stage.kind == StageKind::Loop;
    if (!known || folds || type.layout.kind != LayoutKind::Sliced) break;
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

// The first exchange gives the number of tiles its name. All operations of these stages are printed for one
// tile from here on (tiled_), and what the last tiles send is waited for behind the loop.
std::string StepPrinter::tiles(const std::vector<Stage>& stages, const std::string& progress) {
  std::string name;
  for (const Stage& stage : stages)
    if (is_exchange(stage) && name.empty())
      name = fmt::format("tiles_{}_", workload_.operations[stage.operation].name);
  for (const Stage& stage : stages) {
    if (stage.operation >= 0) tiled_[workload_.operations[stage.operation].name] = {name, ""};
    for (const int i : stage.loop) tiled_[workload_.operations[i].name] = {name, ""};
  }
  std::string text;
  for (std::size_t i = 0; i < stages.size(); ++i) text += step(stages[i], i == 0 ? progress : "");
  return fmt::format("    for (int tile = 0; tile < {}; ++tile) {{\n{}    }}\n    transport_.finish();\n",
                     name, text);
}

// What a kernel computes and sends on.
bool StepPrinter::is_sent_by_tiles(const std::vector<Stage>& stages, std::size_t k) const {
  if (k + 1 >= stages.size() || stages[k].kind != StageKind::Loop || stages[k].kernel.empty() ||
      stages[k + 1].kernel != stages[k].kernel || stages[k + 1].kind != StageKind::Communication)
    return false;
  const Operation& op = workload_.operations[stages[k + 1].operation];
  return op.kind == OperationKind::Send && places_.home(op.name) != places_.home(op.operands[0]) &&
         std::ranges::any_of(stages[k].loop,
                             [&](int i) { return workload_.operations[i].name == op.operands[0]; });
}

// A loop and the Send of its result, tile by tile: the Send does not wait, so the next tile is computed
// meanwhile.
std::string StepPrinter::sent_by_tiles(const Stage& made, const Stage& sent) {
  const Operation& op = workload_.operations[sent.operation];
  const std::string name = fmt::format("tiles_{}_", op.name);
  tiled_[op.name] = {name, ""};
  for (const int i : made.loop) tiled_[workload_.operations[i].name] = {name, ""};
  const LoopText text = loop_text(made);
  return fmt::format(
      "    // {}, {}: a tile is in transit while the next one is computed\n    {{\n{}      for (int tile = "
      "0; tile < {}; ++tile) {{\n{}{}      }}\n      transport_.finish();\n{}    }}\n",
      names_of(workload_, made), op.name, text.made, name, text.run, send(op), text.after);
}

// A kernel stage by stage; a loop and the Send behind it are one.
std::string StepPrinter::with_tiles_sent(const std::vector<Stage>& kernel) {
  std::string text;
  for (std::size_t k = 0; k < kernel.size(); ++k)
    if (is_sent_by_tiles(kernel, k)) {
      text += sent_by_tiles(kernel[k], kernel[k + 1]);
      ++k;
    } else {
      text += step(kernel[k]);
    }
  return text;
}

// Products, and loops between them, of which each stage reads rows of what the one before makes: where they
// end.
std::size_t StepPrinter::rows_from(const std::vector<Stage>& stages, std::size_t begin) const {
  std::size_t end = begin;
  for (std::size_t k = begin; k < stages.size(); ++k) {
    if (stages[k].kind == StageKind::Loop) continue;
    if (!is_product(stages[k]) || (k > begin && !passes_rows(stages, begin, k))) break;
    end = k + 1;
  }
  return end;
}

// Of MatMuls: the first factor is what the loop before, or the MatMul, has made, and the second is there.
bool StepPrinter::passes_rows(const std::vector<Stage>& stages, std::size_t begin, std::size_t k) const {
  const auto made_by = [&](std::size_t i, const std::string& name) {
    if (stages[i].operation >= 0) return workload_.operations[stages[i].operation].name == name;
    return std::ranges::any_of(stages[i].loop, [&](int o) { return workload_.operations[o].name == name; });
  };
  const Operation& op = workload_.operations[stages[k].operation];
  if (op.kind != OperationKind::MatMul || !made_by(k - 1, op.operands[0])) return false;
  const Operation* rows = nullptr;  // the product before
  for (std::size_t i = begin; i < k; ++i) {
    if (made_by(i, op.operands[1])) return false;
    if (is_product(stages[i])) {
      rows = &workload_.operations[stages[i].operation];
      if (rows->kind != OperationKind::MatMul) return false;
    }
    // A loop of whole rows, which keeps no total.
    for (const int o : stages[i].loop)
      if (workload_.operations[o].kind == OperationKind::ReduceTensor || rows == nullptr ||
          !same_space(workload_.operations[o].type, rows->type))
        return false;
  }
  return true;
}

// Which factor of the product the communication brings; -1: none, or both.
int StepPrinter::brought_factor(const Stage& stage, const Stage& product) const {
  if (!is_exchange(stage) || !stage.loop.empty() || !is_product(product)) return -1;
  const std::vector<std::string>& factors = workload_.operations[product.operation].operands;
  const std::string& name = workload_.operations[stage.operation].name;
  return factors[0] == factors[1] ? -1 : factors[0] == name ? 0 : factors[1] == name ? 1 : -1;
}

// The worker of a product, or of rows through several. `brought` and `taken` are the communications before
// and after; work is cut by their blocks, or by tiles.
std::string StepPrinter::worker(const std::vector<Stage>& products, int factor, const Operation* brought,
                                const Operation* taken, const std::string& tiles) {
  const Operation& op = workload_.operations[products[0].operation];
  if (products.size() > 1 || !tiles.empty()) {
    std::string made, text;
    for (const Stage& stage : products) {
      if (!is_product(stage)) {
        const LoopText loop = loop_text(stage);
        text += fmt::format(
            "            {{\n{}      const std::int64_t columns = {}.own().back();\n      "
            "device_.each(loop, begin * columns, (end - begin) * columns);\n            }}\n",
            loop.made, places_.part(workload_.operations[stage.loop[0]].name));
        continue;
      }
      const Operation& each = workload_.operations[stage.operation];
      made += fmt::format("      const chorale::ProductSides sides_{}({});\n", each.name, shares_of(each));
      text += fmt::format("            device_.product_rows({}, sides_{}, begin, end);\n", factors_of(each),
                          each.name);
    }
    const Operation& last = workload_.operations[products.back().operation];
    return fmt::format(
        "{}      auto worker = chorale::row_worker(\n          device_, chorale::rows_of(has_{}), {}, "
        "has_{}.own().back(),\n          [&](std::int64_t begin, std::int64_t end) {{\n{}          }}, {}, "
        "kPieces_{});\n",
        made, op.operands[0], brought == nullptr ? "0" : fmt::format("has_{}.own().back()", op.operands[0]),
        last.name, text,
        tiles.empty() ? "{0}"
                      : fmt::format("chorale::tile_cuts(chorale::rows_of(has_{}), {}, {})", op.operands[0],
                                    places_.peers(*brought), tiles),
        products[0].overlap);
  }
  const auto cut = [&](const Operation* exchange) {
    if (exchange == nullptr) return std::string("0, 1");
    const bool sliced =
        exchange->kind == OperationKind::AllGather || exchange->kind == OperationKind::ReduceScatter;
    return fmt::format("{}, {}", sliced ? std::max(0, places_.slicing(*exchange).dim) : 0,
                       places_.peers(*exchange));
  };
  // An AllGather takes a slice as it lies.
  const Operation* const cuts = taken != nullptr && taken->kind == OperationKind::AllGather ? nullptr : taken;
  const std::string flow =
      fmt::format("chorale::ProductFlow{{{}, {}, {}, {}, kPieces_{}}}", factor, cut(brought), cut(cuts),
                  op.type.layout.kind == LayoutKind::Replicated, products[0].overlap);
  if (op.kind == OperationKind::MatMul)
    return fmt::format("      auto worker = chorale::product_worker(\n          device_, {}, {}, {});\n",
                       factors_of(op), shares_of(op), flow);
  return fmt::format(
      "      auto worker = chorale::convolution_worker(\n          device_, {}, has_{}, {}, {});\n",
      factors_of(op), op.name, convolution_sides(op), flow);
}

// What the communications of these stages first need, in the tensor that they take.
std::string StepPrinter::needed_by(const Operation& taken) const {
  const std::string parts = tiled_.contains(taken.name)
                                ? fmt::format("chorale::needed(exchange_{}_)", taken.name)
                                : fmt::format("exchange_{}_.needed()", taken.name);
  return places_.is_packed(taken) && taken.kind == OperationKind::ReduceScatter
             ? fmt::format("slices_{}_.in_tensor({})", taken.name, parts)
             : parts;
}

// Tiles of one AllToAll come, are computed with, and leave by another. In round i tile i comes, and tile i -
// 1 leaves when the worker has made it.
std::string StepPrinter::turns(const Stage& first, const std::vector<Stage>& products, const Stage& last) {
  const Operation &there = workload_.operations[first.operation],
                  &back = workload_.operations[last.operation];
  const std::string tiles = fmt::format("tiles_{}_", there.name);
  tiled_[there.name] = {tiles, fmt::format("has_{}.own().back()", there.name)};
  tiled_[back.name] = {tiles, fmt::format("has_{}.own().back()", back.name)};
  const std::string work = worker(products, 0, &there, &back, tiles),
                    comes = step(first, "worker.arrivals()"), leaves = step(last, "worker.demands()");
  return fmt::format(
      "{}      worker.start();\n      for (int round = 0; round <= {}; ++round) {{\n      if (const int tile "
      "= round; tile < {}) {{\n{}      }}\n      if (const int tile = round - 1; tile >= 0) {{\n{}      }}\n "
      "     }}\n",
      work, tiles, tiles, comes, leaves);
}

// Where this run of stages is done with, and how: the product at `product`, behind what brings its factor if
// it is not the first.
std::string StepPrinter::beside(const std::vector<Stage>& stages, std::size_t begin, std::size_t product,
                                std::size_t& end) {
  const auto at = [&](std::size_t k) { return &workload_.operations[stages[k].operation]; };
  const int factor = product > begin ? brought_factor(stages[begin], stages[product]) : -1;
  const std::size_t next = factor == 1 ? product + 1 : rows_from(stages, product);
  const bool taken =
      next < stages.size() && is_exchange(stages[next]) && at(next)->operands[0] == at(next - 1)->name;
  end = taken ? std::max(next + 1, tiled_from(stages, next)) : next;
  if (factor < 0 && !taken && next == product + 1) {
    end = begin;
    return "";
  }
  const std::vector<Stage> products = stages_between(stages, product, next);
  std::string text;
  if (factor == 0 && taken && at(begin)->kind == OperationKind::AllToAll &&
      at(next)->kind == OperationKind::AllToAll && at(product)->kind == OperationKind::MatMul) {
    text = turns(stages[begin], products, stages[next]);
  } else {
    std::string brings, takes;
    if (factor >= 0) brings = step(stages[begin], "worker.arrivals()");
    if (taken)
      takes = end > next + 1 ? tiles(stages_between(stages, next, end), "worker.demands()")
                             : step(stages[next], "worker.demands()");
    text = worker(products, factor, factor < 0 ? nullptr : at(begin), taken ? at(next) : nullptr, "") +
           fmt::format("      worker.start({});\n", taken ? needed_by(*at(next)) : "") + brings + takes;
  }
  std::string names;
  for (const Stage& stage : products) names += (names.empty() ? "" : ", ") + names_of(workload_, stage);
  return fmt::format("    // {}, beside what follows ({})\n    {{\n{}      worker.finish();\n    }}\n", names,
                     stages[begin].overlap, text);
}

// Tile by tile on devices that do it so.
std::string StepPrinter::where_tiles(const std::string& beside, const std::vector<Stage>& stages) {
  return fmt::format("    if constexpr (Device::kTileByTile) {{\n{}    }} else {{\n{}    }}\n", beside,
                     plain(stages));
}

// The one communication among stages that neither depend on it nor it on them; null: there is none.
const Stage* StepPrinter::moved_beside(const std::vector<Stage>& stages) const {
  const Stage* moved = nullptr;
  for (const Stage& stage : stages)
    if (stage.kind == StageKind::Communication) {
      if (moved != nullptr || !stage.loop.empty()) return nullptr;
      moved = &stage;
    }
  if (moved == nullptr || stages.size() < 2 || stages[0].overlap.empty()) return nullptr;
  const auto reads = [&](int reader, int made) {
    return std::ranges::count(workload_.operations[reader].operands, workload_.operations[made].name) > 0;
  };
  for (const Stage& stage : stages) {
    std::vector<int> operations = stage.loop;
    if (stage.operation >= 0) operations.push_back(stage.operation);
    for (const int each : operations)
      if (reads(each, moved->operation) || reads(moved->operation, each)) return nullptr;
  }
  return moved;
}

// What is computed is the function that Beside gets, and the communication stands behind it in the same
// block, at whose end both are done.
std::string StepPrinter::beside_all(const Stage& moved, const std::vector<Stage>& stages) {
  std::string computed;
  for (const Stage& stage : stages)
    if (&stage != &moved) computed += step(stage);
  return fmt::format(
      "    {{  // beside {} ({})\n    const chorale::Beside beside([&] {{\n{}    }});\n{}    }}\n",
      workload_.operations[moved.operation].name, moved.overlap, computed, step(moved));
}

// From left to right, each time the largest form that fits; what fits none is done as a kernel by itself.
std::string StepPrinter::overlapped(const std::vector<Stage>& stages) {
  if (const Stage* const moved = moved_beside(stages); moved != nullptr)
    return where_tiles(beside_all(*moved, stages), stages);
  std::string text;
  for (std::size_t i = 0; i < stages.size();) {
    std::size_t end = i;
    if (!stages[i].overlap.empty()) {
      const bool brought = i + 1 < stages.size() && brought_factor(stages[i], stages[i + 1]) >= 0;
      if (brought || is_product(stages[i])) text += beside(stages, i, brought ? i + 1 : i, end);
      if (end == i) {
        end = tiled_from(stages, i);
        if (end > i)
          text += where_tiles(tiles(stages_between(stages, i, end), ""), stages_between(stages, i, end));
      }
    }
    if (end == i) {
      // The rest of a kernel, of which a Send may be done tile by tile.
      end = i + 1;
      while (end < stages.size() && !stages[i].kernel.empty() && stages[end].kernel == stages[i].kernel)
        ++end;
      const std::vector<Stage> rest = stages_between(stages, i, end);
      bool sends = false;
      for (std::size_t k = 0; k < rest.size(); ++k) sends = sends || is_sent_by_tiles(rest, k);
      text += sends ? where_tiles(with_tiles_sent(rest), rest) : plain(rest);
    }
    i = end;
  }
  return text;
}

}  // namespace chorale
