// The placement that a job has today, in the notations that frameworks use.
#pragma once

#include <string>
#include <vector>

#include "ir/placement.h"

namespace chorale {

// One of
//   "data,pipeline,tensor"   the order of the axes in a mesh over the devices, the first the slowest, as
//                            jax.sharding.Mesh and torch's init_device_mesh have it,
//   "tensor-pipeline-data"   the same in Megatron's --order: the first the fastest,
//   "0,2,4,6,1,3,5,7"        the device of each rank of the job, whose ranks are numbered by the axes as they
//                            are given, the first the slowest.
// Axes of size 1 may be left out of an order. Throws InputError, which cites `where`, for what is none of
// these, and for a placement that is not one of axes over levels: an axis that takes 2 of a level of 3.
ParallelismMatrix read_present(const Hierarchy&, const std::vector<Axis>&, const std::string& text,
                               const std::string& where);

}  // namespace chorale
