// The idea: only counts matter, how many ranks have each chunk. Every choice of raising them in a step is
// tried, depth first, and counts that failed with the steps and rounds left are kept, since from fewer it
// fails as well. The finder goes breadth first over the counts that no others cover, which is faster; this
// one has to be right only.
//
// Invariant: a state is the counts of a class's chunks in any order, and what is impossible for it with some
// steps and rounds left is impossible for all states that have no more of any chunk, once both are sorted.
// Giving up is not an answer: the claim then counts as not shown.
#include "bounds/check_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "ir/words.h"

namespace chorale {
namespace {

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

}  // namespace

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

}  // namespace chorale
