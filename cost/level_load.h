// What the traffic of all groups loads at one level of a hierarchy: ports, exits, host paths,
// links of a ring. The busiest of them binds an instruction; for overlaps (cost/overlap.h) each
// path is listed with its time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/group_traffic.h"
#include "cost/overlap.h"
#include "ir/hierarchy.h"

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

// Loads of one level under the traffic of all groups.
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

}  // namespace chorale
