// Libraries: answers of searches for many machines, groups and collectives, in one file (library/answers.h).
//
// A question is all that an answer depends on: the machine's ranks, links and limits, the collective, and the
// options and limits of the search; but neither names nor numbers. So isomorphic nodes share one answer,
// whatever their names, as do roots that a symmetry of the machine carries to each other. An answer is stored
// as it was found, with the numbering that makes its machine the question's; a query with other numbers gets
// it relabelled and verified again.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/fields.h"
#include "ir/files.h"
#include "ir/named.h"
#include "ir/report.h"
#include "ir/search_options.h"
#include "ir/sum_order.h"
#include "ir/topology.h"
#include "library/answers.h"
#include "library/question.h"

namespace chorale {

// The questions of a file that specifies a library (docs/formats.md), each once; with `failures`
// also those of each machine after each single failure of a link or rank that leaves the ranks
// joined. Throws InputError.
std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file,
                                               bool failures = false);

// What was taken from a library: an answer to the question that it is stored for, with schedules and claims
// that were verified as it was taken. Refutations were not, since that takes as long as a search: they are
// left out, what rested on them is not called proven, and a result that was complete by them has
// Stopped::Unchecked.
struct VerifiedAnswer {
  Result result = {};
  int unchecked = 0;                        // refutations that were left out
  std::vector<MeasuredTime> measured = {};  // which cannot be verified
  std::vector<OwnTime> own = {};            // nor can these
  std::vector<int> hosts = {};              // of the ranks at its place, if it was taken at one that has them
};

// What the fastest point takes, and no schedule less, for blocks of each size.
std::vector<PredictedTime> predicted_times(const Result&, const std::vector<std::int64_t>& block_bytes);

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

// What carries the messages, and whose own collectives are beside ours.
enum class MeasuredOver { Mpi, Nccl };  // Nccl: with a GPU for each rank, those of a host round-robin
std::string name_of(MeasuredOver);      // as in MeasuredTime

struct SelectQuestion {
  AnswerPlace place = {.group = "all"};
  std::vector<std::int64_t> message_bytes = {1 << 20};
  std::optional<SumOrder::Kind> order = {};  // as of results_at()
  std::optional<MeasuredOver> over = {};     // whose times decide; none: those of what it was measured over
};

// The fastest algorithm of a library for a call, a row per size; and the result of that at the first size.
struct Selection {
  Report report = {};
  Result first = {};
};

// Throws as results_at(), where no schedule does it, and where there are times over both MPI and NCCL and
// `over` is not given.
Selection select_answers(AnswerFile&, const std::string& name, const SelectQuestion&);

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
// Once `stop` is true (null: never) no question is begun. Throws InputError for what
// verified_answer() does, and where one is complete by its claims and another has a better schedule.
MergeReport merge_answers(const std::vector<std::string>& files, AnswerFile& into,
                          const std::atomic<bool>* stop = nullptr);

// The outcome of the search of a question: its result, or the reason why there is none, in words.
struct Searched {
  std::optional<Result> result = {};
  std::string why = {};
};
// Searches. Several are called at once, each by a thread of its own. May return at once when `stopped`. What
// it throws ends the build.
using Search = std::function<Searched(const LibraryQuestion&, const std::function<bool()>& stopped)>;

struct LibraryBuildOptions {
  int jobs = 1;                             // number of searches at once
  const std::atomic<bool>* stop = nullptr;  // once set no search is begun, and none that ends is kept
  std::function<void(int answered, int of)> progress = {};  // after each
};

struct BuildReport {
  int there = 0, answered = 0;
  std::vector<std::string> failures = {};  // of questions that were not answered, a line each
};

// Searches the questions without an answer, in this process or, if `search` is given, by that, and stores the
// results.
BuildReport build_library(AnswerFile&, const std::vector<LibraryQuestion>&, const LibraryBuildOptions& = {},
                          const Search& search = {});

// Mscclpp, MscclXml: for each collective the schedules that are the fastest at some size, each with the sizes
// of messages (of the larger
//   buffer of a rank) for which it is; those of MSCCL++ in place and not. What the target cannot express is
//   left out, and the next best takes its sizes.
// Preload: the answers themselves, files for CHORALE_ALGORITHMS. Mpi, Nccl: of each collective one program
// that chooses by size, and by what has failed of the machine where the library has answers after failures.
// Times: what the library's algorithms and baselines should take at each size, and what was measured, as JSON
// (docs/formats.md), of which files for other programs are made (python/chorale/tuning_files.py).
// PipelinedTimes: also of trees with more chunks than the fewest.
enum class ExportForm { Mscclpp, MscclXml, Preload, Mpi, Nccl, Cuda, Times, PipelinedTimes };
std::span<const Named<ExportForm>> export_forms();

struct ExportQuestion {
  AnswerPlace place = {.group = "all"};       // without its collective; several groups: "node,all"
  std::vector<std::string> collectives = {};  // at least one
  std::vector<std::int64_t> bytes = {};       // of messages, rising: where choices are made
  std::optional<SumOrder::Kind> order = {};   // of sums: of all answers, those in that order
  ExportForm form = ExportForm::Mscclpp;
};

struct Exported {
  std::vector<NamedText> files = {};
  std::vector<std::string> notes = {};  // what is left out, and why
  int unchecked = 0;                    // refutations that were left out (VerifiedAnswer)
};

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

// The groups of ranks of a machine that libraries have answers for, by name: "all"; "pairs", any two ranks
// that are linked in both directions; a level of the machine.

using RankGroup = std::vector<Rank>;
// Throws: what is wrong with the name, and what to do.
using Refusal = std::function<void(const std::string& problem, const std::string& remedy)>;

// One after the other; `whole` is the machine of that spec.
std::vector<RankGroup> groups_named(const std::string& name, const std::string& spec, const Topology& whole,
                                    const Refusal&);
// Is it one of these? Few are listed to see that.
bool is_group_named(const std::string& name, const std::string& spec, const Topology& whole,
                    const RankGroup&);

// A group as a machine of its own, numbered as its ranks come.
Topology group_of(const Topology& whole, const std::string& name, const RankGroup&);

// "0 8 16 24", and back; the result is empty if the text does not list ranks of a machine with `ranks` ranks.
std::string in_words(const RankGroup&);
RankGroup ranks_in(const std::string& words, int ranks);

// The hosts of these ranks, numbered as they come; `hosts` is of the machine.
std::vector<int> hosts_at(const std::vector<int>& hosts, const RankGroup&);

}  // namespace chorale
