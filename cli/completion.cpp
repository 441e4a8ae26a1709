// A shell asks `chorale __complete WORD...` when TAB is pressed, so that what completes is what this program
// registers; the scripts pass the words on and fill in names of files. How a value completes follows from the
// word that stands for it in the help, such as FILE, DIR or TOPOLOGY: these are a part of the interface.

#include <CLI/CLI.hpp>
#include <algorithm>

#include "api/inputs.h"
#include "cli/option_kinds.h"
#include "ir/words.h"

namespace chorale {

enum class Shell { Bash, Fish, Zsh };

struct CompletionCommand {
  Shell shell = Shell::Bash;
};
namespace {

using Texts = std::vector<std::string>;

// "ring:" of "ring:n", "dgx1" of "dgx1"; each once.
Texts machine_names() {
  Texts names;
  for (const CatalogueEntry& entry : known_machines()) {
    const std::size_t end =
        entry.pattern.find_first_of(":[");  // "ring:n" needs its size, "trn2[:n]" does not
    const std::string name =
        end == std::string::npos ? entry.pattern : entry.pattern.substr(0, end + (entry.pattern[end] == ':'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// Values such as "MACHINE|RESULT" or "[FILE]" contain the word.
bool contains_any(const std::string& value, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return value.find(word) != std::string::npos; });
}

// choice() (cli/option_kinds.h) leaves its names in the type, which no help text shows. Machines, collectives
// and algorithms are names or files: both are offered.
Texts offers_for(const CLI::Option& option) {
  const std::string value = option.get_option_text(), kind = option.get_type_name();
  Texts words;
  if (contains_any(value, {"TOPOLOGY", "HIERARCHY", "MACHINE", "NAME|FILE"}))
    words = machine_names();
  else if (kind.find('|') != std::string::npos)
    words = split(kind, '|');
  else if (contains_any(value, {"COLLECTIVE"}))
    words = collective_names();
  if (contains_any(value, {"FILE", "TOPOLOGY", "HIERARCHY", "MACHINE", "COLLECTIVE", "RESULT", "SPEC", "OLD",
                           "ALGORITHM"}))
    words.push_back("<files>");
  if (contains_any(value, {"DIR"})) words.push_back("<directories>");
  return words;
}

// The option of that name, if it takes a value: of a flag no items are expected.
const CLI::Option* option_with_value(const CLI::App& command, const std::string& name) {
  const CLI::Option* const option = command.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_max() > 0 ? option : nullptr;
}

// The argument after so many others; the last one may be repeated.
const CLI::Option* argument_at(const CLI::App& command, std::size_t place) {
  std::vector<const CLI::Option*> arguments;
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) arguments.push_back(option);
  if (place < arguments.size()) return arguments[place];
  const bool repeated =
      !arguments.empty() && arguments.back()->get_option_text().find("...") != std::string::npos;
  return repeated ? arguments.back() : nullptr;
}

std::vector<const CLI::App*> commands_below(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

// Where the cursor is: in which command, behind how many arguments, and behind which option that still awaits
// its value.
struct Cursor {
  const CLI::App* command = nullptr;
  std::size_t place = 0;
  const CLI::Option* awaits = nullptr;
};

void pass(Cursor& at, const std::string& word) {
  if (at.awaits != nullptr) {
    at.awaits = nullptr;
    return;
  }
  if (word.starts_with('-')) {
    at.awaits = option_with_value(*at.command, word);
    return;
  }
  const auto below = commands_below(*at.command);
  const auto named = std::ranges::find(below, word, &CLI::App::get_name);
  if (at.place == 0 && named != below.end())
    at.command = *named;
  else
    ++at.place;
}

// Of a help text the first line only.
std::string with_help(const std::string& word, const std::string& help) {
  return word + "\t" + help.substr(0, help.find('\n'));
}

Texts options_of(const CLI::App& command) {
  Texts lines;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_snames())
      lines.push_back(with_help("-" + name, option->get_description()));
    for (const std::string& name : option->get_lnames())
      lines.push_back(with_help("--" + name, option->get_description()));
  }
  return lines;
}

// All that could stand in the place of the word; of "--engine=sm" as much is kept as the shell has.
Texts candidates(Cursor at, const std::string& word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  std::string name;
  if (at.awaits == nullptr && equals != std::string::npos) {
    name = word.substr(0, equals + 1);
    at.awaits = option_with_value(*at.command, word.substr(0, equals));
    if (at.awaits == nullptr) return {};
  }
  if (at.awaits != nullptr) {
    Texts values = offers_for(*at.awaits);
    for (std::string& value : values)
      if (!value.starts_with('<')) value = name + value;
    return values;
  }
  if (word.starts_with('-')) return options_of(*at.command);
  Texts lines;
  if (at.place == 0)
    for (const CLI::App* below : commands_below(*at.command))
      lines.push_back(with_help(below->get_name(), below->get_description()));
  if (!lines.empty()) return lines;
  const CLI::Option* const argument = argument_at(*at.command, at.place);
  return argument == nullptr ? Texts{} : offers_for(*argument);
}

// readline divides words at "=" and ":" (COMP_WORDBREAKS), so "--json=FILE" and "ring:8" arrive in parts and
// are joined first. Behind a colon nothing is offered: readline would put the whole word after it.
constexpr const char* kBash = R"BASH(# Completion of chorale in bash, made by 'chorale completion bash'.
_chorale() {
  local cur word i
  local -a words=()
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && ($word == [=:]* || ${words[-1]} == *[=:]) ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  cur=${words[-1]}
  COMPREPLY=()
  [[ $cur == *:* ]] && return
  local name=
  [[ $cur == --*=* ]] && name=${cur%%=*}=
  while IFS=$'\t' read -r word _; do
    case $word in
      '<files>')
        compopt -o filenames 2>/dev/null
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${cur#"$name"}") ;;
      '<directories>')
        compopt -o filenames 2>/dev/null
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "${cur#"$name"}") ;;
      *) COMPREPLY+=("${word#"$name"}") ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _chorale chorale
)BASH";

