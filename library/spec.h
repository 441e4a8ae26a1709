// What a library is to have: the questions of a file that says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "library/machines.h"
#include "library/question.h"

namespace chorale {

// Each once, with all places that ask it (docs/formats.md). Throws InputError, that cites `file`.
std::vector<LibraryQuestion> questions_in(std::string_view text, const std::string& file, const Machines&);

}  // namespace chorale
