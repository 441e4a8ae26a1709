// Text to stack operations by Dijkstra's shunting yard: a stack of what is open, so that nothing calls itself
// however deep a text is nested. A text is a value, an operator, a value and so on; which of them comes next
// is all that has to be known of what was read. open_ holds parentheses, of functions too, and operators
// whose last value is not there yet; an operator moves to the result when one comes that does not bind more.
//
// depth_ is how many values would be on the stack of whoever computes it, now; kDeepestExpression is the room
// that there is for them (runtime/device/stack_function.h).
#include "ir/epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>

#include "ir/error.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;

struct OperatorText {
  Op op;
  const char* text;
  int precedence;  // of those between two values; 0: a function
};

constexpr OperatorText kTexts[] = {{Op::Less, "<", 1},   {Op::LessEqual, "<=", 1}, {Op::Equal, "==", 1},
                                   {Op::Add, "+", 2},    {Op::Subtract, "-", 2},   {Op::Multiply, "*", 3},
                                   {Op::Divide, "/", 3}, {Op::Negate, "-", 4},     {Op::Sqrt, "sqrt", 0},
                                   {Op::Exp, "exp", 0},  {Op::Log, "log", 0},      {Op::Tanh, "tanh", 0},
                                   {Op::Abs, "abs", 0},  {Op::Min, "min", 0},      {Op::Max, "max", 0},
                                   {Op::Pow, "pow", 0},  {Op::Select, "select", 0}};

const OperatorText& text_of(Op op) {
  return *std::ranges::find(kTexts, op, &OperatorText::op);
}

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const std::vector<EpilogueOperand>& operands,
                   const std::string& where)
      : text_(text), operands_(operands), where_(where) {}

  Expression parse() {
    bool value_is_next = true;
    for (skip(); at_ < text_.size(); skip()) {
      if (value_is_next)
        value_is_next = value();
      else
        value_is_next = after_value();
    }
    if (value_is_next) fail("ends where a value is awaited");
    while (!open_.empty()) {
      if (open_.back().parenthesis) fail("has a parenthesis that is not closed");
      close();
    }
    return std::move(result_);
  }

 private:
  struct Open {
    bool parenthesis = false;
    bool function = false;  // the parenthesis is of one
    Op op = Op::Constant;
    int values = 1;  // in the parenthesis
    int type = -1;   // of Convert
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(where_, fmt::format("the expression {}, at character {}", what, at_ + 1),
                     "see docs/formats.md, 'An epilogue'");
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool takes(std::string_view what) {
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }

  // Is a value still awaited after it? A minus in front of a value waits for it and closes nothing before it,
  // as in "a * -x"; it binds more than all others, so "-x * y" is (-x) * y.
  bool value() {
    if (takes("(")) return push({.parenthesis = true});
    if (takes("-")) return push({.op = Op::Negate});
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_') return name();
    fail("has something else where a value is awaited");
  }
  bool push(const Open& open) {
    open_.push_back(open);
    // Parentheses leave nothing in the result, whose size is limited elsewhere.
    if (open_.size() > 4 * kMostExpressionNodes) fail("is nested too deeply");
    return true;
  }
  bool number() {
    double constant = 0;
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + at_, end, constant);
    if (error != std::errc()) fail("has no number there");
    at_ = static_cast<std::size_t>(rest - text_.data());
    emit({.op = Op::Constant, .constant = constant});
    return false;
  }
  bool name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    // Functions, x and index come first; operands may not have their names (is_name).
    for (const OperatorText& function : kTexts)
      if (function.precedence == 0 && name == function.text) {
        skip();
        if (!takes("(")) fail("has a function without its values");
        return push({.parenthesis = true, .function = true, .op = function.op});
      }
    // Conversions have the names of types, "float16(x)"; random has the number of its stream, "random(1)".
    for (int type = 0; type < kElementTypes; ++type)
      if (name == to_string(static_cast<ElementType>(type))) {
        skip();
        if (!takes("(")) fail("has a conversion without its value");
        return push({.parenthesis = true, .function = true, .op = Op::Convert, .type = type});
      }
    if (name == "random") return stream(), false;
    if (name == "x") return emit({.op = Op::Element}), false;
    if (name == "index") return emit({.op = Op::Index}), false;
    const auto operand = std::ranges::find(operands_, name, &EpilogueOperand::name);
    if (operand == operands_.end()) fail(fmt::format("names '{}', which is no operand", name));
    emit({.op = Op::Operand, .operand = static_cast<int>(operand - operands_.begin())});
    return false;
  }

  void stream() {
    skip();
    unsigned number = 0;
    if (!takes("(")) fail("has random without the number of a stream");
    skip();
    const auto [rest, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc()) fail("has random without the number of a stream");
    at_ = static_cast<std::size_t>(rest - text_.data());
    skip();
    if (!takes(")")) fail("has random with more than the number of a stream");
    emit({.op = Op::Random, .constant = static_cast<double>(number)});
  }

  bool after_value() {
    if (takes(")")) {
      inner();
      const Open open = open_.back();
      open_.pop_back();
      if (open.function && open.values != arity(open.op))
        fail("has a function with another number of values");
      if (open.function) emit({.op = open.op, .operand = open.type});
      return false;
    }
    if (takes(",")) {
      inner();
      if (!open_.back().function) fail("has a comma outside of a function");
      ++open_.back().values;
      return true;
    }
    // "<=" before "<", which it begins with. Operators of one precedence are done from left to right.
    for (const Op op : {Op::LessEqual, Op::Less, Op::Equal, Op::Add, Op::Subtract, Op::Multiply, Op::Divide})
      if (takes(text_of(op).text)) {
        while (!open_.empty() && !open_.back().parenthesis &&
               text_of(open_.back().op).precedence >= text_of(op).precedence)
          close();
        return push({.op = op});
      }
    fail("has something else where an operator is awaited");
  }
  // Up to the parenthesis that is open.
  void inner() {
    while (!open_.empty() && !open_.back().parenthesis) close();
    if (open_.empty()) fail("closes what is not open");
  }
  void close() {
    emit({.op = open_.back().op});
    open_.pop_back();
  }
  void emit(const ExpressionNode& node) {
    result_.push_back(node);
    depth_ += 1 - arity(node.op);
    if (result_.size() > kMostExpressionNodes || depth_ > kDeepestExpression) fail("is too large");
  }

  const std::string_view text_;
  const std::vector<EpilogueOperand>& operands_;
  const std::string where_;
  std::size_t at_ = 0;
  std::vector<Open> open_ = {};
  Expression result_ = {};
  int depth_ = 0;
};

