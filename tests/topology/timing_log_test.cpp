#include "topology/import/timing_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ir/error.h"
#include "tests/kit/refusal.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> bytes_of(const TimingTable& table) {
  std::vector<std::int64_t> all;
  for (const TimingRow& row : table.rows) all.push_back(row.bytes);
  return all;
}

std::vector<double> us_of(const TimingTable& table) {
  std::vector<double> all;
  for (const TimingRow& row : table.rows) all.push_back(row.us);
  return all;
}

const std::string nccl_tests =
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 2097152 step: 512(factor) warmup iters: 5 iters: 20\n"
    "#\n"
    "#                                                              out-of-place                       "
    "in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n"
    "           0             0     float     sum      -1     0.10    0.00    0.00      0     0.10    0.00   "
    " 0.00\n"
    "        4096          1024     float     sum      -1    10.50    0.39    0.39      0    10.60    0.39   "
    " 0.39\n"
    "     2097152        524288     float     sum      -1    110.5   18.98   18.98    N/A    111.0   18.89   "
    "18.89\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 9.6\n";

TEST(TimingLog, OfNcclTests) {
  const TimingTable log = read_message_log(nccl_tests, "a.log");
  EXPECT_EQ(log.kind, "nccl-tests");
  EXPECT_FALSE(log.rates_only);
  EXPECT_THAT(bytes_of(log), ElementsAre(4096, 2097152));
  EXPECT_THAT(us_of(log), ElementsAre(10.5, 110.5));
  EXPECT_EQ(log.rows[1].busbw_gbs, 18.98);
}

TEST(TimingLog, OfOsu) {
  const TimingTable latency = read_message_log(
      "\n# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n0  1.2\n1 1.25\r\n8  1.5\n", "b");
  EXPECT_FALSE(latency.rates_only);
  EXPECT_THAT(bytes_of(latency), ElementsAre(1, 8));
  EXPECT_THAT(us_of(latency), ElementsAre(1.25, 1.5));
  const TimingTable bandwidth = read_message_log(
      "# OSU MPI-CUDA Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1000 500\n4000 1e3\n", "b");
  EXPECT_TRUE(bandwidth.rates_only);
  EXPECT_THAT(us_of(bandwidth), ElementsAre(2, 4));
}

// Columns as versions of nccl-tests have printed them: all give 1 MiB in 100 us, by their titles.
TEST(TimingLog, ColumnsAreFoundByTheirTitles) {
  for (const auto& [titles, row] : {
           std::pair{"size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
                     "1048576 262144 float sum -1 100.0 10.49 18.35 0 99.0 10.59 18.54 0"},
           {"size count type redop time algbw busbw error time algbw busbw error",  // 2.4, AllReduce
            "1048576 262144 float sum 100.0 10.49 18.35 2e-07 99.0 10.59 18.54 2e-07"},
           {"size count type root time algbw busbw error time algbw busbw error",  // 2.4, Broadcast
            "1048576 262144 float 0 100.0 10.49 10.49 0 99.0 10.59 10.59 0"},
           {"size count type time algbw busbw error time algbw busbw error",  // 2.4, Allgather of two
            "1048576 131072 float 100.0 5.24 5.24 0 99.0 5.30 5.30 0"},
           {"bytes N type op time algbw busbw res time algbw busbw res",  // 1.0: milliseconds
            "1048576 262144 float sum 0.100 10.49 18.35 0e+00 0.099 10.59 18.54 0e+00"},
           {"size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong timestamp",
            "1048576 262144 float sum -1 1.0e+02 10.49 18.35 N/A 99.0 10.59 18.54 N/A 2026-01-02 10:11:12"},
           {"size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw",
            "1048576 262144 float sum -1 100.0 10.49 18.35 0 99.1 101.0 100.9 0.5 99.0 10.59 18.54"},
       }) {
    SCOPED_TRACE(titles);
    const std::vector<TimingTable> log =
        read_timing_log(std::string("#  ") + titles + "\n  " + row + "\n", "a");
    ASSERT_EQ(log.size(), 1U);
    EXPECT_THAT(bytes_of(log[0]), ElementsAre(1048576));
    EXPECT_THAT(us_of(log[0]), ElementsAre(100));
  }
  const TimingTable full = read_message_log(
      "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size    Avg Latency(us)    P50 Tail Lat(us)\n8 "
      "1.5 9\n",
      "a");
  EXPECT_THAT(us_of(full), ElementsAre(1.5));
}

// Every line of a log behind what schedulers and clocks print before it.
TEST(TimingLog, PrefixesOfLinesAreLeftOut) {
  const TimingTable plain = read_message_log(nccl_tests, "a");
  for (const char* prefix : {"[1,0]<stdout>:", "[1,0]<stdout>: ", "[0] ",
                             "0: ", "12: ", "gpu-node-01.local: ", "2026-01-02 03:04:05 ",
                             "2026-01-02T03:04:05.123456Z ", "2026-01-02T03:04:05+01:00 ", "03:04:05.99 ",
                             "[2026-01-02 03:04:05] ", "2026-01-02T03:04:05Z 0: [1,0]<stdout>:", "   "}) {
    SCOPED_TRACE(prefix);
    std::string text;
    std::istringstream lines(nccl_tests);
    for (std::string line; std::getline(lines, line);) text += prefix + line + "\n";
    const TimingTable log = read_message_log(text, "a");
    EXPECT_EQ(bytes_of(log), bytes_of(plain));
    EXPECT_EQ(us_of(log), us_of(plain));
  }
  std::string bare = nccl_tests;  // as web pages have it
  std::erase(bare, '#');
  EXPECT_EQ(us_of(read_message_log(bare, "a")), us_of(plain));
}

