// What of a library is missing, searched by processes side by side; and what its answers take, measured.
#pragma once

#include <string>
#include <vector>

#include "api/library.h"
#include "cli/options.h"
#include "cli/outcome.h"

namespace chorale {

class Supervisor;

struct BuildReport {
  int there = 0, answered = 0;
  std::vector<std::string> failures = {};  // of questions that were not answered, a line each
};

// Each question is a process that searches (this program's 'frontier') and writes a file; this one alone writes the library.
// A process that dies takes one question with it, and dies with this one. Ends early where the supervisor says so.
BuildReport build_library(AnswerFile&, const std::vector<LibraryQuestion>&, const LibraryCommand&,
                          Supervisor&);

// 'chorale library measure' (cli/library_measure.cpp).
Outcome measure_library(const LibraryCommand&, Supervisor&);

}  // namespace chorale
