// Files are read here and handed over with their names, which errors cite.
#include "api/machines.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "ir/files.h"
#include "ir/json.h"

namespace chorale {

Outcome perform(const ImportCommand& command, Supervisor&) {
  std::vector<NamedText> files;
  for (const std::string& path : command.files) files.push_back({path, read_file(path)});
  const ImportedMachine import = import_machine(files, command.question);
  // The report states what was read, assumed and fitted; its JSON is a file of its own beside the machine.
  Outcome outcome{.text = import.report};
  if (!command.output.empty()) deliver(command.output, to_json(import.machine), outcome);
  if (!command.json.empty()) deliver(command.json, import.json, outcome);
  return outcome;
}

}  // namespace chorale
