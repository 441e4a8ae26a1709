// The operations of each rank, as one list: the form between a Program and programs of blocks. For the
// lowerings of this room.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/program.h"

namespace chorale {

// Something that a rank does, with its message. Events of a rank are in an order in which they could be done
// one after the other.
struct Event {
  DataOperation does = {};
  int step = 0;
  Rank peer = -1;    // of the message
  int message = -1;  // -1: local
  int channel = 0;
  bool gone = false;  // merged into, or fused with, another one
  bool late = false;  // follows all of the step before its own
};

using Events = std::vector<Event>;  // of one rank

// Both ends of a message.
struct Ends {
  Rank from = -1, to = -1;
  int send = -1, recv = -1;  // events of these ranks
  int count = 1;             // chunks
};

std::map<int, Ends> ends_of(const std::vector<Events>&);

// From steps to one list per rank: a message that a local copy or sum takes from a mailbox lands where it is
// wanted. In each step sends come first.
Events completed(const RankProgram&);

// Consecutive chunks with the same source and destination in one step become one message, but for those that
// stay `apart`.
void merge_messages(std::vector<Events>&, int pieces, const std::set<int>& apart = {});

// All slots of these operands, each the first of `count`.
std::vector<Slot> slots_of(const std::vector<DataPlace>&, int count);

}  // namespace chorale
