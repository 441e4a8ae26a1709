// One reader (CHORALE_READER, a function of readers.h) as libFuzzer calls it, with a mutator that keeps texts
// well-formed: bytes at random mostly end at the parser.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/readers.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Random = std::minstd_rand;

struct Part {
  std::size_t begin = 0, end = 0;
};

Part any(const std::vector<Part>& parts, Random& random) {
  return parts[random() % parts.size()];
}

std::vector<Part> numbers(const std::string& text) {
  std::vector<Part> result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of("-0123456789", i), text.size());
    if (end > i) result.push_back({i, end});
    i = end + 1;
  }
  return result;
}

// What brackets hold, brackets included; of XML, elements without children.
std::vector<Part> groups(const std::string& text) {
  std::vector<Part> result;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[' || text[i] == '<' || text[i] == '(') open.push_back(i);
    if ((text[i] == '}' || text[i] == ']' || text[i] == '>' || text[i] == ')') && !open.empty()) {
      result.push_back({open.back(), i + 1});
      open.pop_back();
    }
  }
  return result;
}

// With what ends them.
std::vector<Part> lines(const std::string& text) {
  std::vector<Part> result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t newline = text.find('\n', i);
    const std::size_t end = newline == std::string::npos ? text.size() : newline + 1;
    result.push_back({i, end});
    i = end;
  }
  return result;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream read(text);
  return {std::istream_iterator<std::string>(read), {}};
}

void change(std::string& text, Random& random) {
  static const std::vector<std::string> kNumbers = words(
      "0 1 -1 2 3 4 5 7 8 16 63 64 72 255 256 1000 4095 4096 4097 65536 999999 1000000 1048576 "
      "16777215 16777216 1000000000 2147483647 -2147483648 4294967295 9223372036854775807 "
      "18446744073709551616 0.5 1e9 1e-12 1e308 1e999 null");
  enum class What { Numbers, Groups, Lines };
  const What what = static_cast<What>(random() % 3);
  const std::vector<Part> all = what == What::Numbers  ? numbers(text)
                                : what == What::Groups ? groups(text)
                                                       : lines(text);
  if (all.empty()) return;
  const Part part = any(all, random);
  if (what == What::Numbers) {
    const bool near = random() % 2 == 0;
    const std::string number = text.substr(part.begin, part.end - part.begin);
    text.replace(part.begin, part.end - part.begin,
                 near && number.size() < 9 && number != "-"
                     ? std::to_string(std::atoi(number.c_str()) + static_cast<int>(random() % 5) - 2)
                     : kNumbers[random() % kNumbers.size()]);
    return;
  }
  const std::string group = text.substr(part.begin, part.end - part.begin);
  switch (random() % 3) {
    case 0: {  // without it, and without the comma before or after it
      Part gone = part;
      if (gone.begin > 0 && text[gone.begin - 1] == ',')
        --gone.begin;
      else if (gone.end < text.size() && text[gone.end] == ',')
        ++gone.end;
      text.erase(gone.begin, gone.end - gone.begin);
      break;
    }
    case 1:  // twice
      text.insert(part.begin, group + (what == What::Lines || group[0] == '<' ? "" : ","));
      break;
    default: {  // instead of another
      const Part other = any(all, random);
      if (other.begin < text.size()) text.replace(other.begin, other.end - other.begin, group);
    }
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  Random random(seed + 1);
  if (size == 0 || random() % 3 == 0) return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (unsigned times = 1 + random() % 3; times > 0; --times) change(text, random);
  const std::size_t length = std::min(text.size(), most);
  std::copy_n(text.data(), length, reinterpret_cast<char*>(data));
  return length;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chorale::fuzz::CHORALE_READER({reinterpret_cast<const char*>(data), size});
  return 0;
}
