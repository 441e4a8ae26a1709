// Written from the definition of Certificate alone, by searches of its own: the finders' are not used. What
// prices show is in bounds/check_prices.cpp, what growth and late arrivals show in files of theirs.
#include "bounds/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bounds/check_growth.h"
#include "bounds/check_late_arrivals.h"
#include "bounds/check_prices.h"
#include "ir/words.h"

namespace chorale {
namespace {

using Wide = ShownByPrices::Wide;

// The requirements of everything after: later checks index by the ranks and links of machine and collective.
std::string malformed(const Topology& topology) {
  const auto is_node = [&](int n) { return n >= 0 && n < topology.ranks + topology.switches; };
  for (const Link& link : topology.links)
    if (!is_node(link.src) || !is_node(link.dst) || link.bandwidth < 0)
      return "the topology has a link to nowhere";
  for (const SharedLimit& limit : topology.limits) {
    std::vector<LinkId> links = limit.links;
    std::sort(links.begin(), links.end());
    if (limit.bandwidth < 0 || std::adjacent_find(links.begin(), links.end()) != links.end() ||
        (!links.empty() && (links.front() < 0 || links.back() >= static_cast<int>(topology.links.size()))))
      return "the shared limit '" + limit.name + "' is malformed";
  }
  return "";
}

// A switch would hold nothing and forward at once, which is known only of those below chosen paths.
std::string misfit(const Topology& topology, const Collective& collective) {
  if (topology.switches != 0) return "the topology has switches";
  if (topology.ranks != collective.ranks)
    return fmt::format("the topology has {} ranks, the collective {}", topology.ranks, collective.ranks);
  if (std::string wrong = malformed(topology); !wrong.empty()) return wrong;
  if (topology.underlay && abilities_of(topology).any())
    return "limits over chosen routes multicast or reduce, which is known of all routes only";
  if (topology.underlay)
    if (std::string wrong = malformed(with_switches(topology)); !wrong.empty()) return wrong;
  const auto is_rank = [&](int n) { return n >= 0 && n < topology.ranks; };
  for (const ChunkSpec& spec : collective.chunks)
    if (!std::all_of(spec.pre.begin(), spec.pre.end(), is_rank) ||
        !std::all_of(spec.post.begin(), spec.post.end(), is_rank))
      return "the collective names a rank that does not exist";
  return "";
}

// Steps that a value needs from the nearest rank of `from` to each node, -1 where it never arrives; a switch
// passes on in the step that it is reached in. Our own search: the finders use ir/'s.
std::vector<int> steps_to_all(const Topology& given, const RankSet& from) {
  const Topology topology = with_switches(given);
  std::vector<std::vector<Node>> next(topology.ranks + topology.switches);
  for (const Link& link : topology.links) next[link.src].push_back(link.dst);
  std::vector<int> steps(next.size(), -1);
  std::vector<Node> now(from.begin(), from.end());
  for (int taken = 0; !now.empty(); ++taken) {
    std::vector<Node> after;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const Node n = now[i];
      if (steps[n] >= 0) continue;
      steps[n] = taken;
      std::vector<Node>& reached = n < topology.ranks ? after : now;
      // What a rank sends to is reached a step later.
      reached.insert(reached.end(), next[n].begin(), next[n].end());
    }
    now = std::move(after);
  }
  return steps;
}

// A copy has to come from the nearest rank that has it, so the certificate names a destination that is too
// far from all of them. A sum needs every contribution, so the certificate names one contributor, from which
// one destination is too far.
std::string distance_fault(const Topology& topology, const Collective& collective, const Claim& claim) {
  const Chunk c = claim.certificate.chunk;
  const Rank n = claim.certificate.rank;
  if (c < 0 || c >= static_cast<int>(collective.chunks.size())) return fmt::format("there is no chunk {}", c);
  const ChunkSpec& spec = collective.chunks[c];
  const auto within = [](const RankSet& ranks, Rank rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  };
  if (!collective.combining && !within(spec.post, n))
    return fmt::format("rank {} is not a destination of chunk {}", n, c);
  if (collective.combining && !within(spec.pre, n))
    return fmt::format("rank {} does not contribute to chunk {}", n, c);
  const std::vector<int> steps = steps_to_all(topology, collective.combining ? RankSet{n} : spec.pre);
  const auto too_far = [&](Rank to) {
    return steps[to] < 0 || (claim.steps != kAnySteps && steps[to] > claim.steps);
  };
  if (!collective.combining) {
    if (too_far(n)) return "";
    return fmt::format("chunk {} can reach rank {} in {}", c, n, counted(steps[n], "step"));
  }
  for (Rank d : spec.post)
    if (too_far(d)) return "";
  return fmt::format(
      "the contribution of rank {} to chunk {} can reach all its destinations in the claimed steps", n, c);
}

// The certificate shows rounds * K >= D; the claim holds if that excludes one round less. Of any chunk count,
// D is that of one chunk per block, and every chunk more owes as much again.
std::string rounds_fault(const ShownByPrices& shown, const Claim& claim) {
  const int rounds = claim.rounds;
  if (!shown.fault.empty()) return shown.fault;
  // However high prices are, enough rounds pay them.
  if (rounds == kNoSchedule) return "prices never show that there is no schedule";
  if (claim.any_chunks) {
    if (Wide{rounds} * shown.paid_per_round <= shown.owed * claim.chunks) return "";
    return fmt::format("the certificate does not show {} per {} of any chunk count", counted(rounds, "round"),
                       counted(claim.chunks, "chunk"));
  }
  if (Wide{rounds - 1} * shown.paid_per_round < shown.owed) return "";
  return fmt::format(
      "the certificate shows {} at least, not {}",
      counted(static_cast<long long>((shown.owed + shown.paid_per_round - 1) / shown.paid_per_round),
              "round"),
      rounds);
}

// Empty: nothing.
std::string what_is_wrong(const Topology& topology, const Collective& collective, const Claim& claim) {
  if (claim.collective != collective.kind ||
      (claim.any_chunks ? 1 : claim.chunks) != collective.chunks_per_block)
    return fmt::format("the claim is about {} with {} chunks, not {} with {}", name_of(claim.collective),
                       claim.chunks, name_of(collective), collective.chunks_per_block);
  if (std::string wrong = misfit(topology, collective); !wrong.empty()) return wrong;
  if (claim.steps < 0) return "the claim is about a negative number of steps";
  if (claim.rounds <= 0) return claim.rounds < 0 ? "the claim is about a negative number of rounds" : "";
  switch (claim.certificate.kind) {
    case Certificate::Kind::None:
      return "there is no certificate";
    case Certificate::Kind::Distance:
      return distance_fault(topology, collective, claim);
    case Certificate::Kind::Weights:
    case Certificate::Kind::Partition:
    case Certificate::Kind::Trees:
    case Certificate::Kind::Cuts:
      return rounds_fault(shown_by_prices(topology, collective, claim.certificate, claim.steps), claim);
    case Certificate::Kind::Growth:
      if (claim.any_chunks) return "growth proves nothing about other chunk counts";
      if (topology.underlay) return "growth proves nothing about routes that were not chosen";
      return growth_fault(topology, collective, claim);
    case Certificate::Kind::Entries:
      if (claim.any_chunks) return "entries prove nothing about other chunk counts";
      return late_arrivals_fault(topology, collective, claim);
    case Certificate::Kind::Refutation:
      return "a refutation is checked by its proof, not here";
  }
  return "the certificate is of an unknown kind";
}

// The largest fraction that is no more than this one, of a denominator of at most `most` and a numerator that
// fits an int: the walk down the Stern-Brocot tree, by runs of equal turns.
Rate below(const Rate& rate, long long most) {
  constexpr long long kMostRounds = 1'000'000'000;
  if (rate.rounds / rate.chunks >= kMostRounds) return {.rounds = kMostRounds, .chunks = 1};
  // low <= rate < high, neighbours.
  Rate low{.rounds = rate.rounds / rate.chunks, .chunks = 1}, high{.rounds = low.rounds + 1, .chunks = 1};
  for (;;) {
    // low + n * high stays at or below the rate: n * (high.r * chunks - high.c * rounds) <= rounds * low.c -
    // low.r * chunks.
    const Wide above = Wide{high.rounds} * rate.chunks - Wide{high.chunks} * rate.rounds;
    const Wide under = Wide{rate.rounds} * low.chunks - Wide{low.rounds} * rate.chunks;
    if (under == 0) return low;
    Wide n = std::min(under / above, (most - Wide{low.chunks}) / high.chunks);
    if (high.rounds > 0) n = std::min(n, (kMostRounds - Wide{low.rounds}) / high.rounds);
    low.rounds += static_cast<long long>(n * high.rounds);
    low.chunks += static_cast<long long>(n * high.chunks);
    const Wide still = under - n * above;
    if (still == 0) return low;
    // high + n * low stays above the rate.
    Wide m = (above - 1) / still;
    m = std::min(m, (most - Wide{high.chunks}) / low.chunks);
    if (low.rounds > 0) m = std::min(m, (kMostRounds - Wide{high.rounds}) / low.rounds);
    high.rounds += static_cast<long long>(m * low.rounds);
    high.chunks += static_cast<long long>(m * low.chunks);
    if (n == 0 && m == 0) return low;
  }
}

}  // namespace

