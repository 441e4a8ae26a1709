// What is left after a failure: a library that was built with single failures
// (docs/libraries.md), as a table.
#pragma once

#include <string>
#include <vector>

#include "ir/fields.h"
#include "library/answers.h"

namespace chorale {

// Failures that leave equal machines, but for the numbers of ranks and links (as those do that a symmetry
// carries to each other), and one collective after them.
struct FailureRow {
  std::string machine = {};     // before
  std::string collective = {};  // name
  std::string failure = {};     // the first: "link 0-1", "rank 3"
  int alike = 0;                // how many there are
  double rounds_per_chunk = 0;  // of the best point; 0: there is none
  double of_bound = 0;          // its rate as a share of what is not excluded; 1: proven; 0: no bound
  double of_whole = 0;          // its rate as a share of that of the best point before; 0: not known
  double most_of_whole = 0;     // the share that the failure leaves, by the bounds of both machines
};
template <>
struct Fields<FailureRow> {
  using F = FailureRow;
  static constexpr auto all =
      plain_fields<&F::machine, &F::collective, &F::failure, &F::alike, &F::rounds_per_chunk, &F::of_bound,
                   &F::of_whole, &F::most_of_whole>();
};

// By machine and collective, then by decreasing number. `name` is what errors call the file. Throws
// InputError for answers that are wrong; none: it was built without failures.
std::vector<FailureRow> failure_rows(AnswerFile&, const std::string& name);

// {"chorale_failures": 1, "rows": [fields of FailureRow]}; docs/formats.md.
std::string to_json(const std::vector<FailureRow>&);

}  // namespace chorale
