// Links are grouped by ends, width and prices, and the k-th of a group is mapped to the k-th of the reverse
// group; so mirroring twice is the identity. Limits are then compared as sets of mirrored links. Another
// pairing of parallel links might preserve limits where this one does not: then nothing is mirrored.
#include "construct/mirror.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace chorale {
namespace {

using LimitKey = std::tuple<int, bool, bool, std::vector<LinkId>>;

// With links numbered by `mirror`, and the abilities of switches reversed (multicast and reduce exchanged).
std::vector<LimitKey> limits_over(const Topology& topology, const std::vector<LinkId>* mirror) {
  std::vector<LimitKey> all;
  for (const SharedLimit& limit : topology.limits) {
    std::vector<LinkId> links = limit.links;
    auto [multicast, reduce] = std::pair(limit.abilities.multicast, limit.abilities.reduce);
    if (mirror != nullptr) {
      for (LinkId& l : links) l = (*mirror)[l];
      std::swap(multicast, reduce);
    }
    std::ranges::sort(links);
    all.emplace_back(limit.bandwidth, multicast, reduce, std::move(links));
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace

std::optional<std::vector<LinkId>> mirror_of(const Topology& topology) {
  std::map<std::tuple<Node, Node, int, double, double>, std::vector<LinkId>> alike;
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
    const Link& link = topology.links[l];
    alike[{link.src, link.dst, link.bandwidth, link.alpha_us, link.beta_us_per_byte}].push_back(l);
  }
  std::vector<LinkId> mirror(topology.links.size());
  for (const auto& [key, links] : alike) {
    const auto [src, dst, bandwidth, alpha, beta] = key;
    const auto back = alike.find({dst, src, bandwidth, alpha, beta});
    if (back == alike.end() || back->second.size() != links.size()) return std::nullopt;
    for (std::size_t k = 0; k < links.size(); ++k) mirror[links[k]] = back->second[k];
  }
  if (limits_over(topology, nullptr) != limits_over(topology, &mirror)) return std::nullopt;
  return mirror;
}

// The reversed schedule is of the reversed machine, with its links' numbers (reversed, ir/schedule.h); the
// mirror brings it back to this one.
Point mirrored(const Point& point, const Collective& summing, const std::vector<LinkId>& mirror) {
  Point turned{.cost = point.cost,
               .method = Method::Dual,
               .construction = point.construction,
               .collective = summing,
               .schedule = reversed(point.schedule, true),
               .seconds = point.seconds};
  // What people know by name has another one for the other half.
  constexpr std::string_view kCopies = "allgather";
  if (const auto at = turned.construction.find(kCopies); at != std::string::npos)
    turned.construction.replace(at, kCopies.size(), "reducescatter");
  for (Step& step : turned.schedule.steps) {
    for (Send& send : step.sends) send.link = mirror[send.link];
    std::ranges::sort(step.sends);
  }
  return turned;
}

}  // namespace chorale
