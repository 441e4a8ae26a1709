#include "ir/option.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"

namespace chorale {

std::string_view key_of(const OptionWords& words) {
  return words.key.empty() ? words.name : words.key;
}

std::string help_of(const OptionWords& words, std::int64_t usual) {
  std::string help(words.help);
  if (const std::size_t at = help.find("{}"); at != std::string::npos)
    help.replace(at, 2, words.by_default.empty() ? std::to_string(usual) : std::string(words.by_default));
  return help;
}

void require_in_range(const OptionWords& words, std::int64_t value, std::string_view name) {
  if (value < words.least || value > words.most)
    throw InputError(std::string(name), std::to_string(value) + " is out of range",
                     "use " + std::to_string(words.least) + " to " + std::to_string(words.most));
}

std::int64_t milliseconds_in(const OptionWords& words, double seconds, std::string_view name) {
  if (!(seconds > 0 && seconds * 1000 <= static_cast<double>(words.most)))
    throw InputError(std::string(name), "is out of range",
                     "use seconds, up to " + std::to_string(words.most / 1000));
  return std::max(words.least, static_cast<std::int64_t>(std::llround(seconds * 1000)));
}

}  // namespace chorale
