#include "ir/epilogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tests/kit/refusal.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;
using testing::HasSubstr, testing::StartsWith;

const std::vector<EpilogueOperand> kOperands = {
    {.name = "bias"},
    {.name = "scale", .period = 1},
    {.name = "int",
     .type = ElementType::Uint8,
     .layout = OperandLayout::Sliced},  // a word of C++, and no word here
};

std::string read(const std::string& text) {
  return to_string(parse_expression(text, kOperands, "test"), kOperands);
}

TEST(Epilogue, OperatorsBindAsUsual) {
  EXPECT_EQ(read("x"), "x");
  EXPECT_EQ(read("(1 + (2 * x)) - index"), "1 + 2 * x - index");
  EXPECT_EQ(read("(8 / 4) / 2"), "8 / 4 / 2");
  EXPECT_EQ(read("8 / (4 / 2)"), "8 / (4 / 2)");
  EXPECT_EQ(read("-x * -bias"), "-x * -bias");
  EXPECT_EQ(read("-(x * bias)"), "-(x * bias)");
  EXPECT_EQ(read("- - x"), "--x");
  EXPECT_EQ(read("1 - -x"), "1 - -x");
  EXPECT_EQ(read("(x + 1) < (bias * 2)"), "x + 1 < bias * 2");
  EXPECT_EQ(read("x > 1"), "1 < x");
  EXPECT_EQ(read("x >= bias"), "bias <= x");
  EXPECT_EQ(read("x <= 1 == int"), "(x <= 1) == int");  // from left to right, as it was read before
  EXPECT_EQ(read("Select(int < 1, 0, (x + bias) * scale)"), "Select(int < 1, 0, (x + bias) * scale)");
  EXPECT_EQ(read("Max(Min(x, 1e3), -.5)+Sqrt(Exp(x))"), "Max(Min(x, 1000), -0.5) + Sqrt(Exp(x))");
  EXPECT_EQ(read(" ( ( x ) ) \t# a comment"), "x");
  EXPECT_EQ(read("Select(Random( 7 ) < 0.1, 0, Cast(fp16, Tanh(x)))"),
            "Select(Random(7) < 0.1, 0, Cast(fp16, Tanh(x)))");
  EXPECT_EQ(read("ReLU(x)"), "Max(x, 0)");
  EXPECT_EQ(read("Pow(Abs(x), 2) + Log(bias)"), "Pow(Abs(x), 2) + Log(bias)");
}

// Files of before epilogues were written as workloads are.
TEST(Epilogue, OlderSpellingsAreRead) {
  EXPECT_EQ(read("select((int < 1), 0, ((x + bias) * scale))"), "Select(int < 1, 0, (x + bias) * scale)");
  EXPECT_EQ(read("(max(min(x, 1000), (-0.5)) + sqrt(exp(x)))"), "Max(Min(x, 1000), -0.5) + Sqrt(Exp(x))");
  EXPECT_EQ(read("select((random(7) < 0.1), 0, float16(tanh(x)))"),
            "Select(Random(7) < 0.1, 0, Cast(fp16, Tanh(x)))");
  EXPECT_EQ(read("(pow(abs(x), 2) + log(bias))"), "Pow(Abs(x), 2) + Log(bias)");
  EXPECT_EQ(read("float32(float64(int32(int64(x)))) + int8(uint8(uint32(uint64(bfloat16(x)))))"),
            "Cast(fp32, Cast(fp64, Cast(int32, Cast(int64, x)))) + "
            "Cast(int8, Cast(uint8, Cast(uint32, Cast(uint64, Cast(bf16, x)))))");
  std::string sum = "x";  // 127 parentheses deep, as it was written
  for (int i = 0; i < 127; ++i) sum = "(" + sum + " + x)";
  EXPECT_EQ(parse_expression(sum, {}, "").size(), 255U);
}

// A tree of nodes at random, as a stack machine has them.
void add_random(Expression& expression, int depth, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const Op op = static_cast<Op>(depth == 0 ? below(5) : below(kExpressionOperators));
  for (int k = 0; k < arity(op); ++k) add_random(expression, depth - 1, random);
  ExpressionNode node{.op = op};
  if (op == Op::Constant) node.constant = below(2) == 0 ? below(100) : below(1'000'000) / 1024.0 * 1e-9;
  if (op == Op::Operand) node.operand = below(3);
  if (op == Op::Random) node.constant = below(1000);
  if (op == Op::Convert) node.operand = below(kElementTypes);
  expression.push_back(node);
}

TEST(Epilogue, TextIsReadBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    Epilogue epilogue{.operands = kOperands};
    add_random(epilogue.expression, i % 5, random);
    ASSERT_EQ(flaw(epilogue), "");
    const std::string text = to_string(epilogue.expression, kOperands);
    ASSERT_EQ(parse_expression(text, kOperands, "test"), epilogue.expression) << text;
    ASSERT_EQ(epilogue_from_json(to_json(epilogue), "test"), epilogue) << text;
  }
}

