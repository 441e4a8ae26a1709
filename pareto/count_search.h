// What solvers find of single chunk counts, beyond what is found.
#pragma once

#include <cstdint>

#include "ir/search_options.h"
#include "pareto/chunk_search.h"
#include "pareto/findings.h"

namespace chorale {

// Chunk counts from the least that is asked for up to `most`, side by side, with `conflicts` conflicts per
// question (none if negative); points and claims are put into `found`, and, in the `last` search, why
// questions were left open. The direct search of an AllReduce comes after its phases, since what they are
// composed to is what it has to beat.
void search_counts(int most, std::int64_t conflicts, bool last, Findings& found, FrontierOptions& options,
                   SearchClock&);

}  // namespace chorale
