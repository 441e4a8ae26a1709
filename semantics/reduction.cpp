// Rows are sets of devices as bits, so a rule costs a few word operations per row: the placement evaluates
// every operation on every state that strategies can reach. Hence at most 64 devices; larger machines are
// verified with some levels shrunk (docs/placement.md). A rule is checked for all groups before any of them
// acts.
//
// A union of sets is a sum only if they are disjoint. The rules of the three operations that sum require
// exactly that, so perform() may join rows, and a repeated contribution, which a set cannot express, never
// occurs.
#include "semantics/reduction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace chorale {
namespace {

using StrategyOperation = StrategyInstruction::Operation;

bool sums(StrategyOperation operation) {
  return operation == StrategyOperation::AllReduce || operation == StrategyOperation::ReduceScatter ||
         operation == StrategyOperation::Reduce;
}

std::string in_words(const std::vector<int>& group) {
  return fmt::format("{{{}}}", fmt::join(group, ", "));
}

using Kind = Fault::Kind;

// Are the groups disjoint sets of devices?
std::optional<Fault> malformed(int devices, const DeviceGroups& groups) {
  std::vector<bool> seen(devices, false);
  for (const std::vector<int>& group : groups)
    for (int device : group) {
      if (device < 0 || device >= devices)
        return Fault{.place = {.rank = device}, .words = fmt::format("there is no device {}", device)};
      if (seen[device])
        return Fault{.place = {.rank = device},
                     .words = fmt::format("device {} is in a group twice, or in two", device)};
      seen[device] = true;
    }
  return std::nullopt;
}

}  // namespace

// Each device holds its own contribution to every chunk; there are as many chunks as devices.
ReductionState::ReductionState(int devices)
    : devices_(devices), bits_(static_cast<std::size_t>(devices) * devices) {
  assert(devices >= 1 && devices <= kMostVerifiedDevices);
  for (int d = 0; d < devices; ++d)
    for (int chunk = 0; chunk < devices; ++chunk) at(d, chunk) = std::uint64_t{1} << d;
}

ReductionState ReductionState::reduced(int devices, const DeviceGroups& groups) {
  ReductionState state(devices);
  for (const std::vector<int>& group : groups) {
    std::uint64_t all = 0;
    for (int d : group) all |= std::uint64_t{1} << d;
    for (int d : group)
      for (int chunk = 0; chunk < devices; ++chunk) state.at(d, chunk) = all;
  }
  return state;
}

std::uint64_t ReductionState::rows(int device) const {
  std::uint64_t set = 0;
  for (int chunk = 0; chunk < devices_; ++chunk)
    if (row(device, chunk) != 0) set |= std::uint64_t{1} << chunk;
  return set;
}

// The rules of one group, by family: sums, AllGather, Broadcast. Words are made only where a fault is wanted;
// allows() needs none.
bool ReductionState::breaks(StrategyOperation operation, const std::vector<int>& group, Fault* fault) const {
  const auto broken = [&]<typename... Arguments>(Kind kind, int device, int chunk,
                                                 fmt::format_string<Arguments...> text,
                                                 Arguments&&... arguments) {
    if (fault != nullptr)
      *fault = {.kind = kind,
                .place = {.rank = device, .chunk = chunk},
                .words = fmt::format(text, std::forward<Arguments>(arguments)...)};
    return true;
  };
  const int first = group.front();
  const std::uint64_t first_rows = rows(first);
  if (sums(operation)) {
    for (int d : group)
      if (rows(d) != first_rows)
        return broken(Kind::Match, d, -1, "devices {} and {} hold different chunks", first, d);
    for (int chunk = 0; chunk < devices_; ++chunk) {
      std::uint64_t sum = 0;
      for (int d : group) {
        if (sum & row(d, chunk))
          return broken(Kind::CountedTwice, d, chunk,
                        "the contribution of device {} to chunk {} would count twice",
                        std::countr_zero(sum & row(d, chunk)), chunk);
        sum |= row(d, chunk);
      }
    }
    const int held = std::popcount(first_rows), size = static_cast<int>(group.size());
    if (operation == StrategyOperation::ReduceScatter && held % size != 0)
      return broken(Kind::Size, first, -1, "{} chunks cannot be scattered over {} devices", held, size);
  } else if (operation == StrategyOperation::AllGather) {
    std::uint64_t gathered = 0;
    for (int d : group) {
      const std::uint64_t held = rows(d);
      if (held == 0) return broken(Kind::Absent, d, -1, "device {} holds nothing to gather", d);
      if (std::popcount(held) != std::popcount(first_rows))
        return broken(Kind::Match, d, -1, "devices {} and {} hold different numbers of chunks", first, d);
      // Chunks are gathered whole: two devices with the same one are wrong even where their rows are equal.
      if (gathered & held)
        return broken(Kind::Repeated, d, std::countr_zero(gathered & held), "two devices hold chunk {}",
                      std::countr_zero(gathered & held));
      gathered |= held;
    }
  } else {
    bool informs = false;
    for (int d : group)
      for (int chunk = 0; chunk < devices_; ++chunk) {
        if (row(d, chunk) & ~row(first, chunk))
          return broken(Kind::Match, d, chunk, "device {} would lose a contribution to chunk {}", d, chunk);
        informs = informs || row(d, chunk) != row(first, chunk);
      }
    if (!informs) return broken(Kind::Repeated, first, -1, "no device would learn anything");
  }
  return false;
}

