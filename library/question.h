// What an answer is found by, and whether a stored answer is one to that.
//
// A question is a text: the machine without names, in numbers that it has by itself; the collective; the
// space; and the limits of the search. An answer contains the first three itself, so that its question can be
// verified.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/renumbering.h"
#include "ir/search_options.h"
#include "library/answers.h"

namespace chorale {

// The remedy where a library is wrong.
inline constexpr const char* kSeeVerify = "see 'chorale library verify'";

// The machine as it is stored: its names are not part of a question.
Topology without_names(const Topology&);

// Machine and collective, renumbered so. Requires permutations of the machine's ranks and links.
std::string subject_of(const Topology&, const Collective&, const Renumbering&);

std::string question_text(const std::string& subject, const FrontierOptions&);

// Is the question about this subject, whatever was allowed?
bool is_about(const std::string& question, const std::string& subject);

// The answer as it was found, read, and an answer to the question that it is stored for: of its machine as it
// is numbered, its collective, its space and its limits. Nothing else in it has been checked. Throws
// InputError, which cites `file`.
Result stored_result(const StoredAnswer&, const std::string& file);

// Are the numbers of `by` those of the machine's ranks and links?
bool fits(const Renumbering& by, const Topology&);

// What the place calls the ranks of the answer, which is on this machine. Throws InputError.
std::vector<Rank> ranks_at(const StoredAnswer&, const AnswerPlace&, const Topology&, const std::string& file);

// What no measurement comes to: "" if nothing is wrong with it. Whether it was measured so is not to be seen.
std::string misfit(const MeasuredTime&, const Result&);
std::string misfit(const OwnTime&, const Result&);

struct LibraryQuestion {
  Topology topology = {};  // of the group, without switches
  Collective collective = {};
  FrontierOptions options = {};
  std::vector<AnswerPlace> places = {};  // where it is asked
  std::vector<std::int64_t> bytes = {};  // sizes of blocks for which times are predicted
  std::string text = {};                 // what the answer is found by
  Renumbering numbering = {};            // into the machine that the text is about
};

// With its text and numbering.
LibraryQuestion library_question(const Topology&, const Collective&, const FrontierOptions&);

// The place with its hosts by ranks of the answer; given by ranks of its group. Throws InputError.
AnswerPlace seen_by(const StoredAnswer&, AnswerPlace);

// The algorithms of MPI libraries for a collective, by the names that their own settings have: those that
// `library measure --own all` may force, and whose times a library may hold.

// Of "ompi" (Open MPI's component tuned, 4.1 to 6), "mpich" (MPICH's MPIR layer, 4.0) or "ucc" (UCC's
// tl/ucp).
bool is_own_algorithm(std::string_view library, CollectiveKind, std::string_view name);
// Is it for so many ranks?
bool suits(std::string_view library, CollectiveKind, std::string_view name, int ranks);

}  // namespace chorale
