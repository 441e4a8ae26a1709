// A ranking that was read from a file: is it true?
#pragma once

#include <functional>

#include "ir/ranking.h"

namespace chorale {

// Nothing in the ranking is trusted. Each placement has to fit the machine, the axes and the conditions; each
// strategy is verified, has to be one of the hierarchy that is named, with the groups that are listed, and is
// priced again; so are single instructions, counts and sums; no strategy over these levels may be cheaper
// than the listed ones; and all matrices are priced again to check that the listed ones come first, unless
// the ranking states that not all were priced. `progress` may stop that last part (its argument is the number
// priced), and RankingReport::matrices is the number reached. Refusals of a user's own strategy, and the
// sizes of a template that is not there, cannot be verified; the sizes are only checked for consistency.
RankingReport check_ranking(const Ranking&, const std::function<bool(int done, int of)>& progress = {});

}  // namespace chorale
