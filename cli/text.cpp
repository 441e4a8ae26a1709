#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/shown.h"

namespace chorale {

std::string fraction(long long numerator, long long denominator) {
  const long long divisor = std::max(1LL, std::gcd(numerator, denominator));
  const long long n = numerator / divisor, d = denominator / divisor;
  if (d == 1) return std::to_string(n);
  return fmt::format("{}/{} = {:.4g}", n, d, static_cast<double>(n) / static_cast<double>(d));
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

std::string table(std::vector<std::vector<std::string>> rows, const std::string& right) {
  for (std::vector<std::string>& row : rows)
    for (std::string& cell : row) cell = shown(cell);  // as wide as it will be
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i >= widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool numbers = i < right.size() && right[i] == 'r';
      if (i > 0) line += "  ";
      line += numbers ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string counted(long long number, const std::string& singular) {
  return fmt::format("{} {}{}", number, singular, number == 1 ? "" : "s");
}

}  // namespace chorale
