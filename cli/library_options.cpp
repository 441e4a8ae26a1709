// Libraries: built, listed, verified, chosen from. All actions share one struct, since they share most
// options; a member that an action does not read keeps its default.
#include <algorithm>
#include <array>

#include "cli/option_kinds.h"

namespace chorale {
namespace {

using Action = LibraryCommand::Action;

// What all actions but build and merge begin with.
std::shared_ptr<LibraryCommand> file_of(CLI::App* sub, Command& parsed, Action action) {
  auto options = values_of<LibraryCommand>(sub, parsed);
  options->action = action;
  argument(sub, "file", options->file, "FILE", "A library");
  return options;
}

// Which ranks of the machine, and which root. Ranks are kept as files have them: "0,8" becomes "0 8".
void place_options(CLI::App* sub, AnswerPlace& place) {
  text(sub, "--group", place.group, "GROUP",
       "Of which ranks: a level of the machine, pairs, or all; of export also several, as node,all (all)");
  value(sub, "--ranks", "N,N,...", "Of these ranks of the machine, which is built again",
        [&place](const Text& t) {
          place.members = t;
          std::ranges::replace(place.members, ',', ' ');
          if (place.members.find_first_not_of("0123456789 ") != Text::npos)
            throw InputError("--ranks", "'" + t.substr(0, 60) + "' is not a list of ranks",
                             "write 0,8,16,24");
        });
  integer(sub, "--root", place.root, 0, kMostRank, "N", "Of a collective that has one (0)");
}

// Specifications refuse "free" (library/spec.cpp), so it is no choice here.
void order_option(CLI::App* sub, std::optional<SumOrder::Kind>& order) {
  choice<std::optional<SumOrder::Kind>>(
      sub, "--order", order, {{"agreed", SumOrder::Kind::Agreed}, {"fixed", SumOrder::Kind::Fixed}},
      "Of sums: only algorithms that were searched so; fixed ones give the same bits for each size (either)");
}

void build_options(CLI::App* app, Command& parsed) {
  CLI::App* const sub = command(
      *app, "build", "Search for all that a file asks for, and keep the answers",
      "Each answer is kept when it is there: a build that was ended, however it was, goes on where it was.\n"
      "exit codes: 0 all answered, 3 some not, 130 interrupted, 2 bad input\n"
      "example:\n  chorale library build examples/library.json -o mine.db --jobs 2");
  auto options = std::make_shared<LibraryCommand>();
  options->action = Action::Build;
  argument(sub, "spec", options->spec, "SPEC", "What to search for (docs/formats.md)");
  text(sub, "-o,--output", options->file, "FILE", "The library, made if it is not there");
  integer(sub, "--failures", options->failures, 0, 1, "N",
          "1: also for each machine after the failure of any one link, NIC, switch port or rank (0)");
  integer(sub, "--jobs", options->jobs, 1, 256, "J", "Processes side by side, which share the memory (1)");
  limits(sub, options->limits, " and keep what was answered");
  progress(sub, options->progress);
  sub->final_callback([options, &parsed] {
    // -o is required, but CLI11's own error would not state a remedy.
    if (options->file.empty()) throw InputError("-o", "is missing", "name the library's file");
    parsed = *options;
  });
}

void merge_options(CLI::App* app, Command& parsed) {
  CLI::App* const sub = command(
      *app, "merge", "Merge libraries; two answers to a question become one, as good as both",
      "Better is what is complete, what no schedule of the other one beats, what more is proven of.\n" +
          kPlainExitCodes +
          "examples:\n  chorale frontier ring:4 allgather --library other.db\n"
          "  chorale library merge mine.db other.db -o all.db");
  auto options = std::make_shared<LibraryCommand>();
  options->action = Action::Merge;
  argument(sub, "files", options->files, "FILE...", "Libraries");
  text(sub, "-o,--output", options->output, "FILE", "Where to write all of it");
  limits(sub, options->limits, "");
  sub->final_callback([options, &parsed] {
    if (options->output.empty()) throw InputError("-o", "is missing", "name the file to write");
    parsed = *options;
  });
}

template <typename Target>
void carrier(CLI::App* app, Target& over, const Text& help) {
  choice<Target>(app, "--over", over, {{"mpi", MeasuredOver::Mpi}, {"nccl", MeasuredOver::Nccl}}, help);
}

// Files of programs that choose among algorithms of their own (python/chorale/tuning_files.py).
constexpr std::array kRuleFiles = {"nccl-tuner", "nccl-tuner-plugin", "ncclx-csv", "ompi-rules",
                                   "ompi-json",  "mpich-json",        "ucc-tune"};

// Sizes are dense here, since a plan is written for each range in which one point is the fastest: the borders
// are as exact as the sizes.
void export_options(CLI::App* app, Command& parsed) {
  CLI::App* const sub = command(
      *app, "export", "Write what is in a library for other programs",
      "mscclpp, msccl-xml: plans, each for the sizes of messages at which it is the fastest.\n"
      "nccl-tuner, nccl-tuner-plugin, ncclx-csv: ring or tree of NCCL, as rows for its example of a\n"
      "tuner plugin, as such a plugin in C, as rows for NCCLX.\n"
      "ompi-rules, ompi-json, mpich-json, ucc-tune: which of its own algorithms Open MPI (4.1 to 6; 6),\n"
      "MPICH or UCC takes at each size, by 'library measure --own all' or else by predictions.\n"
      "preload: results for CHORALE_ALGORITHMS.\n"
      "times, pipelined-times: what all that and baselines should take, and what was measured.\n"
      "mpi, nccl: of each collective one program, which chooses by size and by what has failed.\n" +
          kPlainExitCodes +
          "examples:\n  chorale library export mine.db dgx-a100:2 allgather --as mscclpp -o plans\n"
          "  chorale library export ready.db torus:2x4 allgather --as mpi -o programs\n"
          "  chorale library export four.db ring:4 allreduce allgather --as ompi-rules -o rules");
  auto options = file_of(sub, parsed, Action::Export);
  argument(sub, "machine", options->place.machine, "MACHINE", "As it was named when the library was built");
  argument(sub, "collectives", options->collectives, "COLLECTIVE...", "Of " + joined(collective_names()));
  std::vector<Text> known;
  for (const Named<ExportForm>& each : export_forms()) known.emplace_back(each.name);
  known.insert(known.end(), kRuleFiles.begin(), kRuleFiles.end());
  one_of(sub, "--as", known, "The program that reads it (mscclpp)", [options, known](std::size_t i) {
    if (i < export_forms().size())
      options->form = export_forms()[i].value;
    else
      options->rules = known[i];
  });
  directory_to_write(sub, "-o,--output", options->output, "Where to write; made if it is not there");
  place_options(sub, options->place);
  order_option(sub, options->order);
  options->bytes = {};
  for (std::int64_t size = 1 << 10; size <= 1 << 30; size *= 2) options->bytes.push_back(size);
  rising_sizes(sub, options->bytes, "Message sizes to compare at (1K:1G:2)");
  limits(sub, options->limits, "");
  sub->final_callback([options, &parsed] {
    if (options->output.empty()) throw InputError("-o", "is missing", "name the directory to write to");
    parsed = *options;
  });
}

}  // namespace

void library_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "library", "Answers for many machines, groups and collectives, in one file",
              kPlainExitCodes +
                  "examples:\n  chorale library build examples/library.json -o mine.db\n"
                  "  chorale library show mine.db");
  sub->require_subcommand(1);
  build_options(sub, parsed);
  merge_options(sub, parsed);
  export_options(sub, parsed);

  CLI::App* const show =
      command(*sub, "show", "List what is in a library",
              kPlainExitCodes + "example:\n  chorale library show mine.db --html mine.html");
  auto shown = file_of(show, parsed, Action::Show);
  file_to_write(
      show, "--html", shown->html,
      "Write a page: what is chosen at each size, how far it is from its bound, where measurements disagree");
  limits(show, shown->limits, "");

  CLI::App* const failures =
      command(*sub, "failures", "What is left of the rate after each failure that a library was built for",
              kPlainExitCodes +
                  "examples:\n  chorale library build examples/failures.json --failures 1 -o ready.db\n"
                  "  chorale library failures ready.db");
  auto listed = file_of(failures, parsed, Action::Failures);
  file_to_write(failures, "--json", listed->json, "Write the table there");
  limits(failures, listed->limits, "");

  CLI::App* const verify =
      command(*sub, "verify", "Check every answer again, trusting nothing in the file",
              "exit codes: 0 all accepted, 2 a fault or bad input, 3 undecided within the limits, "
              "130 interrupted\nexample:\n  chorale library verify mine.db");
  auto verified = file_of(verify, parsed, Action::Verify);
  conflicts(verify, verified->conflicts);
  limits(verify, verified->limits, " and report what was checked");
  progress(verify, verified->progress);

  CLI::App* const select = command(
      *sub, "select", "The fastest algorithm of a library for a call",
      kPlainExitCodes +
          "example:\n  chorale library select mine.db dgx-a100:2 allgather --group node --sizes 1K:1G:1024");
  auto selected = file_of(select, parsed, Action::Select);
  argument(select, "machine", selected->place.machine, "MACHINE",
           "As it was named when the library was built");
  argument(select, "collective", selected->place.collective, "COLLECTIVE",
           "One of " + joined(collective_names()));
  place_options(select, selected->place);
  order_option(select, selected->order);
  sizes(select, selected->bytes, "For messages of these sizes: 64K, 1K,3000, or from:to:factor (1M)");
  carrier(select, selected->over, "Which measured times decide, if there are both");
  file_to_write(select, "--json", selected->json,
                "Write the result of the first size's algorithm there, for emit, run and show");
  limits(select, selected->limits, "");

  CLI::App* const measure = command(
      *sub, "measure", "Time the algorithms of a library beside MPI's or NCCL's own, and keep the times",
      "Under mpirun, rank n for rank n of the machine; groups of one level at once, as programs use them.\n"
      "What was measured decides in 'select' and in preloaded programs.\n" +
          kPlainExitCodes +
          "example:\n  mpirun --oversubscribe -n 4 chorale library measure four.db ring:4 --sizes 1K,64K");
  auto measured = file_of(measure, parsed, Action::Measure);
  MeasureOptions& measuring = measured->measuring;
  argument(measure, "machine", measured->place.machine, "MACHINE",
           "As it was named when the library was built");
  sizes(measure, measuring.bytes,
        "Messages of these sizes: 64K, 1K,3000, or from:to:factor (64,1K,16K,256K,1M)");
  carrier(measure, measuring.over,
          "What carries the messages; with nccl each process has a GPU of its host, round-robin (mpi)");
  choice<bool>(measure, "--own", measuring.all_own, {{"chosen", false}, {"all", true}},
               "Of MPI's own: as it chooses, or also each algorithm that its settings can force (chosen)");
  integer(measure, "--rounds", measuring.rounds, 1, 10'000, "N",
          "Repetitions; each measures all, round-robin (5)");
  integer(measure, "--times", measuring.times, 1, 100'000, "N", "Each, in a round (10)");
  duration(measure, "--wait", measuring.timeout, "Give up when a rank waits longer than T (60)");
  limits(measure, measured->limits, " and keep what was measured");
  progress(measure, measured->progress);
  measure->final_callback([measured, &parsed] {
    if (measured->measuring.all_own && measured->measuring.over == MeasuredOver::Nccl)
      throw InputError("--own", "NCCL's algorithms cannot be forced one by one", "measure --over mpi");
    parsed = *measured;
  });
}

}  // namespace chorale
