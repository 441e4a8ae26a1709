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

void block_program(std::string_view);
void collective(std::string_view);
void epilogue(std::string_view);
void hierarchy(std::string_view);
void import_astra(std::string_view);
void import_hwloc(std::string_view);
void import_msccl(std::string_view);
void import_nccl(std::string_view);
void import_ns3(std::string_view);
void import_smi(std::string_view);
void import_taccl(std::string_view);
void import_teccl(std::string_view);
void job(std::string_view);
void msccl_xml(std::string_view);
void mscclpp_plan(std::string_view);
void ranking(std::string_view);
void renumbering(std::string_view);
void result(std::string_view);
void script(std::string_view);
void topology(std::string_view);
void workload(std::string_view);

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
