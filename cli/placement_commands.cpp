// Machines with levels, and where to put axes, nodes and tensors on them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <ranges>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/place.h"
#include "api/report.h"
#include "api/reshard.h"
#include "cli/option_kinds.h"
#include "cli/python_command.h"
#include "cli/supervisor.h"
#include "ir/byte_size.h"
#include "ir/enum_names.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/place_options.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "jobs/optimize.h"
#include "jobs/order.h"

namespace chorale {

// A job is given by options or by a file, never by both: an option that differs from its default beside --job
// is refused. Names of axes go into files, tables and programs, so characters that cannot be shown are
// refused here.

// The number of an axis or a level.
template <typename Noun>
int number_of(const std::string& option, const std::vector<Noun>& all, const std::string& name,
              const std::string& what = "an axis") {
  const auto at = std::ranges::find(all, name, &Noun::name);
  if (at != all.end()) return static_cast<int>(at - all.begin());
  throw InputError(option, "'" + name.substr(0, 60) + "' is not " + what,
                   fmt::format("use one of {}", fmt::join(all | std::views::transform(&Noun::name), ", ")));
}

std::vector<int> axes_named(const std::string& option, const std::vector<Axis>& axes,
                            const std::string& names) {
  std::vector<int> result;
  for (const std::string& name : split(names, ',')) result.push_back(number_of(option, axes, name));
  // The order of names has no meaning: reductions and conditions are over sets of axes.
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    throw InputError(option, "names an axis twice", "name each once");
  return result;
}

// Of a job template ("open") an axis may lack its size: "tensor=8,data".
std::vector<Axis> parse_axes(const std::string& text, bool open) {
  std::vector<Axis> axes;
  for (const std::string& part : split(text, ',')) {
    std::vector<std::string> sides = split(part, '=');
    if (sides.size() == 1 && open) sides.push_back("0");
    if (sides.size() == 1 && !sides[0].empty())
      throw InputError(
          "--axes", "'" + part.substr(0, 60) + "' has no size",
          "use name=size, such as data=4, or --job with a template, which defines what sizes are for");
    if (sides.size() != 2 || sides[0].empty() || sides[0].size() > 40)
      throw InputError("--axes", "'" + part.substr(0, 60) + "' is not an axis",
                       "use name=size, such as data=4,tensor=8");
    if (shown(sides[0]) != sides[0])
      throw InputError("--axes", "'" + sides[0] + "' has characters that cannot be shown",
                       "choose another name");
    for (const Axis& axis : axes)
      if (axis.name == sides[0])
        throw InputError("--axes", "names '" + sides[0] + "' twice", "choose another name");
    axes.push_back({sides[0], static_cast<int>(parse_integer("--axes", sides[1], open ? 0 : 1, 1 << 24))});
    if (axes.size() > 8) throw InputError("--axes", "has more than 8 axes", "use fewer");
  }
  return axes;
}

// One communication is a job with one reduction, named as its axes.
Job job_of(const JobText& text) {
  // Values that are the defaults do not show whether the option was given, and do no harm.
  const bool by_options = !text.axes.empty() || !text.reduce.empty() || text.bytes > 0 || text.element != 4 ||
                          text.goal != Goal::AllReduce;
  if (!text.job.empty()) {
    if (by_options)
      throw InputError("--job", "excludes --axes, --reduce, --bytes, --goal and --element",
                       "drop one or the others");
    return job_from_json(read_file(text.job), text.job);
  }
  if (text.axes.empty())
    throw InputError("--axes", "is missing", "give axes, such as data=4,tensor=8, or --job FILE");
  Job job{.axes = parse_axes(text.axes, false)};
  if (text.reduce.empty()) throw InputError("--reduce", "is missing", "name the axes to sum over");
  if (!(text.bytes > 0))
    throw InputError("--bytes", "is missing or zero", "give the size of the data on a device, such as 4G");
  job.reductions = {{.name = text.reduce,
                     .goal = text.goal,
                     .axes = axes_named("--reduce", job.axes, text.reduce),
                     .bytes = text.bytes,
                     .element_bytes = static_cast<double>(text.element)}};
  return job;
}

// Sizes of data are binary, as elsewhere on the command line, and bandwidths decimal.
void one_communication(CLI::App* sub, JobText& job) {
  text(sub, "--reduce", job.reduce, "NAME,...", "The axes that are summed over");
  value(
      sub, "--bytes", "SIZE",
      "What every device contributes; of an allgather what it has in the end, all parts together (4G is 4 * "
      "2^30; bandwidths are decimal)",
      [&job](const Text& t) { job.bytes = static_cast<double>(parse_size("--bytes", t)); });
  choice<Goal>(sub, "--goal", job.goal, kGoalNames,
               "What is done over these axes; shift: each sends to the next along them (allreduce)");
  integer(sub, "--element", job.element, 1, 64, "BYTES", "Of an element: nothing is scattered finer (4)");
}

struct HierarchyCommand {
  std::string name = {};
  MachineChanges changes = {};
  bool json = false;
};
Outcome perform(const HierarchyCommand& command, Supervisor&) {
  const Hierarchy machine = hierarchy(command.name, command.changes);
  if (command.json) return {.document = to_json(machine)};
  return reported(report_of(machine));
}

void hierarchy_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(app, "hierarchy", "List the machines that have levels, or show one",
                                kPlainExitCodes +
                                    "examples:\n  chorale hierarchy list\n  chorale hierarchy show a100:4 "
                                    "--json\n  chorale hierarchy show dgx-a100:4");
  sub->require_subcommand(1);
  prints(sub->add_subcommand("list", "The built-in machines that have levels"), parsed,
         [] { return report_of(known_hierarchies()); });
  CLI::App* const show = sub->add_subcommand("show", "One machine by its levels");
  auto options = values_of<HierarchyCommand>(show, parsed);
  argument(show, "name", options->name, "NAME|FILE", "A machine ('chorale hierarchy list') or a JSON file");
  show->add_flag("--json", options->json, "As a file to edit (docs/formats.md)");
  machine_changes(show, parsed, {&options->name}, options->changes);
  limits(show, parsed.limits, "");
}

