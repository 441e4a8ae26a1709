#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace chorale {

std::string fraction(long long numerator, long long denominator) {
  const long long divisor = std::max(1LL, std::gcd(numerator, denominator));
  const long long n = numerator / divisor, d = denominator / divisor;
  if (d == 1) return std::to_string(n);
  return fmt::format("{}/{} = {:.4g}", n, d, static_cast<double>(n) / static_cast<double>(d));
}

std::string rounds_a_chunk(long long rounds, long long chunks) {
  return fraction(rounds, chunks) + (rounds == chunks ? " round a chunk" : " rounds a chunk");
}

std::string ranges(std::vector<int> numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[i]);
    if (end > i) text += (end == i + 1 ? ", " : "-") + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace chorale
