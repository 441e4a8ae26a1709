// Answers as they are taken from a library: verified, in the numbers of the caller's machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/sum_order.h"
#include "library/machines.h"
#include "library/question.h"
#include "library/verifiers.h"

namespace chorale {

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

// Takes answers out of a library; what is refused throws InputError, that cites the library's `file`.
class AnswerVerifier {
 public:
  AnswerVerifier(const Verifiers& verifiers, const Machines& machines)
      : verifiers_(verifiers), machines_(machines) {}

  // As it was found.
  VerifiedAnswer verified_answer(const StoredAnswer&, const std::string& file) const;
  // With the numbers of the place, which has to be one of the answer's: its machine is made anew.
  VerifiedAnswer answer_for(const StoredAnswer&, const AnswerPlace&, const std::string& file) const;
  // The answer, on the machine as the question has it; nullopt: it is not in the file.
  std::optional<VerifiedAnswer> find(AnswerFile&, const LibraryQuestion&, const std::string& file) const;
  // All for a collective at a place, in its numbers (results_at, api/library.h).
  std::vector<VerifiedAnswer> all_at(AnswerFile&, const std::string& file, const AnswerPlace&,
                                     std::optional<SumOrder::Kind> order) const;

  // Throws where a place does not ask the question of this answer. Those of machines whose file is not here
  // are taken as they are.
  void refuse_places(const StoredAnswer&, const Result&, const std::string& file) const;
  // From nothing: the answer, its places, its predicted times.
  LibraryReport verified(const StoredAnswer&, const SolveLimits&) const;

 private:
  int leave_out_refutations(Result&, const std::string& file) const;
  Result with_numbers_of(Result, const Renumbering& by, const Renumbering& asked, const Topology*,
                         const std::string& file) const;
  VerifiedAnswer answer_as(const StoredAnswer&, const Renumbering& asked, const Topology*,
                           const std::string& file) const;
  LibraryQuestion question_of_ranks(const AnswerPlace&) const;
  std::vector<std::string> prediction_faults(const StoredAnswer&, const Result&) const;
  // Why the place does not ask the question of this answer; "": it does. Its machine is made anew.
  // misfit() throws for what cannot be read.
  std::string place_fault(const StoredAnswer&, const Result&, const AnswerPlace&) const;
  std::string misfit(const StoredAnswer&, const Result&, const AnswerPlace&) const;
  void refuse_place(const StoredAnswer&, const Result&, const AnswerPlace&, const std::string& file) const;

  const Verifiers& verifiers_;
  const Machines& machines_;
};

}  // namespace chorale
