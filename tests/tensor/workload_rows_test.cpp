// Kernels that go row by row over what ranks sum up: emitted, they give what they mean, wherever algorithms
// and pieces cut the rows, also beside a product; and the sum is in no memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tensor/emitted_workload.h"

namespace chorale::test {
namespace {

// Along several dimensions, for one rank, of a list of tensors, of a sum that others read, in halves and
// integers; `d` is a row by itself.
const std::string kRowSums = R"(
workload w
ranks 3
size N = 5, M = 7, K = 4, L = 9
Tensor a(fp32, [N, K], Sliced(1))
Tensor b(fp32, [K, M], Sliced(0))
Tensor r(fp32, [N, M], Replicated)
Tensor x(fp16, [N, K, M], Local)
Tensor i(int32, [N, M], Local)
Tensor v(fp32, [L], Local) scattered
layer = MatMul(a, b)
kernel k {
  rs = ReduceScatter("+", layer, 0)
  t = rs + r
  m = ReduceAlong("max", t, 1)
  y = t - m
  g = AllGather(y)
}
kernel columns {
  cs = ReduceScatter("min", x, 1)
  c = ReduceAlong("max", cs, 2)
  n = ReduceAlong("min", cs - c, 2)
  z = cs * 2 + n
  h = AllGather(z)
}
kernel root {
  rt = Reduce("+", i, 2)
  e = ReduceAlong("+", rt, 1)
  f = e - Index(1) * rt
}
kernel one {
  d = Reduce("max", v, 1)
  o = ReduceAlong("min", d, 0)
  q = d - o
}
kernel stored {
  ss = ReduceScatter("+", i, 0)
  u = ReduceAlong("max", ss, 1)
  w = ss - u
}
p = ss + 1
return g, t, h, n, f, e, q, w, p
)";
const std::string kBeside = "overlap(beside; layer, k)";

const std::vector<std::map<std::string, std::int64_t>> kRowSizes = {
    {},
    {{"N", 1}, {"M", 1}, {"K", 1}, {"L", 1}},
    {{"N", 11}, {"M", 13}, {"K", 5}, {"L", 3000}},
    {{"N", 7}, {"M", 2999}, {"K", 3}, {"L", 5}}};

// Cumulative sums, the largest and where they are, along each dimension, in slices, with equal elements.
TEST(EmittedAlong, GivesWhatItMeans) {
  const std::string text = R"(
workload w
ranks 3
size N = 5, M = 7, K = 2
Tensor x(fp32, [N, M], Sliced(0))
Tensor i(int32, [N, M, K], Local)
Tensor h(fp16, [N, M], Replicated)
s = ScanAlong("+", x, 1)
m = ScanAlong("min", i, 1)
t = TopK(x, 1, K)
v = TakeAlong(x, t, 1)
n = TopK(i / 4, 0, K)
w = TakeAlong(i, n - 1, 0)
c = ScanAlong("+", h, 0)
o = TopK(h, 1, M)
sorted = TakeAlong(h, o, 1)
return s, m, t, v, n, w, c, sorted
)";
  const auto sized = [&](const auto& sizes) { return parsed(text, "", sizes); };
  for (const Carrier carrier : {Carrier::Threads, Carrier::Cuda}) {
    const Emitted emitted(sized(std::map<std::string, std::int64_t>()), 1, false, carrier);
    for (const auto& sizes : std::vector<std::map<std::string, std::int64_t>>{
             {}, {{"N", 2}, {"M", 2}, {"K", 2}}, {{"N", 33}, {"M", 41}, {"K", 19}}})
      EXPECT_EQ(emitted.difference(sized(sizes), 3, 1e-6, true), "");
  }
}

TEST(EmittedRowSums, GiveWhatTheyMean) {
  const auto sized = [](const auto& sizes, const std::string& script) {
    return parsed(kRowSums, script, sizes);
  };
  for (const auto& [carrier, chunks, ring, script] :
       {std::tuple(Carrier::Threads, 4, true, kBeside), std::tuple(Carrier::Mpi, 3, false, std::string()),
        std::tuple(Carrier::Cuda, 2, true, kBeside)}) {
    const Emitted emitted(sized(kRowSizes[0], script), chunks, ring, carrier);
    const std::string header = read_file(emitted.folder() / "w.h");
    EXPECT_EQ(count(header, "device_.each_row_of_sums("), 4);
    EXPECT_EQ(count(header, "device_.each_row("), 1);  // of a sum that others read
    for (unsigned seed = 0; seed < kRowSizes.size(); ++seed)
      EXPECT_EQ(emitted.difference(sized(kRowSizes[seed], script), seed, 0, true), "")
          << static_cast<int>(carrier) << ": " << seed;
  }
}

TEST(EmittedRowSums, HaveNoRaces) {
  const Workload workload = parsed(kRowSums, kBeside, kRowSizes[2]);
  EXPECT_EQ(Emitted(workload, 2, false, Carrier::Threads, Build::Races).difference(workload, 3, 0, true), "");
}

}  // namespace
}  // namespace chorale::test
