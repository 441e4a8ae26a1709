#include "topology/import/words.h"

#include <fmt/format.h>

#include <cctype>
#include <iterator>
#include <sstream>

#include "ir/error.h"
#include "ir/limits.h"

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

// "n[0-3,7],login,rack[1-2]u[01-04]": commas separate names outside of brackets and ranges inside; several
// brackets multiply; the digits of a range's first number are the width of all.

namespace {

class HostListReader {
 public:
  explicit HostListReader(const std::string& where) : where_(where) {}

  // Commas within brackets are those of a range list, so depth is counted.
  std::vector<std::string> all(const std::string& text) const {
    std::vector<std::string> names = {};
    for (std::size_t begin = 0; begin < text.size();) {
      int depth = 0;
      std::size_t end = begin;
      for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
        depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      if (depth != 0) fail("'" + text.substr(begin, 60) + "' has a bracket without its other");
      for (std::string& name : expanded(text.substr(begin, end - begin))) names.push_back(std::move(name));
      require_few(names);
      begin = end + 1;
    }
    return names;
  }

 private:
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy = "use n[0-3,7]") const {
    throw InputError(where_, problem, remedy);
  }

  void require_few(const std::vector<std::string>& names) const {
    if (std::ssize(names) > kMostRanks)
      fail(fmt::format("makes more than {} names", kMostRanks), "give fewer");
  }

  // The rest behind the first brackets is expanded first, and each number is put before each of its names: so
  // the last brackets vary fastest, as Slurm lists them.
  std::vector<std::string> expanded(const std::string& word) const {
    const std::size_t open = word.find('[');
    if (open == std::string::npos) {
      if (word.empty()) fail("has an empty name");
      return {word};
    }
    const std::size_t close = word.find(']', open);
    if (close == std::string::npos) fail("'" + word.substr(0, 60) + "' has no ]");
    const std::vector<std::string> rest =
        close + 1 < word.size() ? expanded(word.substr(close + 1)) : std::vector<std::string>{""};
    std::vector<std::string> names;
    std::istringstream ranges(word.substr(open + 1, close - open - 1));
    for (std::string range; std::getline(ranges, range, ',');) {
      const std::size_t dash = range.find('-');
      const std::string from = range.substr(0, dash),
                        to = dash == std::string::npos ? from : range.substr(dash + 1);
      const int first = end_of_range(from, word), last = end_of_range(to, word);
      if (last < first || last - first >= kMostRanks)
        fail("'" + word.substr(0, 60) + "' has a range that is none");
      for (int n = first; n <= last; ++n) {
        for (const std::string& tail : rest)
          names.push_back(fmt::format("{}{:0{}}{}", word.substr(0, open), n, from.size(), tail));
        require_few(names);
      }
    }
    if (names.empty()) fail("'" + word.substr(0, 60) + "' names nothing");
    return names;
  }

  // Nine digits fit an int.
  int end_of_range(const std::string& digits, const std::string& word) const {
    const int number = number_in<int>(digits).value_or(-1);
    if (digits.size() > 9 || number < 0) fail("'" + word.substr(0, 60) + "' has a range that is none");
    return number;
  }

  const std::string where_;
};

}  // namespace

std::vector<std::string> read_host_list(const std::string& text, const std::string& where) {
  return HostListReader(where).all(text);
}

}  // namespace chorale
