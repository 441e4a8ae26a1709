// The entry points of the verifier are here: what passes one is a Verified value (ir/verified.h), and nothing
// else is.
#pragma once

#include <optional>

#include "ir/block_program.h"
#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/peer_program.h"
#include "ir/program.h"
#include "ir/verified.h"
#include "semantics/verify_blocks.h"
#include "semantics/verify_peers.h"

namespace chorale {

// Either of them.
template <typename T>
struct Verification {
  std::optional<Verified<T>> accepted = {};
  std::optional<Fault> fault = {};  // the first that was found
};

// By semantics/verify.h; a point of a result for `asked` with its cost, too, and then its schedule is what is
// accepted.
Verification<Schedule> verify(const Topology&, const Collective&, Schedule);
Verification<Schedule> verify(const Topology&, const Collective& asked, const Point&);
// Returns the first; throws InputError where it is not accepted.
Verified<Schedule> accepted(const Topology&, const Collective&, Schedule);

// A program that was made from that schedule, for the same collective on the same machine: by
// semantics/verify_program.h, verify_blocks.h (with its own depth of queues, and in place if it is so marked)
// and verify_peers.h.
Verification<Program> verify(const Verified<Schedule>&, Program);
Verification<BlockProgram> verify(const Verified<Program>&, BlockProgram);
Verification<PeerProgram> verify(const Verified<Program>&, PeerProgram);

// Verifies programs of others, which name no links.
Verification<BlockProgram> verify(const Collective&, BlockProgram, const BlockVerifierOptions&);
Verification<PeerProgram> verify(const Collective&, PeerProgram, const PeerVerifierOptions&);

}  // namespace chorale
