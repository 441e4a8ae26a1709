// An emitted directory is the kernel's own sources, byte for byte, and two headers of numbers: the rows of
// ir/peer_program.h, one program right out of place, one in place. What runs in the tests is what is emitted,
// so there is no second kernel to be wrong. The promise is emitted as rows, too, and the programs check every
// element against it.
#include "codegen/cuda_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "codegen/embedded_files.h"
#include "codegen/epilogue_source.h"
#include "codegen/source_tables.h"

namespace chorale {
namespace {

constexpr const char* kHook = "custom_allreduce.cu";

// Of the largest buffer of a rank: what nccl-tests calls the size.
// An AllReduce has one block in each, an Allgather as many as ranks in its output.
int blocks_of_the_size(const PeerProgram& program) {
  int chunks = 0;
  for (const PeerRank& rank : program.ranks)
    chunks = std::max({chunks, rank.input_chunks, rank.output_chunks});
  return chunks / program.chunks_per_block;
}

bool adds_up_teams(const PeerProgram& program) {
  bool any = false;
  for_each_instruction(program, [&](Rank, int, int, const PeerInstruction& i) {
    any = any || std::ranges::any_of(i.does.from, [](const DataPlace& from) { return from.team >= 0; });
  });
  return any;
}

bool loads_from_peers(const PeerProgram& program) {
  bool any = false;
  for_each_instruction(program, [&](Rank n, int, int, const PeerInstruction& i) {
    any = any || std::ranges::any_of(i.does.from,
                                     [n](const DataPlace& from) { return from.team < 0 && from.rank != n; });
  });
  return any;
}

// Columns of rows are the fields of ir/peer_rows.h in their order: aggregates without a constructor.
std::string algorithm_header(const Collective& collective, const PeerProgram& program, double bus_factor) {
  const PeerTable table = table_of(program);
  NumberTable instructions, places, blocks, ranks, teams;
  for (const PeerRow& r : table.rows)
    instructions.push_back({r.kind, r.count, r.piece, r.places, r.from, r.to, r.rank, r.counter, r.value,
                            r.a_launch, r.lag, r.position});
  for (const PeerPlaceRow& r : table.places) places.push_back({r.rank, r.buffer, r.index});
  for (const PeerBlockRow& r : table.blocks) blocks.push_back({r.rank, r.row, r.rows});
  for (const PeerRankRow& r : table.ranks)
    ranks.push_back(
        {r.input_chunks, r.output_chunks, r.scratch_chunks, r.counters, r.inputs, r.outputs, r.slice});
  for (const PeerTeamRow& r : table.teams) teams.push_back({r.first, r.count});
  const Promise promise(collective);
  const std::string name = printable_name(program.name);
  const std::string function =
      program.epilogue.expression.empty()
          ? "// Nothing is applied to complete sums.\nusing Function = chorale::NoFunction;\n\n"
          : printed_function(program.epilogue, "Function") + "\n";
  const int all = static_cast<int>(program.ranks.size());
  return fmt::format(
             "// {}: what each rank does, made by chorale.\n#pragma once\n\n#include <vector>\n\n#include "
             "\"runtime/device/self_check.h\"\n#include \"runtime/device/test_tensors.h\"\n#include "
             "\"ir/peer_rows.h\"\n\n"
             "namespace algorithm {{\n\nconstexpr const char* kName = \"{}\";\n"
             "constexpr int kRanks = {}, kPieces = {};  // pieces of a block\n"
             "constexpr int kBlocks = {};  // of the collective in what nccl-tests calls the size\n"
             "constexpr double kBusFactor = {};\nconstexpr bool kDoubleScratch = {};\n"
             "constexpr bool kAgreed = {};  // do all ranks get the same bits of a sum?\n"
             "constexpr bool kSumsOfTeams = {};  // are there any that a switch can make?\n"
             "constexpr bool kLoadsFromPeers = {};  // receivers load what senders keep\n\n",
             name, name, all, program.chunks_per_block, blocks_of_the_size(program), bus_factor,
             program.double_scratch, collective.order.kind != SumOrder::Kind::Free, adds_up_teams(program),
             loads_from_peers(program)) +
         printed_table("kind, chunks, piece, places, from, to, rank, counter, value, a launch, lag, position",
                       "chorale::PeerRow", "kRows", instructions, 12) +
         printed_table("rank, buffer, slot", "chorale::PeerPlaceRow", "kPlaces", places, 3) +
         printed_table("rank, first row, rows", "chorale::PeerBlockRow", "kBlockRows", blocks, 3) +
         printed_table(
             "chunks of input, output, scratch; counters; where the places of inputs, outputs begin; slice",
             "chorale::PeerRankRow", "kRankRows", ranks, 7) +
         printed_table("ranks whose memory a switch reaches at one address: first in kMembers, how many",
                       "chorale::PeerTeamRow", "kTeams", teams, 2) +
         fmt::format("constexpr int kMembers[] = {{{}}};\n\n",
                     fmt::join(table.members.empty() ? std::vector{-1} : table.members, ", ")) +
         function + printed_promise(promise) + "}  // namespace algorithm\n";
}

// A Makefile without the library that only an AllReduce has (custom_allreduce.cu): no target for it, nor a
// word of it.
std::string without_hook(const std::string& makefile) {
  std::string text;
  std::istringstream lines(makefile);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name = line.find(" hook");
    if (line.starts_with(".PHONY"))
      text += line.erase(name, std::string_view(" hook").size()) + "\n";
    else if (line.starts_with("custom_allreduce"))
      std::getline(lines, line);  // its recipe
    else if (name == line.npos && !line.starts_with("hook:"))
      text += line + "\n";
  }
  return text;
}

}  // namespace

