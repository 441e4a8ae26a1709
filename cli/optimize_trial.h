// What 'optimize --target preload' wrote, tried: MPI's collectives on this host, with the preload library.
#pragma once

#include <string>
#include <vector>

#include "ir/collective.h"

namespace chorale {

// The folder of the preload library, beside this program's; "": it is not there.
std::string preload_folder();

// One line: "tried: 4 processes, every element right, 24 calls by Chorale's algorithms", or why it was not
// tried. `script` is the file that starts a program with the library.
std::string tried(const std::string& script, int ranks, const std::vector<Collective>&);

}  // namespace chorale
