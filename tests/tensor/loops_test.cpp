// Loops are statements that are written once and read as often as they count: what they become can be
// compared with a text that has them written out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tensor/language/text.h"
#include "tensor/lowering/workload_source.h"
#include "tests/kit/refusal.h"

namespace chorale::test {
namespace {

using ::testing::HasSubstr;

std::string unrolled_text(const std::string& text, int ranks = 0) {
  const Workload workload = parse_workload(text, "w", {.ranks = ranks});
  EXPECT_EQ(parse_workload(to_text(workload), "printed"), workload);
  return to_text(workload);
}

const std::string kRound = R"(workload w
ranks 3
Tensor x(fp32, [4], Local)
loop i = 0 .. WORLD - 1, a = x, b = x {
  was = a
  a = Send(a, RANK + 1)
  b = b + was * i
}
return b
)";

// The last Send is left out: only another iteration would read it.
TEST(Loops, AreTheirStatementsWrittenOut) {
  EXPECT_EQ(unrolled_text(kRound), R"(workload w
ranks 3
groups 1
Tensor x(fp32, [4], Local)
a_0 = Send(x, RANK + 1)
b_0 = x + x * 0
a_1 = Send(a_0, RANK + 1)
b_1 = b_0 + a_0 * 1
b = b_1 + a_1 * 2
return b
)");
  EXPECT_EQ(unrolled_text(kRound, 1), R"(workload w
ranks 1
groups 1
Tensor x(fp32, [4], Local)
b = x + x * 0
return b
)");
}

// What a program returns is called the same without any iteration, too.
TEST(Loops, MayHaveNoIteration) {
  const std::string none =
      "workload w ranks 1 Tensor x(fp32, [4], Local) loop i = 1 .. WORLD - 1, a = x { "
      "loop j = 0 .. 1 { a = a + j } } return a";
  EXPECT_THAT(unrolled_text(none), HasSubstr("\na = x\nreturn a\n"));
}

// A program that is emitted has the iterations of the size that it was made for.
TEST(Loops, StandInLoopsAndFixSizes) {
  const std::string layers = R"(workload w
size L = 2, N = 3
Tensor w(fp32, [L, N], Replicated)
Tensor x(fp32, [1, N], Replicated)
loop l = 0 .. L - 1, y = x {
  loop k = 1 .. 2, z = y { z = z * k + Narrow(w, 0, l, 1) }
  y = z + l
}
return y
)";
  EXPECT_EQ(unrolled_text(layers), R"(workload w
ranks 2
groups 1
size L = 2 fixed
size N = 3
Tensor w(fp32, [L, N], Replicated)
Tensor x(fp32, [1, N], Replicated)
z_0_1_1 = Narrow(w, 0, 0, 1)
z_0_1 = x * 1 + z_0_1_1
z_0_2_1 = Narrow(w, 0, 0, 1)
z_0_2 = z_0_1 * 2 + z_0_2_1
y_0 = z_0_2 + 0
z_1_1_1 = Narrow(w, 0, 1, 1)
z_1_1 = y_0 * 1 + z_1_1_1
z_1 = Narrow(w, 0, 1, 1)
z = z_1_1 * 2 + z_1
y = z + 1
return y
)");
  EXPECT_THAT(to_workload_sources(parse_workload(layers, "w"), {}).or_throw()[0].text,
              HasSubstr("chorale::require(s.of_L == 2, \"w: size L must be 2\");"));
}

TEST(Loops, AreRefusedInOneLine) {
  const auto refused = [](const std::string& body) {
    return refusal_of([&] {
      parse_workload("workload w size N = 3 Tensor x(fp32, [N], Local) " + body + " return x", "w");
    });
  };
  EXPECT_EQ(refused("loop i = 0 .. 2, x = x { x = x + 1 }"),
            "w:1:67: 'x' is there already; carry it by a name that the loop alone gives");
  EXPECT_THAT(refused("loop x = 0 .. 2 { y = x + 1 }"), HasSubstr("'x' is there already"));
  // A number that hides a size, or a name that a number hides, would give another result without a word.
  EXPECT_THAT(refused("loop N = 0 .. 2 { y = x + N }"), HasSubstr("'N' is there already; count by another"));
  EXPECT_THAT(refused("loop i = 0 .. 2, i = x { y = x + i }"), HasSubstr("'i' is there already; carry it"));
  EXPECT_THAT(refused("loop i = 0 .. 2 { i = x + i }"), HasSubstr("'i' is there already, from w:1:55"));
  EXPECT_THAT(refused("loop i = 0 .. 2 { y = y + 1 }"), HasSubstr("there is no 'y'"));
  EXPECT_THAT(refused("loop i = 0 .. 2 { y = x + 1 y = x }"), HasSubstr("'y' is there already"));
  EXPECT_THAT(refused("loop i = 0 .. 2 { y = Reshape(x, [N, i]) }"), HasSubstr("a side of 0"));
  EXPECT_THAT(refused("loop i = 0 .. 2 { y = x + 1"), HasSubstr("or '}'"));
  EXPECT_THAT(refused("loop i = 0 .. 2^40 { }"), HasSubstr("one iteration too many; 1024 are the most"));
  EXPECT_THAT(refused("loop i = M .. 2 { }"), HasSubstr("there is no size 'M'"));
}

}  // namespace
}  // namespace chorale::test
