// The result of `place` as files: a program that runs its strategies, communicator groups, and the order of
// the devices as JAX, PyTorch, Megatron and MPI take it.
#pragma once

#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/placement.h"

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

// strategy_N_mpi.cpp by communication, groups.json, jax_mesh.py, torch_mesh.py, megatron.txt, rankfile,
// README.txt; paths are relative. Requires few enough devices for the steps to be listed
// (kMostListedDevices).
std::vector<NamedText> handed_on(const PlacedJob&);

}  // namespace chorale
