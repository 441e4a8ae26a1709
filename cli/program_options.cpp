// Commands that run, verify and write programs.
#include "cli/option_kinds.h"

namespace chorale {
namespace {

void only_point(CLI::App* sub, std::optional<int>& point) {
  integer(sub, "--point", point, 0, INT_MAX, "N", "Only the point of this number (all of the frontier)");
}

// Names are those of nccl-tests and, for integers, those of Chorale's files as well. "all" measures one after
// the other. `bench` spells the options as nccl-tests does, so their names are the caller's.
void types_and_ops(CLI::App* sub, RunOptions& options, const Text& type_names = "--type",
                   const Text& op_names = "--op") {
  using Type = ElementType;
  using Op = ReduceOp;
  choice<std::vector<Type>>(sub, type_names, options.types,
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
  std::vector<std::pair<Text, std::vector<Op>>> ops;
  std::vector<Op> all;
  for (int i = 0; i < kReduceOps; ++i) {
    all.push_back(static_cast<Op>(i));
    ops.push_back({to_string(all.back()), {all.back()}});
  }
  ops.push_back({"all", all});
  choice<std::vector<Op>>(sub, op_names, options.ops, ops, "How contributions are combined (sum)");
}

}  // namespace

void run_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "run", "Execute schedules on real data and check every element",
              "exit codes: 0 all elements right, 1 some wrong, 2 bad input, 3 out of time or memory, 130 "
              "interrupted\n"
              "examples:\n  chorale run f.json --sizes 1K:64M:4\n"
              "  mpirun --oversubscribe -n 8 chorale run f.json --transport mpi --point all");
  auto options = values_of<RunCommand>(sub, parsed);
  argument(sub, "result", options->file, "RESULT", "A result file");
  sizes(sub, options->options.bytes,
        "Sizes of messages, as nccl-tests counts them: 64K, a list 1K,3000,1M, or a range from:to:factor "
        "(1K:1M:32)");
  std::vector<std::pair<Text, Executor>> executors;
  std::vector<Text> ranks;
  for (const ExecutorEntry& each : known_executors()) {
    executors.emplace_back(each.name, each.executor);
    ranks.emplace_back(each.ranks);
  }
  choice<Executor>(sub, "--transport", options->transport, executors,
                   "What ranks are: " + joined(ranks) + " (threads)");
  types_and_ops(sub, options->options);
  by_rows(sub, run_rows(), options->options);
  sub->add_flag("--in-place", options->in_place,
                "Input and output share memory, as NCCL and MPI_IN_PLACE have it");
  text(sub, "--epilogue", options->epilogue, "FILE",
       "A function that follows every sum (docs/formats.md, 'An epilogue'), over tensors of test numbers");
  value(sub, "--point", "N|all",
        "The point of this number, or all of the frontier (for each size the one that should be the fastest)",
        [options](const Text& t) {
          options->all_points = t == "all";
          if (!options->all_points)
            options->point = static_cast<int>(parse_integer("--point", t, 0, INT_MAX));
        });
  limits(sub, options->limits, " and print what was measured");
}

