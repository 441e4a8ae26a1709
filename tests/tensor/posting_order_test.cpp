// Emitted programs post the messages of a step as runtime/ does (ir/program.h): by distance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "codegen/mpi_source.h"
#include "construct/baselines/classic.h"
#include "tensor/lowering/places.h"
#include "tests/codegen/passes_alone.h"
#include "tests/semantics/machines.h"

namespace chorale::test {
namespace {

constexpr int kRanks = 5;

struct DirectAlltoall {
  Topology machine = full(kRanks);
  Point point = classic_algorithm("direct_alltoall", machine, {.chunks = 2});
  Verified<Program> program = lower(accepted(machine, point.collective, point.schedule));
};

// Rows: step, from, ... to, ... A rank posts those that are its own, in their order.
void expect_by_distance(const std::vector<std::pair<Rank, Rank>>& messages) {
  for (Rank n = 0; n < kRanks; ++n) {
    std::vector<int> to, from;
    for (const auto& [src, dst] : messages) {
      if (src == n) to.push_back((dst - n + kRanks) % kRanks);
      if (dst == n) from.push_back((n - src + kRanks) % kRanks);
    }
    EXPECT_THAT(to, testing::ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
    EXPECT_THAT(from, testing::ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  }
}

TEST(PostingOrder, OfEmittedMpiPrograms) {
  std::string text =
      to_mpi_source(std::vector{SizedProgram{.program = DirectAlltoall().program}}, "alltoall");
  text = text.substr(text.find("kMessages[]"));
  text = text.substr(0, text.find("};"));
  const std::regex row("\\{\\d+, (\\d+), \\d+, \\d+, (\\d+), ");
  std::vector<std::pair<Rank, Rank>> messages;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
    messages.emplace_back(std::stoi((*at)[1]), std::stoi((*at)[2]));
  expect_by_distance(messages);
}

TEST(PostingOrder, OfEmittedWorkloads) {
  std::vector<std::pair<Rank, Rank>> messages;
  for (const StepMessage& m :
       exchange_rows("test", DirectAlltoall().program, false).or_throw().steps.messages)
    messages.emplace_back(m.from, m.to);
  expect_by_distance(messages);
}

}  // namespace
}  // namespace chorale::test
