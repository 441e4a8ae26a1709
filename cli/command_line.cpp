// The asked command and its options are registered with CLI11, each command filling a struct of its own; the
// final callback of the command that was typed copies its struct into the variant. What CLI11 reports badly
// is refused here, before or after it parses: unknown commands, unknown options, an argument too many.

#include <algorithm>
#include <memory>
#include <sstream>

#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "ir/words.h"

namespace chorale {

namespace {

// CLI11 indents every line of it to the column of descriptions.
std::string description(const std::string& text, std::size_t column) {
  return joined(broken(text, text_width() - column), "\n");
}

// Help texts as CLI11 makes them, laid out to the width, with the names of values as their descriptions have
// them. CLI11 lays out lines of any length and indents descriptions to one column; the overrides break
// descriptions at the width of the terminal, and show a value by its option_text, so that type_name is free
// for completion.
class HelpFormatter : public CLI::Formatter {
 public:
  // The name of a positional argument is what stands for its value: TOPOLOGY, not topology.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? option->get_option_text() : Formatter::make_option_name(option, false);
  }

  // CLI11 leaves two lines between groups.
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    const std::string text = Formatter::make_group(group, is_positional, std::move(options));
    return is_positional || group == "Options" ? text : text.substr(1);
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_positional() ? "" : Formatter::make_option_opts(option);
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return description(option->get_description(), get_column_width());
  }

  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = option->get_option_text();
    return option->get_required() ? name : "[" + name + "]";
  }

  std::string make_subcommand(const CLI::App* sub) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, sub->get_display_name(true),
                             description(sub->get_description(), get_column_width()), get_column_width());
    return out.str();
  }
};