std::optional<Fault> fault(const Topology& topology, const Collective& collective, const Claim& claim) {
  std::string words = what_is_wrong(topology, collective, claim);
  if (words.empty()) return std::nullopt;
  return Fault{.kind = Fault::Kind::Claim, .words = std::move(words)};
}

Rate rate_shown(const Topology& topology, const Collective& collective, const Certificate& certificate,
                int steps) {
  // Prices of entries are those of a cut, which holds for any number of chunks.
  const bool priced =
      certificate.kind == Certificate::Kind::Weights || certificate.kind == Certificate::Kind::Partition ||
      certificate.kind == Certificate::Kind::Trees || certificate.kind == Certificate::Kind::Cuts ||
      certificate.kind == Certificate::Kind::Entries;
  if (!priced || !misfit(topology, collective).empty()) return {};
  const ShownByPrices shown = shown_by_prices(topology, collective, certificate, steps);
  if (!shown.fault.empty() || shown.owed == 0) return {};
  Wide rounds = shown.owed;
  Wide chunks = shown.paid_per_round * collective.chunks_per_block;
  Wide a = rounds, b = chunks;
  while (b != 0) a = std::exchange(b, a % b);
  rounds /= a;
  chunks /= a;
  // Rounded towards less where the exact fraction does not fit.
  for (constexpr Wide most = std::numeric_limits<long long>::max(); rounds > most || chunks > most;) {
    rounds /= 2;
    chunks = (chunks + 1) / 2;
  }
  return {.rounds = static_cast<long long>(rounds), .chunks = static_cast<long long>(chunks)};
}

Claim of_any_chunks(const Topology& topology, const Collective& collective, const Claim& claim) {
  using Kind = Certificate::Kind;
  Claim any = claim;
  any.any_chunks = true;
  if (claim.any_chunks) return any;
  any.chunks = 1;
  Certificate& why = any.certificate;
  if (claim.rounds == kNoSchedule && (why.kind == Kind::Distance || why.kind == Kind::Refutation)) {
    why.chunk /= claim.chunks;  // the chunks of a block follow one another
    // The formula of a refutation is named by its chunk count.
    if (why.kind == Kind::Refutation && claim.chunks != 1) any.rounds = 0;
    return any;
  }
  const Rate rate = below(rate_shown(topology, collective, why, claim.steps), kMostPerRate);
  // Prices of a cut, without the late arrivals.
  if (why.kind == Kind::Entries) why = {.kind = Kind::Weights, .prices = std::move(why.prices)};
  any.rounds = static_cast<int>(rate.rounds);
  any.chunks = static_cast<int>(rate.chunks);
  return any;
}

}  // namespace chorale
