// All moves that might be possible are tried: transformations refuse those that are not. Only what cannot be,
// by the kinds of operations alone, is left out beforehand.
#include "tensor/transformations/moves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tensor/language/kernels.h"
#include "tensor/transformations/edit.h"
#include "tensor/transformations/transform.h"

namespace chorale {
namespace {

using Kind = OperationKind;
using NameList = std::vector<std::string>;

// s_, or s2_, s3_ ...: no name begins with it.
std::string unused_prefix(const Workload& workload) {
  std::string prefix = "s_";
  const auto begins = [&](const Operation& operation) {
    return operation.name.starts_with(prefix) || operation.kernel.starts_with(prefix) ||
           operation.overlap.starts_with(prefix);
  };
  for (int i = 2; std::ranges::any_of(workload.operations, begins); ++i) prefix = fmt::format("s{}_", i);
  return prefix;
}

bool is_gather(const Operation& operation) {
  return operation.kind == Kind::AllGather || operation.kind == Kind::Broadcast;
}

// Each kind of move lists its candidates and hands them to attempt(), which counts what is refused. Names
// of new operations are derived from old ones (rs_sum, ar_sum, s_p), so the same move has the same script
// from every program that has it, and logs of different runs can be compared.
class MoveSearch {
 public:
  MoveSearch(const Workload& workload, const std::vector<int>& roots, const MoveChoice& choice)
      : workload_(workload), roots_(roots), choice_(choice), units_(units(workload)) {
    std::unordered_map<std::string_view, std::size_t> makers;
    for (std::size_t i = 0; i < units_.size(); ++i)
      for (const int o : units_[i].operations) makers[at(o).name] = i;
    reads_.resize(units_.size(), std::vector<bool>(units_.size(), false));
    for (std::size_t i = 0; i < units_.size(); ++i)
      for (const int o : units_[i].operations)
        for (const std::string& operand : at(o).operands)
          if (const auto maker = makers.find(operand); maker != makers.end()) reads_[i][maker->second] = true;
  }

  Moves run() {
    for (const Unit& unit : units_)
      chosen_.push_back(!choice_.of ||
                        std::ranges::any_of(unit.operations, [&](int i) { return choice_.of(at(i).name); }));
    if (choice_.others) run_others();
    if (choice_.overlaps) overlaps();
    return std::move(moves_);
  }

 private:
  void run_others() {
    for (const Operation& operation : workload_.operations) {
      if (choice_.of && !choice_.of(operation.name)) continue;
      if (operation.kind == Kind::AllReduce && is_alone(operation))
        splits(operation), shards(operation), levels_of(operation);
      if (is_gather(operation) && is_alone(operation)) joins(operation), reorders(operation);
    }
    all_slices();
    all_dead();
    fusions();
  }

  bool attempt(const std::string& script, OrError<Workload> made) {
    std::optional<Workload> after = counted(std::move(made));
    if (after) moves_.list.push_back({.script = script, .after = std::move(*after)});
    return after.has_value();
  }
  // A refusal is the usual case: thousands in one search. It is a value and no exception.
  std::optional<Workload> counted(OrError<Workload> made) {
    moves_.refused += !made;
    return made ? std::optional(*std::move(made)) : std::nullopt;
  }

  const Operation& at(int i) const { return workload_.operations[i]; }

  // --- Split and join ---

  // Along a dimension only where that can make a difference: for a pointwise update all slices of as many
  // elements are alike, and flat ones are the most even.
  void splits(const Operation& sum) {
    if (elements(sum.type) == 1) return;
    const int dimensions = static_cast<int>(sum.type.shape.size());
    split_as(sum, {.kind = LayoutKind::Sliced, .dim = kFlat});
    if (dimensions > 1 && dimensions_matter(sum.name))
      for (int dim = 0; dim < dimensions; ++dim) split_as(sum, {.kind = LayoutKind::Sliced, .dim = dim});
    for (const int root : roots_)
      if (root < ranks_of(workload_, sum.type)) split_as(sum, {.kind = LayoutKind::Rooted, .root = root});
  }

