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

#include "api/levels.h"
#include "ir/search_options.h"
#include "library/answers.h"
#include "library/build.h"
#include "library/export.h"
#include "library/merge.h"
#include "library/question.h"
#include "library/taken.h"

namespace chorale {

// The questions of a file that specifies a library (docs/formats.md), each once; with `failures`
// also those of each machine after each single failure of a link or rank that leaves the ranks
// joined. Throws InputError.
std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file,
                                               bool failures = false);

// As it was found. Throws InputError, that cites `file`, for an answer that is wrong.
TakenAnswer taken(const StoredAnswer&, const std::string& file);
// With the numbers of the place, which has to be one of the answer's: its machine is made anew.
TakenAnswer taken_at(const StoredAnswer&, const AnswerPlace&, const std::string& file);

// The answer, on the machine as the question has it; nullopt: not in the file. `name` is what errors call the
// file.
std::optional<TakenAnswer> find_answer(AnswerFile&, const LibraryQuestion&, const std::string& name);

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
std::vector<TakenAnswer> results_at(AnswerFile&, const std::string& name, const AnswerPlace&,
                                    std::optional<SumOrder::Kind> order = {});

// A self-contained HTML report: the point that is chosen by place and size, its time over the lower bound,
// and where measurements contradict predictions. Of answers without predicted times some sizes are predicted.
std::string to_page(AnswerFile&, const std::string& name);

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

}  // namespace chorale
