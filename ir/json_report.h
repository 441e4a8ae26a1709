// The report of a check, for programs: docs/formats.md. Only written.
#pragma once

#include <string>

#include "ir/ranking.h"
#include "ir/search_options.h"

namespace chorale {

std::string to_json(const CheckReport&);
std::string to_json(const RankingReport&);

}  // namespace chorale
