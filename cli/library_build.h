// Searches of a library's questions, one process each; and measured times of its answers.
#pragma once

#include "api/library.h"
#include "cli/options.h"
#include "cli/outcome.h"

namespace chorale {

class Supervisor;

// Searches a question in a process of its own (this program's 'frontier'), which writes a file; this one
// alone writes the library. A process that dies takes one question with it, and dies with this one.
Search search_by_processes(const LibraryCommand&);

// 'chorale library measure' (cli/library_measure.cpp).
Outcome measure_library(const LibraryCommand&, Supervisor&);

}  // namespace chorale
