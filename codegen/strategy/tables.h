// The tables of an example: an AllReduce over four devices, of each two neighbours first, in halves.
#pragma once

#include <array>

namespace {

constexpr const char* kName = "example";
constexpr int kDevices = 4;
constexpr const char* kJobs[] = {"gradients"};

// first step, one past the last, goal (0 all have the sum, 1 each has its part of it, 2 all have what was in parts), pieces
constexpr std::array<int, 4> kWork[] = {
    {0, 3, 0, 2},
};

// 0 AllReduce, 1 ReduceScatter, 2 AllGather, 3 Reduce, 4 Broadcast
constexpr std::array<int, 1> kOperations[] = {
    {1},
    {0},
    {2},
};

// step, device, number of its group, place in it
constexpr std::array<int, 4> kGroups[] = {
    {0, 0, 0, 0}, {0, 1, 0, 1}, {0, 2, 1, 0}, {0, 3, 1, 1}, {1, 0, 0, 0}, {1, 1, 1, 0},
    {1, 2, 0, 1}, {1, 3, 1, 1}, {2, 0, 0, 0}, {2, 1, 0, 1}, {2, 2, 1, 0}, {2, 3, 1, 1},
};

// job, device, number of the group that it communicates with
constexpr std::array<int, 3> kTotals[] = {
    {0, 0, 0},
    {0, 1, 0},
    {0, 2, 0},
    {0, 3, 0},
};

}  // namespace