std::optional<Fault> without_cuda_programs(const Collective& collective) {
  if (is_offered(row_of(collective.kind).result)) return std::nullopt;
  return Fault{.kind = Fault::Kind::Limit,
               .words = "the programs around the kernel do not know the collective " + name_of(collective),
               .remedy = "use another target"};
}

std::vector<NamedText> to_cuda_sources(const Verified<PeerProgram>& program,
                                       const Verified<PeerProgram>& in_place, double bus_factor) {
  const Collective& collective = program.collective();
  if (const auto fault = without_cuda_programs(collective)) throw InputError(program->name, *fault);
  std::vector<NamedText> files = {{"out_of_place.h", algorithm_header(collective, *program, bus_factor)},
                                  {"in_place.h", algorithm_header(collective, *in_place, bus_factor)}};
  for (const EmbeddedFile& file : cuda_files())
    if (row_of(collective.kind).result == CollectiveKind::AllReduce)
      files.push_back({file.path, file.contents});
    else if (file.path != std::string_view(kHook))
      files.push_back({file.path, file.path == std::string_view("Makefile") ? without_hook(file.contents)
                                                                            : std::string(file.contents)});
  return files;
}

// Each algorithm stays what it is in a directory of its own: the tables, which the same sources include by
// the same names. So all of them are compiled from one set of sources, each with another folder first on the
// include path, and as a shared library each, since their symbols are equal. The chooser is a program that
// loads the library for a size when it comes to that size.

