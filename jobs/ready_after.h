// What a library has for a machine after its failures, for programs that switch between plans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/compile.h"
#include "ir/collective.h"
#include "ir/frontier.h"
#include "library/answers.h"

namespace chorale {

struct ReadyAfter {
  std::vector<std::vector<Result>> results = {};  // stay where they are: points are of them
  std::vector<ReadyPoints> points = {};           // one for failures that leave equal machines
  int unchecked = 0;                              // refutations that were left out (VerifiedAnswer)
};

// Entries of "torus:2x4 without link 0-1" for a place of the machine "torus:2x4" and all its ranks, each with
// the algorithms that are the fastest at sizes of messages. `name` is what errors call the file. Throws
// InputError for answers that are wrong.
ReadyAfter ready_after(AnswerFile&, const std::string& name, const AnswerPlace&,
                       const std::vector<std::int64_t>& bytes);

// Those of a file for a collective of the machine, in its order of sums. Throws InputError where there are
// none.
ReadyAfter ready_after(const std::string& file, const std::string& machine, const Collective&,
                       const std::vector<std::int64_t>& bytes);

}  // namespace chorale
