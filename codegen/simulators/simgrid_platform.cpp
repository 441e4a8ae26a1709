// SimGrid's links are shared by the flows of all routes that have them, which is what a link and a limit are
// here. A limit of b bytes per second under which a link is k times slower than the fastest one counts that
// link's bytes k times: the route has the limit k times. Routing goes over the fewest links, so all routes
// between neighbours are filled up to one length with a link that bounds nothing: neighbours are then reached
// by their own link.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "codegen/simulators/simgrid.h"

namespace chorale {
namespace {

constexpr int kMostOverLimit = 32;  // that a route goes over a limit
constexpr int kMostFloyd = 400;     // hosts: its table takes their cube, and routes by Dijkstra a search each
constexpr double kUnbounded = 1e18;  // bytes per second

double bytes_per_second(int bandwidth, double beta_us_per_byte) {
  return bandwidth / beta_us_per_byte * 1e6;
}

// Of the fastest link under a limit, by whose rate the limit's bandwidth is meant.
double least_beta(const Topology& topology, const SharedLimit& limit) {
  double least = HUGE_VAL;
  for (const LinkId l : limit.links) least = std::min(least, topology.links[l].beta_us_per_byte);
  return least;
}

// 1 for the fastest.
double times_over(const Topology& topology, const SharedLimit& limit, LinkId l) {
  return topology.links[l].beta_us_per_byte / least_beta(topology, limit);
}

bool differ_in_latency(const Topology& topology, const SharedLimit& limit) {
  return std::ranges::any_of(limit.links, [&](LinkId l) {
    return topology.links[l].alpha_us != topology.links[limit.links.front()].alpha_us;
  });
}

// over_: the names of the limits of each link, each as often as its bytes count there.
class Platform {
 public:
  explicit Platform(const Topology& topology)
      : topology_(topology), relayed_(relayed_links(topology)), over_(topology.links.size()) {
    for (std::size_t i = 0; i < topology.limits.size(); ++i)
      for (const LinkId l : topology.limits[i].links) {
        const auto times = std::lround(times_over(topology, topology.limits[i], l));
        over_[l].insert(over_[l].end(), times, fmt::format("limit{}", i));
      }
    for (const auto& limits : over_) longest_ = std::max(longest_, 1 + limits.size());
  }

  // Routes last: they name hosts and links.
  std::string text() {
    const auto hosts = topology_.ranks + std::ranges::count(relayed_, true);
    text_ = fmt::format(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\">\n<zone id=\"machine\" routing=\"{}\">\n",
        hosts <= kMostFloyd ? "Floyd" : "DijkstraCache");
    for (Rank n = 0; n < topology_.ranks; ++n) host(fmt::format("rank{}", n));
    for (std::size_t l = 0; l < relayed_.size(); ++l)
      if (relayed_[l]) host(fmt::format("relay{}", l));
    links();
    routes();
    return std::move(text_) + "</zone>\n</platform>\n";
  }

 private:
  void host(const std::string& name) { text_ += fmt::format("<host id=\"{}\" speed=\"1Gf\"/>\n", name); }

  // FATPIPE: not shared, for latencies and what bounds nothing.
  void link(const std::string& name, double rate, double latency_us, bool shared = true) {
    text_ += fmt::format("<link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{}us\"{}/>\n", name, rate, latency_us,
                         shared ? "" : " sharing_policy=\"FATPIPE\"");
  }

  // A link's rate is its bandwidth over its price of a byte. Of a relayed link the latency is a link of its
  // own, from the relay on.
  void links() {
    for (std::size_t l = 0; l < relayed_.size(); ++l) {
      const Link& of = topology_.links[l];
      link(fmt::format("link{}", l), bytes_per_second(of.bandwidth, of.beta_us_per_byte),
           relayed_[l] ? 0 : of.alpha_us);
      if (relayed_[l]) link(fmt::format("latency{}", l), kUnbounded, of.alpha_us, false);
    }
    for (std::size_t i = 0; i < topology_.limits.size(); ++i) {
      const SharedLimit& limit = topology_.limits[i];
      link(fmt::format("limit{}", i), bytes_per_second(limit.bandwidth, least_beta(topology_, limit)), 0);
    }
    link("unbounded", kUnbounded, 0, false);
  }