bool is_type_name(const std::string& name) {
  for (int type = 0; type < kElementTypes; ++type)
    if (name == to_string(static_cast<ElementType>(type))) return true;
  return false;
}
bool is_name(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && name.size() <= 64 && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(name, fits) && name != "x" && name != "index" && name != "random" &&
         !is_type_name(name) &&
         std::ranges::none_of(kTexts, [&](const OperatorText& each) { return name == each.text; });
}

}  // namespace

int arity(ExpressionOperator op) {
  if (op <= Op::Random) return 0;
  if (op <= Op::Convert) return 1;
  return op == Op::Select ? 3 : 2;
}

// Also of expressions that did not come from a text, so all that the parser sees to is asked again.
std::string flaw(const Epilogue& epilogue) {
  if (epilogue.expression.size() > kMostExpressionNodes || epilogue.operands.size() > kMostOperands)
    return "is too large";
  int depth = 0;
  for (const ExpressionNode& node : epilogue.expression) {
    if (node.op < Op::Constant || node.op > Op::Select) return "has an operator that there is none of";
    if (node.op == Op::Operand &&
        (node.operand < 0 || node.operand >= static_cast<int>(epilogue.operands.size())))
      return "names an operand that it has not";
    if ((node.op == Op::Constant || node.op == Op::Random) &&
        !(node.constant >= 0 && std::isfinite(node.constant)))
      return "has a constant that is negative or no number";
    if (node.op == Op::Convert && (node.operand < 0 || node.operand >= kElementTypes))
      return "has a conversion to a type that there is none of";
    if (node.op == Op::Random &&
        !(node.constant <= 4294967295.0 && node.constant == std::floor(node.constant)))
      return "has a stream of random numbers that is no whole number of 32 bits";
    if (depth < arity(node.op)) return "has an operator without its values";
    depth += 1 - arity(node.op);
    if (depth > kDeepestExpression) return "is nested too deeply";
  }
  if (!epilogue.expression.empty() && depth != 1) return "has several values";
  for (const EpilogueOperand& operand : epilogue.operands) {
    if (!is_name(operand.name) ||
        std::ranges::count(epilogue.operands, operand.name, &EpilogueOperand::name) > 1)
      return "has an operand whose name is not its own, or none of letters, digits and _";
    if (operand.period < 0 || (operand.period > 0 && operand.layout == OperandLayout::Sliced))
      return "has an operand with a period that it cannot have";
  }
  return "";
}

bool has_sliced_operand(const Epilogue& epilogue) {
  return std::ranges::any_of(epilogue.operands, [](const EpilogueOperand& operand) {
    return operand.layout == OperandLayout::Sliced;
  });
}

Expression parse_expression(std::string_view text, const std::vector<EpilogueOperand>& operands,
                            const std::string& where) {
  return ExpressionParser(text, operands, where).parse();
}

// With all parentheses: what is read back is the same expression, whatever binds more. Requires one without a
// flaw.
std::string to_string(const Expression& expression, const std::vector<EpilogueOperand>& operands) {
  std::vector<std::string> stack;
  for (const ExpressionNode& node : expression) {
    const std::vector<std::string> values(stack.end() - arity(node.op), stack.end());
    stack.resize(stack.size() - values.size());
    if (node.op == Op::Constant)
      stack.push_back(node.constant < 0 ? fmt::format("({})", node.constant)
                                        : fmt::format("{}", node.constant));
    else if (node.op == Op::Random)
      stack.push_back(fmt::format("random({})", static_cast<unsigned>(node.constant)));
    else if (node.op == Op::Convert)
      stack.push_back(fmt::format("{}({})", to_string(static_cast<ElementType>(node.operand)), values[0]));
    else if (values.empty())
      stack.push_back(node.op == Op::Element ? "x"
                      : node.op == Op::Index ? "index"
                                             : operands[node.operand].name);
    else if (text_of(node.op).precedence == 0)
      stack.push_back(fmt::format("{}({})", text_of(node.op).text, fmt::join(values, ", ")));
    else if (values.size() == 1)
      stack.push_back(fmt::format("(-{})", values[0]));
    else
      stack.push_back(fmt::format("({} {} {})", values[0], text_of(node.op).text, values[1]));
  }
  return stack.empty() ? "" : stack.back();
}

}  // namespace chorale
