// Numbers of texts, read by std::from_chars: no blank, plus sign, base by prefix or locale.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace chorale {

// Returns the finite number that is all of the text; none if there is more, or none.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(static_cast<double>(number)))
    return std::nullopt;
  return number;
}

}  // namespace chorale
