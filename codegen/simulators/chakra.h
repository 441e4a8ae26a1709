// A schedule as execution traces of Chakra (MLCommons), one file per rank, which ASTRA-sim takes as the
// implementation of a collective. A file has protobuf messages, each after its length: GlobalMetadata (its
// version and, unless it is a custom one, the collective), then a Node per operation, COMM_SEND_NODE or
// COMM_RECV_NODE, whose data_deps are what has to be over before it begins: of a send, all that its rank
// sends and receives in the last step in which it does anything. Receives depend on nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/files.h"
#include "ir/schedule.h"
#include "ir/verified.h"

namespace chorale {

// rank.0.et, ...: of the prefix "rank"; and README.md with the lines of a system's configuration.
std::vector<NamedText> to_chakra(const Verified<Schedule>&, std::int64_t block_bytes);

}  // namespace chorale
