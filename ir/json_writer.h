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

inline std::string list(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(quoted(text));
  return fmt::format("[{}]", fmt::join(all, ","));
}

// The elements, one per line, indented.
inline std::string lines(const std::vector<std::string>& elements, const std::string& indent) {
  if (elements.empty()) return "[]";
  std::string text = "[";
  std::size_t size = 4 + indent.size();
  for (const std::string& element : elements) size += element.size() + indent.size() + 4;
  text.reserve(size);
  for (const std::string& element : elements)
    text.append(&element == elements.data() ? "\n" : ",\n").append(indent).append("  ").append(element);
  return text.append("\n").append(indent).append("]");
}

}  // namespace chorale
