#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/text.h"
#include "codegen/lower.h"
#include "cost/busbw.h"
#include "cost/cost.h"
#include "ir/error.h"
#include "ir/json.h"
#include "library/classic.h"
#include "runtime/run.h"
#include "runtime/transport.h"
#include "semantics/verify.h"
#include "topology/builders.h"

namespace chorale {
namespace {

std::vector<std::int64_t> sizes(const BenchCommand& command) {
  if (command.from > command.to)
    throw InputError("-b", fmt::format("{} is more than -e {}", command.from, command.to), "exchange them");
  std::vector<std::int64_t> result;
  for (std::int64_t size = std::max<std::int64_t>(command.from, 1); size <= command.to;
       size *= command.factor)
    result.push_back(size);
  return result;
}

// One of the algorithms that are compared.
struct Candidate {
  std::string name = {};
  bool library = false;  // MPI's own
  std::vector<Point> points = {};
  Topology topology = {};
};

Candidate candidate(const std::string& name, const BenchCommand& command, int ranks) {
  if (name == "mpi") return {.name = name, .library = true};
  if (name.find('/') != std::string::npos || name.ends_with(".json")) {
    const Result result = load_sound_result(name);
    Candidate file{.name = name, .topology = result.topology};
    for (const Point& point : result.points)
      if (point.on_frontier && point.collective.name == command.collective &&
          point.collective.root == command.root)
        file.points.push_back(point);
    if (file.points.empty() || result.topology.ranks != ranks)
      throw InputError(name, fmt::format("has no {} for {} ranks", command.collective, ranks),
                       "make one, or leave it out");
    return file;
  }
  const std::vector<ClassicEntry>& known = classic_catalogue();
  const auto entry = std::find_if(known.begin(), known.end(), [&](const ClassicEntry& each) {
    return each.name == name || each.name == name + "_" + command.collective;
  });
  if (entry == known.end() || entry->collective != command.collective)
    throw InputError("algorithm", "'" + name.substr(0, 60) + "' is no way to do " + command.collective,
                     "use mpi, one of 'chorale classic list', or a result file");
  Candidate classic{.name = entry->name, .topology = named_topology(fmt::format("full:{}", ranks))};
  classic.points = {classic_algorithm(entry->name, classic.topology, {.root = command.root})};
  return classic;
}

RunRow measure(MpiSession& session, const Candidate& candidate, const Collective& collective,
               const RunOptions& options) {
  if (candidate.library) return run_mpi_library(session, collective, options).front();
  const auto time = [&](const Point& point) {
    return time_us(point.cost, candidate.topology, static_cast<double>(options.bytes.front()));
  };
  const Point& point = *std::min_element(candidate.points.begin(), candidate.points.end(),
                                         [&](const Point& a, const Point& b) { return time(a) < time(b); });
  return run_on_mpi(session, lower(candidate.topology, point.collective, point.schedule), point.collective,
                    options)
      .front();
}

Outcome bench(const BenchCommand& command, MpiSession& session) {
  const int ranks = session.ranks();
  if (ranks < 2) throw InputError("bench", "needs at least 2 ranks", "use mpirun -n 4 chorale bench ...");
  const Collective collective = make_collective(command.collective, ranks, 1, command.root);
  require_sums_of_halves(command.accumulation, command.types, collective);
  std::vector<Candidate> candidates;
  for (const std::string& name : command.algorithms) candidates.push_back(candidate(name, command, ranks));
  const int blocks = blocks_of(collective.name, ranks);
  std::vector<std::vector<std::string>> table_rows = {{"algorithm", "size (B)", "count", "type", "redop",
                                                       "root", "time (us)", "min", "max", "algbw (GB/s)",
                                                       "busbw (GB/s)", "#wrong"}};
  std::vector<std::string> json;
  std::int64_t wrong = 0;
  for (ElementType type : command.types)
    for (ReduceOp op : command.ops)
      for (std::int64_t size : sizes(command))
        for (const Candidate& each : candidates) {
          const std::int64_t element = static_cast<std::int64_t>(size_of(type)),
                             count = size / blocks / element;
          const RunRow row = measure(session, each, collective,
                                     {.bytes = {count * element},
                                      .types = {type},
                                      .ops = {op},
                                      .iterations = command.iterations,
                                      .warm_up = command.warmup,
                                      .timeout = command.time_limit,
                                      .check = command.check,
                                      .accumulation = command.accumulation});
          const double bytes = static_cast<double>(count * element * blocks);
          const double algorithm_gbs = algbw(bytes, row.median_us);
          const double bus_gbs = busbw(collective.name, ranks, bytes, row.median_us);
          const std::string redop = collective.combining ? to_string(op) : "none";
          table_rows.push_back({each.name, fmt::format("{:.0f}", bytes), std::to_string(count),
                                to_string(type), redop, std::to_string(command.root),
                                fmt::format("{:.1f}", row.median_us), fmt::format("{:.1f}", row.min_us),
                                fmt::format("{:.1f}", row.max_us), fmt::format("{:.3f}", algorithm_gbs),
                                fmt::format("{:.3f}", bus_gbs),
                                command.check ? std::to_string(row.wrong) : "N/A"});
          json.push_back(fmt::format(
              R"({{"algorithm":"{}","size":{:.0f},"count":{},"type":"{}","redop":"{}","root":{},"time_us":{},"min_us":{},"max_us":{},"algbw_gbs":{},"busbw_gbs":{},"wrong":{}}})",
              each.name, bytes, count, to_string(type), redop, command.root, row.median_us, row.min_us,
              row.max_us, algorithm_gbs, bus_gbs, command.check ? std::to_string(row.wrong) : "null"));
          wrong += row.wrong;
        }
  if (session.rank() != 0) return {.exit_code = wrong == 0 ? kFound : kWrongData};
  if (!command.json.empty()) {
    std::string text = fmt::format(
        "{{\n\"chorale_bench\": 1,\n\"collective\": \"{}\",\n\"ranks\": {},\n\"iterations\": {},\n\"rows\": "
        "[\n",
        collective.name, ranks, command.iterations);
    for (std::size_t i = 0; i < json.size(); ++i) text += json[i] + (i + 1 < json.size() ? ",\n" : "\n");
    write_file(command.json, text + "]\n}\n");
  }
  return {.exit_code = wrong == 0 ? kFound : kWrongData,
          .text = fmt::format("# {}, {} ranks as processes; times are medians of {}, out of place\n",
                              collective.name, ranks, command.iterations) +
                  table(table_rows, "lrrllrrrrrrr") +
                  (wrong == 0 ? "" : counted(wrong, "wrong element") + "\n")};
}

}  // namespace

Outcome perform(const BenchCommand& command) {
  try {
    if (!started_by_mpirun())
      throw InputError("bench", "this process was not started by mpirun",
                       "use mpirun -n 4 chorale bench ...");
    if (speaks()) require_writable_file("--json", command.json);
    sizes(command);
    MpiSession session;
    return bench(command, session);
  } catch (const Hang& hang) {
    throw InputError("bench", hang.what(), "raise --time-limit, or see whether all ranks are alive");
  }
}

}  // namespace chorale
