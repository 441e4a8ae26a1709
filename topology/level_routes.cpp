// A path is a list of parts: at the level that separates its ends two ports, a ring link or the detour, and
// at each level inside of that, on both sides, the exit, or a port if there is none; a host's part is its
// uplinks and, between sockets, their links. Links that have a part in common share it, and no other limits
// exist.
//
// A part binds only if more can come to it than it carries. What can come is bounded by every family of other
// parts: those of one kind at one level are mostly disjoint, so through each comes at most its own rate and
// at most what its links carry, and these add up. The least over the families is an upper bound, not the
// exact maximum flow. So a limit may be kept that is superfluous, and none is dropped that is not.
#include "topology/level_routes.h"

#include <algorithm>
#include <utility>

namespace chorale {
namespace {
using Kind = LevelPart::Kind;
}  // namespace

double rate_of(const LevelPart& part, const Hierarchy& hierarchy) {
  const LinkModel& link = hierarchy.levels[part.level].link;
  switch (part.kind) {
    case Kind::PortOut:
    case Kind::PortIn:
      return link.bandwidth_gbs * link.ports;
    case Kind::Forward:
    case Kind::Backward:
      return link.bandwidth_gbs;
    case Kind::ExitOut:
    case Kind::ExitIn:
      return link.exit->bandwidth_gbs;
    case Kind::Detour:
      return link.detour->bandwidth_gbs;
    case Kind::HostUp:
    case Kind::HostDown:
      return link.host->uplink.bandwidth_gbs;
    case Kind::SocketOut:
    case Kind::SocketIn:
      return link.host->socket.bandwidth_gbs;
  }
  return 0;
}

LevelRoutes::LevelRoutes(const Hierarchy& hierarchy)
    : hierarchy_(hierarchy), below_(hierarchy.levels.size(), 1) {
  for (std::size_t j = below_.size(); j-- > 1;) below_[j - 1] = below_[j] * hierarchy.levels[j].fan_out;
}

// Groups are numbered over all units of the level; the last of a unit may be smaller, and none reaches into
// the next.
int LevelRoutes::group(int level, Rank device, int children) const {
  const int fan_out = hierarchy_.levels[level].fan_out, groups = (fan_out + children - 1) / children;
  return child(level, device) / fan_out * groups + digit(level, device) / children;
}

// The level is the outermost at which the digits of the two devices differ.
std::optional<LevelRoute> LevelRoutes::route(Rank from, Rank to) const {
  if (from == to) return std::nullopt;
  LevelRoute way;
  // Ends at some level, since the two differ.
  while (digit(way.level, from) == digit(way.level, to)) ++way.level;
  const LinkModel& link = hierarchy_.levels[way.level].link;
  if (link.rails && from % below_[way.level] != to % below_[way.level]) return std::nullopt;
  if (link.shape == LinkModel::Shape::Ring) {
    const int n = hierarchy_.levels[way.level].fan_out;
    const int ahead = (digit(way.level, to) - digit(way.level, from) + n) % n;
    way.detour = ahead != 1 && ahead != n - 1;
    if (way.detour && !link.detour && !link.host) return std::nullopt;
  }
  add_outside(way, from, to);
  for (int m = way.level + 1; m < static_cast<int>(below_.size()); ++m) add_inside(way, m, from, to);
  return way;
}

// Where the ends are in different children: out of the one, and into the other.
void LevelRoutes::add_outside(LevelRoute& way, Rank from, Rank to) const {
  const int j = way.level, n = hierarchy_.levels[j].fan_out;
  const LinkModel& link = hierarchy_.levels[j].link;
  if (link.shape == LinkModel::Shape::Switch) {
    way.parts.push_back({j, Kind::PortOut, child(j, from)});
    way.parts.push_back({j, Kind::PortIn, child(j, to)});
  } else if (way.detour && link.host) {
    way.parts.push_back({j, Kind::HostUp, group(j, from, link.host->uplink.children)});
    add_sockets(way, j, group(j, from, link.host->socket.children), group(j, to, link.host->socket.children));
    way.parts.push_back({j, Kind::HostDown, group(j, to, link.host->uplink.children)});
  } else if (way.detour) {
    way.parts.push_back({j, Kind::Detour, group(j, from, link.detour->children)});
  } else {
    const bool ahead = (digit(j, from) + 1) % n == digit(j, to);
    way.parts.push_back({j, ahead ? Kind::Forward : Kind::Backward, child(j, from)});
  }
}

// Inside of each child, from the end to what leaves the child. A ring without exit or host adds no part.
void LevelRoutes::add_inside(LevelRoute& way, int level, Rank from, Rank to) const {
  const LinkModel& link = hierarchy_.levels[level].link;
  if (link.host) {
    // By the first socket of either unit.
    const int per_socket = link.host->socket.children;
    const auto first = [&](Rank device) {
      return group(level, device - digit(level, device) * below_[level], per_socket);
    };
    way.parts.push_back({level, Kind::HostUp, group(level, from, link.host->uplink.children)});
    add_sockets(way, level, group(level, from, per_socket), first(from));
    add_sockets(way, level, first(to), group(level, to, per_socket));
    way.parts.push_back({level, Kind::HostDown, group(level, to, link.host->uplink.children)});
  } else if (link.exit) {
    way.parts.push_back({level, Kind::ExitOut, group(level, from, link.exit->children)});
    way.parts.push_back({level, Kind::ExitIn, group(level, to, link.exit->children)});
  } else if (link.shape == LinkModel::Shape::Switch) {
    way.parts.push_back({level, Kind::PortOut, child(level, from)});
    way.parts.push_back({level, Kind::PortIn, child(level, to)});
  }
}

void LevelRoutes::add_sockets(LevelRoute& way, int level, int from, int to) const {
  if (from == to) return;
  way.parts.push_back({level, Kind::SocketOut, from});
  way.parts.push_back({level, Kind::SocketIn, to});
}

void TakenParts::add(double rate, const LevelRoute& way) {
  for (const LevelPart& part : way.parts) links[part].push_back(static_cast<LinkId>(rates.size()));
  rates.push_back(rate);
  parts.push_back(way.parts);
}

double implied_rate(const TakenParts& taken, const LevelPart& part,
                    const std::map<LevelPart, double>& known) {
  using Family = std::pair<int, Kind>;
  const std::vector<LinkId>& links = taken.links.at(part);
  double all = 0;
  std::map<Family, std::map<int, double>> by_family;  // what the links through each part carry
  std::map<Family, double> covered;
  for (LinkId l : links) {
    all += taken.rates[l];
    const std::vector<LevelPart>& own = taken.parts[l];
    for (const LevelPart& other : own) {
      const Family family{other.level, other.kind};
      if (family == Family{part.level, part.kind}) continue;
      by_family[family][other.index] += taken.rates[l];
      // From one host to another a link takes two of a kind; as a bound that counts double, which is never
      // too little.
      const auto first = std::ranges::find_if(own, [&](const LevelPart& part) {
        return Family{part.level, part.kind} == family;
      });
      if (&*first == &other) covered[family] += taken.rates[l];
    }
  }
  double least = all;
  for (const auto& [family, sums] : by_family) {
    // Links that no part of the family has are not held back by it.
    double carried = all - covered[family];
    for (const auto& [index, sum] : sums) {
      const auto rate = known.find({family.first, family.second, index});
      carried += rate == known.end() ? sum : std::min(sum, rate->second);
    }
    least = std::min(least, carried);
  }
  return least;
}

}  // namespace chorale
