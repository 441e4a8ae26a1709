// A question, and the equivalent one that encodings and constructions solve instead.
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// A sum of which every chunk has one destination (Reduce, ReduceScatter), in whatever order, is a reversed
// copy: its dual on the reversed machine has just its schedules, last step first, and needs no contributions
// in its formula. Only this file decides so.
struct SolvedQuestion {
  SolvedQuestion(const Topology& asked_on, const Collective& asked);

  Schedule answer(Schedule of_solved) const;  // for what was asked
  Point point(Schedule of_solved, const Collective& asked, const std::string& construction) const;

  bool is_reversed = false;
  Topology topology = {};
  Collective collective = {};
};

}  // namespace chorale