// Targets are rows of api/compile.h, which have their form: a program that checks itself, a plan, thread
// blocks, messages that a simulator replays. An option that only some forms have is refused for the others,
// below. "html" is the page and no program, and so no target.
void emit_options(CLI::App& app, Command& parsed) {
  std::vector<std::pair<Text, std::optional<Target>>> targets;
  Text descriptions;
  for (const TargetEntry& each : known_targets()) {
    targets.push_back({each.name, each.target});
    descriptions += each.name + " (" + each.description + "), ";
  }
  targets.push_back({"html", std::nullopt});
  CLI::App* const sub = command(
      app, "emit", "Write algorithms for other runtimes",
      "targets: " + descriptions +
          "html (the page of 'show --html', of all points or of one)\n"
          "A point that a target cannot express is not written: standard error has a line with the reason, "
          "and the other points are written.\n"
          "exit codes: 0 all written, 2 bad input, or something that the target cannot express, 3 out of "
          "time or memory, 130 interrupted (nothing is written)\n"
          "example:\n  chorale emit f.json --target mpi -o out");
  auto options = std::make_shared<EmitCommand>();
  argument(sub, "result", options->file, "RESULT", "A result file");
  choice<std::optional<Target>>(sub, "--target", options->target, targets, "What to write (msccl-xml)");
  text(sub, "-o,--output", options->directory, "DIR", "Directory for the files, made if it is not there (.)");
  only_point(sub, options->point);
  by_rows(sub, compile_rows(), options->options);
  // With a value or without: an epilogue that is only a slot has no expression.
  sub->add_option_function<std::vector<Text>>(
         "--epilogue",
         [options](const std::vector<Text>& file) {
           options->options.epilogue.emplace();
           if (!file.empty()) options->epilogue = file.front();
         },
         "With the function in FILE on every sum (docs/formats.md, 'An epilogue'), and the "
         "instructions that apply it; without FILE, with a slot for a function (json, dot)")
      ->expected(0, 1)
      ->option_text("[FILE]");
  limits(sub, options->limits, "");
  sub->final_callback([sub, options, &parsed] {
    const std::optional<Target> target = options->target;
    const auto is = [&](TargetForm form) { return target && entry_of(*target).form == form; };
    only_for(sub, {"--in-place"}, target == Target::Mscclpp,
             "--target mscclpp; the others choose it themselves");
    only_for(sub, {"--channels"}, is(TargetForm::Blocks), "--target " + names_of(TargetForm::Blocks));
    only_for(sub, {"--epilogue"}, target.has_value(), "targets that are programs");
    only_for(sub, {"--most-steps", "--min-bytes", "--max-bytes"}, is(TargetForm::Plan),
             "--target " + names_of(TargetForm::Plan));
    only_for(sub, {"--bytes"}, is(TargetForm::Replayed), "targets that a simulator replays");
    parsed = *options;
  });
}

void simulate_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "simulate", "Times by SimGrid, a simulator of others, beside what is predicted",
      "Writes what 'emit --target simgrid' writes into a temporary directory and replays it with "
      "smpirun\n(Debian: libsimgrid-dev). Sizes are those of messages, as nccl-tests counts them.\n"
      "exit codes: 0 simulated, 2 bad input, or no smpirun, 3 out of time or memory, 130 interrupted\n"
      "example:\n  chorale simulate f.json --sizes 1K:64M:8");
  auto options = values_of<SimulateCommand>(sub, parsed);
  argument(sub, "result", options->file, "RESULT", "A result file");
  sizes(sub, options->sizes, "Bytes of messages: 64K, 1K,3000, or from:to:factor (1K:1G:32)");
  only_point(sub, options->point);
  file_to_write(sub, "--json", options->json, "Write the table there");
  limits(sub, options->limits, " and print what was simulated");
  progress(sub, options->progress);
}

void alltoallv_options(CLI::App& app, Command& parsed) {
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
}

