// A schedule for SimGrid (SMPI 3.32): the machine as a platform, and the schedule as a trace per rank, which
// smpirun replays. With the options of replay.sh SimGrid is the plain alpha-beta fluid model, so its time is
// that of cost/program_time.h, by a simulator that is not ours.
//
//   a link          a link of its bandwidth and latency; the route between two adjacent ranks
//   a shared limit  one more link without latency in the routes that it bounds. Links whose bytes take
//                   k times as long under one limit go over it k times
//   all routes      have the same number of links, filled up with one that bounds nothing: the shortest route
//                   between neighbours is their link, and other ranks are reached over the fewest links, by
//                   ranks that forward at once
//   a relay         a process that passes messages on: for a link that a route cannot stand for. A pair of
//                   hosts has one route, so the other links of the pair have a relay. SimGrid shares a limit
//                   by latencies, as TCP does, and from the end of the latency on, so under a limit with
//                   different latencies all links have one: the route to it has the bandwidth and no latency,
//                   and what arrives there is announced to both ends a latency later
//
// SMPI has an envelope of 16 bytes on each message, which the traces leave out of the message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/schedule.h"
#include "ir/topology.h"
#include "ir/verified.h"

namespace chorale {

// Why there is no platform: a limit whose links have rates that no whole numbers relate.
std::optional<Fault> without_simgrid(const Topology&);

// By link: whether it has a relay.
std::vector<bool> relayed_links(const Topology&);

// Requires a machine without switches that without_simgrid() accepts, as what follows. Hosts: the ranks, then
// the relays by link.
std::string to_simgrid_platform(const Topology&);

// platform.xml, hosts, traces and the files that it lists, replay.sh, which prints "Simulated time: S
// seconds", and README.md, which has `title`.
std::vector<NamedText> to_simgrid(const Verified<Schedule>&, std::int64_t block_bytes,
                                  const std::string& title);

// The files that the block size changes: traces.
std::vector<NamedText> to_simgrid_traces(const Verified<Schedule>&, std::int64_t block_bytes);

}  // namespace chorale
