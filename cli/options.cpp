// The only file that knows the option library. Numbers are parsed by cli/parse.h: CLI11 would take "010"
// for 8.
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <sstream>

#include "cli/parse.h"
#include "ir/collective.h"
#include "ir/error.h"

namespace chorale {
namespace {

constexpr const char* kVersion = "chorale 0.1.0";
constexpr const char* kSeeHelp = "see 'chorale --help'";
// More chunks a block than any network could fill; beyond, formulas do not fit into memory anyway.
constexpr int kMostChunks = 4096;
constexpr int kMostSteps = 100'000;
constexpr int kMostRank = 1'000'000;

constexpr const char* kExitCodes =
    "exit codes: 0 found and verified, 20 proven impossible, 3 undecided within the limits, 130 interrupted, "
    "2 bad input";

using Text = std::string;

void text(CLI::App* app, const Text& name, Text& target, const Text& what, const Text& help) {
  app->add_option(name, target, help)->type_name(what)->option_text(what);
}

template <typename Target>
void integer(CLI::App* app, const Text& name, Target& target, std::int64_t least, std::int64_t most,
             const Text& what, const Text& help) {
  app->add_option_function<Text>(
         name,
         [=, &target](const Text& t) { target = static_cast<int>(parse_integer(name, t, least, most)); },
         help)
      ->option_text(what);
}

void positive(CLI::App* app, const Text& name, std::optional<double>& target, const Text& what,
              const Text& help) {
  app->add_option_function<Text>(
         name, [=, &target](const Text& t) { target = parse_positive(name, t); }, help)
      ->option_text(what);
}

void duration(CLI::App* app, const Text& name, std::chrono::milliseconds& target, const Text& help) {
  app->add_option_function<Text>(
         name, [=, &target](const Text& t) { target = parse_duration(name, t); }, help)
      ->option_text("T");
}

void conflicts(CLI::App* app, std::int64_t& target) {
  app->add_option_function<Text>(
         "--conflicts", [&](const Text& t) { target = parse_integer("--conflicts", t, 0, INT64_MAX); },
         "Give up a question to a solver after N conflicts: a limit that is the same on every machine")
      ->option_text("N");
}

// One of the names; the message lists them.
template <typename Value>
void choice(CLI::App* app, const Text& name, Value& target, const std::vector<std::pair<Text, Value>>& values,
            const Text& help) {
  Text known;
  for (const auto& [n, unused] : values) known += (known.empty() ? "" : ", ") + n;
  app->add_option_function<Text>(
         name,
         [=, &target](const Text& t) {
           for (const auto& [n, value] : values)
             if (n == t) {
               target = value;
               return;
             }
           throw InputError(name, "unknown value '" + t.substr(0, 60) + "'", "use one of " + known);
         },
         help)
      ->option_text(known);
}

CLI::App* command(CLI::App& app, const Text& name, const Text& help, const Text& examples) {
  CLI::App* const sub = app.add_subcommand(name, help);
  sub->footer(examples);
  return sub;
}

void machine_and_communication(CLI::App* app, Text& topology, Text& collective, int& root) {
  app->add_option("topology", topology, "A machine ('chorale topology list') or a JSON file")
      ->required()
      ->option_text("TOPOLOGY");
  Text names;
  for (const Text& name : collective_names()) names += (names.empty() ? "" : ", ") + name;
  app->add_option("collective", collective, "One of " + names + ", or a JSON file")
      ->required()
      ->option_text("COLLECTIVE");
  integer(app, "--root", root, 0, kMostRank, "N", "Rank that broadcasts, scatters, gathers or reduces (0)");
}

void search_settings(CLI::App* app, SearchSettings& search) {
  machine_and_communication(app, search.topology, search.collective, search.root);
  app->add_flag_callback(
      "--no-bounds", [&] { search.use_bounds = false; },
      "Let the solver refute what a bound would have refuted: slower, for comparison");
  app->add_flag_callback(
      "--no-symmetry", [&] { search.use_symmetry = false; },
      "Do not look for symmetric schedules first: slower, for comparison");
  conflicts(app, search.conflicts);
  duration(app, "--time-limit", search.time_limit,
           "Stop after T (30, 500ms, 5m, 1h) and keep what was found, marked unproven");
  integer(app, "--seed", search.seed, 0, INT_MAX, "N",
          "Seed of the solver (0); the same seed gives the same result");
  text(app, "--json", search.json, "FILE", "Write the result there, for check, show and run");
  text(app, "--proofs", search.proofs, "DIR", "Keep the proofs of refutations there, named by their SHA-256");
  app->add_flag("--progress", search.progress, "Show progress on standard error even if it is no terminal");
}

void size_model(CLI::App* app, SizeModel& model) {
  positive(app, "--alpha", model.alpha_us, "US",
           "Microseconds that a step costs (those of the machine's worst link)");
  positive(app, "--beta", model.beta_us_per_byte, "US_PER_BYTE",
           "Microseconds a byte over one unit of bandwidth (those of the machine's worst link)");
}

void topology_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(app, "topology", "List the machines, or show one",
                                "examples:\n  chorale topology list\n  chorale topology show dgx1\n"
                                "  chorale topology show torus:4x4 --dot | neato -Tsvg > torus.svg\n"
                                "  chorale topology show dgx2 --json > mine.json");
  sub->require_subcommand(1);
  auto options = std::make_shared<TopologyCommand>();
  CLI::App* const list = sub->add_subcommand("list", "The machines that are built in");
  list->final_callback([options, &parsed] { parsed = *options; });
  CLI::App* const show = sub->add_subcommand("show", "One machine: its links, limits, degrees, diameter");
  show->add_option("machine", options->name, "A machine ('chorale topology list') or a JSON file")
      ->required()
      ->option_text("NAME|FILE");
  using Form = TopologyCommand::Form;
  CLI::Option* const dot = show->add_flag_callback(
      "--dot", [options] { options->form = Form::Dot; }, "As a Graphviz drawing");
  show->add_flag_callback(
          "--json", [options] { options->form = Form::Json; }, "In the format that is read back")
      ->excludes(dot);
  show->final_callback([options, &parsed] { parsed = *options; });
}

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
      sub, "--engine", options->engine,
      {{"sat", Engine::Sat}, {"smt", Engine::Smt}, {"sat-partition", Engine::SatPartition}},
      "sat: ours; smt: SCCL's encoding in Z3; sat-partition: one formula for each split of the rounds");
  integer(sub, "--chunks", options->chunks, 1, kMostChunks, "C", "Chunks of a block (1)");
  integer(sub, "--steps", options->steps, 1, kMostSteps, "S", "At most S steps");
  integer(sub, "--rounds", options->rounds, 1, kMostSteps, "R", "At most R rounds over all steps");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

