// Files are read here and handed over with their names, which errors cite. What other synthesizers and
// simulators describe is converted by the Python package first (python/chorale/import_research.py).
#include <fmt/format.h>

#include "api/machines.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/python_command.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "topology/import/import.h"

namespace chorale {

Outcome perform(const ImportCommand& command, Supervisor& supervisor) {
  std::vector<NamedText> files;
  for (const std::string& path : command.files) files.push_back({path, read_file(path)});
  if (files.size() == 1 && is_of_research(files.front())) {
    const std::string& path = files.front().path;
    const Outcome converted = done_in_python(
        path, "import_research",
        fmt::format(R"({{"file":{},"nodes":{}}})", quoted(path), command.question.nodes), supervisor);
    if (converted.document.empty()) return converted;
    files.front().text = converted.document;
  }
  const ImportedMachine import = import_machine(files, command.question);
  // The report states what was read, assumed and fitted; its JSON is a file of its own beside the machine.
  Outcome outcome{.text = import.report};
  if (!command.output.empty()) deliver(command.output, to_json(import.machine), outcome);
  if (!command.json.empty()) deliver(command.json, import.json, outcome);
  return outcome;
}

}  // namespace chorale
