// Each algorithm stays what it is in a directory of its own: the tables, which the same sources include by
// the same names. So all of them are compiled from one set of sources, each with another folder first on the
// include path, and as a shared library each, since their symbols are equal. The chooser is a program that
// loads the library for a size when it comes to that size.
#include "codegen/cuda_sizes.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>

namespace chorale {
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
ALGORITHMS = @NUMBERS@
@SETTINGS@# Algorithms have the same names, so a library shows its main function alone.
MAIN = '-Dmain=__attribute__((visibility("default"))) algorithm_main'
HEADERS = $(wildcard *.h ir/*.h runtime/device/*.h algorithm_*/*.h)

cpu: all_sizes_cpu $(ALGORITHMS:%=algorithm_%_cpu.so)
gpu: all_sizes_gpu $(ALGORITHMS:%=algorithm_%_gpu.so)
peers: $(ALGORITHMS:%=peers_%_gpu)

all_sizes_%: all_sizes.cpp options.h
	$(CXX) -O2 -std=c++20 -Wall -Wextra -I. -DSUFFIX='"$*"' $< -o $@ -ldl -pthread
algorithm_%_cpu.so: virtual_ranks.cu $(HEADERS)
	$(CXX) -O2 -std=c++20 -Wall -Wextra -fPIC -shared -fvisibility=hidden -fno-gnu-unique -Ialgorithm_$* -I. $(DEFINES) $(MAIN) -x c++ $< -o $@ -pthread
algorithm_%_gpu.so: virtual_ranks.cu $(HEADERS)
	$(NVCC) -O3 -std=c++20 -fmad=false $(GENCODE) -Xcompiler -fPIC,-fvisibility=hidden -shared -Ialgorithm_$* -I. $(DEFINES) $(MAIN) $< -o $@
peers_%_gpu: peers.cu $(HEADERS)
	$(NVCC) -O3 -std=c++20 -fmad=false $(GENCODE) -Ialgorithm_$* -I. $(DEFINES) $(MPI_INCLUDE) $< -o $@ -lnccl $(MPI_LINK)

.PHONY: cpu gpu peers
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

// Tables are of an algorithm; the others are the kernel's sources. Sums made by switches are left to the
// directories of single algorithms.
bool is_table(const std::string& path) {
  return path == "out_of_place.h" || path == "in_place.h";
}

}  // namespace

// Sources other than tables are equal for all algorithms, so the first copy of each is kept.
std::vector<NamedText> to_sized_cuda_sources(std::span<const SizedCuda> sized) {
  std::vector<NamedText> files;
  std::set<std::string> there;
  std::string ranges, numbers, settings;
  for (std::size_t k = 0; k < sized.size(); ++k) {
    const std::string number = std::to_string(k);
    numbers += (numbers.empty() ? "" : " ") + number;
    ranges += fmt::format("    {{{}, {}}},\n", number,
                          std::isinf(sized[k].up_to) ? "-1" : fmt::format("{:.0f}", sized[k].up_to));
    for (const NamedText& file : sized[k].files) {
      if (is_table(file.path))
        files.push_back({"algorithm_" + number + "/" + file.path, file.text});
      else if (file.path == "Makefile")
        settings = settings_of(file.text);
      else if (file.path != "multimem.cu" && there.insert(file.path).second)
        files.push_back(file);
    }
  }
  files.push_back({"all_sizes.cpp", filled(kChooser, "@RANGES@", ranges)});
  files.push_back({"all_sizes.mk", filled(filled(kMakefile, "@NUMBERS@", numbers), "@SETTINGS@", settings)});
  return files;
}

}  // namespace chorale
