#include "topology/import/timing_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tests/kit/refusal.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  const TimingLog log = read_timing_log(nccl_tests, "a.log");
  EXPECT_EQ(log.kind, "nccl-tests");
  EXPECT_FALSE(log.rates_only);
  EXPECT_THAT(log.bytes, ElementsAre(4096, 2097152));
  EXPECT_THAT(log.us, ElementsAre(10.5, 110.5));
}

TEST(TimingLog, OfOsu) {
  const TimingLog latency = read_timing_log(
      "\n# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n0  1.2\n1 1.25\r\n8  1.5\n", "b");
  EXPECT_FALSE(latency.rates_only);
  EXPECT_THAT(latency.bytes, ElementsAre(1, 8));
  EXPECT_THAT(latency.us, ElementsAre(1.25, 1.5));
  const TimingLog bandwidth = read_timing_log(
      "# OSU MPI-CUDA Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1000 500\n4000 1e3\n", "b");
  EXPECT_TRUE(bandwidth.rates_only);
  EXPECT_THAT(bandwidth.us, ElementsAre(2, 4));
}

TEST(TimingLog, OfCollectives) {
  const TimingLog nccl =
      read_timing_log("# /x/all_reduce_perf -b 8\n" + nccl_tests, "a", TimingOf::Collective);
  EXPECT_THAT(nccl.us, ElementsAre(10.5, 110.5));
  const TimingLog osu =
      read_timing_log("# OSU MPI Allreduce Latency Test v7.2\n# Size  Avg Latency(us)\n4 3.5\n8 3.75\n", "b",
                      TimingOf::Collective);
  EXPECT_THAT(osu.bytes, ElementsAre(4, 8));
  EXPECT_THAT(osu.us, ElementsAre(3.5, 3.75));
  EXPECT_THROW(read_timing_log("# sendrecv_perf\n" + nccl_tests, "a", TimingOf::Collective), InputError);
  EXPECT_THROW(read_timing_log("# OSU MPI Latency Test v7.2\n1 2\n", "a", TimingOf::Collective), InputError);
  EXPECT_THROW(read_timing_log("# OSU MPI Allreduce Latency Test v7.2\n1 2\n", "a"), InputError);
  EXPECT_THROW(read_timing_log("# all_reduce_perf\n" + nccl_tests, "a"), InputError);
}

TEST(TimingLog, SaysWhereAndWhatIsWrong) {
  const auto refusal = [](const std::string& text) {
    return test::refusal_of([&] { read_timing_log(text, "x.log"); });
  };
  EXPECT_THAT(refusal(""), HasSubstr("x.log: is not a known log"));
  EXPECT_THAT(refusal("1 2\n3 4\n"), HasSubstr("is not a known log"));
  EXPECT_THAT(refusal("# OSU MPI Allreduce Latency Test v7\n8 1\n"),
              HasSubstr("x.log:1: is of another test"));
  EXPECT_THAT(refusal("# OSU MPI Bi-Directional Bandwidth Test\n"), HasSubstr("x.log:1: is of another test"));
  EXPECT_THAT(refusal("# Collective test starting: all_reduce_perf\n"),
              HasSubstr("x.log:1: is of another test"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n# Size\n"), HasSubstr("x.log: has no times in it"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n8\n"), HasSubstr("x.log:2: ends before its time"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n8 0\n"), HasSubstr("x.log:2: has a time or rate of 0"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n8 -1\n"), HasSubstr("x.log:2: '-1' is not a number"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n8 nan\n"), HasSubstr("'nan' is not a number"));
  EXPECT_THAT(refusal("# OSU MPI Latency Test\n1e300 2\n"), HasSubstr("more than 10^15 bytes"));
  EXPECT_THAT(refusal(nccl_tests.substr(0, nccl_tests.find("10.50"))), HasSubstr("ends before its time"));
}

}  // namespace
}  // namespace chorale
