#include <charconv>
#include <cstdint>

#include "codegen/pages/page.h"
#include "ir/shown.h"

namespace chorale {
namespace {

// Does a browser obey what this escape of JSON, "\u202e", stands for? Of what lies beyond four digits only tags
// do, and a half of a pair alone is drawn as a box.
bool steers_a_page(std::string_view escape) {
  if (escape[1] == 'b' || escape[1] == 'f' || escape[1] == 'r') return true;
  if (escape[1] != 'u') return false;
  std::uint32_t code = 0;
  std::from_chars(escape.data() + 2, escape.data() + 6, code, 16);
  return steers(code) || code == 0xdb40;
}

}  // namespace

std::string filled_page(std::string page, const std::string& json) {
  std::string data;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      data += "\\u003c";
    } else if (json[i] == '\\') {
      if (steers_a_page(std::string_view(json).substr(i, 6))) data += '\\';
      data += json[i++];
      data += json[i];
    } else {
      data += json[i];
    }
  }
  const std::string mark = "@DATA@";
  return page.replace(page.find(mark), mark.size(), data);
}

}  // namespace chorale
