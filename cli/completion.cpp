// Scripts that shells read. bash and zsh call a function, which finds its position among the words and
// searches tables; fish has a line for each option and finds the position itself.
//
// A table maps a position to what fits there: "topology show " to its options, "topology show --html" to the
// values of that option, "topology show 1" to those of the first argument. The functions walk over the words
// before the cursor with three variables: the path of commands so far, the position among the arguments, and
// the option that still awaits its value.
#include <fmt/format.h>

#include <functional>

#include "api/work_folder.h"
#include "cli/manual.h"
#include "ir/words.h"

namespace chorale {
namespace {

// "topology show " of "chorale topology show".
std::string place_of(const CommandText& command) {
  const std::size_t blank = command.path.find(' ');
  return blank == std::string::npos ? "" : command.path.substr(blank + 1) + " ";
}

// readline divides words at "=" and ":" (COMP_WORDBREAKS), so "--json=FILE" and "ring:8" arrive in parts and
// are joined first. Behind a colon nothing is offered: readline would put the whole word after it.
constexpr const char* kBashFunction = R"BASH(
_chorale() {
  local path= place=1 awaits= offers= cur= word key i
  local -a words=()
  # What readline cuts at '=' and ':' is one word again.
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && ($word == [=:]* || ${words[-1]} == *[=:]) ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  cur=${words[-1]}
  for word in "${words[@]:0:${#words[@]}-1}"; do
    key="$path$word"
    if [[ -n $awaits ]]; then
      awaits=
    elif [[ $word == -* ]]; then
      [[ $word != *=* && -n ${_chorale_values[$key]+there} ]] && awaits=$word
    elif [[ $place -eq 1 && -n ${_chorale_options["$key "]+there} ]]; then
      path="$key "
    else
      ((++place))
    fi
  done
  if [[ -z $awaits && $cur == --*=* ]]; then
    awaits=${cur%%=*}
    cur=${cur#*=}
  fi
  if [[ -n $awaits ]]; then
    key="$path$awaits"
    offers=${_chorale_values[$key]-}
  elif [[ $cur == -* ]]; then
    key=${path:- }
    offers=${_chorale_options[$key]-}
  else
    key="$path$place"
    offers=${_chorale_values[$key]-${_chorale_values["$path+"]-}}
  fi
  COMPREPLY=()
  [[ $cur == *:* ]] && return
  mapfile -t COMPREPLY < <(compgen -W "${offers//<*>/}" -- "$cur")
  if [[ $offers == *'<files>' ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
  elif [[ $offers == *'<directories>' ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
  fi
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _chorale chorale
)BASH";

// "bash fish zsh", "<files>": words have no whitespace and no quotes, so one text holds a list; the marks in
// angle brackets ask the shell for names of files or directories.
std::string offered(const Offers& offers) {
  std::vector<std::string> words = offers.words;
  if (offers.files) words.push_back("<files>");
  if (offers.directories) words.push_back("<directories>");
  return joined(words, " ");
}

// Calls row(key, words) for each value that completes. Keys are "topology show --html", or "topology show 1"
// for the first positional argument; "+" is for all further ones of an argument that may be repeated.
void for_each_value(const CommandText& command, const std::vector<std::string>& machines,
                    const std::function<void(const std::string& key, const std::string& words)>& row) {
  int place = 0;
  for (const OptionText& option : command.options) {
    if (option.value.empty()) continue;
    std::vector<std::string> keys = option.names;
    if (keys.empty()) keys = {std::to_string(++place)};
    if (option.names.empty() && option.value.find("...") != std::string::npos) keys.push_back("+");
    for (const std::string& key : keys) row(place_of(command) + key, offered(offers_for(option, machines)));
  }
}

// "show" of "chorale topology show".
std::string last_word(const CommandText& command) {
  return command.path.substr(command.path.rfind(' ') + 1);
}

// The contents of two associative arrays, a line per key.
struct BashTables {
  std::string options = {}, values = {};
};

void tabulate(const CommandText& command, const std::vector<std::string>& machines, BashTables& tables) {
  const std::string at = place_of(command);
  std::vector<std::string> names, commands;
  for (const OptionText& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  for_each_value(command, machines, [&](const std::string& key, const std::string& words) {
    tables.values += fmt::format("  [\"{}\"]=\"{}\"\n", key, words);
  });
  for (const CommandText& below : command.commands) commands.push_back(last_word(below));
  if (!commands.empty()) tables.values += fmt::format("  [\"{}1\"]=\"{}\"\n", at, joined(commands, " "));
  // A blank, since bash has no empty keys.
  tables.options += fmt::format("  [\"{}\"]=\"{}\"\n", at.empty() ? " " : at, joined(names, " "));
  for (const CommandText& below : command.commands) tabulate(below, machines, tables);
}

// For fish: in single quotes a backslash escapes the quote and itself.
std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

constexpr const char* kZshFunctions = R"ZSH(
# Values that are known by name, those that need more after their colon without a space; and files.
_chorale_offer() {
  local -a offers=(${=_chorale_values[$1]})
  compadd -- ${offers:#*(:|<*>)}
  compadd -S '' -- ${(M)offers:#*:}
  [[ -n ${(M)offers:#<files>} ]] && _files
  [[ -n ${(M)offers:#<directories>} ]] && _files -/
  return 0
}
_chorale() {
  local at= awaits= next key word cur=$words[CURRENT]
  local -a described
  integer place=1 i
  for ((i = 2; i < CURRENT; ++i)); do
    word=$words[i]
    key=$at$word
    next="$key "
    if [[ -n $awaits ]]; then
      awaits=
    elif [[ $word == -* ]]; then
      [[ $word != *=* ]] && (( ${+_chorale_values[$key]} )) && awaits=$word
    elif (( place == 1 && ${+_chorale_options[$next]} )); then
      at=$next
    else
      (( place += 1 ))
    fi
  done
  if [[ -z $awaits && $cur == --*=* ]]; then
    awaits=${cur%%=*}
    compset -P '*='
  fi
  key=${at:- }
  if [[ -n $awaits ]]; then
    _chorale_offer $at$awaits
  elif [[ $cur == -* ]]; then
    described=(${(f)_chorale_options[$key]})
    _describe -o option described
  elif (( place == 1 && ${+_chorale_commands[$key]} )); then
    described=(${(f)_chorale_commands[$key]})
    _describe command described
  else
    key=$at$place
    (( ${+_chorale_values[$key]} )) || key="$at+"
    _chorale_offer $key
  fi
}
# zsh calls it by its file, or it is read with 'source'.
if [[ $funcstack[1] == _chorale ]]; then
  _chorale "$@"
else
  compdef _chorale chorale
fi
)ZSH";

struct ZshTables {
  std::string options = {}, values = {}, commands = {};
};

// Keys as for bash. Options and commands are lines "NAME:DESCRIPTION", as _describe reads them; of a help
// text the first line only.
void tabulate(const CommandText& command, const std::vector<std::string>& machines, ZshTables& tables) {
  const std::string at = place_of(command);
  const auto row = [](const std::string& key, const std::string& value) {
    return fmt::format("  {} {}\n", quoted_for_shell(key), quoted_for_shell(value));
  };
  const std::string key = at.empty() ? " " : at;  // a blank, as in bash
  std::string names, commands;
  for (const OptionText& option : command.options)
    for (const std::string& name : option.names)
      names += name + ":" + option.help.substr(0, option.help.find('\n')) + "\n";
  for_each_value(command, machines, [&](const std::string& each, const std::string& words) {
    tables.values += row(each, words);
  });
  for (const CommandText& below : command.commands) commands += last_word(below) + ":" + below.help + "\n";
  tables.options += row(key, names);
  if (!commands.empty()) tables.commands += row(key, commands);
  for (const CommandText& below : command.commands) tabulate(below, machines, tables);
}

// fish evaluates a condition per line instead of a function for all: __chorale_in "topology show" holds
// within that command, __chorale_at "topology" where a command is to follow.
constexpr const char* kFishFunctions = R"FISH(
# The words before the cursor that are not options.
function __chorale_words
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; or echo $word
    end
end
# Is what is typed of this command?
function __chorale_in
    set -l words (__chorale_words)
    test (count $words) -ge (count $argv); or return 1
    test (count $argv) -eq 0; or test "$words[1..$(count $argv)]" = "$argv"
end
# Is it all that is typed?
function __chorale_at
    test "$(__chorale_words)" = "$argv"
end
)FISH";

// An option is offered where its command begins the line, a command only where the line ends before it. -s
// and -l are the short and the long name, -r requires a value, -F offers files, -f none, -a words.
void fish_lines(const CommandText& command, const std::vector<std::string>& machines, std::string& lines) {
  const std::string at = place_of(command);
  for (const OptionText& option : command.options) {
    const Offers offers = offers_for(option, machines);
    std::string line = "complete -c chorale -n " + quoted("__chorale_in " + at);
    for (const std::string& name : option.names)
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.empty() && !option.names.empty()) line += " -r";
    line += offers.files || offers.directories ? " -F" : " -f";
    if (!offers.words.empty()) line += " -a " + quoted(joined(offers.words, " "));
    lines += line + " -d " + quoted(option.help.substr(0, option.help.find('\n'))) + "\n";
  }
  for (const CommandText& below : command.commands) {
    lines += fmt::format("complete -c chorale -n {} -f -a {} -d {}\n",
                         quoted("__chorale_at " + at.substr(0, at.size() - !at.empty())), last_word(below),
                         quoted(below.help));
    fish_lines(below, machines, lines);
  }
}

}  // namespace

std::string bash_completion(const CommandText& program, const std::vector<std::string>& machines) {
  BashTables tables;
  tabulate(program, machines, tables);
  return "# Completion of chorale in bash, made by 'chorale completion bash'.\n"
         "declare -gA _chorale_options=(\n" +
         tables.options + ")\ndeclare -gA _chorale_values=(\n" + tables.values + ")\n" + kBashFunction;
}

std::string zsh_completion(const CommandText& program, const std::vector<std::string>& machines) {
  ZshTables tables;
  tabulate(program, machines, tables);
  return "#compdef chorale\n# Completion of chorale in zsh, made by 'chorale completion zsh'.\n"
         "typeset -gA _chorale_options _chorale_values _chorale_commands\n_chorale_options=(\n" +
         tables.options + ")\n_chorale_values=(\n" + tables.values + ")\n_chorale_commands=(\n" +
         tables.commands + ")\n" + kZshFunctions;
}

std::string fish_completion(const CommandText& program, const std::vector<std::string>& machines) {
  std::string lines = "# Completion of chorale in fish, made by 'chorale completion fish'.\n";
  lines += kFishFunctions;
  lines += "complete -c chorale -f\n";
  fish_lines(program, machines, lines);
  return lines;
}

}  // namespace chorale
