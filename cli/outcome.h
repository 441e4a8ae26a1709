// The outcome of a command, and how it is reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/report.h"

namespace chorale {

inline constexpr int kFound = 0;      // and verified
inline constexpr int kWrongData = 1;  // chorale run: some element was wrong
inline constexpr int kBadInput = 2;
inline constexpr int kUndecided = 3;        // within the limits
inline constexpr int kIfRelaxedOrders = 4;  // chorale program: right only if relaxed signals order data
inline constexpr int kImpossible = 20;      // proven
inline constexpr int kHungUp = 129;         // SIGHUP: the terminal is gone
inline constexpr int kInterrupted = 130;    // Ctrl-C, SIGTERM

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

// Files in a folder.
void deliver(const std::string& folder, std::vector<NamedText> files, Outcome&);

// Throws InputError where standard output cannot be written.
void say(const Outcome&, bool quiet);

}  // namespace chorale
