// Text that other printers share. Extents are products of a number and sizes, over a number; sizes are
// members of `s`.
#include "tensor/lowering/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <vector>

namespace chorale {

// "2 * s.of_B * s.of_H", "(s.of_D / 2)", or a number where no size is involved.
std::string printed_extent(const Extent& extent) {
  std::string text;
  for (const std::string& size : extent.sizes) text += (text.empty() ? "s." : " * s.") + identifier(size);
  if (text.empty()) return std::to_string(extent.factor);
  if (extent.factor != 1) text = fmt::format("{} * {}", extent.factor, text);
  return extent.divisor == 1 ? text : fmt::format("({} / {})", text, extent.divisor);
}

std::string printed_sides(const TensorShape& shape) {
  std::vector<std::string> sides;
  for (const Extent& extent : shape) sides.push_back(printed_extent(extent));
  return fmt::format("chorale::Sides{{{}}}", fmt::join(sides, ", "));
}

std::string printed_combination(ReduceOp op) {
  return op == ReduceOp::Min   ? "chorale::Combination::Min"
         : op == ReduceOp::Max ? "chorale::Combination::Max"
                               : "chorale::Combination::Sum";
}

std::string printed_groups(const std::string& rank, int first, int last) {
  return fmt::format("{0} / kGroupRanks >= {1} && {0} / kGroupRanks <= {2}", rank, first, last);
}

// Names may be parts of others: at_w is not in at_w1.
bool mentions(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_part(text[at - 1])) && !is_part(text[at + word.size()])) return true;
  return false;
}

}  // namespace chorale
