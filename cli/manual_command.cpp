// Completion scripts and manual pages of the commands.
#include <algorithm>

#include "api/inputs.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/manual.h"
#include "ir/files.h"
#include "ir/words.h"

namespace chorale {
namespace {

// "ring:" of "ring:n", "dgx1" of "dgx1"; each once.
std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : known_machines()) {
    const std::size_t end =
        entry.pattern.find_first_of(":[");  // "ring:n" needs its size, "trn2[:n]" does not
    const std::string name =
        end == std::string::npos ? entry.pattern : entry.pattern.substr(0, end + (entry.pattern[end] == ':'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// A page per command, those with commands below them included, in one directory as man expects.
void add_pages(const CommandText& command, const std::string& directory, std::vector<NamedText>& pages) {
  pages.push_back({directory + "/" + manual_page_name(command), manual_page(command, kVersion)});
  for (const CommandText& below : command.commands) add_pages(below, directory, pages);
}

}  // namespace

Outcome perform(const CompletionCommand& command, Supervisor&) {
  const auto script = command.shell == Shell::Bash   ? bash_completion
                      : command.shell == Shell::Fish ? fish_completion
                                                     : zsh_completion;
  // Lines of a script may not be broken at the width of the terminal.
  return {.text = script(described_program(), machine_names()), .verbatim = true};
}

Outcome perform(const ManualCommand& command, Supervisor&) {
  make_writable_directory("-o", command.directory);
  std::vector<NamedText> pages;
  add_pages(described_program(), command.directory, pages);
  const std::string number = counted(std::ssize(pages), "page");
  return {.text = number + " of the manual, in " + command.directory + "\n", .files = std::move(pages)};
}

}  // namespace chorale
