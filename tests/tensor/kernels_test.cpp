// Kernels that are allowed compute what their operations compute one after the other, on the interpreter,
// which goes through their elements in any order and keeps nothing from one to the next.
#include "tensor/language/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "ir/files.h"
#include "tensor/language/text.h"
#include "tensor/transformations/moves.h"
#include "tensor/transformations/transform.h"
#include "tensor/tuner/unit_work.h"
#include "tests/tensor/interpreter.h"
#include "tests/tensor/programs.h"

namespace chorale::test {
namespace {

std::string without_kernels(std::string text) {
  for (std::size_t at = text.find("kernel"); at != std::string::npos; at = text.find("kernel")) {
    text.erase(at, text.find('{', at) - at + 1);
    text.erase(text.find('}'), 1);
  }
  return text;
}

// integers, so that sums are exact in any order.
WorkloadState inputs_of(const Workload& workload) {
  WorkloadState state;
  for (const Operation& each : workload.operations) {
    if (each.kind != OperationKind::Input) continue;
    const bool local = each.type.layout.kind == LayoutKind::Local;
    std::vector<std::vector<double>> values(each.type.scope == Scope::World ? 1 : workload.groups);
    for (std::vector<double>& one : values)
      for (int k = 0; k < elements(each.type) * (local ? ranks_of(workload, each.type) : 1); ++k)
        one.push_back((k * 7 + static_cast<int>(each.name.size())) % 5 - 2);
    state.tensors[each.name] = laid_out(workload, each.type, values);
  }
  return state;
}

void expect_same_without(const std::string& text) {
  SCOPED_TRACE(text);
  const Workload fused = parse_workload(text, "fused"),
                 apart = parse_workload(without_kernels(text), "apart");
  ASSERT_NE(fused, apart);
  const WorkloadState inputs = inputs_of(fused);
  for (const std::uint64_t order : {1, 2, 3})
    EXPECT_EQ(interpret(fused, inputs, {.order = order}).state.tensors,
              interpret(apart, inputs, {.order = order}).state.tensors);
}

// Rows are done together: what is reduced of one is there for all of its elements.
TEST(Kernels, GoRowByRow) {
  expect_same_without(R"(
workload w ranks 3
Tensor x(fp32, [4, 7], Local)
Tensor r(bf16, [4, 7], Replicated)
Tensor g(fp32, [7], Replicated)
kernel all {
  rs = ReduceScatter("+", x, 0)
  h = rs + r
  most = ReduceAlong("max", h, 1)
  shifted = h - most
  few = Cast(int32, Max(shifted, -3))
  sum = ReduceAlong("+", few, 1)
  scale = 1 / (1 + Abs(sum))
  y = shifted * scale * g + Index(1)
  gathered = AllGather(y)
}
return gathered, h, sum
)");
}

TEST(Kernels, ReduceOnlyRowsThatRanksHave) {
  const auto refused = [](const std::string& kernel) {
    const std::string text =
        "workload w ranks 2 Tensor x(fp32, [4, 6], Sliced(1)) Tensor y(fp32, [4, 6], Replicated) "
        "kernel k { " +
        kernel + " } return c";
    return refusal_of([&] { parse_workload(text, "w"); });
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refused("a = y * y b = ReduceAlong(\"+\", a, 0) c = y / b"), HasSubstr("reduces rows"));
  EXPECT_THAT(refused("a = x * x c = ReduceAlong(\"+\", a, 1)"), HasSubstr("reduces rows"));
  EXPECT_THAT(refused("a = ReduceAlong(\"+\", y, 1) c = y / a d = ReduceTensor(\"+\", c)"),
              HasSubstr("in a kernel that goes row by row"));
  EXPECT_EQ(refused("a = ReduceAlong(\"+\", y, 1) c = y / a"), "");
}

// A scalar and a row that the kernel computes for itself, again for each element.
TEST(Kernels, ComputeSmallerTensorsForEachElement) {
  expect_same_without(R"(
workload w ranks 3
Tensor x(fp32, [4, 7], Sliced(1))
Tensor row(fp32, [7], Replicated)
Tensor part(fp32, [7], Sliced(0))
Scalar c(fp32)
kernel k {
  d = 2 * c + 1
  rows = row * d
  parts = part + row
  y = x * rows + parts
  z = y - d
}
return y, z
)");
}

TEST(Kernels, ReduceWhatTheyCompute) {
  expect_same_without(R"(
workload w ranks 4
Tensor g(fp32, [11], Local)
Tensor m(fp32, [11], Sliced(0)) state
Tensor p(fp32, [11], Replicated)
kernel k {
  s = ReduceScatter("+", g)
  m_ = Update(m, m + s)
  q = p - m_
  most = ReduceTensor("max", q)
  p_ = Update(p, AllGather(q))
}
n = AllReduce("max", most)
return p_, n
)");
}

TEST(Kernels, ReduceToOneRankAndSendFromIt) {
  expect_same_without(R"(
workload w ranks 2 groups 2
Tensor g(fp32, [5], Local GROUP)
Tensor b(fp32, [5], Replicated)
kernel first {
  r = Reduce("min", g, 1)
  a = r * b
}
kernel second {
  c = a + 1
  d = Broadcast(c)
}
kernel third {
  e = d * d
  f = Send(e, GROUP - 1)
}
return a, d, f
)");
}

const std::string kNorms = R"(
workload w ranks 3
Tensor a(fp32, [7], Sliced(0))
Tensor b(fp32, [2, 5], Local)
x = ReduceTensor("+", a * a)
y = ReduceTensor("+", b)
kernel one {
  n = AllReduce("+", x)
  k = AllReduce("+", y)
}
ratio = n / k
return ratio, n
)";

TEST(Kernels, SumScalarsInOneMessage) {
  expect_same_without(kNorms);
  const Workload workload = parse_workload(kNorms, "w");
  const auto all = units(workload);
  const auto one = std::ranges::find(all, "one", &Unit::name);
  ASSERT_NE(one, all.end());
  EXPECT_EQ(one->kind, KernelKind::Scalars);
  for (const UnitWork& work : unit_work(workload))
    if (work.unit.name == "one") {
      ASSERT_EQ(work.collectives.size(), 1);
      EXPECT_EQ(work.collectives[0].block_bytes, 8);
    }
}

// What stands in the way of one message for them.
TEST(Kernels, SumNoScalarsInOneMessageThatAreNotAlike) {
  const auto said = [](const std::string& sums) {
    return refused(
        "workload w ranks 2\nScalar a(fp32, Local)\nScalar b(fp32, Local)\n"
        "Scalar c(fp64, Local)\nTensor t(fp32, [4], Local)\n" +
            sums + "\nreturn x, y",
        "fuse(k; x, y)");
  };
  EXPECT_EQ(said("x = AllReduce(\"+\", a)\ny = AllReduce(\"+\", b)"), "");
  EXPECT_THAT(said("x = AllReduce(\"+\", a)\ny = AllReduce(\"max\", b)"),
              testing::HasSubstr("y and x are not sums of one message"));
  EXPECT_THAT(said("x = AllReduce(\"+\", a)\ny = AllReduce(\"+\", c)"),
              testing::HasSubstr("y and x are not sums of one message"));
  EXPECT_THAT(said("x = AllReduce(\"+\", a)\ny = AllReduce(\"+\", t)"),
              testing::HasSubstr("y is an AllReduce, which hands nothing over"));
  EXPECT_THAT(said("x = AllReduce(\"+\", a)\nz = a + x\ny = AllReduce(\"+\", z)"),
              testing::HasSubstr("z would have to come before and after them"));
}

TEST(Kernels, OfScalarsAreProposed) {
  std::vector<std::string> scripts;
  std::string apart = kNorms;
  apart.replace(apart.find("kernel one {"), 12, "");
  apart.replace(apart.find('}'), 1, "");
  for (const Move& move : moves(parse_workload(apart, "w")).list) scripts.push_back(move.script);
  EXPECT_THAT(scripts, testing::Contains("fuse(fused; n, k)"));
}

// Why the program with this overlap is refused; empty if it is not.
std::string refusal(const std::string& overlapped) {
  return refusal_of([&] {
    parse_workload(R"(
workload w ranks 2
size T = 4, H = 3, F = 5
Tensor x(fp32, [T, H], Local)
Tensor w1(fp32, [H, F], Local)
Tensor w2(fp32, [F, H], Local)
Tensor w3(fp32, [H, T], Local)
Tensor row(fp32, [F], Replicated)
)" + overlapped + "\nreturn back",
                   "w");
  });
}

