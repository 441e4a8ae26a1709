// Tensor programs: transformed, tuned, compiled.
#include "cli/option_kinds.h"

namespace chorale {
namespace {

// A size of the file is set by its name there; whether there is such a name only the parser knows.
void workload(CLI::App* app, WorkloadInput& input) {
  argument(app, "workload", input.file, "FILE", "A tensor program (docs/workloads.md)");
  app->add_option_function<std::vector<Text>>(
         "--set",
         [&input](const std::vector<Text>& values) {
           for (const Text& each : values) {
             const std::size_t at = each.find('=');
             if (at == Text::npos || at == 0)
               throw InputError("--set", "'" + each.substr(0, 60) + "' sets no size",
                                "use NAME=VALUE, such as N=64M");
             input.settings.sizes[each.substr(0, at)] = parse_size("--set", each.substr(at + 1));
           }
         },
         "Sizes instead of those that the file gives (64M is 64 * 1024 * 1024)")
      ->option_text("NAME=VALUE ...");
  integer(app, "--ranks", input.settings.ranks, 1, kMostRank, "P", "Ranks of a group (as in the file, or 2)");
  integer(app, "--groups", input.settings.groups, 1, kMostRank, "G", "Groups (as in the file, or 1)");
}

// Transformations on the command line or in a file, not both.
void script(CLI::App* app, WorkloadInput& input) {
  CLI::Option* const apply = text(app, "--apply", input.script, "SCRIPT",
                                  "Transformations, one after the other: 'split(avg, rs); ...' "
                                  "(docs/workloads.md, 'Transformations')");
  text(app, "--script", input.script_file, "FILE", "A file with them")->excludes(apply);
}

// Where the program runs and by which algorithms, for compile and tune alike.
void target(CLI::App* app, WorkloadTarget& target) {
  argument(app, "--machine", target.machine, "NAME|FILE",
           "Where the ranks of a group are ('chorale topology list'), or a JSON file");
  machine_changes(app, target.changes);
  text(app, "--algorithms", target.algorithms, "FILE ...",
       "Result files to take algorithms from, instead of a search");
  integer(app, "--max-chunks", target.max_chunks, 1, kMostChunks, "C",
          "Search algorithms that cut a block into at most C chunks (2)");
  text(app, "--order", target.order, "ORDER",
       "Of sums: agreed, all ranks get the same bits (the default); fixed, along one tree for all "
       "collectives, sizes and runs; or that tree, such as '((0 1) (2 3))'");
  progress(app, target.progress);
}

}  // namespace

void transform_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "transform", "Apply transformations to a tensor program, and print what comes out",
              kPlainExitCodes +
                  "examples:\n  chorale transform examples/adam.chorale\n"
                  "  chorale transform examples/sgd.chorale --apply 'split(sum, rs)'");
  auto options = values_of<TransformCommand>(sub, parsed);
  workload(sub, options->workload);
  script(sub, options->workload);
  file_to_write(sub, "-o,--output", options->output, "Write it there");
  limits(sub, options->limits, "");
}

// Options of the tuner are rows (api/tuning.h), and mean nothing without --tune.
void compile_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "compile", "Write a tensor program as C++ for a machine, with algorithms synthesized for it",
      "What is written runs over MPI, on threads of one process, with all ranks on one GPU,\n"
      "and with a GPU each over NCCL, by the target of 'make'; and is a library for PyTorch.\n"
      "Collectives are searched on the machine, and each operation takes the point of the frontier\n"
      "that is the fastest at its size.\n"
      "exit codes: 0 done, 1 done, but a schedule failed when it was measured, 2 bad input, 3 done with "
      "what\n"
      "a limit has left, 130 interrupted\n"
      "examples:\n  chorale compile examples/adam.chorale --machine ring:4 -o adam\n"
      "  chorale compile examples/sgd.chorale --machine ring:4 --tune --set N=64M");
  auto options = std::make_shared<CompileCommand>();
  workload(sub, options->workload);
  script(sub, options->workload);
  target(sub, options->target);
  choice<WorkloadCarrier>(sub, "--target", options->carrier, kWorkloadCarriers,
                          "Write what one of them needs, with a Makefile for it (all of them)");
  sub->add_flag("--tune", options->tunes,
                "Take the schedule that the tuner finds best ('chorale tune --help')");
  by_rows(sub, tune_rows(), options->tune);
  text(sub, "-o,--output", options->directory, "DIR", "Write it there (a directory of the workload's name)");
  limits(sub, options->limits, " of the search and take what was found");
  sub->final_callback([options, sub, &parsed] {
    // An option of the tuner without --tune would be ignored, so it is refused.
    for (const OptionRow<TuneQuestion>& row : tune_rows())
      only_for(sub, {Text(row.words.option)}, options->tunes, "--tune");
    // What is written for one of them is measured there, unless specified otherwise.
    if (sub->count("--transport") == 0 &&
        (options->carrier == WorkloadCarrier::Mpi || options->carrier == WorkloadCarrier::Cuda))
      options->tune.transport = options->carrier;
    parsed = *options;
  });
}

void tune_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "tune", "Explore the schedules of a tensor program, and rank them by the time that they take",
      "Times are those of a model: arithmetic, memory, launches, and the frontiers of the machine's "
      "collectives;\n"
      "docs/workloads.md, 'The tuner'.\n"
      "exit codes: 0 all schedules seen, 1 one failed when it was measured, 2 bad input, 3 some left out by "
      "a\n"
      "limit, 130 interrupted\n"
      "examples:\n  chorale tune examples/adam.chorale --machine ring:4 --set N=64M\n"
      "  chorale tune examples/mlp.chorale --machine ring:4 --html tuned.html");
  auto options = values_of<TuneCommand>(sub, parsed);
  workload(sub, options->workload);
  script(sub, options->workload);
  target(sub, options->target);
  by_rows(sub, tune_rows(), options->tune);
  integer(sub, "--top", options->top, 1, 1'000'000, "N", "Schedules to list (20)");
  file_to_write(sub, "--json", options->json, "Write all of them there");
  file_to_write(sub, "--html", options->html,
                "Write a page that shows the search: the tree of schedules, and why the best one wins");
  limits(sub, options->limits, " and rank what was seen");
}

}  // namespace chorale
