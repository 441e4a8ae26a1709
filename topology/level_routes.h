// What the traffic from one device of a hierarchy to another takes, for both directions of topology/levels.h:
// they agree since they read it here.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/hierarchy.h"
#include "ir/topology.h"

namespace chorale {

// A port, a ring link or a path: as fast as it is, whatever shares it.
struct LevelPart {
  enum class Kind {
    PortOut,
    PortIn,
    Forward,
    Backward,
    ExitOut,
    ExitIn,
    Detour,
    HostUp,
    HostDown,
    SocketOut,
    SocketIn
  };
  int level = 0;
  Kind kind = Kind::PortOut;
  int index = 0;  // a child, or a group of children that share a path, counted over all units of the level
  auto operator<=>(const LevelPart&) const = default;
};

struct LevelRoute {
  int level = 0;  // the outermost at which the ends differ
  bool detour = false;
  std::vector<LevelPart> parts = {};
};

class LevelRoutes {
 public:
  explicit LevelRoutes(const Hierarchy&);  // keeps a reference
  // Nullopt from a device to itself, between children of a ring that are not neighbours and have neither
  // detour nor host, and, at a level of rails, between devices that are not at the same position inside of
  // its children.
  std::optional<LevelRoute> route(Rank from, Rank to) const;

 private:
  int child(int level, Rank device) const { return device / below_[level]; }
  int digit(int level, Rank device) const { return child(level, device) % hierarchy_.levels[level].fan_out; }
  int group(int level, Rank device, int children) const;
  void add_outside(LevelRoute&, Rank from, Rank to) const;  // at the level that parts them
  void add_inside(LevelRoute&, int level, Rank from, Rank to) const;
  void add_sockets(LevelRoute&, int level, int from, int to) const;  // numbers of sockets

  const Hierarchy& hierarchy_;
  std::vector<int> below_ = {};  // devices in a child, by level
};

double rate_of(const LevelPart&, const Hierarchy&);  // GB/s

// Links between devices, with the parts that they take.
struct TakenParts {
  std::vector<double> rates = {};  // by link: its own
  std::vector<std::vector<LevelPart>> parts = {};
  std::map<LevelPart, std::vector<LinkId>> links = {};

  void add(double rate, const LevelRoute&);
};

// What all links of a part carry at most together, because of themselves or of other parts: those of one kind
// and level at a time are disjoint, so their rates add up. `known`: rates of parts; what is not there limits
// nothing.
double implied_rate(const TakenParts&, const LevelPart&, const std::map<LevelPart, double>& known);

// The graph of a hierarchy in GB/s.
struct LevelGraph {
  struct Line {
    Rank src = 0;
    Rank dst = 0;
    double alpha_us = 0;
  };
  std::vector<Line> lines = {};
  TakenParts taken = {};                     // by line
  std::map<LevelPart, double> binding = {};  // parts that others do not make superfluous, with their rates
};
LevelGraph level_graph(const Hierarchy&);

// By what the children of a level are: rank, node, rack, pod, level4.
std::string level_name(std::size_t from_inside);

inline constexpr double kSameRate = 1e-6;  // relative: rates have come through text and sums

}  // namespace chorale
