// The search of a tuner as one self-contained page: schedules by their times, what each is made of beside the
// program as it was given, and the tree of them. Nothing is loaded from elsewhere.
#pragma once

#include <string>

namespace chorale {

// Of the JSON text of a TuneResult (docs/workloads.md, 'The tuner'), which is of a room that this one does
// not include.
std::string tune_page(const std::string& title, const std::string& json);

}  // namespace chorale
