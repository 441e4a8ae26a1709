// What is made without a search: baselines, compositions, models of libraries, bounds, plans by counts.
#include <fmt/format.h>

#include "api/alltoallv.h"
#include "api/compose.h"
#include "api/inputs.h"
#include "api/library_model.h"
#include "api/search.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/row_named.h"
#include "ir/words.h"
#include "topology/hardware/facts.h"
#include "topology/switches.h"

namespace chorale {

// A baseline is a result of one point, with the bounds of what it does, so that 'check', 'show' and 'run'
// take it as they take a search's. Its schedule is there before its bounds are, and is what a limit prints.

struct ClassicCommand {
  ClassicQuestion question = {};  // of the name "list": the catalogue
  std::string topology = {};
  MachineChanges changes = {};
  std::string json = {};
};
namespace {

Report known_algorithms() {
  ReportTable table{.rows = {{"name", "collective", "description"}}, .kinds = "lll"};
  for (const ClassicEntry& entry : known_classics())
    table.rows.push_back({name_of(entry.method), name_of(entry.collective), entry.description});
  return {.title = "baselines", .tables = {std::move(table)}};
}

// The schedule is printed step by step unless a file has it. `code`: the exit code, which a limit decides.
Outcome outcome_of(const ClassicCommand& command, const Result& result, const Supervisor& supervisor,
                   int code) {
  Listed listed{.points = {0}, .best = best_sizes(result, {}, supervisor.stop())};
  if (command.json.empty()) listed.schedules = {0};
  Outcome outcome = reported(report_of(result, listed));
  outcome.exit_code = code;
  if (!command.json.empty()) deliver(command.json, to_json(result), outcome);
  return outcome;
}

}  // namespace

Outcome perform(const ClassicCommand& command, Supervisor& supervisor) {
  if (command.question.name == "list") return reported(known_algorithms());
  const Topology topology = machine(command.topology, command.changes);
  // Called once, when the schedule is made, with a result that has no claims.
  ClassicQuestion question = command.question;
  question.found = [&](const Result& unbounded) {
    supervisor.publish([&, unbounded](Stopped stopped) {
      return outcome_of(command, unbounded, supervisor, exit_code_of(stopped));
    });
  };
  const Result result = classic(topology, question);
  supervisor.take_floor();
  return outcome_of(command, result, supervisor, kFound);
}

// The topology is optional for CLI11, since `classic list` has none; the callback requires it otherwise.
void classic_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "classic", "A baseline (ring, tree, ...) as a result, for comparison",
      kPlainExitCodes +
          "examples:\n  chorale classic list\n  chorale classic ring_allreduce dgx1 --json ring.json");
  auto options = std::make_shared<ClassicCommand>();
  argument(sub, "name", options->question.name, "NAME|list", "An algorithm, or 'list'");
  text(sub, "topology", options->topology, "TOPOLOGY", "A machine ('chorale topology list') or a JSON file");
  integer(sub, "--chunks", options->question.chunks, 1, kMostChunks, "C",
          "Pieces of a block (the fewest that use all links which the algorithm uses at once)");
  machine_changes(sub, parsed, {&options->topology}, options->changes);
  root(sub, "--root", options->question.root);
  result_file(sub, options->json);
  limits(sub, parsed.limits, "");
  sub->final_callback([options, &parsed] {
    if (options->question.name == "list" && !options->topology.empty())
      throw InputError("classic list", "takes no machine", "leave '" + options->topology + "' out");
    if (options->question.name != "list" && options->topology.empty())
      throw InputError("classic " + options->question.name.substr(0, 60), "no machine is given",
                       "use 'chorale classic NAME TOPOLOGY'");
    accept(parsed, options);
  });
}

// Points are listed with the outline that made each: "0: allgather node, allgather gpu". The search publishes
// what it has composed so far, so a limit loses no point.

struct ComposeCommand {
  QuestionSettings question = {};
  std::string outline = {};     // "allgather node, allgather gpu"; empty: all that are known
  ComposeOptions options = {};  // without the outline
  std::string json = {};
};
namespace {

// Only points on the frontier are listed; the file has all.
Outcome outcome_of(const ComposeCommand& command, const Composition& composition,
                   const Supervisor& supervisor) {
  const Result& result = composition.result;
  const std::vector<int> listed = chosen_points("", result, {}, false);
  Report report = report_of(result, {.points = listed, .best = best_sizes(result, {}, supervisor.stop())});
  // By the numbers of the table, which those of the file are.
  for (int i : listed) report.sentences.push_back(fmt::format("{}: {}", i, composition.outlines[i]));
  Outcome outcome = reported(report);
  outcome.exit_code = exit_code_of(supervisor.stopped());
  if (!command.json.empty()) deliver(command.json, to_json(result), outcome);
  return outcome;
}

}  // namespace

