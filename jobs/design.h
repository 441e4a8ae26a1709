// The best wiring of some ports for a job: of all connected Cayley graphs of one degree whose links go there
// and back, of all groups of that order (topology/wiring/all_groups.h; beyond 127 ranks of some), the one on
// which the job is the fastest, with schedules that show it, and a bound on what any other takes. Where a
// group has too many graphs some are tried, and the bound is that of any machine with as many links at each
// rank, there and back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/design.h"
#include "ir/report.h"

namespace chorale {

inline constexpr int kMostDesignRanks = 512;

struct DesignQuestion {
  int ranks = 64;
  int degree = 4;  // links out of each rank; each has one in the other direction
  std::vector<DesignDemand> job = {{.collective = "alltoall"}, {.collective = "allreduce"}};
  std::int64_t message_bytes = 0;                 // of each collective (cost/busbw.h); 0: rates alone count
  double alpha_us = 0.7;                          // of a step
  double link_gbs = 25;                           // 1e9 bytes per second, in each direction
  std::chrono::milliseconds search_time{12'000};  // at most, of each collective on each wiring
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const Design&)> publish = {};  // called whenever more is known
  std::function<void(const std::string&)> doing = {};
};

// "alltoall=2,allreduce": collectives with weights, 1 if there is none. Throws InputError.
std::vector<DesignDemand> design_job(const std::string&);

// Wirings are compared by what the job takes at least: of each collective its diameter in steps, and a bound
// on rounds per chunk. Between vertices of a Cayley graph of degree d there are d disjoint paths (Mader
// 1970), so that of n ranks all collectives but Alltoall have one rate on all graphs, (n-1)/d for an
// Allgather; of an Alltoall it is the optimum of its flows (topology/wiring/cayley.h). Then the first ones
// are searched, until schedules on one take no more than any other can. Throws InputError for numbers out of
// range, and where no graph is connected.
Design design(const DesignQuestion&);

// The ranking by bounds as a table; the best wiring, the time of the job on it, what is proven of the family,
// and by how much machines by name are slower.
Report report_of(const Design&);

}  // namespace chorale
