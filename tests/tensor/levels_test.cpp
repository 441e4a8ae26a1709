// Collectives on two levels: their types, what is refused, and that the tuner prefers them where links
// between groups are slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/language/text.h"
#include "tensor/transformations/transform.h"
#include "tensor/tuner/tune.h"
#include "tests/tensor/programs.h"
#include "tests/tensor/switch_prices.h"

namespace chorale::test {
namespace {

using testing::HasSubstr;

const std::string kSum = R"(
workload w
ranks 3
groups 2
size N = 7
size M = 4
Tensor x(fp32, [N, M], Local)
Tensor p(fp32, [N, M], Replicated)
Tensor m(fp32, [N, M], Replicated) state
Tensor e(fp32, [N, M], Sliced(0) EACH GROUP)
Scalar lr(fp32)
sum = AllReduce("+", x)
m_ = Update(m, 0.5 * m + sum / WORLD)
p_ = Update(p, p - lr * m_)
y = e * 2
return p_, y
)";

std::string type(const Workload& workload, const std::string& name) {
  return to_string(operation(workload, name).type);
}

TEST(Levels, AreSlicesOfEachGroupThatAreTheSame) {
  const Workload plain = parse_workload(kSum, "test");
  EXPECT_EQ(type(plain, "y"), "fp32[N, M] Sliced(0) EACH GROUP");
  const Workload w = transformed(plain, "levels(sum, rs, ar, Sliced(1)); reorder(sum; m_, p_); asSlice(m)");
  EXPECT_EQ(type(w, "rs"), "fp32[N, M] Sliced(1) GROUP");
  EXPECT_EQ(type(w, "ar"), "fp32[N, M] Sliced(1) EACH GROUP");
  EXPECT_EQ(type(w, "m"), "fp32[N, M] Sliced(1) EACH GROUP");
  EXPECT_EQ(type(w, "s_p_"), "fp32[N, M] Sliced(1) EACH GROUP");
  EXPECT_EQ(type(w, "p_"), "fp32[N, M] Replicated");
  const std::string text = to_text(w);
  EXPECT_THAT(text, HasSubstr("rs = ReduceScatter(\"+\", x, 1, GROUP)\nar = AllReduce(\"+\", rs, ACROSS)"));
  EXPECT_TRUE(parse_workload(text, "again") == w);
}

// A norm of slices is a sum within each group.
TEST(Levels, LeaveScalarsToEachGroup) {
  const Workload w = transformed(parse_workload(R"(
workload w ranks 2 groups 2
size N = 8
Tensor x(fp32, [N], Local)
Tensor p(fp32, [N], Replicated)
sum = AllReduce("+", x)
n = ReduceTensor("+", sum * p)
k = ReduceTensor("max", p)
y = sum / n + k
return y
)",
                                                "test"),
                                 "levels(sum, rs, ar); reorder(sum; n_1, n, k, y)");
  EXPECT_EQ(type(w, "s_n"), "fp32[] Local EACH GROUP");
  EXPECT_EQ(type(w, "n"), "fp32[] Replicated");
  EXPECT_THAT(to_text(w), HasSubstr("s_p = Slice(p, 0, GROUP)"));
  EXPECT_EQ(type(w, "y"), "fp32[N] Replicated");
}

TEST(Levels, AreRefusedWhereTheyAreNot) {
  std::string one = kSum;
  one.replace(one.find("groups 2"), 8, "groups 1");
  EXPECT_THAT(refused(one, "levels(sum, a, b)"),
              HasSubstr("levels sum: it is not a sum over several groups"));
  EXPECT_THAT(refused(kSum, "levels(m_, a, b)"), HasSubstr("only AllReduce can be done on two levels"));
  EXPECT_THAT(refused(kSum, "levels(sum, a, a)"), HasSubstr("a is the name of two things"));
  EXPECT_THAT(refused(kSum, "levels(sum, a, b, Sliced(2))"), HasSubstr("Sliced(2) is along dimension 2"));
  EXPECT_THAT(refused(kSum, "levels(sum, a, b); split(b, c)"),
              HasSubstr("split b: it is of one level of two"));
  EXPECT_THAT(refused(kSum, "levels(sum, a, b); levels(b, c, d)"),
              HasSubstr("not a sum over several groups"));
  EXPECT_THAT(refused(kSum, "levels(sum, a, b); join(sum)"), HasSubstr("what it reads, b, is AllReduce"));
  const auto with = [](const std::string& line) {
    return "workload w ranks 2 groups 2 size N = 4 Tensor x(fp32, [N], Local)\n"
           "Tensor r(fp32, [N], Replicated)\nTensor g(fp32, [N], Sliced(0) GROUP)\n"
           "Tensor e(fp32, [N], Local EACH GROUP)\n" +
           line + "\nreturn y\n";
  };
  for (const auto& [line, words] :
       {std::pair("y = AllReduce(\"+\", x, ACROSS)", "takes a tensor of all groups for ACROSS"),
        std::pair("y = AllReduce(\"+\", e, ACROSS)", "takes a tensor of all groups for ACROSS"),
        std::pair("y = ReduceScatter(\"+\", e, 0, GROUP)", "takes a tensor of the world for GROUP"),
        std::pair("y = AllReduce(\"+\", x, EACH)", "expected GROUP or ACROSS"),
        std::pair("y = Slice(r, 0, ACROSS)", "expected GROUP"),
        std::pair("Tensor t(fp32, [N], Local EACH GROUP 0)\ny = t + 1", "is of EACH GROUP, and not of all")})
    EXPECT_THAT(refused(with(line), ""), HasSubstr(words)) << line;
  for (const char* line : {"y = e + AllGather(g)", "y = AllReduce(\"+\", x, GROUP)"})
    EXPECT_EQ(refused(with(line), ""), "") << line;
}

TEST(Levels, AreFoundByTheTuner) {
  const Workload workload = parse_workload(kSum, "test");
  WorkloadPrices prices = switch_prices(workload, {.alpha_us = 5, .beta_us_per_byte = 1e-4});
  for (CollectivePrice& each : prices.collectives)  // links within groups are much faster
    if (each.scope == Scope::Group) each.link = {.alpha_us = 1, .beta_us_per_byte = 1e-6};
  const Workload large = parse_workload(kSum, "test", {.sizes = {{"N", 1 << 20}}});
  const TuneResult result = tune(large, {.prices = prices});
  const std::string& best = result.candidates.at(result.ranking.at(0)).script;
  EXPECT_THAT(best, HasSubstr("levels(sum, rs_sum, ar_sum"));
}

}  // namespace
}  // namespace chorale::test
