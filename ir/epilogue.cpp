// Names in epilogues and job templates: x, index, operands. Older texts call functions by small letters,
// "max(x, 0)", and conversions by the names of types, "float16(x)": these are read, not written.
#include "ir/epilogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/expression_text.h"
#include "ir/expression_words.h"
#include "ir/words.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;

// "sqrt" for Sqrt; nullopt for an operator that was not a function.
std::optional<Op> older_function(std::string word) {
  if (word.empty() || !std::islower(static_cast<unsigned char>(word[0]))) return {};
  word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  return meaning(kFunctionWords, word);
}
// "float16(x)" is read as "Cast(fp16, x)".
std::optional<ElementType> older_conversion(std::string_view word) {
  for (int type = 0; type < kElementTypes; ++type)
    if (word == to_string(static_cast<ElementType>(type))) return static_cast<ElementType>(type);
  return {};
}

// Also of expressions that did not come from a text, so all conditions of the parser are checked again.
// `depth` is the height of the evaluator's stack: an operator takes as many values as its arity and puts one
// there.
std::string flaw_of(const Expression& expression, std::size_t operands) {
  if (expression.size() > kMostExpressionNodes) return "is too large";
  int depth = 0;
  for (const ExpressionNode& node : expression) {
    if (node.op < Op::Constant || node.op > Op::Select) return "has an operator that there is none of";
    if (node.op == Op::Operand && (node.operand < 0 || std::cmp_greater_equal(node.operand, operands)))
      return "names an operand that it has not";
    if ((node.op == Op::Constant || node.op == Op::Random) &&
        !(node.constant >= 0 && std::isfinite(node.constant)))
      return "has a constant that is negative or no number";
    if (node.op == Op::Convert && (node.operand < 0 || node.operand >= kElementTypes))
      return "has a conversion to a type that there is none of";
    if (node.op == Op::Random &&
        !(node.constant <= 4294967295.0 && node.constant == std::floor(node.constant)))
      return "has a stream of random numbers that is not an integer of 32 bits";
    if (depth < arity(node.op)) return "has an operator without its values";
    depth += 1 - arity(node.op);
    if (depth > kDeepestExpression) return "is nested too deeply";
  }
  if (!expression.empty() && depth != 1) return "has several values";
  return "";
}

class EpilogueReader : ExpressionReader {
 public:
  EpilogueReader(std::string_view text, const std::vector<EpilogueOperand>& operands,
                 const std::string& where)
      : ExpressionReader(text, where, true), operands_(operands) {}

  Expression parse() {
    const Token begin = now();
    Expression result;
    {
      const Value value = expression();
      if (!is_at_end()) fail("an operator or the end of the expression");
      // A term numbers its operands by their first use, an epilogue by its list.
      for (ExpressionNode node : value.term.expression) {
        if (node.op == Op::Operand)
          node.operand = static_cast<int>(
              std::ranges::find(operands_, value.term.operands[node.operand], &EpilogueOperand::name) -
              operands_.begin());
        result.push_back(node);
      }
    }
    if (const std::string what = flaw_of(result, operands_.size()); !what.empty())
      fail_at(begin, "the expression " + what, "see docs/formats.md, 'An epilogue'");
    return result;
  }

 private:
  // "x" is the sum, and "index" the position of its element, unless an operand has that name (an axis of a
  // job template; is_operand_name() refuses them in epilogues).
  Term name() override {
    const Token token = take();
    std::vector<std::string> known;
    for (const EpilogueOperand& each : operands_) known.push_back(each.name);
    const bool is_known = std::ranges::find(known, token.text) != known.end();  // "x" may be an axis of a job
    if (token.text == "x" && !is_known) return {{{.op = Op::Element}}, {}};
    if (token.text == "index" && !is_known) return {{{.op = Op::Index}}, {}};
    if (!is_known)
      fail_at(token, fmt::format("{} is not an operand", shown_token(token)),
              did_you_mean(std::string(token.text), known, "list it in operands, or see docs/formats.md"));
    return operand_term(std::string(token.text));
  }

  // Older spellings first; the rest is the grammar's. "random" is the older "Random".
  Value call(const Token& token) override {
    if (const std::optional<Op> function = older_function(std::string(token.text)))
      return apply(token, *function, arguments(token, arity(*function)));
    if (const std::optional<ElementType> type = older_conversion(token.text))
      return apply_room(token, converted(*type, arguments(token, 1)[0]));
    if (token.text != "random") return ExpressionReader::call(token);
    Token now_called = token;
    now_called.text = "Random";
    return ExpressionReader::call(now_called);
  }

  const std::vector<EpilogueOperand>& operands_;
};

}  // namespace

// At most 64 letters. Words with a meaning are refused, also those of older texts, which are read as calls.
bool is_operand_name(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && name.size() <= 64 && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(name, fits) && name != "x" && name != "index" && name != "random" &&
         !older_function(name) && !older_conversion(name);
}

// By the order of the operators in their enumeration: values, functions of one, of two, Select.
int arity(ExpressionOperator op) {
  if (op <= Op::Random) return 0;
  if (op <= Op::Convert) return 1;
  return op == Op::Select ? 3 : 2;
}

// Of epilogues from texts and of those that were made in C++ or Python, which no parser has seen.
std::string flaw(const Epilogue& epilogue) {
  if (epilogue.operands.size() > kMostOperands) return "is too large";
  if (std::string what = flaw_of(epilogue.expression, epilogue.operands.size()); !what.empty()) return what;
  for (const EpilogueOperand& operand : epilogue.operands) {
    if (!is_operand_name(operand.name) ||
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
  return EpilogueReader(text, operands, where + ", expression").parse();
}

// "" for a function that the caller gives: such an expression is empty.
std::string to_string(const Expression& expression, const std::vector<EpilogueOperand>& operands) {
  std::vector<std::string> names;
  for (const EpilogueOperand& operand : operands) names.push_back(operand.name);
  return expression.empty() ? "" : to_string(expression, names);
}

}  // namespace chorale