Outcome perform(const ComposeCommand& command, Supervisor& supervisor) {
  const Topology topology = machine(command.question.machine, command.question.changes);
  const Collective collective = chorale::collective(command.question.collective, topology, command.question);
  // Without an outline all known ones are tried, so the first point may come long before the last.
  ComposeOptions options = command.options;
  options.stop = supervisor.stop();
  options.found = [&](const Composition& so_far) {
    supervisor.publish([&, so_far](Stopped) { return outcome_of(command, so_far, supervisor); });
    supervisor.progress().show(
        fmt::format("{}; composing", counted(std::ssize(so_far.result.points), "point")));
  };
  if (!command.outline.empty())
    options.outline = read_outline(command.outline, command.question.machine, command.question.changes);
  const Composition composition = compose(topology, collective, options);
  supervisor.take_floor();
  // No division fits, which more time would not change; or a limit came before the first one, which it would.
  if (composition.result.points.empty() && supervisor.stopped() == Stopped::No)
    throw InputError("compose " + command.question.machine,
                     "no division of the machine into equal groups makes this " + name_of(collective),
                     "use 'chorale frontier', or give stages with --outline");
  if (composition.result.points.empty())  // a result of no schedule is none
    return {.exit_code = exit_code_of(supervisor.stopped()),
            .errors = {InputError("compose " + command.question.machine,
                                  "nothing was composed (" + name_of(supervisor.stopped()) + ")",
                                  "raise --time-limit")
                           .what()}};
  return outcome_of(command, composition, supervisor);
}

void compose_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "compose", "Compose schedules of groups to schedules of the machine (hierarchical composition)",
      "An outline lists, stage by stage, what groups do side by side; stages overlap where they can. Levels\n"
      "are those of 'chorale topology show', or rank and node; LEVEL=FILE takes the schedules of a result.\n"
      "Without one all known outlines are tried. 'chorale frontier' begins with these, too.\n" +
          kPlainExitCodes +
          "examples:\n  chorale compose dgx-a100:2 allgather --max-chunks 2\n"
          "  chorale compose a100:2 allgather --outline \"allgather node, allgather gpu\"");
  auto options = std::make_shared<ComposeCommand>();
  machine_and_collective(sub, parsed, options->question);
  text(sub, "--outline", options->outline, "STAGES",
       "Stages COLLECTIVE LEVEL[+LEVEL][=FILE], with commas between, or a ranking that 'place --json' wrote "
       "(all known outlines)");
  // The rows of a frontier, set in another struct: a composition has its own default, one chunk count.
  OptionWords most = row_of(frontier_rows(), "max_chunks").words;
  most.by_default = "1, or --min-chunks";
  const OptionRow<FrontierOptions>& least = row_of(frontier_rows(), "min_chunks");
  by_row(sub, most, help_of(most, 1),
         {.set = [options](std::int64_t c) { options->options.max_chunks = static_cast<int>(c); }});
  by_row(sub, least.words, help_of(least),
         {.set = [options](std::int64_t c) { options->options.min_chunks = static_cast<int>(c); }});
  result_file(sub, options->json);
  limits(sub, parsed.limits, " and keep what was found");
  progress(sub, parsed.progress);
  sub->final_callback([options, sub, &parsed] {
    // Not given, the most is the least: one chunk count, by default one chunk.
    if (sub->count("--max-chunks") == 0)
      options->options.max_chunks = std::max(1, options->options.min_chunks);
    require_consistent({.min_chunks = options->options.min_chunks, .max_chunks = options->options.max_chunks},
                       flag_of);
    accept(parsed, options);
  });
}

// What a library takes on a machine, by size. A machine is named, or is a GPU with the facts of its node:
// tables of measurements state no more than these.

