// How long an instruction of a reduction strategy takes on a hierarchy.
//
// All groups of an instruction run at once. Every port, ring link and shared path sums the bytes that go over
// it; the instruction takes as long as the busiest of them, plus the latencies of its longest chain of
// messages, plus a call (Hierarchy::call_us), since each instruction is one of a library. With b bytes a
// device before the instruction and groups of n devices, each edge of the algorithm carries
//
//   ring, round the group's order   AllReduce 2(n-1)/n b, ReduceScatter (n-1)/n b, AllGather (n-1) b
//   in switch (AllReduce only)      as a ring, divided by what a switch that copies and adds gains for a
// group
//                                   of n (gain_of_ports), within one unit of its level; two messages
//   chain along it                  Broadcast b, from the first to the last; Reduce b, from the second to the
//                                   last and on to the first: both leave out one edge of a ring that is laid
//                                   whatever runs over it
//   all to all                      b/n between any two; all at once
//   shift, along the order          b
//   tree (AllReduce only)           b up and b down a chain inside a node; over nodes b/2 up and b/2 down
//                                   each edge of both trees of a double binary tree
//
// Ring, chain and tree stand for several: if a ring would leave a child by a single device, as many rings run
// in parallel as the child has devices, each leaving by another one, with equal shares of the data; and if
// devices are linked in a ring, rings may run in both directions. Trees may enter a node by each of its
// devices likewise. The fastest of these possibilities counts, as libraries search for it. Along several
// rings, a chain is priced as if it were closed: it leaves out one edge of each.
//
// Traffic between two devices uses the ports (or ring links) of the outermost level at which they differ; at
// the levels inside of that it takes the exit (LinkModel::exit), or the ports if there is none. If units of a
// level are loaded differently, the busiest counts. Traffic for which a ring does not have a link goes
// through the host (HostPath), which it shares with what leaves the node: uplinks and links between sockets
// sum the bytes of both.
//
// Several operations side by side: cost/overlap.h, with the paths of load().
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/group_traffic.h"
#include "cost/overlap.h"
#include "ir/hierarchy.h"
#include "ir/place_options.h"

namespace chorale {

// What goes through the host of one unit (HostPath), in bytes.
struct HostLoad {
  HostLoad(const HostPath& path, int children)
      : host(path),
        up(static_cast<std::size_t>(children / path.uplink.children + 1), 0.0),
        down(up),
        out(static_cast<std::size_t>(children / path.socket.children + 1), 0.0),
        in(out) {}

  // Counts bytes between two children.
  void send(int from, int to, double bytes) {
    up[from / host.uplink.children] += bytes;
    cross(from / host.socket.children, to / host.socket.children, bytes);
    down[to / host.uplink.children] += bytes;
  }
  // Counts bytes to other units, and from them: by the first socket.
  void leave(int from, double bytes) {
    up[from / host.uplink.children] += bytes;
    cross(from / host.socket.children, 0, bytes);
  }
  void enter(int to, double bytes) {
    cross(0, to / host.socket.children, bytes);
    down[to / host.uplink.children] += bytes;
  }

  const HostPath& host;
  std::vector<double> up, down;  // by uplink
  std::vector<double> out, in;   // by socket, from others and to them

 private:
  void cross(int from, int to, double bytes) {
    if (from == to) return;
    out[from] += bytes;
    in[to] += bytes;
  }
};

// The split of one level: its children are members[digit] + base, for all members and bases.
struct LevelSplit {
  std::vector<int> members = {0};  // the positions that a reduction joins
  std::vector<int> bases = {0};    // everything else
};

// The busiest so far.
struct Busiest {
  double us = 0;
  std::string what = {};

  template <typename Words>
  void load(double bytes, double gbs, Words words) {
    const double time = bytes / (gbs * 1e3);
    if (time <= us) return;
    us = time;
    what = words();
  }
};

// Loads of one level under the traffic of all groups: ports, exits, host paths, links of a ring. The busiest
// of them binds an instruction; for overlaps (cost/overlap.h) each path is listed with its time.
struct LevelLoad {
  const Level& level;
  const LevelSplit& split;
  // Bytes per unit of weight, over all groups that meet in a child: the first member or another.
  double first_bytes = 0, rest_bytes = 0;
  double stream_bytes = 0;  // and for the most loaded single group
  Busiest& busiest;
  int number = 0;                         // of the level
  std::vector<PathUse>* paths = nullptr;  // where each is to be listed

