// What library/ does not include, given to it as tables of functions: readers of machines, the checker of
// results, printers, the search. Libraries are also read in programs of others, which have no readers of
// machines (library/machines.h). Each table is made once.
#include "api/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "api/compile.h"
#include "api/inputs.h"
#include "api/machines.h"
#include "api/report.h"
#include "api/search.h"
#include "construct/baselines/classic.h"
#include "ir/error.h"
#include "ir/json_fields.h"
#include "library/spec.h"
#include "pareto/findings.h"
#include "pareto/formulas.h"
#include "pareto/optimality.h"
#include "pareto/space_check.h"
#include "topology/changes.h"
#include "topology/machines.h"

namespace chorale {
namespace {

// Failures that cut a rank off are left out: no algorithm is ready for them. An entry's name is the machine's
// with its failure, "ring:4 without link 0-1", and is read as any other machine.
std::vector<std::string> failed_machines(const std::string& spec) {
  std::vector<std::string> failed;
  for (const std::string& failure : single_failures(load_topology(spec)))
    if (const std::string name = spec + " without " + failure; all_reach_all(machine(name)))
      failed.push_back(name);
  return failed;
}

// Every name of a library goes through here: so a machine after a failure, and a file, are read as any other.
const Machines& machines() {
  static const Machines all{.machine = [](const std::string& spec) { return machine(spec); },
                            .levels = [](const std::string& spec) { return nesting(spec); },
                            .hosts = hosts_of,
                            .failures = failed_machines,
                            .collective =
                                [](const std::string& name, const Topology& topology,
                                   std::optional<Rank> root, const std::string& order) {
                                  return collective(name, topology, {.root = root, .order = order});
                                }};
  return all;
}

// Sizes of a library are bytes of a block, since that is what a call knows; sizes of a report are of
// messages. Sizes at which no point was timed are absent.
std::vector<PredictedTime> predicted(const Result& result, const std::vector<std::int64_t>& bytes) {
  std::vector<PredictedTime> times;
  const MessageShape message = message_shape(result.collective);
  std::vector<std::int64_t> sizes;
  for (const std::int64_t block : bytes) sizes.push_back(size_of_block(message, block));
  for (const SizeRow& row : best_by_size(result, sizes))
    times.push_back({.bytes = row.block_bytes, .point = row.point, .us = row.us, .least_us = row.least_us});
  return times;
}

// `check` alone refutes again, which may take as long as a search; the others trust the claims.
const Verifiers& verifiers() {
  static const Verifiers all{
      .check = [](const Result& result,
                  const SolveLimits& limits) { return check(result, {.limits = limits}); },
      .space_faults = space_faults,
      .mark = [](Result& result) { mark(result); },
      .finish = finish_result,
      .excludes_more = excludes_more,
      .verified_renumbering = verified_renumbering,
      .predicted = predicted};
  return all;
}

const AnswerVerifier& answer_verifier() {
  static const AnswerVerifier all(verifiers(), machines());
  return all;
}

// A target that cannot express an algorithm is not an error of an export: the reason is listed beside the
// files.
Printed printed_or_why(OrError<Compiled> made) {
  if (!made) return {.why_not = made.error().what()};
  return {.files = std::move(made->files), .note = std::move(made->note)};
}

// Plans of one point: the forms for which a file holds one algorithm for a range of sizes.
Printed printed(const Topology& topology, const Point& point, ExportForm form, const PrintOptions& options) {
  return printed_or_why(try_compile(topology, point,
                                    form == ExportForm::MscclXml ? Target::MscclXml : Target::Mscclpp,
                                    {.name = options.name,
                                     .in_place = options.in_place,
                                     .min_bytes = options.min_bytes,
                                     .max_bytes = options.max_bytes}));
}

// Programs of several points, and of machines after failures, which choose at run time.
Printed printed_program(const std::vector<ReadyPoints>& ready, ExportForm form, const std::string& name) {
  return printed_or_why(
      try_compile(ready, form == ExportForm::Nccl ? Target::Nccl : Target::Mpi, {.name = name}));
}

const Printers& printers() {
  static const Printers all{
      .print = printed,
      .program = printed_program,
      .classics =
          [](CollectiveKind kind) {
            std::vector<std::string> names;
            for (const ClassicEntry& entry : classic_catalogue())
              if (entry.collective == kind) names.emplace_back(name_in(methods(), entry.method));
            return names;
          },
      .classic = [](const Topology& topology, const std::string& name, int chunks) -> std::optional<Result> {
        return classic_if_possible(topology, value_in(methods(), name).value(), chunks);
      },
      .stem = file_stem};
  return all;
}

// The search of a build in this process; workers of `chorale library build` are given instead of it.
Searched searched_here(const LibraryQuestion& question, const std::atomic<bool>* stop) {
  FrontierOptions options = question.options;
  options.synthesis.limits.stop = stop;
  return {.result = frontier(question.topology, question.collective, options)};
}

}  // namespace

std::vector<LibraryQuestion> library_questions(std::string_view text, const std::string& file,
                                               bool failures) {
  return questions_in(text, file, machines(), failures);
}

VerifiedAnswer verified_answer(const StoredAnswer& stored, const std::string& file) {
  return answer_verifier().verified_answer(stored, file);
}

VerifiedAnswer answer_for(const StoredAnswer& stored, const AnswerPlace& place, const std::string& file) {
  return answer_verifier().answer_for(stored, place, file);
}

std::optional<VerifiedAnswer> find_answer(AnswerFile& file, const LibraryQuestion& question,
                                          const std::string& name) {
  return answer_verifier().find(file, question, name);
}

std::vector<VerifiedAnswer> results_at(AnswerFile& file, const std::string& name, const AnswerPlace& asked,
                                       std::optional<SumOrder::Kind> order) {
  return answer_verifier().all_at(file, name, asked, order);
}

void refuse_places(const StoredAnswer& stored, const Result& result, const std::string& file) {
  answer_verifier().refuse_places(stored, result, file);
}

LibraryReport check_answer(const StoredAnswer& stored, const SolveLimits& limits) {
  return answer_verifier().verified(stored, limits);
}

bool keep_answer(AnswerFile& file, const LibraryQuestion& question, Result result) {
  return Keeper(file, answer_verifier(), verifiers()).keep(question, std::move(result));
}

MergeReport merge_answers(const std::vector<std::string>& files, AnswerFile& into,
                          const std::atomic<bool>* stop) {
  return merge(files, into, answer_verifier(), verifiers(), stop);
}

BuildReport build_library(AnswerFile& file, const std::vector<LibraryQuestion>& questions,
                          const LibraryBuildOptions& options, const Search& search) {
  Keeper keeper(file, answer_verifier(), verifiers());
  return build(
      keeper, questions,
      search ? search
             : [&options](const LibraryQuestion& question,
                          const std::function<bool()>&) { return searched_here(question, options.stop); },
      options);
}

Exported export_answers(AnswerFile& file, const std::string& name, const ExportQuestion& question) {
  return exported(file, name, question, answer_verifier(), printers());
}

// A library built with failures has entries named "M without link 0-1". They are grouped by answer: failures
// that leave equal machines, but for the numbers of ranks, share one, and so become one row that counts them.

namespace {

double value_of(long long rounds, long long chunks) {
  return static_cast<double>(rounds) / static_cast<double>(chunks);
}

// Rounds per chunk of the best point, and that no schedule has fewer than; 0 where there is none.
struct BestRate {
  double found = 0, bound = 0;
};

BestRate rate_of(const Result& result) {
  BestRate rate;
  const Rate bound = rate_bound(result);
  rate.bound = value_of(bound.rounds, bound.chunks);
  for (const Point& point : result.points) {
    const double rounds = value_of(point.cost.rounds, point.cost.chunks);
    if (rate.found == 0 || rounds < rate.found) rate.found = rounds;
  }
  return rate;
}

// 0 where the whole is not known.
double share(double of, double by) {
  return by > 0 ? of / by : 0;
}

}  // namespace

// Two passes: whole machines are needed as the denominator, and the file may have them after their failures.
// Of equivalent failures the shortest name represents the row, then the first in the alphabet.
std::vector<FailureRow> failure_rows(AnswerFile& file, const std::string& name) {
  std::map<std::pair<std::string, std::string>, BestRate> whole;  // by machine and collective
  std::vector<std::pair<FailureRow, BestRate>> found;
  file.each([&](const StoredAnswer& stored) {
    std::optional<BestRate> rate;
    std::map<std::pair<std::string, std::string>, FailureRow> rows;
    for (const AnswerPlace& place : stored.places) {
      // The table is of whole machines: their groups are machines of their own in a library.
      if (place.group != "all") continue;
      // An answer is verified as it is taken: once, and only where it has such a place.
      if (!rate) rate = rate_of(verified_answer(stored, name).result);
      const NamedChanges named = split_failure(place.machine);
      const std::pair at{named.machine, place.collective};
      if (named.failure.empty()) {
        whole[at] = *rate;
        continue;
      }
      FailureRow& row = rows[at];
      if (row.alike++ == 0 ||
          std::pair(named.failure.size(), named.failure) < std::pair(row.failure.size(), row.failure))
        row.failure = named.failure;
      row.machine = named.machine;
      row.collective = place.collective;
      row.rounds_per_chunk = rate->found;
      row.of_bound = share(rate->bound, rate->found);
    }
    for (const auto& [at, row] : rows) found.emplace_back(row, *rate);
  });
  std::vector<FailureRow> rows;
  for (auto& [row, rate] : found) {
    if (const auto before = whole.find({row.machine, row.collective}); before != whole.end()) {
      row.of_whole = share(before->second.found, rate.found);
      row.most_of_whole = share(before->second.bound, rate.bound);
    }
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, [](const FailureRow& row) {
    return std::tuple(row.machine, row.collective, -row.alike, row.failure);
  });
  return rows;
}

std::string to_json(const std::vector<FailureRow>& rows) {
  return json_file("chorale_failures", 1, "rows", rows);
}

}  // namespace chorale
