// What workloads mean, on programs that are small enough to be done by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "runtime/device/elements.h"
#include "runtime/device/epilogue.h"
#include "tests/tensor/interpreter.h"
#include "tests/tensor/workloads.h"

namespace chorale::test {
namespace {

using enum ElementType;
using enum OperationKind;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using Values = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- Numbers ---

// The answers that its authors publish with it (Random123, kat_vectors).
TEST(Philox, GivesItsKnownAnswers) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_THAT(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

// Neighbours of 1 in fp16 are 2^-10 above and 2^-11 below; the smallest is 2^-24, the largest 65504, and
// 65520 is half way to where the next one would be.
TEST(Rounding, OfHalvesIsToTheNearestOrEven) {
  const auto power = [](int e) { return std::ldexp(1.0, e); };
  EXPECT_EQ(rounded(Float16, 1 + power(-11)), 1);
  EXPECT_EQ(rounded(Float16, 1 + power(-11) + power(-20)), 1 + power(-10));
  EXPECT_EQ(rounded(Float16, 1 + 3 * power(-11)), 1 + power(-9));
  EXPECT_EQ(rounded(Float16, 1 - power(-12)), 1);
  EXPECT_EQ(rounded(Float16, power(-25)), 0);
  EXPECT_TRUE(std::signbit(rounded(Float16, -power(-25))));
  EXPECT_EQ(rounded(Float16, 1.5 * power(-25)), power(-24));
  EXPECT_EQ(rounded(Float16, 2.5 * power(-24)), 2 * power(-24));
  EXPECT_EQ(rounded(Float16, 65519), 65504);
  EXPECT_EQ(rounded(Float16, -65520), -kInfinity);
  EXPECT_EQ(rounded(Float16, 1e300), kInfinity);
  EXPECT_TRUE(std::isnan(rounded(Float16, std::nan(""))));
  EXPECT_EQ(rounded(Bfloat16, 1 + power(-8)), 1);
  EXPECT_EQ(rounded(Bfloat16, 1 + 3 * power(-8)), 1 + power(-6));
  EXPECT_EQ(rounded(Bfloat16, std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(rounded(Bfloat16, power(-133)), power(-133));  // its smallest
  EXPECT_EQ(rounded(Float32, 1 + power(-24)), 1);
  // By way of fp32, as halves are computed: to 1 + 2^-11, and from there to 1. At once it would be 1 + 2^-10.
  EXPECT_EQ(rounded(Float16, 1 + power(-11) + power(-40)), 1);
}

// Devices do it on bits, this on values: every half, every middle between two, and what is near to them.
TEST(Rounding, OfHalvesIsThatOfDevices) {
  std::mt19937_64 random(1);
  const auto expect_same = [](float x) {
    const auto bits = [](double a) { return std::isnan(a) ? 1 : std::bit_cast<std::uint64_t>(a); };
    ASSERT_EQ(bits(rounded(Float16, x)), bits(static_cast<float>(chorale::Float16(x)))) << x;
    ASSERT_EQ(bits(rounded(Bfloat16, x)), bits(static_cast<float>(chorale::Bfloat16(x)))) << x;
  };
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (std::uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2000u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u})
      expect_same(std::bit_cast<float>(high << 16 | low));
  for (int i = 0; i < 100000; ++i) expect_same(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
}

TEST(Rounding, OfIntegersTruncatesAndSaturates) {
  EXPECT_EQ(rounded(Int32, 2.9), 2);
  EXPECT_EQ(rounded(Int32, -2.9), -2);
  EXPECT_FALSE(std::signbit(rounded(Int32, -0.5)));
  EXPECT_EQ(rounded(Int32, 3e9), 2147483647);
  EXPECT_EQ(rounded(Int32, -3e9), -2147483648.0);
  EXPECT_EQ(rounded(Int32, std::nan("")), -2147483648.0);
  EXPECT_THROW(rounded(Int8, 1), std::logic_error);
}

// fp32: 2^24 + 1 is not there, so nothing is added; fp64 has it. Halves: computed in fp32 and rounded by who
// stores.
TEST(Folding, IsInTheTypeOfTheSum) {
  const double big = std::ldexp(1.0, 24);
  EXPECT_EQ(folded(Float32, ReduceOp::Sum, big, 1), big);
  EXPECT_EQ(folded(Float64, ReduceOp::Sum, big, 1), big + 1);
  EXPECT_EQ(folded(Float16, ReduceOp::Sum, 2048, 1), 2049);
  EXPECT_EQ(folded(Int32, ReduceOp::Sum, 2147483647, 1), -2147483648.0);
  for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
    EXPECT_TRUE(std::isnan(folded(Float32, op, NAN, 1)) && std::isnan(folded(Float32, op, 1, NAN)));
    EXPECT_TRUE(std::signbit(folded(Float32, op, -0.0, 0.0)) && std::signbit(folded(Float32, op, 0.0, -0.0)));
  }
  EXPECT_EQ(product(Int32, 65536, 65537), 65536);
  for (ElementType type : {Float64, Float32, Float16, Bfloat16, Float8E4m3, Float8E5m2, Int32})
    for (ReduceOp op : {ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max})
      EXPECT_EQ(folded(type, op, neutral(type, op), -3), -3) << to_string(type) << to_string(op);
}

TEST(Expressions, AreComputedInTheTypeOfTheResult) {
  const auto nothing = [](int) -> double { throw std::logic_error("no operands"); };
  // 1 + 2^-30 - 1: fp32 loses the small part before the subtraction.
  const Expression small = number(1) + number(std::ldexp(1.0, -30)) - number(1);
  EXPECT_EQ(computed(small, Float32, 0, 0, nothing), 0);
  EXPECT_EQ(computed(small, Float64, 0, 0, nothing), std::ldexp(1.0, -30));
  // 1/3 as an fp16 number is 1365/4096, whatever it is computed in.
  Expression third = number(1) / number(3);
  third.push_back({.op = ExpressionOperator::Convert, .operand = static_cast<int>(Float16)});
  EXPECT_EQ(computed(third, Float64, 0, 0, nothing), 1365.0 / 4096);
  // Select(1 <= 2, 3, 4) - Abs(Min(-5, 2)) = 3 - 5
  const Expression choice =
      apply_to(ExpressionOperator::Select, apply_to(ExpressionOperator::LessEqual, number(1), number(2)),
               number(3), number(4)) -
      apply_to(ExpressionOperator::Abs,
               apply_to(ExpressionOperator::Min, apply_to(ExpressionOperator::Negate, number(5)), number(2)));
  EXPECT_EQ(computed(choice, Float32, 0, 0, nothing), -2);
  // The first known answer: 0x6627e8 of 2^24.
  EXPECT_EQ(computed(random_number(0), Float32, 0, 0, nothing), 0x6627e8 * std::ldexp(1.0, -24));
  EXPECT_EQ(computed(random_number(7), Float64, 5 + (9LL << 32), 3 + (4ULL << 32), nothing),
            random_at<double>(3 + (4ULL << 32), 7, 5 + (9LL << 32)));
  EXPECT_THROW(computed({{.op = ExpressionOperator::Add}}, Float32, 0, 0, nothing), std::logic_error);
}

// --- Layouts ---

TEST(Layouts, SayWhatEachRankHas) {
  const Workload w{.ranks = 3};
  const Values five{0, 1, 2, 3, 4};
  EXPECT_THAT(laid_out(w, tensor(Float32, {5}, sliced(0)), {five}),
              ElementsAre(Values{0, 1}, Values{2, 3}, Values{4}));
  EXPECT_THAT(laid_out(w, tensor(Float32, {5}, rooted(1)), {five}), ElementsAre(Values{}, five, Values{}));
  EXPECT_THAT(laid_out(w, tensor(Float32, {2, 1}, sliced(0)), {{8, 9}}),
              ElementsAre(Values{8}, Values{9}, Values{}));
  // Columns 0 1 | 2 | 3, row by row.
  EXPECT_THAT(laid_out(w, tensor(Float32, {2, 4}, sliced(1)), {{0, 1, 2, 3, 4, 5, 6, 7}}),
              ElementsAre(Values{0, 1, 4, 5}, Values{2, 6}, Values{3, 7}));
  // All eight in a row.
  EXPECT_THAT(laid_out(w, tensor(Float32, {2, 4}, sliced(kFlat)), {{0, 1, 2, 3, 4, 5, 6, 7}}),
              ElementsAre(Values{0, 1, 2}, Values{3, 4, 5}, Values{6, 7}));
  EXPECT_THAT(laid_out(w, tensor(Float32, {1}, kLocal), {{5, 6, 7}}),
              ElementsAre(Values{5}, Values{6}, Values{7}));
  // The second of two groups; a scalar of all ranks.
  const Workload groups{.ranks = 2, .groups = 2};
  EXPECT_THAT(laid_out(groups, of_groups(tensor(Float32, {3}, sliced(0)), 1, 1), {{1, 2, 3}}),
              ElementsAre(Values{}, Values{}, Values{1, 2}, Values{3}));
  EXPECT_THAT(laid_out(groups, tensor(Float32, {}), {{4}}),
              ElementsAre(Values{4}, Values{4}, Values{4}, Values{4}));
}

TEST(Layouts, AreTakenApartAndPutTogether) {
  std::mt19937_64 random(2);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 2000; ++i) {
    const Workload w{.ranks = 1 + below(5), .groups = 1 + below(3)};
    std::vector<std::int64_t> sides;
    for (int d = below(4); d > 0; --d) sides.push_back(1 + below(6));
    const int dimensions = static_cast<int>(sides.size());
    TensorType type = tensor(Float64, sides);
    type.layout = {.kind = static_cast<LayoutKind>(below(4)), .dim = below(dimensions + 1) - 1};
    if (below(2)) {
      const int first = below(w.groups);
      type = of_groups(type, first, first + below(w.groups - first));
    }
    type.layout.root = below(ranks_of(w, type));
    const int tensors = type.scope == Scope::World ? 1 : type.last_group - type.first_group + 1;
    std::vector<Values> given(
        tensors, Values(elements(type) * (type.layout.kind == LayoutKind::Local ? ranks_of(w, type) : 1)));
    for (Values& values : given)
      for (double& x : values) x = below(1000);
    const RankValues values = laid_out(w, type, given);
    EXPECT_EQ(whole(w, type, values), given) << to_string(type);
    if (type.layout.kind == LayoutKind::Sliced) {  // each element is somewhere, once
      std::size_t count = 0;
      for (const Values& of_rank : values) count += of_rank.size();
      EXPECT_EQ(count, static_cast<std::size_t>(elements(type) * tensors)) << to_string(type);
    }
  }
}

TEST(Layouts, ReplicasAreTheSame) {
  const Workload w{.ranks = 2};
  EXPECT_THAT(
      [&] {
        whole(w, tensor(Float32, {2}), {{1, 2}, {1, 3}});
      },
      ThrowsMessage<std::logic_error>(HasSubstr("element 1 is 3 on rank 1 and 2 on another")));
  EXPECT_THAT(
      [&] {
        whole(w, tensor(Float32, {2}), {{1, 2}, {1}});
      },
      ThrowsMessage<std::logic_error>(HasSubstr("rank 1 has 1 elements")));
  EXPECT_THROW(laid_out(w, tensor(Float32, {2}), {{1}}), std::logic_error);
}

// --- Operations ---

// Runs with inputs as they are composed, and reports what ranks have of the output "y".
RankValues y_of(Workload w, const std::map<std::string, std::vector<Values>>& inputs) {
  w.outputs = {"y"};
  WorkloadState state;
  for (const auto& [name, values] : inputs)
    state.tensors[name] = laid_out(w, operation(w, name).type, values);
  return interpret(w, state, {.order = 5}).state.tensors.at("y");
}

Operation reduces(OperationKind kind, const std::string& name, const std::string& operand,
                  const TensorType& type, ReduceOp op = ReduceOp::Sum) {
  Operation operation = does(kind, name, {operand}, type);
  operation.reduction = op;
  operation.layout = type.layout;
  return operation;
}

TEST(Operations, GatherUnevenSlices) {
  const Workload w{.ranks = 3,
                   .operations = {input("x", tensor(Float32, {2, 4}, sliced(1))),
                                  does(AllGather, "y", {"x"}, tensor(Float32, {2, 4}))}};
  const Values all{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_THAT(y_of(w, {{"x", {all}}}), ElementsAre(all, all, all));
}

// Two ranks with (1 2 3) and (4 8 1).
TEST(Operations, Reduce) {
  const auto ask = [](OperationKind kind, TensorLayout layout, ReduceOp op) {
    const Workload w{.ranks = 2,
                     .operations = {input("x", tensor(Int32, {3}, kLocal)),
                                    reduces(kind, "y", "x", tensor(Int32, {3}, layout), op)}};
    return y_of(w, {{"x", {{1, 2, 3, 4, 8, 1}}}});
  };
  EXPECT_THAT(ask(AllReduce, kReplicated, ReduceOp::Sum), ElementsAre(Values{5, 10, 4}, Values{5, 10, 4}));
  EXPECT_THAT(ask(AllReduce, kReplicated, ReduceOp::Min), ElementsAre(Values{1, 2, 1}, Values{1, 2, 1}));
  EXPECT_THAT(ask(ReduceScatter, sliced(0), ReduceOp::Max), ElementsAre(Values{4, 8}, Values{3}));
  EXPECT_THAT(ask(OperationKind::Reduce, rooted(1), ReduceOp::Sum), ElementsAre(Values{}, Values{5, 10, 4}));
}

TEST(Operations, RoundTheSumAfterEachRank) {
  // 2048 + 1 is no fp16 number and becomes 2048 again, twice; 2048 + 2 is one.
  const Workload w{.ranks = 3,
                   .operations = {input("x", tensor(Float16, {1}, kLocal)),
                                  reduces(AllReduce, "y", "x", tensor(Float16, {1}))}};
  EXPECT_EQ(y_of(w, {{"x", {{2048, 1, 1}}}})[0], Values{2048});
  // A reduction on one rank is rounded once.
  const Workload alone{
      .operations = {input("x", tensor(Float16, {3})), reduces(ReduceTensor, "y", "x", tensor(Float16, {}))}};
  EXPECT_EQ(y_of(alone, {{"x", {{2048, 1, 1}}}})[0], Values{2050});
}

TEST(Operations, ReduceWhatEachRankHas) {
  // Of three elements on four ranks the last rank has none: the least of nothing is infinity.
  const auto ask = [](ReduceOp op) {
    const Workload w{.ranks = 4,
                     .operations = {input("x", tensor(Float32, {3}, sliced(0))),
                                    reduces(ReduceTensor, "y", "x", tensor(Float32, {}, kLocal), op)}};
    return y_of(w, {{"x", {{3, 4, 5}}}});
  };
  EXPECT_THAT(ask(ReduceOp::Sum), ElementsAre(Values{3}, Values{4}, Values{5}, Values{0}));
  EXPECT_THAT(ask(ReduceOp::Min), ElementsAre(Values{3}, Values{4}, Values{5}, Values{kInfinity}));
  const Workload w{.ranks = 2,
                   .operations = {input("x", tensor(Float32, {3}, rooted(1))),
                                  reduces(ReduceTensor, "y", "x", tensor(Float32, {}, rooted(1)))}};
  EXPECT_THAT(y_of(w, {{"x", {{3, 4, 5}}}}), ElementsAre(Values{}, Values{12}));
}

TEST(Operations, Broadcast) {
  const Workload w{.ranks = 2,
                   .operations = {input("x", tensor(Float32, {2}, rooted(1))),
                                  does(OperationKind::Broadcast, "y", {"x"}, tensor(Float32, {2}))}};
  EXPECT_THAT(y_of(w, {{"x", {{6, 7}}}}), ElementsAre(Values{6, 7}, Values{6, 7}));
}

// Rank 0 has 1 1 2 2 | 3 3 for itself and for rank 1: parts of a row of two.
TEST(Operations, ExchangeParts) {
  const Workload w{.ranks = 2,
                   .operations = {input("x", tensor(Float32, {2, 2}, kLocal)),
                                  does(AllToAll, "y", {"x"}, tensor(Float32, {2, 2}, kLocal))}};
  EXPECT_THAT(y_of(w, {{"x", {{1, 2, 3, 4, 5, 6, 7, 8}}}}),
              ElementsAre(Values{1, 2, 5, 6}, Values{3, 4, 7, 8}));
}

// Groups 0, 1, 2 of two ranks: what 0 has goes to 1, what 1 has to 2; nothing comes to 0. Back again
// likewise.
TEST(Operations, SendToTheNextGroup) {
  Workload w{.ranks = 2,
             .groups = 3,
             .operations = {input("x", of_groups(tensor(Float32, {3}, sliced(0)), 0, 2)),
                            does(Send, "y", {"x"}, of_groups(tensor(Float32, {3}, sliced(0)), 1, 2))}};
  const std::vector<Values> given{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  EXPECT_THAT(y_of(w, {{"x", given}}),
              ElementsAre(Values{}, Values{}, Values{1, 2}, Values{3}, Values{4, 5}, Values{6}));
  w.operations[1].shift = -1;
  w.operations[1].type.first_group = 0, w.operations[1].type.last_group = 1;
  EXPECT_THAT(y_of(w, {{"x", given}}),
              ElementsAre(Values{4, 5}, Values{6}, Values{7, 8}, Values{9}, Values{}, Values{}));
}

// Round the ranks of each group, of the world where it is of that, and back.
TEST(Operations, SendRoundARing) {
  Workload w{.ranks = 3,
             .groups = 2,
             .operations = {input("x", of_groups(tensor(Float32, {1}, kLocal), 0, 1)),
                            {.kind = Send,
                             .name = "y",
                             .operands = {"x"},
                             .type = of_groups(tensor(Float32, {1}, kLocal), 0, 1),
                             .around = true}}};
  EXPECT_THAT(y_of(w, {{"x", {{1, 2, 3}, {4, 5, 6}}}}),
              ElementsAre(Values{3}, Values{1}, Values{2}, Values{6}, Values{4}, Values{5}));
  w.operations[1].shift = -1;
  w.operations[0].type = w.operations[1].type = tensor(Float32, {1}, kLocal);
  EXPECT_THAT(y_of(w, {{"x", {{1, 2, 3, 4, 5, 6}}}}),
              ElementsAre(Values{2}, Values{3}, Values{4}, Values{5}, Values{6}, Values{1}));
}

TEST(Operations, CollectivesOfGroupsStayInThem) {
  const Workload w{.ranks = 2,
                   .groups = 2,
                   .operations = {input("x", of_groups(tensor(Float32, {1}, kLocal), 0, 1)),
                                  reduces(AllReduce, "y", "x", of_groups(tensor(Float32, {1}), 0, 1))}};
  EXPECT_THAT(y_of(w, {{"x", {{1, 2}, {10, 20}}}}),
              ElementsAre(Values{3}, Values{3}, Values{30}, Values{30}));
}

TEST(Operations, KnowTheirPlace) {
  const Workload w{
      .ranks = 2,
      .groups = 2,
      .operations = {does(Rank, "r", {}, tensor(Int32, {}, kLocal)),
                     does(Group, "g", {}, tensor(Int32, {}, kLocal)), does(Ranks, "n", {}, tensor(Int32, {})),
                     pointwise("y", {"r", "g", "n"}, tensor(Int32, {}, kLocal),
                               operand(0) + number(10) * operand(1) + number(100) * operand(2))}};
  EXPECT_THAT(y_of(w, {}), ElementsAre(Values{400}, Values{401}, Values{410}, Values{411}));
}

// A column, a row and a scalar: y[i][j] = 10 * x[i] + b[j] + s. The column is cut, so ranks have rows of y.
TEST(Operations, BroadcastAsPyTorchDoes) {
  const Workload w{.ranks = 2,
                   .operations = {input("x", tensor(Float32, {3, 1}, sliced(0))),
                                  input("b", tensor(Float32, {2})), input("s", tensor(Float32, {})),
                                  pointwise("y", {"x", "b", "s"}, tensor(Float32, {3, 2}, sliced(0)),
                                            number(10) * operand(0) + operand(1) + operand(2))}};
  EXPECT_THAT(y_of(w, {{"x", {{1, 2, 3}}}, {"b", {{4, 5}}}, {"s", {{100}}}}),
              ElementsAre(Values{114, 115, 124, 125}, Values{134, 135}));
}

// fp16 operands, fp32 result: 1 + 2^-11 is there; and once more with an fp16 result, where it is not.
TEST(Operations, RoundToTheirType) {
  for (ElementType type : {Float32, Float16}) {
    const Workload w{.operations = {input("x", tensor(Float16, {1})),
                                    pointwise("y", {"x"}, tensor(type, {1}), number(1) + operand(0))}};
    EXPECT_EQ(y_of(w, {{"x", {{std::ldexp(1.0, -11)}}}})[0][0],
              type == Float32 ? 1 + std::ldexp(1.0, -11) : 1);
  }
}

// Element 2 of the whole tensor has the same random number in a slice as in a replica, and on every rank.
TEST(Operations, DrawByTheIndexInTheWhole) {
  const auto ask = [](TensorLayout layout) {
    const Workload w{.ranks = 3,
                     .operations = {input("x", tensor(Float32, {2, 2}, layout)),
                                    pointwise("y", {"x"}, tensor(Float32, {2, 2}, layout),
                                              operand(0) + random_number(3))}};
    return whole(w, w.operations[1].type,
                 y_of(w, {{"x", {Values(layout.kind == LayoutKind::Local ? 12 : 4)}}}));
  };
  const std::vector<Values> drawn = ask(kReplicated);
  const double expected[] = {random_at<double>(0, 3, 0), random_at<double>(0, 3, 1),
                             random_at<double>(0, 3, 2), random_at<double>(0, 3, 3)};
  EXPECT_THAT(drawn, ElementsAre(ElementsAre(expected[0], expected[1], expected[2], expected[3])));
  EXPECT_EQ(ask(sliced(0)), drawn);
  EXPECT_EQ(ask(sliced(1)), drawn);
  EXPECT_EQ(ask(sliced(kFlat)), drawn);
  EXPECT_EQ(ask(rooted(2)), drawn);
  Values thrice;
  for (int rank = 0; rank < 3; ++rank) thrice.insert(thrice.end(), drawn[0].begin(), drawn[0].end());
  EXPECT_EQ(ask(kLocal)[0], thrice);
}

Workload product_of(int ranks, const TensorType& a, const TensorType& b, const TensorType& y) {
  return {.ranks = ranks, .operations = {input("a", a), input("b", b), does(MatMul, "y", {"a", "b"}, y)}};
}

// (1 2 3; 4 5 6) x (1 0; 0 1; 1 1) = (4 5; 10 11).
TEST(Operations, MultiplyMatrices) {
  const Values a{1, 2, 3, 4, 5, 6}, b{1, 0, 0, 1, 1, 1};
  const auto ask = [&](TensorLayout of_a, TensorLayout of_b, TensorLayout of_y) {
    return y_of(product_of(2, tensor(Float32, {2, 3}, of_a), tensor(Float32, {3, 2}, of_b),
                           tensor(Float32, {2, 2}, of_y)),
                {{"a", {a}}, {"b", {b}}});
  };
  EXPECT_EQ(ask(kReplicated, kReplicated, kReplicated)[1], (Values{4, 5, 10, 11}));
  EXPECT_THAT(ask(sliced(0), kReplicated, sliced(0)), ElementsAre(Values{4, 5}, Values{10, 11}));
  EXPECT_THAT(ask(kReplicated, sliced(1), sliced(1)), ElementsAre(Values{4, 10}, Values{5, 11}));
  // Rank 0 has columns 1 and 2 of a and rows 1 and 2 of b: partial sums, of which the other is (3 3; 6 6).
  EXPECT_THAT(ask(sliced(1), sliced(0), kLocal), ElementsAre(Values{1, 2, 4, 5}, Values{3, 3, 6, 6}));
}

// The mistake of another implementation: rows times columns is not a partial sum, since nobody has all of the
// rest.
TEST(Operations, DoNotMultiplyWhatIsNotThere) {
  EXPECT_THAT(
      [] {
        y_of(product_of(2, tensor(Float32, {2, 2}, sliced(0)), tensor(Float32, {2, 2}, sliced(1)),
                        tensor(Float32, {2, 2}, kLocal)),
             {{"a", {{1, 2, 3, 4}}}, {"b", {{1, 2, 3, 4}}}});
      },
      ThrowsMessage<std::logic_error>(HasSubstr("which has none")));
}

// Two products of a row and a column each: (1 2) (3; 4) = 11, and (5 6) (7; 8) = 83. With one matrix for
// both: 11, 39.
TEST(Operations, MultiplyBatchesOfMatrices) {
  const auto ask = [](const std::vector<std::int64_t>& sides, const Values& b) {
    return y_of(product_of(1, tensor(Float32, {2, 1, 2}), tensor(Float32, sides), tensor(Float32, {2, 1, 1})),
                {{"a", {{1, 2, 5, 6}}}, {"b", {b}}})[0];
  };
  EXPECT_EQ(ask({2, 2, 1}, {3, 4, 7, 8}), (Values{11, 83}));
  EXPECT_EQ(ask({2, 1}, {3, 4}), (Values{11, 39}));
}

Workload convolution_of(int ranks, const TensorType& x, const TensorType& w, const TensorType& y, int stride,
                        int padding) {
  Operation op = does(Convolution, "y", {"x", "w"}, y);
  op.stride = stride, op.padding = padding;
  return {.ranks = ranks, .operations = {input("x", x), input("w", w), op}};
}

// The image is 1 2 3 / 4 5 6 / 7 8 9.
TEST(Operations, Convolve) {
  const Values image{1, 2, 3, 4, 5, 6, 7, 8, 9}, ones(4, 1);
  const auto ask = [&](const Values& filter, std::int64_t side, int stride, int padding) {
    return y_of(convolution_of(1, tensor(Float32, {1, 1, 3, 3}), tensor(Float32, {1, 1, 2, 2}),
                               tensor(Float32, {1, 1, side, side}), stride, padding),
                {{"x", {image}}, {"w", {filter}}})[0];
  };
  EXPECT_EQ(ask(ones, 2, 1, 0), (Values{12, 16, 24, 28}));  // all squares of four
  EXPECT_EQ(ask(ones, 2, 2, 1),
            (Values{1, 5, 11, 28}));  // every other, from one left of and above the image on
  EXPECT_EQ(ask({1, 0, 0, 10}, 2, 1, 0),
            (Values{51, 62, 84, 95}));  // not turned round: w[0][0] meets the first one
}

// Two channels, of which the second counts tenfold; ranks with one channel each have partial sums. With a
// filter each, they have one channel of the result each.
TEST(Operations, ConvolveChannels) {
  const auto ask = [](TensorLayout of_x, TensorLayout of_w, TensorLayout of_y, std::int64_t filters,
                      const Values& w) {
    return y_of(
        convolution_of(2, tensor(Float32, {1, 2, 1, 2}, of_x), tensor(Float32, {filters, 2, 1, 1}, of_w),
                       tensor(Float32, {1, filters, 1, 2}, of_y), 1, 0),
        {{"x", {{1, 2, 3, 4}}}, {"w", {w}}});
  };
  EXPECT_EQ(ask(kReplicated, kReplicated, kReplicated, 1, {1, 10})[0], (Values{31, 42}));
  EXPECT_THAT(ask(sliced(1), sliced(1), kLocal, 1, {1, 10}), ElementsAre(Values{1, 2}, Values{30, 40}));
  EXPECT_THAT(ask(kReplicated, sliced(0), sliced(1), 2, {1, 10, 0, 1}),
              ElementsAre(Values{31, 42}, Values{3, 4}));
}

// --- Updates ---

TEST(Updates, StayInTheInput) {
  const Workload w{
      .operations = {input("m", tensor(Float32, {2})),
                     updating(pointwise("m_", {"m"}, tensor(Float32, {2}), operand(0) * number(2)), "m"),
                     pointwise("y", {"m_"}, tensor(Float32, {2}), operand(0) + number(1))},
      .outputs = {"y"}};
  const WorkloadRun run = interpret(w, {.tensors = {{"m", {{3, 4}}}}});
  EXPECT_EQ(run.state.tensors.at("m")[0], (Values{6, 8}));
  EXPECT_EQ(run.state.tensors.at("y")[0], (Values{7, 9}));
}

TEST(Updates, AreNotReadAroundAndNotMadeTwice) {
  Workload w{.operations = {input("m", tensor(Float32, {1})),
                            updating(pointwise("a", {"m"}, tensor(Float32, {1}), operand(0)), "m"),
                            pointwise("b", {"m"}, tensor(Float32, {1}), operand(0))}};
  EXPECT_THAT(
      [&] {
        interpret(w, {.tensors = {{"m", {{1}}}}});
      },
      ThrowsMessage<std::logic_error>(HasSubstr("b reads m after its update")));
  w.operations[2] = updating(pointwise("b", {"a"}, tensor(Float32, {1}), operand(0)), "m");
  EXPECT_THAT(
      [&] {
        interpret(w, {.tensors = {{"m", {{1}}}}});
      },
      ThrowsMessage<std::logic_error>(HasSubstr("m is updated twice")));
}

TEST(Inputs, AreWhatTheirTypesSay) {
  const Workload w{.ranks = 2, .operations = {input("x", tensor(Float16, {1}))}};
  EXPECT_THROW(interpret(w, {}), std::logic_error);
  EXPECT_THAT(
      [&] {
        interpret(w, {.tensors = {{"x", {{0.1}, {0.1}}}}});
      },
      ThrowsMessage<std::logic_error>(HasSubstr("0.1 is not of type fp16")));
  EXPECT_THROW(interpret(w, {.tensors = {{"x", {{1}, {2}}}}}), std::logic_error);
  EXPECT_THROW(interpret(w, {.tensors = {{"x", {{1}}}}}), std::logic_error);
}

// --- Kernels ---

// x is summed in slices, doubled there, and gathered.
Workload fused_allreduce(const std::string& kernel) {
  const TensorType slices = tensor(Float32, {5}, sliced(0));
  return {.ranks = 3,
          .operations = {input("x", tensor(Float32, {5}, kLocal)),
                         in_kernel(reduces(ReduceScatter, "s", "x", slices), kernel),
                         in_kernel(pointwise("d", {"s"}, slices, operand(0) * number(2)), kernel),
                         in_kernel(does(AllGather, "y", {"d"}, tensor(Float32, {5})), kernel)},
          .outputs = {"y"}};
}
// Rank r has r, r + 1 ..: sums 3, 6, 9, 12, 15.
const WorkloadState kCounting{.tensors = {{"x", {{0, 1, 2, 3, 4}, {1, 2, 3, 4, 5}, {2, 3, 4, 5, 6}}}}};

TEST(Kernels, MeanWhatTheirOperationsMeanInAnyOrder) {
  for (std::uint64_t order = 0; order < 50; ++order)
    for (const char* kernel : {"", "fused"})
      EXPECT_THAT(interpret(fused_allreduce(kernel), kCounting, {.order = order}).state.tensors.at("y"),
                  testing::Each(Values{6, 12, 18, 24, 30}));
}

// What a kernel makes is there for the same element only; who reads more is found in every order.
void expect_caught(const Workload& w, const WorkloadState& inputs, const std::string& why) {
  for (std::uint64_t order = 0; order < 50; ++order)
    EXPECT_THAT([&] { interpret(w, inputs, {.order = order}); },
                ThrowsMessage<std::logic_error>(HasSubstr(why)));
}

TEST(Kernels, DoNotReadWhatTheyGather) {
  Workload w = fused_allreduce("fused");
  w.operations.push_back(in_kernel(pointwise("z", {"y"}, tensor(Float32, {5}), operand(0)), "fused"));
  w.outputs = {"z"};
  expect_caught(w, kCounting, "z reads element");
}

TEST(Kernels, DoNotSumOverRanksWhatTheyMake) {
  Workload w{
      .ranks = 2,
      .operations = {input("x", tensor(Float32, {1}, kLocal)),
                     in_kernel(pointwise("d", {"x"}, tensor(Float32, {1}, kLocal), operand(0) * number(2)),
                               "k"),
                     in_kernel(reduces(AllReduce, "y", "d", tensor(Float32, {1})), "k")},
      .outputs = {"y"}};
  expect_caught(w, {.tensors = {{"x", {{1}, {2}}}}}, "y reads element 0 of d on rank");
}

TEST(Kernels, DoNotReadTheirReductions) {
  const Workload w{
      .operations = {input("x", tensor(Float32, {2})),
                     in_kernel(reduces(ReduceTensor, "s", "x", tensor(Float32, {})), "k"),
                     in_kernel(pointwise("y", {"x", "s"}, tensor(Float32, {2}), operand(0) / operand(1)),
                               "k")},
      .outputs = {"y"}};
  expect_caught(w, {.tensors = {{"x", {{1, 3}}}}}, "y reads element 0 of s on rank 0");
}

// The kernel comes by each element of the row three times.
TEST(Kernels, DoNotReduceTwice) {
  const Workload w{.operations = {input("x", tensor(Float32, {3, 2})), input("b", tensor(Float32, {2})),
                                  in_kernel(reduces(ReduceTensor, "s", "b", tensor(Float32, {})), "k"),
                                  in_kernel(pointwise("y", {"x"}, tensor(Float32, {3, 2}), operand(0)), "k")},
                   .outputs = {"y", "s"}};
  expect_caught(w, {.tensors = {{"x", {{1, 2, 3, 4, 5, 6}}}, {"b", {{1, 2}}}}}, "s reads element");
}

// The row is doubled again for each row of y: that is three times.
TEST(Kernels, DoNotUpdateTwice) {
  const Workload w{
      .operations = {input("x", tensor(Float32, {3, 2})), input("b", tensor(Float32, {2})),
                     in_kernel(
                         updating(pointwise("b_", {"b"}, tensor(Float32, {2}), operand(0) * number(2)), "b"),
                         "k"),
                     in_kernel(pointwise("y", {"x", "b_"}, tensor(Float32, {3, 2}), operand(0) + operand(1)),
                               "k")},
      .outputs = {"y"}};
  expect_caught(w, {.tensors = {{"x", {{1, 2, 3, 4, 5, 6}}}, {"b", {{1, 2}}}}}, "b_ reads element");
}

// The halved row is read by all rows, and by the time of the second one it is there no more.
TEST(Kernels, DoNotReadWhatTheyHaveUpdated) {
  const Workload w{
      .operations =
          {input("x", tensor(Float32, {3, 2})), input("c", tensor(Float32, {3, 1})),
           in_kernel(pointwise("y", {"x", "c"}, tensor(Float32, {3, 2}), operand(0) + operand(1)), "k"),
           in_kernel(updating(pointwise("c_", {"c"}, tensor(Float32, {3, 1}), operand(0) / number(2)), "c"),
                     "k")},
      .outputs = {"y"}};
  expect_caught(w, {.tensors = {{"x", {{1, 2, 3, 4, 5, 6}}}, {"c", {{1, 2, 3}}}}},
                "of c on rank 0, which is updated already");
}

// --- Overlaps ---

TEST(Overlaps, MeanWhatTheirUnitsMeanInAnyOrder) {
  const TensorType slices = tensor(Float32, {2, 2}, sliced(kFlat)), square = tensor(Float32, {2, 2});
  for (const char* overlap : {"", "o"}) {
    const Workload w{
        .ranks = 3,
        .operations = {input("a", tensor(Float32, {2, 4}, sliced(1))),
                       input("b", tensor(Float32, {4, 2}, sliced(0))),
                       overlapped(does(MatMul, "c", {"a", "b"}, tensor(Float32, {2, 2}, kLocal)), overlap),
                       overlapped(in_kernel(reduces(ReduceScatter, "s", "c", slices), "k"), overlap),
                       overlapped(in_kernel(pointwise("d", {"s"}, slices, operand(0) + number(1)), "k"),
                                  overlap),
                       overlapped(does(AllGather, "y", {"d"}, square), overlap)},
        .outputs = {"y"}};
    // (1 2 3 4; 5 6 7 8) x (1 0; 0 1; 1 0; 0 1) = (4 6; 12 14), and one more
    const WorkloadState inputs{
        .tensors = {{"a", laid_out(w, w.operations[0].type, {{1, 2, 3, 4, 5, 6, 7, 8}})},
                    {"b", laid_out(w, w.operations[1].type, {{1, 0, 0, 1, 1, 0, 0, 1}})}}};
    for (std::uint64_t order = 0; order < 50; ++order)
      EXPECT_THAT(interpret(w, inputs, {.order = order}).state.tensors.at("y"),
                  testing::Each(Values{5, 7, 13, 15}));
  }
}

// The kernel comes by an element of x again once its product is there: it has added nothing before.
TEST(Overlaps, ReduceOnceWhatHadToWait) {
  const TensorType square = tensor(Float32, {2, 2});
  const Workload w{
      .operations = {input("x", square), overlapped(does(MatMul, "c", {"x", "x"}, square), "o"),
                     overlapped(in_kernel(reduces(ReduceTensor, "s", "x", tensor(Float32, {})), "k"), "o"),
                     overlapped(in_kernel(pointwise("y", {"c"}, square, operand(0) + number(1)), "k"), "o")},
      .outputs = {"y", "s"}};
  for (std::uint64_t order = 0; order < 50; ++order) {
    const WorkloadRun run = interpret(w, {.tensors = {{"x", {{1, 2, 3, 4}}}}}, {.order = order});
    EXPECT_THAT(run.state.tensors.at("y"), testing::ElementsAre(Values{8, 11, 16, 23}));
    EXPECT_THAT(run.state.tensors.at("s"), testing::ElementsAre(Values{10}));
  }
}

// Each product reads a row of a, and the first sum of the row that comes puts its result there. In a random
// order one of six products comes after one of six sums in nearly every one of six rows.
TEST(Overlaps, DoNotUpdateWhatIsStillRead) {
  const TensorType square = tensor(Float32, {6, 6});
  const Workload w{.operations = {input("a", square), input("b", square),
                                  overlapped(does(MatMul, "c", {"a", "b"}, square), "o"),
                                  overlapped(updating(pointwise("y", {"c"}, square, operand(0)), "a"), "o")},
                   .outputs = {"y"}};
  expect_caught(w, {.tensors = {{"a", {Values(36, 1)}}, {"b", {Values(36, 1)}}}}, "which is updated already");
}

// --- Traffic ---

// Adam as it is written: AllReduce of the gradients, and the optimizer as one kernel. Elements moved a
// parameter: the AllReduce reads g and writes avg; the kernel reads avg, m, v, p and writes m, v, p: nine.
Workload adam(int ranks, std::int64_t n) {
  const TensorType all = tensor(Float32, {n});
  return {
      .ranks = ranks,
      .operations = {input("g", tensor(Float32, {n}, kLocal)), input("m", all), input("v", all),
                     input("p", all), reduces(AllReduce, "avg", "g", all),
                     in_kernel(
                         updating(pointwise("m_", {"m", "avg"}, all, number(0.5) * (operand(0) + operand(1))),
                                  "m"),
                         "opt"),
                     in_kernel(updating(pointwise("v_", {"v", "avg"}, all,
                                                  number(0.5) * (operand(0) + operand(1) * operand(1))),
                                        "v"),
                               "opt"),
                     in_kernel(updating(pointwise("p_", {"p", "m_", "v_"}, all,
                                                  operand(0) - operand(1) / apply_to(ExpressionOperator::Sqrt,
                                                                                     operand(2))),
                                        "p"),
                               "opt")},
      .outputs = {"p_"}};
}

// fuse(RS-Opt-AG): reads g, and of m, v, p a part; writes the same part of m and v, and all of p. With p
// ranks that is 1 + 3 / p + 2 / p + 1, and state of one p-th.
Workload fused_adam(int ranks, std::int64_t n) {
  Workload w = adam(ranks, n);
  const TensorType slices = tensor(Float32, {n}, sliced(0));
  w.operations[1].type = w.operations[2].type = slices;
  for (int i = 4; i < 8; ++i) w.operations[i].type = slices, w.operations[i].kernel = "opt";
  w.operations[4].kind = ReduceScatter;
  w.operations[7].name = "p_s", w.operations[7].updates = "";
  w.operations.push_back(
      updating(in_kernel(does(AllGather, "p_", {"p_s"}, tensor(Float32, {n})), "opt"), "p"));
  return w;
}

WorkloadRun run_adam(const Workload& w) {
  WorkloadState inputs;
  for (const char* name : {"g", "m", "v", "p"}) {
    const TensorType& type = operation(w, name).type;
    Values values(elements(type) * (*name == 'g' ? w.ranks : 1));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 7 + 1);
    inputs.tensors[name] = laid_out(w, type, {values});
  }
  return interpret(w, inputs);
}

std::int64_t moved(const WorkloadRun& run) {
  std::int64_t bytes = 0;
  for (const UnitTraffic& unit : run.traffic) bytes += unit.read + unit.written;
  return bytes;
}

TEST(Traffic, OfAdamFusedAndNot) {
  constexpr std::int64_t kBytes = 4;
  for (int ranks : {2, 8}) {
    const std::int64_t n = 8 * 24, part = n / ranks;
    const WorkloadRun plain = run_adam(adam(ranks, n)), fused = run_adam(fused_adam(ranks, n));
    EXPECT_EQ(plain.state.tensors.at("p_"), fused.state.tensors.at("p_"));
    ASSERT_EQ(plain.traffic.size(), 2u);
    EXPECT_EQ(plain.traffic[0].read, n * kBytes);
    EXPECT_EQ(plain.traffic[0].written, n * kBytes);
    EXPECT_EQ(plain.traffic[1].name, "opt");
    EXPECT_EQ(plain.traffic[1].read, 4 * n * kBytes);
    EXPECT_EQ(plain.traffic[1].written, 3 * n * kBytes);
    ASSERT_EQ(fused.traffic.size(), 1u);
    EXPECT_EQ(fused.traffic[0].read, (n + 3 * part) * kBytes);
    EXPECT_EQ(fused.traffic[0].written, (n + 2 * part) * kBytes);
    // The same is sent: 2 (p - 1) / p.
    EXPECT_EQ(plain.traffic[0].sent, 2 * (n - part) * kBytes);
    EXPECT_EQ(fused.traffic[0].sent, 2 * (n - part) * kBytes);
    // 9 against 4.5 elements with two ranks, 9 against 2.625 with eight.
    EXPECT_THAT(static_cast<double>(moved(plain)) / static_cast<double>(moved(fused)),
                DoubleEq(9 / (2 + 5.0 / ranks)));
    // State: one part of m and v instead of all.
    EXPECT_EQ(std::ssize(fused.state.tensors.at("m")[0]) * ranks, std::ssize(plain.state.tensors.at("m")[0]));
  }
}

// d = 2 x, y = d + d * b: apart, d is written and read again; in one kernel it is not, and b counts once,
// though every row reads it.
TEST(Traffic, OfAKernelAndItsParts) {
  const TensorType type = tensor(Float16, {8, 4});
  const auto ask = [&](const char* kernel) {
    const Workload w{
        .operations = {input("x", type), input("b", tensor(Float64, {4})),
                       in_kernel(pointwise("d", {"x"}, type, number(2) * operand(0)), kernel),
                       in_kernel(pointwise("y", {"d", "b"}, type, operand(0) + operand(0) * operand(1)),
                                 kernel)},
        .outputs = {"y"}};
    return interpret(w, {.tensors = {{"x", {Values(32, 1)}}, {"b", {Values(4, 1)}}}}).traffic;
  };
  const std::vector<UnitTraffic> parts = ask(""), kernel = ask("k");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].read, 64);
  EXPECT_EQ(parts[0].written, 64);
  EXPECT_EQ(parts[1].read, 64 + 32);
  EXPECT_EQ(parts[1].written, 64);
  ASSERT_EQ(kernel.size(), 1u);
  EXPECT_EQ(kernel[0].read, 64 + 32);
  EXPECT_EQ(kernel[0].written, 64);
}

// Five elements of eight bytes on three ranks; parts are 2, 2, 1.
TEST(Traffic, ThatIsSent) {
  const auto ask = [](OperationKind kind, TensorLayout from, TensorLayout to) {
    const Workload w{.ranks = 3,
                     .operations = {input("x", tensor(Float64, {5}, from)),
                                    reduces(kind, "y", "x", tensor(Float64, {5}, to))},
                     .outputs = {"y"}};
    const Values values(from.kind == LayoutKind::Local ? 15 : 5);
    return interpret(w, {.tensors = {{"x", laid_out(w, w.operations[0].type, {values})}}}).traffic.at(0).sent;
  };
  EXPECT_EQ(ask(AllReduce, kLocal, kReplicated), 2 * 4 * 8);
  EXPECT_EQ(ask(ReduceScatter, kLocal, sliced(0)), 4 * 8);
  EXPECT_EQ(ask(AllGather, sliced(0), kReplicated), 4 * 8);
  EXPECT_EQ(ask(OperationKind::Reduce, kLocal, rooted(2)), 5 * 8);
  EXPECT_EQ(ask(OperationKind::Broadcast, rooted(2), kReplicated), 5 * 8);
  // A send of slices: the largest of those that send. The second group sends nothing.
  const Workload w{.ranks = 3,
                   .groups = 2,
                   .operations = {input("x", of_groups(tensor(Float64, {5}, sliced(0)), 0, 1)),
                                  does(Send, "y", {"x"}, of_groups(tensor(Float64, {5}, sliced(0)), 1, 1))}};
  const WorkloadState inputs{.tensors = {{"x", laid_out(w, w.operations[0].type, {Values(5), Values(5)})}}};
  EXPECT_EQ(interpret(w, inputs).traffic.at(0).sent, 2 * 8);
}

}  // namespace
}  // namespace chorale::test
