// A range grows from at most 2^40 by at most 10^6 at a time, to less than 2^63: nothing overflows.
#include "ir/byte_size.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/number_in.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;
constexpr std::size_t kMaxShown = 60;  // characters of what is refused
constexpr std::int64_t kMaxFactor = 1'000'000;

std::string in_quotes(const std::string& text) {
  return "'" + (text.size() > kMaxShown ? text.substr(0, kMaxShown) + "..." : text) + "'";
}

// What "K", "k", "KB", "Ki" and "KiB" stand for; 0 if it is no unit.
double unit_of(std::string_view suffix) {
  std::string unit(suffix);
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.empty() || unit == "b") return 1;
  const std::size_t power = std::string_view("kmgt").find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "i" || rest == "b" || rest == "ib"))
    return 0;
  return std::ldexp(1, 10 * (static_cast<int>(power) + 1));
}

std::int64_t factor_of(const std::string& where, const std::string& text) {
  const std::int64_t factor = number_in<std::int64_t>(text).value_or(0);
  if (factor < 2 || factor > kMaxFactor)
    throw InputError(where, in_quotes(text) + " is not a factor", "use an integer from 2 to 1000000");
  return factor;
}

// "1K:64M:4" is 1K, 4K, ... up to 64M. The largest is `to` only if it is met.
std::vector<std::int64_t> geometric(const std::string& where, const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() > 3)
    throw InputError(where, in_quotes(text) + " is not a range", "use from:to:factor, such as 1K:64M:4");
  const std::int64_t from = parse_size(where, parts[0]), to = parse_size(where, parts[1]);
  const std::int64_t factor = parts.size() == 3 ? factor_of(where, parts[2]) : 2;
  if (from < 1) throw InputError(where, "a range cannot grow from 0 bytes", "start with 1 or more");
  if (from > to)
    throw InputError(where, in_quotes(text) + " is an empty range", "put the smaller size first");
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = from; size <= to; size *= factor) sizes.push_back(size);
  return sizes;
}

}  // namespace

// from_chars reads decimal digits, a point and an exponent: no whitespace, no plus sign, no base by prefix,
// no locale; "inf" and "nan", too, which are not in the range.
std::int64_t parse_size(const std::string& where, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const double unit = unit_of(std::string_view(end, text.data() + text.size() - end)), bytes = number * unit;
  if (error != std::errc() || unit == 0 || !(bytes >= 0 && bytes <= static_cast<double>(kMaxSize)) ||
      bytes != std::floor(bytes))
    throw InputError(where, in_quotes(text) + " is not a size", "use one such as 4096, 64K, 1e6, at most 1T");
  return static_cast<std::int64_t>(bytes);
}

std::vector<std::int64_t> parse_sizes(const std::string& where, const std::string& text) {
  if (text.find(':') != std::string::npos) return geometric(where, text);
  std::vector<std::int64_t> sizes;
  for (const std::string& part : split(text, ',')) sizes.push_back(parse_size(where, part));
  return sizes;
}

}  // namespace chorale