struct BaselineCommand {
  std::string machine = {};  // or a GPU, which `facts` are of
  std::string collective = {};
  LibraryMachine facts = {};
  std::vector<std::int64_t> sizes = {};
  std::string json = {}, html = {};
};
namespace {

// A name of a GPU takes the facts that are given; a machine has its own.
LibraryMachine machine_asked(const BaselineCommand& command) {
  LibraryMachine facts = command.facts;
  for (const GpuFacts& gpu : gpu_table())
    if (command.machine == gpu.name) {
      facts.gpu = gpu.name;
      return facts;
    }
  if (facts != LibraryMachine())
    throw InputError("'" + command.machine.substr(0, 60) + "'", "is not a GPU of the table of facts",
                     "leave the facts of a node out, or name a GPU such as H100");
  const Topology topology = flatten(machine(command.machine, {}));
  const std::optional<LibraryMachine> known = library_machine(topology);
  if (!known)
    throw InputError("machine '" + topology.name + "'", "does not name its GPU, or its nodes differ",
                     "give a GPU, and --gpus, --nodes and the others");
  return *known;
}

}  // namespace

Outcome perform(const BaselineCommand& command, Supervisor&) {
  const LibraryMachine asked = machine_asked(command);
  const LibraryCall call = row_named(library_calls(), "collective", command.collective, "name").value;
  const std::vector<LibraryTime> times =
      library_times(asked, call, command.sizes.empty() ? usual_sizes() : command.sizes);
  Outcome outcome = reported(report_of(asked, call, times), command.html);
  if (!command.json.empty()) deliver(command.json, to_json(asked, call, times), outcome);
  return outcome;
}

void baseline_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "baseline", "What NCCL or RCCL takes on a machine: algorithm, protocol and time, by a model",
      "MACHINE is a machine that names its GPU (dgx-h100:2), or a GPU with the facts of its node. Times are\n"
      "those of nccl-tests; docs/believable.md compares them with measured ones.\n" +
          kPlainExitCodes +
          "examples:\n  chorale baseline dgx-h100:2 allreduce\n"
          "  chorale baseline A100 allgather --gpus 8 --nodes 3 --nics 4 --nic-gbits 200");
  auto options = values_of<BaselineCommand>(sub, parsed);
  LibraryMachine& facts = options->facts;
  argument(sub, "machine", options->machine, "MACHINE", "A machine, or a GPU: H100, MI300X, ...");
  argument(sub, "collective", options->collective, "COLLECTIVE",
           "allreduce, allgather, reducescatter, alltoall, broadcast, reduce or sendrecv");
  rising_sizes(sub, options->sizes, "Bytes of messages: 64K, 1K,3000, or from:to:factor (1K:1G:4)");
  integer(sub, "--gpus", facts.gpus, 1, 1024, "G", "GPUs of a node (8)");
  integer(sub, "--nodes", facts.nodes, 1, 100'000, "N", "Nodes (1)");
  choice<std::optional<Joined>>(
      sub, "--joined", facts.joined,
      {{"switch", Joined::Switch}, {"mesh", Joined::Mesh}, {"pci", Joined::Pci}, {"host", Joined::Host}},
      "How GPUs of a node are joined (as the GPU is sold)");
  integer(sub, "--links", facts.links, 0, 1024, "L", "Links of a GPU to the others (as the GPU has)");
  integer(sub, "--pci", facts.pci, 1, 6, "P", "Generation of PCI (that of the GPU)");
  integer(sub, "--nics", facts.nics, 1, 1024, "K", "NICs of a node (one for each GPU)");
  positive(sub, "--nic-gbits", facts.nic_gbits, "RATE", "Gb/s of a NIC (as nodes of this GPU have)");
  text(sub, "--network", facts.network, "NAME", "InfiniBand, RoCE, EFA, EFA 2, Slingshot, TCPX (InfiniBand)");
  text(sub, "--algorithm", facts.algorithm, "NAME", "That is forced: Ring, Tree, NVLS or NVLSTree");
  text(sub, "--protocol", facts.protocol, "NAME", "That is forced: LL, LL128 or Simple");
  text(sub, "--library-version", facts.version, "V",
       "Algorithms and protocols of that version of NCCL, such as 2.18 (the newest)");
  sub->add_flag("--host-copies", facts.host_copies, "NICs do not reach the memory of GPUs");
  sub->add_flag("--far-nics", facts.far_nics, "NICs are not below the PCI switch of their GPU");
  sub->add_flag("--one-process", facts.one_process, "One process starts all GPUs");
  sub->add_flag("--no-nvls", facts.no_nvls, "Sums by switches are off (NCCL_NVLS_ENABLE=0)");
  file_to_write(sub, "--json", options->json, "Write the table there");
  file_to_write(sub, "--html", options->html, kReportPage);
}

