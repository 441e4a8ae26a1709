// The programs that an emitted file has: which is for blocks of a size, and which are for a machine of which
// something has failed; and the numbers that it is given. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ir/step_table.h"
#include "runtime/device/self_check.h"

namespace chorale {

// What blocks of up to this many bytes take: the first row that reaches them.
struct Form {
  double up_to;
  const char* name;
  const StepTables& tables;
  bool serialized;  // messages that share a port go one after the other
  SelfCheck (*check)();
};
inline const Form& form_of(double bytes, const Form* form) {
  while (bytes > form->up_to) ++form;
  return *form;
}

// What has failed of the machine, and the forms for that; what their ranks are called, null: as they are.
struct Failure {
  const char* name;
  const Form* forms;
  const int* ranks;
  int lost;  // the rank that has failed, or -1
};
// Null: there is nothing for that failure.
template <std::size_t count>
const Failure* failure_named(const Failure (&failures)[count], const char* name) {
  for (const Failure& each : failures)
    if (std::strcmp(each.name, name) == 0) return &each;
  return nullptr;
}
// The first one is for the whole machine.
template <std::size_t count>
std::string not_ready_for(const Failure (&failures)[count], const char* name) {
  std::string some;
  for (std::size_t i = 1; i < std::min<std::size_t>(count, 5); ++i)
    some += (i == 1 ? ": " : ", ") + std::string(failures[i].name);
  return "no algorithm is ready for the failure of '" + std::string(name) + "'; there are some for " +
         std::to_string(count - 1) + " failures" + some;
}

// Of the command line; `otherwise` where it is shorter, and -1 for what is no number.
inline long integer_argument(int argc, char** argv, int k, long otherwise) {
  if (k >= argc) return otherwise;
  char* end = nullptr;
  const long value = std::strtol(argv[k], &end, 10);
  return end == argv[k] || *end != '\0' ? -1 : value;
}

}  // namespace chorale
