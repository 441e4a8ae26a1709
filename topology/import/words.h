// Words and numbers of the texts of other tools.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chorale {

std::vector<std::string> words_in(const std::string& line);  // between whitespace
std::string lower_case(std::string);
std::string file_name(const std::string& path);  // "dgx.xml", of "files/dgx.xml"

// The finite number that is all of the text; none if there is more, or none.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(static_cast<double>(number)))
    return std::nullopt;
  return number;
}

}  // namespace chorale
