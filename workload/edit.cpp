#include "workload/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ir/error.h"
#include "workload/infer.h"
#include "workload/names.h"

namespace chorale {
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

MaybeError check_new_name(const Workload& workload, const std::string& name, const std::string& where) {
  if (const std::string flaw = name_flaw(name); !flaw.empty())
    return InputError(where, fmt::format("the name '{}' {}", name, flaw), "choose another one");
  const auto has_it = [&](const Operation& operation) {
    return operation.name == name || operation.kernel == name || operation.overlap == name;
  };
  const bool size = std::ranges::any_of(workload.sizes, [&](const auto& s) { return s.name == name; });
  if (size || std::ranges::any_of(workload.operations, has_it))
    return InputError(where, fmt::format("there is a {} already", name), "choose another name");
  return {};
}

MaybeError check_alone(const Operation& operation, const std::string& where) {
  if (!operation.kernel.empty())
    return InputError(where, fmt::format("{} is in the kernel {}", operation.name, operation.kernel),
                      "fuse comes after this");
  if (!operation.overlap.empty())
    return InputError(where, fmt::format("{} is overlapped in {}", operation.name, operation.overlap),
                      "overlap comes after this");
  return {};
}

std::vector<std::string> retyped(const Workload& before, const Workload& after) {
  std::vector<std::string> names;
  for (const Operation& now : after.operations)
    if (const Operation* const then = find(before, now.name); then != nullptr && then->type != now.type)
      names.push_back(now.name);
  return names;
}

OrError<Workload> rewritten(const Workload& before, Workload after, const std::string& where) {
  OrError<Workload> typed = inferred(std::move(after), where);
  if (!typed) return typed;
  if (const auto names = retyped(before, *typed); !names.empty())
    throw std::logic_error(where + " changed the type of " + names.front());
  return typed;
}

}  // namespace chorale