void frontier_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "frontier", "Find all best trades of latency against bandwidth, each with its proof",
              Text(kExitCodes) +
                  "\nexamples:\n  chorale frontier dgx1 allgather --max-chunks 6 --json f.json\n"
                  "  chorale frontier torus:4x4 allreduce --max-chunks 4 --time-limit 5m --jobs 2");
  auto options = std::make_shared<FrontierCommand>();
  search_settings(sub, options->search);
  integer(sub, "--max-chunks", options->max_chunks, 1, kMostChunks, "C", "Try 1 to C chunks a block (1)");
  integer(sub, "--min-chunks", options->min_chunks, 1, kMostChunks, "C", "Start with C chunks a block (1)");
  integer(sub, "--k", options->extra_rounds, 0, kMostSteps, "K",
          "Only schedules with at most steps + K rounds");
  integer(sub, "--max-steps", options->max_steps, 1, kMostSteps, "S", "Only schedules of at most S steps");
  integer(sub, "--jobs", options->jobs, 1, 256, "J", "Search J chunk counts side by side (1)");
  size_model(sub, options->model);
  sub->add_flag("--all", options->all, "List the points that others dominate, too");
  sub->final_callback([options, &parsed] {
    if (options->min_chunks > options->max_chunks)
      throw InputError("--min-chunks", "is larger than --max-chunks", "give --max-chunks as well");
    parsed = *options;
  });
}

