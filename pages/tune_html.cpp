// The data of the page are what 'tune --json' writes.
#include "pages/tune_html.h"

#include "pages/page.h"

namespace chorale {

std::string tune_page(const std::string& title, const std::string& json) {
  return filled_page(tune_page_template(), title, json);
}

}  // namespace chorale
