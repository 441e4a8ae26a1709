// What became of foreign files, for people and as JSON.
#pragma once

#include <string>

#include "topology/import/import.h"

namespace chorale {

// What was read and what was assumed, a sentence a line under "read:" and "assumed:".
std::string provenance(const Import&);

// What was read, assumed and fitted, and what each rank and switch is; what 'chorale topology import' prints.
std::string describe(const Import&);

// {"machine": ..., "names": [...], "read": [...], "assumed": [...], "unit_gbs": ..., "rates": [...]}
std::string to_json(const Import&);

}  // namespace chorale
