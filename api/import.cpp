#include "api/import.h"

#include "ir/error.h"
#include "topology/import/import.h"
#include "topology/import/report.h"

namespace chorale {

ImportedMachine import_machine(const std::vector<NamedText>& files, const ImportQuestion& question) {
  if (question.nodes < 1 || !(question.error > 0 && question.error <= 0.5) || !(question.nic_gbits >= 0))
    throw InputError("import", "a number is out of range",
                     "nodes are 1 or more, the error is above 0 and at most 0.5, Gb/s are not negative");
  const Import import =
      imported(files, {.nodes = question.nodes,
                       .error = question.error,
                       .network_within_nodes = question.network_within_nodes,
                       .choices = {.instance = question.instance, .nic_gbits = question.nic_gbits}});
  return {.machine = import.machine, .report = describe(import), .json = to_json(import)};
}

}  // namespace chorale