  // One way only: the other direction of a link is a link of its own. Filled up to a length with a link that
  // bounds nothing.
  void route(const std::string& src, const std::string& dst, const std::string& first,
             const std::vector<std::string>& further, std::size_t length) {
    text_ += fmt::format("<route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">", src, dst);
    const auto over = [&](const std::string& name) { text_ += fmt::format("<link_ctn id=\"{}\"/>", name); };
    over(first);
    for (const std::string& name : further) over(name);
    for (std::size_t i = 1 + further.size(); i < length; ++i) over("unbounded");
    text_ += "</route>\n";
  }

  // Where there are relays, a path through one is as long as a link without.
  // A relay is reached over the link with no latency, and both ends from there in one: that is when a send
  // ends and a message has arrived.
  void routes() {
    const bool relays = std::ranges::any_of(relayed_, [](bool relayed) { return relayed; });
    for (std::size_t l = 0; l < relayed_.size(); ++l) {
      const std::string src = fmt::format("rank{}", topology_.links[l].src),
                        dst = fmt::format("rank{}", topology_.links[l].dst),
                        relay = fmt::format("relay{}", l), latency = fmt::format("latency{}", l);
      route(src, relayed_[l] ? relay : dst, fmt::format("link{}", l), over_[l],
            relays && !relayed_[l] ? 2 * longest_ : longest_);
      if (!relayed_[l]) continue;
      route(relay, dst, latency, {}, longest_);
      route(relay, src, latency, {}, longest_);
    }
  }

  const Topology& topology_;
  const std::vector<bool> relayed_;
  std::vector<std::vector<std::string>> over_;  // by link: its limits
  std::size_t longest_ = 1;
  std::string text_ = {};
};

}  // namespace

// The same numbers that the platform rounds: whole up to 1e-6, so that rounding changes nothing.
std::optional<Fault> without_simgrid(const Topology& topology) {
  for (const SharedLimit& limit : topology.limits)
    for (const LinkId l : limit.links) {
      const double times = times_over(topology, limit, l);
      if (times < kMostOverLimit + 0.5 && std::abs(times - std::round(times)) < 1e-6) continue;
      return Fault{.kind = Fault::Kind::Limit,
                   .place = {.link = l},
                   .words = fmt::format(
                       "under the limit '{}' a byte of link {} -> {} takes {:.4g} times as long as of "
                       "others, which a platform of SimGrid cannot express (whole times up to {} can be)",
                       limit.name, topology.links[l].src, topology.links[l].dst, times, kMostOverLimit),
                   .remedy = "give links under one limit the same beta_us_per_byte, or a multiple"};
    }
  return std::nullopt;
}

std::vector<bool> relayed_links(const Topology& topology) {
  std::vector<bool> relayed;
  std::set<std::pair<Rank, Rank>> joined;
  for (const Link& link : topology.links) relayed.push_back(!joined.emplace(link.src, link.dst).second);
  const auto is_relayed = [&](LinkId l) { return relayed[l]; };
  for (bool changed = true; changed;) {  // a limit has relays for all of its links, or for none
    changed = false;
    for (const SharedLimit& limit : topology.limits) {
      if (std::ranges::all_of(limit.links, is_relayed)) continue;
      if (!differ_in_latency(topology, limit) && std::ranges::none_of(limit.links, is_relayed)) continue;
      for (const LinkId l : limit.links) relayed[l] = true;
      changed = true;
    }
  }
  return relayed;
}

std::string to_simgrid_platform(const Topology& topology) {
  return Platform(topology).text();
}

}  // namespace chorale
