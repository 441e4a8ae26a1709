// Completion in shells: the scripts that a shell reads, and the program's answer when they ask.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace chorale {

// Returns what fits in the place of the last word, a line each: "word<TAB>description" of commands and
// options, "word" of values that are known by name; "<files>" and "<directories>" ask the shell for names.
// The words are those after the name of the program.
std::string completions(const CLI::App& program, const std::vector<std::string>& words);

}  // namespace chorale
