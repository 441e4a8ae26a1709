// The passes of the recipe one by one, for tests that look at what one of them does: each result is verified,
// as the recipe verifies what it ends with.
#pragma once

#include <stdexcept>
#include <utility>

#include "codegen/passes/lower.h"
#include "codegen/passes/passes.h"
#include "ir/error.h"
#include "semantics/verified.h"
#include "semantics/verify_program.h"
#include "tests/runtime/unverified.h"

namespace chorale {

inline Program lower(const Topology& topology, const Collective& collective, const Schedule& schedule,
                     bool reuse_scratch = true) {
  return *lower(accepted(topology, collective, schedule), {.reuse_scratch = reuse_scratch});
}

inline Program checked(const Topology& topology, const Collective& collective, Program program) {
  if (const auto faults = violations(topology, collective, program, 1); !faults.empty())
    throw std::logic_error(program.name + " is wrong: " + faults.front().words);
  return program;
}
inline Program in_place(const Topology& topology, const Collective& collective, const Program& program) {
  return checked(topology, collective, reuse_scratch(in_place(collective, program)));
}
inline Program serialize_ports(const Topology& topology, const Collective& collective,
                               const Schedule& schedule, const Program& program) {
  return checked(topology, collective, serialize_ports(topology, schedule, program));
}
inline Program with_epilogue(const Topology& topology, const Collective& collective, const Program& program,
                             const Epilogue& epilogue = {}) {
  Program p = program;
  if (const auto fault = apply_epilogue(topology, collective, epilogue, p)) throw InputError(p.name, *fault);
  return checked(topology, collective, p);
}

inline BlockProgram relax(const Collective& collective, const Program& program,
                          const RelaxOptions& options = {}) {
  return *try_relax(unverified(program, collective), options).accepted.value();
}
inline PeerProgram to_peers(const Collective& collective, const Program& program,
                            const PeerOptions& options = {}) {
  return *try_to_peers(unverified(program, collective), options).accepted.value();
}

}  // namespace chorale
