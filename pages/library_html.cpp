// The JSON is made by the API (api/library_page.cpp), which has the times.
#include "pages/library_html.h"

#include "pages/page.h"

namespace chorale {

std::string library_page(const std::string& title, const std::string& json) {
  return filled_page(library_page_template(), title, json);
}

}  // namespace chorale
