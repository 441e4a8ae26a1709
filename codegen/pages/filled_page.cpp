#include "codegen/pages/page.h"

namespace chorale {

std::string filled_page(std::string page, const std::string& json) {
  std::string data;
  for (char c : json)
    if (c == '<')
      data += "\\u003c";
    else
      data += c;
  const std::string mark = "@DATA@";
  return page.replace(page.find(mark), mark.size(), data);
}

}  // namespace chorale
