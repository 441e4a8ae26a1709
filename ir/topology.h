// A machine: ranks, switches, and the directed links between them, in the model of Cai et al. 2021 (SCCL): in
// one round a link moves at most `bandwidth` chunks, and a shared limit bounds the sum over a set of links.
//
// A switch may compute on what passes: multicast (copies of one value for several ranks leave it, and one
// comes in) and reduce (several values for one rank come in, and their sum leaves it). `flatten`
// (topology/switches.h) makes of that how its wires count; docs/topologies.md proves that a network can do
// what is counted so.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/rank_set.h"

namespace chorale {

using Node = int;    // a rank, or a switch: ranks .. ranks+switches-1
using LinkId = int;  // index into Topology::links

struct Link {
  Node src = 0;
  Node dst = 0;
  int bandwidth = 1;               // chunks per round, >= 1
  double alpha_us = 1.0;           // microseconds that a step over this link costs, >= 0
  double beta_us_per_byte = 4e-5;  // microseconds per byte for *one* unit of bandwidth (4e-5: 25 GB/s), > 0
  bool operator==(const Link&) const = default;
};

struct Abilities {
  bool multicast = false;
  bool reduce = false;
  bool any() const { return multicast || reduce; }
  bool operator==(const Abilities&) const = default;
};

// A link of the machine before its switches were removed; there `dst` or `src` may be a switch.
struct Cable {
  Node src = 0;
  Node dst = 0;
  bool operator==(const Cable&) const = default;
};

// A switch port, a NIC: these links together move at most `bandwidth` chunks per round. Of the sends of one
// step, those of one chunk from one rank count once if the limit multicasts, those of one chunk to one rank
// count once if it reduces; if it can do both, copies count as it multicasts and what is added up
// (Send::reduce) as it reduces.
struct SharedLimit {
  std::string name = {};           // its kind, and a number where there are several: "NIC out 3"
  std::vector<LinkId> links = {};  // sorted, without duplicates
  int bandwidth = 1;
  Abilities abilities = {};
  // What `flatten` made the limit of; empty where it was stated over links between ranks. Information for
  // drawings.
  std::vector<Cable> cables = {};
  bool operator==(const SharedLimit&) const = default;
};

// What people call a node. Files of other tools have it, and named machines have none.
struct NodeLabel {
  std::string kind = {};  // "GPU", "NVSwitch", "NIC", "PCI switch", "CPU", "network", "switch"
  std::string name = {};  // "NVSwitch 0000:f0:00.0"
  bool operator==(const NodeLabel&) const = default;
};

// The machine with its switches below a topology whose links are some of the paths through them. Bounds are
// of this machine: so they hold whatever routes were chosen.
struct Underlay {
  int switches = 0;
  std::vector<Link> links = {};  // between ranks and switches
  std::vector<SharedLimit> limits = {};
  std::vector<std::vector<LinkId>> routes = {};  // by link of the topology: the links here that it goes over
  bool operator==(const Underlay&) const = default;
};

struct Topology {
  std::string name = {};
  int ranks = 0;
  int switches =
      0;  // nodes that forward at once and hold nothing; `flatten` (topology/switches.h) removes them
  std::vector<Link> links = {};
  std::vector<SharedLimit> limits = {};
  // Microseconds that a call costs before anything moves, and after: a launch, the first flag. The links'
  // alphas have what each step costs.
  double call_us = 0;
  std::optional<Underlay> underlay = {};  // none where the links are all that there are
  std::vector<Abilities> abilities = {};  // by switch; empty: none of them has any
  // What a switch that multicasts or reduces delivers at most, as a multiple of what the links out of it
  // carry: copies and added values count one by one. 0: no such limit.
  double switch_gain = 0;
  // By node, ranks first, then switches: also those that `flatten` removed, which cables name. Where it is
  // shorter, the others have none. Information for people: labels make no machine another one.
  std::vector<NodeLabel> labels = {};
  bool operator==(const Topology& other) const {
    const auto facts = [](const Topology& t) {
      return std::tie(t.name, t.ranks, t.switches, t.links, t.limits, t.call_us, t.underlay, t.abilities,
                      t.switch_gain);
    };
    return facts(*this) == facts(other);
  }
};

// "NIC out", of "NIC out 3"; the name, of one without a number.
std::string limit_kind(const SharedLimit&);
// Of its label; without one "rank" or "switch".
std::string node_kind(const Topology&, Node);

// The machine with its switches that the topology has below it; the topology where it has none.
Topology with_switches(const Topology&);

// What its switches or limits, all together, can do. "": they only forward; "multicast", "reduce", "multicast
// and reduce".
Abilities abilities_of(const Topology&);
std::string in_words(const Abilities&);

// The same machine with every link reversed: switches that multicast then reduce, and vice versa. Link and
// limit numbers stay, so a schedule of the one is read as a schedule of the other by reversing its steps.
Topology reversed(const Topology&);

// The first link src -> dst, or -1.
LinkId find_link(const Topology&, Node src, Node dst);

// Hops from the nearest node of `from` (distance 0) to every node along links; -1 where there is no path.
std::vector<int> hops(const Topology&, const RankSet& from);

// The same for many questions of one machine: bounds of 1,024 ranks request it of each rank.
class HopCounts {
 public:
  explicit HopCounts(const Topology&);
  std::vector<int> from(const RankSet&) const;

 private:
  std::vector<int> first_ = {};  // of the links out of a node, in ends_
  std::vector<Node> ends_ = {};
};

// Is there a path from each node to each other one?
bool all_reach_all(const Topology&);

// alpha of a step and beta of a round on this machine: the worst link decides, since a step waits for all
// links.
double step_alpha_us(const Topology&);
double round_beta_us_per_byte(const Topology&);

}  // namespace chorale