void check_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "check", "Verify a result file again, trusting nothing in it",
              "exit codes: 0 all accepted, 2 a fault or bad input, 3 undecided within the limits, "
              "130 interrupted\nexample:\n  chorale check f.json --proofs proofs/");
  auto options = std::make_shared<CheckCommand>();
  sub->add_option("result", options->file, "A result file")->required()->option_text("FILE");
  text(sub, "--proofs", options->proofs, "DIR",
       "Read kept proofs from there; what is not there is refuted again");
  conflicts(sub, options->conflicts);
  duration(sub, "--time-limit", options->time_limit, "Give up a refutation after T (30, 500ms, 5m, 1h)");
  sub->add_flag("--all", options->all, "List every fault on standard output, not only the first");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

void show_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "show", "Print a result step by step, or as a page to look at",
              "examples:\n  chorale show f.json --point 2\n  chorale show f.json --html f.html");
  auto options = std::make_shared<ShowCommand>();
  sub->add_option("result", options->file, "A result file")->required()->option_text("RESULT");
  text(sub, "--html", options->html, "FILE",
       "Write one self-contained page: the machine, the schedules, the frontier");
  integer(sub, "--point", options->point, 0, INT_MAX, "N", "Only the point of this number");
  size_model(sub, options->model);
  sub->final_callback([options, &parsed] { parsed = *options; });
}

void types_and_ops(CLI::App* sub, std::vector<ElementType>& types, std::vector<ReduceOp>& ops,
                   const Text& type_names = "--type", const Text& op_names = "--op") {
  using Type = ElementType;
  using Op = ReduceOp;
  choice<std::vector<Type>>(sub, type_names, types,
                            {{"float", {Type::Float32}},
                             {"double", {Type::Float64}},
                             {"half", {Type::Float16}},
                             {"bfloat16", {Type::Bfloat16}},
                             {"int8", {Type::Int8}},
                             {"uint8", {Type::Uint8}},
                             {"int", {Type::Int32}},
                             {"uint32", {Type::Uint32}},
                             {"long", {Type::Int64}},
                             {"uint64", {Type::Uint64}},
                             {"int32", {Type::Int32}},
                             {"int64", {Type::Int64}},
                             {"all",
                              {Type::Float32, Type::Float64, Type::Float16, Type::Bfloat16, Type::Int8,
                               Type::Uint8, Type::Int32, Type::Uint32, Type::Int64, Type::Uint64}}},
                            "Type of the elements (float)");
  choice<std::vector<Op>>(sub, op_names, ops,
                          {{"sum", {Op::Sum}},
                           {"prod", {Op::Prod}},
                           {"min", {Op::Min}},
                           {"max", {Op::Max}},
                           {"avg", {Op::Avg}},
                           {"all", {Op::Sum, Op::Prod, Op::Min, Op::Max, Op::Avg}}},
                          "How contributions are combined (sum)");
}

void accumulation(CLI::App* app, Accumulation& target) {
  choice<Accumulation>(app, "--accumulate", target,
                       {{"type", Accumulation::OwnType}, {"float32", Accumulation::Float32}},
                       "How halves are added: in their own type, rounded after each operation, or in float32 "
                       "and rounded once, which sends twice the bytes (type)");
}

