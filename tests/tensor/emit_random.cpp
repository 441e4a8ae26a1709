// Do emitted programs give what workloads mean? Random ones (tests/tensor/random_workload.h) go through
// random transformations, are printed with algorithms of random machines, compiled several at once, and run;
// every output, and every input that was updated, has to be what the interpreter states, to the bit. The
// interpreter adds over ranks as the algorithms do (tests/tensor/rank_sums.h), so that inputs of half of the
// programs are numbers of mixed magnitude, of which sums in another order are others; the other half has
// small multiples of 1/4.
//
// What every rank has has the same bits on all of them, but where the sums of an algorithm say otherwise:
// these programs are counted, and with `replicas` they are differences, too.
//
// Usage: emit_random PROGRAMS [SEED [FIRST [threads|mpi|cuda|nccl [replicas] [fast] [FILE.chorale...]]]].
// Programs of FILEs are taken as they are instead of random ones, each twice in turn, with other inputs
// and algorithms; inputs are multiples of 1/4, since their sums over elements may be rounded. Prints
// differences with the program, a line for each batch, and one on what was done. What is for GPUs runs on the
// stand-in for CUDA and NCCL. `fast` compiles with -O3, so that loops are vectors; zeros of both signs are
// the same there, since GCC 12 makes a truncation, which leaves -0, of the way to an integer and back
// (-fno-trapping-math).
#include <chrono>
#include <cstdio>
#include <regex>

#include "tensor/language/kernels.h"
#include "tests/tensor/emitted_workload.h"
#include "tests/tensor/random_move.h"
#include "tests/tensor/rank_sums.h"

