// Numbers and times as people type them.
#include "cli/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ir/error.h"

namespace chorale {
namespace {

std::string shortened(const std::string& text) {
  return "'" + (text.size() > 60 ? text.substr(0, 60) + "..." : text) + "'";
}

// Times are in milliseconds, and a number without a unit is of seconds.
struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// "ms" and "m" share a letter; a suffix has to be one of these as a whole.
constexpr Unit kTimes[] = {{"", 1000},    {"ms", 1},       {"s", 1000},
                           {"m", 60'000}, {"min", 60'000}, {"h", 3'600'000}};

}  // namespace

// from_chars reads a minus sign and decimal digits alone: no whitespace, no plus sign, no base by prefix, no
// locale.
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string remedy = fmt::format("use {} to {}", least, most);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    throw InputError(option, shortened(text) + " is not an integer", remedy);
  if (error != std::errc() || number < least || number > most)
    throw InputError(option, shortened(text) + " is out of range", remedy);
  return number;
}

// NaN and infinity are numbers to from_chars; the caller's range excludes the latter, and what
// is too large for a double.
double parse_number(const std::string& option, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument || end != text.data() + text.size() || std::isnan(number))
    throw InputError(option, shortened(text) + " is not a number", "use one such as 0.7 or 4e-5");
  return error == std::errc() ? number : HUGE_VAL;
}

double parse_positive(const std::string& option, const std::string& text) {
  const double number = parse_number(option, text);
  if (!(number > 0) || number > 1e9)
    throw InputError(option, shortened(text) + " is out of range", "use more than 0 and at most 1e9");
  return number;
}

// A fraction is rounded to a millisecond. "inf" and "nan" are numbers to from_chars, and neither passes.
std::chrono::milliseconds parse_duration(const std::string& option, const std::string& text) {
  constexpr double kLongest = 3'600'000'000;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view suffix(end, text.data() + text.size() - end);
  const auto* const unit = std::ranges::find(kTimes, suffix, &Unit::name);
  const double time = error == std::errc() && unit != std::end(kTimes)
                          ? std::round(number * static_cast<double>(unit->factor))
                          : 0;
  if (!(time >= 1 && time <= kLongest))
    throw InputError(option, shortened(text) + " is not a time",
                     "use seconds or a unit, such as 30, 0.5, 500ms, 5m, 1h");
  return std::chrono::milliseconds(static_cast<std::int64_t>(time));
}

}  // namespace chorale
