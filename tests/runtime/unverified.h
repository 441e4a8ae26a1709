// Programs that no verifier has accepted, for tests that change one or write one by hand: executors are to
// count what is wrong and to name what hangs, and printers to refuse what they cannot print. In the product
// nothing else makes a Verified value than semantics/verified.h; tests/rooms/recipe.py looks.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ir/verified.h"
#include "runtime/block_executor.h"
#include "runtime/peer_executor.h"
#include "runtime/run.h"

namespace chorale {

struct UnverifiedForTests {
  template <typename T>
  static Verified<T> of(const Collective& collective, T value) {
    return {std::make_shared<const VerifiedFor>(VerifiedFor{{}, collective}), std::move(value)};
  }
};

template <typename Form>
Verified<Form> unverified(const Form& program, const Collective& collective = {}) {
  return UnverifiedForTests::of(collective, program);
}

// The executors of them.

inline std::vector<RunRow> run_on_threads(const Program& program, const Collective& collective,
                                          const RunOptions& options) {
  return run_on_threads(unverified(program, collective), options);
}
inline std::vector<RunRow> run_blocks_on_threads(const BlockProgram& program, const Collective& collective,
                                                 const RunOptions& options, const BlockRunOptions& how = {}) {
  return run_blocks_on_threads(unverified(program, collective), options, how);
}
inline std::vector<RunRow> run_peers_on_threads(const PeerProgram& program, const Collective& collective,
                                                const RunOptions& options, const PeerRunOptions& how = {}) {
  return run_peers_on_threads(unverified(program, collective), options, how);
}

}  // namespace chorale