void run_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "run", "Execute schedules on real data and check every element",
              "exit codes: 0 all elements right, 1 some wrong, 2 bad input\n"
              "examples:\n  chorale run f.json --bytes 1K:64M:4\n"
              "  mpirun -n 8 chorale run f.json --bytes 1K:1M:32 --transport mpi --point all");
  auto options = std::make_shared<RunCommand>();
  sub->add_option("result", options->file, "A result file")->required()->option_text("RESULT");
  sub->add_option_function<Text>(
         "--bytes", [options](const Text& t) { options->bytes = parse_sizes("--bytes", t); },
         "Sizes of a block: 64K, a list 1K,3000,1M, or a range from:to:factor (1K:1M:32)")
      ->option_text("SIZES");
  using Transport = RunCommand::Transport;
  choice<Transport>(sub, "--transport", options->transport,
                    {{"threads", Transport::Threads},
                     {"mpi", Transport::Mpi},
                     {"nccl", Transport::Nccl},
                     {"kernel", Transport::Kernel}},
                    "Ranks are threads of this process, or processes started by mpirun, or those with a GPU "
                    "each, or thread "
                    "blocks of the kernel for GPUs, on threads (threads)");
  types_and_ops(sub, options->types, options->ops);
  accumulation(sub, options->accumulation);
  sub->add_flag("--in-place", options->in_place,
                "Input and output share memory, as NCCL and MPI_IN_PLACE have it");
  sub->add_option_function<Text>(
         "--point",
         [options](const Text& t) {
           options->all_points = t == "all";
           if (!options->all_points)
             options->point = static_cast<int>(parse_integer("--point", t, 0, INT_MAX));
         },
         "The point of this number, or all of the frontier (for each size the one that should be the "
         "fastest)")
      ->option_text("N|all");
  integer(sub, "--warmup", options->warmup, 0, 1'000'000, "N", "Runs before the measured ones (1)");
  integer(sub, "--iterations", options->iterations, 1, 1'000'000, "N", "Measured runs (5)");
  duration(sub, "--time-limit", options->time_limit,
           "Give up when a rank waits for another longer than T (60)");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

void classic_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "classic", "A hand-written algorithm as a result, for comparison",
              "examples:\n  chorale classic list\n  chorale classic ring_allreduce dgx1 --json ring.json");
  auto options = std::make_shared<ClassicCommand>();
  sub->add_option("name", options->name, "An algorithm, or 'list'")->required()->option_text("NAME|list");
  sub->add_option("topology", options->topology, "A machine ('chorale topology list') or a JSON file")
      ->option_text("TOPOLOGY");
  integer(sub, "--chunks", options->chunks, 1, kMostChunks, "C",
          "Pieces of a block (the fewest that use all links which the algorithm uses at once)");
  integer(sub, "--root", options->root, 0, kMostRank, "N",
          "Rank that broadcasts, scatters, gathers or reduces (0)");
  text(sub, "--json", options->json, "FILE", "Write the result there, for check, show and run");
  sub->final_callback([options, &parsed] {
    if (options->name == "list" && !options->topology.empty())
      throw InputError("classic list", "takes no machine", "leave '" + options->topology + "' out");
    if (options->name != "list" && options->topology.empty())
      throw InputError("classic " + options->name.substr(0, 60), "no machine is given",
                       "use 'chorale classic NAME TOPOLOGY'");
    parsed = *options;
  });
}

void bounds_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(app, "bounds", "What no schedule can beat, with certificates",
                                "example:\n  chorale bounds dgx1 allgather --chunks 6");
  auto options = std::make_shared<BoundsCommand>();
  machine_and_communication(sub, options->topology, options->collective, options->root);
  integer(sub, "--chunks", options->chunks, 1, kMostChunks, "C", "Chunks of a block (1)");
  integer(sub, "--steps", options->steps, 1, kMostSteps, "S", "Also for at most S steps");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