// Rows go through products and what is computed between them, where each reads rows of what was made before.
TEST(Overlaps, LetRowsThroughSeveralProducts) {
  EXPECT_EQ(refusal(R"(overlap o {
  there = AllToAll(x)
  up = MatMul(there, w1)
  kernel k {
    moved = up + row
    inner = ReLU(moved)
  }
  down = MatMul(inner, w2)
  back = AllToAll(down)
})"),
            "");
  const std::string none = "are not a pair that can be overlapped";
  // What is computed last is read by nobody in it.
  EXPECT_THAT(refusal("overlap o {\nthere = AllToAll(x)\nup = MatMul(there, w1)\nback = ReLU(up)\n}"),
              testing::HasSubstr("up and back " + none));
  // Its sum is complete only after the last row.
  EXPECT_THAT(
      refusal("overlap o {\nthere = AllToAll(x)\nup = MatMul(there, w1)\nkernel k {\ninner = ReLU(up)\n"
              "n = ReduceTensor(\"+\", inner)\n}\ndown = MatMul(inner, w2)\nback = AllToAll(down)\n}"),
      testing::HasSubstr("up and k " + none));
  // It is the second factor, all of which every row reads.
  EXPECT_THAT(refusal("overlap o {\nthere = AllToAll(x)\nup = MatMul(there, w1)\ninner = ReLU(up)\n"
                      "down = MatMul(w3, inner)\nback = AllReduce(\"+\", down)\n}"),
              testing::HasSubstr("up and inner " + none));
}