  // The script leaves out what split() takes by default, so that equal moves have equal texts.
  void split_as(const Operation& sum, const TensorLayout& layout) {
    const std::string first =
        unused(workload_, (layout.kind == LayoutKind::Sliced ? "rs_" : "r_") + sum.name);
    const std::string as = layout == TensorLayout{.kind = LayoutKind::Sliced} ? "" : ", " + to_string(layout);
    attempt(fmt::format("split({}, {}{})", sum.name, first, as), split(workload_, sum.name, first, layout));
  }

  // Where groups are parts of the world.
  void levels_of(const Operation& sum) {
    if (workload_.groups == 1 || elements(sum.type) == 1 || scope_of(workload_, sum) != Scope::World) return;
    const std::string first = unused(workload_, "rs_" + sum.name),
                      second = unused(workload_, "ar_" + sum.name);
    const int dimensions = dimensions_matter(sum.name) ? static_cast<int>(sum.type.shape.size()) : 0;
    for (int dim = kFlat; dim < dimensions; ++dim) {
      const TensorLayout layout{.kind = LayoutKind::Sliced, .dim = dim};
      attempt(fmt::format("levels({}, {}, {}{})", sum.name, first, second,
                          dim == kFlat ? "" : ", " + to_string(layout)),
              levels(workload_, sum.name, first, second, layout));
    }
  }

  // Where a Send follows, which has less to do for slices.
  void shards(const Operation& sum) {
    const auto sends = [](const Operation& other) { return other.kind == Kind::Send && !other.around; };
    const NameList by = readers(workload_, sum.name);
    const bool is_sliced = std::ranges::any_of(
        by, [&](const std::string& reader) { return operation(workload_, reader).kind == Kind::Slice; });
    if (elements(sum.type) == 1 || is_sliced || std::ranges::none_of(workload_.operations, sends)) return;
    const std::string first = unused(workload_, "ar_" + sum.name),
                      slice = unused(workload_, "part_" + sum.name);
    attempt(fmt::format("shard({}, {}, {})", sum.name, first, slice),
            shard(workload_, sum.name, first, slice, {.kind = LayoutKind::Sliced, .dim = kFlat}));
  }

  // Does a product, a reduction along a dimension, what moves elements, or an operation on slices follow?
  bool dimensions_matter(const std::string& name) const {
    std::set<std::string> made = {name};
    for (const Operation& operation : workload_.operations) {
      const auto depends = [&](const std::string& operand) { return made.contains(operand); };
      if (std::ranges::none_of(operation.operands, depends)) continue;
      if (is_product(operation.kind) ||
          (operation.kind >= Kind::ReduceAlong && operation.kind <= Kind::PutRows))
        return true;
      for (const std::string& operand : operation.operands)
        if (!depends(operand) &&
            chorale::operation(workload_, operand).type.layout.kind == LayoutKind::Sliced)
          return true;
      made.insert(operation.name);
    }
    return false;
  }

  // Undoes splits, also those of the program that was given.
  void joins(const Operation& gather) {
    const Kind first = operation(workload_, gather.operands[0]).kind;
    if (first == Kind::ReduceScatter || first == Kind::Reduce)
      attempt(fmt::format("join({})", gather.name), join(workload_, gather.name));
  }

  // --- Reorder ---

  // Greedy: units that can go behind the gather together, one more at a time, and then parts of these. Trying
  // all subsets would be exponential, and what a part makes possible later is found from there.
  void reorders(const Operation& gather) {
    const std::string prefix = unused_prefix(workload_);
    NameList all;
    std::set<std::string> made = {gather.name};
    std::vector<NameList> single;
    for (const Unit& unit : units_) {
      if (!unit.overlap.empty() || !reads_any(unit, made)) continue;
      const bool directly = reads_any(unit, {gather.name});
      NameList more = all;
      more.push_back(unit.name);
      if (!counted(reorder(workload_, gather.name, more, prefix))) continue;
      all = more;
      if (directly) single.push_back({unit.name});
      for (const int i : unit.operations) made.insert(at(i).name);
    }
    if (all.empty()) return;
    reorder_behind(gather, all, prefix);
    if (all.size() > 1)
      for (const NameList& one : single) {
        reorder_behind(gather, one, prefix);
        if (const NameList with = followed(one, all); with.size() > 1 && with.size() < all.size())
          reorder_behind(gather, with, prefix);
      }
    for (std::size_t count = 2; count < all.size(); ++count)
      reorder_behind(gather, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)}, prefix);
    if (const NameList each = operations_of(all); each.size() > all.size())
      reorder_behind(gather, each, prefix);
  }