// Options in words become numbers of axes and levels, against the machine and the job that they name. A job
// is a file, a template whose open sizes are chosen too, or one communication by options; conditions apply to
// all three.

struct PlaceCommand : JobText {
  std::string hierarchy = {};
  MachineChanges changes = {};
  std::string devices = {};              // "all", "64"
  PlaceOptions options = {};             // by their rows; its conditions are the next three
  std::vector<std::string> inside = {};  // "tensor=node"
  std::vector<std::string> order = {};   // "tensor<data"
  std::vector<std::string> memory = {};  // "node:tensor,pipeline:20G:512G"
  std::string present = {};              // where the axes are today; "": not asked
  std::string strategy = {};             // "(gpu, InsideGroup, AllReduce); ..."
  bool explain = false;
  std::string json = {};
  std::string html = {};
  std::string emit = {};  // a directory
};
namespace {

// Sizes of a template's axes from the command line; axes that it does not name get size 1.
JobTemplate with_axes(JobTemplate job, const std::string& text) {
  const std::vector<Axis> wanted = parse_axes(text, true);
  for (const Axis& axis : wanted) {
    OpenAxis& open = job.axes[number_of("--axes", job.axes, axis.name)];
    if (axis.size > open.most)
      throw InputError("--axes",
                       fmt::format("{}={} is more than the template's {}", axis.name, axis.size, open.most),
                       "choose a smaller size");
    if (axis.size > 0) open.size = axis.size;
  }
  for (OpenAxis& open : job.axes)
    if (std::ranges::find(wanted, open.name, &Axis::name) == wanted.end()) open.size = 1;
  return job;
}

// "tensor=node": the axis stays inside one node. "tensor<data": tensor lies nowhere outside of data.
// "node:tensor,pipeline:20G:512G": a node has room for 512 GiB of its different shards over these axes, of 20
// GiB each.
Conditions conditions_of(const PlaceCommand& command, const Hierarchy& hierarchy,
                         const std::vector<Axis>& axes) {
  const std::string a_level = "a level of " + hierarchy.name;
  const auto sides_of = [](const char* option, const std::string& text, char between, std::size_t count,
                           const char* form) {
    std::vector<std::string> sides = split(text, between);
    if (sides.size() == count) return sides;
    throw InputError(option, "'" + text.substr(0, 60) + "' is not a condition", form);
  };
  Conditions conditions;
  for (const std::string& text : command.inside) {
    const auto sides = sides_of("--inside", text, '=', 2, "use axis=level");
    conditions.inside.push_back(
        {number_of("--inside", axes, sides[0]), number_of("--inside", hierarchy.levels, sides[1], a_level)});
  }
  for (const std::string& text : command.order) {
    const auto sides = sides_of("--order", text, '<', 2, "use axis<axis");
    conditions.order.push_back({number_of("--order", axes, sides[0]), number_of("--order", axes, sides[1])});
    if (sides[0] == sides[1])
      throw InputError("--order", "'" + sides[0].substr(0, 60) + "' is on both sides", "name two axes");
  }
  for (const std::string& text : command.memory) {
    const auto sides =
        sides_of("--memory", text, ':', 4, "use level:axis,...:bytes:room, such as node:tensor:20G:512G");
    conditions.memory.push_back({number_of("--memory", hierarchy.levels, sides[0], a_level),
                                 axes_named("--memory", axes, sides[1]),
                                 static_cast<double>(parse_size("--memory", sides[2])),
                                 static_cast<double>(parse_size("--memory", sides[3]))});
  }
  return conditions;
}

// None: the job has its sizes. Sizes on the command line close axes of the template: "--axes tensor=8,data"
// leaves data open.
std::optional<JobTemplate> template_of(const PlaceCommand& command) {
  if (command.job.empty()) return std::nullopt;
  const std::string text = read_file(command.job);
  if (!is_job_template(text)) return std::nullopt;
  if (!command.reduce.empty() || command.bytes > 0 || command.element != 4 || command.goal != Goal::AllReduce)
    throw InputError("--job", "excludes --reduce, --bytes, --goal and --element", "drop one or the others");
  JobTemplate job = job_template_from_json(text, command.job);
  return command.axes.empty() ? job : with_axes(std::move(job), command.axes);
}

// With fewer devices the outer levels shrink to whole units (part_of, api/place.h).
Hierarchy machine_of(const PlaceCommand& command) {
  Hierarchy whole = hierarchy(command.hierarchy, command.changes);
  if (command.devices.empty() || command.devices == "all") return whole;
  return part_of(whole, parse_integer("--devices", command.devices, 1, 1 << 24));
}

bool is_whole(const Ranking& ranking) {
  return ranking.priced == ranking.matrices && ranking.size_choices.priced == ranking.size_choices.fit &&
         (!ranking.solver || ranking.solver->complete);
}

// Writes the ranking and describes it. `stopped`: why it is incomplete, if it is.
Outcome outcome_of(const PlaceCommand& command, const Ranking& ranking, Stopped stopped) {
  Outcome outcome = reported(report_of(ranking, command.explain), stopped, "cut short");
  if (stopped == Stopped::No && !is_whole(ranking)) outcome.exit_code = kUndecided;
  if (!command.json.empty()) deliver(command.json, to_json(ranking), outcome);
  if (!command.html.empty()) deliver(command.html, to_page(ranking), outcome);
  if (!command.emit.empty() && !ranking.best.empty()) {
    std::vector<NamedText> files = emit_placement(ranking);
    const std::string groups = json_object("groups", files.front().text).text;
    for (NamedText& file : done_in_python("--emit", "placed", groups).files) files.push_back(std::move(file));
    deliver(command.emit, std::move(files), outcome);
  }
  return outcome;
}

}  // namespace