// Each bound is published as soon as it is known: a limit may end what follows.

struct BoundsCommand {
  QuestionSettings question = {};
  BoundsQuestion asked = {};
  std::string json = {}, html = {};
};
namespace {

// The numbers, and the report of them; null is what is not known, and where there is no schedule at all.
std::string to_json(const Topology& topology, const Collective& collective, const BoundsQuestion& question,
                    const Bounds& known, const Report& report) {
  const auto number = [](int n) { return n == 0 || n == kNoSchedule ? std::nullopt : std::optional<int>(n); };
  return json_file("chorale_bounds", 1, "topology", topology.name, "collective", name_of(collective),
                   "chunks", question.chunks, "steps", known.steps, "rounds", number(known.rounds.rounds),
                   "rate", Fields<Bounds>::known_rate(known), "within", known.within, "rounds_within",
                   number(known.rounds_within.rounds), "report", report);
}

}  // namespace

Outcome perform(const BoundsCommand& command, Supervisor& supervisor) {
  const Machine here = machine(command.question.machine, command.question.changes);
  const Collective collective = chorale::collective(command.question.collective, here, command.question);
  BoundsQuestion asked = command.asked;
  const auto outcome_of = [&command, here, collective](const Bounds& known, Stopped stopped) {
    const Report report = report_of(here, collective, command.asked, known, stopped);
    Outcome outcome = reported(report, command.html);
    if (!command.json.empty())
      deliver(command.json, to_json(here, collective, command.asked, known, report), outcome);
    outcome.exit_code = exit_code_of(stopped);
    return outcome;
  };
  asked.progress = [&](const Bounds& so_far) {
    supervisor.publish([outcome_of, so_far](Stopped stopped) { return outcome_of(so_far, stopped); });
    supervisor.progress().show("bounding");
  };
  asked.progress({});
  return outcome_of(bounds(here, collective, asked), Stopped::No);
}

void bounds_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(app, "bounds", "What no schedule can beat, with certificates",
                                kPlainExitCodes + "example:\n  chorale bounds dgx1 allgather --chunks 6");
  auto options = values_of<BoundsCommand>(sub, parsed);
  machine_and_collective(sub, parsed, options->question);
  integer(sub, "--chunks", options->asked.chunks, 1, kMostChunks, "C", "Chunks of a block (1)");
  integer(sub, "--steps", options->asked.steps, 1, kMostSteps, "S", "Also for at most S steps");
  file_to_write(sub, "--json", options->json, "Write the bounds and the report of them there");
  file_to_write(sub, "--html", options->html, kReportPage);
  limits(sub, parsed.limits, " and print the bounds that were found");
}

// Rates and counts are those that libchorale-mpi takes.

struct AlltoallvCommand {
  std::string counts = {};  // a file
  int nodes = 1;
  std::string rates = {};
  std::string json = {}, html = {};
};

Outcome perform(const AlltoallvCommand& command, Supervisor&) {
  const ByteCounts counts = read_byte_counts(read_file(command.counts), command.counts);
  const TwoTiers tiers = equal_nodes(counts.ranks, command.nodes, command.rates);
  const PlannedAlltoallv planned = plan_by_counts(tiers, counts);
  Outcome outcome = reported(report_of(planned), command.html);
  if (!command.json.empty()) deliver(command.json, to_json(tiers, planned), outcome);
  return outcome;
}

void alltoallv_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "alltoallv", "A plan of an Alltoallv by its counts, in milliseconds, as libchorale-mpi makes it",
      "COUNTS has a line per source, with the bytes for each destination, separated by commas or "
      "whitespace.\n"
      "Nodes are of successive ranks. RATES: NICs of a node (0: one per rank), GB/s of a NIC and of a rank\n"
      "within its node, microseconds of a step.\n" +
          kPlainExitCodes + "example:\n  chorale alltoallv examples/alltoallv.csv --nodes 4");
  auto options = values_of<AlltoallvCommand>(sub, parsed);
  argument(sub, "counts", options->counts, "COUNTS", "Bytes from each rank to each");
  integer(sub, "--nodes", options->nodes, 1, 512, "N", "The ranks are N equal nodes (1)");
  text(sub, "--rates", options->rates, "RATES", "nics=0,nic=50,node=450,latency=5, or some of these");
  file_to_write(sub, "--json", options->json, "Write the plan there");
  file_to_write(sub, "--html", options->html, kReportPage);
}

}  // namespace chorale
