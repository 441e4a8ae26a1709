// Collectives on two levels, emitted: they give what they mean on every target, with groups of other numbers
// than ranks, and sizes that neither divides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tensor/emitted_workload.h"

namespace chorale::test {
namespace {

const std::string kAdam =
    "levels(sum, rs, ar); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v);"
    "fuse(opt; s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)";

TEST(EmittedLevels, GiveWhatTheyMean) {
  const std::string adam = read_file(fmt::format("{}/examples/adam.chorale", CHORALE_SOURCE));
  for (const auto& [carrier, ranks, groups] :
       {std::tuple(Carrier::Threads, 2, 3), std::tuple(Carrier::Mpi, 3, 2), std::tuple(Carrier::Cuda, 2, 2),
        std::tuple(Carrier::Nccl, 2, 2)}) {
    const auto sized = [&](std::int64_t n) { return parsed(adam, kAdam, {{"N", n}}, ranks, groups); };
    const Emitted emitted(sized(100), ranks, true, carrier);
    for (const std::int64_t n : {1, 5, 1003})
      EXPECT_EQ(emitted.difference(sized(n), static_cast<unsigned>(n), 1e-6, true), "") << n;
  }
}

// Slices of columns, beside the product that makes the summands; and what is not made on two levels.
TEST(EmittedLevels, GoBesideProducts) {
  const std::string text = R"(
workload w
ranks 2
groups 2
size N = 5, M = 7, K = 6
Tensor a(fp32, [N, K], Sliced(1))
Tensor b(fp32, [K, M], Sliced(0))
Tensor r(fp32, [N, M], Replicated)
Tensor x(int32, [M], Local)
layer = MatMul(a, b)
sum = AllReduce("+", layer)
y = sum * 2 + r
inner = AllReduce("max", x, GROUP)
most = AllReduce("max", inner, ACROSS)
n = ReduceTensor("max", y)
return y, inner, most, n
)";
  const std::string script =
      "levels(sum, rs, ar, Sliced(1)); reorder(sum; y, n); fuse(k; s_y, y); overlap(o; layer, rs)";
  const auto sized = [&](const auto& sizes) { return parsed(text, script, sizes); };
  const Emitted emitted(sized(std::map<std::string, std::int64_t>()), 2, false, Carrier::Threads);
  for (const auto& sizes : std::vector<std::map<std::string, std::int64_t>>{
           {}, {{"N", 1}, {"M", 1}, {"K", 1}}, {{"N", 33}, {"M", 41}, {"K", 19}}})
    EXPECT_EQ(emitted.difference(sized(sizes), 3, 0, true), "");
}

}  // namespace
}  // namespace chorale::test