TEST(Overlaps, OfAllThatExpertsDoAreProposed) {
  const Workload moe =
      parse_workload(read_file(std::string(CHORALE_SOURCE) + "/examples/moe.chorale"), "moe");
  std::vector<std::string> scripts;
  for (const Move& move : moves(moe).list) scripts.push_back(move.script);
  EXPECT_THAT(scripts, testing::Contains("overlap(overlapped; there, up, inner, down, back)"));
  EXPECT_THAT(scripts, testing::Contains("overlap(overlapped; there, up)"));
  EXPECT_THAT(scripts, testing::Not(testing::Contains("overlap(overlapped; there, up, inner)")));
}

// A communication, and what does not depend on it, nor it on them.
TEST(Overlap, MayBeOfWhatDoesNotDependOnEachOther) {
  const std::string text = R"(
workload w ranks 2
size N = 4
Tensor x(fp32, [N, N], Local)
Tensor p(fp32, [N, N], Local)
Tensor q(fp32, [N, N], Replicated)
g = AllReduce("+", x)
a = MatMul(p, p)
e = q + 1
b = a + 1
c = b * g
h = AllReduce("max", x)
d = ReduceScatter("+", p, 0)
q_ = Update(q, AllReduce("+", x))
return c, h, d, e, q_
)";
  const auto refusal = [&](const std::string& script) { return refused(text, script); };
  EXPECT_EQ(refusal("overlap(o; g, a, b)"), "");
  EXPECT_EQ(refusal("fuse(k; b, c); overlap(o; h, a, k)"), "");
  EXPECT_THAT(refusal("overlap(o; g, c)"), testing::HasSubstr("are not a pair that can be overlapped"));
  EXPECT_THAT(refusal("overlap(o; h, g, a)"), testing::HasSubstr("does not read what"));
  EXPECT_THAT(refusal("overlap(o; g, a, b, c)"), testing::HasSubstr("does not read what"));
  EXPECT_THAT(refusal("overlap(o; e, q_)"), testing::HasSubstr("updates q, which e still reads"));
}

}  // namespace
}  // namespace chorale::test