  // The group has these flows between children of a unit of this level. If the level has an exit, ports carry
  // only what stays in the unit.
  void joined(const LevelTraffic& traffic, double devices_in_child) const;
  // The group's devices are at one position of this level; this much passes through it to levels outside.
  void passed(double out, double in) const;

 private:
  enum class PathKind : int;

  void list(PathKind kind, int index, double bytes, double gbs) const;
  void list_ports(PathKind kind, std::size_t member, double bytes) const;
  void port(double bytes, const char* direction) const;
  void exits(const std::vector<double>& leaving, const char* direction, PathKind kind) const;
  void through_host(const HostLoad& load) const;
  void add_outside(HostLoad& host, const std::vector<double>& out, const std::vector<double>& in) const;
  void ring_links(const std::vector<LevelTraffic::Pair>& pairs, std::optional<HostLoad>& host) const;
  std::vector<double> scaled(std::vector<double> weights) const;
};

// Groups at a level at which their own devices do not differ: at all members, the first, or all but the
// first.
enum class Place { All, First, Rest };

// Equally loaded groups of an instruction.
struct GroupLoad {
  std::vector<Place> places = {};  // by level
  double bytes = 0;                // of a device before the instruction
};

struct StepTime {
  double us = 0;
  double latency_us = 0;     // contained in us; with the call
  std::string binding = {};  // what is busiest: "node port out"
  int rings = 1;             // chains, or trees, side by side
  std::string pattern = {};  // "ring", "tree", "chain", "all to all", "shift", "in switch"
};

class Simulator {
 public:
  // Takes one split a level. Keeps a reference to the hierarchy.
  Simulator(const Hierarchy&, std::vector<LevelSplit>);

  // joined, by level: the devices of a group differ there. At least one level, each with at least two
  // members.
  StepTime time(StrategyInstruction::Operation, const std::vector<bool>& joined,
                const std::vector<GroupLoad>&, Algorithm) const;

  // Goal::AllToAll or Goal::Shift, which are one step.
  StepTime time(Goal, const std::vector<bool>& joined, const std::vector<GroupLoad>&) const;

  // The same as its load of each path, by the pattern that is fastest alone. Paths have the same numbers for
  // all splits of the hierarchy; of a path that all units of a level have, the busiest one counts.
  StepLoad load(StrategyInstruction::Operation, const std::vector<bool>& joined,
                const std::vector<GroupLoad>&, Algorithm) const;
  StepLoad load(Goal, const std::vector<bool>& joined, const std::vector<GroupLoad>&) const;

 private:
  struct Choice;  // of doing it
  Choice best_choice(StrategyInstruction::Operation, const std::vector<bool>& joined,
                     const std::vector<GroupLoad>&, Algorithm) const;
  Choice best_choice(Goal, const std::vector<bool>& joined, const std::vector<GroupLoad>&) const;
  Choice ring(StrategyInstruction::Operation, const std::vector<bool>& joined,
              const std::vector<GroupLoad>&) const;
  Choice tree(const std::vector<bool>& joined, const std::vector<GroupLoad>&) const;
  Choice in_switch(const std::vector<bool>& joined, const std::vector<GroupLoad>&) const;
  StepLoad load(const Choice&, const std::vector<bool>& joined, const std::vector<GroupLoad>&) const;

  enum class Shape { Cycle, Chain, ChainBack, Tree, AllToAll, InSwitch };
  struct Pattern {
    Shape shape = Shape::Cycle;
    Cycles cycles = {};
    auto operator<=>(const Pattern&) const = default;
  };
  std::vector<Pattern> rings(const std::vector<bool>& joined,
                             Shape one) const;  // to choose from, first a single one
  struct Choice {
    StepTime time = {.rings = 0};
    Pattern pattern = {};
    double share = 1;  // of a device's bytes, on an edge of weight 1
  };
  // Its time, with the name of its pattern; its latency has the call.
  StepTime named(Choice, bool shift) const;
  void take_faster(Choice& so_far, const Pattern&, double share, int rings, const std::vector<bool>& joined,
                   const std::vector<GroupLoad>&) const;
  const GroupTraffic& traffic(const std::vector<bool>& joined, const Pattern&) const;

  const Hierarchy& hierarchy_;
  const std::vector<LevelSplit> splits_;
  mutable std::map<std::pair<std::vector<bool>, Pattern>, GroupTraffic> known_ = {};  // one thread at a time
};

}  // namespace chorale