Outcome perform(const PlaceCommand& command, Supervisor& supervisor) {
  const std::atomic<bool>* const stop = supervisor.stop();
  ProgressLine& progress = supervisor.progress();
  progress.show("listing matrices");
  const Hierarchy machine = machine_of(command);
  const std::optional<JobTemplate> open = template_of(command);
  Job job;
  // Of a template only the names of axes are known, which is all that conditions need.
  if (!open) job = job_of(command);
  if (open)
    for (const OpenAxis& axis : open->axes) job.axes.push_back({.name = axis.name});
  PlaceOptions options = command.options;
  options.limits.stop = stop;
  options.conditions = conditions_of(command, machine, job.axes);
  if (!command.strategy.empty()) options.own = parse_strategy(command.strategy, "--strategy");
  if (!command.present.empty()) {
    if (open)
      throw InputError("--present", "is for a job whose sizes are given", "give a job, or leave it out");
    options.present = present_placement(machine, job.axes, command.present, "--present");
  }
  options.progress = [&](int done, int of) {
    progress.show(fmt::format(
        "{} of {} priced", done,
        open ? counted(of, "choice of sizes", "choices of sizes") : counted(of, "matrix", "matrices")));
    return !*stop;
  };
  // What is ranked so far is what a limit prints.
  options.ranked = [&](const Ranking& ranking) {
    supervisor.publish(
        [&command, ranking](Stopped stopped) { return outcome_of(command, ranking, stopped); });
  };
  const Ranking ranking = open ? place(machine, *open, options) : place(machine, job, options);
  supervisor.take_floor();
  // A ranking that is whole is not cut short, even if the limit came while its last matrix was priced.
  return outcome_of(command, ranking, is_whole(ranking) ? Stopped::No : supervisor.stopped());
}

