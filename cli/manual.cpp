// Reads the registered options back as plain values. How a value completes follows from the word that stands
// for it in the help: FILE, DIR, TOPOLOGY and so on, so these words are part of the interface of options.
#include "cli/manual.h"

#include <CLI/CLI.hpp>

#include "cli/parse.h"
#include "ir/collective.h"
#include "ir/words.h"

namespace chorale {
namespace {

OptionText described(const CLI::Option& option) {
  OptionText text{.help = option.get_description(), .required = option.get_required()};
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  // A flag, which takes no value.
  if (!option.get_positional() && option.get_type_size_max() == 0) return text;
  text.value = option.get_option_text();
  // choice() (cli/option_kinds.h) leaves its names in the type, which no help text shows.
  const std::string kind = option.get_type_name();
  if (kind.find('|') != std::string::npos) text.choices = split(kind, '|');
  return text;
}

// Values such as "MACHINE|RESULT" or "[FILE]" contain the word.
bool any(const std::string& value, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return value.find(word) != std::string::npos; });
}

}  // namespace

std::string path_of(const CLI::App& app) {
  return (app.get_parent() == nullptr ? "" : path_of(*app.get_parent()) + " ") + app.get_name();
}

CommandText described(const CLI::App& app) {
  CommandText text{.path = path_of(app),
                   .group = app.get_group(),
                   .help = app.get_description(),
                   .more = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) text.options.push_back(described(*option));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    text.commands.push_back(described(*command));
  return text;
}

Offers offers_for(const OptionText& option, const std::vector<std::string>& machines) {
  const std::string& value = option.value;
  Offers offers{.words = option.choices};
  if (any(value, {"TOPOLOGY", "HIERARCHY", "MACHINE", "NAME|FILE"})) offers.words = machines;
  if (any(value, {"COLLECTIVE"}) && offers.words.empty()) offers.words = collective_names();
  // Machines, collectives and algorithms are names or files: both are offered.
  offers.files = any(value, {"FILE", "TOPOLOGY", "HIERARCHY", "MACHINE", "COLLECTIVE", "RESULT", "SPEC",
                             "OLD", "ALGORITHM"});
  offers.directories = any(value, {"DIR"});
  return offers;
}

}  // namespace chorale
