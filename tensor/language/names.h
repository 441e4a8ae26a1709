// Valid names of operations, sizes, kernels and overlaps.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace chorale {

inline constexpr std::size_t kLongestName = 64;

// The words of the language that are no names.
std::span<const std::string_view> reserved_words();
// Whether the word has a meaning in the language.
bool is_reserved(std::string_view word);

// Why this is not a name, as text: "is a word of the language"; empty if it is one.
std::string name_flaw(std::string_view name);

}  // namespace chorale