// Conditions name axes and levels, which are known only when the machine and the job are read, so they stay
// text here (cli/place_command.cpp).
void place_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "place", "Where to put parallel axes on a hierarchy, and how to reduce over them",
      "exit codes: 0 ranked, 3 not all placements were priced, 130 interrupted (what was priced is ranked), "
      "2 bad input\n"
      "examples:\n"
      "  chorale place a100:4 --axes data=4,tensor=16 --reduce tensor --bytes 4GB\n"
      "  chorale place dgx-a100:4 --axes data=4,tensor=8 --reduce data --bytes 1G\n"
      "  chorale place h100:128 --job examples/gpt3-175b.json --html p.html\n"
      "  chorale place a100:4 --job examples/gpt-22b-sizes.json --devices all");
  auto options = values_of<PlaceCommand>(sub, parsed);
  argument(sub, "hierarchy", options->hierarchy, "HIERARCHY",
           "A machine that has levels ('chorale hierarchy list'), or a JSON file");
  machine_changes(sub, parsed, {&options->hierarchy}, options->changes);
  text(sub, "--axes", options->axes, "NAME=N,...",
       "Parallel axes; their sizes multiply to the number of devices. With a job template a size may be "
       "left out: tensor=8,data");
  text(sub, "--devices", options->devices, "all|N", "How many devices of the machine the job takes (all)");
  one_communication(sub, *options);
  text(sub, "--job", options->job, "FILE",
       "Axes and weighted reductions from a file, instead of these; a template leaves sizes to be chosen "
       "(docs/placement.md)");
  by_rows(sub, place_rows(), options->options);
  text(sub, "--inside", options->inside, "AXIS=LEVEL ...", "The axis stays inside one unit of the level");
  text(sub, "--order", options->order, "AXIS<AXIS ...", "The first axis lies nowhere outside of the second");
  text(sub, "--memory", options->memory, "LEVEL:AXIS,...:BYTES:ROOM ...",
       "A unit of the level has ROOM for its different shards of the axes, of BYTES each");
  text(sub, "--strategy", options->strategy, "TEXT",
       "Compare this strategy, written as strategies are printed: is it valid, and how much slower than the "
       "best?");
  value(sub, "--present", "ORDER",
        "How far off is the placement of today? The order of the axes in the mesh over the devices, the "
        "first the slowest (data,tensor), or as Megatron's --order (tensor-data), or the device of each "
        "rank (0,2,1,3)",
        [options](const Text& t) {
          // An empty text is what the command takes for "not given".
          if (t.empty()) throw InputError("--present", "is empty", "give the order of the axes: data,tensor");
          options->present = t;
        });
  sub->add_flag("--explain", options->explain, "Print for every step its time and the link that binds");
  limits(sub, parsed.limits, " and rank what was priced");
  progress(sub, parsed.progress);
  file_to_write(sub, "--json", options->json, "Write the ranking there");
  file_to_write(sub, "--html", options->html, "Write a page that draws the groups of every step");
  directory_to_write(
      sub, "--emit", options->emit,
      "Write the first placement there as an MPI program, groups, meshes for JAX and PyTorch, Megatron's "
      "order, a rank file");
  sub->final_callback([options, sub, &parsed] {
    only_for(sub, {"--solver", "--ipasir"}, options->options.engine == PlaceEngine::Sat, "--engine sat");
    accept(parsed, options);
  });
}

