// Transformations at random, of those that a program has a place for.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tensor/language/kernels.h"
#include "tensor/transformations/transform.h"
#include "tests/tensor/random_workload.h"

namespace chorale::test {

inline std::string name_of(KernelKind kind) {
  static constexpr const char* kNames[] = {"operation",           "fused computation", "fused AllReduce",
                                           "fused ReduceScatter", "fused AllGather",   "fused Reduce",
                                           "fused Broadcast",     "fused Send",        "sum of scalars"};
  return kNames[static_cast<int>(kind)];
}

struct RandomStep {
  std::string kind = {}, words = {};  // "split", "split(t3, n1, Sliced(0))"
  Workload result = {};
};

class RandomMove {
  using Names = std::vector<std::string>;

 public:
  RandomMove(const Workload& workload, Dice& dice, int number)
      : workload_(workload), dice_(dice), fresh_(fmt::format("n{}", number)), units_(units(workload)) {}

  // Nothing: what was tried is not possible, or there is nothing to try it with.
  std::optional<RandomStep> step() {
    const Attempt attempt = choose();
    if (attempt.script.empty()) return std::nullopt;
    try {
      return RandomStep{
          .kind = attempt.kind, .words = attempt.script, .result = transformed(workload_, attempt.script)};
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

 private:
  struct Attempt {
    std::string kind = {}, script = {};
  };

  Attempt choose() {
    if (dice_.one_in(18)) return {"shard", in_three_parts("shard")};
    if (dice_.one_in(12)) return {"levels", in_three_parts("levels")};
    switch (dice_.below(18)) {
      case 0:
      case 1:
      case 2:
        return {"split", split_one()};
      case 3:
        return {"join", call("join", any({OperationKind::AllGather, OperationKind::Broadcast}))};
      case 4:
      case 5:
      case 6:
      case 7:
        return {"reorder", reorder_one()};
      case 8:
      case 9:
        return {"asSlice", call("asSlice", any({OperationKind::Input}))};
      case 10:
        return {"dead",
                call("dead", workload_.operations.empty() ? "" : dice_.of(workload_.operations).name)};
      case 11:
      case 12:
      case 13:
      case 14:
        return {"fuse", fuse_some()};
      default:
        return {"overlap", overlap_some()};
    }
  }

  static std::string call(const char* kind, const std::string& name) {
    return name.empty() ? "" : fmt::format("{}({})", kind, name);
  }

  std::string any(const std::set<OperationKind>& kinds) {
    Names names;
    for (const Operation& op : workload_.operations)
      if (kinds.contains(op.kind)) names.push_back(op.name);
    return names.empty() ? "" : dice_.of(names);
  }

  std::string in_three_parts(const std::string& kind) {
    const std::string name = any({OperationKind::AllReduce});
    if (name.empty()) return "";
    // On two levels sums are made, and rounded, in another order.
    const Operation& sum = operation(workload_, name);
    if (kind == "levels" && sum.reduction == ReduceOp::Sum && sum.type.element != ElementType::Int32)
      return "";
    const int dim = dice_.below(static_cast<int>(operation(workload_, name).type.shape.size()) + 1) - 1;
    return fmt::format("{}({}, {}_a, {}_b, Sliced({}))", kind, name, fresh_, fresh_,
                       dim < 0 ? "flat" : std::to_string(dim));
  }

  std::string split_one() {
    const std::string name = any({OperationKind::AllReduce});
    if (name.empty()) return "";
    if (dice_.one_in(4))
      return fmt::format("split({}, {}, Rooted({}))", name, fresh_, dice_.below(workload_.ranks));
    const int dimensions = static_cast<int>(operation(workload_, name).type.shape.size());
    const int dim = dice_.below(dimensions + 1) - 1;
    return fmt::format("split({}, {}, Sliced({}))", name, fresh_, dim < 0 ? "flat" : std::to_string(dim));
  }

  // Down the list, most of what reads the gather or what was taken before; seldom something else.
  std::string reorder_one() {
    const std::string gather = any({OperationKind::AllGather, OperationKind::Broadcast});
    if (gather.empty()) return "";
    std::set<std::string> reached{gather};
    Names taken;
    for (const Operation& op : workload_.operations) {
      const bool reads =
          std::ranges::any_of(op.operands, [&](const std::string& name) { return reached.contains(name); });
      if (is_given(op.kind) || !(reads ? !dice_.one_in(6) : dice_.one_in(12))) continue;
      if (op.name == gather) continue;
      reached.insert(op.name);
      const std::string name = op.kernel.empty() ? op.name : op.kernel;
      if (std::ranges::count(taken, name) == 0) taken.push_back(name);
      if (dice_.one_in(6)) break;
    }
    return taken.empty() ? "" : fmt::format("reorder({}; {}; {}_)", gather, fmt::join(taken, ", "), fresh_);
  }

  bool reads(const Unit& reader, const Unit& made) const {
    return std::ranges::any_of(reader.operations, [&](int r) {
      return std::ranges::any_of(made.operations, [&](int m) {
        return std::ranges::count(workload_.operations[r].operands, workload_.operations[m].name) > 0;
      });
    });
  }

  // Units that have to do with each other, from a random one on. Of an overlap each reads the one before.
  Names connected(int most, bool is_chain) {
    if (units_.empty()) return {};
    std::vector<int> taken{dice_.below(static_cast<int>(units_.size()))};
    while (static_cast<int>(taken.size()) < most) {
      std::vector<int> next;
      for (int u = 0; u < static_cast<int>(units_.size()); ++u) {
        if (std::ranges::count(taken, u) > 0) continue;
        const auto goes_with = [&](int t) {
          return reads(units_[u], units_[t]) || (!is_chain && reads(units_[t], units_[u]));
        };
        if (is_chain ? goes_with(taken.back()) : std::ranges::any_of(taken, goes_with)) next.push_back(u);
      }
      if (next.empty()) break;
      taken.push_back(dice_.of(next));
    }
    Names names;
    for (int u : taken) names.push_back(units_[u].name);
    return names;
  }

  // Scalars that ranks add up, which need have nothing to do with each other.
  Names scalar_sums() const {
    Names names;
    for (const Operation& op : workload_.operations)
      if (op.kind == OperationKind::AllReduce && op.type.shape.empty() && op.kernel.empty())
        names.push_back(op.name);
    return names;
  }

  std::string fuse_some() {
    if (const Names sums = scalar_sums(); sums.size() > 1 && dice_.one_in(2))
      return fmt::format("fuse({}; {})", fresh_, fmt::join(sums, ", "));
    const Names names = connected(dice_.from_to(2, dice_.one_in(2) ? 3 : 6), false);
    return names.size() < 2 ? "" : fmt::format("fuse({}; {})", fresh_, fmt::join(names, ", "));
  }
  // A communication and anything else.
  Names beside_one() {
    Names names;
    for (int more = dice_.from_to(1, 4); more > 0 && !units_.empty(); --more)
      names.push_back(dice_.of(units_).name);
    for (const Operation& op : workload_.operations)
      if (is_communication(op.kind) && op.kernel.empty() && (names.empty() || dice_.one_in(2)))
        return names.push_back(op.name), names;
    return {};
  }
  std::string overlap_some() {
    const Names names =
        dice_.one_in(2) ? beside_one() : connected(dice_.from_to(2, dice_.one_in(2) ? 3 : 6), true);
    return names.size() < 2 ? "" : fmt::format("overlap({}; {})", fresh_, fmt::join(names, ", "));
  }

  const Workload& workload_;
  Dice& dice_;
  const std::string fresh_;
  const std::vector<Unit> units_;
};

}  // namespace chorale::test
