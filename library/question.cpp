// A question is a text: the machine and the collective under canonical numbers, the space, and the limits of
// the search. Equal texts are equal questions, so the library is a map from texts. Canonical numbers
// (graph/, canonical_numbering) make one text of all machines that are equal up to a renumbering of their
// ranks; an entry keeps the numbering by which its machine became that text. A stored answer is trusted to be
// about its question only after is_answer_to() has derived the head of the text from the answer itself.
#include "library/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <ranges>

#include "graph/automorphisms.h"
#include "ir/error.h"
#include "ir/json.h"

namespace chorale {
namespace {

// Names are those of the programs' own settings, by their documentation: of Open MPI ompi_info --param coll
// tuned --level 9, of MPICH mpivars, of UCC ucc_info -A.
struct Row {
  std::string_view library = {};
  CollectiveKind kind = CollectiveKind::Custom;
  std::string_view names = {};  // with blanks between them
};

constexpr std::array kOwnAlgorithms = std::to_array<Row>(
    {{"ompi", CollectiveKind::AllReduce,
      "basic_linear nonoverlapping recursive_doubling ring segmented_ring rabenseifner allgather_reduce"},
     {"ompi", CollectiveKind::Allgather,
      "linear bruck recursive_doubling ring neighbor two_proc sparbit direct-messaging"},
     {"ompi", CollectiveKind::Alltoall, "linear pairwise modified_bruck linear_sync two_proc"},
     {"ompi", CollectiveKind::Broadcast,
      "basic_linear chain pipeline split_binary_tree binary_tree binomial knomial scatter_allgather "
      "scatter_allgather_ring"},
     {"ompi", CollectiveKind::Gather, "basic_linear binomial linear_sync"},
     {"ompi", CollectiveKind::Reduce,
      "linear chain pipeline binary binomial in-order_binary rabenseifner knomial"},
     {"ompi", CollectiveKind::ReduceScatter, "basic_linear recursive_doubling recursive_halving butterfly"},
     {"ompi", CollectiveKind::Scatter, "basic_linear binomial linear_nb"},
     {"mpich", CollectiveKind::AllReduce, "recursive_doubling reduce_scatter_allgather"},
     {"mpich", CollectiveKind::Allgather, "brucks recursive_doubling ring"},
     {"mpich", CollectiveKind::Alltoall, "brucks pairwise scattered"},
     {"mpich", CollectiveKind::Broadcast,
      "binomial scatter_recursive_doubling_allgather scatter_ring_allgather"},
     {"mpich", CollectiveKind::Gather, "binomial"},
     {"mpich", CollectiveKind::Reduce, "binomial reduce_scatter_gather"},
     {"mpich", CollectiveKind::ReduceScatter, "recursive_halving pairwise recursive_doubling"},
     {"mpich", CollectiveKind::Scatter, "binomial"},
     {"ucc", CollectiveKind::AllReduce, "knomial sra_knomial dbt ring"},
     {"ucc", CollectiveKind::Allgather, "knomial ring neighbor bruck linear"},
     {"ucc", CollectiveKind::Alltoall, "pairwise bruck"},
     {"ucc", CollectiveKind::Broadcast, "knomial sag_knomial dbt"},
     {"ucc", CollectiveKind::Reduce, "knomial dbt srg"},
     {"ucc", CollectiveKind::ReduceScatter, "ring knomial"}});

}  // namespace

bool is_own_algorithm(std::string_view library, CollectiveKind kind, std::string_view name) {
  return std::ranges::any_of(kOwnAlgorithms, [&](const Row& row) {
    return row.library == library && row.kind == kind &&
           std::ranges::any_of(row.names | std::views::split(' '), [&](const auto& word) {
             return std::string_view(word.begin(), word.end()) == name;
           });
  });
}

// MPICH's recursive doubling is for powers of two of ranks; of an AllReduce and a ReduceScatter it has a form
// for all.
bool suits(std::string_view library, CollectiveKind kind, std::string_view name, int ranks) {
  const bool is_for_powers_of_two =
      library == "mpich" &&
      ((kind == CollectiveKind::Allgather && name == "recursive_doubling") ||
       (kind == CollectiveKind::Broadcast && name == "scatter_recursive_doubling_allgather"));
  return !is_for_powers_of_two || std::has_single_bit(static_cast<unsigned>(ranks));
}

namespace {

// The part of the question that the stored result contains itself.
std::string head_of(const std::string& subject, const Space& space) {
  return fmt::format("{}\nchunks {} {} steps {} rounds {} extra {}\n", subject, space.min_chunks,
                     space.max_chunks, space.max_steps, space.max_rounds, space.extra_rounds);
}

// Limits of the search that are part of the question, too.
std::string limits_of(std::int64_t conflicts, std::int64_t ms) {
  return fmt::format("conflicts {} ms {} ", conflicts, ms);
}

// Options that have a position in the text; the others are named in it if they are not the default, so that a
// new option leaves the questions of libraries that were built without it as they are.
constexpr std::string_view kPlaced[] = {"min_chunks", "max_chunks", "max_steps",    "k",   "conflicts",
                                        "time_limit", "use_bounds", "use_symmetry", "seed"};

// In the order of their rows, "name value ".
std::string further_options(const FrontierOptions& asked) {
  std::string text;
  for (const OptionRow<FrontierOptions>& row : question_rows())
    if (std::ranges::find(kPlaced, row.words.name) == std::end(kPlaced) && !is_default(row, asked))
      text += fmt::format("{} {} ", row.words.name, row.member.get(asked));
  return text;
}

// A machine and a collective that canonical numbers are not known of keep theirs: the numbering is the
// identity then.
bool is_numbered(const Result& result, const Renumbering& numbering) {
  return fits(numbering, result.topology) && (is_renumberable(result.topology, result.collective) ||
                                              numbering == no_renumbering(result.topology));
}

// The other limits of the search (bounds, symmetry, seed) are not in an answer.
bool is_answer_to(const std::string& question, const Result& result, const Renumbering& numbering) {
  if (result.kind != ResultKind::Frontier || result.limits.memory_bytes || !is_numbered(result, numbering) ||
      result.topology != without_names(result.topology))
    return false;
  const std::string head = head_of(subject_of(result.topology, result.collective, numbering), result.space);
  if (!question.starts_with(head)) return false;
  std::string_view rest = std::string_view(question).substr(head.size());
  if (const std::size_t limits = rest.find("conflicts "); limits != std::string_view::npos)
    rest.remove_prefix(limits);  // past the further options
  return rest.starts_with(
      limits_of(result.limits.conflicts.value_or(-1), result.limits.time_ms.value_or(-1)));
}

}  // namespace

Topology without_names(const Topology& topology) {
  Topology result = topology;
  result.name = "machine";
  result.labels.clear();
  for (std::size_t i = 0; i < result.limits.size(); ++i) {
    result.limits[i].name = fmt::format("limit {}", i);
    result.limits[i].cables.clear();
  }
  return result;
}

// Custom collectives and machines with chosen routes keep their numbers: symmetries are not known of them.
std::string subject_of(const Topology& topology, const Collective& collective, const Renumbering& numbering) {
  const bool own = is_renumberable(topology, collective);
  return to_json(without_names(own ? renumbered(topology, numbering) : topology)) +
         to_json(own ? renumbered(collective, numbering) : collective);
}

std::string question_text(const std::string& subject, const FrontierOptions& asked) {
  const SynthesisOptions& how = asked.synthesis;
  return head_of(subject, searched_space(asked)) + further_options(asked) +
         limits_of(how.limits.conflicts, asked.time_limit.count()) +
         fmt::format("bounds {} symmetry {} seed {} version {}\n", how.use_bounds, how.use_symmetry, how.seed,
                     kResultVersion);
}

bool is_about(const std::string& question, const std::string& subject) {
  return question.starts_with(subject + "\n");
}

bool fits(const Renumbering& by, const Topology& topology) {
  return std::ssize(by.ranks) == topology.ranks && by.links.size() == topology.links.size();
}

// Measured times refer to points by number, so they are checked against the result that they stand beside.
Result stored_result(const StoredAnswer& stored, const std::string& file) {
  Result result = result_from_json(stored.answer, file);
  if (!is_answer_to(stored.question, result, renumbering_from_json(stored.numbering, file)))
    throw InputError(file, "an answer is to another question than it is stored for", kSeeVerify);
  for (const MeasuredTime& time : stored.measured)
    if (const std::string wrong = misfit(time, result); !wrong.empty())
      throw InputError(file, fmt::format("an answer has a measured time {}", wrong), kSeeVerify);
  for (const OwnTime& time : stored.own)
    if (const std::string wrong = misfit(time, result); !wrong.empty())
      throw InputError(file, fmt::format("an answer has a time of MPI's own {}", wrong), kSeeVerify);
  return result;
}

std::string misfit(const MeasuredTime& time, const Result& result) {
  if (time.over != "mpi" && time.over != "nccl") return "over something that is not known";
  if (time.point < MeasuredTime::kOwn || time.point >= std::ssize(result.points))
    return fmt::format("of point {}, which is not there", time.point);
  if (time.bytes < 1 || time.times < 1) return "of nothing";
  if (!std::isfinite(time.most_us) || time.least_us <= 0 || time.median_us < time.least_us ||
      time.most_us < time.median_us)
    return "whose least, median and most are out of order";
  return "";
}

std::string misfit(const OwnTime& own, const Result& result) {
  if (own.time.over != "mpi" || own.time.point != MeasuredTime::kOwn)
    return "over something that is not known";
  if (!is_own_algorithm(own.library, result.collective.kind, own.algorithm))
    return "of an algorithm that is not known";
  return misfit(own.time, result);
}

// answer: question's numbers of the stored answer; here: those of the entry. So n of the answer is
// compose(answer, inverse(here))[n] of the entry.
std::vector<Rank> ranks_at(const StoredAnswer& stored, const AnswerPlace& place, const Topology& topology,
                           const std::string& file) {
  const Renumbering answer = renumbering_from_json(stored.numbering, file),
                    here = renumbering_from_json(place.numbering, file);
  if (!fits(answer, topology) || !fits(here, topology))
    throw InputError(file, "an entry has an answer of another machine", kSeeVerify);
  return compose(answer, inverse(here)).ranks;
}

AnswerPlace seen_by(const StoredAnswer& stored, AnswerPlace place) {
  if (place.hosts.empty()) return place;
  const std::string file = "an entry of the library";
  const Renumbering answer = renumbering_from_json(stored.numbering, file),
                    group = renumbering_from_json(place.numbering, file);
  if (answer.ranks.size() != group.ranks.size() || place.hosts.size() != group.ranks.size())
    throw InputError(file, "is of another machine", "build another");
  const std::vector<Rank> ranks = compose(answer, inverse(group)).ranks;
  const std::vector<int> hosts = place.hosts;
  for (std::size_t n = 0; n < hosts.size(); ++n) place.hosts[n] = hosts[ranks[n]];
  return place;
}

// The root has a colour of its own. A canonical numbering is unique only up to symmetries of the machine:
// without the colour the root's number would depend on the one that was found. With it roots that a symmetry
// carries to each other are one question (0 and 3 of torus:2x3), and others are not.
LibraryQuestion library_question(const Topology& topology, const Collective& collective,
                                 const FrontierOptions& options) {
  LibraryQuestion question{.topology = topology, .collective = collective, .options = options};
  std::vector<int> colours(topology.ranks, 0);
  if (is_rooted(collective.kind)) colours.at(collective.root) = 1;
  question.numbering = is_renumberable(topology, collective) ? canonical_numbering(topology, colours)
                                                             : no_renumbering(topology);
  question.text = question_text(subject_of(topology, collective, question.numbering), options);
  return question;
}

}  // namespace chorale
