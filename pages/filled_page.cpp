// A page is a template with two marks, one for its title and one for its data, which is JSON in a script
// element. Data from files must not end the element or steer the text around it: '<' becomes an escape of
// JSON, and escapes of steering characters (ir/shown.h) get a second backslash, so that a page shows them as
// they are written.
#include <charconv>
#include <cstdint>
#include <stdexcept>

#include "ir/shown.h"
#include "pages/page.h"

namespace chorale {
namespace {
// Does a browser obey what this escape of JSON, "\u202e", stands for? Of what lies beyond four digits only
// tags do, and an unpaired surrogate is drawn as a box.
bool steers_a_page(std::string_view escape) {
  if (escape[1] == 'b' || escape[1] == 'f' || escape[1] == 'r') return true;
  if (escape[1] != 'u') return false;
  std::uint32_t code = 0;
  std::from_chars(escape.data() + 2, escape.data() + 6, code, 16);
  return controls_terminal(code) || code == 0xdb40;
}

// An escape is two characters at least, so the character after a backslash is copied with it.
std::string escaped_json(const std::string& json) {
  std::string text;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (json[i] == '\\') {
      if (steers_a_page(std::string_view(json).substr(i, 6))) text += '\\';
      text += json[i++];
      text += json[i];
    } else {
      text += json[i];
    }
  }
  return text;
}

}  // namespace

std::string as_markup(const std::string& words) {
  std::string text;
  for (char c : shown(words))
    if (c == '<')
      text += "&lt;";
    else if (c == '>')
      text += "&gt;";
    else if (c == '&')
      text += "&amp;";
    else
      text += c;
  return text;
}

// The marks are looked for in the template alone, never in what replaces them.
std::string filled_page(Page which, const std::string& title, const std::string& json) {
  const std::string page = page_template(which);
  const std::string title_mark = "@TITLE@", data_mark = "@DATA@";
  const std::size_t t = page.find(title_mark), d = page.find(data_mark);
  if (t == std::string::npos || d == std::string::npos || d < t)
    throw std::logic_error("a page lost its marks");
  const std::size_t after = t + title_mark.size();
  return page.substr(0, t) + as_markup(title) + page.substr(after, d - after) + escaped_json(json) +
         page.substr(d + data_mark.size());
}

}  // namespace chorale
