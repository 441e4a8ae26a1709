// The specification of a library: the questions of a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "library/machines.h"
#include "library/question.h"

namespace chorale {

// The keys of such a file: what is asked, and the options of a search by their rows (ir/search_options.h).
std::vector<std::string_view> spec_keys();

// Each once, with all places that ask it (docs/formats.md). With `failures` also those of all ranks of each
// machine after each single failure. Throws InputError, that cites `file`.
std::vector<LibraryQuestion> questions_in(std::string_view text, const std::string& file, const Machines&,
                                          bool failures = false);

}  // namespace chorale
