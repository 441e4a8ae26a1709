// Emitted workloads give what they mean: printed, compiled, and run on threads and under mpirun, with sizes that ranks do
// not divide. Inputs are small dyadic numbers, so that sums are exact in any order.
#include "codegen/workload_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tests/codegen/emitted_workload.h"

namespace chorale::test {
namespace {

// Broadcasting, halves, integers, selection, reductions, slices; every collective by itself.
const std::string kPlain = R"(
workload plain
ranks 3
size N = 5
size M = 4
Tensor x(fp32, [N, M], Local)
Tensor h(fp16, [N, M], Replicated)
Tensor b(bf16, [M], Replicated)
Tensor c(fp32, [N, 1], Replicated)
Tensor i(int32, [N, M], Replicated)
Tensor q(fp64, [N, M], Sliced(1))
Tensor s(fp32, [N, M], Replicated) state
Scalar f(fp32)
sum = AllReduce("+", x)
top = AllReduce("max", x)
y = sum * h + b - c * f
z = Select(h < 0, i, -i) + 1
rs = ReduceScatter("+", x, 0)
rf = ReduceScatter("min", x, flat)
rd = ReduceScatter("+", x, 1)
g = AllGather(rs * 2 + c)
gf = AllGather(rf)
gd = AllGather(rd + b)
k = ReduceTensor("+", x)
t = ReduceTensor("max", rd)
mixed = q * rd + h
s_ = Update(s, s + y)
r = Reduce("+", x, 1)
br = Broadcast(r * 3 + b)
return y, z, top, rs, rf, g, gf, gd, k, t, mixed, s_, br
)";

TEST(EmittedWorkload, DoesEachOperationByItself) {
  const Workload workload = parsed(kPlain);
  const Emitted threads(workload, 2, false, Carrier::Threads);
  EXPECT_EQ(threads.difference(workload, 1), "");
  // Fewer elements than ranks and pieces, and sides that ranks do not divide.
  EXPECT_EQ(threads.difference(parsed(kPlain, "", {{"N", 1}, {"M", 2}}), 2), "");
  EXPECT_EQ(threads.difference(parsed(kPlain, "", {{"N", 37}, {"M", 23}}), 3), "");
}

// examples/NAME.chorale.
std::string example(const std::string& name) {
  return read_file(fmt::format("{}/examples/{}.chorale", CHORALE_SOURCE, name));
}

// The paper's schedule of Adam: state in slices, and all in one pass over the sums as they become complete. Roots and
// quotients are computed as the reference computes them, so there is nothing to tolerate.
const std::string kFuseAdam =
    "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v);"
    "fuse(update; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)";

TEST(EmittedWorkload, FusesAdam) {
  const std::string adam = example("adam");
  const auto sized = [&](std::int64_t n) { return parsed(adam, kFuseAdam, {{"N", n}}, 3); };
  for (const bool ring : {true, false}) {
    const Emitted emitted(sized(100), ring ? 1 : 3, ring, ring ? Carrier::Mpi : Carrier::Threads);
    for (const std::int64_t n : {1, 2, 3, 100, 5003})
      EXPECT_EQ(emitted.difference(sized(n), static_cast<unsigned>(n), 1e-6, true), "") << n;
  }
}

}  // namespace
}  // namespace chorale::test
