#include "codegen/pages/place_html.h"

#include "codegen/pages/page.h"

namespace chorale {

std::string to_html(const Ranking& ranking) {
  return filled_page(place_page_template(), to_json(ranking));
}

}  // namespace chorale
