// Links of the topology are routes, those of the underlay are wires, and the load of a wire is what all
// routes over it carry. It is bounded by the topology if one limit, no wider than the wire, is over all links
// that use the wire, or if one link uses it that is no wider. A sum of several limits would bound it as well,
// but flatten() makes no such limits. A limit of the underlay that one path uses twice counts twice there, so
// paths must not do that.
#include "semantics/verify_routes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "semantics/fault_list.h"

namespace chorale {
namespace {

class RouteCheck : FaultList {
 public:
  RouteCheck(const Topology& topology, int limit)
      : FaultList(limit), topology_(topology), below_(*topology.underlay), over_(topology.links.size()) {}

  std::vector<Fault> run() {
    if (below_.routes.size() != topology_.links.size())
      report(Kind::Form, {}, "the topology has {} links and {} routes", topology_.links.size(),
             below_.routes.size());
    require_form();
    if (!found_.empty()) return std::move(found_);
    for (LinkId l = 0; l < std::ssize(topology_.links); ++l) check_route(l);
    if (found_.empty()) check_widths();
    return std::move(found_);
  }

 private:
  // What the checks below index by, and limits whose meaning they know.
  void require_form() {
    const int nodes = topology_.ranks + below_.switches;
    for (const Link& link : below_.links)
      if (link.src < 0 || link.dst < 0 || link.src >= nodes || link.dst >= nodes)
        report(Kind::Form, {}, "the machine below has a link to nowhere");
    const auto require_links = [this](const std::vector<LinkId>& links, std::size_t most) {
      for (LinkId l : links)
        if (l < 0 || l >= static_cast<LinkId>(most)) report(Kind::Form, {}, "there is no link {}", l);
    };
    for (const std::vector<LinkId>& way : below_.routes) require_links(way, below_.links.size());
    for (const SharedLimit& limit : below_.limits) require_links(limit.links, below_.links.size());
    for (const SharedLimit& limit : topology_.limits) require_links(limit.links, topology_.links.size());
    for (const auto* limits : {&topology_.limits, &below_.limits})
      for (const SharedLimit& limit : *limits)
        if (limit.abilities.any())
          report(Kind::Form, {}, "the limit '{}' multicasts or reduces, which is known of all routes only",
                 limit.name);
  }

  // Walks from the source of the link: nodes below the number of ranks are ranks, all others are switches.
  // Latencies add up, and the slowest wire sets the beta, as in flatten().
  void check_route(LinkId l) {
    const Link& link = topology_.links[l];
    const std::vector<LinkId>& way = below_.routes[l];
    const auto wrong = [&](const std::string& what) {
      report(Kind::Form, {.link = l}, "link {}: {}", l, what);
    };
    if (way.empty()) return wrong("its route is empty");
    Node at = link.src;
    double alpha = 0, beta = 0;
    for (std::size_t i = 0; i < way.size(); ++i) {
      const Link& wire = below_.links[way[i]];
      if (wire.src != at) return wrong("its route has a gap");
      if (i > 0 && at < topology_.ranks) return wrong("its route leads through a rank");
      if (std::count(way.begin(), way.end(), way[i]) > 1) return wrong("its route has a cycle");
      if (link.bandwidth > wire.bandwidth) return wrong("is wider than its route");
      at = wire.dst;
      alpha += wire.alpha_us;
      beta = std::max(beta, wire.beta_us_per_byte);
    }
    if (at != link.dst || at >= topology_.ranks) return wrong("its route ends elsewhere");
    // Files have numbers with few digits.
    const auto differ = [](double a, double b) { return std::abs(a - b) > 1e-9 * std::max(a, b); };
    if (differ(alpha, link.alpha_us) || differ(beta, link.beta_us_per_byte))
      wrong("its alpha or beta is not that of its route");
  }

  // From wires and limits below to the links that use them; links come in ascending order.
  void check_widths() {
    for (std::size_t z = 0; z < topology_.limits.size(); ++z)
      for (LinkId l : topology_.limits[z].links) over_[l].push_back(static_cast<int>(z));
    std::vector<std::vector<LinkId>> users(below_.links.size());
    for (LinkId l = 0; l < std::ssize(topology_.links); ++l)
      for (LinkId wire : below_.routes[l]) users[wire].push_back(l);
    for (std::size_t w = 0; w < users.size(); ++w)
      check_width(
          users[w], below_.links[w].bandwidth,
          fmt::format("link {} -> {} of the machine below", below_.links[w].src, below_.links[w].dst));
    for (const SharedLimit& limit : below_.limits) {
      std::vector<LinkId> together;
      for (LinkId wire : limit.links) together.insert(together.end(), users[wire].begin(), users[wire].end());
      std::sort(together.begin(), together.end());
      if (std::adjacent_find(together.begin(), together.end()) != together.end())
        report(Kind::Bandwidth, {}, "a route passes the limit '{}' of the underlay twice", limit.name);
      check_width(together, limit.bandwidth, fmt::format("the limit '{}' of the machine below", limit.name));
    }
  }

  void check_width(const std::vector<LinkId>& users, int bandwidth, const std::string& of) {
    if (users.empty() || (users.size() == 1 && topology_.links[users.front()].bandwidth <= bandwidth)) return;
    // A limit over all users is one over the first. Both lists are sorted, as std::includes needs.
    for (int z : over_[users.front()]) {
      const SharedLimit& limit = topology_.limits[z];
      if (limit.bandwidth <= bandwidth &&
          std::includes(limit.links.begin(), limit.links.end(), users.begin(), users.end()))
        return;
    }
    report(Kind::Bandwidth, {}, "no limit keeps links within {}", of);
  }

  const Topology& topology_;
  const Underlay& below_;
  std::vector<std::vector<int>> over_;  // limits by link
};

}  // namespace

std::vector<Fault> route_faults(const Topology& topology, int limit) {
  return topology.underlay ? RouteCheck(topology, limit).run() : std::vector<Fault>{};
}

}  // namespace chorale
