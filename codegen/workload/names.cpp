// Text that other printers share. Extents are products of a number and sizes; sizes are members of `s`.
#include "codegen/workload/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <string_view>
#include <vector>

namespace chorale {

// Keywords, and what is a macro or a namespace where emitted programs are compiled (linux, unix).
std::string identifier(const std::string& name) {
  static constexpr std::string_view kTaken =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
      "char32_t class compl concept const const_cast consteval constexpr constinit continue "
      "co_await co_return co_yield decltype default delete do double dynamic_cast else enum "
      "explicit export extern false float for friend goto if inline int long mutable namespace new "
      "noexcept not not_eq nullptr operator or or_eq private protected public register "
      "reinterpret_cast requires return seed short signed sizeof static static_assert static_cast "
      "struct switch template this thread_local throw true try typedef typeid typename union "
      "unsigned using virtual void volatile wchar_t while xor xor_eq main std chorale linux unix ";
  return kTaken.find(" " + name + " ") == std::string_view::npos ? name : name + "_";
}

// "2 * s.B * s.H", or a number where no size is involved.
std::string printed_extent(const Extent& extent) {
  std::string text;
  for (const std::string& size : extent.sizes) text += (text.empty() ? "s." : " * s.") + identifier(size);
  if (text.empty()) return std::to_string(extent.factor);
  return extent.factor == 1 ? text : fmt::format("{} * {}", extent.factor, text);
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
