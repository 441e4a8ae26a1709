#include "tensor/language/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tensor/language/kernels.h"
#include "tests/tensor/workloads.h"

namespace chorale::test {
namespace {

using enum ElementType;
using Kind = OperationKind;

TEST(Promotion, IsThatOfPyTorch) {
  EXPECT_EQ(promoted(Int32, Float16), Float16);
  EXPECT_EQ(promoted(Float16, Bfloat16), Float32);
  EXPECT_EQ(promoted(Float16, Float32), Float32);
  EXPECT_EQ(promoted(Bfloat16, Float64), Float64);
  EXPECT_EQ(promoted(Float8E4m3, Bfloat16), Bfloat16);
  EXPECT_EQ(promoted(Float8E4m3, Float8E5m2), Float32);
  EXPECT_EQ(promoted(Int32, Float8E5m2), Float8E5m2);
  EXPECT_EQ(promoted(Int32, Int32), Int32);
}

constexpr TensorLayout kFlatSlices{.kind = LayoutKind::Sliced};

Operation input(const std::string& name, const std::vector<std::int64_t>& sides, TensorLayout layout,
                ElementType element = Float32) {
  return {.name = name, .type = {.element = element, .shape = shape(sides), .layout = layout}};
}

const ExpressionNode kFirst{.op = ExpressionOperator::Operand, .operand = 0},
    kSecond{.op = ExpressionOperator::Operand, .operand = 1};
Operation sum_of(const std::string& name, const std::string& a, const std::string& b) {
  return {.kind = Kind::Pointwise,
          .name = name,
          .operands = {a, b},
          .expression = {kFirst, kSecond, {.op = ExpressionOperator::Add}}};
}

// "a + b" of inputs of the types; or what was refused.
std::string type_of_sum(const Operation& a, const Operation& b) try {
  const Workload workload{.name = "w", .ranks = 3, .operations = {a, b}};
  return to_string(inferred_type(workload, sum_of("c", a.name, b.name), "here").or_throw());
} catch (const InputError& error) {
  return error.what();
}

// Sides are aligned at the end; slices stay along the same side, which has another number then.
TEST(PointwiseType, BroadcastsLayoutsWithShapes) {
  EXPECT_EQ(type_of_sum(input("a", {2, 6}, sliced(1)), input("b", {6}, sliced(0))), "fp32[2, 6] Sliced(1)");
  EXPECT_EQ(type_of_sum(input("a", {2, 1}, kReplicated), input("b", {7}, sliced(0))), "fp32[2, 7] Sliced(1)");
  EXPECT_EQ(type_of_sum(input("a", {6}, kFlatSlices), input("b", {}, kReplicated)), "fp32[6] Sliced(0)");
  EXPECT_EQ(type_of_sum(input("a", {5, 1}, kLocal), input("b", {5}, kLocal)), "fp32[5, 5] Local");
  EXPECT_EQ(type_of_sum(input("a", {5}, rooted(2)), input("b", {}, kReplicated)), "fp32[5] Rooted(2)");
  // Slices of [6, 1] along its first side are rows of the result; of [1, 6] along its first, of length 1,
  // they are not.
  EXPECT_EQ(type_of_sum(input("a", {6, 1}, sliced(0)), input("b", {6, 4}, sliced(0))),
            "fp32[6, 4] Sliced(0)");
  EXPECT_THAT(type_of_sum(input("a", {1, 4}, sliced(0)), input("b", {6, 4}, sliced(0))),
              testing::HasSubstr("along what it is sliced along"));
  EXPECT_THAT(type_of_sum(input("a", {6, 4}, sliced(0)), input("b", {6, 4}, kFlatSlices)),
              testing::HasSubstr("have other slices"));
}

// Layouts of results of two operands, each with every layout that it can have; "" is refused.
using LayoutTable = std::vector<std::vector<std::string>>;
LayoutTable layouts_of(Operation operation, const std::vector<std::int64_t>& a,
                       const std::vector<std::int64_t>& b) {
  const auto layouts = [](std::size_t dimensions) {
    std::vector<TensorLayout> all = {kReplicated, kLocal, kFlatSlices, rooted(0)};
    for (std::size_t d = 0; d < dimensions; ++d) all.push_back(sliced(static_cast<int>(d)));
    return all;
  };
  operation.operands = {"a", "b"};
  LayoutTable table;
  for (const TensorLayout& first : layouts(a.size())) {
    table.emplace_back();
    for (const TensorLayout& second : layouts(b.size())) {
      const Workload workload{
          .name = "w", .ranks = 2, .operations = {input("a", a, first), input("b", b, second)}};
      const OrError<TensorType> type = inferred_type(workload, operation, "here");
      table.back().push_back(type ? to_string((*type).layout) : "");
    }
  }
  return table;
}

// Rows and columns: Replicated, Local, flat, rooted, and slices of each dimension. What a rank can compute of
// rows that it has all of, by columns, and the reverse; from its part of the sums, a summand.
TEST(MatMulType, TakesWhatRanksCanComputeByThemselves) {
  const Operation matmul{.kind = Kind::MatMul, .name = "c"};
  EXPECT_EQ(layouts_of(matmul, {4, 6}, {6, 8}), (LayoutTable{{"Replicated", "Local", "", "", "", "Sliced(1)"},
                                                             {"Local", "Local", "", "", "", ""},
                                                             {"", "", "", "", "", ""},
                                                             {"", "", "", "", "", ""},
                                                             {"Sliced(0)", "", "", "", "", ""},
                                                             {"", "", "", "", "Local", ""}}));
  // A matrix for each of the first: slices of matrices need the same ones of both, which Replicated ones and
  // equal slices have.
  EXPECT_EQ(layouts_of(matmul, {3, 4, 6}, {3, 6, 8}),
            (LayoutTable{{"Replicated", "Local", "", "", "", "", "Sliced(2)"},
                         {"Local", "Local", "", "", "", "", ""},
                         {"", "", "", "", "", "", ""},
                         {"", "", "", "", "", "", ""},
                         {"Sliced(0)", "", "", "", "Sliced(0)", "", ""},
                         {"Sliced(1)", "", "", "", "", "", ""},
                         {"", "", "", "", "", "Local", ""}}));
}

// Images and windows: by images, by windows, or a summand of the channels of both.
TEST(ConvolutionType, TakesWhatRanksCanComputeByThemselves) {
  const Operation convolution{.kind = Kind::Convolution, .name = "c"};
  const std::vector<std::string> none(8);
  EXPECT_EQ(layouts_of(convolution, {2, 3, 5, 5}, {4, 3, 3, 3}),
            (LayoutTable{{"Replicated", "Local", "", "", "Sliced(1)", "", "", ""},
                         {"Local", "Local", "", "", "", "", "", ""},
                         none,
                         none,
                         {"Sliced(0)", "", "", "", "", "", "", ""},
                         {"", "", "", "", "", "Local", "", ""},
                         none,
                         none}));
  Workload workload{
      .name = "w",
      .operations = {input("a", {2, 3, 7, 5}, kReplicated), input("b", {4, 3, 3, 1}, kReplicated)}};
  const Operation strided{
      .kind = Kind::Convolution, .name = "c", .operands = {"a", "b"}, .stride = 2, .padding = 1};
  // (7 + 2 - 3) / 2 + 1 and (5 + 2 - 1) / 2 + 1.
  EXPECT_EQ(to_string(inferred_type(workload, strided, "here").or_throw()), "fp32[2, 4, 4, 4] Replicated");
}

Workload gathered() {
  return {
      .name = "w",
      .ranks = 2,
      .operations = {input("g", {5}, kLocal),
                     input("m", {5}, sliced(0)),
                     {.kind = Kind::ReduceScatter, .name = "rs", .operands = {"g"}, .layout = kFlatSlices},
                     sum_of("s", "rs", "m"),
                     {.kind = Kind::AllGather, .name = "ag", .operands = {"s"}}},
      .outputs = {"ag"}};
}

// Everything that can be written in two ways comes out in one.
TEST(Inferred, SaysThingsInOneWay) {
  Workload workload = gathered();
  workload.operations.push_back({.kind = Kind::Ranks, .name = "WORLD"});
  workload.operations.push_back({.kind = Kind::Rank, .name = "RANK"});
  // ag / WORLD, with operands in another order, and one that is not read.
  workload.operations.push_back({.kind = Kind::Pointwise,
                                 .name = "mean",
                                 .operands = {"WORLD", "m", "ag"},
                                 .expression = {{.op = ExpressionOperator::Operand, .operand = 2},
                                                kFirst,
                                                {.op = ExpressionOperator::Divide}},
                                 .stride = 5});
  const Workload result = inferred(workload, "here").or_throw();
  EXPECT_EQ(result.operations.front().name, "WORLD");
  EXPECT_EQ(find(result, "RANK"), nullptr);
  EXPECT_EQ(operation(result, "mean").operands, (std::vector<std::string>{"ag", "WORLD"}));
  EXPECT_EQ(operation(result, "mean").stride, 1);
  EXPECT_EQ(operation(result, "rs").layout, sliced(0));
  EXPECT_EQ(to_string(operation(result, "mean").type), "fp32[5] Replicated");
  EXPECT_EQ(inferred(result, "here").or_throw(), result);
}

TEST(Units, AreKernelsAndSingleOperations) {
  Workload workload = gathered();
  for (const int index : {2, 3}) workload.operations[index].kernel = "fused";
  workload = inferred(workload, "here").or_throw();
  const std::vector<Unit> all = units(workload);
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].kind, KernelKind::ReduceScatter);
  EXPECT_EQ(all[0].name, "fused");
  EXPECT_EQ(all[0].operations, (std::vector<int>{2, 3}));
  EXPECT_EQ(all[1].kind, KernelKind::Single);
  EXPECT_EQ(all[1].name, "ag");
  EXPECT_TRUE(kernel_faults(workload, {2, 3, 4}).empty());
  // The ReduceScatter is not what the AllGather gathers then, and what it gathers is not made there.
  ASSERT_FALSE(kernel_faults(workload, {2, 4}).empty());
}

TEST(Inferred, RefusesOverlapsThatNobodyCanDo) {
  Workload workload = gathered();
  workload.operations[2].overlap = workload.operations[3].overlap = "both";
  EXPECT_THROW(inferred(workload, "here").or_throw(), InputError);
}

}  // namespace
}  // namespace chorale::test