// Jobs are read as those of 'place'. The report and the files are written in Python (chorale/ordering.py).

struct OrderCommand : JobText {
  std::string topology = {};    // Slurm's topology.conf
  std::string hosts = {};       // "n[0-3,7]"; "": all of the file
  OrderQuestion question = {};  // without the job and the tapers
  std::string tapers = "2";     // "2,4"
  std::string json = {}, html = {};
  std::string emit = {};  // a directory
};
namespace {

// "2,4": of leaf switches, then of the tier above; the last holds for all further ones.
std::vector<double> tapers_of(const std::string& text) {
  std::vector<double> tapers;
  for (const std::string& part : split(text, ',')) {
    tapers.push_back(parse_positive("--taper", part));
    if (tapers.back() < 1 || tapers.back() > 1e6)
      throw InputError("--taper", "'" + part.substr(0, 60) + "' is not between 1 and 1000000",
                       "use ratios, such as 2,4");
  }
  return tapers;
}

}  // namespace

Outcome perform(const OrderCommand& command, Supervisor&) {
  OrderQuestion question = command.question;
  question.job = job_of(command);
  question.rates.tapers = tapers_of(command.tapers);
  const NodeOrder answer = order(allocation(command.topology, command.hosts), question);
  Outcome outcome = done_in_python("order", "ordering",
                                   json_object("found", JsonText{to_json(answer)}, "emit", command.emit).text,
                                   nullptr, command.html);
  if (!command.json.empty()) deliver(command.json, to_json(answer), outcome);
  return outcome;
}

