// Written from the definition of Certificate alone, by searches of its own: the finders' are not used. What
// prices show is in bounds/check_prices.cpp.
#include "bounds/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "bounds/check_prices.h"
#include "ir/words.h"

namespace chorale {
namespace {

// Certificates of kind Entries (late-arrival bounds), from the definition in ir/frontier.h: the value of
// entries under the prices, how far a chunk can have spread in the group in a number of rounds after it
// entered, and a sum over one round less than the claim has. Numbers are multiplied in 128 bits.
//
// One breadth-first search for each rank of the group; where that is too much work, the number of near ranks
// is not computed, which can only let a chunk spread faster.

using Wide = ShownByPrices::Wide;

constexpr std::int64_t kMostSearched = 20'000'000;  // links, for all ranks of a group
constexpr std::int64_t kHeaviestEntry = std::int64_t{1} << 40;

// The ranks of the group to which each rank of it can send directly.
using Neighbours = std::map<Rank, std::set<Rank>>;

Neighbours neighbours_in(const Topology& topology, const std::vector<int>& group) {
  Neighbours next;
  for (Rank n = 0; n < topology.ranks; ++n)
    if (group[n] == 1) next[n];
  for (const Link& link : topology.links)
    if (group[link.src] == 1 && group[link.dst] == 1 && link.src != link.dst) next[link.src].insert(link.dst);
  return next;
}

// The most ranks that any rank of it can send to in one round.
std::int64_t greatest_fan(const Topology& topology, const std::vector<int>& group, const Neighbours& next) {
  std::int64_t greatest = 0;
  for (const auto& [n, others] : next) {
    const auto leaves = [&, rank = n](const Link& link) { return link.src == rank && group[link.dst] == 1; };
    std::int64_t all = 0;
    for (const Link& link : topology.links)
      if (leaves(link)) all += link.bandwidth;
    std::int64_t fan = std::min<std::int64_t>(all, static_cast<std::int64_t>(others.size()));
    for (const SharedLimit& limit : topology.limits) {
      std::int64_t under = 0;
      for (LinkId l : limit.links)
        if (leaves(topology.links[l])) under += topology.links[l].bandwidth;
      if (under > 0) fan = std::min<std::int64_t>(fan, all - under + limit.bandwidth);
    }
    greatest = std::max(greatest, fan);
  }
  return greatest;
}

// near[h]: ranks at most h hops from one, of the one with the most.
std::vector<std::int64_t> most_near(const Neighbours& next) {
  std::int64_t links = 0;
  for (const auto& [n, others] : next) links += static_cast<std::int64_t>(others.size());
  const auto size = static_cast<std::int64_t>(next.size());
  if (links * size > kMostSearched) return {1, size};
  std::vector<std::int64_t> near(next.size(), 1);
  for (const auto& [start, unused] : next) {
    std::map<Rank, std::size_t> hops = {{start, 0}};
    std::vector<std::int64_t> at(next.size(), 0);
    for (std::deque<Rank> queue = {start}; !queue.empty(); queue.pop_front()) {
      ++at[hops[queue.front()]];
      for (Rank n : next.at(queue.front()))
        if (hops.try_emplace(n, hops[queue.front()] + 1).second) queue.push_back(n);
    }
    std::int64_t sum = 0;
    for (std::size_t h = 0; h < at.size(); ++h) near[h] = std::max(near[h], sum += at[h]);
  }
  return near;
}

std::string late_arrivals_fault(const Topology& asked_topology, const Collective& asked, const Claim& claim) {
  if (asked_topology.underlay) return "entries prove nothing about routes that were not chosen";
  if (abilities_of(asked_topology).any())
    return "entries prove nothing about switches that multicast or reduce";
  if (claim.rounds == kNoSchedule) return "entries never show that there is no schedule";
  const bool turn = asked.combining;
  if (turn && std::ranges::any_of(asked.chunks, [](const ChunkSpec& c) { return c.post.size() != 1; }))
    return "entries prove nothing about sums with several destinations";
  const Topology topology = turn ? reversed(asked_topology) : asked_topology;
  const Collective collective = turn ? dual(asked) : asked;
  const std::vector<int>& group = claim.certificate.group;
  if (static_cast<int>(group.size()) != topology.ranks)
    return fmt::format("the group is of {} ranks, there are {}", group.size(), topology.ranks);
  if (std::ranges::any_of(group, [](int g) { return g != 0 && g != 1; }))
    return "ranks are in the group, 1, or not, 0";
  if (claim.certificate.prices.size() != 1) return "entries need one entry of prices";
  const Prices& prices = claim.certificate.prices.front();
  if (prices.links.size() != topology.links.size() || prices.limits.size() != topology.limits.size())
    return "there are prices of other links and limits than those of the topology";
  const auto negative = [](int price) { return price < 0; };
  if (std::ranges::any_of(prices.links, negative) || std::ranges::any_of(prices.limits, negative))
    return "a price is negative";

  Wide paid = 0;  // at most, in a round
  std::vector<std::int64_t> weight(prices.links.begin(), prices.links.end());
  for (std::size_t l = 0; l < weight.size(); ++l) paid += Wide{prices.links[l]} * topology.links[l].bandwidth;
  for (std::size_t z = 0; z < topology.limits.size(); ++z) {
    paid += Wide{prices.limits[z]} * topology.limits[z].bandwidth;
    for (LinkId l : topology.limits[z].links) weight[l] += prices.limits[z];
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();  // of an entry
  for (std::size_t l = 0; l < weight.size(); ++l)
    if (group[topology.links[l].src] == 0 && group[topology.links[l].dst] == 1)
      least = std::min(least, weight[l]);
  if (least > kHeaviestEntry) return "no link enters the group, or at too high a price";
  if (least == 0) return "a link that enters the group costs nothing";

  std::int64_t chunks = 0, wanting = topology.ranks;
  for (const ChunkSpec& spec : collective.chunks) {
    const auto inside = [&](Rank n) { return group[n] == 1; };
    const std::int64_t want = std::ranges::count_if(spec.post, inside);
    if (want == 0 || std::ranges::any_of(spec.pre, inside)) continue;
    ++chunks;
    wanting = std::min(wanting, want);
  }
  if (chunks == 0) return "no chunk has to enter the group";

  const Neighbours next = neighbours_in(topology, group);
  const std::vector<std::int64_t> near = most_near(next);
  const std::int64_t fan = greatest_fan(topology, group, next);
  // The value of entries in one round less than claimed, each `wanting` at most; from the last round back.
  const std::int64_t rounds = claim.rounds - 1;
  Wide worth = 0;
  std::int64_t spread = 1;
  for (std::int64_t after = 0; after < rounds; ++after) {
    const std::int64_t each = std::min(spread, wanting);
    worth += each;
    const std::int64_t further =
        std::min(near[std::min<std::size_t>(static_cast<std::size_t>(after) + 1, near.size() - 1)],
                 spread * (1 + fan));
    if (each == wanting || (further == spread && after + 1 >= static_cast<std::int64_t>(near.size()))) {
      worth += Wide{rounds - after - 1} * each;
      break;
    }
    spread = further;
  }
  if (paid * worth < Wide{least} * chunks * wanting) return "";
  return counted(claim.rounds - 1, "round is", "rounds are") + " not excluded by entries";
}

// Checks certificates of kind Growth: tries every spreading of the chunks, counting ranks only. Shares no
// code with growth.cpp.
//
// The idea: only counts matter, how many ranks have each chunk. Every choice of raising them in a step is
// tried, depth first, and counts that failed with the steps and rounds left are kept, since from fewer it
// fails as well. The finder goes breadth first over the counts that no others cover, which is faster; this
// one has to be right only.
//
// Invariant: a state is the counts of a class's chunks in any order, and what is impossible for it with some
// steps and rounds left is impossible for all states that have no more of any chunk, once both are sorted.
// Giving up is not an answer: the claim then counts as not shown.

// The finder gives up after 10,000,000 parts of moves and comparisons, of which the check may need more.
constexpr long long kMostVisits = 100'000'000;  // and comparisons; a second or two
constexpr long long kMostFailed = 4'000'000;    // counts that are remembered: some 300 MB

enum class End { Source, Destination };

// By rank: chunks per round that can leave it, or come to it: its links, or one limit that covers some of
// them and the links besides. Of a limit over some of the rank's links only what it takes away counts: all -
// covered + limit. Several limits are treated one by one, which can only leave a rate too high, and a bound
// too low.
std::vector<long long> passing(const Topology& topology, End end) {
  const auto rank = [end](const Link& link) { return end == End::Source ? link.src : link.dst; };
  std::vector<long long> all(topology.ranks, 0);
  for (const Link& link : topology.links) all[rank(link)] += link.bandwidth;
  std::vector<long long> least = all;
  for (const SharedLimit& limit : topology.limits) {
    // A value that a switch multicasts leaves its rank once, and reaches many ranks: the limit does not bound
    // how many.
    if (end == End::Source && limit.abilities.multicast) continue;
    std::map<Rank, long long> covered;
    for (LinkId l : limit.links) covered[rank(topology.links[l])] += topology.links[l].bandwidth;
    for (const auto& [n, bandwidth] : covered)
      least[n] = std::min(least[n], all[n] - bandwidth + limit.bandwidth);
  }
  return least;
}

// The class as numbers that do not distinguish ranks: whatever ranks can do, counts can.
struct CheckedSpread {
  int chunks = 0;            // of the class
  long long ranks = 0;       // that do not have them before
  long long goal = 0;        // of those, how many must in the end
  long long from_start = 0;  // rates, chunks per round
  long long per_rank = 0;
  long long received = 0;
};

// Depth first over steps, rounds and chunks: can every chunk reach `goal` ranks, if only numbers are counted?
// What failed once is remembered, and with it everything that has less.
class Counting {
 public:
  explicit Counting(const CheckedSpread& spread) : spread_(spread) {}

  bool gave_up() const { return visits_ > kMostVisits || remembered_ > kMostFailed; }

  // True also if it gave up.
  bool possible(std::vector<int> have, int steps, long long rounds) {
    std::sort(have.begin(), have.end());
    if (have.empty() || have.front() >= spread_.goal) return true;
    if (steps == 0 || rounds == 0) return false;
    if (const auto known = failed_.find({steps, rounds}); known != failed_.end()) {
      visits_ += static_cast<long long>(known->second.size());
      for (const auto& failed : known->second)
        if (std::equal(have.begin(), have.end(), failed.begin(), std::less_equal<>())) return false;
    }
    for (long long now = 1; now <= rounds; ++now) {
      long long holders = 0;
      for (int h : have) holders += h;
      holders = std::min(holders, spread_.ranks);
      // All sends of the step read what was held before it: a rank that gets a chunk now sends it in the next
      // step. A rank that holds several chunks is counted once for each and is one sender, hence the cap at
      // all ranks.
      const long long sent = std::min(now * (spread_.from_start + spread_.per_rank * holders),
                                      now * spread_.received * spread_.ranks);
      std::vector<int> next = have;
      if (give(have, next, 0, now, now * spread_.from_start, sent, steps - 1, rounds - now)) return true;
    }
    failed_[{steps, rounds}].push_back(have);
    ++remembered_;
    return false;
  }

 private:
  // `next` has been decided for the chunks before `c`. To give less than could be given helps only where
  // another chunk then gets more, so what is left in the end must be of no use.
  bool give(const std::vector<int>& have, std::vector<int>& next, std::size_t c, long long now,
            long long start, long long sends, int steps_after, long long rounds_after) {
    ++visits_;
    if (gave_up()) return true;
    if (c == have.size()) {
      for (std::size_t k = 0; k < have.size() && sends > 0; ++k) {
        // One more copy of chunk k could be sent, and received: then the choice with it is tried as well, and
        // covers this one.
        const bool sender = start > 0 || next[k] - have[k] < now * spread_.per_rank * have[k];
        if (sender && next[k] < spread_.ranks) return false;
      }
      return possible(next, steps_after, rounds_after);
    }
    // What holders of this very chunk can send costs the first holders nothing; only the rest is taken from
    // `start`.
    const long long relayed = now * spread_.per_rank * have[c];
    const long long most = std::min({spread_.ranks - have[c], relayed + start, sends});
    for (long long given = most; given >= 0; --given) {
      // Of two chunks with equal counts it does not matter which gets more.
      if (c > 0 && have[c] == have[c - 1] && given > next[c - 1] - have[c - 1]) continue;
      next[c] = have[c] + static_cast<int>(given);
      if (give(have, next, c + 1, now, start - std::max(0LL, given - relayed), sends - given, steps_after,
               rounds_after))
        return true;
    }
    next[c] = have[c];
    return false;
  }

  const CheckedSpread& spread_;
  std::map<std::pair<int, long long>, std::vector<std::vector<int>>> failed_ =
      {};  // by steps and rounds left
  long long visits_ = 0;
  long long remembered_ = 0;
};

std::string growth_fault(const Topology& asked_topology, const Collective& asked, const Claim& claim) {
  const bool turn = asked.combining;
  if (turn && std::any_of(asked.chunks.begin(), asked.chunks.end(),
                          [](const ChunkSpec& c) { return c.post.size() != 1; }))
    return "growth proves nothing about sums with several destinations";
  const Topology topology = turn ? reversed(asked_topology) : asked_topology;
  const Collective collective = turn ? dual(asked) : asked;
  const Chunk chunk = claim.certificate.chunk;
  if (chunk < 0 || chunk >= static_cast<int>(collective.chunks.size()))
    return fmt::format("there is no chunk {}", chunk);
  if (claim.steps < 1 || claim.steps > 1000 || claim.rounds < 1 || claim.rounds > 1'000'000)
    return "growth is about a number of steps and rounds";
  const ChunkSpec& named = collective.chunks[chunk];
  const std::set<Rank> first(named.pre.begin(), named.pre.end());  // holders
  CheckedSpread spread;
  // Fewer chunks need no more rounds: six are enough.
  for (const ChunkSpec& spec : collective.chunks)
    if (spec.pre == named.pre && spec.post == named.post && spread.chunks < 6) ++spread.chunks;
  for (Rank n : named.post) spread.goal += first.count(n) == 0 ? 1 : 0;
  if (spread.goal == 0) return fmt::format("chunk {} need not move", chunk);
  const std::vector<long long> leaving = passing(topology, End::Source),
                               coming = passing(topology, End::Destination);
  for (Rank n = 0; n < topology.ranks; ++n) {
    if (first.count(n) > 0) {
      spread.from_start += leaving[n];
      continue;
    }
    ++spread.ranks;
    spread.per_rank = std::max(spread.per_rank, leaving[n]);
    spread.received = std::max(spread.received, coming[n]);
  }
  // No more than all chunks for all ranks is of use, and products of larger numbers would not fit.
  for (long long* rate : {&spread.from_start, &spread.per_rank, &spread.received})
    *rate = std::min(*rate, spread.chunks * spread.ranks);
  Counting counting(spread);
  if (!counting.possible(std::vector<int>(spread.chunks, 0), claim.steps, claim.rounds - 1)) return "";
  if (counting.gave_up()) return "has too many possible spreads of the chunks to be checked";
  return counted(claim.rounds - 1, "round is", "rounds are") + " not excluded by growth";
}

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
