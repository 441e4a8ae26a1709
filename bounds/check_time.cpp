// Bounds in time, from the definition of TimeClaim (ir/frontier.h): one sum over the links of what they carry
// while it enters, against the bytes of what has to; or the prices of a claim, of which all that is paid has
// left its link a latency before the end. Numbers are doubles, so a bound is shown up to 1e-9 of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bounds/check.h"

namespace chorale {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Window {
  double from = 0, to = 0;
};

double length_of_union(std::vector<Window> windows) {
  std::ranges::sort(windows, {}, &Window::from);
  double length = 0, end = -kNever;
  for (const Window& each : windows) {
    length += std::max(0.0, each.to - std::max(each.from, end));
    end = std::max(end, each.to);
  }
  return length;
}

std::string cut_fault(const Topology& t, const Collective& one, const TimeClaim& claim) {
  if (static_cast<int>(claim.until.size()) != t.ranks) return "a cut in time needs a time of each rank";
  // What is inside for no longer than this may be a time that was rounded.
  const double slack = kRounding * (1 + claim.us);
  std::vector<Window> window(t.links.size());
  for (LinkId l = 0; l < std::ssize(t.links); ++l) {
    const Link& link = t.links[l];
    window[l] = {std::max(0.0, claim.until[link.src]),
                 std::min(claim.us, claim.until[link.dst]) - link.alpha_us};
  }
  const auto enters = [&](LinkId l) { return window[l].to > window[l].from + slack; };
  std::vector<bool> is_charged(t.links.size());
  double carried = 0;  // bytes
  for (const int i : claim.limits) {
    if (i < 0 || i >= std::ssize(t.limits)) return fmt::format("there is no shared limit {}", i);
    std::vector<Window> of_links;
    double beta = kNever;
    for (const LinkId l : t.limits[i].links) {
      if (!enters(l) || is_charged[l]) continue;
      is_charged[l] = true;
      of_links.push_back(window[l]);
      beta = std::min(beta, t.links[l].beta_us_per_byte);
    }
    if (!of_links.empty()) carried += length_of_union(std::move(of_links)) * t.limits[i].bandwidth / beta;
  }
  for (LinkId l = 0; l < std::ssize(t.links); ++l)
    if (enters(l) && !is_charged[l])
      carried += (window[l].to - window[l].from) * t.links[l].bandwidth / t.links[l].beta_us_per_byte;
  long long chunks = 0;
  const auto outside = [&](Rank n) { return claim.until[n] <= 0; };
  for (const ChunkSpec& spec : one.chunks)
    if ((one.combining ? std::ranges::any_of(spec.pre, outside) : std::ranges::all_of(spec.pre, outside)) &&
        std::ranges::any_of(spec.post, [&](Rank n) { return claim.until[n] >= claim.us; }))
      ++chunks;
  if (chunks == 0) return "nothing has to enter the cut";
  const double owed = static_cast<double>(chunks) * claim.block_bytes;
  if (carried <= owed * (1 + kRounding)) return "";
  return fmt::format("{} bytes have to enter the cut within {} us, and {} can", owed, claim.us, carried);
}

// What is carried has left its link or limit a latency before the end: each is paid its price for so long at
// most, and all together are paid what the claim shows to be owed.
std::string rate_fault(const Topology& t, const Collective& one, const std::vector<Claim>& claims,
                       const TimeClaim& stated) {
  if (stated.claim >= std::ssize(claims)) return fmt::format("there is no claim {}", stated.claim);
  if (!stated.until.empty() || !stated.limits.empty()) return "either a claim or a cut shows a bound";
  const Claim& claim = claims[stated.claim];
  if (!claim.any_chunks || claim.steps != kAnySteps || claim.certificate.prices.size() != 1)
    return fmt::format("claim {} has no prices for any number of steps and chunks", stated.claim);
  if (const auto wrong = fault(t, one, claim)) return wrong->words;
  double beta = kNever, latency = kNever;
  for (const Link& link : t.links) {
    beta = std::min(beta, link.beta_us_per_byte);
    latency = std::min(latency, link.alpha_us);
  }
  const Prices& prices = claim.certificate.prices.front();
  double all = 0, paid = 0;  // of a round, and until then
  const auto add = [&](double price, double alpha) {
    all += price;
    paid += price * std::max(0.0, stated.us - alpha);
  };
  if (t.underlay) {  // whose links have no latencies of their own
    add(1, latency);
  } else {
    for (LinkId l = 0; l < std::ssize(t.links); ++l)
      add(double{1} * prices.links[l] * t.links[l].bandwidth, t.links[l].alpha_us);
    for (std::size_t i = 0; i < t.limits.size(); ++i) {
      double least = t.limits[i].links.empty() ? 0 : kNever;
      for (const LinkId l : t.limits[i].links) least = std::min(least, t.links[l].alpha_us);
      add(double{1} * prices.limits[i] * t.limits[i].bandwidth, least);
    }
  }
  const double owed = all * beta * stated.block_bytes * static_cast<double>(claim.rounds) / claim.chunks;
  if (paid <= owed + kRounding * (1 + stated.us) * all) return "";
  return fmt::format("claim {} shows less than {} us", stated.claim, stated.us);
}

}  // namespace

std::optional<Fault> fault(const Topology& t, const Collective& one, const std::vector<Claim>& claims,
                           const TimeClaim& claim) {
  std::string words;
  if (!(claim.us >= 0) || !(claim.block_bytes >= 0) || std::isinf(claim.us) || std::isinf(claim.block_bytes))
    words = "a bound in time is of bytes and microseconds";
  else if (t.switches != 0 || one.chunks_per_block != 1 || one.ranks != t.ranks)
    words = "a bound in time is about blocks of one chunk, and a machine without switches";
  else
    words = claim.claim >= 0 ? rate_fault(t, one, claims, claim) : cut_fault(t, one, claim);
  if (words.empty()) return std::nullopt;
  return Fault{.kind = Fault::Kind::Claim, .words = std::move(words)};
}

}  // namespace chorale