// Values that need more after their colon are completed without a space.
constexpr const char* kZsh = R"ZSH(#compdef chorale
# Completion of chorale in zsh, made by 'chorale completion zsh'.
_chorale() {
  local line cur=$words[CURRENT] asked
  local -a described values
  asked="$(${~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)"
  [[ $cur == --*=* ]] && compset -P '*='
  for line in ${(f)asked}; do
    case $line in
      '<files>') _files ;;
      '<directories>') _files -/ ;;
      *$'\t'*) described+=("${line/$'\t'/:}") ;;
      --*=*) values+=("${line#*=}") ;;
      *) values+=("$line") ;;
    esac
  done
  compadd -- ${values:#*:}
  compadd -S '' -- ${(M)values:#*:}
  (( $#described )) && _describe 'command or option' described
  return 0
}
# zsh calls it by its file, or it is read with 'source'.
if [[ $funcstack[1] == _chorale ]]; then
  _chorale "$@"
else
  compdef _chorale chorale
fi
)ZSH";

constexpr const char* kFish = R"FISH(# Completion of chorale in fish, made by 'chorale completion fish'.
function __chorale_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l name (string match -r -- '^--[^=]*=' $words[-1])
    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
        switch $line
            case '<files>'
                __fish_complete_path (string replace -- "$name" '' $words[-1]) | string replace -r -- '^' "$name"
            case '<directories>'
                __fish_complete_directories (string replace -- "$name" '' $words[-1]) '' | string replace -r -- '^' "$name"
            case '*'
                echo $line
        end
    end
end
complete -c chorale -f -a '(__chorale_complete)'
)FISH";

}  // namespace

std::string completions(const CLI::App& program, const Texts& words) {
  const std::string word = words.empty() ? "" : words.back();
  Cursor at{.command = &program};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) pass(at, words[i]);
  std::string lines;
  for (const std::string& line : candidates(at, word))
    if (line.starts_with('<') || line.starts_with(word)) lines += line + "\n";
  return lines;
}

// Lines of a script may not be broken at the width of the terminal.
Outcome perform(const CompletionCommand& command, Supervisor&) {
  const char* const script = command.shell == Shell::Bash   ? kBash
                             : command.shell == Shell::Fish ? kFish
                                                            : kZsh;
  return {.text = script, .verbatim = true};
}

// Completion by shells.
void completion_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const completion = command(
      app, "completion", "A script that completes commands, options and names in a shell",
      "Installed packages bring it. Without one, in bash and zsh: source <(chorale completion bash),\n"
      "or zsh there, after compinit; and in fish: chorale completion fish | source.\n" +
          kPlainExitCodes +
          "examples:\n  chorale completion bash > chorale.bash\n"
          "  chorale completion fish > chorale.fish");
  auto completed = values_of<CompletionCommand>(completion, parsed);
  choice<Shell>(completion, "shell", completed->shell,
                {{"bash", Shell::Bash}, {"fish", Shell::Fish}, {"zsh", Shell::Zsh}},
                "The shell that reads it");
  completion->get_option("shell")->required();
}

}  // namespace chorale
