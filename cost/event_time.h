// The time of a schedule by events: a message waits for its data and for its link and limits, for nothing
// else. So nothing waits for the slowest link of a step. Steps only fix an order:
//
//   data      a send of step s carries what its rank holds after all arrivals of that chunk of the steps
//             before s. It begins when the last of these is there: of a copy the one that brings it, of a sum
//             all that are added to it, so sums are those of the schedule to the bit
//             (a chunk that is the sum of others waits where it is made for the last of these)
//   resources a link, and each limit over it, carries one send at a time, for bytes * beta / bandwidth, with
//             the link's beta. It takes sends in the order of their steps, those of one step as their data
//             come, of these as the step has them. A send has left when all of its resources have carried it.
//             They need not carry it at the same moment: a switch or NIC buffers, as it does within a round
//   arrival   alpha of the link after it has left; latency keeps nothing busy
//   abilities sends of a step that a limit counts once (counted_as, ir/schedule.h) are carried by it once,
//             when the data of all of them are there
//
// So a schedule never takes longer than call + the sum over its steps of the largest alpha + load * beta of
// the step, which is its time by steps where links are alike (cost/cost.h).
//
// Alternative that lost: a send that keeps its link and limits busy at the same time. Two limits that wait
// for each other's sends then idle, by up to a half, which neither rounds nor networks do.
#pragma once

#include <atomic>
#include <optional>

#include "ir/event_times.h"
#include "ir/frontier.h"
#include "ir/machine.h"
#include "ir/schedule.h"
#include "ir/time_model.h"
#include "ir/topology.h"

namespace chorale {

// Both require a schedule of that machine, which is one without switches. block_bytes: of a block of the
// collective, cut evenly into chunks_per_block.
EventTimes event_times(const Schedule&, const Topology&, int chunks_per_block, double block_bytes);
// EventTimes::us alone, without the rest. Nothing where `stop` (null: never) becomes true before the end.
std::optional<double> event_us(const Schedule&, const Topology&, int chunks_per_block, double block_bytes,
                               const std::atomic<bool>* stop = nullptr);
// The same of a point: chunks of its collective that are sums of others wait for all of these.
EventTimes event_times(const Point&, const Topology&, double block_bytes);
std::optional<double> event_us(const Point&, const Topology&, double block_bytes,
                               const std::atomic<bool>* stop = nullptr);

// The time of a point by that model: by steps that of cost/program_time.h. Nothing where `stop` (null: never)
// becomes true before it is known.
std::optional<double> point_us(const Machine&, TimeModel, const Point&, double block_bytes,
                               const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