// Ranks of a host are the fastest axes, so only the hosts are ordered.
void order_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "order", "The order of a job's nodes for the hosts and switches that it was given",
              "Rank r of the job is at position r of the mesh of its axes, the last axis\n"
              "the fastest. Rings go in the order of ranks, as NCCL's do.\n"
              "exit codes: 0 ordered, proven or not, 2 bad input, 3 out of time or memory,\n"
              "130 interrupted\n"
              "examples:\n"
              "  chorale order examples/topology.conf --axes data=256 --reduce data --bytes 1G");
  auto options = values_of<OrderCommand>(sub, parsed);
  argument(sub, "topology", options->topology, "FILE",
           "Slurm's topology.conf, or the output of 'scontrol show topology'");
  text(sub, "--hosts", options->hosts, "LIST",
       "The hosts of the job, as SLURM_JOB_NODELIST has them: n[1-3,7] (all of the file)");
  text(sub, "--axes", options->axes, "NAME=N,...",
       "Parallel axes, the slowest first; their sizes multiply to the number of ranks");
  one_communication(sub, *options);
  text(sub, "--job", options->job, "FILE", "Axes and weighted communications from a file, instead of these");
  integer(sub, "--node-ranks", options->question.node_ranks, 1, 4096, "N",
          "Ranks of a host: the fastest axes (8)");
  positive(sub, "--node-gbs", options->question.rates.node_gbs, "GB",
           "GB/s that a host sends, by all its NICs (50)");
  text(sub, "--taper", options->tapers, "R,...",
       "What the hosts below a switch send, over what its link up carries: of leaf switches, of those above "
       "them, and so on; the last for all further ones (2)");
  limits(sub, parsed.limits, "");
  file_to_write(sub, "--json", options->json, "Write the order there");
  file_to_write(sub, "--html", options->html, kReportPage);
  directory_to_write(sub, "--emit", options->emit,
                     "Write a rank file, a SLURM_HOSTFILE, the list of hosts, and the mesh there");
}

// Layouts are read, and the report and the plan are written, in Python (python/chorale/resharding.py); the
// search is here. Python's share is small, so no limit ends it: what was found until a limit is reported.

struct ReshardCommand {
  std::string machine = {};
  MachineChanges changes = {};
  std::string file = {};  // of layouts and tensors
  std::chrono::milliseconds search_time{8'000};
  std::string json = {}, html = {};
  std::string result = {};  // a file
  std::string emit = {};    // a directory
};

namespace {

// Without a schedule there are still the bound and the times of the other methods. A search that ended by
// itself was not cut, even if a limit came since.
Outcome outcome_of(const ReshardCommand& command, const Resharding& answer, Stopped stopped) {
  const Result& found = answer.result;
  const bool cut = stopped != Stopped::No && !found.complete && found.stopped != Stopped::ChunkCounts;
  Outcome outcome = done_in_python("reshard", "resharding",
                                   json_object("file", command.file, "found", JsonText{to_json(answer)},
                                               "json", command.json, "emit", command.emit)
                                       .text,
                                   nullptr, command.html);
  outcome.exit_code = cut ? exit_code_of(stopped) : found.points.empty() ? kUndecided : kFound;
  if (!command.result.empty()) deliver(command.result, to_json(found), outcome);
  return outcome;
}

}  // namespace

// The other methods are an answer from the first moment.
Outcome perform(const ReshardCommand& command, Supervisor& supervisor) {
  supervisor.await_first_answer();
  const Topology topology = machine(command.machine, command.changes);
  const std::string demand =
      done_in_python("reshard", "resharding", json_object("file", command.file, "ranks", topology.ranks).text)
          .document;
  FrontierOptions options{.time_limit = command.search_time};
  options.synthesis.limits.stop = supervisor.stop();
  // Hosts decide which links are NICs; a machine without hosts has link seconds instead.
  const Resharding answer =
      reshard(topology, reshard_demand_from_json(demand, topology.ranks), hosts_of(command.machine), options,
              [&](Resharding first) {
                supervisor.publish([&command, first = std::move(first)](Stopped stopped) mutable {
                  first.result.stopped = stopped;
                  return outcome_of(command, first, stopped);
                });
              });
  supervisor.take_floor();
  return outcome_of(command, answer, supervisor.stopped());
}

// The schedules are a result like that of a search, so emit, run, simulate, show and check take them.
void reshard_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "reshard", "Tensors from one layout to another, M ranks to N: bound, schedule, times",
              "Layouts are meshes with DTensor's placements (docs/placement.md). The result is\n"
              "one of a collective: emit, run, simulate, show and check take it.\n"
              "exit codes: 0 found, 2 bad input, 3 out of time or memory, 130 interrupted\n"
              "examples:\n"
              "  chorale reshard dgx-h100:2 examples/reshard.json --result r.json\n"
              "  chorale reshard dgx-h100:2 examples/reshard.json --emit plan");
  auto options = values_of<ReshardCommand>(sub, parsed);
  argument(sub, "machine", options->machine, "MACHINE",
           "A machine ('chorale topology list'), or a file of one");
  argument(sub, "file", options->file, "FILE", "Layouts and tensors, as JSON (docs/formats.md)");
  machine_changes(sub, parsed, {&options->machine}, options->changes);
  duration(sub, "--search-time", options->search_time, "Search for at most T (8s)");
  limits(sub, parsed.limits, "");
  file_to_write(sub, "--json", options->json, "Write times, NIC seconds and bytes per link there");
  file_to_write(sub, "--html", options->html, kReportPage);
  file_to_write(sub, "--result", options->result,
                "Write the schedules and bounds there, for emit, run, check");
  directory_to_write(
      sub, "--emit", options->emit,
      "Write the plan there, and a program of torch.distributed that does it and checks every byte");
}

