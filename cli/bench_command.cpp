// Measures as nccl-tests does, and prints its table, so that scripts which read that read this: sizes are
// those of the larger buffer of a rank, busbw is by its factors (cost/busbw.h), and out-of-place comes before
// in-place. A column before the first has the algorithm, since several are compared at once. All processes
// run the same loops in the same order, so that each measurement is a collective call; only the rank that
// prints makes the report.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/inputs.h"
#include "api/run.h"
#include "api/search.h"
#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json_fields.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "library/select.h"

namespace chorale {

struct BenchCommand {
  std::string collective = {};
  // "mpi", "nccl", baselines, result files; none: MPI's or NCCL's own.
  std::vector<std::string> algorithms = {};
  bool gpus = false;        // each process has one, and messages go over NCCL
  bool all_points = false;  // of result files, not only the one that should be the fastest
  bool in_place = true;     // measured as well as out of place
  std::optional<int> root = {};
  std::int64_t from = 1 << 10, to = 1 << 20;  // nccl-tests' sizes
  int factor = 2;
  std::int64_t step = 0;    // bytes from one size to the next, instead of the factor; 0: not so
  RunOptions options = {};  // of each run, but its size, type and op
  std::string json = {}, html = {};
};
namespace {

constexpr std::size_t kAsWideAsItIs = 10'000;  // what reads nccl-tests' tables does not expect broken lines

// As nccl-tests: by a factor, or by added bytes where a step is given. From 0 bytes a factor would stay at 0,
// so the first size is at least 1.
std::vector<std::int64_t> sizes(const BenchCommand& command) {
  if (command.from > command.to)
    throw InputError("-b", fmt::format("{} is more than -e {}", command.from, command.to), "exchange them");
  std::vector<std::int64_t> result;
  for (std::int64_t size = std::max<std::int64_t>(command.from, 1); size <= command.to;
       size = command.step > 0 ? size + command.step : size * command.factor)
    result.push_back(size);
  return result;
}

// One of the algorithms that are compared.
struct Contestant {
  std::string name = {};
  std::optional<Result> result = {};  // none: MPI's own, or NCCL's
  std::optional<int> point = {};      // of the result; none: for each size the one that should be the fastest
};

std::optional<Choice> fastest(const Result& result, const Collective& collective, double block_bytes) {
  return select({&result, 1}, call_of(collective, block_bytes));
}

// In this order: the library's own, a file, a baseline by its name with or without the collective ("ring" and
// "ring_allreduce"). A baseline is built on full:N: the processes know no machine, and each rank reaches
// each.
Contestant candidate(const std::string& name, const BenchCommand& command, const Collective& collective) {
  if (name == (command.gpus ? "nccl" : "mpi")) return {.name = name};
  if (name == "nccl")
    throw InputError("nccl", "works on GPUs", "use --gpu, under mpirun with a GPU a process");
  if (name == "mpi") throw InputError("mpi", "is not measured on GPUs", "leave it out, or leave out --gpu");
  if (names_a_file(name)) {
    Result result = read_sound_result(name);
    if (!fastest(result, collective, 0))
      throw InputError(name, fmt::format("has no {} for {} ranks", name_of(collective), collective.ranks),
                       "make one, or leave it out");
    return {.name = name, .result = std::move(result)};
  }
  const std::vector<ClassicEntry>& known = known_classics();
  const auto entry = std::find_if(known.begin(), known.end(), [&](const ClassicEntry& each) {
    const std::string method = name_of(each.method);
    return method == name || method == name + "_" + name_of(collective);
  });
  if (entry == known.end() || entry->collective != collective.kind)
    throw InputError("algorithm",
                     "'" + name.substr(0, 60) + "' is not an algorithm for " + name_of(collective),
                     "use mpi, nccl, one of 'chorale classic list', or a result file");
  return {.name = name_of(entry->method),
          .result = classic(machine(fmt::format("full:{}", collective.ranks)),
                            {.name = name_of(entry->method), .root = command.root})};
}

// Of a file with --all-points, every point of its frontier.
std::vector<Contestant> contestants_of(const std::string& name, const BenchCommand& command,
                                       const Collective& collective) {
  const Contestant one = candidate(name, command, collective);
  if (!command.all_points || !names_a_file(name)) return {one};
  std::vector<Contestant> each;
  for (const int point : chosen_points(name, *one.result, {}, false))
    each.push_back({.name = fmt::format("{} point {}", name, point), .result = one.result, .point = point});
  return each;
}

// None: MPI's own, or NCCL's.
std::optional<int> point_for(const Contestant& candidate, const Collective& collective, std::int64_t bytes) {
  if (!candidate.result || candidate.point) return candidate.point;
  return fastest(*candidate.result, collective, static_cast<double>(bytes)).value().point;
}

// A row has one size, type and operation: the options name one of each.
RunRow measure(const Contestant& candidate, std::optional<int> point, const Collective& collective,
               const RunWhere& where, const RunOptions& options) {
  if (!point) return run_library(collective, where, options).front();
  return run(candidate.result->topology, candidate.result->points[*point], where, options).front();
}

// The names of nccl-tests.
std::string type_name(ElementType type) {
  return type == ElementType::Float32   ? "float"
         : type == ElementType::Float64 ? "double"
         : type == ElementType::Float16 ? "half"
                                        : to_string(type);
}

// A row of the table: one algorithm, size, type and operation, in both modes.
struct BenchLine {
  std::string algorithm = {};
  std::int64_t bytes = 0, count = 0;
  ElementType type = ElementType::Float32;
  std::string redop = {};
  std::optional<int> point = {};  // of a result file: the one that was measured
  RunRow apart = {}, in_place = {};
};

std::string significant(double us) {  // the digits of nccl-tests
  return us >= 10000 ? fmt::format("{:.0f}", us)
         : us >= 100 ? fmt::format("{:.1f}", us)
                     : fmt::format("{:.2f}", us);
}

// The four columns of a half: time, algbw, busbw, wrong elements (N/A where nothing was checked).
void append(std::vector<std::string>& cells, const RunRow& half, bool checked) {
  cells.push_back(significant(half.median_us));
  cells.push_back(fmt::format("{:.3f}", half.algbw));
  cells.push_back(fmt::format("{:.3f}", half.busbw));
  cells.push_back(checked ? std::to_string(half.wrong) : "N/A");
}

// What one mode took; "wrong" and "agrees" are null where nothing was checked. The others come first.
template <typename... Others>
JsonText half_json(const RunRow& half, bool checked, const Others&... others) {
  return json_object(others..., "time_us", half.median_us, "min_us", half.min_us, "max_us", half.max_us,
                     "algbw_gbs", half.algbw, "busbw_gbs", half.busbw, "wrong",
                     checked ? std::optional(half.wrong) : std::nullopt, "agrees",
                     checked ? std::optional(half.agrees) : std::nullopt);
}

// Out of place, and in place where that was measured.
std::vector<RunRow> halves_of(const BenchLine& line, const BenchCommand& command) {
  return command.in_place ? std::vector{line.apart, line.in_place} : std::vector{line.apart};
}

// The table of nccl-tests, with the algorithm before each line.
Report report_of(const std::vector<BenchLine>& lines, const Collective& collective,
                 const BenchCommand& command) {
  Report report{.title =
                    fmt::format("{}, {} as processes{}{}; times are medians of {}", name_of(collective),
                                counted(collective.ranks, "rank"), command.gpus ? " with a GPU each" : "",
                                on_wire_words(command.options), command.options.iterations)};
  ReportTable table{
      .rows = {{"algorithm", "size (B)", "count", "type", "redop", "root", "time (us)", "algbw (GB/s)",
                "busbw (GB/s)", "#wrong", "in place (us)", "algbw (GB/s)", "busbw (GB/s)", "#wrong"}},
      .kinds = "lrrllrrrrrrrrr"};
  Tally tally;
  std::map<std::string, std::pair<double, int>> busbw;  // by algorithm: sum and number
  for (const BenchLine& line : lines) {
    // A collective without a root has root -1 there.
    std::vector<std::string> cells = {line.algorithm,
                                      std::to_string(line.bytes),
                                      std::to_string(line.count),
                                      type_name(line.type),
                                      line.redop,
                                      std::to_string(is_rooted(collective.kind) ? collective.root : -1)};
    append(cells, line.apart, command.options.check);
    if (command.in_place)
      append(cells, line.in_place, command.options.check);
    else
      cells.insert(cells.end(), 4, "N/A");
    table.rows.push_back(std::move(cells));
    for (const RunRow& half : halves_of(line, command)) {
      tally.add(half);
      busbw[line.algorithm].first += half.busbw;
      ++busbw[line.algorithm].second;
    }
  }
  report.tables.push_back(std::move(table));
  report.sentences.push_back(
      fmt::format("Out of bounds values : {} {}", tally.wrong, tally.wrong == 0 ? "OK" : "FAILED"));
  if (collective.combining && command.options.check)
    report.sentences.push_back(fmt::format("Same bits on ranks    : {}", tally.agrees ? "OK" : "FAILED"));
  for (const auto& [algorithm, sum] : busbw)
    report.sentences.push_back(
        fmt::format("Avg bus bandwidth    : {:.4g} ({})", sum.first / sum.second, shown(algorithm)));
  return report;
}

// As nccl-tests prints it: a head of two lines, and out of place and in place over their first columns.
std::string in_their_form(const Report& report) {
  TableRows cells = report.tables.front().rows;
  cells.front() = {"# algorithm", "(B)",    "(elements)", "",     "",       "",       "(us)",
                   "(GB/s)",      "(GB/s)", "",           "(us)", "(GB/s)", "(GB/s)", ""};
  cells.insert(cells.begin(), {"#", "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
                               "#wrong", "time", "algbw", "busbw", "#wrong"});
  const std::string body = table(cells, report.tables.front().kinds, kAsWideAsItIs);
  const std::size_t first = body.find("time"), second = body.find("time", first + 1);
  std::string text = fmt::format("# {}\n#{:{}}{:<{}}in-place\n{}", report.title, "", first - 1,
                                 "out-of-place", second - first, body);
  for (const std::string& sentence : report.sentences) text += "# " + sentence + "\n";
  return text;
}

std::string json_of(const std::vector<BenchLine>& lines, const Collective& collective,
                    const BenchCommand& command) {
  const bool checked = command.options.check;
  std::vector<JsonText> rows;
  for (const BenchLine& line : lines)
    rows.push_back(half_json(
        line.apart, checked, "algorithm", line.algorithm, "point", line.point, "size", line.bytes, "count",
        line.count, "type", to_string(line.type), "redop", line.redop, "root", collective.root, "in_place",
        command.in_place ? std::optional(half_json(line.in_place, checked)) : std::nullopt));
  return json_file("chorale_bench", 1, "collective", name_of(collective), "ranks", collective.ranks,
                   "iterations", command.options.iterations, "rows", rows);
}

Outcome bench(const BenchCommand& command, MpiSession& session) {
  const int ranks = ranks_of(session);
  if (ranks < 2) throw InputError("bench", "needs at least 2 ranks", "use mpirun -n 4 chorale bench ...");
  const Collective collective = make_collective(command.collective, ranks, 1, command.root.value_or(0));
  if (command.root && !is_rooted(collective.kind))
    throw InputError("-r", command.collective + " has no root", "leave it out");
  std::vector<Contestant> contestants;
  std::vector<std::string> names = command.algorithms;
  if (names.empty()) names = {command.gpus ? "nccl" : "mpi"};
  for (const std::string& name : names)
    for (Contestant& each : contestants_of(name, command, collective)) contestants.push_back(std::move(each));
  // A size of the table is rounded down to whole elements in each block, as nccl-tests does.
  const int blocks = blocks_of(collective.kind, ranks);
  const std::vector<bool> halves = command.in_place ? std::vector{false, true} : std::vector{false};
  std::vector<BenchLine> lines;
  Tally tally;  // agreement of ranks under MPI's or NCCL's own collectives is not checked
  // Types, operations, sizes, then algorithms, so that those of one size are measured right after each other,
  // and stand below each other in the table.
  for (ElementType type : command.options.types)
    for (ReduceOp op : command.options.ops)
      for (std::int64_t size : sizes(command))
        for (const Contestant& each : contestants) {
          const WireUnit unit = unit_on_wire(type, command.options.wire);
          const std::int64_t count = elements_in(size / blocks, unit),
                             bytes = count / unit.elements * unit.bytes;
          BenchLine line{.algorithm = each.name,
                         .bytes = bytes * blocks,
                         .count = count,
                         .type = type,
                         .redop = collective.combining ? to_string(op) : "none",
                         .point = point_for(each, collective, bytes)};
          RunOptions options = command.options;
          options.bytes = {bytes}, options.types = {type}, options.ops = {op};
          for (bool shared : halves) {
            RunRow& half = shared ? line.in_place : line.apart;
            half = measure(each, line.point, collective,
                           {.executor = command.gpus ? Executor::Nccl : Executor::Mpi,
                            .in_place = shared,
                            .session = &session},
                           options);
            tally.wrong += half.wrong;
            if (line.point) tally.agrees = tally.agrees && half.agrees;
          }
          lines.push_back(std::move(line));
        }
  const int code = tally.is_good(collective) ? kFound : kWrongData;
  if (rank_of(session) != 0) return {.exit_code = code};
  const Report report = report_of(lines, collective, command);
  Outcome outcome = reported(report, command.html);
  outcome.exit_code = code;
  // nccl-tests' lines, as wide as they are there, for what reads those.
  outcome.text = in_their_form(report);
  outcome.verbatim = true;
  if (!command.json.empty()) deliver(command.json, json_of(lines, collective, command), outcome);
  return outcome;
}

}  // namespace

// Sizes are computed before MPI starts, so that a range that is wrong is an error of the command line.
Outcome perform(const BenchCommand& command, Supervisor&) {
  if (!started_by_mpirun())
    throw InputError("bench", "this process was not started by mpirun", "use mpirun -n 4 chorale bench ...");
  sizes(command);
  return bench(command, *join_processes());
}

// Scripts that call nccl-tests can call this: each option has their short and long name.
void bench_options(CLI::App& app, Invocation& parsed) {
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
  limits(sub, parsed.limits, "", Limits::kAllMemory);
  file_to_write(sub, "--json", options->json, "Write the rows there");
  file_to_write(sub, "--html", options->html, kReportPage);
}

}  // namespace chorale
