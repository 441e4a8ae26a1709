// An AllReduce as a ReduceScatter and an Allgather.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// Each rank adds up its part, and tells it to all: schedules by steps, none better than another in both steps and rounds, in few steps as
// well as near the rate of the tightest cut twice. None of other collectives, where chunks are not as many for each rank, where
// a rank cannot be reached, or when stopped.
std::vector<Schedule> halves(const Topology&, const Collective&, const std::atomic<bool>* stop = nullptr);

// By link the one that goes the other way, on a machine that is the same with every link turned round and this other in its place:
// what gathers there scatters, too, over them. Nothing on other machines, and where limits multicast or reduce.
std::optional<std::vector<LinkId>> links_turned_round(const Topology&);

}  // namespace chorale
