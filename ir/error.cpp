// The message is made once, in the form in which it is printed, and safe for a terminal.
#include "ir/error.h"

#include "ir/shown.h"

namespace chorale {
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
