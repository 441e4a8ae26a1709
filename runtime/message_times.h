// How long messages take over a transport, as programs send them.
#pragma once

#include <span>

#include "ir/message_time.h"
#include "runtime/exchange/transport.h"

namespace chorale {

// Every rank of the transport calls these with the same arguments, after the same calls, and gets the same
// answer, in microseconds. One run that is not counted comes before the `times` (1 or more) that are. Throws
// Hang.

// One direction: half of the round trip. The ends are two ranks.
Spread ping_pong(Transport&, const RankMessage&, int times);

// All messages at the same time, from when all ranks have met until the last one has all of its own.
Spread all_at_once(Transport&, std::span<const RankMessage>, int times);

}  // namespace chorale
