// A peer program as tables of plain rows.
#pragma once

#include <vector>

#include "ir/peer_program.h"
#include "ir/peer_rows.h"

namespace chorale {

struct PeerTable {
  std::vector<PeerRow> rows = {};
  std::vector<PeerPlaceRow> places = {};
  std::vector<PeerBlockRow> blocks = {};  // all of rank 0, of rank 1, ...
  std::vector<PeerRankRow> ranks = {};
};

// Requires a program that the verifier (semantics/verify_peers.h) accepts.
PeerTable table_of(const PeerProgram&);

}  // namespace chorale