  // Units, with those of `all` that read them, directly or through each other. Moved alone, a unit would be
  // gathered again for its readers; with them, the gather moves on.
  NameList followed(NameList names, const NameList& all) const {
    std::set<std::string> made;
    for (const std::string& name : operations_of(names)) made.insert(name);
    for (const Unit& unit : units_) {
      if (std::ranges::count(all, unit.name) == 0 || std::ranges::count(names, unit.name) > 0) continue;
      if (!reads_any(unit, made)) continue;
      names.push_back(unit.name);
      for (const int i : unit.operations) made.insert(at(i).name);
    }
    return names;
  }

  void reorder_behind(const Operation& gather, const NameList& names, const std::string& prefix) {
    const std::string as = prefix == "s_" ? "" : "; " + prefix;
    attempt(fmt::format("reorder({}; {}{})", gather.name, fmt::join(names, ", "), as),
            reorder(workload_, gather.name, names, prefix));
  }

  bool reads_any(const Unit& unit, const std::set<std::string>& names) const {
    return std::ranges::any_of(unit.operations, [&](int i) {
      return std::ranges::any_of(at(i).operands, [&](const std::string& o) { return names.contains(o); });
    });
  }

  NameList operations_of(const NameList& units_named) const {
    NameList result;
    for (const Unit& unit : units_)
      if (std::ranges::find(units_named, unit.name) != units_named.end())
        for (const int i : unit.operations) result.push_back(at(i).name);
    return result;
  }

  // --- Slices, and operations whose results are not read ---

  void add_all(const NameList& scripts, Workload after) {
    if (scripts.empty()) return;
    moves_.list.push_back({.script = fmt::format("{}", fmt::join(scripts, "; ")), .after = std::move(after)});
  }

  // At once, since each is better than not and none excludes another: one state in slices saves its memory
  // and the gather that updated it. An output stays whole: the program's interface is the user's.
  void all_slices() {
    NameList scripts;
    Workload after = workload_;
    for (const Operation& input : workload_.operations) {
      if (input.kind != Kind::Input || !input.state || input.type.layout.kind != LayoutKind::Replicated)
        continue;
      const auto update = std::ranges::find(workload_.operations, input.name, &Operation::updates);
      if (update != workload_.operations.end() && is_output(workload_, update->name)) continue;
      std::optional<Workload> sliced = counted(as_slice(after, input.name));
      if (!sliced) continue;
      after = std::move(*sliced);
      scripts.push_back(fmt::format("asSlice({})", input.name));
    }
    add_all(scripts, std::move(after));
  }

  // From the end, so that what only dead operations read is dead when it is reached.
  void all_dead() {
    NameList scripts;
    Workload after = workload_;
    for (auto it = workload_.operations.rbegin(); it != workload_.operations.rend(); ++it) {
      if (is_given(it->kind) || !is_alone(*it) || is_wanted(after, *it)) continue;
      after = dead(after, it->name).or_throw();
      scripts.push_back(fmt::format("dead({})", it->name));
    }
    add_all(scripts, std::move(after));
  }

  // --- Fuse and overlap ---

  bool reads(std::size_t unit, std::size_t made) const { return reads_[unit][made]; }

  // What fits into kernels at all, by its kind.
  bool can_be_fused(const Unit& unit) const {
    if (!unit.overlap.empty()) return false;
    const Kind kind = at(unit.operations[0]).kind;
    return unit.operations.size() > 1 || kind == Kind::Pointwise || is_reduction(kind) ||
           (is_communication(kind) && kind != Kind::AllReduce && kind != Kind::AllToAll &&
            kind != Kind::AllToAllV);
  }
  // One scalar that ranks add up, or several in one message.
  bool sums_scalars(const Unit& unit) const {
    return unit.overlap.empty() && at(unit.operations[0]).kind == Kind::AllReduce &&
           at(unit.operations[0]).type.shape.empty();
  }
  bool is_computation(const Unit& unit) const {
    return std::ranges::none_of(unit.operations, [&](int i) { return is_communication(at(i).kind); });
  }

