// A ranking that was read from a file: is it true?
#pragma once

#include <functional>

#include "ir/ranking.h"

namespace chorale {

// Nothing in it is believed. Each placement has to fit the machine, the axes and the conditions; each
// strategy is refereed, has to be one of the hierarchy that is named, with the groups that are listed, and is
// priced again; so are single instructions, counts and sums; no strategy over these levels may be cheaper
// than what is listed; and all matrices are priced again to see that what is listed comes first, unless the
// ranking says that not all were. `progress` may stop that last part (it is told how many are priced), and
// RankingReport::matrices says how far it came. What was refused of a user's own strategy, and the sizes of a
// template that is not there, cannot be judged; of the sizes only what they say of themselves is.
RankingReport check_ranking(const Ranking&, const std::function<bool(int done, int of)>& progress = {});

}  // namespace chorale
