// What can be wrong with a peer program before it runs. The first part of its referee, semantics/verify_peers.h.
#pragma once

#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/fault.h"
#include "ir/peer_program.h"

namespace chorale {

// Buffers of another size than the collective's; a slot, rank, counter, value, lag or piece out of range; a
// counter that two blocks raise, or not by one from 1 on; a Wait for a value that nobody gives; writing the
// input (out of place). At most `limit` of them, in words.
std::vector<Fault> form_faults(const Collective&, const PeerProgram&, int limit);

// An instruction in words: where it stands, and what it is.
std::string name_of(const PeerProgram&, Rank, int block, int instruction);

}  // namespace chorale
