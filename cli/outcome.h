// The outcome of a command, and how it is reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/frontier.h"
#include "ir/report.h"

namespace chorale {

inline constexpr int kFound = 0;      // and verified
inline constexpr int kWrongData = 1;  // chorale run: some element was wrong
inline constexpr int kBadInput = 2;
inline constexpr int kUndecided = 3;      // within the limits
inline constexpr int kRightOnlyIf = 4;    // chorale program: right only under the condition that it prints
inline constexpr int kImpossible = 20;    // proven
inline constexpr int kHungUp = 129;       // SIGHUP: the terminal is gone
inline constexpr int kInterrupted = 130;  // Ctrl-C, SIGTERM

// 0 if nothing has stopped it, 130 if it was interrupted, else 3. After SIGHUP the supervisor makes 129 of
// 130.
int exit_code_of(Stopped);

struct Outcome {
  int exit_code = kFound;
  std::string text = {};      // for people: broken where it is wider than the terminal, left out by --quiet
  bool verbatim = false;      // the text is a format of its own, with lines as long as they are
  std::string document = {};  // a requested file for standard output; text goes to standard error then
  std::vector<NamedText> files = {};      // to be written by the supervisor, all or none
  std::vector<std::string> written = {};  // those of them that are named after the text
  std::vector<std::string> notes = {};    // of what was done otherwise than one may think; on standard error
  std::vector<std::string> errors = {};   // requests that could not be met, a line each; never omitted
};

inline constexpr const char* kStandardOutput = "-";

// A requested file; "-" is standard output.
void deliver(const std::string& path, std::string contents, Outcome&);

// A report as text, and as a page where `html` names a file.
Outcome reported(const Report&, const std::string& html = "");
// The same of work that a limit may have cut: "not all was run (time limit)" is then its last sentence, and
// the exit code that of the limit.
Outcome reported(Report, Stopped, const std::string& cut, const std::string& html = "");

// Files in a folder.
void deliver(const std::string& folder, std::vector<NamedText> files, Outcome&);

// Throws InputError where standard output cannot be written.
void say(const Outcome&, bool quiet);

// Text laid out to a width. Columns are counted in characters of UTF-8, whose bytes are more.

// Where people read.

// Columns of a line: those of COLUMNS, else those of the terminal on standard output, else 80.
std::size_t text_width();

using TableRows = std::vector<std::vector<std::string>>;  // the first is the head

// The text in lines, broken at whitespace. A word that is longer than the width, such as a path, stays whole.
std::vector<std::string> broken(const std::string& text, std::size_t width);

// Lines that are longer than the width are broken at whitespace. The lines that follow are indented by two
// more than its line, or, where a line starts with a label ("any schedule:    ..."), to what the label is
// for.
std::string fitted(const std::string& text, std::size_t width = text_width());

// Columns as wide as their widest cell, two spaces between them. `kinds` has a letter for each: r for
// numbers, l for text; R and L for what is left out where there is no room for all, the last such first.
// Where the rest is still too wide, the last column is wrapped; and where little room is left for it, the
// last columns, as many as need be, go under their row.
std::string table(TableRows rows, std::string kinds, std::size_t width = text_width());

// The tables of a report, then its sentences. A table with a title stands apart from what is before it.
std::string text_of(const Report&);

}  // namespace chorale