namespace {

// What it calls is main() of virtual_ranks.cu under another name (MAIN in the Makefile below), found by its
// mangled name: algorithm_main(int, char**).
constexpr const char* kChooser =
    R"(// One program for all sizes: runs the algorithm that is the fastest at each, a library per algorithm, with the
// options of these (options.h). Made by chorale.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "options.h"

namespace {

// Bytes of messages, as nccl-tests counts them: the first row that reaches them is taken; -1 reaches all.
struct Range {
  int algorithm;
  long up_to;
};
constexpr Range kRanges[] = {
@RANGES@};

int algorithm_for(long bytes) {
  for (const Range& range : kRanges)
    if (range.up_to < 0 || bytes <= range.up_to) return range.algorithm;
  return 0;
}

std::string folder() {
  char path[4096];
  const long length = readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return program.substr(0, program.rfind('/') + 1);
}

using Main = int (*)(int, char**);

Main main_of(int algorithm) {
  const std::string file = folder() + "algorithm_" + std::to_string(algorithm) + "_" SUFFIX ".so";
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, "_Z14algorithm_mainiPPc");
  if (found != nullptr) return reinterpret_cast<Main>(found);
  std::fprintf(stderr, "all_sizes: %s: %s\n", file.c_str(), dlerror());
  std::exit(2);
}

// The program's own options, then the sizes: of two the last counts.
int run(int algorithm, int argc, char** argv, long from, long to) {
  std::vector<std::string> words(argv, argv + argc);
  for (const auto& word : {std::string("-b"), std::to_string(from), std::string("-e"), std::to_string(to)})
    words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return main_of(algorithm)(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  int code = 0;
  for (long from = std::max(1l, options.from); from <= options.to;) {
    const int algorithm = algorithm_for(from);
    long last = from, next = from * options.factor;
    for (; next <= options.to && algorithm_for(next) == algorithm; next *= options.factor) last = next;
    std::printf("# algorithm_%d\n", algorithm);
    std::fflush(stdout);
    code = std::max(code, run(algorithm, argc, argv, from, last));
    from = next;
  }
  return code;
}
)";

constexpr const char* kMakefile =
    R"(# All algorithms of this directory, made by chorale:
#   make -f all_sizes.mk cpu      virtual ranks on threads of the CPU; then ./all_sizes_cpu -b 1K -e 64M
#   make -f all_sizes.mk gpu      virtual ranks on one GPU; then ./all_sizes_gpu
#   make -f all_sizes.mk peers    one process a GPU: a program per algorithm, peers_0_gpu and so on
#   make -f all_sizes.mk hook     an AllReduce for vLLM and SGLang: a library per algorithm (sizes: sizes.txt)
#   make -f all_sizes.mk multimem the same where a switch adds and copies: multimem_0_gpu and so on
ALGORITHMS = @NUMBERS@
@SETTINGS@# Algorithms have the same names, so a library shows its main function alone.
MAIN = '-Dmain=__attribute__((visibility("default"))) algorithm_main'
HEADERS = $(wildcard *.h ir/*.h runtime/device/*.h algorithm_*/*.h)

cpu: all_sizes_cpu $(ALGORITHMS:%=algorithm_%_cpu.so)
gpu: all_sizes_gpu $(ALGORITHMS:%=algorithm_%_gpu.so)
peers: $(ALGORITHMS:%=peers_%_gpu)
multimem: $(ALGORITHMS:%=multimem_%_gpu)
hook: $(ALGORITHMS:%=custom_allreduce_%.so)

all_sizes_%: all_sizes.cpp options.h
	$(CXX) -O2 -std=c++20 -Wall -Wextra -I. -DSUFFIX='"$*"' $< -o $@ -ldl -pthread
algorithm_%_cpu.so: virtual_ranks.cu $(HEADERS)
	$(CXX) -O2 -std=c++20 -Wall -Wextra -fPIC -shared -fvisibility=hidden -fno-gnu-unique -Ialgorithm_$* -I. $(DEFINES) $(MAIN) -x c++ $< -o $@ -pthread
algorithm_%_gpu.so: virtual_ranks.cu $(HEADERS)
	$(NVCC) -O3 -std=c++20 -fmad=false $(GENCODE) -Xcompiler -fPIC,-fvisibility=hidden -shared -Ialgorithm_$* -I. $(DEFINES) $(MAIN) $< -o $@
peers_%_gpu: peers.cu $(HEADERS)
	$(NVCC) -O3 -std=c++20 -fmad=false $(GENCODE) -Ialgorithm_$* -I. $(DEFINES) $(MPI_INCLUDE) $< -o $@ -lnccl $(MPI_LINK)
custom_allreduce_%.so: custom_allreduce.cu $(HEADERS)
	$(NVCC) -O3 -std=c++20 -fmad=false $(GENCODE) -Xcompiler -fPIC -shared -Ialgorithm_$* -I. $(DEFINES) $< -o $@
multimem_%_gpu: peers.cu $(HEADERS)
	$(NVCC) -O3 -std=c++20 -fmad=false $(GENCODE) -Ialgorithm_$* -I. -DMULTIMEM $(DEFINES) $(MPI_INCLUDE) $< -o $@ -lnccl $(MPI_LINK)

.PHONY: cpu gpu peers multimem hook
)";

// Texts have braces and percent signs of their own, so marks between @ are replaced, once each.
std::string filled(std::string text, const std::string& mark, const std::string& value) {
  return text.replace(text.find(mark), mark.size(), value);
}

// How the compilers are called, from the Makefile of one algorithm, so that both Makefiles call them alike.
std::string settings_of(const std::string& makefile) {
  const std::size_t begin = makefile.find("ARCH ?=");
  return makefile.substr(begin, makefile.find("HEADERS =") - begin);
}

// Tables are of an algorithm; the others are the kernel's sources.
bool is_table(const std::string& path) {
  return path == "out_of_place.h" || path == "in_place.h";
}

}  // namespace

// Sources other than tables are equal for all algorithms, so the first copy of each is kept.
std::vector<NamedText> to_sized_cuda_sources(std::span<const SizedCuda> sized, std::size_t whole) {
  std::vector<NamedText> files;
  std::set<std::string> there;
  std::string ranges, numbers, settings, sizes;
  for (std::size_t k = 0; k < sized.size(); ++k) {
    const std::string number = std::to_string(k);
    numbers += (numbers.empty() ? "" : " ") + number;
    const std::string up_to = std::isinf(sized[k].up_to) ? "-1" : fmt::format("{:.0f}", sized[k].up_to);
    if (k < whole) {
      ranges += fmt::format("    {{{}, {}}},\n", number, up_to);
      sizes += fmt::format("{} {}\n", number, up_to);
    }
    for (const NamedText& file : sized[k].files) {
      if (is_table(file.path))
        files.push_back({"algorithm_" + number + "/" + file.path, file.text});
      else if (file.path == "Makefile")
        settings = settings_of(file.text);
      else if (there.insert(file.path).second)
        files.push_back(file);
    }
  }
  files.push_back({"sizes.txt", sizes});
  files.push_back({"all_sizes.cpp", filled(kChooser, "@RANGES@", ranges)});
  const std::string makefile = there.contains(kHook) ? kMakefile : without_hook(kMakefile);
  files.push_back({"all_sizes.mk", filled(filled(makefile, "@NUMBERS@", numbers), "@SETTINGS@", settings)});
  return files;
}

}  // namespace chorale
