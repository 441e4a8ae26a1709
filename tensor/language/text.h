// The text form of workloads, *.chorale: docs/workloads.md has the grammar.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tensor/language/workload.h"

namespace chorale {

struct WorkloadSettings {
  std::map<std::string, std::int64_t> sizes = {};  // override those of the text
  int ranks = 0;                                   // of a group; 0: as in the text, or 2
  int groups = 0;                                  // 0: as in the text, or 1
};

// With types. Throws InputError: "file:line:column: problem; remedy".
Workload parse_workload(std::string_view text, const std::string& file, const WorkloadSettings& = {});

// What parse_workload reads back as the same.
std::string to_text(const Workload&);

}  // namespace chorale
