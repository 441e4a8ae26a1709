// "(gpu, InsideGroup, AllReduce); (node, Parallel(gpu), AllReduce)". Names of levels stay names here; the
// machine decides later whether it has them.
#include "ir/strategy_text.h"

#include <fmt/format.h>

#include "ir/error.h"
#include "ir/shown.h"

namespace chorale {
namespace {

using Form = StrategyInstruction::Form;

constexpr std::size_t kLongestStrategy = 4000;

// Spaces and newlines: a strategy may come from a file with an instruction a line.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// The text before the first separator, which is removed as well.
std::string_view cut_off(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return trimmed(head);
}

// "(slice, form, operation)", where Parallel and Master name an ancestor in parentheses. Errors cite the
// instruction by number and as it was written, cut to 80 bytes and safe to print.
NamedInstruction parse_instruction(std::string_view text, const std::string& where, int number) {
  const auto fail = [&](const std::string& what, const std::string& remedy) -> void {
    throw InputError(where, fmt::format("instruction {}: {}", number, what), remedy);
  };
  const std::string whole = shown(std::string(text.substr(0, 80)));
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    fail("'" + whole + "' is none", "write it as (gpu, InsideGroup, AllReduce)");
  text = text.substr(1, text.size() - 2);
  NamedInstruction instruction{.slice = std::string(cut_off(text, ','))};
  std::string_view form = cut_off(text, ',');
  const std::string_view operation = trimmed(text);
  if (const std::size_t open = form.find('('); open != std::string_view::npos && form.back() == ')') {
    instruction.ancestor = trimmed(form.substr(open + 1, form.size() - open - 2));
    form = trimmed(form.substr(0, open));
  }
  if (const std::optional<Form> named = value_in<Form>(kFormNames, form))
    instruction.form = *named;
  else
    fail("'" + whole + "' has no form", "use InsideGroup, Parallel(level) or Master(level)");
  // "Parallel()" has an empty ancestor and is refused as well.
  if ((instruction.form == Form::InsideGroup) != instruction.ancestor.empty())
    fail("'" + whole + "' has a level too many or too few", "Parallel and Master name one, InsideGroup none");
  using Operation = StrategyInstruction::Operation;
  if (const std::optional<Operation> named = value_in<Operation>(kOperationNames, operation))
    instruction.operation = *named;
  else
    fail("'" + whole + "' has no operation", "use AllReduce, ReduceScatter, AllGather, Reduce or Broadcast");
  return instruction;
}

}  // namespace

NamedStrategy parse_strategy(std::string_view text, const std::string& where) {
  if (text.size() > kLongestStrategy) throw InputError(where, "is longer than 4000 characters", "write less");
  NamedStrategy strategy;
  text = trimmed(text);
  while (!text.empty()) {
    strategy.push_back(parse_instruction(cut_off(text, ';'), where, static_cast<int>(strategy.size()) + 1));
    text = trimmed(text);
  }
  if (strategy.empty())
    throw InputError(where, "is empty", "write (root, InsideGroup, AllReduce), or leave it out");
  return strategy;
}

}  // namespace chorale
