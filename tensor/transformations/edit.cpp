#include "tensor/transformations/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ir/error.h"
#include "tensor/language/infer.h"
#include "tensor/language/names.h"

namespace chorale {
// Transformations are steps of a search too (moves.h), where most are refused; so errors are
// values here, and nothing is thrown but for bugs.
OrError<const Operation*> operation_for(const Workload& workload, const std::string& name,
                                        const std::string& where) {
  const Operation* const found = find(workload, name);
  if (found == nullptr)
    return InputError(where, fmt::format("there is no operation {}", name),
                      "chorale transform prints the program without --apply");
  return found;
}

int place(const Workload& workload, const std::string& name) {
  return static_cast<int>(&operation(workload, name) - workload.operations.data());
}

// A kernel's name gives all of its operations: reorder(avg; opt) moves the optimizer as a whole.
OrError<std::vector<int>> places_for(const Workload& workload, const std::vector<std::string>& names,
                                     const std::string& where) {
  std::vector<int> places;
  for (const std::string& name : names) {
    const std::size_t before = places.size();
    for (int i = 0; i < static_cast<int>(workload.operations.size()); ++i)
      if (workload.operations[i].name == name || workload.operations[i].kernel == name) places.push_back(i);
    if (places.size() == before)
      return InputError(where, fmt::format("there is no operation or kernel {}", name),
                        "chorale transform prints the program without --apply");
  }
  std::ranges::sort(places);
  if (const auto twice = std::ranges::adjacent_find(places); twice != places.end())
    return InputError(where, fmt::format("{} is named twice", workload.operations[*twice].name));
  return places;
}

// In the order of the list. Programs have at most kMostOperations operations, so no index is kept.
std::vector<std::string> readers(const Workload& workload, const std::string& name) {
  std::vector<std::string> result;
  for (const Operation& operation : workload.operations)
    if (std::ranges::find(operation.operands, name) != operation.operands.end())
      result.push_back(operation.name);
  return result;
}

bool is_output(const Workload& workload, const std::string& name) {
  return std::ranges::find(workload.outputs, name) != workload.outputs.end();
}

bool is_wanted(const Workload& workload, const Operation& operation) {
  return !operation.updates.empty() || is_output(workload, operation.name) ||
         !readers(workload, operation.name).empty();
}

bool is_alone(const Operation& operation) {
  return operation.kernel.empty() && operation.overlap.empty();
}

bool is_a_name(const Workload& workload, const std::string& name) {
  const auto has_it = [&](const Operation& operation) {
    return operation.name == name || operation.kernel == name || operation.overlap == name;
  };
  return std::ranges::any_of(workload.operations, has_it) ||
         std::ranges::find(workload.sizes, name, &WorkloadSize::name) != workload.sizes.end();
}

// Names of sizes, kernels and overlaps count: all names of a program are different.
std::string unused(const Workload& workload, const std::string& name) {
  std::string result = name;
  for (int i = 2; is_a_name(workload, result); ++i) result = fmt::format("{}_{}", name, i);
  return result;
}

MaybeError check_new_name(const Workload& workload, const std::string& name, const std::string& where) {
  if (const std::string flaw = name_flaw(name); !flaw.empty())
    return InputError(where, fmt::format("the name '{}' {}", name, flaw), "choose another one");
  if (is_a_name(workload, name))
    return InputError(where, fmt::format("there is a {} already", name), "choose another name");
  return {};
}

// Fusing and overlapping come last, so what is fused or overlapped is not taken apart.
MaybeError check_alone(const Operation& operation, const std::string& where) {
  if (!operation.kernel.empty())
    return InputError(where, fmt::format("{} is in the kernel {}", operation.name, operation.kernel),
                      "fuse comes after this");
  if (!operation.overlap.empty())
    return InputError(where, fmt::format("{} is overlapped in {}", operation.name, operation.overlap),
                      "overlap comes after this");
  return {};
}

// New operations and those that are gone have nothing to be compared with.
std::vector<std::string> retyped(const Workload& before, const Workload& after) {
  std::vector<std::string> names;
  for (const Operation& now : after.operations)
    if (const Operation* const then = find(before, now.name); then != nullptr && then->type != now.type)
      names.push_back(now.name);
  return names;
}

// The guard of all transformations: the result obeys all rules, and no operation that was there has
// another type. A transformation that changes a type has a bug, whatever its input was.
OrError<Workload> rewritten(const Workload& before, Workload after, const std::string& where) {
  OrError<Workload> typed = inferred(std::move(after), where);
  if (!typed) return typed;
  if (const auto names = retyped(before, *typed); !names.empty())
    throw std::logic_error(where + " changed the type of " + names.front());
  return typed;
}

}  // namespace chorale