// What nccl-tests writes with -J: a device of each process, which may have several; out of place, or in place
// where that is all.
TEST(TimingLog, OfJson) {
  const std::string begin =
      R"({"version":2,"args":["/x/all_reduce_perf","-J","a"],"config":{"nthreads":1,"ngpus":2,"devices":[{"rank":0},)"
      R"({"rank":2}]},"results":[{"size":0,"out_of_place":{"time":0.1,"bus_bw":0}},)";
  const std::vector<TimingTable> log = read_timing_log(
      begin +
          R"({"size":1048576,"out_of_place":{"time":100.5,"alg_bw":10.4,"bus_bw":15.7},"in_place":{"time":9}},)"
          R"({"size":2097152,"out_of_place":null,"in_place":{"cpu_time":200,"bus_bw":15.8}}]})",
      "a");
  ASSERT_EQ(log.size(), 1U);
  EXPECT_THAT(bytes_of(log[0]), ElementsAre(1048576, 2097152));
  EXPECT_THAT(us_of(log[0]), ElementsAre(100.5, 200));
  EXPECT_EQ(log[0].ranks, 4);
  EXPECT_EQ(log[0].collective, CollectiveKind::AllReduce);
  EXPECT_EQ(log[0].rows[1].busbw_gbs, 15.8);
  const auto refusal = [](const std::string& text) {
    return test::refusal_of([&] { read_timing_log(text, "x.json"); });
  };
  EXPECT_THAT(refusal(begin + "]}"), HasSubstr("x.json:"));
  EXPECT_THAT(refusal(begin.substr(0, begin.size() - 1) + "]}"), HasSubstr("has no times in it"));
  EXPECT_THAT(refusal("{}"), HasSubstr("is not a known log"));
  EXPECT_THAT(refusal(begin + R"({"size":8,"out_of_place":{"time":0,"bus_bw":0}}]})"),
              HasSubstr("has a time of 0"));
}

TEST(TimingLog, SeveralTestsAreTables) {
  const std::vector<TimingTable> log = read_timing_log(
      "# Collective test starting: all_reduce_perf\n" + nccl_tests +
          "# Collective test concluded: all_reduce_perf\n# Collective test starting: /x/all_gather_perf\n" +
          nccl_tests + "#\n" + nccl_tests +
          "# OSU MPI All-to-All Personalized Exchange Latency Test v7.2\n# Size  Avg Latency(us)\n4 3.5\n8 "
          "3.75\n",
      "a");
  ASSERT_EQ(log.size(), 4U);
  EXPECT_EQ(log[0].collective, CollectiveKind::AllReduce);
  EXPECT_EQ(log[1].collective, CollectiveKind::Allgather);
  EXPECT_EQ(log[2].of, std::nullopt);
  EXPECT_EQ(log[3].collective, CollectiveKind::Alltoall);
  EXPECT_TRUE(log[3].counts_blocks);
  EXPECT_THAT(bytes_of(log[3]), ElementsAre(4, 8));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(bytes_of(log[i]), ElementsAre(4096, 2097152)) << i;
}

TEST(TimingLog, RanksAreThoseThatAreListed) {
  const std::string ranks =
      "# Using devices\n#   Rank  0 Pid  1 on a device  0 [0x06] V100\n"
      "#  Rank  1 Group  0 Pid  2 on a device  1 [0000:07:00] V100\n";
  EXPECT_EQ(read_timing_log("# nThread 1\n" + ranks + nccl_tests.substr(nccl_tests.find('\n')), "a")[0].ranks,
            2);
  EXPECT_EQ(read_timing_log(nccl_tests, "a")[0].ranks, 0);
}

TEST(TimingLog, SaysWhereAndWhatIsWrong) {
  const auto refusal = [](const std::string& text) {
    return test::refusal_of([&] { read_message_log(text, "x.log"); });
  };
  EXPECT_THAT(refusal(""), HasSubstr("x.log: is not a known log"));
  EXPECT_THAT(refusal("1 2\n3 4\n"), HasSubstr("is not a known log"));
  EXPECT_THAT(refusal("# OSU MPI Allreduce Latency Test v7\n8 1\n"),
              HasSubstr("x.log:1: is of another test: OSU MPI Allreduce"));
  EXPECT_THAT(refusal("# OSU MPI Bi-Directional Bandwidth Test\n8 1\n"),
              HasSubstr("x.log:1: is of another test"));
  EXPECT_THAT(refusal("# Collective test starting: all_reduce_perf\n" + nccl_tests),
              HasSubstr("x.log:1: is of another test: all_reduce_perf"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n# Size\n"), HasSubstr("x.log:2: has no column of latencies"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n"), HasSubstr("x.log: has no times in it"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n8\n"), HasSubstr("x.log:2: ends before its time"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n8 0\n"), HasSubstr("x.log:2: has a time or rate of 0"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n8 -1\n"), HasSubstr("x.log:2: '-1' is not a number"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n8 nan\n"), HasSubstr("'nan' is not a number"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n1e300 2\n"), HasSubstr("more than 10^15 bytes"));
  EXPECT_THAT(refusal(nccl_tests.substr(0, nccl_tests.find("10.50"))), HasSubstr("ends before its time"));
  EXPECT_THAT(refusal("# size count type algbw busbw\n8 2 float 1 1\n"), HasSubstr("has no column of times"));
  // A column that was cut out of the rows alone: what is read as a time is a rate.
  EXPECT_THAT(refusal("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
                      "1048576 262144 float sum 100.0 10.49 18.35 0 99.0 10.59 18.54 0\n"),
              HasSubstr("x.log:2: has an algbw of 18.35 GB/s, and 1048576 bytes in 10.49 us are 99.96"));
}

}  // namespace
}  // namespace chorale
