// The form in which baseline algorithms are written: which rank sends which chunk to which rank, step by
// step, before links and rounds are known.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

struct Transfer {
  Chunk chunk = 0;
  Rank src = 0;
  Rank dst = 0;
  bool reduce = false;
  LinkId link = -1;  // -1: any from src to dst
};

using Plan = std::vector<std::vector<Transfer>>;  // transfers of each step

// Adds a transfer to step s, making the plan long enough.
void add(Plan&, int s, const Transfer&);

// Last step first, every transfer reversed: what was spread is collected. With `reduce` it is added up.
Plan backwards(Plan, bool reduce);

// Returns one after the other.
Plan operator+(Plan, const Plan&);

// Finds the links where a transfer names none (parallel ones are filled evenly, the nearest first) and gives
// each step the rounds that its fullest link or shared limit needs. Empty steps are dropped. None if two
// ranks are not linked, which `missing`, if given, then names.
std::optional<Schedule> on_topology(const Plan&, const Topology&, std::pair<Rank, Rank>* missing = nullptr);

}  // namespace chorale
