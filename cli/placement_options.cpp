// Where parallel axes are placed, and how tensors move between layouts.
#include "cli/option_kinds.h"

namespace chorale {
namespace {

// The options of `place` and `order` that describe one communication: JobText but its axes and its file.
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

}  // namespace

// `list` and `show` share a struct: without a name the machines are listed.
void hierarchy_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(app, "hierarchy", "List the machines that have levels, or show one",
                                kPlainExitCodes +
                                    "examples:\n  chorale hierarchy list\n  chorale hierarchy show a100:4 "
                                    "--json\n  chorale hierarchy show dgx-a100:4");
  auto options = std::make_shared<HierarchyCommand>();
  sub->require_subcommand(1);
  CLI::App* const list = sub->add_subcommand("list", "The built-in machines that have levels");
  list->final_callback([options, &parsed] { parsed = *options; });
  CLI::App* const show = sub->add_subcommand("show", "One machine by its levels");
  argument(show, "name", options->name, "NAME|FILE", "A machine ('chorale hierarchy list') or a JSON file");
  show->add_flag("--json", options->json, "As a file to edit (docs/formats.md)");
  machine_changes(show, options->changes);
  limits(show, options->limits, "");
  show->final_callback([options, &parsed] { parsed = *options; });
}

// Conditions name axes and levels, which are known only when the machine and the job are read, so they stay
// text here (cli/place_command.cpp).
void place_options(CLI::App& app, Command& parsed) {
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
  machine_changes(sub, options->changes);
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
  limits(sub, options->limits, " and rank what was priced");
  progress(sub, options->progress);
  file_to_write(sub, "--json", options->json, "Write the ranking there");
  file_to_write(sub, "--html", options->html, "Write a page that draws the groups of every step");
  directory_to_write(
      sub, "--emit", options->emit,
      "Write the first placement there as an MPI program, groups, meshes for JAX and PyTorch, Megatron's "
      "order, a rank file");
}

// Ranks of a host are the fastest axes, so only the hosts are ordered.
void order_options(CLI::App& app, Command& parsed) {
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
  limits(sub, options->limits, "");
  file_to_write(sub, "--json", options->json, "Write the order there");
  directory_to_write(sub, "--emit", options->emit,
                     "Write a rank file, a SLURM_HOSTFILE, the list of hosts, and the mesh there");
}

// The schedules are a result like that of a search, so emit, run, simulate, show and check take them.
void reshard_options(CLI::App& app, Command& parsed) {
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
  machine_changes(sub, options->changes);
  duration(sub, "--search-time", options->search_time, "Search for at most T (8s)");
  limits(sub, options->limits, "");
  file_to_write(sub, "--json", options->json, "Write times, NIC seconds and bytes per link there");
  file_to_write(sub, "--result", options->result,
                "Write the schedules and bounds there, for emit, run, check");
  directory_to_write(
      sub, "--emit", options->emit,
      "Write the plan there, and a program of torch.distributed that does it and checks every byte");
}

}  // namespace chorale
