// Libraries: answers of searches for many machines, groups and collectives, in one file (library/answers.h).
//
// A question is all that an answer depends on: the machine's ranks, links and limits, but not their names, the collective,
// and what the search was asked and allowed. So nodes that are alike have one answer, whatever they are called.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/search_options.h"
#include "library/answers.h"

namespace chorale {

struct LibraryQuestion {
  Topology topology = {};  // of the group, without switches
  Collective collective = {};
  FrontierOptions options = {};
  std::vector<AnswerPlace> places = {};  // where it is asked
};

// By rank of a machine, by name or from a file, the number of its host; empty where the machine does not say. It does where it
// has levels outside of a node, and a message takes longer there than inside: other levels (the rows of a torus) may be of one
// host or of many.
std::vector<int> hosts_of(const std::string& spec_or_file);

// The questions of a file that says what to build (docs/formats.md), each once. Throws InputError.
std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file);

// What the answer is found by.
std::string text_of(const LibraryQuestion&);

// The machine as it is stored: its names are no part of a question.
Topology without_names(const Topology&);

// The answer, on the machine as the question has it; none: there is none.
std::optional<Result> find_answer(AnswerFile&, const LibraryQuestion&);

// Stores it, with its places. Not what was interrupted or had not enough memory: it would be found instead of a search that
// can do better. Returns whether it did.
bool keep_answer(AnswerFile&, const LibraryQuestion&, Result);

// Verifies what was stored from nothing: that the answer is one to this question, then as check() does.
CheckReport check_answer(const StoredAnswer&, const std::string& file, const SolveLimits& = {});

// The answer as a result.
Result result_of(const StoredAnswer&, const std::string& file);

}  // namespace chorale
