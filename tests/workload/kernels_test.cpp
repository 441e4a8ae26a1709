// Kernels that are allowed compute what their operations compute one after the other, on the interpreter, which goes
// through their elements in any order and keeps nothing from one to the next.
#include "workload/kernels.h"

#include <gtest/gtest.h>

#include "semantics/workload_machine.h"
#include "workload/text.h"

namespace chorale::test {
namespace {

std::string without_kernels(std::string text) {
  for (std::size_t at = text.find("kernel"); at != std::string::npos; at = text.find("kernel")) {
    text.erase(at, text.find('{', at) - at + 1);
    text.erase(text.find('}'), 1);
  }
  return text;
}

// Whole numbers, so that sums are exact in any order.
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

}  // namespace
}  // namespace chorale::test
