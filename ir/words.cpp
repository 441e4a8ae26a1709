#include "ir/words.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace chorale {
namespace {

constexpr std::size_t kLongestName = 60;  // a longer one is no slip of a finger

// Letters to insert, remove or exchange (Levenshtein).
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

}  // namespace

std::string counted(long long number, const std::string& singular, const std::string& plural) {
  return std::to_string(number) + " " + (number == 1 ? singular : plural.empty() ? singular + "s" : plural);
}

std::string joined(const std::vector<std::string>& names, const std::string& separator) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : separator) + name;
  return text;
}

std::string did_you_mean(const std::string& given, const std::vector<std::string>& known,
                         const std::string& otherwise) {
  if (given.size() < 2 || given.size() > kLongestName) return otherwise;
  const std::size_t most = std::min<std::size_t>(3, (given.size() + 2) / 3);
  std::string nearest;
  std::size_t least = most + 1;
  for (const std::string& name : known)
    // A beginning of the name is as near as a slip.
    if (const std::size_t away = name.starts_with(given) ? 1 : edit_distance(given, name); away < least) {
      nearest = name;
      least = away;
    }
  return least > most ? otherwise : "did you mean '" + nearest + "'?";
}

}  // namespace chorale
