// Faults, and the user's errors. A bug of ours is an assert; an unsolvable or unfinished question is a value
// (Verdict); an unusable input is an InputError: one line with what, where and the remedy.
#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>

#include "ir/topology.h"

namespace chorale {

// What a fault is about; -1: of no single one. Counted from 0, whatever is printed.
struct FaultPlace {
  Rank rank = -1;
  int block = -1;
  int instruction = -1;  // of its block, or of its strategy
  int step = -1;
  int chunk = -1;  // of the collective; an output or input of a rank
  int link = -1;
  int point = -1;  // of a result
  int claim = -1;
  bool operator==(const FaultPlace&) const = default;
};

// A fault is what is wrong, as a value: decisions read its kind and its place, people its words.
struct Fault {
  enum class Kind {
    // Of schedules, programs and strategies.
    Form,       // could not even be run: a number out of range, something named that does not exist
    Size,       // ranks, blocks or buffers of another size than the collective's
    Match,      // two that belong together do not fit: a message without a receiver, a barrier of one block
    Written,    // the input is written out of place, or an output for which nothing is promised
    Bandwidth,  // a link or shared limit carries more than its rounds allow
    Repeated,   // sent or received twice, or already there
    Absent,     // sends or reads what is not there
    CountedTwice,  // a contribution is in a sum more than once
    Race,          // two accesses that nothing orders
    Deadlock,      // waits forever
    Epilogue,      // the function on complete values is applied to others, twice, or not to all
    Order,         // adds up in another order than is asked for, or than other ranks
    Outcome,       // what was promised is not there at the end, or another thing is done than was asked
    // Of results.
    Claim,      // a certificate does not show its claim
    Statement,  // states what does not follow from its schedules and claims
    // Of targets.
    Limit,  // cannot hold the program
  };
  Kind kind = Kind::Form;
  FaultPlace place = {};
  std::string words = {};   // a whole sentence, with its place
  std::string remedy = {};  // what the user may do about it; may be empty
  bool operator==(const Fault&) const = default;
};

std::ostream& operator<<(std::ostream&, const Fault&);  // its words

class InputError : public std::runtime_error {
 public:
  // where: a file, an option or a place in a file ("dgx.json: links[3].dst"); problem: what is wrong there;
  // remedy: what to do about it, may be empty. The message is "where: problem; remedy", in one line, and safe
  // to be shown (ir/shown.h).
  InputError(const std::string& where, const std::string& problem, const std::string& remedy = "");
  InputError(const std::string& where, const Fault& fault) : InputError(where, fault.words, fault.remedy) {}
};

}  // namespace chorale