void emit_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "emit", "Write algorithms for other runtimes",
      "targets: cuda (a directory: one kernel over peer memory, with programs that run and check it), "
      "msccl-xml (executors of MSCCL, ASTRA-sim), mscclpp (execution plans of MSCCL++), mpi "
      "(one C++ file that checks itself), nccl (one CUDA file that checks itself), json "
      "(docs/formats.md), dot (Graphviz), html (the page of 'show --html', of all points or of one)\n"
      "What a target cannot express is said, and nothing is written for it.\n"
      "exit codes: 0 all written, 2 bad input, or something that the target cannot express\n"
      "example:\n  chorale emit f.json --target mpi -o out");
  auto options = std::make_shared<EmitCommand>();
  sub->add_option("result", options->file, "A result file")->required()->option_text("RESULT");
  using Target = EmitCommand::Target;
  choice<Target>(sub, "--target", options->target,
                 {{"cuda", Target::Cuda},
                  {"msccl-xml", Target::MscclXml},
                  {"mscclpp", Target::Mscclpp},
                  {"json", Target::Json},
                  {"dot", Target::Dot},
                  {"mpi", Target::Mpi},
                  {"nccl", Target::Nccl},
                  {"html", Target::Html}},
                 "What to write (msccl-xml)");
  text(sub, "-o,--output", options->directory, "DIR", "Directory for the files (.)");
  sub->add_option_function<Text>(
         "--point",
         [options](const Text& t) {
           options->point = static_cast<int>(parse_integer("--point", t, 0, INT_MAX));
         },
         "Only the point of this number (all of the frontier)")
      ->option_text("N");
  integer(sub, "--channels", options->channels, 1, 32, "N", "Channels to spread over (1)");
  integer(sub, "--most-steps", options->most_steps, 4, 4096, "N",
          "Steps that an MSCCL or MSCCL++ executor loads for a block (64)");
  const auto size = [&](const Text& name, std::int64_t& target, const Text& help) {
    sub->add_option_function<Text>(
           name, [name, &target](const Text& t) { target = parse_size(name, t); }, help)
        ->option_text("SIZE");
  };
  sub->add_flag("--epilogue", options->epilogue,
                "With a place for a function of the caller's on every sum (json, dot), and who applies it");
  sub->add_flag("--in-place", options->in_place,
                "MSCCL++ plans for input and output in the same memory (the other targets say themselves)");
  size("--min-bytes", options->min_bytes, "Smallest size for which an MSCCL executor is to choose it (0)");
  size("--max-bytes", options->max_bytes, "Largest such size; 0: any (0)");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

void bench_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "bench", "Compare algorithms under mpirun, with the columns and conventions of nccl-tests",
      "ALGORITHM is mpi (the MPI library's own), a hand-written one ('chorale classic list': "
      "ring_allreduce, or ring), or a "
      "result file, of which the point that should be fastest is taken for each size.\n"
      "Sizes are nccl-tests': the largest buffer of a rank. Times are medians, out of place and in place "
      "(input and output in one memory; MPI_IN_PLACE).\n"
      "exit codes: 0 all elements right, 1 some wrong, 2 bad input\n"
      "example:\n  mpirun -n 4 chorale bench allreduce mpi ring two_tree f.json -b 1K -e 1M -f 4");
  auto options = std::make_shared<BenchCommand>();
  sub->add_option("collective", options->collective, "A collective")->required()->option_text("COLLECTIVE");
  sub->add_option("algorithms", options->algorithms, "What to compare (mpi, or with --gpu nccl)")
      ->option_text("ALGORITHM ...");
  sub->add_flag("--gpu", options->gpus, "A GPU a process: algorithms run over NCCL; 'nccl' is NCCL's own");
  const auto size = [&](const Text& name, std::int64_t& target, const Text& help) {
    sub->add_option_function<Text>(
           name, [name, &target](const Text& t) { target = parse_size(name, t); }, help)
        ->option_text("SIZE");
  };
  size("-b,--minbytes", options->from, "Smallest size (1K)");
  size("-e,--maxbytes", options->to, "Largest size (1M)");
  integer(sub, "-f,--stepfactor", options->factor, 2, 1024, "N", "Each size is N times the one before (2)");
  integer(sub, "-n,--iters", options->iterations, 1, 1'000'000, "N", "Timed runs (20)");
  integer(sub, "-w,--warmup_iters", options->warmup, 0, 1'000'000, "N", "Runs before them (5)");
  size("-i,--stepbytes", options->step, "Each size is so much more than the one before, instead");
  sub->add_option_function<Text>(
         "-c,--check", [options](const Text& t) { options->check = parse_integer("-c", t, 0, 1) == 1; },
         "Check every element (1)")
      ->option_text("0|1");
  types_and_ops(sub, options->types, options->ops, "-d,--datatype,--type", "-o,--op");
  accumulation(sub, options->accumulation);
  integer(sub, "-r,--root", options->root, 0, kMostRank, "N",
          "Rank that broadcasts, scatters, gathers or reduces (0)");
  duration(sub, "--time-limit", options->time_limit,
           "Give up when a rank waits for another longer than T (60)");
  text(sub, "--json", options->json, "FILE", "Write the rows there");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

