// What a command comes to, and how that is said.
#pragma once

#include <string>
#include <vector>

namespace chorale {

inline constexpr int kFound = 0;      // and verified
inline constexpr int kWrongData = 1;  // chorale run: some element was wrong
inline constexpr int kBadInput = 2;
inline constexpr int kUndecided = 3;        // within the limits
inline constexpr int kIfRelaxedOrders = 4;  // chorale program: right only if relaxed signals order data
inline constexpr int kImpossible = 20;      // proven
inline constexpr int kInterrupted = 130;    // Ctrl-C

struct Outcome {
  int exit_code = kFound;
  std::string text = {};  // for people: broken where it is wider than the terminal, left out by --quiet
  bool verbatim = false;  // the text is a format of its own, with lines as long as they are
  std::string document =
      {};  // a file that was asked for on standard output; text goes to standard error then
  std::vector<std::string> written = {};  // files, which are named after the text
  std::vector<std::string> notes = {};    // of what was done otherwise than one may think; on standard error
  std::vector<std::string> errors =
      {};  // what could not be done of what was asked, a line each; never left out
};

inline constexpr const char* kStandardOutput = "-";

// Writes a file that was asked for; "-" is standard output.
void deliver(const std::string& path, std::string contents, Outcome&);

// Throws InputError where standard output cannot be written.
void say(const Outcome&, bool quiet);

}  // namespace chorale
