// The page is a template with a script (pages/compare.js); here its data are made. Sentences and tables
// become text there; figures become elements, and their names were escaped when they were drawn (as_markup).
#include "pages/compare_html.h"

#include <nlohmann/json.hpp>

#include "pages/page.h"

namespace chorale {

std::string to_html(const ComparePage& page) {
  using nlohmann::json;
  json tables = json::array();
  for (const ComparePage::Table& table : page.tables)
    tables.push_back({{"title", table.title}, {"rows", table.rows}, {"kinds", table.kinds}});
  const json data = {{"title", page.title},
                     {"sentences", page.sentences},
                     {"figures", page.figures},
                     {"tables", std::move(tables)}};
  return filled_page(compare_page_template(), page.title + " - Chorale",
                     data.dump(-1, ' ', true, json::error_handler_t::replace));
}

}  // namespace chorale
