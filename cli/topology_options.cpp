// Machines: listed, shown, read from files of others, and measured.
#include <fmt/format.h>

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
  show->add_option("machine", options->name, "A machine ('chorale topology list') or a JSON file")
      ->required()
      ->option_text("NAME|FILE");
  machine_changes(show, options->changes);
  using Form = TopologyCommand::Form;
  CLI::Option* const dot = show->add_flag_callback(
      "--dot", [options] { options->form = Form::Dot; }, "As a Graphviz drawing");
  show->add_flag_callback(
          "--json", [options] { options->form = Form::Json; }, "In the format that is read back")
      ->excludes(dot);
  text(show, "--html", options->html, "FILE",
       "Write one self-contained page with a picture of it; - is standard output");
  limits(show, options->limits, "");
  show->final_callback([options, &parsed] {
    if (options->html == "-" && options->form != Form::Text)
      throw InputError("--html", "standard output cannot hold two files", "give the page a name");
    parsed = *options;
  });
}

double number_between(const Text& name, const Text& text, double least, double most) {
  const double number = parse_positive(name, text);
  if (number < least || number > most)
    throw InputError(name, "'" + text.substr(0, 60) + "' is out of range",
                     fmt::format("use {} to {}", least, most));
  return number;
}

}  // namespace

void choices_options(CLI::App* app, ImportQuestion& choices) {
  integer(app, "--nodes", choices.nodes, 1, 4096, "N",
          "Of one file that describes a node: so many of them, joined by their NICs (1)");
  app->add_option_function<Text>(
         "--error", [&](const Text& t) { choices.error = number_between("--error", t, 1e-9, 0.5); },
         "How far a rate may be off as whole chunks a round (0.05)")
      ->option_text("PART");
  app->add_flag("--network-within-nodes", choices.network_within_nodes,
                "Paths through the network between GPUs of one node, too, beside NVLink or xGMI");
  text(app, "--instance", choices.instance, "TYPE",
       "Type of a cloud machine whose file shows PCI only, such as azure-ndv4 (by the file)");
  app->add_option_function<Text>(
         "--nic-gbits",
         [&](const Text& t) { choices.nic_gbits = number_between("--nic-gbits", t, 1e-3, 1e6); },
         "Gb/s of NICs whose speed the file does not say (by their kind)")
      ->option_text("G");
}

namespace {

// What becomes of it.
template <typename Options>
void imported_options(CLI::App* app, Options& options) {
  text(app, "-o,--output", options.output, "FILE", "Write the machine there; - is standard output");
  text(app, "--json", options.json, "FILE",
       "Write what was read, assumed and fitted there; - is standard output");
  choices_options(app, options.question);
}

void discover_options(CLI::App* sub, Command& parsed) {
  auto options = std::make_shared<DiscoverCommand>();
  CLI::App* const discover =
      command(*sub, "discover", "The machine that this runs on",
              "Asks files that NCCL_TOPO_DUMP_FILE and NCCL_TOPO_FILE name or a cloud has put\n"
              "here, then 'nvidia-smi topo -m', then hwloc; the first with a GPU is taken.\n" +
                  kPlainExitCodes);
  imported_options(discover, *options);
  limits(discover, options->limits, "");
  discover->final_callback([options, &parsed] { parsed = *options; });
}

void import_options(CLI::App* sub, Command& parsed) {
  auto options = std::make_shared<ImportCommand>();
  CLI::App* const of_files =
      command(*sub, "import", "Read a machine from files of NCCL, nvidia-smi, hwloc and others",
              "Formats: NCCL's and RCCL's topology XML, 'nvidia-smi topo -m', hwloc's XML, JSON of\n"
              "msccl-tools, TACCL and TE-CCL, ASTRA-sim's networks. Several files are nodes.\n" +
                  kPlainExitCodes +
                  "examples:\n  chorale topology import examples/node.xml -o node.json\n"
                  "  chorale topology import examples/node.xml --nodes 4 -o four.json\n"
                  "  chorale topology import examples/node.xml --json report.json");
  of_files->add_option("files", options->files, "What describes the machine, or a node each")
      ->required()
      ->option_text("FILE...");
  imported_options(of_files, *options);
  limits(of_files, options->limits, "");
  of_files->final_callback([options, &parsed] { parsed = *options; });
}

// "0-1=osu.txt"
LinkLog link_log(const Text& value) {
  const std::size_t dash = value.find('-'), equals = value.find('=');
  if (equals == Text::npos || dash > equals || equals + 1 == value.size())
    throw InputError("--log", "'" + value.substr(0, 60) + "' is no log of two ranks",
                     "use A-B=FILE, such as 0-1=osu_latency.txt");
  return {.src = static_cast<Rank>(parse_integer("--log", value.substr(0, dash), 0, kMostRank)),
          .dst = static_cast<Rank>(
              parse_integer("--log", value.substr(dash + 1, equals - dash - 1), 0, kMostRank)),
          .file = value.substr(equals + 1)};
}

void calibrate_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "calibrate", "Measure what the links of a machine take, and write that into its description",
      "Under mpirun, a process a rank: messages between two ranks tell the latency (alpha)\n"
      "and rate (beta) of each class of links; then all links at once, how much slower they\n"
      "are in use. Or what others measured is read: sendrecv_perf of nccl-tests,\n"
      "osu_latency and osu_bw. docs/topologies.md, 'Measured numbers'.\n" +
          kPlainExitCodes +
          "examples:\n"
          "  mpirun --oversubscribe -n 4 chorale calibrate ring:4 -o r.json\n"
          "  mpirun --oversubscribe -n 2 chorale calibrate full:2 --times 5 --json c.json");
  auto options = std::make_shared<CalibrateCommand>();
  sub->add_option("machine", options->machine, "A machine ('chorale topology list') or a JSON file")
      ->required()
      ->option_text("NAME|FILE");
  machine_changes(sub, options->changes);
  text(sub, "-o,--output", options->output, "FILE", "Write the machine there; - is standard output");
  text(sub, "--json", options->json, "FILE", "Write what was measured there; - is standard output");
  sub->add_option_function<std::vector<Text>>(
         "--log",
         [options](const std::vector<Text>& values) {
           for (const Text& each : values) options->logs.push_back(link_log(each));
         },
         "Take the times of messages between ranks A and B from there, instead of measuring")
      ->option_text("A-B=FILE ...");
  size(sub, "--from", options->options.from, "The shorter of the messages that tell the rate (64K)");
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
    only_for(sub, {"--from", "--to", "--pairs", "--times", "--alone", "--wait"}, options->logs.empty(),
             "measuring, without --log");
    parsed = *options;
  });
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
  calibrate_options(app, parsed);
}

}  // namespace chorale