// Those that are registered: without a filter CLI11 returns the ones that were parsed.
std::vector<CLI::App*> commands_of(CLI::App& app) {
  return app.get_subcommands([](CLI::App*) { return true; });
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// "chorale topology show".
Text path_of(const CLI::App& app) {
  return (app.get_parent() == nullptr ? "" : path_of(*app.get_parent()) + " ") + app.get_name();
}

struct CommandRow {
  Text name;
  void (*register_in)(CLI::App&, Invocation& parsed);
};

// The overview.
const std::vector<std::pair<Text, std::vector<CommandRow>>> kGroups = {
    {"Find algorithms",
     {{"optimize", optimize_options},
      {"job", job_options},
      {"synthesize", synthesize_options},
      {"frontier", frontier_options},
      {"compose", compose_options},
      {"classic", classic_options},
      {"baseline", baseline_options},
      {"bounds", bounds_options},
      {"alltoallv", alltoallv_options}}},
    {"See and verify", {{"check", check_options}, {"show", show_options}, {"compare", compare_options}}},
    {"Machines",
     {{"topology", topology_options}, {"design", design_options}, {"calibrate", calibrate_options}}},
    {"Run and emit",
     {{"run", run_options},
      {"emit", emit_options},
      {"simulate", simulate_options},
      {"program", program_options},
      {"bench", bench_options}}},
    {"Libraries for many sizes and groups", {{"library", library_options}}},
    {"Place parallel axes",
     {{"hierarchy", hierarchy_options},
      {"place", place_options},
      {"order", order_options},
      {"reshard", reshard_options}}},
    {"Tensor programs",
     {{"transform", transform_options}, {"compile", compile_options}, {"tune", tune_options}}},
    {"This program", {{"completion", completion_options}}},
};

bool is_command(const Text& name) {
  return std::ranges::any_of(kGroups, [&](const auto& group) {
    return std::ranges::find(group.second, name, &CommandRow::name) != group.second.end();
  });
}

// Of commands without others below them.
void quiet_option(CLI::App& app, bool& quiet) {
  if (commands_of(app).empty()) app.add_flag("-q,--quiet", quiet, "Print nothing but errors");
  for (CLI::App* command : commands_of(app)) quiet_option(*command, quiet);
}

// The program with the command that the words begin with. All are registered for the overview, and for a
// word that is none of them: four fifths of the instructions of a start, so not for each command.
std::unique_ptr<CLI::App> program(const std::vector<Text>& words, Invocation& parsed) {
  auto app = std::make_unique<CLI::App>(
      "Collective communication algorithms for your machine, with bounds and proofs.", "chorale");
  app->set_version_flag("--version", kVersion);
  app->formatter(std::make_shared<HelpFormatter>());
  app->footer(
      "'chorale optimize MACHINE COLLECTIVE' is where most begin; 'chorale help COMMAND' has exit codes and\n"
      "examples.");
  app->require_subcommand(1);
  if (words == std::vector<Text>{"--version"}) return app;
  const Text first = words.empty() ? "" : words.front();
  const bool one = is_command(first);
  for (const auto& [title, commands] : kGroups)
    for (const CommandRow& command : commands) {
      if (one && command.name != first) continue;
      command.register_in(*app, parsed);
      app->get_subcommand(command.name)->group(title);
    }
  quiet_option(*app, parsed.quiet);
  return app;
}

// "help frontier" and "version" are what people type; and nothing, the first time.
std::vector<Text> as_options(int argc, const char* const* argv) {
  std::vector<Text> words(argv + 1, argv + argc);
  if (words.empty()) return {"--help"};
  if (words.front() == "version" && words.size() == 1) return {"--version"};
  if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

// CLI11 would only report that an argument was not expected, or that a command is required. Returns the
// command.
const CLI::App& require_known_commands(const CLI::App& app, const std::vector<Text>& words) {
  const CLI::App* at = &app;
  for (const Text& name : words) {
    if (name.starts_with('-') || commands_of(*at).empty()) break;
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
  return *at;
}

// CLI11 takes the name of the next option for the value, and reports what is left over.
void require_values(const CLI::App& command, const std::vector<Text>& words) {
  const auto option = [&](const Text& word) {
    return word.starts_with('-') ? command.get_option_no_throw(word) : nullptr;
  };
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i)
    if (const CLI::Option* const one = option(words[i]);
        one != nullptr && one->get_items_expected_min() > 0 && option(words[i + 1]) != nullptr)
      throw InputError(command.get_name(), words[i] + " needs a value",
                       "see '" + path_of(command) + " --help'");
}

// The command that was being read when parsing failed.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

// CLI11's errors name a class and a count; here they become the command, the argument, and a remedy. Leftover
// words are looked up first: an option that is unknown is a misspelt one in most cases.
InputError refusal(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const Text where = command.get_name(), help = "see '" + path_of(command) + " --help'";
  const std::vector<Text> extras = app.remaining(true);
  if (extras.empty() && !commands_of(command).empty())
    return {path_of(command), "a command is missing", help};
  // An option without its value, or one that is given twice: CLI11's text has how many values it received.
  if (extras.empty() && error.get_name() == "ArgumentMismatch") {
    const Text said = error.what();
    const bool twice = said.find("received") != Text::npos && said.find("received 0") == Text::npos;
    return {where, said.substr(0, said.find(':')) + (twice ? " is there more than once" : " needs a value"),
            help};
  }
  if (extras.empty()) return {where, error.what(), help};
  // Only the name is cited, without "=VALUE", and at most 60 characters of it.
  const Text first = extras.front().substr(0, extras.front().find('=')).substr(0, 60);
  if (!first.starts_with('-')) return {where, "'" + first + "' is one argument too many", help};
  std::vector<Text> known;
  for (const CLI::Option* option : command.get_options())
    for (const Text& name : option->get_lnames()) known.push_back("--" + name);
  return {where, "unknown option " + first, did_you_mean(first, known, help)};
}

// Help, version, and what a shell asks for: made when the command line is parsed.
Invocation printed(const Outcome& message) {
  return {.perform = [message](Supervisor&) { return message; }};
}

}  // namespace

// Help is an exception of CLI11 (CLI::Success).
Invocation parse_command_line(int argc, const char* const* argv) {
  Invocation parsed;
  std::vector<Text> words = as_options(argc, argv);
  if (words.front() == "__complete") {
    words.erase(words.begin());
    return printed({.document = completions(*program(words, parsed), words)});
  }
  const std::unique_ptr<CLI::App> app = program(words, parsed);
  require_values(require_known_commands(*app, words), words);
  std::ranges::reverse(words);  // as CLI11 takes them
  try {
    app->parse(words);
  } catch (const CLI::Success& help) {
    std::ostringstream out, unused;
    app->exit(help, out, unused);
    return printed({.text = out.str()});
  } catch (const CLI::ParseError& error) {
    throw refusal(*app, error);
  }
  // After the command has been parsed whole, since two options together are wrong.
  require_one_document(innermost(*app));
  parsed.name = path_of(innermost(*app)).substr(app->get_name().size() + 1);
  return parsed;
}

}  // namespace chorale
