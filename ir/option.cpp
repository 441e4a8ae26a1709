// What follows from a row without its struct: the help with its default, ranges, choices, units.
#include "ir/option.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/error.h"
#include "ir/words.h"

namespace chorale {

std::string_view key_of(const OptionWords& words) {
  return words.key.empty() ? words.name : words.key;
}

// "{}" in a help text is the default, as the command line would have it: a name, seconds, or a number.
std::string help_of(const OptionWords& words, double usual) {
  std::string help(words.help);
  const std::size_t at = help.find("{}");
  if (at == std::string::npos) return help;
  const auto choice =
      std::ranges::find(words.choices, static_cast<std::int64_t>(usual), &OptionChoice::value);
  return help.replace(at, 2,
                      !words.by_default.empty()            ? std::string(words.by_default)
                      : choice != words.choices.end()      ? std::string(choice->name)
                      : words.kind == OptionKind::Duration ? fmt::format("{}", usual / 1000)
                                                           : fmt::format("{}", usual));
}

void require_in_range(const OptionWords& words, std::int64_t value, std::string_view name) {
  if (value < words.least || value > words.most)
    throw InputError(std::string(name), std::to_string(value) + " is out of range",
                     "use " + std::to_string(words.least) + " to " + std::to_string(words.most));
}

// Written so that NaN is refused.
void require_in_range(const OptionWords& words, double number, std::string_view name) {
  if (!(number >= words.lowest && number <= words.highest))
    throw InputError(std::string(name), fmt::format("{} is out of range", number),
                     fmt::format("use {} to {}", words.lowest, words.highest));
}

// Choices are compared as they are written, with upper and lower case; the error proposes the nearest.
std::int64_t choice_named(const OptionWords& words, const std::string& value, std::string_view name) {
  std::vector<std::string> known;
  for (const OptionChoice& each : words.choices) {
    if (each.name == value) return each.value;
    known.emplace_back(each.name);
  }
  throw unknown_name(std::string(name), value, known);
}

// NaN fails the comparison and is refused with the rest. A time below the least one (a millisecond) becomes
// that: it was above 0.
std::int64_t milliseconds_in(const OptionWords& words, double seconds, std::string_view name) {
  if (!(seconds > 0 && seconds * 1000 <= static_cast<double>(words.most)))
    throw InputError(std::string(name), "is out of range",
                     "use seconds, up to " + std::to_string(words.most / 1000));
  return std::max(words.least, static_cast<std::int64_t>(std::llround(seconds * 1000)));
}

}  // namespace chorale
