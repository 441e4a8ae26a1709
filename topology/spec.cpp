// Numbers are read to the last character, so that "4x" and "4 x4" are errors that name the place and not
// machines of four ranks.
#include "topology/spec.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "ir/error.h"

namespace chorale {

// "tpu:AxBxC[:twisted]" is of the kind tpu.
std::vector<std::string> kinds(const std::vector<CatalogueEntry>& catalogue) {
  std::vector<std::string> result;
  for (const CatalogueEntry& entry : catalogue)
    result.push_back(entry.pattern.substr(0, entry.pattern.find_first_of(":[")));
  return result;
}

std::vector<int> spec_sizes(const std::string& where, const std::string& text) {
  std::string_view rest = text;
  std::vector<int> sizes;
  while (true) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    int size = 0;
    const auto [next, error] = std::from_chars(rest.data(), rest.data() + end, size);
    if (error != std::errc() || next != rest.data() + end || size < 1)
      throw InputError(
          where,
          rest.empty() ? "a size is missing" : "'" + std::string(rest.substr(0, 40)) + "' is not a size",
          "use numbers, 1 or more, after the colon");
    sizes.push_back(size);
    if (end == rest.size()) return sizes;
    rest.remove_prefix(end + 1);
  }
}

int spec_size(const std::string& where, const std::string& text, int least, int most) {
  const std::vector<int> sizes = spec_sizes(where, text);
  if (sizes.size() != 1 || sizes[0] < least || sizes[0] > most)
    throw InputError(where, "size " + text.substr(0, 40) + " is out of range",
                     "use " + std::to_string(least) + " to " + std::to_string(most));
  return sizes[0];
}

}  // namespace chorale
