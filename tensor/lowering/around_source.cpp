// The driver, the description and the Makefile: each is a template of text with the workload's names in it.
// What transports need beyond that is a table: a row per carrier, so that a new one is a row.
#include "tensor/lowering/around_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "codegen/epilogue_source.h"
#include "ir/json_fields.h"
#include "tensor/lowering/names.h"

namespace chorale {

// A program around it. Its tensors are named by strings there.
// The driver (exchange/driver.h) knows no tensors: it is given functions that visit all sizes and all
// tensors, each with its name, whether it is read and written, and this rank's part.
std::string printed_driver(const WorkloadPlaces& places) {
  std::string sizes, visits;
  for (const WorkloadSize& size : places.workload().sizes)
    sizes += fmt::format("    visit(\"{}\", s.{});\n", size.name, identifier(size.name));
  for (const Operation& op : places.workload().operations) {
    if (!places.is_given_memory(op)) continue;
    const bool local = op.type.layout.kind == LayoutKind::Local;
    visits += fmt::format(
        "    visit(chorale::DriverTensor{{\"{}\", {}, {}, {}, {}}}, t.{}, workloads::{}::part_{}(s, "
        "rank));\n",
        op.name, op.kind == OperationKind::Input,
        op.kind != OperationKind::Input || places.is_updated(op.name), local, places.scope_ranks(op.type),
        identifier(op.name), identifier(places.name()), op.name);
  }
  return fmt::format(
      "// {0} with numbers or files as inputs: see tensor/exchange/driver.h for what it takes.\n"
      "#include \"{0}.h\"\n\n#include \"tensor/exchange/driver.h\"\n"
      "#ifdef CHORALE_LIBRARY\n#include \"tensor/exchange/library.h\"\n#endif\n\nnamespace {{\n\n"
      "struct Workload {{\n  static constexpr const char* kName = workloads::{3}::kName;\n"
      "  static constexpr int kRanks = workloads::{3}::kRanks;\n"
      "  using Sizes = workloads::{3}::Sizes;\n  using Tensors = workloads::{3}::Tensors;\n  template "
      "<typename Transport>\n"
      "  using Program = workloads::{3}::Program<Transport>;\n"
      "  template <typename Visit>\n  static void sizes([[maybe_unused]] Sizes& s, [[maybe_unused]] Visit&& "
      "visit) {{\n{1}  }}\n"
      "  template <typename Visit>\n  static void tensors([[maybe_unused]] Tensors& t, [[maybe_unused]] "
      "const Sizes& s, [[maybe_unused]] int rank, [[maybe_unused]] Visit&& visit) {{\n{2}  }}\n}};\n\n}}  // "
      "namespace\n\n"
      "#ifdef CHORALE_LIBRARY\nCHORALE_C_INTERFACE(Workload)\n#else\n"
      "int main(int argc, char** argv) {{\n  return chorale::workload_main<Workload>(argc, "
      "argv);\n}}\n#endif\n",
      places.name(), sizes, visits, identifier(places.name()));
}

namespace {

using ChunkList = std::vector<std::vector<int>>;  // block and piece of each

// Of what each rank reads of its own input, or makes of its output, in each step: rank, step, the chunks.
std::vector<JsonText> chunks_by_step(const std::map<std::pair<int, int>, ChunkList>& found) {
  std::vector<JsonText> rows;
  for (const auto& [key, chunks] : found)
    rows.push_back(json_object("rank", key.first, "step", key.second, "chunks", chunks));
  return rows;
}

// The order of chunks, and what each step waits for: a chunk of the input before the first step that sends or
// adds it, and a chunk of the output behind the last step that writes it.
JsonText printed_plan(const WorkloadPlaces& places, const Operation& op) {
  const StepRows& rows = places.rows().at(op.name).steps;
  const auto chunk = [&](bool own, int rank, int slot) {
    return std::vector<int>{own ? rank : slot / rows.pieces, slot % rows.pieces};
  };
  std::map<std::pair<int, std::vector<int>>, int> first, last;  // by rank and chunk: the step
  const auto see = [&](int step, int rank, int from_buffer, int from_slot, int to, int to_buffer,
                       int to_slot) {
    if (from_buffer == 0) first.try_emplace({rank, chunk(rows.own_input, rank, from_slot)}, step);
    if (to_buffer == 1) last[{to, chunk(rows.own_output, to, to_slot)}] = step;
  };
  ChunkList messages;
  for (const StepMessage& m : rows.messages) {
    see(m.step, m.from, m.from_buffer, m.from_slot, m.to, m.to_buffer, m.to_slot);
    messages.push_back({m.step, m.from, m.to, m.block, m.piece, m.from_buffer == 0});
  }
  for (const StepWork& w : rows.work)
    see(w.step, w.rank, w.from_buffer, w.from_slot, w.rank, w.to_buffer, w.to_slot);
  std::map<std::pair<int, int>, ChunkList> waits, arrivals;
  for (const auto& [key, step] : first) waits[{key.first, step}].push_back(key.second);
  for (const auto& [key, step] : last) arrivals[{key.first, step}].push_back(key.second);
  return json_object("operation", op.name, "kind", to_string(op.kind), "ranks", places.peers(op), "dim",
                     places.slicing(op).dim, "pieces", rows.pieces, "steps", rows.steps, "messages", messages,
                     "waits", chunks_by_step(waits), "arrivals", chunks_by_step(arrivals));
}

std::vector<JsonText> printed_plans(const WorkloadPlaces& places) {
  std::vector<JsonText> plans;
  for (const Operation& op : places.workload().operations)
    if (!op.overlap.empty() && places.rows().contains(op.name))
      plans.push_back(json_object("overlap", op.overlap, "handed_over",
                                  pieces_of(places.execution(), op.overlap), "communication",
                                  printed_plan(places, op)));
  return plans;
}

}  // namespace

// What callers of the library need (exchange/library.h).
// Of each tensor also where it is updated: by an input of that name, or by the output that has it as `in`.
std::string printed_description(const WorkloadPlaces& places) {
  const Workload& workload = places.workload();
  std::vector<std::string> sizes;
  for (const WorkloadSize& size : workload.sizes) sizes.push_back(size.name);
  std::vector<JsonText> tensors;
  for (const Operation& op : workload.operations) {
    if (!places.is_given_memory(op) && !places.is_output(op.name)) continue;
    std::vector<JsonText> shape;
    for (const Extent& side : op.type.shape)
      shape.push_back(json_object("factor", side.factor, "sizes", side.sizes, "divisor", side.divisor));
    const bool is_updated = std::ranges::any_of(
        workload.operations, [&](const Operation& other) { return other.updates == op.name; });
    tensors.push_back(json_object("name", op.name, "type", short_name(op.type.element), "shape", shape,
                                  "layout", to_string(op.type.layout), "input",
                                  op.kind == OperationKind::Input, "updated", is_updated, "in", op.updates,
                                  "address", places.is_given_memory(op)));
  }
  return json_file("name", workload.name, "ranks", workload.ranks, "groups", workload.groups, "sizes", sizes,
                   "outputs", workload.outputs, "execution", JsonText{to_json(places.execution())}, "tensors",
                   tensors, "overlaps", printed_plans(places));
}

namespace {

// What each one needs: how its program is compiled, and its headers, which others do not include.
struct CarrierRow {
  WorkloadCarrier carrier;
  bool on_gpus;
  const char* compiler;
  const char* libraries;
  std::vector<std::string_view> headers;
};

const std::vector<CarrierRow>& carriers() {
  static const std::vector<CarrierRow> rows = {
      {WorkloadCarrier::Threads,
       false,
       "$(CXX) $(FLAGS)",
       "-pthread $(LIBRARY)",
       {"runtime/exchange/threads.h", "tensor/exchange/library.h"}},
      {WorkloadCarrier::Mpi,
       false,
       "mpicxx $(FLAGS) -DCHORALE_MPI",
       "-pthread $(LIBRARY)",
       {"runtime/exchange/mpi.h"}},
      {WorkloadCarrier::Cuda,
       true,
       "$(CUDA) -DCHORALE_CUDA",
       "$(GPU_LIBRARY)",
       {"tensor/exchange/cuda.h", "tensor/exchange/gpu_exchange.h"}},
      {WorkloadCarrier::Nccl,
       true,
       "$(CUDA) -DCHORALE_NCCL",
       "-lnccl $(GPU_LIBRARY)",
       {"tensor/exchange/nccl.h", "runtime/device/nccl_group.h", "tensor/exchange/library.h"}},
  };
  return rows;
}
// Of all carriers on GPUs.
constexpr std::string_view kHeadersOfGpus[] = {
    "runtime/device/counters.h", "tensor/exchange/fused.h", "tensor/exchange/fused_block.h",
    "tensor/exchange/kernels.h", "tensor/exchange/gpu.h",   "runtime/exchange/gpu_memory.h"};

// Requires one of the rows: Any has none.
const CarrierRow& carrier_row(WorkloadCarrier carrier) {
  return *std::ranges::find(carriers(), carrier, &CarrierRow::carrier);
}

// Does what is written for the first one have what the other one needs?
bool is_for(WorkloadCarrier written, WorkloadCarrier which) {
  return written == WorkloadCarrier::Any || written == which;
}

}  // namespace

// A header that no carrier has in its row is needed by all.
bool includes_header(WorkloadCarrier written, std::string_view path) {
  const bool of_gpus = std::ranges::count(kHeadersOfGpus, path) > 0;
  bool is_own = of_gpus, is_needed = false;
  for (const CarrierRow& row : carriers()) {
    const bool has = (of_gpus && row.on_gpus) || std::ranges::count(row.headers, path) > 0;
    is_own = is_own || has;
    is_needed = is_needed || (has && is_for(written, row.carrier));
  }
  return is_needed || !is_own;
}

// Goals are those of the carriers that it is for, then libraries, reports and runs. -ffp-contract=off and
// -fmad=false: a product and a sum are rounded each, on hosts and GPUs, so that all give the same bits; the
// host's part of a GPU's program computes what depends on no element (loop_contents.cpp), so it has both.
//
// CBLAS's functions may lie in any of three libraries: the first that links is taken, and none is an error
// only where BLAS=1 asks for one.
std::string printed_makefile(const WorkloadPlaces& places, WorkloadCarrier carrier) {
  const auto has = [&](WorkloadCarrier which) { return is_for(carrier, which); };
  const auto has_any = [&](bool on_gpus) {
    return std::ranges::any_of(
        carriers(), [&](const CarrierRow& row) { return row.on_gpus == on_gpus && has(row.carrier); });
  };
  const bool on_gpus = has_any(true), on_hosts = has_any(false);
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
      "GPU), nccl (a\n# GPU each), nccl_library (for tensors there), report (registers and spills of "
      "kernels), as far as they are here.\n"
      "# make mpi BLAS=1: products by the BLAS that is here, if it has a cblas.h; make cuda CUBLAS=1: by "
      "cuBLAS.\n";
  if (on_hosts)
    text += "FLAGS = -std=c++17 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math" +
            block + " -iquote .\nCXX ?= g++\n";
  // ARCH is that of the first GPU that nvidia-smi sees, or sm_90; PTX goes along for later ones.
  if (on_gpus)
    text +=
        "# -fmad=false: the bits that a host gives, but for Exp, Log, Tanh and Pow of what a GPU has "
        "computed "
        "or loaded,\n# which are CUDA's own, and for the bits of a NaN. ARCH may list several.\n"
        "NVCC ?= nvcc\n"
        "SEEN := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | "
        "tr -d .)\nARCH ?= $(if $(SEEN),sm_$(SEEN),sm_90)\n"
        "GENCODE = $(foreach arch,$(ARCH),-gencode "
        "'arch=$(arch:sm_%=compute_%),code=[$(arch),$(arch:sm_%=compute_%)]')\n"
        "CUDA = $(NVCC) -x cu -std=c++17 -O3 -fmad=false -Xcompiler -ffp-contract=off $(GENCODE) -Xcompiler "
        "-iquote,.\n";
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
  // A goal is a name for people, its file what make looks at.
  const auto rule = [&](const CarrierRow& row, const std::string& goal, const std::string& file,
                        const std::string& flags) {
    goals += " " + goal;
    built += " " + file;
    rules += fmt::format("{1}: {0}_main.cpp {0}.h\n\t{2}{3} {0}_main.cpp -o $@ {4}\n\n", places.name(), file,
                         row.compiler, flags, row.libraries);
    text += fmt::format("{}: {}\n", goal, file);
  };
  for (const CarrierRow& row : carriers())
    if (has(row.carrier)) {
      const std::string name(
          name_in(std::span<const Named<WorkloadCarrier>>(kWorkloadCarriers), row.carrier));
      rule(row, name, places.name() + "_" + name, row.carrier == WorkloadCarrier::Cuda ? launches : "");
    }
  if (has(WorkloadCarrier::Nccl))
    rule(carrier_row(WorkloadCarrier::Nccl), "nccl_library", "lib" + places.name() + "_nccl.so",
         " -DCHORALE_LIBRARY -Xcompiler -fPIC -shared");
  if (has(WorkloadCarrier::Threads))
    rule(carrier_row(WorkloadCarrier::Threads), "library", "lib" + places.name() + ".so",
         " -DCHORALE_LIBRARY -shared -fPIC");
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
