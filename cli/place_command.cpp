// Options in words become numbers of axes and levels, against the machine and the job that they name. A job
// is a file, a template whose open sizes are chosen too, or one communication by options; conditions apply to
// all three.
#include <fmt/format.h>

#include <algorithm>

#include "api/place.h"
#include "api/report.h"
#include "cli/inputs.h"
#include "cli/job_text.h"
#include "cli/option_kinds.h"
#include "cli/parse.h"
#include "cli/supervisor.h"
#include "ir/byte_size.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/place_options.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {

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

int level_named(const std::string& option, const Hierarchy& hierarchy, const std::string& name) {
  std::string known;
  for (std::size_t j = 0; j < hierarchy.levels.size(); ++j) {
    if (hierarchy.levels[j].name == name) return static_cast<int>(j);
    known += (j > 0 ? ", " : "") + hierarchy.levels[j].name;
  }
  throw InputError(option, "'" + name.substr(0, 60) + "' is not a level of " + hierarchy.name,
                   "use one of " + known);
}

// Sizes of a template's axes from the command line; axes that it does not name get size 1.
JobTemplate with_axes(JobTemplate job, const std::string& text) {
  std::vector<Axis> all;
  for (const OpenAxis& axis : job.axes) all.push_back({.name = axis.name});
  const std::vector<Axis> wanted = parse_axes(text, true);
  for (const Axis& axis : wanted) {
    OpenAxis& open = job.axes[axis_named("--axes", all, axis.name)];
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
  Conditions conditions;
  for (const std::string& text : command.inside) {
    const std::vector<std::string> sides = split(text, '=');
    if (sides.size() != 2)
      throw InputError("--inside", "'" + text.substr(0, 60) + "' is not a condition", "use axis=level");
    conditions.inside.push_back(
        {axis_named("--inside", axes, sides[0]), level_named("--inside", hierarchy, sides[1])});
  }
  for (const std::string& text : command.order) {
    const std::vector<std::string> sides = split(text, '<');
    if (sides.size() != 2)
      throw InputError("--order", "'" + text.substr(0, 60) + "' is not a condition", "use axis<axis");
    conditions.order.push_back(
        {axis_named("--order", axes, sides[0]), axis_named("--order", axes, sides[1])});
    if (sides[0] == sides[1])
      throw InputError("--order", "'" + sides[0].substr(0, 60) + "' is on both sides", "name two axes");
  }
  for (const std::string& text : command.memory) {
    const std::vector<std::string> sides = split(text, ':');
    if (sides.size() != 4)
      throw InputError("--memory", "'" + text.substr(0, 60) + "' is not a condition",
                       "use level:axis,...:bytes:room, such as node:tensor:20G:512G");
    conditions.memory.push_back({level_named("--memory", hierarchy, sides[0]),
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
  Outcome outcome = reported(report_of(ranking, command.explain), "");
  if (stopped != Stopped::No) outcome.text += "cut short (" + name_of(stopped) + ")\n";
  outcome.exit_code = stopped == Stopped::No && !is_whole(ranking) ? kUndecided : exit_code_of(stopped);
  if (!command.json.empty()) deliver(command.json, to_json(ranking), outcome);
  if (!command.html.empty()) deliver(command.html, to_page(ranking), outcome);
  if (!command.emit.empty() && !ranking.best.empty()) deliver(command.emit, emit_placement(ranking), outcome);
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

}  // namespace chorale
