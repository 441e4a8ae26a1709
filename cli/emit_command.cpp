// Each point is lowered, verified and printed by the API; here files are named by machine, collective and
// point, and what a target cannot express is gathered. One point asked for and refused is bad input; of
// several, those that can be expressed are written, and the others are reported with exit code 2.
#include <fmt/format.h>

#include "api/compile.h"
#include "api/inputs.h"
#include "api/report.h"
#include "cli/option_kinds.h"
#include "cli/python_command.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/links_alone.h"
#include "ir/words.h"

namespace chorale {

struct EmitCommand {
  std::string file = {};
  std::optional<Target> target = Target::MscclXml;  // none: the page
  std::string directory = ".";
  std::optional<int> point = {};
  CompileOptions options = {};
  std::string epilogue = {};  // a file that options.epilogue is read from; empty: none
};
namespace {

// How many ranks complete a sum decides which functions may follow it.
std::string who_completes(int ranks) {
  return ranks <= 1 ? "each sum is completed by one rank: an epilogue may keep state"
                    : fmt::format(
                          "sums are completed by up to {} ranks: an epilogue must be the same everywhere "
                          "and keep no state",
                          ranks);
}

// One page for all points, or with one of them only.
Outcome page(const EmitCommand& command, Result result, const std::atomic<bool>* stop) {
  std::string path = fmt::format("{}/{}", command.directory, file_stem(result.topology, result.collective));
  if (command.point) {
    result.points = {result.points.at(*command.point)};
    path += fmt::format("_{}", *command.point);
  }
  Outcome outcome = reported({.sentences = {path + ".html"}});
  outcome.files = {{path + ".html", to_page(result, best_sizes(result, {}, stop), stop)}};
  return outcome;
}

}  // namespace

Outcome perform(const EmitCommand& command, Supervisor& supervisor) {
  if (const auto& [min, max] = std::pair(command.options.min_bytes, command.options.max_bytes);
      max > 0 && min > max)
    throw InputError("--min-bytes", "is larger than --max-bytes", "exchange them");
  require_makeable_directory("-o", command.directory);
  CompileOptions options = command.options;
  if (!command.epilogue.empty())
    options.epilogue = epilogue_from_json(read_file(command.epilogue), command.epilogue);
  // Schedules are verified when the file is read, so no program is made of a wrong one.
  Result result = read_sound_result(command.file);
  Report report;  // a line for each program
  if (command.target && !command.point)
    if (const std::vector<int> performed = performed_points(result, *command.target);
        !performed.empty() && performed.size() < result.points.size()) {
      mark_frontier(result, performed);
      report.notes.push_back(fmt::format(
          "target {} cannot ask switches that {} for all points: it gets those that it performs; --point N "
          "asks for another",
          entry_of(*command.target).name, in_words(abilities_of(result.topology))));
    }
  const std::vector<int> chosen = chosen_points(command.file, result, command.point, false);
  // No target is the page: it is made of results and not of programs.
  if (!command.target) return page(command, result, supervisor.stop());
  std::vector<NamedText> files;
  if (chosen.empty())
    throw InputError(command.file, "has no point to write",
                     "search a larger space: more steps, rounds or chunks");
  std::string first_reason;
  std::vector<std::string> refused;
  // try_compile returns a refusal as a value: limits of a target are expected, and catching is not how to
  // find them.
  for (int i : chosen) {
    const Point& point = result.points[i];
    options.name = fmt::format("{}_{}", file_stem(result.topology, point.collective), i);
    auto made = try_compile(result.topology, point, *command.target, options);
    if (!made) {
      // One of many: the others are written, and this one is named.
      if (chosen.size() == 1) throw InputError(made.error());
      if (refused.empty()) first_reason = made.error().what();
      refused.push_back(fmt::format("point {} is not written: {}", i, made.error().what()));
      continue;
    }
    Compiled& compiled = *made;
    for (NamedText& file : compiled.files) {
      file.path = command.directory + "/" + file.path;
      files.push_back(std::move(file));
    }
    report.sentences.push_back(command.directory + "/" + compiled.path);
    if (!compiled.note.empty()) report.notes.push_back(fmt::format("point {}: {}", i, compiled.note));
    if (options.epilogue) report.sentences.push_back(who_completes(compiled.completed_by));
  }
  if (files.empty())
    throw InputError(
        command.file,
        fmt::format("none of its {} on the frontier can be written", counted(std::ssize(chosen), "point")),
        fmt::format("point {}: {}", chosen.front(), first_reason));
  if (const TargetEntry& target = entry_of(*command.target); target.form == TargetForm::Replayed) {
    Outcome done = written_for_simulator(target.name, files, supervisor);
    if (!done.errors.empty()) return done;
    files = std::move(done.files);
  }
  Outcome outcome = reported(report);
  outcome.exit_code = refused.empty() ? kFound : kBadInput;
  outcome.files = std::move(files);
  outcome.errors = std::move(refused);
  return outcome;
}

// Targets are rows of api/compile.h, which have their form: a program that checks itself, a plan, thread
// blocks, messages that a simulator replays. An option that only some forms have is refused for the others,
// below. "html" is the page and no program, and so no target.
void emit_options(CLI::App& app, Invocation& parsed) {
  std::vector<std::pair<Text, std::optional<Target>>> targets;
  Text descriptions;
  for (const TargetEntry& each : known_targets()) {
    targets.push_back({each.name, each.target});
    descriptions += each.name + " (" + each.description + "), ";
  }
  targets.push_back({"html", std::nullopt});
  CLI::App* const sub = command(
      app, "emit", "Write algorithms for other runtimes",
      "targets: " + descriptions +
          "html (the page of 'show --html', of all points or of one)\n"
          "A point that a target cannot express is not written: standard error has a line with the reason, "
          "and the other points are written.\n"
          "exit codes: 0 all written, 2 bad input, or something that the target cannot express, 3 out of "
          "time or memory, 130 interrupted (nothing is written)\n"
          "example:\n  chorale emit f.json --target mpi -o out");
  auto options = std::make_shared<EmitCommand>();
  argument(sub, "result", options->file, "RESULT", "A result file");
  choice<std::optional<Target>>(sub, "--target", options->target, targets, "What to write (msccl-xml)");
  text(sub, "-o,--output", options->directory, "DIR", "Directory for the files, made if it is not there (.)");
  only_point(sub, options->point);
  by_rows(sub, compile_rows(), options->options);
  // With a value or without: an epilogue that is only a slot has no expression.
  sub->add_option_function<std::vector<Text>>(
         "--epilogue",
         [options](const std::vector<Text>& file) {
           options->options.epilogue.emplace();
           if (!file.empty()) options->epilogue = file.front();
         },
         "With the function in FILE on every sum (docs/formats.md, 'An epilogue'), and the "
         "instructions that apply it; without FILE, with a slot for a function (json, dot)")
      ->expected(0, 1)
      ->option_text("[FILE]");
  limits(sub, parsed.limits, "");
  sub->final_callback([sub, options, &parsed] {
    const std::optional<Target> target = options->target;
    const auto is = [&](TargetForm form) { return target && entry_of(*target).form == form; };
    only_for(sub, {"--in-place"}, target == Target::Mscclpp,
             "--target mscclpp; the others choose it themselves");
    only_for(sub, {"--channels"}, is(TargetForm::Blocks), "--target " + names_of(TargetForm::Blocks));
    only_for(sub, {"--epilogue"}, target.has_value(), "targets that are programs");
    only_for(sub, {"--most-steps", "--min-bytes", "--max-bytes"}, is(TargetForm::Plan),
             "--target " + names_of(TargetForm::Plan));
    only_for(sub, {"--peer-access"}, target == Target::Cuda, "--target cuda");
    only_for(sub, {"--bytes"}, is(TargetForm::Replayed), "targets that a simulator replays");
    accept(parsed, options);
  });
}

}  // namespace chorale
