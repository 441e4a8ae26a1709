// Logs of collectives against questions: which of their tables are taken, and why none is.
#include "jobs/measured_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "cost/busbw.h"
#include "ir/files.h"
#include "tests/kit/refusal.h"
#include "tests/kit/seeds.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file_with(const std::string& text) {
  const std::string path = testing::TempDir() + "chorale_measured.log";
  write_file(path, text);
  return path;
}

// What nccl-tests prints of `ranks` that move each size in 20 us and at 100 GB/s.
std::string nccl_log(const std::string& program, CollectiveKind kind, int ranks, bool lists_ranks = false) {
  std::string text = program.empty() ? "" : "# Collective test starting: " + program + "\n";
  text += "# nThread 1 nGpus 1 minBytes 8\n# Using devices\n";
  for (int n = 0; lists_ranks && n < ranks; ++n)
    text += fmt::format("#  Rank {:2} Group  0 Pid 1 on a device  0 [0] H100\n", n);
  text += "#\n#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n";
  for (const double bytes : {1024.0, 1048576.0, 1073741824.0}) {
    const double us = 20 + bytes / 1e5, rate = bytes / us / 1e3;
    text += fmt::format("{:12.0f} {:.0f} float sum -1 {:7.2f} {:6.2f} {:6.2f} 0 {:7.2f} {:6.2f} {:6.2f} 0\n",
                        bytes, bytes / 4, us, rate, rate * busbw_factor(kind, ranks), us, rate,
                        rate * busbw_factor(kind, ranks));
  }
  return text + "# Avg bus bandwidth    : 1\n";
}

MeasuredSizes read_log(const std::string& text, CollectiveKind kind, int ranks) {
  return read_measured(file_with(text), make_collective(kind, ranks, 1));
}

// Of a file with several tests the one that was asked about; where they have no names, by their factors.
TEST(MeasuredLog, IsOfTheQuestion) {
  using enum CollectiveKind;
  for (const bool with_names : {true, false}) {
    const std::string log = nccl_log(with_names ? "all_gather_perf" : "", Allgather, 8) +
                            nccl_log(with_names ? "all_reduce_perf" : "", AllReduce, 8, true);
    const MeasuredSizes sum = read_log(log, AllReduce, 8);
    EXPECT_THAT(sum.message_bytes, ElementsAre(1024, 1048576, 1073741824));
    EXPECT_NEAR(sum.us[2], 10757.4, 0.1);
    EXPECT_EQ(read_log(log, Allgather, 8).us.size(), 3U);
  }
  // A block of each of eight ranks: osu_allgather counts one, and a message has all.
  const std::string osu =
      "# OSU MPI Allgather Latency Test v7.2\n# Size  Avg Latency(us)\n4 3.5\n8 3.75\n8 3.7\n";
  EXPECT_THAT(read_log(osu, Allgather, 8).message_bytes, ElementsAre(32, 64));
  EXPECT_THAT(read_log(osu, Allgather, 8).us, ElementsAre(3.5, 3.7));
  EXPECT_THAT(collectives_in_log(file_with(osu + nccl_log("all_reduce_perf", AllReduce, 8))),
              ElementsAre("allgather", "allreduce"));
}

TEST(MeasuredLog, OfOtherRanksOrCollectivesIsRefused) {
  using enum CollectiveKind;
  const auto refusal = [](const std::string& text, CollectiveKind kind, int ranks) {
    return test::refusal_of([&] { read_log(text, kind, ranks); });
  };
  for (const int ranks : {2, 4, 16, 64}) {
    EXPECT_THAT(refusal(nccl_log("all_reduce_perf", AllReduce, ranks, true), AllReduce, 8),
                HasSubstr(fmt::format("is of {} ranks, and the machine has 8", ranks)));
    EXPECT_THAT(refusal(nccl_log("", AllReduce, ranks), AllReduce, 8),
                HasSubstr(fmt::format("as of {} ranks", ranks)));
    EXPECT_THAT(refusal(nccl_log("reduce_scatter_perf", ReduceScatter, ranks), ReduceScatter, 8),
                HasSubstr(fmt::format("as of {} ranks", ranks)));
    EXPECT_EQ(refusal(nccl_log("", AllReduce, ranks), AllReduce, ranks), "");
    EXPECT_EQ(refusal(nccl_log("broadcast_perf", Broadcast, ranks), Broadcast, ranks), "");
  }
  EXPECT_THAT(refusal(nccl_log("all_gather_perf", Allgather, 8), AllReduce, 8),
              HasSubstr("is of another test: all_gather_perf"));
  EXPECT_THAT(refusal(nccl_log("", Allgather, 8), AllReduce, 8), HasSubstr("0.875 times size over time"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test v7.2\n1 2\n", AllReduce, 8),
              HasSubstr("is of another test: OSU MPI Latency"));
  EXPECT_THAT(refusal("hello\n", AllReduce, 8), HasSubstr("is not a known log"));
}

// Bytes exchanged, parts gone or twice: times that are positive, of sizes that rise, or one line.
TEST(MeasuredLog, DamagedLogsAreReadOrRefusedInOneLine) {
  std::mt19937 random = test::seeded(45);
  int read = 0, refused = 0;
  std::vector<std::string> logs = {
      nccl_log("all_reduce_perf", CollectiveKind::AllReduce, 8, true),
      "# OSU MPI Allreduce Latency Test v7.2\n# Size  Avg Latency(us)\n4 3.5\n8 3.75\n"};
  for (const char* name : {"nccl_tests_2021.log", "tagged.log"})
    logs.push_back(read_file(std::string(CHORALE_SOURCE "/tests/data/repro/public/") + name));
  static constexpr const char* kPieces[] = {"0",      "-1", "1e308", "nan",  "#",
                                            "[",      "]",  ": ",    "\n",   "18446744073709551616",
                                            "# size", " ",  "busbw", "\xff", "OSU "};
  for (int i = 0; i < 500; ++i) {
    std::string text = logs[random() % logs.size()];
    for (unsigned times = random() % 6; times > 0 && !text.empty(); --times) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 40);
      else if (random() % 2 == 0)
        text.insert(at, kPieces[random() % std::size(kPieces)]);
      else
        text[at] = static_cast<char>(random() % 256);
    }
    MeasuredSizes sizes;
    const std::string refusal =
        test::refusal_of([&] { sizes = read_log(text, CollectiveKind::AllReduce, 8); });
    (refusal.empty() ? read : refused) += 1;
    ASSERT_NE(refusal.empty(), sizes.us.empty()) << text;
    for (std::size_t s = 0; s < sizes.us.size(); ++s) {
      ASSERT_GT(sizes.us[s], 0) << text;
      ASSERT_GT(sizes.message_bytes[s], s == 0 ? 0 : sizes.message_bytes[s - 1]) << text;
    }
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace chorale
