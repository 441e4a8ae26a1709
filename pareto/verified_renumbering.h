// What was found on a machine whose ranks are numbered otherwise, as if it had been found on this one.
#pragma once

#include <string>

#include "ir/renumbering.h"

namespace chorale {

// renumbered() (ir/renumbering.h), with its refutations naming the formulas of the machine as it is numbered
// now, which have models if, and only if, the others have. Each schedule is verified. Throws InputError,
// which cites `where`, if one is invalid.
Result verified_renumbering(const Result&, const Renumbering&, const Topology& to, const std::string& where);

}  // namespace chorale
