// Options of search, proof and display: machines, schedules, frontiers, bounds.
#include "cli/option_kinds.h"

namespace chorale {
namespace {

constexpr const char* kExitCodes =
    "exit codes: 0 found and verified, 20 proven impossible, 3 undecided within the limits, 130 interrupted, "
    "2 bad input";

void search_settings(CLI::App* app, SearchSettings& search) {
  machine_and_collective(app, search.question);
  result_file(app, search.json);
  {
    const Heading heading(app, "The search");
    by_rows(app, search_rows(), search.options);
  }
  memory_limit(app, search.limits);
  progress(app, search.progress);
}

// The name of an option in an error: "--max-chunks" here, the keyword max_chunks in Python.
Text flag_of(const OptionWords& words) {
  return Text(words.option);
}

// When all options are read. Conditions between options of a search are stated in ir/search_options.h, for
// the command line, Python and library specifications alike. The time limit of the search is that of the
// command.
void settle(SearchSettings& search) {
  require_consistent(search.options, flag_of);
  search.limits.time = search.options.time_limit;
}

}  // namespace

void synthesize_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "synthesize", "Find one schedule within a budget, or prove that there is none",
      "Without --steps the fewest that are possible are taken; without --rounds the fewest for these steps.\n"
      "AllReduce is synthesized directly here; 'frontier' also composes it from ReduceScatter and "
      "Allgather.\n" +
          Text(kExitCodes) +
          "\nexamples:\n  chorale synthesize dgx1 allgather --chunks 6 --steps 3 --rounds 7\n"
          "  chorale synthesize ring:8 broadcast --root 3 --chunks 4 --json b.json");
  auto options = std::make_shared<SynthesizeCommand>();
  search_settings(sub, options->search);
  choice<Engine>(
      sub, "--engine", options->search.options.synthesis.engine, engines(),
      "sat: Chorale's; smt: SCCL's encoding in Z3; sat-partition: one formula for each split of the rounds");
  by_rows(sub, synthesis_rows(), options->asked);
  sub->final_callback([options, &parsed] {
    settle(options->search);
    parsed = *options;
  });
}

void frontier_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "frontier", "Find the best trades of latency against bandwidth, and prove what can be proven",
      Text(kExitCodes) +
          "\nexamples:\n  chorale frontier dgx1 allgather --json f.json\n"
          "  chorale frontier torus:4x4 allgather --time-limit 5m --jobs 2\n"
          "  chorale frontier dgx1 allgather --without-link 0-1 --repair f.json\n"
          "  chorale frontier hub:8 broadcast --switches-multicast");
  auto options = std::make_shared<FrontierCommand>();
  search_settings(sub, options->search);
  by_rows(sub, frontier_rows(), options->search.options);
  text(sub, "--library", options->library, "FILE",
       "Take the answer from this library if it has it, else search and keep it there");
  text(
      sub, "--repair", options->repair, "OLD",
      "Begin with a result for the machine before --without-link, --degrade, ...: its schedules are patched, "
      "and the old, patched and new rates are printed; a block is cut into as many chunks as it was, or "
      "more");
  size_model(sub, options->model);
  sizes(
      sub, options->bytes,
      "Search for the fastest points for messages of these sizes, and print for each its time, each link by "
      "its own numbers, the time that no schedule is below, and their ratio: 64K, 1K,3000, or from:to:factor "
      "(1K:1G:32)");
  sub->add_flag("--all", options->all, "List, after the frontier, the points that others dominate, too");
  sub->final_callback([options, sub, &parsed] {
    settle(options->search);
    // A repair begins from another result, and its question would have to contain that.
    if (!options->library.empty() && !options->repair.empty())
      throw InputError("--library", "has no repaired answers", "drop it, or --repair");
    parsed = *options;
  });
}

void compose_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "compose", "Compose schedules of groups to schedules of the machine (hierarchical composition)",
      "An outline lists, stage by stage, what groups do side by side; stages overlap where they can. Levels\n"
      "are those of 'chorale topology show', or rank and node; LEVEL=FILE takes the schedules of a result.\n"
      "Without one all known outlines are tried. 'chorale frontier' begins with these, too.\n" +
          kPlainExitCodes +
          "examples:\n  chorale compose dgx-a100:2 allgather --max-chunks 2\n"
          "  chorale compose a100:2 allgather --outline \"allgather node, allgather gpu\"");
  auto options = std::make_shared<ComposeCommand>();
  machine_and_collective(sub, options->question);
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
  limits(sub, options->limits, " and keep what was found");
  progress(sub, options->progress);
  sub->final_callback([options, sub, &parsed] {
    // Not given, the most is the least: one chunk count, by default one chunk.
    if (sub->count("--max-chunks") == 0)
      options->options.max_chunks = std::max(1, options->options.min_chunks);
    require_consistent({.min_chunks = options->options.min_chunks, .max_chunks = options->options.max_chunks},
                       flag_of);
    parsed = *options;
  });
}

