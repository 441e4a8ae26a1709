// Numbers, units and ranges as people type them. Nothing may overflow: a number is compared with the most
// that is allowed, divided by its unit, before it is multiplied, and a geometric range grows from at most
// 2^40 by at most 10^6 at a time, to less than 2^63.
#include "cli/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ir/error.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

std::string shortened(const std::string& text) {
  return "'" + (text.size() > 60 ? text.substr(0, 60) + "..." : text) + "'";
}

// Times are in milliseconds, and a number without a unit is of seconds. Units of bytes are powers of two,
// whichever way they are spelled.
struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// "ms" and "m" share a letter; a suffix has to be one of these as a whole.
constexpr Unit kTimes[] = {{"", 1000},    {"ms", 1},       {"s", 1000},
                           {"m", 60'000}, {"min", 60'000}, {"h", 3'600'000}};
constexpr Unit kSizes[] = {
    {"", 1},          {"B", 1},          {"K", 1 << 10},     {"KB", 1 << 10},    {"KiB", 1 << 10},
    {"M", 1 << 20},   {"MB", 1 << 20},   {"MiB", 1 << 20},   {"G", 1 << 30},     {"GB", 1 << 30},
    {"GiB", 1 << 30}, {"T", kMostBytes}, {"TB", kMostBytes}, {"TiB", kMostBytes}};

// Digits and then one of the units: digits * factor, or -1 where it is neither that nor within `most`.
template <std::size_t n>
std::int64_t with_unit(std::string_view text, const Unit (&units)[n], std::int64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > static_cast<std::uint64_t>(most)) return -1;
  const std::string_view suffix(end, text.data() + text.size() - end);
  for (const Unit& unit : units)
    if (suffix == unit.name)
      return number > static_cast<std::uint64_t>(most / unit.factor)
                 ? -1
                 : static_cast<std::int64_t>(number) * unit.factor;
  return -1;
}

// "1K:64M:4" is 1K, 4K, ... up to 64M; without a factor sizes double. The largest is `to` only if it is met.
std::vector<std::int64_t> geometric(const std::string& option, const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() > 3)
    throw InputError(option, shortened(text) + " is not a range", "use from:to:factor, such as 1K:64M:4");
  const std::int64_t from = parse_size(option, parts[0]), to = parse_size(option, parts[1]);
  const std::int64_t factor = parts.size() == 3 ? parse_integer(option, parts[2], 2, 1'000'000) : 2;
  if (from < 1) throw InputError(option, "a range cannot grow from 0 bytes", "start with 1 or more");
  if (from > to)
    throw InputError(option, shortened(text) + " is an empty range", "put the smaller size first");
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = from; size <= to; size *= factor) sizes.push_back(size);
  return sizes;
}

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

std::int64_t parse_size(const std::string& option, const std::string& text) {
  const std::int64_t size = with_unit(text, kSizes, kMostBytes);
  if (size < 0)
    throw InputError(option, shortened(text) + " is not a size", "use one such as 4096, 64K, 1M, at most 1T");
  return size;
}

std::vector<std::int64_t> parse_sizes(const std::string& option, const std::string& text) {
  if (text.find(':') != std::string::npos) return geometric(option, text);
  std::vector<std::int64_t> sizes;
  for (const std::string& part : split(text, ',')) sizes.push_back(parse_size(option, part));
  return sizes;
}

}  // namespace chorale
