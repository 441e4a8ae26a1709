// Small pieces of JSON text for the json_*.cpp files of this room.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>
#include <vector>

namespace chorale {

std::string quoted(const std::string& text);

inline std::string list(std::span<const int> numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

// The elements one a line, indented.
inline std::string lines(const std::vector<std::string>& elements, const std::string& indent) {
  if (elements.empty()) return "[]";
  return "[\n" + indent + "  " + fmt::format("{}", fmt::join(elements, ",\n" + indent + "  ")) + "\n" +
         indent + "]";
}

}  // namespace chorale
