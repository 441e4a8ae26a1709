// The one command that shows a machine with its switches: load_topology() keeps them, machine() of the API
// replaces them by routes. For such a machine a sentence names which routes other commands would take, if not
// all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/report.h"
#include "cli/option_kinds.h"
#include "cli/python_command.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/json_reader.h"
#include "jobs/library.h"
#include "jobs/lint.h"
#include "topology/import/import.h"
#include "topology/machines.h"
#include "topology/switches.h"
#include "topology/text.h"

namespace chorale {

struct TopologyCommand {
  enum class Form { Text, Dot, Json, Levels };
  std::string name = {};
  MachineChanges changes = {};
  Form form = Form::Text;
  std::string html = {};  // where to draw it, if anywhere
};

struct ImportCommand {
  std::vector<std::string> files = {};
  ImportOptions question = {};
  std::string output = {};  // where to write the machine, if anywhere; "-": to standard output
  std::string json = {};    // and what was read, assumed and fitted
};

struct DiscoverCommand {
  ImportOptions question = {};
  std::string output = {}, json = {};  // as of an import
};

struct LintCommand {
  std::vector<std::string> files = {};
  ImportOptions question = {};
  std::string json = {}, html = {};
};

// The machine that this runs on, by files that the environment names and what api/machines.h finds by itself.

namespace {

constexpr const char* kVirtualTopology =
    "/var/run/nvidia-topologyd/virtualTopology.xml";  // of a cloud's machine

// Files that NCCL reads or writes here.
std::vector<std::string> nccl_files() {
  std::vector<std::string> paths;
  // In this order: what NCCL has written of this machine, what it is given to read, and what a daemon puts
  // into virtual machines of clouds.
  for (const char* variable : {"NCCL_TOPO_DUMP_FILE", "NCCL_TOPO_FILE"})
    if (const char* const path = std::getenv(variable); path != nullptr && *path != '\0')
      paths.emplace_back(path);
  paths.emplace_back(kVirtualTopology);
  std::error_code error;
  std::erase_if(paths,
                [&](const std::string& path) { return !std::filesystem::is_regular_file(path, error); });
  return paths;
}

}  // namespace

Outcome perform(const DiscoverCommand& command, Supervisor&) {
  // `lacked` has the sources before the one that was taken, and why each was not.
  const DiscoveredMachine found = discover_machine(nccl_files(), command.question);
  Outcome outcome{.text = found.machine.report};
  if (!found.lacked.empty()) outcome.text += "tried before: " + found.lacked + "\n";
  if (!command.output.empty()) deliver(command.output, to_json(found.machine.machine), outcome);
  if (!command.json.empty()) deliver(command.json, found.machine.json, outcome);
  return outcome;
}

namespace {

// Files are read here and handed over with their names, which errors cite.
std::vector<NamedText> read_all(const std::vector<std::string>& paths) {
  std::vector<NamedText> files;
  for (const std::string& path : paths) files.push_back({path, read_file(path)});
  return files;
}

}  // namespace

Outcome perform(const LintCommand& command, Supervisor&) {
  const std::vector<NamedText> files = read_all(command.files);
  const std::vector<OddRecord> odd = lint(files, command.question);
  const Report report = report_of(odd, files);
  Outcome outcome = reported(report, command.html);
  if (!command.json.empty()) deliver(command.json, to_json(odd, report), outcome);
  outcome.exit_code = odd.empty() ? kFound : kWrongData;
  return outcome;
}

// What other synthesizers and
// simulators describe is converted by the Python package first (python/chorale/import_research.py).
Outcome perform(const ImportCommand& command, Supervisor& supervisor) {
  std::vector<NamedText> files = read_all(command.files);
  if (files.size() == 1 && is_of_research(files.front())) {
    const std::string& path = files.front().path;
    const Outcome converted =
        done_in_python(path, "import_research",
                       json_object("file", path, "nodes", command.question.nodes).text, &supervisor);
    if (converted.document.empty()) return converted;
    files.front().text = converted.document;
  }
  const ImportedMachine import = import_machine(files, command.question);
  // The report states what was read, assumed and fitted; its JSON is a file of its own beside the machine.
  Outcome outcome{.text = import.report};
  if (!command.output.empty()) deliver(command.output, to_json(import.machine), outcome);
  if (!command.json.empty()) deliver(command.json, import.json, outcome);
  return outcome;
}

namespace {

// Which of a machine's routes the search uses where there are too many for all (topology/switches.h). Fewer
// routes may cost schedules, and never make a bound wrong: bounds are over all of them.
std::string routes_in_words(const Topology& topology) {
  if (topology.switches == 0) return "";
  const ChosenRoutes taken = routes_of(topology);
  const auto chosen = [&](const std::string& which) {
    return fmt::format("routes through its switches: {} of too many, {}; bounds are over all routes",
                       taken.routes.size(), which);
  };
  switch (taken.choice) {
    case RouteChoice::All:
      return "";
    case RouteChoice::None:
      return "routes through its switches: too many to be chosen from; commands that need them refuse it";
    case RouteChoice::Shortest:
      return chosen("the shortest between each two ranks");
    case RouteChoice::OneEach:
      return chosen("one between each two ranks");
    case RouteChoice::OneHop:
      return chosen("one between two ranks below one switch, or with the same position below theirs");
    case RouteChoice::OneDigit:
      return chosen("one between two ranks whose positions differ on one tier of switches");
    case RouteChoice::PowersOfTwo:
      return chosen("one between two ranks whose positions on one tier are a power of two apart");
  }
  return "";
}

Report report_of(const Topology& topology, const Levels& levels) {
  Report report = report_of(topology);
  if (std::string routes = routes_in_words(topology); !routes.empty())
    report.sentences.push_back(std::move(routes));
  if (!levels.hierarchy) {
    report.sentences.push_back("no levels: it " + levels.why_none);
    return report;
  }
  if (levels.by_cuts)
    report.sentences.emplace_back("its levels are by the cuts between equal units, a summary of its links");
  report.tables.push_back(report_of(*levels.hierarchy).tables.front());
  report.tables.back().title = "Levels, from the outermost in; rates in GB/s, latencies in us";
  return report;
}

// {"levels": [{"level": "all", "groups": [[ranks]], "machines": {"16": machine}}, ...]}: all ranks, then each
// level by its name; of each number of ranks that its groups have the first group as a machine of its own.
std::string levels_as_json(const std::string& spec_or_file, const MachineChanges& changes) {
  const Topology whole = machine(spec_or_file, changes);
  RankGroup all(whole.ranks);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::pair<std::string, std::vector<RankGroup>>> levels = {{"all", {all}}};
  if (const std::optional<Nesting> nested = nesting_if_any(spec_or_file, changes))
    for (int level = 0; level < std::ssize(nested->names); ++level)
      levels.emplace_back(nested->names[level], groups_at(*nested, {level}));
  std::vector<JsonText> texts;
  for (const auto& [name, groups] : levels) {
    std::map<std::size_t, std::string> machines;
    for (const RankGroup& group : groups)
      if (std::string& one = machines[group.size()]; one.empty())
        one = fmt::format("\"{}\":{}", group.size(), to_json(group_of(whole, name, group)));
    const JsonText first{fmt::format("{{{}}}", fmt::join(machines | std::views::values, ","))};
    texts.push_back(json_object("level", name, "groups", groups, "machines", first));
  }
  return json_file("levels", texts);
}

}  // namespace

// Text, DOT and JSON have the machine as described, with its switches; the page has the routes between ranks
// (to_page flattens), as all other output does.
Outcome perform(const TopologyCommand& command, Supervisor& supervisor) {
  const Topology topology = load_topology(command.name, command.changes);
  const Levels levels = load_levels(command.name, command.changes);
  const Report report = report_of(topology, levels);
  Outcome outcome;
  if (!command.html.empty()) deliver(command.html, to_page(topology, report, supervisor.stop()), outcome);
  switch (command.form) {
    case TopologyCommand::Form::Dot:
      outcome.document = to_dot(topology, levels.hierarchy ? &*levels.hierarchy : nullptr);
      break;
    case TopologyCommand::Form::Json:
      outcome.document = to_json(topology);
      break;
    case TopologyCommand::Form::Levels:
      outcome.document = levels_as_json(command.name, command.changes);
      break;
    case TopologyCommand::Form::Text:
      outcome.text = text_of(report);
      break;
  }
  return outcome;
}

namespace {

void list_options(CLI::App* sub, Invocation& parsed) {
  prints(sub->add_subcommand("list", "The machines that are built in"), parsed,
         [] { return report_of(known_machines()); });
  prints(sub->add_subcommand("facts", "What links, GPUs, NICs and switches carry and cost, with the sources"),
         parsed, report_of_facts);
}

void show_machine_options(CLI::App* sub, Invocation& parsed) {
  auto options = std::make_shared<TopologyCommand>();
  CLI::App* const show = command(*sub, "show", "One machine: its links, limits, degrees, diameter",
                                 kPlainExitCodes +
                                     "examples:\n  chorale topology show dgx1\n"
                                     "  chorale topology show torus:4x4 --dot | neato -Tsvg > torus.svg\n"
                                     "  chorale topology show dgx2 --json > mine.json\n"
                                     "  chorale topology show dgx1 --without-link 0-1 --html m.html\n"
                                     "  chorale topology show leaf-spine:2x2x1 --switches-reduce");
  argument(show, "machine", options->name, "NAME|FILE", "A machine ('chorale topology list') or a JSON file");
  machine_changes(show, parsed, {&options->name}, options->changes);
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
  limits(show, parsed.limits, "");
  show->final_callback([options, &parsed] {
    // --dot, --json and --levels print on standard output without naming it, so require_one_document does not
    // see them.
    if (options->html == "-" && options->form != Form::Text)
      throw InputError("--html", "standard output cannot hold two files", "give the page a name");
    accept(parsed, options);
  });
}

// The files that an import and a discovery write, and the options that both have (ir/machine_changes.h).
template <typename Options>
void imported_options(CLI::App* app, Options& options) {
  file_to_write(app, "-o,--output", options.output, "Write the machine there");
  file_to_write(app, "--json", options.json, "Write what was read, assumed and fitted there");
  by_rows(app, import_rows(), options.question);
}

void discover_options(CLI::App* sub, Invocation& parsed) {
  CLI::App* const discover =
      command(*sub, "discover", "The machine that this runs on",
              "Asks files that NCCL_TOPO_DUMP_FILE and NCCL_TOPO_FILE name or a cloud has put\n"
              "here, then 'nvidia-smi topo -m', then hwloc; the first with a GPU is taken.\n" +
                  kPlainExitCodes);
  auto options = values_of<DiscoverCommand>(discover, parsed);
  imported_options(discover, *options);
  limits(discover, parsed.limits, "");
}

void import_options(CLI::App* sub, Invocation& parsed) {
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
  limits(of_files, parsed.limits, "");
}

void lint_options(CLI::App* sub, Invocation& parsed) {
  CLI::App* const app =
      command(*sub, "lint", "Which records of a node's description are odd, and what each costs",
              "Compares GPUs, cables, PCI links and NICs with their like. A cost is the bound\n"
              "of a collective were the record as the others, and as it is.\n"
              "exit codes: 0 nothing is odd, 1 a record is odd, 2 bad input, 3 out of time or\n"
              "memory, 130 interrupted\n"
              "example:\n  chorale topology lint examples/node.xml");
  auto options = values_of<LintCommand>(app, parsed);
  argument(app, "files", options->files, "FILE...", "What describes a node each");
  file_to_write(app, "--json", options->json, "Write the odd records, and the report of them, there");
  file_to_write(app, "--html", options->html, kReportPage);
  by_rows(app, import_rows(), options->question);
  limits(app, parsed.limits, "");
}

}  // namespace

void topology_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "topology", "List the machines, show one, or read one from other programs' files",
              kPlainExitCodes +
                  "examples:\n  chorale topology list\n  chorale topology show dgx1\n"
                  "  chorale topology import examples/node.xml -o node.json");
  sub->require_subcommand(1);
  list_options(sub, parsed);
  show_machine_options(sub, parsed);
  import_options(sub, parsed);
  lint_options(sub, parsed);
  discover_options(sub, parsed);
}

}  // namespace chorale
