// The result of `place` as files: a program that runs its strategies, and communicator groups, of which the
// Python package writes the order of the devices as frameworks take it (python/chorale/placed.py).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/placement.h"
#include "ir/schedule.h"
#include "ir/verified.h"

namespace chorale {

struct PlacedJob {
  std::string machine = {};
  std::string matrix = {};  // to people
  int node_devices = 1;     // devices of a node are numbered one after the other
  std::vector<Axis> axes = {};
  std::vector<int> devices = {};  // by position in the mesh of the axes, the last axis varying fastest
  struct Communication {
    Reduction reduction = {};
    LoweredStrategy steps =
        {};                    // none of exchanges (Goal::AllToAll, Goal::Shift), and where nothing is split
    DeviceGroups groups = {};  // that it is done in
  };
  std::vector<Communication> communications = {};
};

// groups.json first, and strategy_N_mpi.cpp by communication; paths are relative. Requires few enough devices
// for the steps to be listed (kMostListedDevices).
std::vector<NamedText> handed_on(const PlacedJob&);

// The strategy of a reduction (placement/) as a schedule for one custom collective over all devices, so that
// it is verified, lowered and emitted as any other.

// More are not listed: an AllReduce in one group of 256 devices takes as many.
inline constexpr long long kMostStrategySends = 130'560;

// Rank r is device r. The vector of a group of the reduction is a block, cut into as many chunks as the
// strategy needs, and a chunk has its position in it for input and output. An operation in groups is one or
// two steps of direct exchange on a machine that links each pair that communicates: an AllReduce a
// ReduceScatter and an AllGather, a Reduce a ReduceScatter and a Gather, a Broadcast a Scatter and an
// AllGather.
//
// None if it takes more than kMostStrategySends. Requires steps, as lowered for this many devices, and a goal
// that they reach: AllReduce, ReduceScatter or AllGather.
std::optional<Verified<Schedule>> strategy_schedule(const Reduction&, const DeviceGroups& of_reduction,
                                                    const LoweredStrategy& steps, int devices);

}  // namespace chorale
