#include "cli/command_line.h"

#include <sstream>

#include "cli/help.h"
#include "cli/option_kinds.h"
#include "ir/words.h"

namespace chorale {
namespace {

using Apps = std::vector<const CLI::App*>;

Apps commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// CLI11 would only report that an argument was not expected, or that a command is required.
void require_known_commands(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-' && !commands_of(*at).empty(); ++i) {
    const Text name = argv[i];
    std::vector<Text> known;
    const CLI::App* next = nullptr;
    for (const CLI::App* command : commands_of(*at)) {
      known.push_back(command->get_name());
      if (command->get_name() == name) next = command;
    }
    if (next == nullptr)
      throw InputError("'" + name.substr(0, 60) + "'", "unknown command",
                       did_you_mean(name, known, "see '" + path_of(*at) + " --help'"));
    at = next;
  }
}

// The command that was being read when parsing failed.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

InputError refusal(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const Text where = command.get_name(), help = "see '" + path_of(command) + " --help'";
  const std::vector<Text> extras = app.remaining(true);
  if (extras.empty() && !commands_of(command).empty())
    return {path_of(command), "a command is missing", help};
  if (extras.empty() && error.get_name() == "ArgumentMismatch") {
    const Text said = error.what();
    const bool twice = said.find("received") != Text::npos && said.find("received 0") == Text::npos;
    return {where, said.substr(0, said.find(':')) + (twice ? " is there more than once" : " needs a value"),
            help};
  }
  if (extras.empty()) return {where, error.what(), help};
  const Text first = extras.front().substr(0, extras.front().find('=')).substr(0, 60);
  if (!first.starts_with('-')) return {where, "'" + first + "' is one argument too many", help};
  std::vector<Text> known;
  for (const CLI::Option* option : command.get_options())
    for (const Text& name : option->get_lnames()) known.push_back("--" + name);
  return {where, "unknown option " + first, did_you_mean(first, known, help)};
}

// What is shown while a command works is not quiet either.
void silence(Command& command) {
  if (auto* const synthesize = std::get_if<SynthesizeCommand>(&command))
    synthesize->search.progress = ShowProgress::Never;
  if (auto* const frontier = std::get_if<FrontierCommand>(&command))
    frontier->search.progress = ShowProgress::Never;
  if (auto* const compose = std::get_if<ComposeCommand>(&command)) compose->progress = ShowProgress::Never;
  if (auto* const compile = std::get_if<CompileCommand>(&command))
    compile->target.progress = ShowProgress::Never;
  if (auto* const tune = std::get_if<TuneCommand>(&command)) tune->target.progress = ShowProgress::Never;
  if (auto* const place = std::get_if<PlaceCommand>(&command)) place->progress = ShowProgress::Never;
}

}  // namespace

Invocation parse_command_line(int argc, const char* const* argv) {
  Invocation parsed;
  CLI::App app("Provably best collective communication algorithms for your machine.", "chorale");
  app.set_version_flag("--version", kVersion);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer("'chorale COMMAND --help' has details, exit codes and examples.");
  app.require_subcommand(1);
  topology_options(app, parsed.command);
  search_options(app, parsed.command);
  program_options(app, parsed.command);
  placement_options(app, parsed.command);
  workload_options(app, parsed.command);
  library_options(app, parsed.command);
  manual_options(app, parsed.command);
  for (CLI::App* command : app.get_subcommands([](CLI::App* each) { return commands_of(*each).empty(); }))
    command->add_flag("-q,--quiet", parsed.quiet, "Print nothing but errors");
  require_known_commands(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::ostringstream out, unused;
    app.exit(help, out, unused);
    return {.command = Message{out.str()}};
  } catch (const CLI::ParseError& error) {
    throw refusal(app, error);
  }
  if (parsed.quiet) silence(parsed.command);
  return parsed;
}

}  // namespace chorale
