// An answer is verified when it is taken from a library. In the order of the checks: that the answer is one
// to the question it is stored for (library/question.h); by the checker of results every schedule, every
// certificate, and what these imply for points and space. Refutations cost what the search has cost, so they
// are left to 'library verify': nothing that is taken rests on them, since a forged file could call anything
// "proven" otherwise. Measured times are taken as they are.
//
// A place is a question by the names of a machine. It is made again: the machine by its name, the group in
// it, the collective; in the numbers of the place that has to be what the question is about.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/report.h"
#include "api/search.h"
#include "cost/busbw.h"
#include "graph/embedding.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/or_error.h"
#include "ir/words.h"
#include "jobs/library.h"
#include "pareto/findings.h"
#include "pareto/formulas.h"
#include "pareto/optimality.h"
#include "pareto/space_check.h"

namespace chorale {
namespace {

void refuse(const std::vector<Fault>& faults, const std::string& file) {
  if (!faults.empty()) throw InputError(file, "an answer is wrong: " + faults.front().words, kSeeVerify);
}

// Sums of doubles may differ in their last bits between builds.
bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// The requested order of the answer's sums, by the numbers of a place: a tree is over ranks, too.
SumOrder order_at(const SumOrder& order, const Renumbering& answer, const Renumbering& place) {
  if (order.kind != SumOrder::Kind::Fixed) return order;
  return {.kind = order.kind, .tree = renumbered(order.tree, compose(answer, inverse(place)).ranks)};
}

// Is it about these ranks, whatever the order of its sums? Only a text with an order needs the answer to be
// read: its tree is over ranks, and has to be compared in the numbers of the caller.
bool is_about_ranks(const StoredAnswer& stored, const LibraryQuestion& asked, const std::string& file) {
  Collective collective = asked.collective;
  if (collective.combining && stored.question.find("\"order\"") != std::string::npos) {
    const Result result = stored_result(stored, file);
    if (result.collective.ranks != collective.ranks) return false;
    collective.order =
        order_at(result.collective.order, renumbering_from_json(stored.numbering, file), asked.numbering);
  }
  return is_about(stored.question, subject_of(asked.topology, collective, asked.numbering));
}

// A file that is not here.
bool is_away(const std::string& spec) {
  std::error_code error;
  return names_a_file(spec) && !std::filesystem::is_regular_file(spec, error);
}

// Reduces the result to what the other claims show. Returns the number of refutations. Wrong conclusions
// would disappear with them, so they are checked before.
int leave_out_refutations(Result& result, const std::string& file) {
  const auto is_refutation = [](const Claim& claim) {
    return claim.certificate.kind == Certificate::Kind::Refutation;
  };
  if (std::ranges::none_of(result.claims, is_refutation)) return 0;
  refuse(space_faults(result), file);
  const bool complete = result.complete;
  const auto refutations = std::erase_if(result.claims, is_refutation);
  mark(result);
  if (complete && !result.complete) result.stopped = Stopped::Unchecked;
  return static_cast<int>(refutations);
}

// By the numbers of the question. `by` leads from the answer to the question's text, `asked` from the
// caller's machine to it, so by and then the inverse of `asked` leads from the answer to the caller. Nothing
// to do if they are equal, and links and limits are in one order as well.
Result with_numbers_of(Result result, const Renumbering& by, const Renumbering& asked,
                       const Topology* topology, const std::string& file) {
  if (!fits(asked, result.topology)) throw InputError(file, "has an answer of another machine", kSeeVerify);
  if (!is_renumberable(result.topology, result.collective)) return result;
  const Renumbering all = compose(by, inverse(asked));
  const bool same = all == no_renumbering(result.topology);
  Topology to = topology != nullptr ? *topology : same ? result.topology : renumbered(result.topology, all);
  if (!same || without_names(to) != result.topology) return verified_renumbering(result, all, to, file);
  result.topology = std::move(to);
  return result;
}

VerifiedAnswer answer_as(const StoredAnswer& stored, const Renumbering& asked, const Topology* topology,
                         const std::string& file) {
  VerifiedAnswer answer = verified_answer(stored, file);
  answer.result = with_numbers_of(std::move(answer.result), renumbering_from_json(stored.numbering, file),
                                  asked, topology, file);
  return answer;
}

// Of any ranks of the machine, in the order in which they are given. Options are the default ones: the
// answers are found by their subject (is_about), whatever was allowed.
LibraryQuestion question_of_ranks(const AnswerPlace& asked) {
  const Topology whole = machine(asked.machine);
  std::vector<Rank> members;
  std::istringstream words(asked.members);
  for (Rank n = 0; words >> n;) {
    if (n < 0 || n >= whole.ranks || std::ranges::find(members, n) != members.end())
      throw InputError("--ranks", fmt::format("{} is not a further rank of {}", n, asked.machine),
                       fmt::format("use each of 0 to {} once at most", whole.ranks - 1));
    members.push_back(n);
  }
  const Topology part = part_at(whole, members);
  LibraryQuestion question = library_question(
      part,
      collective(
          asked.collective, part,
          {.root = is_rooted(known_kind(asked.collective)) ? std::optional(asked.root) : std::nullopt}),
      {});
  question.topology.name = asked.machine;
  return question;
}

// The rows of a result that are stored for it.
std::vector<std::string> prediction_faults(const StoredAnswer& stored, const Result& result) {
  std::vector<std::string> faults;
  for (const PredictedTime& stated : stored.predicted) {
    const std::vector<PredictedTime> rows =
        stated.bytes > 0 ? predicted_times(result, {stated.bytes}) : std::vector<PredictedTime>{};
    if (rows.empty())
      faults.push_back(fmt::format("a time is predicted for {} bytes, and there is none", stated.bytes));
    else if (stated.point != rows[0].point || !same(stated.us, rows[0].us) ||
             !same(stated.least_us, rows[0].least_us))
      faults.push_back(
          fmt::format("{} bytes are predicted to take {} us by point {} and {} us at least; they take {} us "
                      "by point {} and {} us at least",
                      stated.bytes, stated.us, stated.point, stated.least_us, rows[0].us, rows[0].point,
                      rows[0].least_us));
  }
  return faults;
}

// The same, but it throws for what cannot be read. From the cheapest check to the most
// expensive: names, the group, the machine in the numbers of the place, its hosts.
std::string misfit(const StoredAnswer& stored, const Result& result, const AnswerPlace& place) {
  const Collective& asked = result.collective;
  if (place.collective != name_of(asked) || place.ranks != asked.ranks)
    return fmt::format("is of {} on {}, and the answer of {} on {}", place.collective,
                       counted(place.ranks, "rank"), name_of(asked), counted(asked.ranks, "rank"));
  const Topology whole = machine(place.machine);
  const RankGroup members = ranks_in(place.members, whole.ranks);
  if (members.empty() || !is_group_named(place.group, place.machine, whole, members))
    return fmt::format("ranks {} are none of the groups '{}'", place.members, place.group);
  const Topology part = group_of(whole, place.group, members);
  const Renumbering numbering = renumbering_from_json(place.numbering, "its numbering");
  // A root has another number in the answer.
  Collective here = is_custom(asked) ? asked : make_collective(asked.kind, part.ranks, 1, place.root);
  if (here.root != place.root || !fits(numbering, part)) return "the answer is of another machine";
  here.order =
      order_at(asked.order, renumbering_from_json(stored.numbering, "the answer's numbering"), numbering);
  if (!is_about(stored.question, subject_of(part, here, numbering)))
    return "the answer is of another machine";
  const AnswerPlace seen =
      seen_by(stored, {.hosts = hosts_at(hosts_of(place.machine), members), .numbering = place.numbering});
  return seen.hosts == place.hosts ? "" : "its ranks sit on other hosts";
}

// Why the place does not ask the question of this answer; "": it does.
std::string place_fault(const StoredAnswer& stored, const Result& result, const AnswerPlace& place) {
  const OrError<std::string> fault = read_or_error([&] { return misfit(stored, result, place); });
  return fault ? *fault : fault.error().what();
}

void refuse_place(const StoredAnswer& stored, const Result& result, const AnswerPlace& place,
                  const std::string& file) {
  const std::string wrong = place_fault(stored, result, place);
  if (!wrong.empty())
    throw InputError(fmt::format("{}: {}, {}", file, place.machine, place.group), wrong, kSeeVerify);
}

}  // namespace

// Sizes of a library are bytes of a block, since that is what a call knows; sizes of a report are of
// messages. Sizes at which no point was timed are absent.
std::vector<PredictedTime> predicted_times(const Result& result,
                                           const std::vector<std::int64_t>& block_bytes) {
  std::vector<PredictedTime> times;
  const MessageShape message = message_shape(result.collective);
  std::vector<std::int64_t> sizes;
  for (const std::int64_t block : block_bytes) sizes.push_back(size_of_block(message, block));
  for (const SizeRow& row : best_by_size(result, sizes))
    times.push_back({.bytes = row.block_bytes, .point = row.point, .us = row.us, .least_us = row.least_us});
  return times;
}

VerifiedAnswer verified_answer(const StoredAnswer& stored, const std::string& file) {
  VerifiedAnswer answer{
      .result = stored_result(stored, file), .measured = stored.measured, .own = stored.own};
  answer.unchecked = leave_out_refutations(answer.result, file);
  refuse(check(answer.result).faults, file);
  return answer;
}

void refuse_places(const StoredAnswer& stored, const Result& result, const std::string& file) {
  for (const AnswerPlace& place : stored.places)
    if (!is_away(place.machine)) refuse_place(stored, result, place, file);
}

VerifiedAnswer answer_for(const StoredAnswer& stored, const AnswerPlace& place, const std::string& file) {
  VerifiedAnswer answer = verified_answer(stored, file);
  refuse_place(stored, answer.result, place, file);
  answer.result = with_numbers_of(std::move(answer.result), renumbering_from_json(stored.numbering, file),
                                  renumbering_from_json(place.numbering, file), nullptr, file);
  answer.result.topology.name = place.machine;
  answer.hosts = place.hosts;
  return answer;
}

std::optional<VerifiedAnswer> find_answer(AnswerFile& file, const LibraryQuestion& question,
                                          const std::string& name) {
  const std::optional<StoredAnswer> stored = file.answer(question.text);
  if (!stored) return {};
  VerifiedAnswer answer = answer_as(*stored, question.numbering, &question.topology, name);
  answer.result.topology = question.topology;
  return answer;
}

void add(LibraryReport& all, const LibraryReport& more) {
  all.answers += more.answers;
  CheckReport& check = all.check;
  check.faults.insert(check.faults.end(), more.check.faults.begin(), more.check.faults.end());
  check.schedules += more.check.schedules;
  check.bounds += more.check.bounds;
  check.refutations += more.check.refutations;
  check.plain += more.check.plain;
  check.undecided += more.check.undecided;
  all.places += more.places;
  all.predicted += more.predicted;
  all.measured += more.measured;
  all.away.insert(all.away.end(), more.away.begin(), more.away.end());
}

LibraryReport check_answer(const StoredAnswer& stored, const SolveLimits& limits) {
  LibraryReport report{.places = static_cast<int>(stored.places.size()),
                       .predicted = static_cast<int>(stored.predicted.size()),
                       .measured = static_cast<int>(stored.measured.size() + stored.own.size())};
  const auto fail = [&](const std::string& words) {
    report.check.faults.push_back({.kind = Fault::Kind::Statement, .words = words});
  };
  const OrError<Result> read = read_or_error([&] { return stored_result(stored, "the answer"); });
  if (!read) {
    fail(read.error().what());
    return report;
  }
  const Result& result = *read;
  report.check = check(result, {.limits = limits});
  for (const AnswerPlace& place : stored.places)
    if (is_away(place.machine))
      report.away.push_back(place.machine);
    else if (const std::string wrong = place_fault(stored, result, place); !wrong.empty())
      fail(fmt::format("entry {}, {}: {}", place.machine, place.group, wrong));
  // Times are simulated, which requires sound schedules.
  if (report.check.faults.empty())
    for (const std::string& wrong : prediction_faults(stored, result)) fail(wrong);
  return report;
}

std::vector<VerifiedAnswer> results_at(AnswerFile& file, const std::string& name, const AnswerPlace& asked,
                                       std::optional<SumOrder::Kind> order) {
  std::optional<LibraryQuestion> of_ranks;
  if (!asked.members.empty()) of_ranks = question_of_ranks(asked);
  std::vector<VerifiedAnswer> answers;
  std::string known;
  std::vector<std::string> members;
  file.each([&](const StoredAnswer& stored) {
    if (of_ranks) {
      if (is_about_ranks(stored, *of_ranks, name))
        answers.push_back(answer_as(stored, of_ranks->numbering, &of_ranks->topology, name));
      return;
    }
    for (const AnswerPlace& place : stored.places) {
      if (place.machine != asked.machine || place.collective != asked.collective) continue;
      known += fmt::format("{}{} with root {}", known.empty() ? "" : ", ", place.group, place.root);
      if (place.group != asked.group || place.root != asked.root) continue;
      if (std::ranges::find(members, place.members) == members.end()) members.push_back(place.members);
      if (place.members == members.front()) answers.push_back(answer_for(stored, place, name));
    }
  });
  // An entry stands for all groups that are numbered as its own. A level with two entries has groups of two
  // kinds, such as nodes that are wired differently, and answers for one are wrong for the other.
  if (members.size() > 1) {
    std::ranges::sort(members);
    for (std::string& each : members) std::ranges::replace(each, ' ', ',');
    throw InputError(name,
                     fmt::format("has {} kinds of {} of {}: {}", members.size(), asked.group, asked.machine,
                                 joined(members, " and ")),
                     "name the ranks: --ranks " + members.front());
  }
  const auto order_of = [](const VerifiedAnswer& each) -> const SumOrder& {
    return each.result.collective.order;
  };
  if (order)
    std::erase_if(answers, [&](const VerifiedAnswer& each) { return order_of(each).kind != *order; });
  // One tree for all sizes, that of the first answer: points of several trees would give several results.
  if (order == SumOrder::Kind::Fixed && !answers.empty()) {
    const SumOrder tree = order_of(answers.front());
    std::erase_if(answers, [&](const VerifiedAnswer& each) { return order_of(each) != tree; });
  }
  if (answers.empty())
    throw InputError(name,
                     fmt::format("has no {} of {}, {}, root {}{}", asked.collective, asked.machine,
                                 asked.members.empty() ? asked.group : "ranks " + asked.members, asked.root,
                                 !order                            ? ""
                                 : *order == SumOrder::Kind::Fixed ? ", in a fixed order"
                                                                   : ", in an agreed order"),
                     known.empty() ? "see 'chorale library show'" : "it has that for " + known);
  return answers;
}

}  // namespace chorale