  // A producer with its consumer, or two computations that stand side by side (Adam's m_ and v_). An
  // existing kernel is widened under its own name.
  void fusions() {
    for (std::size_t i = 0; i < units_.size(); ++i)
      for (std::size_t j = i + 1; j < units_.size(); ++j) {
        if (!chosen_[i] || !chosen_[j]) continue;
        const Unit &a = units_[i], &b = units_[j];
        const bool scalars = sums_scalars(a) && sums_scalars(b);
        if (!scalars && (!can_be_fused(a) || !can_be_fused(b))) continue;
        if (!scalars && !reads(j, i) && !(is_computation(a) && is_computation(b))) continue;
        const bool has_kernel = a.kind != KernelKind::Single;
        const std::string kernel = has_kernel                     ? a.name
                                   : b.kind != KernelKind::Single ? b.name
                                                                  : unused(workload_, "fused");
        attempt(fmt::format("fuse({}; {}, {})", kernel, a.name, b.name),
                fuse(workload_, {a.name, b.name}, kernel));
      }
  }

  // A unit that is overlapped already is the beginning of no other overlap.
  void overlaps() {
    for (std::size_t i = 0; i < units_.size(); ++i)
      if (units_[i].overlap.empty() && chosen_[i]) overlaps_from({i}), overlaps_beside(i);
  }

  // What no product takes piece by piece, rows by counts and tensors that go around, with all that does not
  // depend on them, nor they on it.
  void overlaps_beside(std::size_t moved) {
    const Operation& first = at(units_[moved].operations[0]);
    if (first.kind != Kind::AllToAllV && !first.around) return;
    const std::set<std::size_t> before = reached(moved, false), after = reached(moved, true);
    NameList names;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const bool may = i == moved || (units_[i].overlap.empty() && is_computation(units_[i]) &&
                                      !before.contains(i) && !after.contains(i));
      if (may) names.push_back(units_[i].name);
    }
    if (names.size() < 2) return;
    attempt_overlap(names);
  }
  bool attempt_overlap(const NameList& names) {
    const std::string name = unused(workload_, "overlapped");
    return attempt(fmt::format("overlap({}; {})", name, fmt::join(names, ", ")),
                   overlap(workload_, names, name));
  }
  // Units that it depends on, or that depend on it.
  std::set<std::size_t> reached(std::size_t from, bool after) const {
    std::set<std::size_t> found;
    std::vector<std::size_t> next = {from};
    while (!next.empty()) {
      const std::size_t unit = next.back();
      next.pop_back();
      for (std::size_t i = 0; i < units_.size(); ++i)
        if ((after ? reads(i, unit) : reads(unit, i)) && found.insert(i).second) next.push_back(i);
    }
    return found;
  }

  // Chains grow at their end: MatMul, ReduceScatter; then Send; then AllGather. A prefix that cannot be
  // overlapped is not continued, but for a MatMul with a computation, which becomes valid with the next
  // MatMul.
  void overlaps_from(const std::vector<std::size_t>& chain) {
    for (std::size_t next = chain.back() + 1; next < units_.size(); ++next) {
      if (!units_[next].overlap.empty() || !chosen_[next] || !reads(next, chain.back())) continue;
      std::vector<std::size_t> longer = chain;
      longer.push_back(next);
      std::vector<Unit> members;
      NameList names;
      for (const std::size_t k : longer) {
        members.push_back(units_[k]);
        names.push_back(units_[k].name);
      }
      if (!overlap_faults(workload_, members).empty()) {
        // A computation between products is none that an overlap ends with.
        if (longer.size() > 1 && at(units_[chain.back()].operations[0]).kind == Kind::MatMul &&
            is_computation(units_[next]))
          overlaps_from(longer);
        continue;
      }
      if (attempt_overlap(names)) overlaps_from(longer);
    }
  }

  const Workload& workload_;
  const std::vector<int>& roots_;
  const MoveChoice& choice_;
  const std::vector<Unit> units_;
  std::vector<bool> chosen_ = {};              // by unit
  std::vector<std::vector<bool>> reads_ = {};  // by unit, and unit that makes what it reads
  Moves moves_;
};

}  // namespace

Moves moves(const Workload& workload, const std::vector<int>& roots, const MoveChoice& choice) {
  return MoveSearch(workload, roots, choice).run();
}

}  // namespace chorale
