// Is one program another one, but for names and for the order of operations that do not depend on each other?
#pragma once

#include <map>
#include <string>

#include "tensor/language/workload.h"

namespace chorale {

// Gives the same text to such programs, and to no others. Programs that are compared come from one book:
// operations are numbered in it by what they do with what they read. Inputs are known by their names.
class ScheduleBook {
 public:
  std::string key(const Workload&);

 private:
  int number(const std::string& description);
  std::map<std::string, int> numbers_;
};

}  // namespace chorale
