// The message is made once, in the form in which it is printed, and safe for a terminal.
#include "ir/error.h"

#include <ostream>

#include "ir/shown.h"

namespace chorale {

// A fault in a stream is its words alone: for messages of tests, which compare lists of faults.

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.words;
}

namespace {

// Newlines become spaces, which reads better than the escapes that shown() would make of them.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return shown(text);
}

}  // namespace

InputError::InputError(const std::string& where, const std::string& problem, const std::string& remedy)
    : std::runtime_error(one_line(where + ": " + problem + (remedy.empty() ? "" : "; " + remedy))) {}

}  // namespace chorale
