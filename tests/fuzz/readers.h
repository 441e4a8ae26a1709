// What is fuzzed: every reader of files, and whoever verifies what it has read.
//
// Each function takes any bytes for the text of a file. A reader may refuse them with InputError, which stays
// inside; everything else that happens (another exception, a sanitizer's word, hours, gigabytes) is a
// finding. What was read is written and read again, which has to give the same, and goes to its verifiers
// where it is small: large ones are slow, not interesting.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ir/error.h"

namespace chorale::fuzz {

using Reader = void(std::string_view);
Reader block_program, collective, epilogue, hierarchy, import_machine, job, msccl_xml, mscclpp_plan, ranking,
    renumbering, result, script, topology, workload;

// Stops with the words unless it holds.
inline void require(bool holds, const char* words) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", words);
  std::abort();
}

// Runs f; bad input is no finding.
template <typename F>
void refusing(const F& f) {
  try {
    f();
  } catch (const InputError&) {
  }
}

}  // namespace chorale::fuzz
