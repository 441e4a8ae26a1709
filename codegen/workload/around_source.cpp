#include "codegen/workload/around_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "codegen/epilogue_source.h"
#include "codegen/workload/names.h"
#include "ir/json_writer.h"

namespace chorale {

// A program around it. Its tensors are named by strings there.
std::string printed_driver(const WorkloadPlaces& places) {
  std::string sizes, visits;
  for (const WorkloadSize& size : places.workload().sizes)
    sizes += fmt::format("    visit(\"{}\", s.{});\n", size.name, identifier(size.name));
  for (const Operation& op : places.workload().operations) {
    if (!places.is_given_memory(op)) continue;
    const bool local = op.type.layout.kind == LayoutKind::Local;
    visits += fmt::format(
        "    visit(chorale::DriverTensor{{\"{}\", {}, {}, {}, {}}}, t.{}, {}::part_{}(s, rank));\n", op.name,
        op.kind == OperationKind::Input, op.kind != OperationKind::Input || places.is_updated(op.name), local,
        places.scope_ranks(op.type), identifier(op.name), places.name(), op.name);
  }
  return fmt::format(
      "// {0} with numbers or files as inputs: see runtime/exchange/driver.h for what it takes.\n"
      "#include \"{0}.h\"\n\n#include \"runtime/exchange/driver.h\"\n"
      "#ifdef CHORALE_LIBRARY\n#include \"runtime/exchange/library.h\"\n#endif\n\nnamespace {{\n\n"
      "struct Workload {{\n  static constexpr const char* kName = {0}::kName;\n"
      "  static constexpr int kRanks = {0}::kRanks;\n"
      "  using Sizes = {0}::Sizes;\n  using Tensors = {0}::Tensors;\n  template <typename Transport>\n"
      "  using Program = {0}::Program<Transport>;\n"
      "  template <typename Visit>\n  static void sizes([[maybe_unused]] Sizes& s, [[maybe_unused]] Visit&& "
      "visit) "
      "{{\n{1}  }}\n"
      "  template <typename Visit>\n  static void tensors([[maybe_unused]] Tensors& t, [[maybe_unused]] "
      "const Sizes& s, "
      "[[maybe_unused]] int rank, [[maybe_unused]] Visit&& visit) {{\n{2}  }}\n}};\n\n}}  // namespace\n\n"
      "#ifdef CHORALE_LIBRARY\nCHORALE_C_INTERFACE(Workload)\n#else\n"
      "int main(int argc, char** argv) {{\n  return chorale::workload_main<Workload>(argc, "
      "argv);\n}}\n#endif\n",
      places.name(), sizes, visits);
}

// What callers of the library need (runtime/exchange/library.h).
std::string printed_description(const WorkloadPlaces& places) {
  std::vector<std::string> tensors, sizes, outputs;
  for (const WorkloadSize& size : places.workload().sizes) sizes.push_back(quoted(size.name));
  for (const std::string& name : places.workload().outputs) outputs.push_back(quoted(name));
  for (const Operation& op : places.workload().operations) {
    if (!places.is_given_memory(op) && !places.is_output(op.name)) continue;
    std::vector<std::string> shape;
    for (const Extent& side : op.type.shape) {
      std::vector<std::string> factors;
      for (const std::string& size : side.sizes) factors.push_back(quoted(size));
      shape.push_back(
          fmt::format(R"({{"factor": {}, "sizes": [{}]}})", side.factor, fmt::join(factors, ", ")));
    }
    tensors.push_back(fmt::format(
        R"({{"name": {}, "type": "{}", "shape": [{}], "layout": "{}", "input": {}, "updated": {}, "in": {}, "address": {}}})",
        quoted(op.name), short_name(op.type.element), fmt::join(shape, ", "), to_string(op.type.layout),
        op.kind == OperationKind::Input,
        std::ranges::any_of(places.workload().operations,
                            [&](const Operation& other) { return other.updates == op.name; }),
        quoted(op.updates), places.is_given_memory(op)));
  }
  return fmt::format(
      "{{\n  \"name\": {},\n  \"ranks\": {},\n  \"groups\": {},\n  \"sizes\": [{}],\n  \"outputs\": [{}],\n"
      "  \"execution\": {},\n  \"tensors\": {}\n}}\n",
      quoted(places.workload().name), places.workload().ranks, places.workload().groups,
      fmt::join(sizes, ", "), fmt::join(outputs, ", "), to_json(places.execution()), lines(tensors, "  "));
}

bool is_for(WorkloadCarrier written, WorkloadCarrier which) {
  return written == WorkloadCarrier::Any || written == which;
}

std::string printed_makefile(const WorkloadPlaces& places, WorkloadCarrier carrier) {
  const auto has = [&](WorkloadCarrier which) { return is_for(carrier, which); };
  const bool on_gpus = has(WorkloadCarrier::Cuda) || has(WorkloadCarrier::Nccl);
  const bool on_hosts = has(WorkloadCarrier::Threads) || has(WorkloadCarrier::Mpi);
  const Execution& execution = places.execution();
  const auto chosen = [](const char* name, int value) {
    return value > 0 ? fmt::format(" -DCHORALE_{}={}", name, value) : "";
  };
  // A block is a block of elements, or, for a GPU alone, one of threads.
  const std::string block = chosen("BLOCK", execution.block),
                    launches = chosen("THREADS", carrier == WorkloadCarrier::Cuda ? execution.block : 0) +
                               chosen("CHANNELS", execution.channels);
  std::string text =
      "# make TARGET: threads (of one process), mpi, library (for other languages), cuda (all ranks on one "
      "GPU), nccl "
      "(a\n# GPU each), nccl_library (for tensors there), report (registers and spills of kernels), as far "
      "as they are here.\n"
      "# make mpi BLAS=1: products by the BLAS that is here, if it has a cblas.h; make cuda CUBLAS=1: by "
      "cuBLAS.\n";
  if (on_hosts)
    text += "FLAGS = -std=c++17 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math" +
            block + " -I.\nCXX ?= g++\n";
  if (on_gpus)
    text +=
        "# -fmad=false: the bits that a host gives. ARCH may list several.\nNVCC ?= nvcc\n"
        "SEEN := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | "
        "tr -d .)\nARCH ?= $(if $(SEEN),sm_$(SEEN),sm_90)\n"
        "GENCODE = $(foreach arch,$(ARCH),-gencode "
        "'arch=$(arch:sm_%=compute_%),code=[$(arch),$(arch:sm_%=compute_%)]')\n"
        "CUDA = $(NVCC) -x cu -std=c++17 -O3 -fmad=false $(GENCODE) -I.\n";
  if (on_hosts)
    text +=
        "BLAS ?=\n"
        "FOUND = $(shell pkg-config --cflags --libs openblas 2>/dev/null || for l in openblas cblas blas; do "
        "\\\n"
        "  echo 'extern \"C\" void cblas_sgemm(); int main() { cblas_sgemm(); }' | \\\n"
        "  $(CXX) -x c++ - -x none -o /dev/null -l$$l 2>/dev/null && echo -l$$l && break; done)\n"
        "ifneq ($(BLAS),)\nifeq ($(strip $(FOUND)),)\n"
        "$(error there is no BLAS with CBLAS's names; install libopenblas-dev, or libblas-dev)\nendif\n"
        "LIBRARY := -DCHORALE_BLAS $(FOUND)\nendif\n";
  if (on_gpus) text += "CUBLAS ?=\nifneq ($(CUBLAS),)\nGPU_LIBRARY := -DCHORALE_CUBLAS -lcublas\nendif\n";
  text += "\n";
  std::string rules, goals, built;
  const auto rule = [&](const std::string& goal, const std::string& file, const std::string& command) {
    goals += " " + goal;
    built += " " + file;
    const bool by_nccl = goal == "nccl" || goal == "nccl_library", on_gpu = goal == "cuda" || by_nccl;
    rules +=
        fmt::format("{1}: {0}_main.cpp {0}.h\n\t{2} -o $@ {3}\n\n", places.name(), file, command,
                    on_gpu ? by_nccl ? "-lnccl $(GPU_LIBRARY)" : "$(GPU_LIBRARY)" : "-pthread $(LIBRARY)");
    text += fmt::format("{}: {}\n", goal, file);
  };
  const std::string source = places.name() + "_main.cpp";
  if (has(WorkloadCarrier::Threads)) rule("threads", places.name() + "_threads", "$(CXX) $(FLAGS) " + source);
  if (has(WorkloadCarrier::Mpi))
    rule("mpi", places.name() + "_mpi", "mpicxx $(FLAGS) -DCHORALE_MPI " + source);
  if (has(WorkloadCarrier::Cuda))
    rule("cuda", places.name() + "_cuda", "$(CUDA) -DCHORALE_CUDA" + launches + " " + source);
  if (has(WorkloadCarrier::Nccl)) rule("nccl", places.name() + "_nccl", "$(CUDA) -DCHORALE_NCCL " + source);
  if (has(WorkloadCarrier::Nccl))
    rule("nccl_library", "lib" + places.name() + "_nccl.so",
         "$(CUDA) -DCHORALE_NCCL -DCHORALE_LIBRARY -Xcompiler -fPIC -shared " + source);
  if (has(WorkloadCarrier::Threads))
    rule("library", "lib" + places.name() + ".so",
         "$(CXX) $(FLAGS) -DCHORALE_LIBRARY -shared -fPIC " + source);
  text += "\n" + rules;
  if (on_gpus) {
    goals += " report";
    text +=
        fmt::format("report: {0}_main.cpp {0}.h\n\t$(CUDA) -Xptxas -v -D{1} -c {0}_main.cpp -o /dev/null\n\n",
                    places.name(), has(WorkloadCarrier::Cuda) ? "CHORALE_CUDA" : "CHORALE_NCCL");
  }
  if (has(WorkloadCarrier::Mpi)) {
    goals += " run";
    text += fmt::format("run: {0}_mpi\n\tmpirun -n {1} ./{0}_mpi\n\n", places.name(),
                        places.workload().ranks * places.workload().groups);
  }
  return text + fmt::format("clean:\n\trm -f{}\n\n.PHONY:{} clean\n", built, goals);
}

}  // namespace chorale