namespace chorale::test {
namespace {

struct Options {
  int programs = 0;
  std::vector<std::string> files = {};
  std::uint64_t seed = 1, first = 1;
  Carrier carrier = Carrier::Threads;
  bool replicas = false, fast = false;
};

// Columns of the second factor, or rows, come from other ranks and are added up in the order of their
// arrival.
bool adds_as_it_arrives(const Workload& workload) {
  return std::ranges::any_of(workload.operations, [&](const Operation& op) {
    return op.kind == OperationKind::MatMul && !op.overlap.empty() &&
           op.type.layout.kind != LayoutKind::Replicated;
  });
}

struct Program {
  std::uint64_t number = 0;
  Workload workload = {};
  std::map<std::string, std::vector<std::vector<double>>> inputs = {};
  std::vector<WorkloadAlgorithm> algorithms = {};
};

// Of 24 bits and exponents from -8 to 8, with zeros of both signs between them; of int32, of up to 31 bits.
double mixed_number(ElementType type, Dice& dice) {
  if (type == ElementType::Int32) return dice.from_to(-1, 1) * dice.below(1 << dice.below(31));
  const double sign = dice.one_in(2) ? 1 : -1;
  return dice.one_in(16)
             ? sign * 0.0
             : rounded(type, sign * std::ldexp(dice.from_to(1 << 23, (1 << 24) - 1), dice.from_to(-31, -15)));
}

// Nothing: a product or so of a list of tensors, which is refused.
std::optional<Program> random_program(const Options& options, std::uint64_t number) {
  Dice dice(options.seed * 1'000'003 + number);
  const std::string file = options.files.empty() ? "" : options.files[number / 2 % options.files.size()];
  Program result{
      .number = number,
      .workload = file.empty() ? RandomWorkload(dice).make() : parse_workload(read_file(file), file)};
  result.inputs = random_inputs(result.workload, dice);
  for (int i = options.files.empty() ? dice.below(40) : 0, k = 0; i > 0; --i)
    if (std::optional<RandomStep> step = RandomMove(result.workload, dice, ++k).step())
      result.workload = std::move(step->result);
  if (options.files.empty() && number % 2 == 0 && !adds_as_it_arrives(result.workload))
    for (auto& [name, whole] : result.inputs)
      for (std::vector<double>& values : whole)
        for (double& x : values) x = mixed_number(operation(result.workload, name).type.element, dice);
  result.algorithms = some_algorithms(result.workload, 1 + static_cast<int>(number % 3), number % 4 < 2);
  try {
    to_workload_sources(result.workload, result.algorithms).or_throw();
  } catch (const InputError&) {
    return std::nullopt;
  }
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

std::vector<char> contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Found {
  std::string difference = {};
  int replicas = 0,
      by_algorithm = 0;  // that were compared; that differ because the sums of their algorithms do
};

Found compared(const std::filesystem::path& folder, const Workload& workload, const WorkloadRun& run,
               const RankSums& sums, bool signs_of_zeros) {
  Found found;
  for (const auto& [name, values] : run.state.tensors) {
    const Operation& op = operation(workload, name);
    const bool updated =
        std::ranges::any_of(workload.operations, [&](const Operation& o) { return o.updates == name; });
    if (op.kind == OperationKind::Input && !updated) continue;
    const std::string file = op.updates.empty() ? name : op.updates;
    const auto path = [&](int rank) { return folder / fmt::format("{}.{}", file, rank); };
    for (int rank = 0; rank < std::ssize(values); ++rank) {
      if (contents(path(rank)).size() != values[rank].size() * size_of(op.type.element))
        return {fmt::format("{} of rank {} is of {} bytes", file, rank, contents(path(rank)).size())};
      std::ifstream stream(path(rank), std::ios::binary);
      for (std::size_t e = 0; e < values[rank].size(); ++e) {
        const double x = with_type(op.type.element, [&](auto t) { return got<decltype(t)>(stream); });
        const double y = values[rank][e];
        if ((x != y || (signs_of_zeros && std::signbit(x) != std::signbit(y))) &&
            !(std::isnan(x) && std::isnan(y)))
          return {fmt::format("{} of rank {}, element {}: {:.17g} is not {:.17g}", name, rank, e, x, y)};
      }
    }
    if (op.type.layout.kind != LayoutKind::Replicated) continue;
    for (int rank = 0; rank < std::ssize(values); ++rank) {
      const int first = first_peer(workload, op.type, rank);
      if (values[rank].empty() || rank == first) continue;
      ++found.replicas;
      if (contents(path(rank)) == contents(path(first))) continue;
      if (sums.are_the_same_on_all_ranks())
        return {fmt::format("{} of rank {} has other bits than of rank {}", name, rank, first)};
      ++found.by_algorithm;
    }
  }
  return found;
}

// Compiled as one, since headers of the library take most of the time.
int differences(const std::vector<Program>& programs, const Options& options, Found& all) {
  const Carrier carrier = options.carrier;
  Folder folder;
  std::string main = "#include <cstdlib>\n", calls;
  for (std::size_t k = 0; k < programs.size(); ++k) {
    const Workload& workload = programs[k].workload;
    const std::string name = fmt::format("w{}", k);
    for (NamedText file : to_workload_sources(workload, programs[k].algorithms, {.name = name}).or_throw()) {
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
      fmt::format("cd {} && {} {} -Wall -Wextra -Wpedantic -Werror -ffp-contract=off -fno-math-errno "
                  "-fno-trapping-math -I. main.cpp -o w -pthread",
                  folder.path().string(),
                  compiler_for(carrier, options.programs > 24 && !options.fast ? Build::Quick : Build::Plain),
                  options.fast ? "-O3 -march=native" : "-O0"),
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
    const std::string launcher =
        carrier == Carrier::Mpi
            ? fmt::format(
                  "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 {} --oversubscribe -n {} ",
                  CHORALE_MPIEXEC, workload.ranks * workload.groups)
            : surroundings_of(carrier);
    const std::string told =
        run_command(fmt::format("{}timeout 60 {} {} --runs 0 --seed {} --in {} --out {}{}", launcher,
                                (folder.path() / "w").string(), k, programs[k].number, in.string(),
                                out.string(), carrier == Carrier::Cuda ? " --channels 2" : ""),
                    code);
    std::string words;
    if (code != 0 && told.find("replicas differ") == told.npos) {
      words = "it fails: " + told;
    } else {
      const RankSums sums(workload, programs[k].algorithms);
      const WorkloadRun run = interpret(workload, state, {.seed = programs[k].number, .rank_sum = sums});
      const Found found = compared(out, workload, run, sums, !options.fast);
      words = found.difference;
      if (words.empty() && options.replicas && found.by_algorithm > 0)
        words = "its algorithms give ranks other sums";
      all.replicas += found.replicas;
      all.by_algorithm += found.by_algorithm;
    }
    if (words.empty()) continue;
    ++wrong;
    fmt::print("program {}: {}\n{}\n", programs[k].number, words, to_text(workload));
    std::fflush(stdout);
  }
  return wrong;
}

int main_of(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  int wrong = 0, overlaps = 0, slices = 0;
  Found all;
  std::map<std::string, int> kernels;
  std::vector<Program> batch;
  const int at_once = options.programs > 24 ? 48 : 12;
  int refused = 0;
  for (int done = 0; done < options.programs;) {
    std::optional<Program> program =
        random_program(options, options.first + static_cast<std::uint64_t>(done + refused));
    if (!program) {
      if (++refused > 1000) {
        fmt::print("all programs are refused\n");
        return 1;
      }
      continue;
    }
    batch.push_back(std::move(*program));
    const Workload& workload = batch.back().workload;
    for (const Unit& unit : units(workload)) {
      ++kernels[name_of(unit.kind)];
      overlaps += unit.overlap.empty() ? 0 : 1;
    }
    slices +=
        static_cast<int>(std::ranges::count(workload.operations, OperationKind::Slice, &Operation::kind));
    if (++done % at_once != 0 && done < options.programs) continue;
    wrong += differences(batch, options, all);
    fmt::print("programs {} to {}: {} differences so far\n", batch.front().number, batch.back().number,
               wrong);
    std::fflush(stdout);
    batch.clear();
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : kernels) words.push_back(fmt::format("{} {}", count, name));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print(
      "seed {}: {} programs, {} refused, {} differences; {} replicas compared, {} that differ by their "
      "algorithms; {} slices; units were {}, {} overlapped; {:.0f} s\n",
      options.seed, options.programs, refused, wrong, all.replicas, all.by_algorithm, slices,
      fmt::join(words, ", "), overlaps, seconds.count());
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace chorale::test

int main(int argc, char** argv) {
  using chorale::test::Carrier;
  const std::map<std::string, Carrier> carriers = {
      {"threads", Carrier::Threads}, {"mpi", Carrier::Mpi}, {"cuda", Carrier::Cuda}, {"nccl", Carrier::Nccl}};
  chorale::test::Options options;
  bool known = argc > 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::uint64_t number = std::strtoull(word.c_str(), nullptr, 10);
    if (word.ends_with(".chorale"))
      options.files.push_back(word);
    else if (i == 1)
      options.programs = static_cast<int>(number);
    else if (i == 2)
      options.seed = number;
    else if (i == 3)
      options.first = number;
    else if (const auto it = carriers.find(word); it != carriers.end())
      options.carrier = it->second;
    else if (word == "replicas")
      options.replicas = true;
    else if (word == "fast")
      options.fast = true;
    else
      known = false;
  }
  if (!known) {
    std::fputs(
        "usage: emit_random PROGRAMS [SEED [FIRST [threads|mpi|cuda|nccl] [replicas] [fast] "
        "[FILE.chorale...]]]\n",
        stderr);
    return 2;
  }
  return chorale::test::main_of(options);
}
