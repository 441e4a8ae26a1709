// Where parallel axes are placed.
#include "cli/option_kinds.h"

namespace chorale {
namespace {

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
  show->add_option("name", options->name, "A machine ('chorale hierarchy list') or a JSON file")
      ->required()
      ->option_text("NAME|FILE");
  show->add_flag("--json", options->json, "As a file to edit (docs/formats.md)");
  machine_changes(show, options->changes);
  limits(show, options->limits, "");
  show->final_callback([options, &parsed] { parsed = *options; });
}

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
  auto options = std::make_shared<PlaceCommand>();
  sub->add_option("hierarchy", options->hierarchy,
                  "A machine that has levels ('chorale hierarchy list'), or a JSON file")
      ->required()
      ->option_text("HIERARCHY");
  machine_changes(sub, options->changes);
  text(sub, "--axes", options->axes, "NAME=N,...",
       "Parallel axes; their sizes multiply to the number of devices. With a job template a size may be "
       "left out: tensor=8,data");
  text(sub, "--devices", options->devices, "all|N", "How many devices of the machine the job takes (all)");
  text(sub, "--reduce", options->reduce, "NAME,...", "The axes that are summed over");
  sub->add_option_function<Text>(
         "--bytes",
         [options](const Text& t) { options->bytes = static_cast<double>(parse_size("--bytes", t)); },
         "What every device contributes (4G is 4 * 2^30; bandwidths are decimal)")
      ->option_text("SIZE");
  choice<Goal>(sub, "--goal", options->goal, kGoalNames,
               "What is done over these axes; shift: each sends to the next along them (allreduce)");
  integer(sub, "--element", options->element, 1, 64, "BYTES",
          "Of an element: nothing is scattered finer (4)");
  text(sub, "--job", options->job, "FILE",
       "Axes and weighted reductions from a file, instead of these; a template leaves sizes to be chosen "
       "(docs/placement.md)");
  by_rows(sub, place_rows(), options->options);
  sub->add_option("--inside", options->inside, "The axis stays inside one unit of the level")
      ->option_text("AXIS=LEVEL ...");
  sub->add_option("--order", options->order, "The first axis lies nowhere outside of the second")
      ->option_text("AXIS<AXIS ...");
  sub->add_option("--memory", options->memory,
                  "A unit of the level has ROOM for its different shards of the axes, of BYTES each")
      ->option_text("LEVEL:AXIS,...:BYTES:ROOM ...");
  text(sub, "--strategy", options->strategy, "TEXT",
       "Compare this strategy, written as strategies are printed: is it valid, and how much slower than the "
       "best?");
  sub->add_option_function<Text>(
         "--present",
         [options](const Text& t) {
           if (t.empty())
             throw InputError("--present", "is empty", "give the order of the axes: data,tensor");
           options->present = t;
         },
         "How far off is the placement of today? The order of the axes in the mesh over the devices, the "
         "first "
         "the slowest (data,tensor), or as Megatron's --order (tensor-data), or the device of each rank "
         "(0,2,1,3)")
      ->option_text("ORDER");
  sub->add_flag("--explain", options->explain, "Print for every step its time and the link that binds");
  limits(sub, options->limits, " and rank what was priced");
  progress(sub, options->progress);
  text(sub, "--json", options->json, "FILE", "Write the ranking there; - is standard output");
  text(sub, "--html", options->html, "FILE",
       "Write a page that draws the groups of every step; - is standard output");
  text(sub, "--emit", options->emit, "DIR",
       "Write the first placement there as an MPI program, groups, meshes for JAX and PyTorch, Megatron's "
       "order, a rank file");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

}  // namespace

void placement_options(CLI::App& app, Command& parsed) {
  hierarchy_options(app, parsed);
  place_options(app, parsed);
}

}  // namespace chorale
