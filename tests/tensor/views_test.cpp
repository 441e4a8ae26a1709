// What moves elements, on numbers that can be followed by hand, whole and in slices; and what has no type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/language/text.h"
#include "tensor/lowering/workload_source.h"
#include "tensor/transformations/transform.h"
#include "tests/kit/refusal.h"
#include "tests/tensor/interpreter.h"

namespace chorale::test {
namespace {

// x is [2, 3] with 0 to 5, i is [3] with 1, -1, 0, and j is [2] with 2, 2.
std::vector<double> result_of(const std::string& statement, const std::string& layout,
                              const std::string& layout_of_numbers = "Replicated") {
  const Workload workload = parse_workload(
      "workload w ranks 2 Tensor x(fp32, [2, 3], " + layout + ") Tensor i(int32, [3], " + layout_of_numbers +
          ") Tensor j(int32, [2], " + layout_of_numbers + ") y = " + statement + " return y",
      "w");
  WorkloadState state;
  const auto give = [&](const std::string& name, const std::vector<double>& values) {
    state.tensors[name] = laid_out(workload, operation(workload, name).type, {values});
  };
  give("x", {0, 1, 2, 3, 4, 5});
  give("i", {1, -1, 0});
  give("j", {2, 2});
  const TensorType& type = operation(workload, "y").type;
  return whole(workload, type, interpret(workload, state, {}).state.tensors.at("y"))[0];
}

using ::testing::ElementsAre;

TEST(Views, MoveElements) {
  for (const char* layout : {"Replicated", "Sliced(0)", "Sliced(1)"})
    EXPECT_THAT(result_of("Transpose(x, 0, 1)", layout), ElementsAre(0, 3, 1, 4, 2, 5)) << layout;
  for (const char* layout : {"Replicated", "Sliced(flat)"})
    EXPECT_THAT(result_of("Reshape(x, [3, 2]) + 1", layout), ElementsAre(1, 2, 3, 4, 5, 6)) << layout;
  EXPECT_THAT(result_of("Reshape(x, [2, 1, 3])", "Sliced(0)"), ElementsAre(0, 1, 2, 3, 4, 5));
  for (const char* layout : {"Replicated", "Sliced(0)", "Rooted(1)"}) {
    EXPECT_THAT(result_of("Narrow(x, 1, 1, 2)", layout), ElementsAre(1, 2, 4, 5)) << layout;
    EXPECT_THAT(result_of("Concat(1, x, Narrow(x, 1, 0, 1))", layout), ElementsAre(0, 1, 2, 0, 3, 4, 5, 3))
        << layout;
  }
}

TEST(Views, TakeRowsByTheirNumbers) {
  for (const char* layout : {"Replicated", "Sliced(1)"}) {
    EXPECT_THAT(result_of("GatherRows(x, i)", layout), ElementsAre(3, 4, 5, 0, 0, 0, 0, 1, 2)) << layout;
    EXPECT_THAT(result_of("ScatterRows(x, j, 3)", layout), ElementsAre(0, 0, 0, 0, 0, 0, 3, 5, 7)) << layout;
  }
  EXPECT_THAT(result_of("GatherRows(x, i)", "Replicated", "Sliced(0)"),
              ElementsAre(3, 4, 5, 0, 0, 0, 0, 1, 2));
  // Each rank has a row, and adds it to a tensor of its own.
  EXPECT_THAT(result_of("AllReduce(\"+\", ScatterRows(x, j, 3))", "Sliced(0)", "Sliced(0)"),
              ElementsAre(0, 0, 0, 0, 0, 0, 3, 5, 7));
}

// Of three rows of numbers the first is put to row 1, the second nowhere, and the last to row 0.
TEST(Views, PutRowsAndLeaveTheOthers) {
  const std::string rows = "Expand(Cast(fp32, 10 * Index(0) + Index(1)), [3, 3])";
  EXPECT_THAT(result_of("PutRows(x, " + rows + ", i)", "Replicated"), ElementsAre(20, 21, 22, 0, 1, 2));
  EXPECT_THAT(result_of("PutRows(x, Slice(" + rows + ", 1), i)", "Sliced(1)"),
              ElementsAre(20, 21, 22, 0, 1, 2));
  EXPECT_THAT(result_of("PutRows(x, Expand(0.5, [2, 3]), j - 1)", "Replicated"),
              ElementsAre(0, 1, 2, 0.5, 0.5, 0.5));
}

TEST(Along, AddUpFindTheLargestAndTakeThem) {
  for (const char* layout : {"Replicated", "Sliced(0)", "Rooted(1)"}) {
    EXPECT_THAT(result_of("ScanAlong(\"+\", x, 1)", layout), ElementsAre(0, 1, 3, 3, 7, 12)) << layout;
    EXPECT_THAT(result_of("ScanAlong(\"max\", 3 - x, 1)", layout), ElementsAre(3, 3, 3, 0, 0, 0)) << layout;
    EXPECT_THAT(result_of("TopK(x, 1, 2)", layout), ElementsAre(2, 1, 2, 1)) << layout;
    EXPECT_THAT(result_of("TakeAlong(x, TopK(x, 1, 2), 1)", layout), ElementsAre(2, 1, 5, 4)) << layout;
    // Of equals the first one; a sort is all of them.
    EXPECT_THAT(result_of("TopK(Select(x == 4, 4, 1), 1, 3)", layout), ElementsAre(0, 1, 2, 1, 0, 2))
        << layout;
  }
  EXPECT_THAT(result_of("AllReduce(\"max\", ReduceTensor(\"max\", ScanAlong(\"+\", x, 0)))", "Sliced(1)"),
              ElementsAre(7));
  EXPECT_THAT(result_of("TakeAlong(x, TopK(x, 0, 1) - 1, 0)", "Sliced(1)"), ElementsAre(0, 1, 2));
  EXPECT_THAT(result_of("TakeAlong(x, TopK(x, 0, 1) + 1, 0)", "Sliced(1)"), ElementsAre(0, 0, 0));
}

TEST(Views, AreRefusedWhereRanksDoNotHaveTheElements) {
  const auto refused = [](const std::string& statement, const std::string& layout) {
    return test::refusal_of([&] { result_of(statement, layout); }, "nothing");
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refused("Transpose(x, 0, 0)", "Local"), HasSubstr("two different dimensions"));
  EXPECT_THAT(refused("Transpose(x, 0, 2)", "Local"), HasSubstr("dimension 2, counted from 0, is none of"));
  EXPECT_THAT(refused("Transpose(x, 0, 1)", "Sliced(flat)"), HasSubstr("flat slices"));
  EXPECT_THAT(refused("Reshape(x, [7])", "Local"), HasSubstr("does not have the elements of [7]"));
  EXPECT_THAT(refused("Reshape(x, [3, 2])", "Sliced(1)"), HasSubstr("are none along a dimension of [3, 2]"));
  EXPECT_THAT(refused("Narrow(x, 1, 2, 2)", "Local"), HasSubstr("2 elements from 2 on are not in 3"));
  EXPECT_THAT(refused("Narrow(x, 1, 0, 2)", "Sliced(1)"), HasSubstr("sliced along that dimension"));
  EXPECT_THAT(refused("Concat(0, x, i)", "Replicated"), HasSubstr("differ in more than the length"));
  EXPECT_THAT(refused("Concat(0, x, x)", "Sliced(0)"), HasSubstr("sliced along that dimension"));
  EXPECT_THAT(refused("GatherRows(x, x)", "Replicated"), HasSubstr("has the numbers of rows"));
  EXPECT_THAT(refused("GatherRows(x, i)", "Sliced(0)"), HasSubstr("no rank can compute its part"));
  EXPECT_THAT(refused("ScanAlong(\"+\", x, 1)", "Sliced(1)"), HasSubstr("sliced along that dimension"));
  EXPECT_THAT(refused("TopK(x, 1, 4)", "Local"), HasSubstr("4 of x (fp32[2, 3] Local) along dimension 1"));
  EXPECT_THAT(refused("TakeAlong(x, x, 1)", "Local"), HasSubstr("Cast it to int32"));
  EXPECT_THAT(refused("TakeAlong(x, TopK(Transpose(x, 0, 1), 1, 1), 1)", "Local"),
              HasSubstr("differ in more than the length of dimension 1"));
  EXPECT_THAT(refused("ScatterRows(x, i, 3)", "Replicated"), HasSubstr("has not a row for each"));
  EXPECT_THAT(refused("PutRows(x, x, i)", "Replicated"), HasSubstr("has not a row of x"));
  EXPECT_THAT(refused("PutRows(x, Expand(0.5, [3, 3]), i)", "Sliced(0)"), HasSubstr("no rank can compute"));
  EXPECT_THAT(refused("Expand(x, [2, 4])", "Replicated"), HasSubstr("does not broadcast to [2, 4]"));
}

// Rows by counts, on three ranks: in the order of the ranks that they come from, with zeros for rows that a
// rank does not have, and without those that the result has no room for.
TEST(Views, ExchangeRowsByCounts) {
  const Workload workload = parse_workload(R"(
workload w ranks 3
Tensor x(fp32, [3], Local)
Tensor n(int32, [6], Local)
y = AllToAllV(x, n, 4)
back = AllToAllV(y, AllToAll(n), 3)
return y, back
)",
                                           "w");
  const RankValues x = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  // Rank 0 sends one row to rank 1, two to rank 2; rank 1 two, none and two; rank 2 all to rank 1.
  const RankValues n = {{0, 0, 1, 0, 1, 1}, {1, 1, -3, 0, 0, 2}, {0, 0, 0, 5, 1, 0}};
  const WorkloadRun run = interpret(workload, {.tensors = {{"x", x}, {"n", n}}}, {});
  EXPECT_EQ(run.state.tensors.at("y"), (RankValues{{4, 5, 0, 0}, {1, 7, 8, 9}, {2, 3, 6, 0}}));
  // What had no room is zero, and so is what was never there.
  EXPECT_EQ(run.state.tensors.at("back"), (RankValues{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}));
}

// Another shape is the same memory, but where that changes afterwards, or the caller is to have it.
TEST(Views, OtherShapesCopyNothing) {
  const auto copies = [](const std::string& statements) {
    const Workload workload = parse_workload(
        "workload w Tensor x(fp32, [2, 3], Replicated) Tensor m(fp32, [2, 3], Local) " + statements, "w");
    const std::string text = to_workload_sources(workload, {}).or_throw()[0].text;
    return text.find("device_.copy(") != text.npos;
  };
  EXPECT_FALSE(copies("y = MatMul(Reshape(Reshape(x, [6]), [3, 2]), x) return y"));
  EXPECT_FALSE(copies("y = Reshape(m * 2, [6]) + 1 return y"));
  EXPECT_TRUE(copies("y = Reshape(x, [6]) return y"));
  EXPECT_TRUE(copies("r = Reshape(m, [6]) n = Update(m, m + 1) y = r + 1 return y"));
}

// Heads of attention: columns of slices become heads, and back.
TEST(Views, KeepSlicesThatTheRanksDivide) {
  const Workload workload = parse_workload(R"(
workload w ranks 2
size B = 3, h = 4, D = 5
Tensor x(fp32, [B, h*D], Sliced(1))
Tensor a(fp32, [h, B, D], Sliced(0))
heads = Reshape(x, [B, h, D])
first = Transpose(heads, 0, 1)
scores = MatMul(first, Transpose(a, 1, 2))
back = Reshape(Transpose(MatMul(scores, a), 0, 1), [B, h*D])
return back
)",
                                           "w");
  EXPECT_EQ(to_string(operation(workload, "heads").type), "fp32[B, h, D] Sliced(1)");
  EXPECT_EQ(to_string(operation(workload, "scores").type), "fp32[h, B, B] Sliced(0)");
  EXPECT_EQ(to_string(operation(workload, "back").type), "fp32[B, D*h] Sliced(1)");
}

}  // namespace
}  // namespace chorale::test
