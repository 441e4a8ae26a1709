#include "placement/check_ranking.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

void ranking(std::string_view text) {
  refusing([&] {
    const Ranking ranking = ranking_from_json(text, "input");
    const Ranking again = ranking_from_json(to_json(ranking), "written");
    require(again.best == ranking.best && again.job == ranking.job && again.conditions == ranking.conditions,
            "a ranking does not come back");
    // Axes and machines of any size are the matter of placement; here the list is verified.
    if (devices(ranking.hierarchy) > 64 || ranking.job.reductions.size() > 3 || ranking.best.size() > 8)
      return;
    check_ranking(ranking, [](int, int) { return false; });
  });
}

}  // namespace chorale::fuzz
