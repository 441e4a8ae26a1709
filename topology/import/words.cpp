#include "topology/import/words.h"

#include <cctype>
#include <iterator>
#include <sstream>

namespace chorale {

std::vector<std::string> words_in(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // all of it if it has no slash
}

}  // namespace chorale