// Requires that no rule is broken: the rows are disjoint where they are joined, and those of a ReduceScatter
// are a multiple of the group. so_far counts them in row order, so that the i-th device keeps the i-th part;
// where nothing is held, nothing is divided.
void ReductionState::perform(StrategyOperation operation, const std::vector<int>& group) {
  const int size = static_cast<int>(group.size());
  std::vector<std::uint64_t> whole(devices_, 0);
  if (operation == StrategyOperation::Broadcast) {
    for (int chunk = 0; chunk < devices_; ++chunk) whole[chunk] = row(group.front(), chunk);
  } else {
    for (int chunk = 0; chunk < devices_; ++chunk)
      for (int d : group) whole[chunk] |= row(d, chunk);
  }
  int held = 0, so_far = 0;
  for (std::uint64_t sum : whole) held += sum != 0;
  for (int chunk = 0; chunk < devices_; ++chunk) {
    int keeper = -1;  // the one device of the group that keeps the chunk; -1: all
    if (operation == StrategyOperation::Reduce) keeper = 0;
    if (operation == StrategyOperation::ReduceScatter && whole[chunk] != 0) keeper = so_far++ / (held / size);
    for (int i = 0; i < size; ++i) at(group[i], chunk) = keeper < 0 || keeper == i ? whole[chunk] : 0;
  }
}

bool ReductionState::allows(StrategyOperation operation, const DeviceGroups& groups) const {
  return std::none_of(groups.begin(), groups.end(),
                      [&](const std::vector<int>& group) { return breaks(operation, group, nullptr); });
}

std::optional<Fault> ReductionState::apply(StrategyOperation operation, const DeviceGroups& groups) {
  for (const std::vector<int>& group : groups)
    if (Fault rule; breaks(operation, group, &rule)) {
      rule.words = fmt::format("{} in {}: {}", name(operation), in_words(group), rule.words);
      return rule;
    }
  for (const std::vector<int>& group : groups) perform(operation, group);
  return std::nullopt;
}

std::optional<Fault> fault(int devices, const LoweredStrategy& strategy, const DeviceGroups& reduced) {
  if (devices < 1 || devices > kMostVerifiedDevices)
    return Fault{.kind = Kind::Size, .words = fmt::format("{} devices cannot be verified", devices)};
  if (std::optional<Fault> problem = malformed(devices, reduced)) {
    problem->words = "the goal: " + problem->words;
    return problem;
  }
  ReductionState state(devices);
  for (std::size_t i = 0; i < strategy.size(); ++i) {
    const LoweredInstruction& instruction = strategy[i];
    std::optional<Fault> problem = malformed(devices, instruction.groups);
    if (std::ranges::any_of(instruction.groups, [](const auto& group) { return group.empty(); }))
      problem = Fault{.words = "an empty group"};
    if (!problem) problem = state.apply(instruction.operation, instruction.groups);
    if (!problem) continue;
    problem->place.instruction = static_cast<int>(i);
    problem->words = fmt::format("instruction {}: {}", i + 1, problem->words);
    return problem;
  }
  // Equal everywhere: a device in no group of the goal has its own data at the end and nothing else.
  const ReductionState goal = ReductionState::reduced(devices, reduced);
  for (int d = 0; d < devices; ++d)
    for (int chunk = 0; chunk < devices; ++chunk)
      if (state.row(d, chunk) != goal.row(d, chunk))
        return Fault{
            .kind = Kind::Outcome,
            .place = {.rank = d, .chunk = chunk},
            .words = fmt::format("at the end: device {} does not have the sum of chunk {}", d, chunk)};
  return std::nullopt;
}

}  // namespace chorale
