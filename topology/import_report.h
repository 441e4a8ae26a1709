// What became of foreign files, for people and as JSON.
#pragma once

#include <string>

#include "topology/import/import.h"

namespace chorale {

// What was read, what was assumed and what is odd, a sentence a line under "read:", "assumed:" and "odd".
std::string provenance(const Import&);

// What was read, assumed and fitted, and what each rank and switch is; what 'chorale topology import' prints.
std::string describe(const Import&);

// {"machine": ..., "names": [...], "read": [...], "assumed": [...], "odd": [...],
// "unit_gbs": ..., "rates": [...]}
std::string to_json(const Import&);

}  // namespace chorale
