// The stack machine of an expression, run on texts instead of numbers: what is on the stack in the end is the
// expression in C++. Functions are those of runtime/device/epilogue.h and every operator stands in
// parentheses, so what is printed computes as the executors do, operation by operation, where the compiler
// fuses none (nvcc's -fmad=false). A constant is printed with as many digits as bring it back.
#include "codegen/epilogue_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "codegen/source_tables.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;

// In the order of ElementType, and of ExpressionOperator: of its values. Each value is written once, so that
// the text is as long as the expression.
constexpr const char* kTypes[kElementTypes] = {"float",
                                               "double",
                                               "std::int32_t",
                                               "std::int64_t",
                                               "std::int8_t",
                                               "std::uint8_t",
                                               "std::uint32_t",
                                               "std::uint64_t",
                                               "chorale::Float16",
                                               "chorale::Bfloat16",
                                               "chorale::Float8E4m3",
                                               "chorale::Float8E5m2"};
constexpr const char* kForms[] = {"",
                                  "x",
                                  "",
                                  "",
                                  "",
                                  "(-{0})",
                                  "chorale::root_of({0})",
                                  "chorale::exponential({0})",
                                  "chorale::logarithm({0})",
                                  "chorale::hyperbolic_tangent({0})",
                                  "chorale::magnitude({0})",
                                  "",
                                  "({0} + {1})",
                                  "({0} - {1})",
                                  "({0} * {1})",
                                  "({0} / {1})",
                                  "chorale::least({0}, {1})",
                                  "chorale::greatest({0}, {1})",
                                  "{3}({0} < {1})",
                                  "{3}({0} <= {1})",
                                  "{3}({0} == {1})",
                                  "chorale::power({0}, {1})",
                                  "chorale::chosen({0}, {1}, {2})"};
static_assert(std::size(kForms) == kExpressionOperators);

// Of operators whose functions hosts and devices have of their own.
bool is_exact(const ExpressionNode& node) {
  return node.op != Op::Exp && node.op != Op::Log && node.op != Op::Tanh && node.op != Op::Pow;
}
// Those of an epilogue, in the function that printed_function prints.
std::string printed(const Epilogue& epilogue) {
  std::vector<std::string> operands;
  for (const EpilogueOperand& operand : epilogue.operands) operands.push_back(identifier(operand.name));
  return printed_expression(epilogue.expression,
                            {.real = "R", .operands = operands, .seed = "tensors.seed", .index = "index"});
}

}  // namespace

const char* c_type(ElementType type) {
  return kTypes[static_cast<int>(type)];
}

// Operators that are no C++ of their own (a constant, an index, an operand, a random number, a conversion)
// are printed here; all others by their form, of which {3} is the type of the computation.
std::string printed_expression(const Expression& expression, const ExpressionNames& names) {
  std::vector<std::string> stack;
  for (const ExpressionNode& node : expression) {
    // The last operand was pushed last. Forms may name up to three values, so there are three always.
    std::vector<std::string> values(stack.end() - arity(node.op), stack.end());
    stack.resize(stack.size() - values.size());
    values.resize(3);
    stack.push_back(
        node.op == Op::Constant ? fmt::format("{}({})", names.real, node.constant)
        : node.op == Op::Index
            ? fmt::format("static_cast<{}>({})", names.real,
                          node.operand < 0 ? names.index : names.along + std::to_string(node.operand))
        : node.op == Op::Operand ? names.operands[node.operand]
        : node.op == Op::Random  ? fmt::format("chorale::random_at<{}>({}, {}u, {})", names.real, names.seed,
                                               static_cast<unsigned>(node.constant), names.index)
        : node.op == Op::Convert ? fmt::format("chorale::converted<{}>({})",
                                               c_type(static_cast<ElementType>(node.operand)), values[0])
                                 : fmt::format(fmt::runtime(kForms[static_cast<int>(node.op)]), values[0],
                                               values[1], values[2], names.real));
  }
  return stack.back();
}

// Operands that the expression does not use are not loaded: their tensors may be absent. The tensors of the
// check are made by the number of the operand, so that a host and its GPU fill them alike.
std::string printed_function(const Epilogue& epilogue, const std::string& name) {
  const bool exact = std::ranges::all_of(epilogue.expression, is_exact);
  std::string loads, tensors;
  for (int k = 0; k < static_cast<int>(epilogue.operands.size()); ++k) {
    const EpilogueOperand& operand = epilogue.operands[k];
    const bool sliced = operand.layout == OperandLayout::Sliced;
    if (std::ranges::any_of(epilogue.expression, [&](const ExpressionNode& node) {
          return node.op == Op::Operand && node.operand == k;
        }))
      loads += fmt::format("    const R {} = tensors.template {}<R, {}>({}, index{});\n",
                           identifier(operand.name), sliced ? "sliced" : "whole", c_type(operand.type), k,
                           operand.period > 0 ? fmt::format(" % {}", operand.period) : "");
    tensors += fmt::format("      case {}:  // {}\n        return chorale::test_tensor<{}>({}, {}, {});\n", k,
                           operand.name, c_type(operand.type), k, sliced ? "slice" : "0",
                           sliced               ? "outputs"
                           : operand.period > 0 ? std::to_string(operand.period)
                                                : "whole");
  }
  return fmt::format(
      "// What is applied to complete sums: {}\n"
      "struct {} {{\n"
      "  static constexpr int kOperands = {};\n"
      "  static constexpr bool kExact = {};  // hosts and devices give the same bits\n"
      "  CHORALE_DEVICE bool applies() const {{ return true; }}\n"
      "  template <typename R, typename Tensors>\n"
      "  CHORALE_DEVICE R value([[maybe_unused]] R x, [[maybe_unused]] std::int64_t index,\n"
      "                         [[maybe_unused]] const Tensors& tensors) const {{\n"
      "{}    return {};\n"
      "  }}\n"
      "  // For a check: a tensor of a rank, of `whole` elements, or as the `outputs` from index `slice` "
      "on.\n"
      "  static std::vector<char> test_tensor(int operand, [[maybe_unused]] std::int64_t whole,\n"
      "                                       [[maybe_unused]] std::int64_t slice,\n"
      "                                       [[maybe_unused]] std::int64_t outputs) {{\n"
      "    switch (operand) {{\n{}      default:\n        return {{}};\n    }}\n"
      "  }}\n"
      "}};\n",
      to_string(epilogue.expression, epilogue.operands), name, epilogue.operands.size(), exact, loads,
      printed(epilogue), tensors);
}

}  // namespace chorale