// `program` verifies any lowered program, so it asks for no point and no collective.
void program_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "program", "Verify a lowered program, Chorale's or another's, and run it",
      "FILE is MSCCL XML, what 'emit --target json' writes, or an execution plan "
      "of MSCCL++. Every mode that it claims is verified: the first two with "
      "queues of 1, 2, 4 and 8 messages, a plan for launches in a row.\n"
      "exit codes: 0 right, 1 some element wrong, 2 bad input or a wrong "
      "program, 3 out of time or memory, 4 right only if relaxed signals order data, 130 interrupted\n"
      "examples:\n"
      "  chorale classic ring_allreduce ring:4 --json ring.json\n"
      "  chorale emit ring.json\n"
      "  chorale program ring_4_allreduce_0.xml --sizes 1K:1M:32\n"
      "  chorale program ring_4_allreduce_0.xml --topology ring:4");
  auto options = std::make_shared<ProgramCommand>();
  argument(sub, "file", options->file, "FILE", "A program");
  sizes(sub, options->options.bytes,
        "Run it on threads with messages of these sizes: 64K, 1K,3000,1M, or 1K:1M:32");
  text(sub, "--topology", options->topology, "MACHINE",
       "Estimate its time there instead of running it, link by link; 1M if there is no --sizes");
  machine_changes(sub, options->changes);
  types_and_ops(sub, options->options);
  integer(sub, "--depth", options->queue_depth, 1, 64, "N", "Messages that a queue holds when it runs (2)");
  by_rows(sub, run_rows(), options->options);
  limits(sub, options->limits, " and report what was verified");
  sub->final_callback([sub, options, &parsed] {
    only_for(sub, {"--type", "--op", "--accumulate", "--depth", "--iterations", "--warmup"},
             !options->options.bytes.empty() && options->topology.empty(),
             "runs, with --sizes and without --topology");
    parsed = *options;
  });
}

// Scripts that call nccl-tests can call this: each option has their short and long name.
void bench_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "bench", "Compare algorithms under mpirun, with the columns and conventions of nccl-tests",
      "ALGORITHM is mpi (the MPI library's own), a baseline ('chorale classic list': ring_allreduce, or "
      "ring), or a result file, of which the point that should be fastest is taken for each size, or each "
      "with --all-points.\n"
      "Sizes are nccl-tests': the largest buffer of a rank. Times are medians, out of place and in place "
      "(input and output in one memory; MPI_IN_PLACE).\n"
      "exit codes: 0 all elements right, 1 some wrong, 2 bad input, 3 out of time or memory, 130 "
      "interrupted\n"
      "The table is as wide as theirs.\n"
      "example:\n"
      "  mpirun --oversubscribe -n 4 chorale bench allreduce mpi ring two_tree -e 64K");
  auto options = values_of<BenchCommand>(sub, parsed);
  argument(sub, "collective", options->collective, "COLLECTIVE", "A collective");
  text(sub, "algorithms", options->algorithms, "ALGORITHM ...", "What to compare (mpi, or with --gpu nccl)");
  sub->add_flag("--gpu", options->gpus, "A GPU a process: algorithms run over NCCL; 'nccl' is NCCL's own");
  size(sub, "-b,--minbytes", options->from, "Smallest size (1K)");
  size(sub, "-e,--maxbytes", options->to, "Largest size (1M)");
  integer(sub, "-f,--stepfactor", options->factor, 2, 1024, "N", "Each size is N times the one before (2)");
  // Copies of the rows under the names of nccl-tests: ranges, defaults and help stay.
  for (OptionRow<RunOptions> row : run_rows()) {
    if (row.words.name == "iterations") row.words.option = "-n,--iters";  // as nccl-tests has them
    if (row.words.name == "warm_up") row.words.option = "-w,--warmup_iters";
    by_row(sub, row, options->options);
  }
  size(sub, "-i,--stepbytes", options->step, "Bytes added from each size to the next, instead");
  value(sub, "-c,--check", "0|1", "Check every element (1)",
        [options](const Text& t) { options->options.check = parse_integer("-c", t, 0, 1) == 1; });
  types_and_ops(sub, options->options, "-d,--datatype,--type", "-o,--op");
  root(sub, "-r,--root", options->root);
  sub->add_flag("--all-points", options->all_points,
                "Every point of a result file's frontier is measured, not only the one that should be the "
                "fastest");
  // "!" makes the flag set its member to false.
  sub->add_flag("!--out-of-place-only", options->in_place, "Leave out the times in place");
  limits(sub, options->limits, "");
  file_to_write(sub, "--json", options->json, "Write the rows there");
}

}  // namespace chorale