TEST(Epilogue, BadTextIsRefusedWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "1:1: found the end of the text, expected a value"},
      {"x +", "1:4: found the end of the text, expected a value"},
      {"x +\n  * 2", "2:3: found '*', expected a value"},
      {"random(x)", "1:8: found 'x', expected the number of a stream"},
      {"random", "1:1: 'random' is not an operand"},
      {"Random(1, 2)", "1:9: found ',', expected ')'"},
      {"Random(4294967296)", "1:8: found '4294967296', expected the number of a stream"},
      {"float16 x", "1:1: 'float16' is not an operand"},
      {"float16(x, x)", "1:1: 'float16' takes 1 value"},
      {"Cast(float16, x)", "1:6: found 'float16', expected an element type: fp64, fp32"},
      {"Cast(fp16)", "1:10: found ')', expected ','"},
      {"x x", "1:3: found 'x', expected an operator or the end"},
      {"(x", "1:3: found the end of the text, expected ')'"},
      {"x)", "1:2: found ')', expected an operator or the end"},
      {"x, 1", "1:2: found ','"},
      {"(x, 1)", "1:3: found ',', expected ')'"},
      {"min(x)", "1:1: 'min' takes 2 values"},
      {"Select(x, 1)", "1:1: 'Select' takes 3 values"},
      {"Sqroot(x)", "1:1: there is no operation 'Sqroot'"},
      {"Dropout(x, 0.1)", "1:1: there is no operation 'Dropout'"},
      {"sqrt", "1:1: 'sqrt' is not an operand"},
      {"mask + 1", "1:1: 'mask' is not an operand"},
      {"x % 2", "1:3: found '%', which begins no word"},
      {"* x", "1:1: found '*', expected a value"},
      {"\"x\"", "1:1: found 'x', expected a value"},
      {"1e999", "1:1: found the number 1e999, too large"},
      {".", "1:1: found '.', which begins no word"},
      {"1 + \xff", "1:5: found"},
  };
  for (const auto& [text, why] : bad) {
    const std::string said =
        test::refusal_of([&, words = text] { parse_expression(words, kOperands, "FILE"); });
    EXPECT_THAT(said, AllOf(StartsWith("FILE, expression:"), HasSubstr(why))) << text;
  }
  std::string wide = "x", deep = "x";
  for (int i = 0; i < 200; ++i) wide += "+x", deep = "-(" + deep + ")";
  EXPECT_THROW(parse_expression(wide, kOperands, ""), InputError);  // 401 nodes
  EXPECT_EQ(parse_expression(deep, kOperands, "").size(), 201U);    // a stack of one
  std::string right = "x";
  for (int i = 0; i < 16; ++i) right = "x+(" + right + ")";
  EXPECT_THROW(parse_expression(right, kOperands, ""), InputError);  // a stack of 17
  EXPECT_THROW(parse_expression(std::string(10'000, '(') + "x", kOperands, ""), InputError);
}

TEST(Epilogue, FlawsOfValues) {
  const auto of = [](const Expression& expression) {
    return flaw({.expression = expression, .operands = kOperands});
  };
  EXPECT_EQ(of({}), "");
  EXPECT_EQ(of({{.op = Op::Element}}), "");
  EXPECT_THAT(of({{.op = Op::Element}, {.op = Op::Add}}), HasSubstr("without its values"));
  EXPECT_THAT(of({{.op = Op::Element}, {.op = Op::Element}}), HasSubstr("several values"));
  EXPECT_THAT(of({{.op = Op::Operand, .operand = 3}}), HasSubstr("operand that it has not"));
  EXPECT_THAT(of({{.op = Op::Operand}}), HasSubstr("operand that it has not"));
  EXPECT_THAT(of({{.op = Op::Constant, .constant = -1}}), HasSubstr("constant"));
  EXPECT_THAT(of({{.op = Op::Constant, .constant = std::numeric_limits<double>::quiet_NaN()}}),
              HasSubstr("constant"));
  EXPECT_THAT(of({{.op = static_cast<Op>(kExpressionOperators)}}),
              HasSubstr("operator that there is none of"));
  EXPECT_THAT(of(Expression(17, {.op = Op::Element})), HasSubstr("nested too deeply"));
  for (const EpilogueOperand& bad :
       {EpilogueOperand{.name = "2x"}, EpilogueOperand{.name = "x"}, EpilogueOperand{.name = "min"},
        EpilogueOperand{}, EpilogueOperand{.name = "a", .period = -1},
        EpilogueOperand{.name = "a", .layout = OperandLayout::Sliced, .period = 2}})
    EXPECT_NE(flaw({.operands = {bad}}), "") << bad.name;
  EXPECT_NE(flaw({.operands = {{.name = "a"}, {.name = "a"}}}), "");
}

TEST(Epilogue, BadFilesAreRefused) {
  for (const char* text :
       {"{}", R"({"epilogue": 3})", R"({"epilogue": "x", "operand": []})",
        R"({"epilogue": "x", "operands": [{"name": "a", "type": "float"}]})",
        R"({"epilogue": "x", "operands": [{"name": "a", "layout": "local"}]})",
        R"({"epilogue": "x", "operands": [{"name": "a", "layout": "sliced", "period": 4}]})",
        R"({"epilogue": "x", "operands": [{"name": "exp"}]})",
        R"({"epilogue": "x", "operands": [{"name": "a", "period": -1}]})", R"({"epilogue": ""})"})
    EXPECT_THROW(epilogue_from_json(text, "FILE"), InputError) << text;
}

}  // namespace
}  // namespace chorale
