#include "ir/execution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/json_reader.h"
#include "ir/json_writer.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr int kMostChoices = 4096;  // operations of a workload, and more
constexpr int kMostNumber = 1 << 24;
constexpr std::size_t kLongestName = 1 << 20;

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
  std::vector<std::string> members, points, pieces;
  for (const auto& [operation, cost] : execution.points)
    points.push_back(fmt::format(R"({{"operation":{},"cost":[{},{},{}]}})", quoted(operation), cost.steps,
                                 cost.rounds, cost.chunks));
  for (const auto& [overlap, count] : execution.pieces)
    pieces.push_back(fmt::format(R"({{"overlap":{},"pieces":{}}})", quoted(overlap), count));
  if (!points.empty()) members.push_back(fmt::format(R"("points":[{}])", fmt::join(points, ",")));
  if (!pieces.empty()) members.push_back(fmt::format(R"("pieces":[{}])", fmt::join(pieces, ",")));
  if (execution.block > 0) members.push_back(fmt::format(R"("block":{})", execution.block));
  if (execution.channels > 0) members.push_back(fmt::format(R"("channels":{})", execution.channels));
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

Execution execution_from_json(const JsonReader& json) {
  json.require_object({"points", "pieces", "block", "channels"});
  Execution execution;
  for (std::size_t i = 0; json.has("points") && i < json["points"].size(kMostChoices); ++i) {
    const JsonReader point = json["points"].at(i);
    point.require_object({"operation", "cost"});
    const JsonReader cost = point["cost"];
    if (cost.size(3) != 3) cost.fail("is not [steps, rounds, chunks]");
    execution.points.push_back({.operation = point["operation"].text(kLongestName),
                                .cost = {.steps = cost.at(0).integer(0, kMostNumber),
                                         .rounds = cost.at(1).integer(0, kMostNumber),
                                         .chunks = cost.at(2).integer(1, kMostNumber)}});
  }
  for (std::size_t i = 0; json.has("pieces") && i < json["pieces"].size(kMostChoices); ++i) {
    const JsonReader pieces = json["pieces"].at(i);
    pieces.require_object({"overlap", "pieces"});
    execution.pieces.push_back({.overlap = pieces["overlap"].text(kLongestName),
                                .pieces = pieces["pieces"].integer(1, kMostNumber)});
  }
  if (json.has("block")) execution.block = json["block"].integer(1, kMostNumber);
  if (json.has("channels")) execution.channels = json["channels"].integer(1, kMostNumber);
  return execution;
}

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
