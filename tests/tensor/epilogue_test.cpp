// Functions that follow sums: what executors make of them, against the verifier of runtime/epilogue.h.
#include "runtime/epilogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "codegen/epilogue_source.h"
#include "construct/baselines/classic.h"
#include "ir/error.h"
#include "ir/expression_value.h"
#include "ir/files.h"
#include "runtime/block_executor.h"
#include "runtime/device/element_types.h"
#include "runtime/peer_executor.h"
#include "runtime/run.h"
#include "semantics/verify_blocks.h"
#include "semantics/verify_program.h"
#include "tests/codegen/passes_alone.h"
#include "tests/kit/random.h"
#include "tests/runtime/everything.h"
#include "tests/tensor/meaning.h"
#include "topology/builders.h"

namespace chorale::test {
namespace {

using Op = ExpressionOperator;

void add_random(Epilogue& epilogue, int depth, std::mt19937& random) {
  const int operators = depth == 0 ? (epilogue.operands.empty() ? 3 : 5) : kExpressionOperators;
  Op op = static_cast<Op>(below(random, operators));
  if (op == Op::Operand && epilogue.operands.empty()) op = Op::Element;
  for (int k = 0; k < arity(op); ++k) add_random(epilogue, depth - 1, random);
  ExpressionNode node{.op = op};
  if (op == Op::Constant) node.constant = below(random, 9) / 4.0;
  if (op == Op::Random) node.constant = below(random, 3);
  if (op == Op::Convert) node.operand = below(random, kElementTypes);
  if (op == Op::Operand) node.operand = below(random, static_cast<int>(epilogue.operands.size()));
  epilogue.expression.push_back(node);
}

// With tensors of all types and layouts.
Epilogue random_epilogue(std::mt19937& random) {
  Epilogue epilogue;
  for (int k = below(random, 4); k > 0; --k) {
    const bool sliced = below(random, 2) == 0;
    epilogue.operands.push_back({.name = "t" + std::to_string(k),
                                 .type = all_types[static_cast<std::size_t>(below(random, 10))],
                                 .layout = sliced ? OperandLayout::Sliced : OperandLayout::Replicated,
                                 .period = sliced ? 0 : below(random, 3) * 7});
  }
  add_random(epilogue, 3, random);
  return epilogue;
}

struct Example {
  Topology topology;
  Collective collective;
  Program program;
};

Example spread_example(const std::string& name, int ranks, int chunks) {
  const Topology topology = named_topology("full:" + std::to_string(ranks));
  const Point point = classic_algorithm(name, topology, {.chunks = chunks});
  return {topology, point.collective, lower(topology, point.collective, point.schedule)};
}

// Of some type that the round has drawn, sizes that chunks do not divide.
RunOptions options(std::mt19937& random) {
  return {.bytes = {0, 8, 8 * (1 + below(random, 60))},
          .types = {all_types[static_cast<std::size_t>(below(random, 10))]},
          .ops = {below(random, 3) == 0 ? ReduceOp::Avg : ReduceOp::Sum},
          .iterations = 1,
          .warm_up = 0,
          .accumulation = below(random, 3) == 0 ? Accumulation::Float32 : Accumulation::OwnType};
}

// Three forms, three executors, two ways to lie in memory: none differs from the verifier.
TEST(Epilogue, AllExecutorsDoTheSame) {
  std::mt19937 random(2);
  const std::vector<Example> examples = {spread_example("ring_allreduce", 3, 3),
                                         spread_example("ring_reducescatter", 4, 1),
                                         spread_example("recursive_doubling_allreduce", 4, 2),
                                         spread_example("binomial_reduce", 5, 2),
                                         spread_example("recursive_halving_reducescatter", 4, 2),
                                         spread_example("one_shot_allreduce", 3, 1)};
  for (int round = 0; round < 60; ++round) {
    const Example& given = examples[static_cast<std::size_t>(round) % examples.size()];
    const Epilogue epilogue = random_epilogue(random);
    const RunOptions how = options(random);
    for (const bool one_memory : {false, true}) {
      const Program apart =
          one_memory ? in_place(given.topology, given.collective, given.program) : given.program;
      const Program program = with_epilogue(given.topology, given.collective, apart, epilogue);
      const std::string words = given.program.name + ": " + to_string(epilogue.expression, epilogue.operands);
      EXPECT_EQ(wrong(run_on_threads(program, given.collective, how)), 0) << words;
      if (!one_memory || how.accumulation == Accumulation::OwnType) {
        const PeerProgram peers = to_peers(given.collective, program);
        EXPECT_EQ(wrong(run_peers_on_threads(peers, given.collective, how)), 0) << words;
      }
      const BlockProgram blocks =
          relax(given.collective, with_epilogue(given.topology, given.collective, given.program, epilogue),
                {.in_place = one_memory});
      EXPECT_EQ(wrong(run_blocks_on_threads(blocks, given.collective, how, {.in_place = one_memory})), 0)
          << words;
    }
  }
}

// An expression as a tree, which writes itself with parentheses around everything, in words of now or of
// before, and has its value by recursion: slow, obvious, and without the parser, the printer, the evaluator
// and the stack machine.
struct Tree {
  Op op = Op::Constant;
  int number = 0;  // of a constant in quarters, an operand, a stream, a type
  std::vector<Tree> of = {};
};

Tree random_tree(int depth, std::mt19937& random) {
  Tree tree{.op = static_cast<Op>(below(random, depth == 0 ? 5 : kExpressionOperators))};
  tree.number = below(random, tree.op == Op::Convert ? kElementTypes : 3);
  for (int k = 0; k < arity(tree.op); ++k) tree.of.push_back(random_tree(depth - 1, random));
  return tree;
}

std::string written(const Tree& tree, bool older) {
  constexpr const char* kWords[] = {"",    "x",    "index", "",   "Random", "-",   "Sqrt",  "Exp",
                                    "Log", "Tanh", "Abs",   "",   "+",      "-",   "*",     "/",
                                    "Min", "Max",  "<",     "<=", "==",     "Pow", "Select"};
  constexpr const char* kCasts[] = {"fp32",   "fp64",   "int32", "int64", "int8", "uint8",
                                    "uint32", "uint64", "fp16",  "bf16",  "e4m3", "e5m2"};
  static_assert(std::size(kCasts) == kElementTypes);
  std::string word = kWords[static_cast<int>(tree.op)];
  if (older && !word.empty()) word[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(word[0])));
  std::vector<std::string> of;
  for (const Tree& each : tree.of) of.push_back(written(each, older));
  switch (tree.op) {
    case Op::Constant:
      return std::to_string(tree.number * 0.25);
    case Op::Element:
    case Op::Index:
      return word;
    case Op::Operand:
      return std::string(1, static_cast<char>('a' + tree.number));
    case Op::Random:
      return word + "(" + std::to_string(tree.number) + ")";
    case Op::Negate:
      return "(-" + of[0] + ")";
    case Op::Convert:
      return older ? to_string(static_cast<ElementType>(tree.number)) + "(" + of[0] + ")"
                   : std::string("Cast(") + kCasts[tree.number] + ", " + of[0] + ")";
    default:
      break;
  }
  if (std::isalpha(static_cast<unsigned char>(word[0])) == 0)
    return "(" + of[0] + " " + word + " " + of[1] + ")";
  return word + "(" +
         (of.size() == 1   ? of[0]
          : of.size() == 2 ? of[0] + ", " + of[1]
                           : of[0] + ", " + of[1] + ", " + of[2]) +
         ")";
}

template <typename R>
struct Leaves {
  R x;
  std::int64_t index;
  R tensors[3];
};

template <typename R>
R slowly(const Tree& tree, const Leaves<R>& leaves) {
  const auto of = [&](std::size_t k) { return slowly(tree.of.at(k), leaves); };
  switch (tree.op) {
    case Op::Constant:
      return static_cast<R>(tree.number * 0.25);
    case Op::Element:
      return leaves.x;
    case Op::Index:
      return static_cast<R>(leaves.index);
    case Op::Operand:
      return leaves.tensors[tree.number];
    case Op::Random:  // Philox is tested against its published numbers
      return static_cast<R>(std::ldexp(
          philox({static_cast<std::uint32_t>(leaves.index), 0, static_cast<std::uint32_t>(tree.number), 0},
                 {0, 0})[0] >>
              8,
          -24));
    case Op::Negate:
      return -of(0);
    case Op::Sqrt:
      return std::sqrt(of(0));
    case Op::Exp:
      return std::exp(of(0));
    case Op::Log:
      return std::log(of(0));
    case Op::Tanh:
      return std::tanh(of(0));
    case Op::Abs: {
      const R a = of(0);
      return a < 0 ? -a : a;
    }
    case Op::Convert:
      return with_type(static_cast<ElementType>(tree.number),
                       [&](auto zero) { return real<R>(rounded_to<decltype(zero)>(of(0))); });
    case Op::Add:
      return of(0) + of(1);
    case Op::Subtract:
      return of(0) - of(1);
    case Op::Multiply:
      return of(0) * of(1);
    case Op::Divide:
      return of(0) / of(1);
    case Op::Min: {
      const R a = of(0), b = of(1);
      return b < a ? b : a;
    }
    case Op::Max: {
      const R a = of(0), b = of(1);
      return a < b ? b : a;
    }
    case Op::Less:
      return of(0) < of(1) ? 1 : 0;
    case Op::LessEqual:
      return of(0) <= of(1) ? 1 : 0;
    case Op::Equal:
      return of(0) == of(1) ? 1 : 0;
    case Op::Pow:
      return std::pow(of(0), of(1));
    case Op::Select:
      return of(0) != 0 ? of(1) : of(2);
  }
  return 0;
}

template <typename R>
bool same(R a, R b) {
  return std::memcmp(&a, &b, sizeof(R)) == 0 || (std::isnan(a) && std::isnan(b));
}

// From text and back, and then what each evaluator makes of it: the stack machine of executors, and the
// evaluator of the verifier and of runs that check themselves.
template <typename R>
void expect_one_value(const Tree& tree, const Expression& expression, const Leaves<R>& leaves,
                      const std::string& text) {
  const ElementType type = sizeof(R) == 4 ? ElementType::Float32 : ElementType::Float64;
  const std::vector<OperandRow> operands(3, OperandRow{type, false, 1});
  const void* tensors[] = {&leaves.tensors[0], &leaves.tensors[1], &leaves.tensors[2]};
  const StackFunction stack{expression.data(), static_cast<int>(expression.size()), operands.data()};
  const R wanted = slowly(tree, leaves);
  EXPECT_TRUE(same(stack.value<R>(leaves.x, leaves.index, RankTensors{tensors, 0}), wanted)) << text;
  const R verified = value_of<R>(
      expression,
      [&](const ExpressionNode& node) {
        return slowly<R>({.op = node.op,
                          .number = static_cast<int>(node.op == Op::Operand    ? node.operand
                                                     : node.op == Op::Constant ? node.constant * 4
                                                                               : node.constant)},
                         leaves);
      },
      [](ElementType to, R value) {
        return with_type(to, [&](auto zero) { return real<R>(rounded_to<decltype(zero)>(value)); });
      });
  EXPECT_TRUE(same(verified, wanted)) << text;
}

TEST(Epilogue, TextsAndEvaluatorsSayTheSame) {
  std::mt19937 random(20);
  const std::vector<EpilogueOperand> operands = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  for (int i = 0; i < 4000; ++i) {
    const Tree tree = random_tree(i % 5, random);
    const std::string text = written(tree, i % 2 == 1);
    const Expression expression = parse_expression(text, operands, "test");
    const std::string back = to_string(expression, operands);
    ASSERT_EQ(parse_expression(back, operands, "test"), expression) << text << " | " << back;
    ASSERT_LE(back.size(), written(tree, false).size()) << text;
    const auto number = [&] { return (below(random, 65) - 32) / 8.0; };
    const Leaves<double> wide{number(), below(random, 1000), {number(), number(), number()}};
    expect_one_value<double>(tree, expression, wide, text);
    const auto narrow = [](double value) { return static_cast<float>(value); };
    expect_one_value<float>(tree, expression,
                            {narrow(wide.x),
                             wide.index,
                             {narrow(wide.tensors[0]), narrow(wide.tensors[1]), narrow(wide.tensors[2])}},
                            text);
  }
}

// A tensor with another number, another index, a sum that is not divided: elements are wrong.
TEST(Epilogue, TheReferenceSeesChanges) {
  const Example given = spread_example("ring_reducescatter", 4, 2);
  const auto wrong_of = [&](const std::string& done, const std::string& judged) {
    const std::vector<EpilogueOperand> operands = {{.name = "a"},
                                                   {.name = "b", .layout = OperandLayout::Sliced}};
    const Epilogue does{parse_expression(done, operands, ""), operands},
        promised{parse_expression(judged, operands, ""), operands};
    const Program program = with_epilogue(given.topology, given.collective, given.program, does);
    const Pieces pieces{90, program.chunks_per_block};
    const EpilogueRun run(program, pieces),
        reference(with_epilogue(given.topology, given.collective, given.program, promised), pieces);
    int different = 0;
    for (Rank n = 0; n < 4; ++n) {
      std::vector<float> x(90, 2.0F), y = x;
      run.function()(ElementType::Float32, reinterpret_cast<std::byte*>(x.data()), 90, 90 * n, n);
      reference.reference()(ElementType::Float32, reinterpret_cast<std::byte*>(y.data()), 90, 90 * n, n);
      for (std::size_t i = 0; i < 90; ++i) different += x[i] != y[i];
    }
    return different;
  };
  EXPECT_EQ(wrong_of("x + a * 4 + b", "x + a * 4 + b"), 0);
  EXPECT_GT(wrong_of("x + a * 4 + b", "x + b * 4 + a"), 180);
  EXPECT_GT(wrong_of("x + index", "x + index + 1"), 359);
  EXPECT_GT(wrong_of("x < 2", "x <= 2"), 359);
}

// What is printed for emitted programs, compiled by itself, against the verifier.
TEST(Epilogue, PrintedFunctionsAreTheSame) {
  std::mt19937 random(3);
  std::vector<Epilogue> all;
  std::string functions, calls;
  for (int i = 0; i < 150; ++i) {
    all.push_back(random_epilogue(random));
    functions += printed_function(all.back(), "F" + std::to_string(i));
    calls += "  show(F" + std::to_string(i) + "());\n";
  }
  const std::string directory =
      testing::TempDir() + "chorale_epilogue_" + std::to_string(std::random_device()());
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/printed.cpp")
      << "#include <cstdio>\n#include <vector>\n#include \"runtime/device/test_tensors.h\"\n"
      << functions << R"(
template <typename Function, typename T>
void show(const Function& function, T) {
  for (int i = 0; i < 12; ++i) {
    const T x = T(static_cast<float>(i % 5));
    const T y = chorale::applied(function, x, 100 + 7 * i, chorale::TestTensors());
    std::printf("%a\n", chorale::real<double>(y));
  }
}
template <typename Function>
void show(const Function& function) {
  show(function, float{}), show(function, double{}), show(function, std::int32_t{}), show(function, chorale::Bfloat16{});
}
int main() {
)" << calls
      << "}\n";
  const std::string build = std::string(CHORALE_CXX) + " -std=c++17 -Wall -Wextra -Wpedantic -Werror -I " +
                            CHORALE_SOURCE + " " + directory + "/printed.cpp -o " + directory +
                            "/printed && " + directory + "/printed > " + directory + "/values";
  ASSERT_EQ(std::system(build.c_str()), 0) << build;
  std::ifstream values(directory + "/values");
  for (const Epilogue& epilogue : all) {
    Program program;
    program.epilogue = epilogue;
    program.ranks.emplace_back();
    const EpilogueRun run(program, {});
    for (const ElementType type :
         {ElementType::Float32, ElementType::Float64, ElementType::Int32, ElementType::Bfloat16})
      with_type(type, [&](auto zero) {
        using T = decltype(zero);
        for (int i = 0; i < 12; ++i) {
          T x = T(static_cast<float>(i % 5));
          run.reference()(type, reinterpret_cast<std::byte*>(&x), 1, 100 + 7 * i, 0);
          std::string text;
          ASSERT_TRUE(values >> text);
          const double want = real<double>(x), have = std::strtod(text.c_str(), nullptr);
          EXPECT_TRUE(have == want || (std::isnan(have) && std::isnan(want)))
              << to_string(epilogue.expression, epilogue.operands) << " of " << i % 5 << ": " << have
              << ", not " << want;
        }
      });
  }
  std::filesystem::remove_all(directory);
}

// --- What the verifiers say of tensors that do not lie where sums are completed.

bool tells(const std::vector<Fault>& faults, const std::string& words) {
  return std::ranges::any_of(faults, [&](const Fault& fault) {
    return fault.kind == Fault::Kind::Epilogue && fault.words.find(words) != std::string::npos;
  });
}

TEST(Epilogue, SlicedTensorsLieWithTheOutputs) {
  const Epilogue sliced{{{.op = Op::Operand, .operand = 0}},
                        {{.name = "a", .layout = OperandLayout::Sliced}}};
  const Example given = spread_example("ring_reducescatter", 4, 2);
  const Program good = with_epilogue(given.topology, given.collective, given.program, sliced);
  EXPECT_EQ(good.ranks[3].slice, 6);
  for (const int other : {0, 2, 5, 7}) {
    Program bad = good;
    bad.ranks[3].slice = other;
    EXPECT_TRUE(tells(violations(given.topology, given.collective, bad), "slice of tensors")) << other;
    BlockProgram blocks = relax(given.collective, good, {});
    blocks.ranks[3].slice = other;
    EXPECT_TRUE(tells(violations(given.collective, blocks, {}), "slice of tensors")) << other;
  }
  Program flawed = good;
  flawed.epilogue.expression.push_back({.op = Op::Add});
  EXPECT_TRUE(tells(violations(given.topology, given.collective, flawed), "without its values"));
  // An expression that nothing applies.
  Program dropped = good;
  for (RankProgram& rank : dropped.ranks)
    for (ThreadBlock& block : rank.blocks)
      for (Instruction& i : block.instructions) i.does.position = -1;
  EXPECT_TRUE(tells(violations(given.topology, given.collective, dropped), "has not had the epilogue"));
}

// Sums that are completed elsewhere and then sent: replicated tensors are all that there can be.
TEST(Epilogue, SlicedTensorsWantSumsCompletedWhereTheyAreWanted) {
  const Topology line = named_topology("full:3");
  Collective collective = make_collective("reducescatter", 3, 1);
  // Rank 0 adds up all, and sends each its block.
  Schedule schedule;
  schedule.steps.resize(2);
  schedule.steps[0].rounds = schedule.steps[1].rounds = 3;
  const auto link = [&](Rank from, Rank to) {
    for (int l = 0; l < static_cast<int>(line.links.size()); ++l)
      if (line.links[l].src == from && line.links[l].dst == to) return l;
    return -1;
  };
  for (Chunk c = 0; c < 3; ++c) {
    for (const Rank n : {1, 2}) schedule.steps[0].sends.push_back({c, link(n, 0), true});
    if (c > 0) schedule.steps[1].sends.push_back({c, link(0, c), false});
  }
  for (Step& step : schedule.steps) std::ranges::sort(step.sends);
  const Program program = lower(line, collective, schedule);
  const Epilogue replicated{{{.op = Op::Operand, .operand = 0}}, {{.name = "a"}}};
  Epilogue sliced = replicated;
  sliced.operands[0].layout = OperandLayout::Sliced;
  const Program good = with_epilogue(line, collective, program, replicated);
  EXPECT_EQ(wrong(run_on_threads(good, collective, {.bytes = {40}, .iterations = 1, .warm_up = 0})), 0);
  EXPECT_THROW(lower(accepted(line, collective, schedule), {.epilogue = sliced}), InputError);
}

TEST(Epilogue, TheShippedExampleIsRight) {
  const std::string file = std::string(CHORALE_SOURCE) + "/examples/epilogue.json";
  const Epilogue epilogue = epilogue_from_json(read_file(file), file);
  EXPECT_EQ(to_string(epilogue.expression, epilogue.operands), "Select(mask < 1, 0, (x + bias) * scale)");
  EXPECT_TRUE(has_sliced_operand(epilogue));
}

}  // namespace
}  // namespace chorale::test
