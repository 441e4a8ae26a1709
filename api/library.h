// Libraries: answers of searches for many machines, groups and collectives, in one file (library/answers.h).
//
// A question is all that an answer depends on: the machine's ranks, links and limits, the collective, and the
// options and limits of the search; but neither names nor numbers. So isomorphic nodes share one answer,
// whatever their names, as do roots that a symmetry of the machine carries to each other. An answer is stored
// as it was found, with the numbering that makes its machine the question's; a query with other numbers gets
// it relabelled and verified again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/fields.h"
#include "ir/report.h"
#include "ir/search_options.h"
#include "library/answers.h"
#include "library/build.h"
#include "library/export.h"
#include "library/merge.h"
#include "library/question.h"
#include "library/verified_answer.h"

namespace chorale {

// The questions of a file that specifies a library (docs/formats.md), each once; with `failures`
// also those of each machine after each single failure of a link or rank that leaves the ranks
// joined. Throws InputError.
std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file,
                                               bool failures = false);

// As it was found. Throws InputError, that cites `file`, for an answer that is wrong.
VerifiedAnswer verified_answer(const StoredAnswer&, const std::string& file);
// With the numbers of the place, which has to be one of the answer's: its machine is made anew.
VerifiedAnswer answer_for(const StoredAnswer&, const AnswerPlace&, const std::string& file);

// The answer, on the machine as the question has it; nullopt: not in the file. `name` is what errors call the
// file.
std::optional<VerifiedAnswer> find_answer(AnswerFile&, const LibraryQuestion&, const std::string& name);

// Stores it, with its places and predicted times. Not what was interrupted or had not enough memory: it would
// be found instead of a search that can do better. Returns whether it did.
bool keep_answer(AnswerFile&, const LibraryQuestion&, Result);

// Verifies what was stored from nothing: that the answer is one to this question, then as check() does; that
// each place, by the machine of that name, asks this question; and that times are predicted as they would be
// now.
LibraryReport check_answer(const StoredAnswer&, const SolveLimits& = {});

// Throws InputError, as of `file`, where a place does not ask the question of this answer. Those of machines
// whose file is not here are taken as they are.
void refuse_places(const StoredAnswer&, const Result&, const std::string& file);

// All answers for a collective at a place, in its numbers; `name` is what errors call the file. With
// `members`: of these ranks of the machine, which is made anew; otherwise of the group. Throws InputError if
// there are none, if groups of that name differ, and for answers that are wrong. With `order` those whose
// sums are of that kind; of fixed ones, those along the tree of the first.
std::vector<VerifiedAnswer> results_at(AnswerFile&, const std::string& name, const AnswerPlace&,
                                       std::optional<SumOrder::Kind> order = {});

// A row per entry, and what was measured; with `by_size` also the point that is chosen for each entry and
// size, its time and that over the lower bound. Of answers without predicted times some sizes are predicted.
// Throws as verified_answer() and refuse_places().
Report report_of(AnswerFile&, const std::string& name, bool by_size = false);
// Adds that refutations were not checked, if there are any.
void note_unchecked(long long refutations, const std::string& library, std::vector<std::string>& notes);

// What is in several files, in one that has nothing yet (library/merge.h).
MergeReport merge_answers(const std::vector<std::string>& files, AnswerFile& into,
                          const std::atomic<bool>* stop = nullptr);

// Searches the questions without an answer, in this process or, if `search` is given, by that, and stores the
// results.
BuildReport build_library(AnswerFile&, const std::vector<LibraryQuestion>&, const LibraryBuildOptions& = {},
                          const Search& search = {});

// What is in a library as others read it. `name` is what errors call the file. Throws InputError where there
// is nothing to be written.
Exported export_answers(AnswerFile&, const std::string& name, const ExportQuestion&);

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

Report report_of(const std::vector<FailureRow>&);
// {"chorale_failures": 1, "rows": [fields of FailureRow]}; docs/formats.md.
std::string to_json(const std::vector<FailureRow>&);

}  // namespace chorale
