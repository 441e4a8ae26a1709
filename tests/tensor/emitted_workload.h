// Workloads, printed, compiled, and run beside what they mean (tests/tensor/interpreter.h).
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "codegen/passes/lower.h"
#include "construct/incumbents.h"
#include "ir/files.h"
#include "runtime/device/element_types.h"
#include "runtime/device/elements.h"
#include "tensor/language/text.h"
#include "tensor/lowering/workload_source.h"
#include "tensor/transformations/transform.h"
#include "tests/codegen/passes_alone.h"
#include "tests/kit/folder.h"
#include "tests/semantics/machines.h"
#include "tests/tensor/interpreter.h"

namespace chorale::test {

// Of those on GPUs, the calls of CUDA and NCCL are those of the stand-in in tests/nccl/shim.
enum class Carrier { Threads, Mpi, Cuda, Nccl };

// Returns examples/NAME.chorale.
inline std::string text_of_example(const std::string& name) {
  return read_file(fmt::format("{}/examples/{}.chorale", CHORALE_SOURCE, name));
}

// How it is compiled. The last two with flags, and the standard library's headers, of
// tests/scripts/emitted.cmake.
enum class Build { None, Plain, Quick, Races };

// What compiles an emitted source for it, up to warnings.
inline std::string compiler_for(Carrier carrier, Build build) {
  const bool host = carrier == Carrier::Threads || carrier == Carrier::Mpi, races = build == Build::Races;
  std::string flags = build == Build::Quick ? "@" CHORALE_EMITTED "/quick"
                      : races               ? "@" CHORALE_EMITTED "/races"
                              : "-O1 -ffp-contract=off -fno-math-errno -fno-trapping-math -std=c++";
  flags += host ? "17" : "20";
  if (host)
    return fmt::format("{} {}", carrier == Carrier::Mpi ? "mpicxx -DCHORALE_MPI" : CHORALE_CXX, flags);
  return fmt::format("{} {} -DCHORALE_{} -I. -I{}/tests/nccl/shim {}", CHORALE_CXX, flags,
                     carrier == Carrier::Cuda ? "CUDA" : "NCCL", CHORALE_SOURCE,
                     races ? CHORALE_EMITTED "/shim_races.o"
                           : fmt::format("-Wl,--no-as-needed {0} -Wl,-rpath,$(dirname {0})", CHORALE_SHIM));
}

// What stands before its run: the stand-in has as many GPUs as are wanted.
inline std::string surroundings_of(Carrier carrier) {
  return carrier == Carrier::Nccl ? "CHORALE_SHIM_DEVICES=64 " : "";
}

// Constructed ones on a ring, or with a link between any two, of `chunks` a block: those of the fewest steps,
// or of the most.
inline std::vector<WorkloadAlgorithm> some_algorithms(const Workload& workload, int chunks, bool ring,
                                                      bool few_steps) {
  std::vector<WorkloadAlgorithm> algorithms;
  for (const NeededCollective& needed : needed_collectives(workload)) {
    const Topology machine = ring ? test::ring(needed.collective.ranks) : full(needed.collective.ranks);
    const Collective collective = with_chunks(needed.collective, chunks);
    const std::vector<Point> points = incumbents(machine, collective);
    const Point& point = few_steps ? points.front() : points.back();
    algorithms.push_back(
        {needed.operation, lower(accepted(machine, point.collective, point.schedule),
                                 {.name = fmt::format("{} on {}", name_of(collective), machine.name)})});
  }
  return algorithms;
}

inline std::vector<WorkloadAlgorithm> some_algorithms(const Workload& workload, int chunks, bool ring) {
  return some_algorithms(workload, chunks, ring, !ring);
}

// The text of a workload on a full machine.
inline std::string header_of(const Workload& workload) {
  return to_workload_sources(workload, some_algorithms(workload, 1, false), {.name = "w"}).or_throw()[0].text;
}

template <typename T>
void put(std::ofstream& stream, double value) {
  const T x = T(static_cast<std::conditional_t<is_short<T>, float, double>>(value));
  stream.write(reinterpret_cast<const char*>(&x), sizeof x);
}
template <typename T>
double got(std::ifstream& stream) {
  T x{};
  stream.read(reinterpret_cast<char*>(&x), sizeof x);
  return static_cast<double>(static_cast<std::conditional_t<is_short<T>, float, T>>(x));
}
// Under emitted.py each test goes twice: first only to tell what it wants compiled, where all that it runs
// fails at once.
inline std::string run_command(const std::string& command, int& code) {
  code = 1;
  if (std::getenv("CHORALE_EMITTED_LOOK") != nullptr) return "";
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  char buffer[4096];
  while (std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  code = pclose(pipe);
  return text;
}

// What the compiler says of w_main.cpp, which becomes w. Under emitted.py, which names two pipes, it is asked
// to compile it together with what other tests want compiled, and answers with the exit code.
inline std::string compiled(const std::filesystem::path& folder, const std::string& compiler, int& code) {
  int ask = 0, answer = 0;
  const char* const pipes = std::getenv("CHORALE_EMITTED_PIPES");
  if (pipes == nullptr || std::sscanf(pipes, "%d,%d", &ask, &answer) != 2)
    return run_command(fmt::format("cd {} && {} -I. w_main.cpp -o w", folder.string(), compiler), code);
  const std::string line = fmt::format("{}\t{}\n", folder.string(), compiler);
  char said = 'x';
  if (write(ask, line.data(), line.size()) != std::ssize(line) || read(answer, &said, 1) != 1)
    throw std::runtime_error("emitted.py does not answer");
  code = said - '0';
  return code == 0 ? "" : read_file(folder / "compiler.txt");
}

// One workload, printed and compiled once, to be run with several sizes.
class Emitted {
 public:
  Emitted(const Workload& workload, int chunks, bool ring, Carrier carrier, Build build = Build::Quick,
          const Execution& execution = {}, const std::string& defines = "")
      : Emitted(workload, some_algorithms(workload, chunks, ring), carrier, build, execution, defines) {}
  Emitted(const Workload& workload, const std::vector<WorkloadAlgorithm>& algorithms, Carrier carrier,
          Build build, const Execution& execution = {}, const std::string& defines = "")
      : workload_(workload), carrier_(carrier) {
    for (NamedText file :
         to_workload_sources(workload, algorithms, {.name = "w", .execution = execution}).or_throw()) {
      file.path = folder_.path() / file.path;
      write_files({file});
    }
    if (build == Build::None) return;
    int code = 0;
    const std::string said = compiled(
        folder_.path(),
        fmt::format("{} {} -Wall -Wextra -Wpedantic -Werror -pthread", compiler_for(carrier, build), defines),
        code);
    if (code != 0) throw std::runtime_error(said);
  }

  std::filesystem::path folder() const { return folder_.path(); }

  // What the program prints, with what follows its name.
  std::string run(const std::string& arguments, int& code, const std::string& environment = "") const {
    const std::string before =
        carrier_ == Carrier::Mpi
            ? fmt::format(
                  "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 {} --oversubscribe -n {} ",
                  CHORALE_MPIEXEC, workload_.ranks * workload_.groups)
            : surroundings_of(carrier_) + environment;
    const std::string rest = carrier_ == Carrier::Cuda   ? " --channels 2"  // the host's threads stand in
                             : carrier_ == Carrier::Nccl ? ""
                                                         : " --patience 300";
    return run_command(fmt::format("cd {} && {}./w {}{}", folder_.path().string(), before, arguments, rest),
                       code);
  }

  // Empty, or where outputs differ by more than `tolerance`, relative to the larger of 1 and the value. The
  // workload has the sizes that the program is to run with, and these arguments.
  std::string difference(const Workload& sized, unsigned seed, double tolerance = 0, bool small = false,
                         const std::string& arguments = "") const {
    std::mt19937 random(seed);
    WorkloadState inputs;
    std::filesystem::create_directory(folder_.path() / "in");
    std::filesystem::create_directory(folder_.path() / "out");
    for (const Operation& op : sized.operations) {
      if (op.kind != OperationKind::Input) continue;
      const bool local = op.type.layout.kind == LayoutKind::Local;
      const bool grouped = op.type.scope == Scope::Group && !op.type.each;
      std::vector<std::vector<double>> whole(grouped ? op.type.last_group - op.type.first_group + 1 : 1);
      const std::size_t count =
          static_cast<std::size_t>(elements(op.type)) * (local ? ranks_of(sized, op.type) : 1);
      for (auto& values : whole)
        for (std::size_t e = 0; e < count; ++e)
          values.push_back(small ? static_cast<int>(random() % 5) - 2
                                 : (static_cast<int>(random() % 33) - 16) /
                                       (op.type.element == ElementType::Int32 ? 1.0 : 8.0));
      if (small)
        for (auto& values : whole)
          for (double& value : values) value = std::abs(value) + 1;
      inputs.tensors[op.name] = laid_out(sized, op.type, whole);
      write(op, inputs.tensors[op.name]);
    }
    std::string sizes;
    for (const WorkloadSize& size : sized.sizes) sizes += fmt::format("{}={} ", size.name, size.value);
    int code = 0;
    const std::string said =
        run(fmt::format("{} --runs 0 --seed 5 --in in --out out {}", sizes, arguments), code);
    if (code != 0) return "it fails: " + said;
    const WorkloadRun expected = interpret(sized, inputs, {.seed = 5});
    for (const auto& [name, values] : expected.state.tensors) {
      const Operation* op = find(sized, name);
      const bool updated =
          std::ranges::any_of(sized.operations, [&](const Operation& o) { return o.updates == name; });
      if (op->kind == OperationKind::Input && !updated) continue;
      const std::string file = op->updates.empty() ? name : op->updates;
      for (int rank = 0; rank < std::ssize(values); ++rank) {
        std::ifstream stream(folder_.path() / "out" / fmt::format("{}.{}", file, rank), std::ios::binary);
        for (std::size_t e = 0; e < values[rank].size(); ++e) {
          const double x = with_type(op->type.element, [&](auto t) { return got<decltype(t)>(stream); });
          if (!stream.good()) return fmt::format("{}.{} ends early", file, rank);
          const double y = values[rank][e];
          const bool same = x == y || (std::isnan(x) && std::isnan(y)) ||
                            std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y));
          if (!same) return fmt::format("{} of rank {}, element {}: {} is not {}", name, rank, e, x, y);
        }
      }
    }
    return "";
  }

 private:
  void write(const Operation& op, const RankValues& values) const {
    for (int rank = 0; rank < std::ssize(values); ++rank) {
      std::ofstream stream(folder_.path() / "in" / fmt::format("{}.{}", op.name, rank), std::ios::binary);
      for (const double value : values[rank])
        with_type(op.type.element, [&](auto t) { put<decltype(t)>(stream, value); });
    }
  }

  const Workload workload_;
  const Carrier carrier_;
  Folder folder_;
};

inline int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// The text with other sizes.
inline Workload parsed(const std::string& text, const std::string& script = "",
                       const std::map<std::string, std::int64_t>& sizes = {}, int ranks = 0, int groups = 0) {
  const Workload workload = parse_workload(text, "test", {.sizes = sizes, .ranks = ranks, .groups = groups});
  return script.empty() ? workload : transformed(workload, script);
}

}  // namespace chorale::test
