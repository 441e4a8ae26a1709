// Programs in foreign formats that name no collective: the user states what they promise.
#pragma once

#include <functional>
#include <string>

#include "ir/collective.h"

namespace chorale {

// Returns the collective that is promised among so many ranks.
using PromisedOf = std::function<Collective(int ranks)>;

// Returns the collective that `promised` states, each of its chunks cut into so many that its longest buffer
// has `longest` chunks of the file, and each of these into `pieces`; cut into `pieces` alone where that does
// not divide. Throws InputError, with the remedy, if nothing is promised: `name` is what the file has.
Collective promised_collective(const PromisedOf&, const std::string& file, const std::string& name, int ranks,
                               int longest, int pieces = 1);

}  // namespace chorale