void program_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(app, "program", "Judge a lowered program, ours or others', and run it",
                                "FILE is MSCCL XML, what 'emit --target json' writes, or an execution plan "
                                "of MSCCL++. Every mode that it claims is refereed: the first two with "
                                "queues of 1, 2, 4 and 8 messages, a plan for launches in a row.\n"
                                "exit codes: 0 right, 1 some element wrong, 2 bad input or a wrong "
                                "program, 4 right only if relaxed signals order data\n"
                                "examples:\n  chorale program allreduce.xml --bytes 1K:1M:32\n"
                                "  chorale program allreduce.xml --topology dgx1 --bytes 1M");
  auto options = std::make_shared<ProgramCommand>();
  sub->add_option("file", options->file, "A program")->required()->option_text("FILE");
  sub->add_option_function<Text>(
         "--bytes", [options](const Text& t) { options->bytes = parse_sizes("--bytes", t); },
         "Run it on threads with blocks of these sizes: 64K, 1K,3000,1M, or 1K:1M:32")
      ->option_text("SIZES");
  text(sub, "--topology", options->topology, "MACHINE",
       "Estimate its time there instead of running it, link by link; 1M if there is no --bytes");
  types_and_ops(sub, options->types, options->ops);
  accumulation(sub, options->accumulation);
  integer(sub, "--depth", options->queue_depth, 1, 64, "N", "Messages that a queue holds when it runs (2)");
  integer(sub, "--iterations", options->iterations, 1, 1'000'000, "N", "Measured runs (5)");
  duration(sub, "--time-limit", options->time_limit, "Give up when a block waits longer than T (60)");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

void hierarchy_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "hierarchy", "List the hierarchical machines, or show one",
              "examples:\n  chorale hierarchy list\n  chorale hierarchy show a100:4 --json");
  auto options = std::make_shared<HierarchyCommand>();
  sub->require_subcommand(1);
  CLI::App* const list = sub->add_subcommand("list", "The built-in hierarchies");
  list->final_callback([options, &parsed] { parsed = *options; });
  CLI::App* const show = sub->add_subcommand("show", "One hierarchy");
  show->add_option("name", options->name, "A hierarchy or a JSON file")->required()->option_text("NAME|FILE");
  show->add_flag("--json", options->json, "As a file to edit (docs/formats.md)");
  show->final_callback([options, &parsed] { parsed = *options; });
}

