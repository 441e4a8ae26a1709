// Several libraries as one.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "library/verified_answer.h"

namespace chorale {

struct MergeReport {
  int answers = 0;
  int equal = 0;                // of them found in several files, the same but for times
  int joined = 0;               // merged from several
  std::vector<int> taken = {};  // by file, of the others
  int unchecked = 0;            // refutations of all files, which are as they were
  bool cut = false;             // by `stop`, before all was merged
};

// What is in several files, in one that has nothing yet. Of two answers the better one: what is complete;
// what has schedules that others do not beat; what more is proven of; of equals the first. Unless that is
// complete it gets what the others have more, schedules and claims, and what is proven is worked out anew.
// Once `stop` is true (null: never) no question is begun.
// Throws InputError for what AnswerVerifier::verified_answer() does, and where one is complete by its claims
// and another has a
// better schedule.
MergeReport merge(const std::vector<std::string>& files, AnswerFile& into, const AnswerVerifier&,
                  const Verifiers&, const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