// What a job calls and would gain is in Python: readers of other programs' traces, and what is asked of this
// program's own commands (python/chorale/jobs.py).

struct JobCommand {
  std::vector<std::string> traces = {};
  std::string machine = {};  // "": the job is only listed
  std::string library = {};
  BaselineSet baselines = BaselineSet::Auto;
  std::chrono::milliseconds search_time{2'000};  // of each collective and level
  std::string spec = {};                         // where to write the specification of a library
  std::string json = {}, html = {};
};

Outcome perform(const JobCommand& command, Supervisor& supervisor) {
  return done_in_python(
      "chorale job", "jobs",
      json_object("traces", command.traces, "machine", command.machine, "library", command.library,
                  "baselines", name_in(baseline_sets(), command.baselines), "search_ms",
                  command.search_time.count(), "spec", command.spec, "json", command.json)
          .text,
      &supervisor, command.html);
}

// A library and a specification are of a machine, so they require --machine.
void job_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "job", "The collectives that a job calls, by its traces, and what it would gain on a machine",
      "Traces are of one job, of one rank or of several: PyTorch's profiler (Kineto) and flight recorder\n"
      "(JSON), Chakra, NCCL's inspector, NCCL_DEBUG=INFO lines (subsystem COLL), or a table of a PMPI\n"
      "wrapper: comma-separated, with a header that has collective, ranks, bytes, and perhaps group, calls,\n"
      "us.\n" +
          kPlainExitCodes +
          "examples:\n  chorale job examples/calls.csv\n"
          "  chorale job examples/calls.csv --machine dgx-a100:2 --search-time 1");
  auto options = std::make_shared<JobCommand>();
  argument(sub, "traces", options->traces, "TRACE...", "Traces and logs of the job");
  text(sub, "--machine", options->machine, "MACHINE",
       "Compare there, by predicted times: a name of 'chorale topology list', or a file");
  text(sub, "--library", options->library, "FILE",
       "Take the algorithms of this library, built for that machine, instead of short searches");
  baselines(sub, options->baselines);
  duration(sub, "--search-time", options->search_time, "Search each collective of each level for T (2s)");
  file_to_write(sub, "--spec", options->spec,
                "Write the specification of a library for this job there, for 'chorale library build'");
  file_to_write(sub, "--json", options->json, "Write the calls, and the comparison, there");
  file_to_write(sub, "--html", options->html, kReportPage);
  limits(sub, parsed.limits, "");
  progress(sub, parsed.progress);
  sub->final_callback([options, &parsed] {
    // Groups of a job become levels of the machine; without one neither option has a meaning.
    if (options->machine.empty() && !options->library.empty())
      throw InputError("--library", "is of a machine", "name it: --machine MACHINE");
    if (options->machine.empty() && !options->spec.empty())
      throw InputError("--spec", "is of a machine", "name it: --machine MACHINE");
    accept(parsed, options);
  });
}

}  // namespace chorale