void place_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "place", "Where to put parallel axes on a hierarchy, and how to reduce over them",
      "exit codes: 0 ranked, 3 not all placements were priced, 130 interrupted (what was priced is ranked), "
      "2 bad input\n"
      "examples:\n"
      "  chorale place a100:4 --axes data=4,tensor=16 --reduce tensor --bytes 4GB --algo ring\n"
      "  chorale place h100:16 --job examples/gpt3-175b.json --inside tensor=node --html p.html");
  auto options = std::make_shared<PlaceCommand>();
  sub->add_option("hierarchy", options->hierarchy, "A hierarchy ('chorale hierarchy list') or a JSON file")
      ->required()
      ->option_text("HIERARCHY");
  text(sub, "--axes", options->axes, "NAME=N,...",
       "Parallel axes; their sizes multiply to the number of devices");
  text(sub, "--reduce", options->reduce, "NAME,...", "The axes that are summed over");
  sub->add_option_function<Text>(
         "--bytes",
         [options](const Text& t) { options->bytes = static_cast<double>(parse_size("--bytes", t)); },
         "What every device contributes")
      ->option_text("SIZE");
  text(sub, "--job", options->job, "FILE",
       "Axes and weighted reductions from a file, instead of these three");
  const std::map<Text, Algorithm> algorithms = {
      {"ring", Algorithm::Ring}, {"tree", Algorithm::Tree}, {"auto", Algorithm::Auto}};
  sub->add_option("--algo", options->algorithm, "How an AllReduce is done (auto: the faster one)")
      ->transform(CLI::Transformer(algorithms))
      ->check(CLI::IsMember({0, 1, 2}))
      ->option_text("ring, tree, auto");
  const std::map<Text, Rules> rules = {{"paper", Rules::Paper}, {"full", Rules::Full}};
  sub->add_option("--rules", options->rules,
                  "paper: strategies without detours, as Xie et al. count them; full: all valid")
      ->transform(CLI::Transformer(rules))
      ->check(CLI::IsMember({0, 1}))
      ->option_text("paper, full");
  integer(sub, "--top", options->top, 1, 1'000'000, "N", "Matrices to list (10)");
  integer(sub, "--strategies", options->strategies, 1, 10'000, "N", "Strategies to list for each (1)");
  sub->add_option("--inside", options->inside, "The axis stays inside one unit of the level")
      ->option_text("AXIS=LEVEL ...");
  sub->add_option("--order", options->order, "The first axis lies nowhere outside of the second")
      ->option_text("AXIS<AXIS ...");
  sub->add_option("--memory", options->memory,
                  "A unit of the level has room for its different shards of the axes, of so many bytes each")
      ->option_text("LEVEL:AXIS,...:BYTES:ROOM ...");
  sub->add_flag("--sat", options->by_sat, "Find the matrices by SAT instead of enumeration");
  sub->add_flag("--explain", options->explain, "Say for every step how long it takes and which link binds");
  duration(sub, "--time-limit", options->time_limit,
           "Stop after T (30, 500ms, 5m, 1h) and rank what was priced");
  sub->add_flag("--progress", options->progress, "Show progress on standard error even if it is no terminal");
  text(sub, "--json", options->json, "FILE", "Write the ranking there");
  text(sub, "--html", options->html, "FILE", "Write a page that draws the groups of every step");
  sub->final_callback([options, &parsed] { parsed = *options; });
}

int edit_distance(const Text& a, const Text& b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j)
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, diagonal + (a[i] != b[j])}));
  }
  return row.back();
}

// CLI11 would only say that an argument was not expected.
void require_known_command(const CLI::App& app, const Text& first) {
  Text nearest;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name() == first) return;
    if (nearest.empty() || edit_distance(first, sub->get_name()) < edit_distance(first, nearest))
      nearest = sub->get_name();
  }
  const bool near = edit_distance(first, nearest) <= 3;
  throw InputError("'" + first.substr(0, 60) + "'", "unknown command",
                   near ? "did you mean '" + nearest + "'?" : Text(kSeeHelp));
}

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  Command parsed;
  CLI::App app("Provably best collective communication algorithms for your machine.", "chorale");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  topology_options(app, parsed);
  synthesize_options(app, parsed);
  frontier_options(app, parsed);
  check_options(app, parsed);
  show_options(app, parsed);
  run_options(app, parsed);
  classic_options(app, parsed);
  bounds_options(app, parsed);
  hierarchy_options(app, parsed);
  place_options(app, parsed);
  emit_options(app, parsed);
  program_options(app, parsed);
  bench_options(app, parsed);
  if (argc > 1 && argv[1][0] != '-') require_known_command(app, argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::ostringstream out, unused;
    app.exit(help, out, unused);
    return Message{out.str()};
  } catch (const CLI::ParseError& error) {
    throw InputError("command line", error.what(), kSeeHelp);
  }
  return parsed;
}

}  // namespace chorale
