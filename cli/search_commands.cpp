// The commands that ask the search.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/report.h"
#include "api/search.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/json.h"
#include "ir/words.h"
#include "jobs/library.h"

namespace chorale {

// One question, or the few that find the fewest steps or rounds, as one result.

struct SynthesizeCommand {
  SearchSettings search = {};
  SynthesisQuestion asked = {};
};
namespace {

// "3 steps and 7 rounds", of those that were given.
std::string asked(const SynthesizeCommand& command) {
  std::string text;
  if (command.asked.steps) text = counted(*command.asked.steps, "step");
  if (command.asked.rounds) text += (text.empty() ? "" : " and ") + counted(*command.asked.rounds, "round");
  return text;
}

// Impossible is an answer, with a proof; undecided is none.
int exit_code(const SynthesisResult& answer) {
  if (answer.verdict == Verdict::Sat) return kFound;
  if (answer.verdict == Verdict::Unsat) return kImpossible;
  return answer.result.stopped == Stopped::Interrupted ? kInterrupted : kUndecided;
}

// The schedule is printed step by step unless a file has it.
Report report_of(const SynthesizeCommand& command, const SynthesisResult& answer,
                 const Supervisor& supervisor) {
  const Result& result = answer.result;
  Listed listed;
  if (!result.points.empty()) listed = {.points = {0}, .best = best_sizes(result, {}, supervisor.stop())};
  if (command.search.json.empty()) listed.schedules = listed.points;
  Report report = report_of(result, listed);
  const std::string within = asked(command).empty() ? "" : " within " + asked(command);
  if (answer.verdict == Verdict::Unknown)
    std::ranges::move(openings_in_words(result), std::back_inserter(report.sentences));
  report.sentences.push_back(
      (answer.verdict == Verdict::Unsat ? "impossible" + within
       : answer.verdict == Verdict::Unknown
           ? "undecided" + within + " (" + name_of(result.stopped) + "); " +
                 (result.points.empty() ? "nothing found" : "found and verified")
           : "found and verified") +
      fmt::format("; {:.2f} s, {}", supervisor.seconds(), counted(answer.conflicts, "conflict")));
  return report;
}

// Writes the answer and reports it. `stopped`: the cause that stopped the command, which the search may not
// have.
Outcome outcome_of(const SynthesizeCommand& command, SynthesisResult answer, const Supervisor& supervisor,
                   Stopped stopped) {
  if (answer.verdict == Verdict::Unknown && stopped != Stopped::No) answer.result.stopped = stopped;
  Outcome outcome = reported(report_of(command, answer, supervisor));
  outcome.exit_code = exit_code(answer);
  if (!command.search.json.empty()) deliver(command.search.json, to_json(answer.result), outcome);
  return outcome;
}

}  // namespace

Outcome perform(const SynthesizeCommand& command, Supervisor& supervisor) {
  const std::atomic<bool>* const stop = supervisor.stop();
  const SearchSettings& search = command.search;
  make_writable_directory("--proofs", search.options.synthesis.proof_dir);
  const Topology topology = machine(search.question.machine, search.question.changes);
  const Collective collective = chorale::collective(search.question.collective, topology, search.question);
  FrontierOptions options = search.options;
  options.memory_bytes = asked_memory(supervisor.limits());
  options.synthesis.limits.stop = stop;
  options.publish = [&](const std::function<Result()>& found) {
    supervisor.publish([&, found](Stopped stopped) {
      SynthesisResult answer{.result = found()};
      // What the search published is complete if the question is decided, by a schedule or by none.
      if (answer.result.complete)
        answer.verdict = answer.result.points.empty() ? Verdict::Unsat : Verdict::Sat;
      return outcome_of(command, std::move(answer), supervisor, stopped);
    });
  };
  if (ProgressLine& line = supervisor.progress(); line.wanted())
    options.progress = [&line](const Progress& progress) { line.show(progress.doing); };
  SynthesisResult answer = synthesize(topology, collective, command.asked, options);
  supervisor.take_floor();
  return outcome_of(command, std::move(answer), supervisor, supervisor.stopped());
}

void synthesize_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "synthesize", "Find one schedule within a budget, or prove that there is none",
      "Without --steps the fewest that are possible are taken; without --rounds the fewest for these steps.\n"
      "AllReduce is synthesized directly here; 'frontier' also composes it from ReduceScatter and "
      "Allgather.\n" +
          Text(kSearchExitCodes) +
          "\nexamples:\n  chorale synthesize dgx1 allgather --chunks 6 --steps 3 --rounds 7\n"
          "  chorale synthesize ring:8 broadcast --root 3 --chunks 4 --json b.json");
  auto options = std::make_shared<SynthesizeCommand>();
  search_settings(sub, parsed, options->search);
  choice<Engine>(
      sub, "--engine", options->search.options.synthesis.engine, engines(),
      "sat: Chorale's; smt: SCCL's encoding in Z3; sat-partition: one formula for each split of the rounds");
  by_rows(sub, synthesis_rows(), options->asked);
  sub->final_callback([options, &parsed] {
    settle(options->search, parsed);
    accept(parsed, options);
  });
}

