// Choices are lists by name, not maps: they are few, and files and texts keep their order. The members follow
// from the fields below; what has its default is neither written nor required.
#include "tensor/language/execution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/json_fields.h"
#include "ir/json_reader.h"
#include "ir/words.h"

namespace chorale {
// {"operation":"rs","cost":[3,3,1]}.
template <>
struct Fields<ChosenPoint> {
  using C = ChosenPoint;
  static constexpr std::tuple all = {field<&C::operation>({.longest = 1 << 20}), field<&C::cost>()};
};
template <>
struct Fields<ChosenPieces> {
  using C = ChosenPieces;
  static constexpr std::tuple all = {field<&C::overlap>({.longest = 1 << 20}),
                                     field<&C::pieces>({.least = 1, .most = 1 << 24})};
};
template <>
struct Fields<Execution> {
  using E = Execution;
  // 0 is "not given": it is left out, and refused where a file states it.
  static constexpr FieldWords kChoices = {.longest = 4096, .unless_default = true};  // operations, and more
  static constexpr FieldWords kNumber = {.least = 1, .most = 1 << 24, .unless_default = true};
  static constexpr std::tuple all = {field<&E::points>(kChoices), field<&E::pieces>(kChoices),
                                     field<&E::block>(kNumber), field<&E::channels>(kNumber)};
};

namespace {

// A cost is [steps, rounds, chunks]. It identifies a point of a frontier, where no two have the same; whether
// the frontier has it is found when the point is looked up.
struct ExecutionFields {
  static std::string_view between(const FieldWords&) { return ","; }
  static std::string_view colon() { return ":"; }
  static std::string write(const Cost& cost, const FieldWords&) {
    return fmt::format("[{},{},{}]", cost.steps, cost.rounds, cost.chunks);
  }
  static void read(const JsonReader& json, const FieldWords&, Cost& cost) {
    constexpr int kMost = 1 << 24;
    if (json.size(3) != 3) json.fail("is not [steps, rounds, chunks]");
    cost = {.steps = json.at(0).integer(0, kMost),
            .rounds = json.at(1).integer(0, kMost),
            .chunks = json.at(2).integer(1, kMost)};
  }
};

}  // namespace

const Cost* point_of(const Execution& execution, const std::string& operation) {
  const auto it = std::ranges::find(execution.points, operation, &ChosenPoint::operation);
  return it == execution.points.end() ? nullptr : &it->cost;
}

int pieces_of(const Execution& execution, const std::string& overlap) {
  const auto it = std::ranges::find(execution.pieces, overlap, &ChosenPieces::overlap);
  return it == execution.pieces.end() ? 0 : it->pieces;
}

std::string to_json(const Execution& execution) {
  return write_fields(execution, ExecutionFields());
}

Execution execution_from_json(const JsonReader& json) {
  return read_fields<Execution>(json, ExecutionFields());
}

// "rs in 3 steps and 3/1 rounds, both in 8 pieces, blocks of 2048, 2 channels".
std::string to_string(const Execution& execution) {
  std::vector<std::string> words;
  for (const auto& [operation, cost] : execution.points)
    words.push_back(fmt::format("{} in {} and {}/{} rounds", operation, counted(cost.steps, "step"),
                                cost.rounds, cost.chunks));
  for (const auto& [overlap, count] : execution.pieces)
    words.push_back(fmt::format("{} in {}", overlap, counted(count, "piece")));
  if (execution.block > 0) words.push_back(fmt::format("blocks of {}", execution.block));
  if (execution.channels > 0) words.push_back(counted(execution.channels, "channel"));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace chorale
