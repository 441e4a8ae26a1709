// The user's errors. A bug of ours is an assert; an unsolvable or unfinished question is a value (Verdict);
// an unusable input is an InputError: one line with what, where and the remedy.
#pragma once

#include <stdexcept>
#include <string>

#include "ir/fault.h"

namespace chorale {

class InputError : public std::runtime_error {
 public:
  // where: a file, an option or a place in a file ("dgx.json: links[3].dst"); problem: what is wrong there;
  // remedy: what to do about it, may be empty. The message is "where: problem; remedy", in one line, and safe
  // to be shown (ir/shown.h).
  InputError(const std::string& where, const std::string& problem, const std::string& remedy = "");
  InputError(const std::string& where, const Fault& fault) : InputError(where, fault.words, fault.remedy) {}
};

}  // namespace chorale