// A search, or an answer of a library, or the repair of an older result: all end in outcome_of(), which
// writes the result and prints heading, points, bound, times by size and completeness, in this order. The
// same function makes the last report of a search that a limit ends, from what was published.

struct FrontierCommand {
  SearchSettings search = {};
  std::string library = {};  // where the answer is searched, and stored
  std::string repair = {};   // a result for the machine before its failures, to begin with
  SizeModel model = {};
  std::vector<std::int64_t> bytes = {};  // of messages, for which the fastest point is reported
  bool all = false;                      // list points that others dominate, too
};
namespace {

// The engine gets nine tenths of the time if points are to be timed afterwards.
FrontierOptions options_of(const FrontierCommand& command, const Collective& collective,
                           const Supervisor& supervisor) {
  FrontierOptions options = command.search.options;
  // The rest is for times of what was found.
  if (!command.bytes.empty() && options.time_limit.count() >= 0)
    options.time_limit = options.time_limit * 9 / 10;
  options.memory_bytes = asked_memory(supervisor.limits());
  const std::vector<std::int64_t> blocks = blocks_of_sizes(collective, command.bytes);
  options.sizes = {blocks.begin(), blocks.end()};
  options.synthesis.limits.stop = supervisor.stop();
  return options;
}

// Nothing found, and nothing left open: the searched space is shown to be empty.
bool impossible(const Result& result) {
  return result.points.empty() && result.complete;
}

// Claims are about steps and rounds; of time the column "x lower bound" has what is proven.
// Four endings: impossible; complete; cut, with chunk counts up to one decided; cut before any was.
std::string completeness(const Result& result, double seconds) {
  std::string text;
  if (impossible(result))
    text = "impossible: no schedule in the space that was searched";
  else if (result.complete)
    text = fmt::format("complete in steps and rounds for {} per block: every point is proven",
                       chunk_counts(result.space));
  else
    text = fmt::format(
        "not complete ({}): {}points with fewer steps or rounds than the unproven ones may exist, and "
        "further ones",
        name_of(result.stopped),
        result.complete_chunks > 0
            ? fmt::format(
                  "of {} per block none has fewer steps or rounds than these; of more chunks, ",
                  chunk_counts({.min_chunks = result.space.min_chunks, .max_chunks = result.complete_chunks}))
            : "");
  return text + fmt::format("; {:.1f} s", seconds);
}

// The end of an unlimited sequence of chunk counts is success, although the frontier is not proven for all of
// them.
int exit_code(const Result& result) {
  if (result.stopped == Stopped::Interrupted) return kInterrupted;
  if (impossible(result)) return kImpossible;
  // Nothing was cut short: what is left is of chunk counts without end.
  const bool ended = result.stopped == Stopped::ChunkCounts && !result.points.empty();
  return result.complete || ended ? kFound : kUndecided;
}

// Old, repaired, new. Rounds of a machine with slower links may be longer, so rates are reported in GB/s,
// too.
struct RepairNews {
  std::string file = {};
  Repair repair = {};
  Topology before = {};
};

std::vector<std::string> in_words(const RepairNews& news, const Result& result) {
  const auto rate = [](const Topology& topology, const Cost& cost) {
    return fmt::format("{}, {:.4g} GB/s of a block", rounds_a_chunk(cost.rounds, cost.chunks),
                       rate_gbs(topology, cost));
  };
  const Repair& repair = news.repair;
  std::vector<std::string> lines = {
      fmt::format("repaired {}: {} of {} sends had lost their link", news.file, repair.lost, repair.sends),
      "  old:     " + rate(news.before, repair.before),
      "  patched: " + (repair.patched ? rate(result.topology, *repair.patched) : "nothing could be")};
  if (const Point* const best = fastest_rate(result))
    lines.push_back("  now:     " + rate(result.topology, best->cost));
  return lines;
}

// Writes the result and describes it. `stopped`: the cause that stopped the command, which the search may not
// have.
Outcome outcome_of(const FrontierCommand& command, Result result, const Supervisor& supervisor,
                   Stopped stopped, const std::optional<RepairNews>& news) {
  if (!result.complete && stopped != Stopped::No) result.stopped = stopped;
  const std::vector<int> listed = chosen_points("", result, {}, command.all);
  std::vector<SizeRow> timed;
  if (!listed.empty() && !command.bytes.empty()) {
    time_bounds_of(result.topology, result.collective,
                   blocks_of_sizes(result.collective, command.bytes))(result);
    timed = best_by_size(result, command.bytes, command.model, supervisor.stop());
  }
  Report report = report_of(result, {.points = listed,
                                     .best = best_sizes(result, command.model, supervisor.stop()),
                                     .timed = timed,
                                     .sizes = command.bytes.size()});
  if (news) std::ranges::move(in_words(*news, result), std::back_inserter(report.sentences));
  std::ranges::move(openings_in_words(result), std::back_inserter(report.sentences));
  report.sentences.push_back(completeness(result, supervisor.seconds()));
  Outcome outcome = reported(report);
  outcome.exit_code = exit_code(result);
  if (!command.search.json.empty()) deliver(command.search.json, to_json(result), outcome);
  return outcome;
}

// The answer of the library if it has one; else the search's, which it has afterwards. The place of the
// answer (machine, group, root) is stored only for a machine without changes, since its name would otherwise
// stand for another machine.
Outcome by_library(const FrontierCommand& command, LibraryQuestion question, Supervisor& supervisor) {
  const std::unique_ptr<AnswerFile> file = open_answers(command.library, true);
  if (std::optional<VerifiedAnswer> known = find_answer(*file, question, command.library)) {
    supervisor.take_floor();
    Outcome outcome = outcome_of(command, std::move(known->result), supervisor, Stopped::No, {});
    note_unchecked(known->unchecked, command.library, outcome.notes);
    outcome.text += "from " + command.library + "\n";
    return outcome;
  }
  if (!command.search.question.changes.any())
    question.places = {{.machine = command.search.question.machine,
                        .group = "all",
                        .collective = name_of(question.collective),
                        .ranks = question.topology.ranks,
                        .root = question.collective.root,
                        .hosts = hosts_of(command.search.question.machine),
                        .members = fmt::format("{}", fmt::join(no_renumbering(question.topology).ranks, " ")),
                        .numbering = to_json(question.numbering)}};
  Result result = frontier(question.topology, question.collective, question.options);
  supervisor.take_floor();
  if (!result.complete && supervisor.stopped() != Stopped::No) result.stopped = supervisor.stopped();
  keep_answer(*file, question, result);
  return outcome_of(command, std::move(result), supervisor, supervisor.stopped(), {});
}

}  // namespace

