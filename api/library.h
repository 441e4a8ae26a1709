// Libraries: answers of searches for many machines, groups and collectives, in one file (library/answers.h).
//
// A question is all that an answer depends on: the machine's ranks, links and limits, the collective, and what the search was
// asked and allowed; but neither names nor numbers. So nodes that are alike have one answer, whatever they are called, and so
// have roots that a symmetry of the machine carries to each other. An answer stays as it was found, with the numbering that makes its
// machine the question's; whoever asks for other numbers is given it with these, refereed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/renumbering.h"
#include "ir/search_options.h"
#include "library/answers.h"
#include "library/question.h"

namespace chorale {

struct LibraryQuestion {
  Topology topology = {};  // of the group, without switches
  Collective collective = {};
  FrontierOptions options = {};
  std::vector<AnswerPlace> places = {};  // where it is asked
  std::vector<std::int64_t> bytes = {};  // sizes of blocks for which times are predicted
  std::string text = {};                 // what the answer is found by
  Renumbering numbering = {};            // into the machine that the text is about
};

// With its text and numbering. A custom collective, whose chunks lie where its file says, and a machine of which ways through
// switches were chosen (Topology::underlay) are found by the numbers that they have.
LibraryQuestion library_question(const Topology&, const Collective&, const FrontierOptions&);

// By rank of a machine, by name or from a file, the number of its host; empty where the machine does not say. It does where it
// has levels outside of a node, and a message takes longer there than inside: other levels (the rows of a torus) may be of one
// host or of many.
std::vector<int> hosts_of(const std::string& spec_or_file);

// The questions of a file that says what to build (docs/formats.md), each once. Throws InputError.
std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file);

// What was taken from a library: an answer to the question that it is stored for, with schedules and claims
// that were verified as it was taken. Refutations were not, since that takes as long as a search: they are
// left out, what rested on them is not called proven, and a result that was complete by them has
// Stopped::Unchecked.
struct TakenAnswer {
  Result result = {};
  int unchecked = 0;                        // refutations that were left out
  std::vector<MeasuredTime> measured = {};  // which nobody can verify
};

// As it was found. Throws InputError, that cites `file`, for an answer that is wrong.
TakenAnswer taken(const StoredAnswer&, const std::string& file);
// With the numbers of the place, which has to be one of the answer's: its machine is made anew.
TakenAnswer taken_at(const StoredAnswer&, const AnswerPlace&, const std::string& file);

// The answer, on the machine as the question has it; none: there is none. `name` is what errors call the
// file.
std::optional<TakenAnswer> find_answer(AnswerFile&, const LibraryQuestion&, const std::string& name);

// Stores it, with its places and predicted times. Not what was interrupted or had not enough memory: it would be found instead
// of a search that can do better. Returns whether it did.
bool keep_answer(AnswerFile&, const LibraryQuestion&, Result);

// Is there an answer? Then it has the question's places and predicted times afterwards.
bool has_answer(AnswerFile&, const LibraryQuestion&);

// What `library verify` found of an answer, or of several.
struct LibraryReport {
  int answers = 1;
  CheckReport check = {};  // of all, refutations too; faults of places and predictions are here as well
  int places = 0;
  int predicted = 0;                   // times, made again
  int measured = 0;                    // times, which are taken as they are
  std::vector<std::string> away = {};  // files of machines that are not here: their places were not checked
};
void add(LibraryReport& all, const LibraryReport& more);

// Verifies what was stored from nothing: that the answer is one to this question, then as check() does; that
// each place, by the machine of that name, asks this question; and that times are predicted as they would be
// now.
LibraryReport check_answer(const StoredAnswer&, const SolveLimits& = {});

// Why the place does not ask the question of this answer; "": it does. Its machine is made anew.
std::string place_fault(const StoredAnswer&, const Result&, const AnswerPlace&);

// Throws InputError, as of `file`, where a place does not ask the question of this answer. Those of machines whose
// file is not here are taken as they are.
void refuse_places(const StoredAnswer&, const Result&, const std::string& file);

// The place with its hosts by ranks of the answer; given by ranks of its group.
AnswerPlace seen_by(const StoredAnswer&, AnswerPlace);

// All answers for a collective at a place, in its numbers; `name` is what errors call the file. With
// `members` of any ranks of the machine, which is made anew, else of the group. Throws InputError where there
// are none, where groups of that name differ, and for answers that are wrong. With `order` those whose sums
// are of that kind; of fixed ones, those along the tree of the first.
std::vector<TakenAnswer> results_at(AnswerFile&, const std::string& name, const AnswerPlace&,
                                    std::optional<SumOrder::Kind> order = {});

// A page that shows it all and loads nothing from elsewhere: which point is chosen by place and size, how far its time is from the
// bound on it, and where what was measured says otherwise. Of answers without predicted times some sizes are predicted.
std::string to_page(AnswerFile&, const std::string& name);

// What is in several files, in one that has nothing yet. Of two answers the better one: what is complete;
// what has schedules that others do not beat; what more is proven of; of equals the first. Unless that is
// complete it gets what the others have more, schedules and claims, and what is proven is worked out anew.
// Throws InputError for what taken() does, and where one is complete by its claims and another has a better
// schedule.
struct MergeReport {
  int answers = 0;
  int alike = 0;                // of them found in several files, the same but for times
  int joined = 0;               // put together of several
  std::vector<int> taken = {};  // by file, of the others
  int unchecked = 0;            // refutations of all files, which are as they were
};
MergeReport merge_answers(const std::vector<std::string>& files, AnswerFile& into);

}  // namespace chorale
