// Do emitted programs give what workloads mean? Random ones (tests/workload/random_workload.h) go through random
// transformations, are printed with algorithms of random machines, compiled several at once, and run on threads; every
// output, and every input that was updated, has to be what the interpreter says, to the bit.
//
// What is left out: programs that add up more than two numbers between ranks in another type than int32 which are no
// inputs, as their sums depend on the order.
//
// Usage: emit_random PROGRAMS [SEED [FIRST [threads|cuda|nccl]]]. Prints differences with the program, and one line on what was
// done. What is for GPUs runs on the stand-in for CUDA and NCCL.
#include <chrono>
#include <cstdio>
#include <regex>

#include "tests/codegen/emitted_workload.h"
#include "tests/workload/random_move.h"
#include "workload/kernels.h"

namespace chorale::test {
namespace {

bool has_one_result(const Workload& workload) {
  return std::ranges::all_of(workload.operations, [&](const Operation& op) {
    const bool adds = op.kind == OperationKind::AllReduce || op.kind == OperationKind::ReduceScatter ||
                      op.kind == OperationKind::Reduce;
    if (!adds || op.reduction != ReduceOp::Sum || op.type.element == ElementType::Int32) return true;
    const Operation& of = operation(workload, op.operands[0]);
    return ranks_of(workload, of.type) <= 2 || of.kind == OperationKind::Input;
  });
}

struct Program {
  std::uint64_t number = 0;
  Workload workload = {};
  std::map<std::string, std::vector<std::vector<double>>> inputs = {};
};

std::optional<Program> random_program(std::uint64_t seed, std::uint64_t number) {
  Dice dice(seed * 1'000'003 + number);
  Program result{.number = number, .workload = RandomWorkload(dice).make()};
  result.inputs = random_inputs(result.workload, dice);
  for (int i = dice.below(40), k = 0; i > 0; --i)
    if (std::optional<RandomStep> step = RandomMove(result.workload, dice, ++k).step())
      result.workload = std::move(step->result);
  if (!has_one_result(result.workload)) return std::nullopt;
  return result;
}

void write_inputs(const std::filesystem::path& folder, const Workload& workload, const WorkloadState& state) {
  std::filesystem::create_directories(folder);
  for (const auto& [name, values] : state.tensors)
    for (int rank = 0; rank < std::ssize(values); ++rank) {
      std::ofstream stream(folder / fmt::format("{}.{}", name, rank), std::ios::binary);
      for (const double value : values[rank])
        with_type(operation(workload, name).type.element, [&](auto t) { put<decltype(t)>(stream, value); });
    }
}

std::string difference(const std::filesystem::path& folder, const Workload& workload,
                       const WorkloadRun& run) {
  for (const auto& [name, values] : run.state.tensors) {
    const Operation& op = operation(workload, name);
    const bool updated =
        std::ranges::any_of(workload.operations, [&](const Operation& o) { return o.updates == name; });
    if (op.kind == OperationKind::Input && !updated) continue;
    const std::string file = op.updates.empty() ? name : op.updates;
    for (int rank = 0; rank < std::ssize(values); ++rank) {
      std::ifstream stream(folder / fmt::format("{}.{}", file, rank), std::ios::binary);
      for (std::size_t e = 0; e < values[rank].size(); ++e) {
        const double x = with_type(op.type.element, [&](auto t) { return got<decltype(t)>(stream); });
        const double y = values[rank][e];
        if (!stream.good()) return fmt::format("{}.{} ends early", file, rank);
        if (x != y && !(std::isnan(x) && std::isnan(y)))
          return fmt::format("{} of rank {}, element {}: {:.17g} is not {:.17g}", name, rank, e, x, y);
      }
    }
  }
  return "";
}

// Compiled as one, since headers of the library take most of the time.
int differences(const std::vector<Program>& programs, Carrier carrier) {
  Folder folder;
  std::string main = "#include <cstdlib>\n", calls;
  for (std::size_t k = 0; k < programs.size(); ++k) {
    const Workload& workload = programs[k].workload;
    const std::string name = fmt::format("w{}", k);
    for (NamedText file :
         to_workload_sources(workload,
                             some_algorithms(workload, 1 + static_cast<int>(programs[k].number % 3),
                                             programs[k].number % 2 == 0),
                             {.name = name})) {
      if (file.path == name + "_main.cpp") {
        file.text = std::regex_replace(file.text, std::regex("int main\\("), name + "_main(");
        file.text = std::regex_replace(file.text, std::regex("struct Workload \\{"),
                                       "struct Workload_" + name + " {");
        file.text = std::regex_replace(file.text, std::regex("<Workload>"), "<Workload_" + name + ">");
        file.text = std::regex_replace(file.text, std::regex(name + "_main"), "int " + name + "_main");
        main += file.text;
        calls += fmt::format("  if (which == {}) return w{}_main(argc - 1, argv + 1);\n", k, k);
      }
      file.path = folder.path() / file.path;
      write_files({file});
    }
  }
  write_file(folder.path() / "main.cpp",
             main + "int main(int argc, char** argv) {\n  const int which = std::atoi(argv[1]);\n" + calls +
                 "  return 9;\n}\n");
  int code = 0;
  const std::string said = run_command(
      fmt::format("cd {} && {} -O0 -Wall -Wextra -Wpedantic -Werror -ffp-contract=off -fno-math-errno "
                  "-fno-trapping-math -I. main.cpp -o w -pthread",
                  folder.path().string(), compiler_for(carrier, Build::Plain)),
      code);
  if (code != 0) {
    fmt::print("programs {} to {} do not compile: {}\n", programs.front().number, programs.back().number,
               said.substr(0, 3000));
    return 1;
  }
  int wrong = 0;
  for (std::size_t k = 0; k < programs.size(); ++k) {
    const Workload& workload = programs[k].workload;
    WorkloadState state;
    for (const auto& [name, values] : programs[k].inputs)
      state.tensors[name] = laid_out(workload, operation(workload, name).type, values);
    const std::filesystem::path in = folder.path() / fmt::format("in{}", k),
                                out = folder.path() / fmt::format("out{}", k);
    write_inputs(in, workload, state);
    std::filesystem::create_directory(out);
    std::string words;
    const std::string told = run_command(
        fmt::format("{}timeout 60 {} {} --runs 0 --seed {} --in {} --out {}{}", surroundings_of(carrier),
                    (folder.path() / "w").string(), k, programs[k].number, in.string(), out.string(),
                    carrier == Carrier::Cuda ? " --channels 2" : ""),
        code);
    words = code != 0 ? "it fails: " + told
                      : difference(out, workload, interpret(workload, state, {.seed = programs[k].number}));
    if (words.empty()) continue;
    ++wrong;
    fmt::print("program {}: {}\n{}\n", programs[k].number, words, to_text(workload));
    std::fflush(stdout);
  }
  return wrong;
}

int main_of(int wanted, std::uint64_t seed, std::uint64_t first, Carrier carrier) {
  const auto start = std::chrono::steady_clock::now();
  int done = 0, wrong = 0, left_out = 0, overlaps = 0;
  std::map<std::string, int> kernels;
  std::vector<Program> batch;
  for (std::uint64_t number = first; done < wanted; ++number) {
    std::optional<Program> program = random_program(seed, number);
    if (!program) {
      ++left_out;
      continue;
    }
    for (const Unit& unit : units(program->workload)) {
      ++kernels[to_string(unit.kind)];
      overlaps += unit.overlap.empty() ? 0 : 1;
    }
    batch.push_back(std::move(*program));
    if (++done % 12 != 0 && done < wanted) continue;
    wrong += differences(batch, carrier);
    batch.clear();
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : kernels) words.push_back(fmt::format("{} {}", count, name));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print("seed {}: {} programs, {} left out, {} differences; units were {}, {} overlapped; {:.0f} s\n",
             seed, done, left_out, wrong, fmt::join(words, ", "), overlaps, seconds.count());
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace chorale::test

int main(int argc, char** argv) {
  if (argc < 2 || argc > 5) {
    std::fputs("usage: emit_random PROGRAMS [SEED [FIRST [threads|cuda|nccl]]]\n", stderr);
    return 2;
  }
  const auto argument = [&](int i) { return i < argc ? std::strtoull(argv[i], nullptr, 10) : 1; };
  using chorale::test::Carrier;
  const std::string name = argc > 4 ? argv[4] : "threads";
  const Carrier carrier = name == "cuda" ? Carrier::Cuda : name == "nccl" ? Carrier::Nccl : Carrier::Threads;
  return chorale::test::main_of(static_cast<int>(argument(1)), argument(2), argument(3), carrier);
}
