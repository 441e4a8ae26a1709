// Small pieces of JSON text for writers, and a strict cursor over JSON text for readers: it knows its file
// and place, and refuses what is not described. For the json_*.cpp files of this room, and readers of others'
// formats.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"

namespace chorale {

// Returns the text as a JSON string, of ASCII.
std::string quoted(const std::string& text);

inline std::string list(std::span<const int> numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

inline std::string list(const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& each : texts) text += (text.empty() ? "" : ",") + quoted(each);
  return "[" + text + "]";
}

// Returns the elements, one per line, indented.
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

class JsonReader {
 public:
  // Where in words: "dgx.json: links[3].dst".
  std::string where() const { return place_.empty() ? file_ : file_ + ": " + place_; }
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy = "") const {
    throw InputError(where(), problem, remedy);
  }

  // This is an object with no other keys than these.
  void require_object(std::span<const std::string_view> keys) const;
  void require_object(std::initializer_list<std::string_view> keys) const {
    require_object(std::span(keys.begin(), keys.size()));
  }
  bool has(const char* key) const;
  bool is_null() const;
  bool is_array() const;
  bool is_object() const;
  bool is_number() const;

  JsonReader operator[](const char* key) const;  // fails if it is missing
  JsonReader at(std::size_t index) const;        // fails if this is not an array or too short
  std::size_t size(std::size_t most) const;      // of an array; fails beyond `most`
  // The elements of an array one after the other; fails beyond `most`.
  auto elements(std::size_t most) const {
    return std::views::iota(std::size_t{0}, size(most)) |
           std::views::transform([array = *this](std::size_t i) { return array.at(i); });
  }

  long long long_integer(long long least, long long most) const;
  int integer(int least, int most) const { return static_cast<int>(long_integer(least, most)); }
  double number(double least, double most) const;
  bool boolean() const;
  std::string text(std::size_t longest = 200) const;  // without control characters
  // Of an array of at most so many elements.
  std::vector<int> integers(std::size_t count, int least, int most) const;
  std::vector<std::string> texts(std::size_t count, std::size_t longest = 200) const;

 private:
  friend JsonReader parse_json(std::string_view text, const std::string& file);
  friend JsonReader parse_json_line(std::string_view text, const std::string& file, int line);
  JsonReader(std::shared_ptr<const void> value, std::string file, std::string place)
      : value_(std::move(value)), file_(std::move(file)), place_(std::move(place)) {}

  std::shared_ptr<const void>
      value_;  // of the library that parses, in the tree of the whole text, which it keeps
  std::string file_;
  std::string place_;
};

// Returns a cursor on all of the text, which is parsed, or InputError with line and column.
JsonReader parse_json(std::string_view text, const std::string& file);
// On one line of a file that has a text in each.
JsonReader parse_json_line(std::string_view text, const std::string& file, int line);

}  // namespace chorale