// For results and for rankings: options that are of results only are refused when the file is read
// (cli/ranking_file.cpp).
void check_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "check", "Verify a result file or a ranking again, trusting nothing in it",
              "exit codes: 0 all accepted, 2 a fault or bad input, 3 undecided within the limits, "
              "130 interrupted\nexamples:\n  chorale check f.json\n"
              "  chorale frontier hub:4 broadcast --no-bounds --proofs proofs --json h.json\n"
              "  chorale check h.json --proofs proofs\n"
              "  chorale check h.json --lrat lrat\n"
              "  chorale check f.json --pb pb\n"
              "  chorale place a100:2 --axes data=2,tensor=16 --reduce data \\\n"
              "    --bytes 1G --json p.json\n"
              "  chorale check p.json");
  auto options = values_of<CheckCommand>(sub, parsed);
  argument(sub, "result", options->file, "FILE", "A result file, or a ranking that 'place --json' wrote");
  text(sub, "--proofs", options->proofs, "DIR",
       "Read kept proofs from there; what is not there is refuted again");
  text(sub, "--lrat", options->lrat, "DIR",
       "Write each refuted formula there, and its proof in LRAT for a verified checker");
  text(sub, "--pb", options->pb, "DIR", "The same of bounds, as pseudo-Boolean formulas and proofs");
  choice<PbFormat>(sub, "--pb-format", options->pb_format, {{"1.2", PbFormat::V1_2}, {"2.0", PbFormat::V2_0}},
                   "Version of VeriPB's proof format (2.0); VeriPB of 2022 reads 1.2");
  value(sub, "--plain-conflicts", "N",
        "Try each refutation from the plain formula first, for N conflicts (" +
            std::to_string(PlainEffort{}.conflicts) + "); 0: never",
        [options](const Text& t) {
          options->plain_conflicts = parse_integer("--plain-conflicts", t, 0, INT64_MAX);
        });
  conflicts(sub, options->conflicts);
  limits(sub, options->limits, " and report what was checked");
  sub->add_flag("--all", options->all, "List every fault on standard output, not only the first");
  file_to_write(sub, "--json", options->json, "Write what was checked there, and every fault");
}

void show_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(app, "show", "Print a result or a ranking step by step, or as an HTML report",
                                kPlainExitCodes +
                                    "examples:\n  chorale show f.json --point 1\n  chorale show f.json "
                                    "--html f.html\n  chorale show f.json --sizes 1K:1G:32");
  auto options = std::make_shared<ShowCommand>();
  argument(sub, "result", options->file, "FILE", "A result file, or a ranking that 'place --json' wrote");
  file_to_write(sub, "--html", options->html,
                "Write one self-contained page instead: the machine, the schedules, the frontier");
  integer(sub, "--point", options->point, 0, INT_MAX, "N", "Only the point of this number");
  size_model(sub, options->model);
  sizes(sub, options->bytes,
        "Print the fastest point for messages of these sizes instead, as 'frontier --sizes'");
  file_to_write(sub, "--json", options->json, "Write that there, too");
  limits(sub, options->limits, "");
  sub->final_callback([sub, options, &parsed] {
    only_for(sub, {"--json"}, !options->bytes.empty(), "--sizes");
    parsed = *options;
  });
}

// The topology is optional for CLI11, since `classic list` has none; the callback requires it otherwise.
void classic_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "classic", "A baseline (ring, tree, ...) as a result, for comparison",
      kPlainExitCodes +
          "examples:\n  chorale classic list\n  chorale classic ring_allreduce dgx1 --json ring.json");
  auto options = std::make_shared<ClassicCommand>();
  argument(sub, "name", options->question.name, "NAME|list", "An algorithm, or 'list'");
  text(sub, "topology", options->topology, "TOPOLOGY", "A machine ('chorale topology list') or a JSON file");
  integer(sub, "--chunks", options->question.chunks, 1, kMostChunks, "C",
          "Pieces of a block (the fewest that use all links which the algorithm uses at once)");
  machine_changes(sub, options->changes);
  root(sub, "--root", options->question.root);
  result_file(sub, options->json);
  limits(sub, options->limits, "");
  sub->final_callback([options, &parsed] {
    if (options->question.name == "list" && !options->topology.empty())
      throw InputError("classic list", "takes no machine", "leave '" + options->topology + "' out");
    if (options->question.name != "list" && options->topology.empty())
      throw InputError("classic " + options->question.name.substr(0, 60), "no machine is given",
                       "use 'chorale classic NAME TOPOLOGY'");
    parsed = *options;
  });
}

void bounds_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(app, "bounds", "What no schedule can beat, with certificates",
                                kPlainExitCodes + "example:\n  chorale bounds dgx1 allgather --chunks 6");
  auto options = values_of<BoundsCommand>(sub, parsed);
  machine_and_collective(sub, options->question);
  integer(sub, "--chunks", options->asked.chunks, 1, kMostChunks, "C", "Chunks of a block (1)");
  integer(sub, "--steps", options->asked.steps, 1, kMostSteps, "S", "Also for at most S steps");
  limits(sub, options->limits, " and print the bounds that were found");
}

}  // namespace chorale
