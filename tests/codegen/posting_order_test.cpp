// Emitted programs post the messages of a step as runtime/ does (ir/posting_order.h): by distance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "codegen/mpi_source.h"
#include "codegen/workload/exchange_tables.h"
#include "construct/classic.h"
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

// Rows of kMessages: rank, step, send?, peer, tag, ...
TEST(PostingOrder, OfEmittedMpiPrograms) {
  const DirectAlltoall direct;
  std::string text = to_mpi_source(direct.program);
  text = text.substr(text.find("kMessages[]"));
  text = text.substr(0, text.find("};"));
  const std::regex row("\\{(\\d+), (\\d+), (\\d+), (\\d+), (\\d+), ");
  int rows = 0, last_tag = -1;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at, ++rows) {
    const int rank = std::stoi((*at)[1]), send = std::stoi((*at)[3]), peer = std::stoi((*at)[4]),
              tag = std::stoi((*at)[5]), k = rows % 16 % 8 / 2;
    EXPECT_EQ(rank, rows / 16);
    EXPECT_EQ(send, rows % 16 / 8) << "receives are posted first";
    EXPECT_EQ(peer, send != 0 ? (rank + 1 + k) % kRanks : (rank + 4 - k) % kRanks) << "row " << rows;
    if (rows % 2 == 1) {
      EXPECT_LT(last_tag, tag) << "row " << rows;
    }
    last_tag = tag;
  }
  EXPECT_EQ(rows, kRanks * 16);
}

// Rows: step, from, to, ... A rank takes those that are its own, in their order.
TEST(PostingOrder, OfEmittedWorkloads) {
  const DirectAlltoall direct;
  const ExchangeRows rows = exchange_rows("test", direct.program, false);
  for (Rank n = 0; n < kRanks; ++n) {
    std::vector<int> to, from;
    for (const std::vector<int>& row : rows.messages) {
      if (row[1] == n) to.push_back((row[2] - n + kRanks) % kRanks);
      if (row[2] == n) from.push_back((n - row[1] + kRanks) % kRanks);
    }
    EXPECT_THAT(to, testing::ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
    EXPECT_THAT(from, testing::ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  }
}

}  // namespace
}  // namespace chorale::test
