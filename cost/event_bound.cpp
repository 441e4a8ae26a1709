// Paths by least latency from each rank that has a block. Of all that enters a rank, or leaves it, the
// farthest counts: a line each.
#include "cost/event_bound.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "graph/paths.h"

namespace chorale {
namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();
// Of pairs of a rank and a link: beyond, the rate alone bounds.
constexpr std::size_t kMostPathWork = 100'000'000;

// By rank: microseconds per byte over all links that enter it, or leave it, at once. A limit over all of them
// may leave less than they have.
std::vector<double> us_per_byte_at(const Topology& t, Node Link::*end) {
  std::vector<double> bytes_per_us(t.ranks);
  std::vector<int> links(t.ranks);
  for (const Link& link : t.links) {
    bytes_per_us[link.*end] += link.bandwidth / link.beta_us_per_byte;
    ++links[link.*end];
  }
  for (const SharedLimit& limit : t.limits) {
    if (limit.links.empty() || limit.abilities.any()) continue;
    const Rank n = t.links[limit.links.front()].*end;
    double beta = kUnreached;
    int same = 0;
    for (const LinkId l : limit.links) {
      same += t.links[l].*end == n ? 1 : 0;
      beta = std::min(beta, t.links[l].beta_us_per_byte);
    }
    if (same == links[n]) bytes_per_us[n] = std::min(bytes_per_us[n], limit.bandwidth / beta);
  }
  for (double& each : bytes_per_us) each = 1 / each;
  return bytes_per_us;
}

}  // namespace

EventBound::EventBound(const Topology& t, const Collective& collective, double rounds_per_chunk)
    : call_us_(t.call_us) {
  double alpha = kUnreached, beta = kUnreached;
  for (const Link& link : t.links) {
    alpha = std::min(alpha, link.alpha_us);
    beta = std::min(beta, link.beta_us_per_byte);
  }
  if (rounds_per_chunk > 0) lines_.push_back({alpha, rounds_per_chunk * beta});
  if (static_cast<std::size_t>(t.ranks) * t.links.size() > kMostPathWork) return;
  std::vector<std::vector<LinkId>> out(t.ranks);
  for (LinkId l = 0; l < std::ssize(t.links); ++l) out[t.links[l].src].push_back(l);
  std::vector<std::vector<double>> known(t.ranks);
  const auto latency = [&](Rank from, Rank to) {
    if (known[from].empty())
      known[from] = cheapest_paths(t.ranks, std::vector<Rank>{from}, 0.0, kUnreached,
                                   [&](Node n, double us, const auto& reach) {
                                     for (const LinkId l : out[n])
                                       reach(t.links[l].dst, l, us + t.links[l].alpha_us);
                                   })
                        .cost;
    return known[from][to];
  };
  const std::vector<double> entering = us_per_byte_at(t, &Link::dst), leaving = us_per_byte_at(t, &Link::src);
  std::vector<double> into(t.ranks, -1), out_of(t.ranks, -1);
  const ChunkSpec* last = nullptr;
  for (const ChunkSpec& chunk : collective.chunks) {
    if (last != nullptr && last->pre == chunk.pre && last->post == chunk.post) continue;
    last = &chunk;
    for (const Rank to : chunk.post) {
      if (!collective.combining && chunk.pre.contains(to)) continue;
      double nearest = kUnreached;
      for (const Rank from : chunk.pre) {
        if (from == to) continue;
        nearest = std::min(nearest, latency(from, to));
        // Of a sum each contribution has to leave its rank and to come. A copy has a choice of its holders.
        if (!collective.combining && chunk.pre.size() > 1) continue;
        into[to] = std::max(into[to], latency(from, to));
        out_of[from] = std::max(out_of[from], latency(from, to));
      }
      if (nearest < kUnreached) into[to] = std::max(into[to], nearest);
    }
  }
  for (Rank n = 0; n < t.ranks; ++n) {
    if (into[n] >= 0 && into[n] < kUnreached) lines_.push_back({into[n], entering[n]});
    if (out_of[n] >= 0 && out_of[n] < kUnreached) lines_.push_back({out_of[n], leaving[n]});
  }
}

double EventBound::us(double block_bytes) const {
  double most = 0;
  for (const Line& line : lines_) most = std::max(most, line.us + line.us_per_byte * block_bytes);
  return call_us_ + most;
}

}  // namespace chorale
