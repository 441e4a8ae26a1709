// Runs of two are listed as two numbers: "3, 4" is no longer than "3-4" and easier to read.
#include "cli/text.h"

namespace chorale {

// "0-3, 5, 6, 9" of 0 1 2 3 5 6 9.
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

std::string under_abilities(const Topology& topology) {
  const std::string switches = in_words(abilities_of(topology));
  return switches.empty() ? "" : "; its switches " + switches + ", and what is proven holds for such";
}

}  // namespace chorale
