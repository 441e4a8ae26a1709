// The commands as plain values, with their help texts: for completion in shells and for manual pages. Read
// from the options themselves, so that nothing is stated twice.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace chorale {

struct OptionText {
  std::vector<std::string> names = {};    // "-o", "--output"; none: a positional argument
  std::string value = {};                 // "FILE"; empty: it takes none
  std::vector<std::string> choices = {};  // if the value is one of few names
  std::string help = {};
  bool required = false;
};

struct CommandText {
  std::string path = {};   // "chorale topology show"
  std::string group = {};  // of the overview: "Find algorithms"
  std::string help = {};   // one line
  std::string more = {};   // the help text below the options: prose, exit codes, examples
  std::vector<OptionText> options = {};
  std::vector<CommandText> commands = {};
};

std::string path_of(const CLI::App&);
CommandText described(const CLI::App&);

// A script for bash, fish or zsh, which completes commands, options, and the values that are known by name.
// Machines are the names of the catalogue, up to their first number.
std::string bash_completion(const CommandText&, const std::vector<std::string>& machines);
std::string fish_completion(const CommandText&, const std::vector<std::string>& machines);
std::string zsh_completion(const CommandText&, const std::vector<std::string>& machines);

// What completes a value.
struct Offers {
  std::vector<std::string> words = {};
  bool files = false, directories = false;
};
Offers offers_for(const OptionText&, const std::vector<std::string>& machines);

// In roff, by the macros that man(7) describes; of section 1.
std::string manual_page(const CommandText&, const std::string& version);
std::string manual_page_name(const CommandText&);  // "chorale-topology-show.1"

}  // namespace chorale
