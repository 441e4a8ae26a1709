// Sends that a switch makes one operation of (NVLS): the sums and the copies that limits of the machine count
// once (counted_as, ir/schedule.h). For peer_lowering.cpp.
//
// A sum: all ranks of a team have a value of one chunk, one of them gets the sum. Each puts its value into a
// slot of its own scratch, of the same number at all of them, and that rank loads the sum over these slots.
// Copies: one rank stores a value in a slot of the same number at all ranks of the team, of which those that
// it was meant for take it. What does not have that form stays messages: of a sum to which not all ranks of
// the team contribute, or to which others add in the same step, and sums in a fixed order.
//
// A switch adds in an order of its own. So if several ranks are to make a sum of the same values and to agree
// on it, one of them makes it and stores it for the others.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "codegen/passes/events.h"
#include "ir/data_operation.h"
#include "ir/schedule.h"
#include "ir/verified.h"

namespace chorale {

struct SwitchUse {
  bool sum = false;  // else copies
  int team = -1;
  Rank rank = -1;               // that gets the sum, or has what is copied
  std::vector<int> messages{};  // in the order of the schedule's sends; the first stands for all
  Chunk chunk = 0;
  int values = 0;   // uses with equal numbers add up the same values
  Rank maker = -1;  // of several sums that are made once: the rank that does
};

struct SwitchUses {
  Teams teams = {};
  std::vector<SwitchUse> uses = {};
  int missed = 0;  // sums and copies that a limit counts once, and that stay messages
};

// Messages are numbered as the sends of the schedule.
SwitchUses switch_uses(const Verified<Schedule>&);

// Returns how many sums and copies they are: of sums that one rank makes for others, one sum and one copy.
int operations(const SwitchUses&);

// Do switches make all that limits count once? `sums_go_on`: of a target whose switch adds up only what the
// same rank copies later.
bool made_by_switches(const SwitchUses&, bool sums_go_on);

// How the events of a program make use of them.
struct Switched {
  Teams teams = {};
  std::vector<SwitchUse> uses = {};              // those that are made
  std::vector<int> slots = {};                   // by use: in the scratch of all ranks of its team
  std::map<int, int> use_of = {};                // by message
  std::map<int, std::vector<int>> brought = {};  // by the message of an event that sends: all that it is for
  // Null: it is a message by itself.
  const SwitchUse* use(int message) const {
    const auto at = use_of.find(message);
    return at == use_of.end() ? nullptr : &uses[at->second];
  }
};

// Makes one event of the additions of each sum and of the sends of each value, takes away the messages that
// are then of no use, and gives slots behind `scratch`, which grows, alike at the ranks of a team. A sum
// whose events have another form stays as it is.
Switched use_switches(const SwitchUses&, std::vector<Events>&, std::map<int, Ends>&,
                      std::vector<int>& scratch);

}  // namespace chorale
