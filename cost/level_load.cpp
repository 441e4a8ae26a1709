// The bytes of a child are a weight of one group's traffic (cost/group_traffic.h) times the bytes of all
// groups that meet there: `first_bytes` for the child at the first place of its level, `rest_bytes` for any
// other. The two differ where groups are at first places only (Master), or keep other amounts there (after a
// Reduce).
#include "cost/level_load.h"

#include <fmt/format.h>

#include <algorithm>

namespace chorale {

// The paths of one level, by which loads of different instructions on the same path are added up
// (cost/overlap.h).
enum class LevelLoad::PathKind : int {
  PortOut,
  PortIn,
  ExitOut,
  ExitIn,
  Forward,
  Backward,
  Detour,
  HostUp,
  HostDown,
  SocketOut,
  SocketIn
};

// A path's number has the level, the kind and the index in it: unique for a hierarchy, whatever its splits
// are.
void LevelLoad::list(PathKind kind, int index, double bytes, double gbs) const {
  if (paths == nullptr || bytes <= 0) return;
  paths->push_back(
      {(static_cast<std::int64_t>(number) * 16 + static_cast<int>(kind)) << 32 | index, bytes / (gbs * 1e3)});
}

// The port of a member, at all positions of the group.
void LevelLoad::list_ports(PathKind kind, std::size_t member, double bytes) const {
  if (paths == nullptr) return;
  for (int base : split.bases)
    list(kind, base + split.members[member], bytes, level.link.bandwidth_gbs * level.link.ports);
}

void LevelLoad::port(double bytes, const char* direction) const {
  busiest.load(bytes, level.link.bandwidth_gbs * level.link.ports,
               [&] { return fmt::format("{} port {}", level.name, direction); });
}

// Bytes that leave from each member, or enter it, gathered by the path that consecutive children share.
void LevelLoad::exits(const std::vector<double>& leaving, const char* direction, PathKind kind) const {
  const SharedPath& path = *level.link.exit;
  std::vector<double> loads(level.fan_out / path.children + 1, 0.0);
  for (int base : split.bases)
    for (std::size_t d = 0; d < leaving.size(); ++d)
      loads[(base + split.members[d]) / path.children] += leaving[d];
  busiest.load(*std::max_element(loads.begin(), loads.end()), path.bandwidth_gbs,
               [&] { return fmt::format("{} exit {}", level.name, direction); });
  for (std::size_t block = 0; block < loads.size(); ++block)
    list(kind, static_cast<int>(block), loads[block], path.bandwidth_gbs);
}

// A host path has an uplink per few children (PCIe switches) and a path between sockets; both are shared
// in each direction.
void LevelLoad::through_host(const HostLoad& load) const {
  const auto add = [&](const std::vector<double>& loads, const SharedPath& path, PathKind kind,
                       const char* what) {
    for (std::size_t p = 0; p < loads.size(); ++p) {
      busiest.load(loads[p], path.bandwidth_gbs,
                   [&] { return fmt::format("{} {} {}", level.name, what, p); });
      list(kind, static_cast<int>(p), loads[p], path.bandwidth_gbs);
    }
  };
  add(load.up, load.host.uplink, PathKind::HostUp, "host up");
  add(load.down, load.host.uplink, PathKind::HostDown, "host down");
  add(load.out, load.host.socket, PathKind::SocketOut, "socket out");
  add(load.in, load.host.socket, PathKind::SocketIn, "socket in");
}

// The traffic that leaves each member for other units and enters it from them.
void LevelLoad::add_outside(HostLoad& host, const std::vector<double>& out,
                            const std::vector<double>& in) const {
  for (int base : split.bases)
    for (std::size_t d = 0; d < out.size(); ++d) {
      host.leave(base + split.members[d], out[d]);
      host.enter(base + split.members[d], in[d]);
    }
}

// Pairs of children on the level's ring. Neighbours use their link; others the host or the detour, or,
// without one, the shorter direction around the ring (ahead if both are as long), and then every link on
// it.
void LevelLoad::ring_links(const std::vector<LevelTraffic::Pair>& pairs,
                           std::optional<HostLoad>& host) const {
  const int n = level.fan_out;
  std::vector<double> forward(n, 0.0), backward(n, 0.0);  // from p to p+1, from p to p-1
  const auto& detour = level.link.detour;
  std::vector<double> detours(detour ? n / detour->children + 1 : 0, 0.0);
  for (int base : split.bases)
    for (const LevelTraffic::Pair& pair : pairs) {
      const int from = base + split.members[pair.from], to = base + split.members[pair.to];
      const int ahead = (to - from + n) % n, behind = n - ahead;
      if (ahead != 1 && behind != 1 && host) {
        host->send(from, to, pair.weight * first_bytes);
      } else if (ahead != 1 && behind != 1 && detour) {
        detours[from / detour->children] += pair.weight;
      } else if (ahead <= behind) {
        for (int p = from; p != to; p = (p + 1) % n) forward[p] += pair.weight;
      } else {
        for (int p = from; p != to; p = (p + n - 1) % n) backward[p] += pair.weight;
      }
    }
  for (int p = 0; p < n; ++p) {
    busiest.load(forward[p] * first_bytes, level.link.bandwidth_gbs,
                 [&] { return fmt::format("{} ring link {}->{}", level.name, p, (p + 1) % n); });
    busiest.load(backward[p] * first_bytes, level.link.bandwidth_gbs,
                 [&] { return fmt::format("{} ring link {}->{}", level.name, p, (p + n - 1) % n); });
    list(PathKind::Forward, p, forward[p] * first_bytes, level.link.bandwidth_gbs);
    list(PathKind::Backward, p, backward[p] * first_bytes, level.link.bandwidth_gbs);
  }
  for (std::size_t block = 0; block < detours.size(); ++block)
    list(PathKind::Detour, static_cast<int>(block), detours[block] * first_bytes, detour->bandwidth_gbs);
  for (double load : detours)
    busiest.load(load * first_bytes, detour->bandwidth_gbs, [&] { return level.name + " detour"; });
}

// A ring has no ports: pairs of children use its links, and what leaves the unit uses the host or the exit.
// On a switch each child's port carries all its traffic, or, where an exit takes what leaves, its own.
void LevelLoad::joined(const LevelTraffic& traffic, double devices_in_child) const {
  const LinkModel& link = level.link;
  if (link.shape == LinkModel::Shape::Ring) {
    std::optional<HostLoad> host;
    if (link.host) {
      host.emplace(*link.host, level.fan_out);
      add_outside(*host, scaled(traffic.leaving_out), scaled(traffic.leaving_in));
    }
    ring_links(traffic.pairs, host);
    if (host) through_host(*host);
  } else {
    for (std::size_t d = 0; d < traffic.all_out.size(); ++d) {
      const double out = (link.exit ? traffic.own_out[d] : traffic.all_out[d]) * first_bytes;
      const double in = (link.exit ? traffic.own_in[d] : traffic.all_in[d]) * first_bytes;
      port(out, "out");
      port(in, "in");
      list_ports(PathKind::PortOut, d, out);
      list_ports(PathKind::PortIn, d, in);
    }
  }
  if (link.exit) {
    exits(scaled(traffic.leaving_out), "out", PathKind::ExitOut);
    exits(scaled(traffic.leaving_in), "in", PathKind::ExitIn);
  }
  if (link.stream_gbs <= 0) return;
  // A group's flow is as many streams as it has devices in a child.
  for (const LevelTraffic::Pair& pair : traffic.pairs)
    busiest.load(pair.weight * stream_bytes, link.stream_gbs * devices_in_child,
                 [&] { return fmt::format("a single stream at {}", level.name); });
}

// The first of host, exit and ports that the level has. A ring with none of them models no way out, so
// nothing is loaded.
void LevelLoad::passed(double out, double in) const {
  if (level.link.host) {
    HostLoad host(*level.link.host, level.fan_out);
    add_outside(host, scaled(std::vector<double>(split.members.size(), out)),
                scaled(std::vector<double>(split.members.size(), in)));
    through_host(host);
  } else if (level.link.exit) {
    exits(scaled(std::vector<double>(split.members.size(), out)), "out", PathKind::ExitOut);
    exits(scaled(std::vector<double>(split.members.size(), in)), "in", PathKind::ExitIn);
  } else if (level.link.shape == LinkModel::Shape::Switch) {
    const double bytes = split.members.size() > 1 ? std::max(first_bytes, rest_bytes) : first_bytes;
    port(out * bytes, "out");
    port(in * bytes, "in");
    for (std::size_t d = 0; d < split.members.size() && paths != nullptr; ++d) {
      list_ports(PathKind::PortOut, d, out * (d == 0 ? first_bytes : rest_bytes));
      list_ports(PathKind::PortIn, d, in * (d == 0 ? first_bytes : rest_bytes));
    }
  }
}

std::vector<double> LevelLoad::scaled(std::vector<double> weights) const {
  for (std::size_t d = 0; d < weights.size(); ++d) weights[d] *= d == 0 ? first_bytes : rest_bytes;
  return weights;
}

}  // namespace chorale
