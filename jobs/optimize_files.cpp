// The directory of an answer: the result, the table, the page, programs, and how to build and run them.
#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "ir/json.h"
#include "ir/words.h"
#include "jobs/optimize.h"

namespace chorale {
namespace {

// Rows with one point, one after the other.
struct SizeRun {
  int point = 0;
  std::int64_t from = 0;  // bytes of messages
  std::int64_t to = 0;    // to this, not included; 0: however large
};

// The first run begins at 0 bytes and the last has no end: a table for sizes between becomes a rule for all.
std::vector<SizeRun> runs_of(const std::vector<OptimizedRow>& rows) {
  std::vector<SizeRun> runs;
  for (const OptimizedRow& row : rows) {
    if (!runs.empty() && runs.back().point == row.point) continue;
    if (!runs.empty()) runs.back().to = row.message_bytes;
    runs.push_back({.point = row.point, .from = runs.empty() ? 0 : row.message_bytes});
  }
  return runs;
}

std::string range_of(const SizeRun& run) {
  const std::string from = format_bytes(static_cast<double>(run.from)),
                    to = format_bytes(static_cast<double>(run.to));
  if (run.to == 0) return run.from == 0 ? "all sizes" : "from " + from;
  return run.from == 0 ? "below " + to : from + " to below " + to;
}

// How a program is built and run, where the README can say so.
// "" for targets that other tools load.
std::string commands_for(Target target, const std::string& path, int ranks) {
  switch (target) {
    case Target::Mpi:
      return fmt::format("mpicxx -O2 -std=c++17 {} -o x && mpirun -n {} ./x", path, ranks);
    case Target::Nccl:
      return fmt::format("nvcc -O2 -std=c++17 {} -lnccl -o x && ./x", path);
    case Target::Cuda:
      return fmt::format(
          "cd {0} && make -f all_sizes.mk cpu && ./all_sizes_cpu    # or gpu: virtual ranks on a GPU", path);
    default:
      return "";
  }
}

// A warning if a limit of time or memory, or the caller, has ended the search; else "".
std::string unproven(const Result& result) {
  const bool cut = result.stopped == Stopped::Interrupted || result.stopped == Stopped::TimeLimit ||
                   result.stopped == Stopped::MemoryLimit;
  return result.complete || !cut
             ? ""
             : fmt::format(
                   "**Unproven**: the search was cut ({}). This is what it had found; every schedule is "
                   "verified, and better ones may exist.\n\n",
                   name_of(result.stopped));
}

// The README is made last, when it is known which programs there are; without a target there are none.
std::string readme_of(const Optimized& answer, const std::vector<std::pair<SizeRun, std::string>>& programs,
                      std::optional<Target> target) {
  const Result& result = answer.result;
  std::string text = fmt::format("# {} on {}\n\n{}{}.\n\n", name_of(result.collective), result.topology.name,
                                 unproven(result), conclusion(answer));
  text += fmt::format("Search: {}.\n\n", search_in_words(answer));
  if (answer.binding) text += in_words(*answer.binding) + ".\n\n";
  text +=
      "- `index.html`: time and bus bandwidth over message size, the machine, the schedules step by step\n"
      "- `table.json`: the table\n"
      "- `result.json`: all schedules with their proofs: `chorale check result.json`, `chorale show "
      "result.json`\n";
  if (!programs.empty()) text += "\n## Programs\n\n| messages | file |\n|---|---|\n";
  for (const auto& [run, path] : programs) text += fmt::format("| {} | `{}` |\n", range_of(run), path);
  if (!programs.empty() && target)
    if (const std::string commands = commands_for(*target, programs.front().second, result.topology.ranks);
        !commands.empty())
      text += fmt::format("\nA program checks itself on data, and prints its time:\n\n```sh\n{}\n```\n",
                          commands);
  return text +
         fmt::format(
             "\n## Without changing a program\n\nThe preload library (in LIB, the folder of Chorale's "
             "libraries) performs the MPI collectives of any\nprogram by the algorithm that is the fastest "
             "for the size of each call:\n\n```sh\n"
             "mpirun -n {} env CHORALE_ALGORITHMS=$PWD/result.json LD_PRELOAD=LIB/libchorale-mpi-preload.so "
             "YOUR_PROGRAM\n```\n\n`CHORALE_LOG=1` reports which calls it performs.\n",
             result.topology.ranks);
}

}  // namespace

// The script can be moved together with its results, which it names relative to itself.
std::string preload_script(int ranks, const std::vector<std::string>& results,
                           const std::string& library_folder) {
  std::string files;
  for (const std::string& result : results) files += (files.empty() ? "$here/" : ":$here/") + result;
  return fmt::format(
      "#!/bin/sh\n# sh run.sh PROGRAM ...: the program on {0} processes; Chorale's algorithms perform its "
      "MPI collectives.\n# CHORALE_LOG=1 reports which; MPIRUN is what starts the processes.\n"
      "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
      "lib=${{CHORALE_LIB:-{1}}}\n"
      "[ -e \"$lib/libchorale-mpi-preload.so\" ] || {{ echo \"run.sh: CHORALE_LIB is to name the folder of "
      "libchorale-mpi-preload.so\" >&2; exit 2; }}\n"
      "exec ${{MPIRUN:-mpirun}} -n {0} env CHORALE_ALGORITHMS=\"{2}\" "
      "LD_PRELOAD=\"$lib/libchorale-mpi-preload.so\" \"$@\"\n",
      ranks, library_folder, files);
}

// MPI, NCCL and CUDA have programs that choose by size, so all runs are one program; the other targets have
// one file each run. Formats of MSCCL state the sizes for which their executor is to choose the file.
OptimizedFiles files_of(const Optimized& answer, std::optional<Target> target,
                        const std::atomic<bool>* stop) {
  const Result& result = answer.result;
  OptimizedFiles made{.files = {{"result.json", to_json(result)},
                                {"table.json", to_json(answer)},
                                {"index.html", to_page(answer, stop)}}};
  std::vector<std::pair<SizeRun, std::string>> programs;
  std::set<std::string> written;
  const auto add = [&](const OrError<Compiled>& compiled, const SizeRun& run) {
    if (!compiled) {
      made.notes.push_back(
          fmt::format("no program for messages {}: {}", range_of(run), compiled.error().what()));
      return;
    }
    const Compiled& program = *compiled;
    programs.emplace_back(run, program.path);
    if (!program.note.empty()) made.notes.push_back(program.note);
    // Two runs of one point share a file where the format states no sizes.
    if (written.insert(program.path).second)
      made.files.insert(made.files.end(), program.files.begin(), program.files.end());
  };
  const std::vector<SizeRun> runs = runs_of(answer.rows);
  if (!target) {
    made.files.push_back({"README.md", readme_of(answer, programs, target)});
    return made;
  }
  const TargetForm form = entry_of(*target).form;
  // One entry, for the whole machine: nothing has failed.
  if (form == TargetForm::Program) {
    ReadyPoints ready{.topology = &result.topology, .after = {{}}};
    for (const SizeRun& run : runs)
      // `to` belongs to the next run, so this one ends a byte of a block before.
      ready.points.push_back(
          {.point = &result.points[run.point],
           .up_to = run.to > 0 ? static_cast<double>(block_of_size(answer.shape, run.to)) - 1 : HUGE_VAL});
    add(try_compile({&ready, 1}, *target), {});
  } else {
    for (const SizeRun& run : runs) {
      const Point& point = result.points[run.point];
      CompileOptions options{
          .name = fmt::format("{}_{}", file_stem(result.topology, point.collective), run.point)};
      if (form == TargetForm::Plan) {
        options.name += fmt::format("_from_{}", run.from);
        options.min_bytes = run.from;
        options.max_bytes = run.to > 0 ? run.to - 1 : 0;
      }
      add(try_compile(result.topology, point, *target, options), run);
    }
  }
  made.files.push_back({"README.md", readme_of(answer, programs, target)});
  return made;
}

}  // namespace chorale
