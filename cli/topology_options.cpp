// Machines: listed, shown, read from files of other tools, measured, and designed. `design` and `calibrate`
// are commands of their own, not below `topology`: they search and measure, where those read.
#include <memory>

#include "cli/option_kinds.h"

namespace chorale {
namespace {

void list_options(CLI::App* sub, Command& parsed) {
  CLI::App* const list = sub->add_subcommand("list", "The machines that are built in");
  list->final_callback([&parsed] { parsed = TopologyCommand(); });
}

void show_machine_options(CLI::App* sub, Command& parsed) {
  auto options = std::make_shared<TopologyCommand>();
  CLI::App* const show = command(*sub, "show", "One machine: its links, limits, degrees, diameter",
                                 kPlainExitCodes +
                                     "examples:\n  chorale topology show dgx1\n"
                                     "  chorale topology show torus:4x4 --dot | neato -Tsvg > torus.svg\n"
                                     "  chorale topology show dgx2 --json > mine.json\n"
                                     "  chorale topology show dgx1 --without-link 0-1 --html m.html\n"
                                     "  chorale topology show leaf-spine:2x2x1 --switches-reduce");
  argument(show, "machine", options->name, "NAME|FILE", "A machine ('chorale topology list') or a JSON file");
  machine_changes(show, options->changes);
  using Form = TopologyCommand::Form;
  CLI::Option* const dot = show->add_flag_callback(
      "--dot", [options] { options->form = Form::Dot; }, "As a Graphviz drawing");
  CLI::Option* const json = show->add_flag_callback(
      "--json", [options] { options->form = Form::Json; }, "In the format that is read back");
  json->excludes(dot);
  show->add_flag_callback(
          "--levels", [options] { options->form = Form::Levels; },
          "Its levels as JSON: the groups of each, and a group as a machine (docs/formats.md)")
      ->excludes(dot)
      ->excludes(json);
  file_to_write(show, "--html", options->html, "Write one self-contained page with a picture of it");
  limits(show, options->limits, "");
  show->final_callback([options, &parsed] {
    // --dot, --json and --levels print on standard output without naming it, so require_one_document does not
    // see them.
    if (options->html == "-" && options->form != Form::Text)
      throw InputError("--html", "standard output cannot hold two files", "give the page a name");
    parsed = *options;
  });
}

// The files that an import and a discovery write, and the options that both have (ir/machine_changes.h).
template <typename Options>
void imported_options(CLI::App* app, Options& options) {
  file_to_write(app, "-o,--output", options.output, "Write the machine there");
  file_to_write(app, "--json", options.json, "Write what was read, assumed and fitted there");
  by_rows(app, import_rows(), options.question);
}

void discover_options(CLI::App* sub, Command& parsed) {
  CLI::App* const discover =
      command(*sub, "discover", "The machine that this runs on",
              "Asks files that NCCL_TOPO_DUMP_FILE and NCCL_TOPO_FILE name or a cloud has put\n"
              "here, then 'nvidia-smi topo -m', then hwloc; the first with a GPU is taken.\n" +
                  kPlainExitCodes);
  auto options = values_of<DiscoverCommand>(discover, parsed);
  imported_options(discover, *options);
  limits(discover, options->limits, "");
}

void import_options(CLI::App* sub, Command& parsed) {
  CLI::App* const of_files =
      command(*sub, "import", "Read a machine from files of NCCL, nvidia-smi, hwloc and others",
              "Formats: NCCL's and RCCL's topology XML, 'nvidia-smi topo -m', hwloc's XML, JSON of\n"
              "msccl-tools, TACCL and TE-CCL, ASTRA-sim's networks. Several files are nodes.\n" +
                  kPlainExitCodes +
                  "examples:\n  chorale topology import examples/node.xml -o node.json\n"
                  "  chorale topology import examples/node.xml --nodes 4 -o four.json\n"
                  "  chorale topology import examples/node.xml --json report.json");
  auto options = values_of<ImportCommand>(of_files, parsed);
  argument(of_files, "files", options->files, "FILE...", "What describes the machine, or a node each");
  imported_options(of_files, *options);
  limits(of_files, options->limits, "");
}

// "0-1=osu.txt": the first "-" and "=" divide it, so a path may contain both.
LinkLog link_log(const Text& value) {
  const std::size_t dash = value.find('-'), equals = value.find('=');
  if (equals == Text::npos || dash > equals || equals + 1 == value.size())
    throw InputError("--log", "'" + value.substr(0, 60) + "' is not a log of two ranks",
                     "use A-B=FILE, such as 0-1=osu_latency.txt");
  return {.src = static_cast<Rank>(parse_integer("--log", value.substr(0, dash), 0, kMostRank)),
          .dst = static_cast<Rank>(
              parse_integer("--log", value.substr(dash + 1, equals - dash - 1), 0, kMostRank)),
          .file = value.substr(equals + 1)};
}

}  // namespace

void topology_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "topology", "List the machines, show one, or read one from other programs' files",
              kPlainExitCodes +
                  "examples:\n  chorale topology list\n  chorale topology show dgx1\n"
                  "  chorale topology import examples/node.xml -o node.json");
  sub->require_subcommand(1);
  list_options(sub, parsed);
  show_machine_options(sub, parsed);
  import_options(sub, parsed);
  discover_options(sub, parsed);
}

