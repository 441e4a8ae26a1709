// Numbers are rounded to three digits before their unit is chosen, so that no text shows 1024 KiB.
#include "ir/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <span>
#include <utility>

namespace chorale {
namespace {

constexpr std::size_t kLongestName = 60;  // a longer one is not a typing error

// Letters to insert, remove or exchange (Levenshtein). Before letter i of a, row[j] is the distance of its
// first i letters from b's first j; `diagonal` is what stood at j before it was written over.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j)
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, diagonal + (a[i] != b[j])}));
  }
  return row.back();
}

struct Unit {
  double size = 1;
  const char* name = "";
};

// Three significant digits: two decimals below 10, one below 100; zeros at the end are dropped. Numbers below
// the first unit and above the last stay in these.
std::string with_unit(double value, std::span<const Unit> units) {
  if (std::isinf(value)) return "unlimited";
  const auto three_digits = [](double x) {
    const double step = x < 10 ? 0.01 : x < 100 ? 0.1 : 1;
    return std::round(x / step) * step;
  };
  // A unit is too small if what it would show is one of the next: 1023.9 KiB is 1 MiB.
  std::size_t u = 0;
  while (u + 1 < units.size() && three_digits(value / units[u].size) * units[u].size >= units[u + 1].size)
    ++u;
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%.*f",
                value / units[u].size < 10    ? 2
                : value / units[u].size < 100 ? 1
                                              : 0,
                three_digits(value / units[u].size));
  std::string number = text.data();
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return number + " " + units[u].name;
}

}  // namespace

std::string counted(long long number, const std::string& singular, const std::string& plural) {
  return std::to_string(number) + " " + (number == 1 ? singular : plural.empty() ? singular + "s" : plural);
}

std::string joined(const std::vector<std::string>& names, const std::string& separator) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : separator) + name;
  return text;
}

// Always one part more than separators.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// Lowest terms, and the value where it is not an integer.
std::string fraction(long long numerator, long long denominator) {
  const long long divisor = std::max(1LL, std::gcd(numerator, denominator));
  const long long n = numerator / divisor, d = denominator / divisor;
  if (d == 1) return std::to_string(n);
  return fmt::format("{}/{} = {:.4g}", n, d, static_cast<double>(n) / static_cast<double>(d));
}

// Singular for exactly one round per chunk, whatever the fraction is made of.
std::string rounds_a_chunk(long long rounds, long long chunks) {
  return fraction(rounds, chunks) + (rounds == chunks ? " round per chunk" : " rounds per chunk");
}

std::string format_bytes(double bytes) {
  static constexpr Unit kUnits[] = {
      {1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}, {1099511627776, "TiB"}};
  return with_unit(bytes, kUnits);
}

std::string format_us(double microseconds) {
  static constexpr Unit kUnits[] = {{1, "us"}, {1e3, "ms"}, {1e6, "s"}};
  return with_unit(microseconds, kUnits);
}

// A single letter resembles too much: no proposal.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& known,
                         const std::string& otherwise) {
  if (given.size() < 2 || given.size() > kLongestName) return otherwise;
  // A slip for every three letters or part of them, and three at most.
  const std::size_t most = std::min<std::size_t>(3, (given.size() + 2) / 3);
  std::string nearest;
  std::size_t least = most + 1;
  // The first of equally near names, in the order in which they are offered.
  for (const std::string& name : known)
    // A beginning of the name is as near as a slip.
    if (const std::size_t away = name.starts_with(given) ? 1 : edit_distance(given, name); away < least) {
      nearest = name;
      least = away;
    }
  return least > most ? otherwise : "did you mean '" + nearest + "'?";
}

InputError unknown_name(const std::string& where, const std::string& name,
                        const std::vector<std::string>& known, const std::string& what) {
  constexpr std::size_t kMostListed = 20;
  const std::string given = name.substr(0, kLongestName);
  std::string remedy = "use one of " + joined(known);
  if (known.size() > kMostListed) {
    std::vector<std::string> nearest = known;
    std::ranges::stable_sort(nearest, {},
                             [&](const std::string& each) { return edit_distance(given, each); });
    nearest.resize(kMostListed / 2);
    remedy = "use another, such as " + joined(nearest);
  }
  return {where, "unknown " + what + " '" + given + "'", did_you_mean(name, known, remedy)};
}

}  // namespace chorale
