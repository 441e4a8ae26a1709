// Operations that are done as one are brought together first: what lies between the first and the last of
// them and depends on one goes behind, all else stays where it is, and they come where the last one was. This
// is possible unless something outside depends on one of them and another one depends on it. Kernels and
// overlaps are moved as a whole. Of a, u, x and b, where x reads a, fusing a and b makes u, a, b, x.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "ir/error.h"
#include "tensor/language/kernels.h"
#include "tensor/transformations/edit.h"
#include "tensor/transformations/moves.h"
#include "tensor/transformations/transform.h"

namespace chorale {
namespace {

// Operations that are moved as a whole: indices in the list, in order.
using Block = std::vector<int>;

// Those of the list, with the members as one, wherever they are: its index is that of its last member.
struct Blocks {
  std::vector<Block> list = {};
  int members = -1;
};

// One pass: members are gathered where the last of them stands, all else forms blocks of one kernel, one
// overlap or one operation.
Blocks blocks_around(const Workload& workload, const std::vector<int>& members) {
  Blocks blocks;
  const int count = static_cast<int>(workload.operations.size());
  const auto run = [&](int i) {
    const Operation& operation = workload.operations[i];
    return operation.overlap.empty() ? std::pair("kernel", operation.kernel)
                                     : std::pair("overlap", operation.overlap);
  };
  int last = -1;  // index of the last block's last operation
  for (int i = 0; i < count; ++i) {
    if (i == members.back()) {
      blocks.members = static_cast<int>(blocks.list.size());
      blocks.list.push_back(members);
    } else if (!std::ranges::binary_search(members, i)) {
      if (i > 0 && last == i - 1 && !run(i).second.empty() && run(i) == run(i - 1))
        blocks.list.back().push_back(i);
      else
        blocks.list.push_back({i});
      last = i;
    }
  }
  return blocks;
}

// For each operation the places of those that come before it: what it reads, and of an update all that reads
// the input.
// Edges of the dependency graph, with anti-dependences: an update comes after all that read its input's
// old value.
using Precedence = std::vector<std::vector<int>>;

Precedence what_precedes(const Workload& workload) {
  std::unordered_map<std::string_view, int> places;
  Precedence before(workload.operations.size());
  std::unordered_map<std::string_view, std::vector<int>> reads;  // of what is updated
  for (const Operation& operation : workload.operations)
    if (!operation.updates.empty()) reads.try_emplace(operation.updates);
  for (int i = 0; i < static_cast<int>(workload.operations.size()); ++i) {
    const Operation& operation = workload.operations[i];
    for (const std::string& operand : operation.operands) {
      before[i].push_back(places.at(operand));
      if (const auto read = reads.find(operand); read != reads.end()) read->second.push_back(i);
    }
    if (!operation.updates.empty())
      for (const int reader : reads.at(operation.updates))
        if (reader != i) before[i].push_back(reader);
    places[operation.name] = i;
  }
  return before;
}

bool precedes(const Precedence& before, const Block& a, const Block& b) {
  return std::ranges::any_of(b, [&](int i) {
    return std::ranges::any_of(before[i], [&](int j) { return std::ranges::binary_search(a, j); });
  });
}

// `from` leads from a block that depends on the members to the block through which it does, and so on, to the
// members. One of these that the members depend on would have to stand before and after them; its path names
// the operations that close the circle. All others keep their order, so a program that has its members
// together already comes out as it was.
OrError<Workload> brought_together(const Workload& workload, const std::vector<int>& members,
                                   const Precedence& before, const std::string& where) {
  const Blocks blocks = blocks_around(workload, members);
  const int count = static_cast<int>(blocks.list.size());
  // Blocks that depend on the members. They all come before the members' block, or else need not be moved.
  std::vector<int> from(count, -1);  // the block which they depend on
  for (int b = 0; b < count; ++b) {
    if (b == blocks.members) continue;
    if (precedes(before, members, blocks.list[b])) from[b] = blocks.members;
    for (int a = 0; a < b && from[b] < 0; ++a)
      if (a != blocks.members && from[a] >= 0 && precedes(before, blocks.list[a], blocks.list[b]))
        from[b] = a;
    if (from[b] < 0 || b > blocks.members || !precedes(before, blocks.list[b], members)) continue;
    std::string path = workload.operations[blocks.list[b].front()].name;
    for (int a = from[b]; a != blocks.members; a = from[a])
      path = fmt::format("{}, {}", workload.operations[blocks.list[a].front()].name, path);
    return InputError(
        where,
        fmt::format("{} would have to come before and after them: it reads them, and they read it", path),
        "take it in, too, or leave out what reads it");
  }

  Workload result = workload;
  result.operations.clear();
  const auto append = [&](int b) {
    for (const int i : blocks.list[b]) result.operations.push_back(workload.operations[i]);
  };
  for (int b = 0; b < blocks.members; ++b)
    if (from[b] < 0) append(b);
  append(blocks.members);
  for (int b = 0; b < blocks.members; ++b)
    if (from[b] >= 0) append(b);
  for (int b = blocks.members + 1; b < count; ++b) append(b);
  return result;
}

// In the order in which kernels have them: a collective that leaves parts first, one that makes them whole
// last.
// Ranks 0, 1, 2 are stable, so computations keep their order; a ReduceScatter that reads a member is not
// first, and kernel_faults() says so.
std::vector<int> in_kernel_order(const Workload& workload, const std::vector<int>& members,
                                 const Precedence& before) {
  const auto rank = [&](int i) {
    const OperationKind kind = workload.operations[i].kind;
    const auto depends = [&](int a, int b) { return std::ranges::count(before[a], b) > 0; };
    const bool first = kind == OperationKind::ReduceScatter || kind == OperationKind::Reduce;
    if (first && std::ranges::none_of(members, [&](int m) { return depends(i, m); })) return 0;
    if (!first && is_communication(kind) &&
        std::ranges::none_of(members, [&](int m) { return depends(m, i); }))
      return 2;
    return 1;
  };
  std::vector<int> order;
  for (const int wanted : {0, 1, 2})
    for (const int i : members)
      if (rank(i) == wanted) order.push_back(i);
  return order;
}

MaybeError check_members(const Workload& workload, const std::vector<int>& members,
                         const std::string& where) {
  if (members.size() < 2) return InputError(where, "two operations or more are done as one");
  for (const int i : members) {
    const Operation& operation = workload.operations[i];
    if (is_given(operation.kind))
      return InputError(where, fmt::format("{} is {}, for which nothing is done", operation.name,
                                           to_string(operation.kind)));
    if (!operation.overlap.empty())
      return InputError(where,
                        fmt::format("{} is overlapped in {} already", operation.name, operation.overlap));
  }
  return {};
}

// Kernels of which some operations are members and others are not.
// A kernel is one launch: one part of it cannot be moved away from the other.
MaybeError check_whole_kernels(const Workload& workload, const std::vector<int>& members,
                               const std::string& where) {
  for (int i = 0; i < static_cast<int>(workload.operations.size()); ++i) {
    const Operation& outside = workload.operations[i];
    if (outside.kernel.empty() || std::ranges::binary_search(members, i)) continue;
    for (const int m : members)
      if (const Operation& inside = workload.operations[m]; inside.kernel == outside.kernel)
        return InputError(
            where,
            fmt::format("{} is in the kernel {}, and so is {}", inside.name, inside.kernel, outside.name),
            fmt::format("name {} as a whole", inside.kernel));
  }
  return {};
}

OrError<std::vector<int>> members_for(const Workload& workload, const std::vector<std::string>& names,
                                      const std::string& where) {
  OrError<std::vector<int>> members = places_for(workload, names, where);
  if (!members) return members;
  if (auto error = check_members(workload, *members, where)) return *error;
  if (auto error = check_whole_kernels(workload, *members, where)) return *error;
  return members;
}

bool is_kernel_of(const Workload& workload, const std::string& name, const std::vector<int>& members) {
  return std::ranges::any_of(members, [&](int i) { return workload.operations[i].kernel == name; });
}

}  // namespace

OrError<Workload> fuse(const Workload& workload, const std::vector<std::string>& operations,
                       const std::string& kernel) {
  const std::string where = "fuse " + kernel;
  const OrError<std::vector<int>> named = members_for(workload, operations, where);
  if (!named) return named.error();
  const std::vector<int>& members = *named;
  if (!is_kernel_of(workload, kernel, members))
    if (auto error = check_new_name(workload, kernel, where)) return *error;

  const Precedence before = what_precedes(workload);
  const std::vector<int> order = in_kernel_order(workload, members, before);
  if (const auto faults = kernel_faults(workload, order); !faults.empty())
    return InputError(where, faults.front());
  OrError<Workload> together = brought_together(workload, members, before, where);
  if (!together) return together;
  Workload& result = *together;
  // They follow each other there, as they did, and only their order changes.
  int at = place(result, workload.operations[members.front()].name);
  for (const int i : order) {
    result.operations[at] = workload.operations[i];
    result.operations[at++].kernel = kernel;
  }
  return rewritten(workload, std::move(result), where);
}

OrError<Workload> overlap(const Workload& workload, const std::vector<std::string>& units_of_it,
                          const std::string& name) {
  const std::string where = "overlap " + name;
  const OrError<std::vector<int>> named = members_for(workload, units_of_it, where);
  if (!named) return named.error();
  const std::vector<int>& members = *named;
  if (auto error = check_new_name(workload, name, where)) return *error;

  OrError<Workload> together = brought_together(workload, members, what_precedes(workload), where);
  if (!together) return together;
  Workload& result = *together;
  for (const int i : members) result.operations[place(result, workload.operations[i].name)].overlap = name;
  std::vector<Unit> overlapped;
  for (Unit& unit : units(result))
    if (unit.overlap == name) overlapped.push_back(std::move(unit));
  if (const auto faults = overlap_faults(result, overlapped); !faults.empty())
    return InputError(where, faults.front());
  return rewritten(workload, std::move(result), where);
}

// Computations in as few kernels as are found in one pass: each operation joins the last kernel that takes
// it. A kernel takes it if the result is a valid program, which fuse() decides; so no rule of kernels stands
// here.

namespace {

bool is_free_computation(const Operation& operation) {
  return is_alone(operation) && (operation.kind == OperationKind::Pointwise || is_reduction(operation.kind));
}

// The kernel with the operation in it.
// fuse() moves what lies between the kernel and the operation out of the way, or refuses.
OrError<Workload> widened(const Workload& workload, const std::string& kernel, const std::string& operation) {
  const bool single = find(workload, kernel) != nullptr;
  return fuse(workload, {kernel, operation}, single ? unused(workload, "comp") : kernel);
}

}  // namespace

// Backwards through the units: the nearest kernel is the one with the fewest operations to be moved in
// between. The script names the operations of each kernel at once, so that applying it fuses once per
// kernel and not once per operation; a kernel whose name the program already has was the user's.
Move pointwise_fused(const Workload& workload, int most_operations) {
  Workload fused = workload;
  for (const Operation& operation : workload.operations) {
    if (!is_free_computation(operation)) continue;
    const std::vector<Unit> before = units(fused);
    bool done = false;
    for (auto unit = before.rbegin(); unit != before.rend() && !done; ++unit) {
      const Operation& last = fused.operations[unit->operations.back()];
      const bool other = unit->kind == KernelKind::Single
                             ? !is_free_computation(last) || last.name == operation.name
                             : unit->kind != KernelKind::Computation;
      if (other || static_cast<int>(unit->operations.size()) >= most_operations) continue;
      if (find(workload, last.name)->kernel != "") continue;  // a kernel of the user's stays as it is
      if (place(workload, last.name) >= place(workload, operation.name)) continue;
      OrError<Workload> wider = widened(fused, unit->name, operation.name);
      done = static_cast<bool>(wider);
      if (done) fused = *std::move(wider);
    }
  }
  Move move;
  for (const Unit& unit : units(fused)) {
    if (unit.kind == KernelKind::Single || is_a_name(workload, unit.name)) continue;
    std::vector<std::string> names;
    for (const int i : unit.operations) names.push_back(fused.operations[i].name);
    move.script +=
        fmt::format("{}fuse({}; {})", move.script.empty() ? "" : "; ", unit.name, fmt::join(names, ", "));
  }
  move.after = transformed(workload, move.script);
  return move;
}

}  // namespace chorale
