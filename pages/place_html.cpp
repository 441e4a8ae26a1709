// The data of the page are the ranking's own file.
#include "pages/place_html.h"

#include "pages/page.h"

namespace chorale {

std::string to_html(const Ranking& ranking) {
  std::string axes;
  for (const Axis& axis : ranking.job.axes)
    axes += (axes.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
  const std::string title = ranking.hierarchy.name + " placement of " + axes + " - Chorale";
  return filled_page(place_page_template(), title, to_json(ranking));
}

}  // namespace chorale
