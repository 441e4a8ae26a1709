#include "codegen/epilogue_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

namespace chorale {
namespace {

using Op = ExpressionOperator;

const char* c_type(ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return "float";
    case ElementType::Float64:
      return "double";
    case ElementType::Int32:
      return "std::int32_t";
    case ElementType::Int64:
      return "std::int64_t";
    case ElementType::Int8:
      return "std::int8_t";
    case ElementType::Uint8:
      return "std::uint8_t";
    case ElementType::Uint32:
      return "std::uint32_t";
    case ElementType::Uint64:
      return "std::uint64_t";
    case ElementType::Float16:
      return "chorale::Float16";
    case ElementType::Bfloat16:
      return "chorale::Bfloat16";
  }
  return "";
}

// Names of operands may be words of C++.
std::string variable(const EpilogueOperand& operand) {
  return operand.name + "_";
}

// Each value is written once, so that the text is as long as the expression.
std::string printed(const Epilogue& epilogue) {
  std::vector<std::string> stack;
  for (const ExpressionNode& node : epilogue.expression) {
    const std::vector<std::string> v(stack.end() - arity(node.op), stack.end());
    stack.resize(stack.size() - v.size());
    const auto between = [&](const char* sign) { return fmt::format("({} {} {})", v[0], sign, v[1]); };
    const auto call = [&](const char* function) {
      return fmt::format("chorale::{}({})", function, fmt::join(v, ", "));
    };
    stack.push_back([&]() -> std::string {
      switch (node.op) {
        case Op::Constant:
          return fmt::format("R({})", node.constant);
        case Op::Element:
          return "x";
        case Op::Index:
          return "static_cast<R>(index)";
        case Op::Operand:
          return variable(epilogue.operands[node.operand]);
        case Op::Negate:
          return fmt::format("(-{})", v[0]);
        case Op::Sqrt:
          return call("root_of");
        case Op::Exp:
          return call("exponential");
        case Op::Add:
          return between("+");
        case Op::Subtract:
          return between("-");
        case Op::Multiply:
          return between("*");
        case Op::Divide:
          return between("/");
        case Op::Min:
          return call("least");
        case Op::Max:
          return call("greatest");
        case Op::Less:
          return "R" + between("<");
        case Op::LessEqual:
          return "R" + between("<=");
        case Op::Equal:
          return "R" + between("==");
        case Op::Select:
          return call("chosen");
      }
      return "";
    }());
  }
  return stack.back();
}

}  // namespace

std::string printed_function(const Epilogue& epilogue, const std::string& name) {
  const bool exact =
      std::ranges::find(epilogue.expression, Op::Exp, &ExpressionNode::op) == epilogue.expression.end();
  std::string loads, tensors;
  for (int k = 0; k < static_cast<int>(epilogue.operands.size()); ++k) {
    const EpilogueOperand& operand = epilogue.operands[k];
    const bool sliced = operand.layout == OperandLayout::Sliced;
    if (std::ranges::find(epilogue.expression, k, &ExpressionNode::operand) != epilogue.expression.end())
      loads += fmt::format("    const R {} = tensors.template {}<R, {}>({}, index{});\n", variable(operand),
                           sliced ? "sliced" : "whole", c_type(operand.type), k,
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
