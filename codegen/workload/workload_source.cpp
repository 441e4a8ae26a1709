// NAME.h from top to bottom: the sizes; a rank's part of each tensor; the tables of its algorithms; a struct
// for each loop; the class that owns what lies between operations, and does them one after the other. Each
// has a file in codegen/workload.
#include "codegen/workload/workload_source.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codegen/embedded_files.h"
#include "codegen/workload/around_source.h"
#include "codegen/workload/class_source.h"
#include "codegen/workload/declarations.h"
#include "codegen/workload/names.h"
#include "codegen/workload/places.h"
#include "codegen/workload/step_source.h"

namespace chorale {
namespace {

std::string printed_header(const WorkloadPlaces& places) {
  const StepPrinter printer(places);
  return printed_declarations(places) + printer.loops() + printed_class(places, printer) +
         "}  // namespace " + places.name() + "\n";
}

// Headers of one carrier alone; all others are included by what every one includes.
bool is_included(WorkloadCarrier carrier, std::string_view path) {
  static constexpr std::pair<std::string_view, WorkloadCarrier> kOwn[] = {
      {"runtime/exchange/threads.h", WorkloadCarrier::Threads},
      {"runtime/exchange/mpi.h", WorkloadCarrier::Mpi},
      {"runtime/exchange/cuda.h", WorkloadCarrier::Cuda},
      {"runtime/exchange/gpu_exchange.h", WorkloadCarrier::Cuda},
      {"runtime/exchange/nccl.h", WorkloadCarrier::Nccl},
  };
  static constexpr std::string_view kOfGpus[] = {"runtime/device/counters.h", "runtime/exchange/fused.h",
                                                 "runtime/exchange/kernels.h", "runtime/exchange/gpu.h"};
  if (path == "runtime/exchange/library.h")
    return is_for(carrier, WorkloadCarrier::Threads) || is_for(carrier, WorkloadCarrier::Nccl);
  for (const auto& [own, which] : kOwn)
    if (path == own) return is_for(carrier, which);
  const bool for_gpus = is_for(carrier, WorkloadCarrier::Cuda) || is_for(carrier, WorkloadCarrier::Nccl);
  if (std::ranges::count(kOfGpus, path) > 0) return for_gpus;
  return true;
}

}  // namespace

std::vector<NamedText> to_workload_sources(const Workload& workload,
                                           const std::vector<WorkloadAlgorithm>& algorithms,
                                           const WorkloadSourceOptions& options) {
  const std::string name = identifier(options.name.empty() ? workload.name : options.name);
  const WorkloadPlaces places(workload, algorithms, name, options.execution);
  std::vector<NamedText> files = {{name + ".h", printed_header(places)},
                                  {name + "_main.cpp", printed_driver(places)},
                                  {name + ".json", printed_description(places)},
                                  {"Makefile", printed_makefile(places, options.carrier)}};
  for (const EmbeddedFile& file : workload_files())
    if (is_included(options.carrier, file.path)) files.push_back({file.path, file.contents});
  return files;
}

}  // namespace chorale