void design_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "design", "The best Cayley graph of some ports for a job, with a bound on the others",
              "Compares the connected Cayley graphs of one degree whose links go there and back, of all\n"
              "groups with as many elements as ranks (beyond 127 ranks: of abelian and dicyclic groups\n"
              "and of semidirect products of two cyclic groups), by what no schedule can beat; then\n"
              "schedules are searched on the best ones. Where a group has too many graphs, some are\n"
              "tried, and the output names them (docs/topologies.md).\n"
              "exit codes: 0 found, proven or not, 2 bad input, 3 out of time or memory,\n"
              "130 interrupted\n"
              "examples:\n"
              "  chorale design --ranks 16 --degree 4 --for alltoall,allreduce\n"
              "  chorale design --ranks 12 --degree 3 --for alltoall=2,gather --json -");
  auto options = values_of<DesignCommand>(sub, parsed);
  DesignQuestion& question = options->question;
  integer(sub, "--ranks", question.ranks, 2, kMostDesignRanks, "N", "Ranks (64)");
  integer(sub, "--degree", question.degree, 1, kMostDesignRanks, "D",
          "Links out of each rank, and as many in (4)");
  value(sub, "--for", "NAME[=W],...",
        "Collectives of the job, with how often each is done (alltoall,allreduce)",
        [options](const Text& t) { options->question.job = design_job(t); });
  size(sub, "--bytes", question.message_bytes, "Bytes of each message (large ones: rates alone count)");
  positive(sub, "--alpha", question.alpha_us, "US", "Microseconds that a step costs (0.7)");
  positive(sub, "--link-gbs", question.link_gbs, "GB", "GB/s of a link, in each direction (25)");
  duration(sub, "--search-time", question.search_time,
           "Search each collective on each wiring that is tried for at most T (12s)");
  file_to_write(sub, "-o,--output", options->output, "Write the machine there");
  file_to_write(sub, "--html", options->html, "Write one self-contained page with a picture of the machine");
  file_to_write(sub, "--json", options->json, "Write the ranking there");
  directory_to_write(sub, "--results", options->results,
                     "Write the schedules found there: a result per collective");
  limits(sub, options->limits, " and keep what was found");
  progress(sub, options->progress);
}

void calibrate_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "calibrate", "Measure what the links of a machine take, and write that into its description",
      "Under mpirun, a process per rank: messages between two ranks give the latency (alpha)\n"
      "and rate (beta) of each class of links; then all links at once, how much slower\n"
      "they are in use. Or what others measured is read: sendrecv_perf of nccl-tests,\n"
      "osu_latency and osu_bw. docs/topologies.md, 'Measured numbers'.\n" +
          kPlainExitCodes +
          "examples:\n"
          "  mpirun --oversubscribe -n 4 chorale calibrate ring:4 -o r.json\n"
          "  mpirun --oversubscribe -n 2 chorale calibrate full:2 --times 5 --json c.json");
  auto options = std::make_shared<CalibrateCommand>();
  argument(sub, "machine", options->machine, "NAME|FILE",
           "A machine ('chorale topology list') or a JSON file");
  machine_changes(sub, options->changes);
  file_to_write(sub, "-o,--output", options->output, "Write the machine there");
  file_to_write(sub, "--json", options->json, "Write what was measured there");
  sub->add_option_function<std::vector<Text>>(
         "--log",
         [options](const std::vector<Text>& values) {
           for (const Text& each : values) options->logs.push_back(link_log(each));
         },
         "Take the times of messages between ranks A and B from there, instead of measuring")
      ->option_text("A-B=FILE ...");
  size(sub, "--from", options->options.from, "The shorter of the messages that give the rate (64K)");
  size(sub, "--to", options->options.to, "The longer one (1M)");
  integer(sub, "--pairs", options->options.pairs, 1, 1'000'000, "N",
          "Pairs of ranks for each class of links, at the most (4)");
  integer(sub, "--times", options->options.times, 1, 1'000'000, "N",
          "How often each message is sent; medians count (21)");
  sub->add_flag_callback(
      "--alone", [options] { options->options.crowds = false; }, "Leave out all links at once");
  duration(sub, "--wait", options->options.timeout, "Give up when a rank waits longer than T (60)");
  progress(sub, options->progress);
  limits(sub, options->limits, "");
  sub->final_callback([options, sub, &parsed] {
    // Logs have their sizes and repetitions already.
    only_for(sub, {"--from", "--to", "--pairs", "--times", "--alone", "--wait"}, options->logs.empty(),
             "measuring, without --log");
    parsed = *options;
  });
}

}  // namespace chorale
