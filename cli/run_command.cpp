// Executes points of a result; under mpirun every process comes through here and one of them prints.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/supervisor.h"
#include "codegen/passes/in_place.h"
#include "codegen/passes/lower.h"
#include "codegen/passes/peer_lowering.h"
#include "cost/cost.h"
#include "cost/format.h"
#include "ir/error.h"
#include "ir/words.h"
#include "runtime/gpu_run.h"
#include "runtime/nccl_run.h"
#include "runtime/peer_executor.h"
#include "runtime/run.h"

namespace chorale {
namespace {

using On = RunCommand::Transport;
constexpr const char* kAlignment = "rrRllrRRrr";

using Rows = std::vector<RunRow>;
using Runner = std::function<Rows(const Program&, const Collective&, const RunOptions&)>;

// Which point runs which sizes.
std::map<int, std::vector<std::int64_t>> work(const RunCommand& command, const Result& result) {
  const std::vector<int> chosen = chosen_points(command.file, result, command.point, false);
  if (chosen.empty()) throw InputError(command.file, "has no schedules", "make a result that has some");
  std::map<int, std::vector<std::int64_t>> sizes;
  if (command.point || command.all_points) {
    for (int i : chosen) sizes[i] = command.bytes;
    return sizes;
  }
  for (std::int64_t bytes : command.bytes) {
    const auto predicted = [&](int i) {
      return time_us(result.points[i].cost, result.topology, static_cast<double>(bytes));
    };
    sizes[*std::min_element(chosen.begin(), chosen.end(), [&](int a, int b) {
      return predicted(a) < predicted(b);
    })].push_back(bytes);
  }
  return sizes;
}

// Buffers of the largest size have to fit into the memory of this machine, of all ranks where they are
// threads.
void require_memory(const Program& program, const RunOptions& options, bool all_ranks) {
  const std::int64_t largest = *std::max_element(options.bytes.begin(), options.bytes.end());
  double slots = 0;
  for (const RankProgram& rank : program.ranks) {
    const double own = rank.input_chunks + rank.output_chunks + rank.scratch_chunks;
    slots = all_ranks ? slots + own : std::max(slots, own);
  }
  const double wide = options.accumulation == Accumulation::Float32 ? 3 : 1;  // as many again, of float32
  const double needed = wide * slots / program.chunks_per_block * static_cast<double>(largest);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > 0.9 * memory)
    throw InputError("--bytes",
                     fmt::format("buffers of {} would be needed, the machine has {}", format_bytes(needed),
                                 format_bytes(memory)),
                     "use smaller sizes");
}

bool is_many_processes(On transport) {
  return transport == On::Mpi || transport == On::Nccl;
}

const char* who(On transport) {
  return transport == On::Nccl     ? "processes with a GPU each"
         : transport == On::Mpi    ? "processes"
         : transport == On::Kernel ? "blocks of the kernel"
         : transport == On::Gpu    ? "blocks of the kernel on a GPU"
                                   : "threads";
}

std::string heading(const RunCommand& command, const Result& result) {
  return fmt::format("{}, {}: {} as {}{}\n", result.topology.name, name_of(result.collective),
                     counted(result.topology.ranks, "rank"), who(command.transport),
                     command.in_place ? ", in place" : "");
}

// The time limit that was asked for is of the work before a run; the run has its own.
Outcome run(const RunCommand& command, const Result& result, const Runner& runner, bool print,
            Supervisor& supervisor) {
  std::vector<std::vector<std::string>> table_rows = {
      {"point", "block bytes", "buffer bytes", "type", "op", "time (us)", "min", "max", "GB/s", "wrong"}};
  std::int64_t wrong = 0;
  for (const auto& [i, sizes] : work(command, result)) {
    supervisor.limit_time(command.limits.time);
    const Point& point = result.points[i];
    const Program apart = lower(result.topology, point.collective, point.schedule);
    // Over NCCL the program for two buffers is planned for one.
    const bool other = command.in_place && command.transport != On::Nccl;
    const Program program = other ? in_place(result.topology, point.collective, apart) : apart;
    const RunOptions options = {.bytes = sizes,
                                .types = command.types,
                                .ops = command.ops,
                                .iterations = command.iterations,
                                .warm_up = command.warmup,
                                .timeout = command.time_limit,
                                .accumulation = command.accumulation};
    require_memory(program, options, !is_many_processes(command.transport));
    supervisor.limit_time(kNoTimeLimit);
    for (const RunRow& row : runner(program, point.collective, options)) {
      table_rows.push_back({std::to_string(i), std::to_string(row.bytes), std::to_string(row.buffer_bytes),
                            to_string(row.type), result.collective.combining ? to_string(row.op) : "-",
                            fmt::format("{:.1f}", row.median_us), fmt::format("{:.1f}", row.min_us),
                            fmt::format("{:.1f}", row.max_us), fmt::format("{:.3f}", row.algbw),
                            std::to_string(row.wrong)});
      wrong += row.wrong;
    }
    supervisor.publish(
        [text = heading(command, result) + table(table_rows, kAlignment)](Stopped stopped) -> Outcome {
          return {.exit_code = exit_code_of(stopped),
                  .text = text + "not all was run (" + name_of(stopped) + ")\n"};
        });
  }
  Outcome outcome{.exit_code = wrong == 0 ? kFound : kWrongData};
  if (print)
    outcome.text = heading(command, result) + table(table_rows, kAlignment) +
                   (wrong == 0 ? "every element is right\n" : counted(wrong, "wrong element") + "\n");
  return outcome;
}

void require_transport(const RunCommand& command, const Result& result) {
  const int ranks = result.topology.ranks;
  if (is_many_processes(command.transport) && !started_by_mpirun())
    throw InputError(command.transport == On::Mpi ? "--transport mpi" : "--transport nccl",
                     "this process was not started by mpirun",
                     fmt::format("use mpirun -n {} chorale run ...", ranks));
  if (!is_many_processes(command.transport) && ranks > 256)
    throw InputError("--transport threads", fmt::format("{} ranks are too many for one process", ranks),
                     "use --transport mpi");
}

Outcome run_with_mpi(const RunCommand& command, const Result& result, Supervisor& supervisor) {
  supervisor.limit_time(kNoTimeLimit);  // processes wait for each other from here on
  const std::unique_ptr<MpiSession> session = start_mpi();
  const Runner runner = [&](const Program& program, const Collective& collective, const RunOptions& options) {
    return run_on_mpi(*session, program, collective, options);
  };
  return run(command, result, runner, session->rank() == 0, supervisor);
}

Outcome run_with_nccl(const RunCommand& command, const Result& result, Supervisor& supervisor) {
  supervisor.limit_time(kNoTimeLimit);
  const std::unique_ptr<MpiSession> session = start_mpi();
  const Runner runner = [&](const Program& program, const Collective& collective, const RunOptions& options) {
    return run_on_nccl(*session, program, collective, options, command.in_place);
  };
  return run(command, result, runner, session->rank() == 0, supervisor);
}

Rows run_in_the_kernel(const Program& program, const Collective& collective, const RunOptions& options) {
  return run_peers_on_threads(to_peers(collective, program), collective, options);
}

Rows run_on_a_gpu(const Program& program, const Collective& collective, const RunOptions& options) {
  return run_peers_on_gpu(to_peers(collective, program), collective, options);
}

}  // namespace

Outcome perform(const RunCommand& command, Supervisor& supervisor) {
  try {
    const Result result = load_sound_result(command.file);
    require_transport(command, result);
    require_sums_of_halves(command.accumulation, command.types, result.collective);
    switch (command.transport) {
      case On::Mpi:
        return run_with_mpi(command, result, supervisor);
      case On::Nccl:
        return run_with_nccl(command, result, supervisor);
      case On::Kernel:
        return run(command, result, run_in_the_kernel, true, supervisor);
      case On::Gpu:
        return run(command, result, run_on_a_gpu, true, supervisor);
      case On::Threads:
        break;
    }
    return run(command, result, run_on_threads, true, supervisor);
  } catch (const Hang& hang) {
    throw hung("run", hang);
  }
}

}  // namespace chorale
