// NAME.h from top to bottom: the sizes; a rank's part of each tensor; the tables of its algorithms; a struct
// for each loop; the class that owns what lies between operations, and does them one after the other. Each
// has a file in tensor/lowering.
#include "tensor/lowering/workload_source.h"

#include "codegen/embedded_files.h"
#include "tensor/lowering/around_source.h"
#include "tensor/lowering/class_source.h"
#include "tensor/lowering/declarations.h"
#include "tensor/lowering/names.h"
#include "tensor/lowering/places.h"
#include "tensor/lowering/step_source.h"

namespace chorale {

std::span<const EmbeddedFile> workload_files();  // tensor/CMakeLists.txt compiles them in
namespace {

// Printed first and placed last: what the class needs is known when its steps are printed.
std::string printed_header(const WorkloadPlaces& places) {
  const StepPrinter printer(places);
  return printed_declarations(places) + printer.loops() + printed_class(places, printer) +
         "}  // namespace workloads::" + identifier(places.name()) + "\n";
}

}  // namespace

// Faults are found while places are made and while statements are printed, so both are asked.
OrError<std::vector<NamedText>> try_workload_sources(const Workload& workload,
                                                     const std::vector<WorkloadAlgorithm>& algorithms,
                                                     const WorkloadSourceOptions& options) {
  const std::string name = options.name.empty() ? workload.name : options.name;
  const WorkloadPlaces places(workload, algorithms, name, options.execution);
  if (places.error()) return *places.error();
  std::vector<NamedText> files = {{name + ".h", printed_header(places)},
                                  {name + "_main.cpp", printed_driver(places)},
                                  {name + ".json", printed_description(places)},
                                  {"Makefile", printed_makefile(places, options.carrier)}};
  if (places.error()) return *places.error();
  // The directory compiles by itself, without an installation of ours.
  for (const EmbeddedFile& file : workload_files())
    if (includes_header(options.carrier, file.path)) files.push_back({file.path, file.contents});
  return files;
}

std::vector<NamedText> to_workload_sources(const Workload& workload,
                                           const std::vector<WorkloadAlgorithm>& algorithms,
                                           const WorkloadSourceOptions& options) {
  return try_workload_sources(workload, algorithms, options).or_throw();
}

}  // namespace chorale