// A repair precedes the search: patched schedules are known points that the search begins with and may
// improve.
Outcome perform(const FrontierCommand& command, Supervisor& supervisor) {
  const std::atomic<bool>* const stop = supervisor.stop();
  const SearchSettings& search = command.search;
  make_writable_directory("--proofs", search.options.synthesis.proof_dir);
  const Machine topology = machine(search.question.machine, search.question.changes);
  const Collective collective = chorale::collective(search.question.collective, topology, search.question);
  FrontierOptions options = options_of(command, collective, supervisor);
  std::optional<RepairNews> news;
  if (!command.repair.empty()) {
    const Result old = read_sound_result(command.repair);
    news =
        RepairNews{.file = command.repair,
                   .repair = repair(old, search.question.machine, search.question.changes, collective, stop),
                   .before = old.topology};
    options.known = news->repair.known;
    // What was patched is of these, and is to be found again.
    options.max_chunks = std::max(options.max_chunks, old.space.max_chunks);
  }
  options.publish = [&](const std::function<Result()>& found) {
    supervisor.publish([&, found, news](Stopped stopped) {
      return outcome_of(command, found(), supervisor, stopped, news);
    });
  };
  if (ProgressLine& line = supervisor.progress(); line.wanted())
    options.progress = [&line](const Progress& progress) {
      line.show(fmt::format("{}; {}", counted(progress.points, "point"), progress.doing));
    };
  supervisor.await_first_answer();
  if (!command.library.empty())
    return by_library(command, library_question(topology, collective, options), supervisor);
  Result result = frontier(topology, collective, options);
  supervisor.take_floor();
  return outcome_of(command, std::move(result), supervisor, supervisor.stopped(), news);
}

void frontier_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "frontier", "Find the best trades of latency against bandwidth, and prove what can be proven",
      Text(kSearchExitCodes) +
          "\nexamples:\n  chorale frontier dgx1 allgather --json f.json\n"
          "  chorale frontier torus:4x4 allgather --time-limit 5m --jobs 2\n"
          "  chorale frontier dgx1 allgather --without-link 0-1 --repair f.json\n"
          "  chorale frontier hub:8 broadcast --switches-multicast");
  auto options = std::make_shared<FrontierCommand>();
  search_settings(sub, parsed, options->search);
  by_rows(sub, frontier_rows(), options->search.options);
  text(sub, "--library", options->library, "FILE",
       "Take the answer from this library if it has it, else search and keep it there");
  text(
      sub, "--repair", options->repair, "OLD",
      "Begin with a result for the machine before --without-link, --degrade, ...: its schedules are patched, "
      "and the old, patched and new rates are printed; a block is cut into as many chunks as it was, or "
      "more");
  size_model(sub, options->model);
  sizes(
      sub, options->bytes,
      "Search for the fastest points for messages of these sizes, and print for each its time, each link by "
      "its own numbers, the time that no schedule is below, and their ratio: 64K, 1K,3000, or from:to:factor "
      "(1K:1G:32)");
  sub->add_flag("--all", options->all, "List, after the frontier, the points that others dominate, too");
  sub->final_callback([options, sub, &parsed] {
    settle(options->search, parsed);
    // A repair begins from another result, and its question would have to contain that.
    if (!options->library.empty() && !options->repair.empty())
      throw InputError("--library", "has no repaired answers", "drop it, or --repair");
    accept(parsed, options);
  });
}

}  // namespace chorale
