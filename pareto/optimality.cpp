// The idea: for each family and chunk count the claims are one falling staircase, the fewest rounds by the
// steps, and so is what was found. A point is proven where its rate lies on the lowest of these staircases
// and one step less is a higher tread; the result is complete where what was found lies nowhere above it.
// Stairs and not a loop over the steps, since a claim may speak of any number of them.
#include "pareto/optimality.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "ir/words.h"

namespace chorale {
namespace {

constexpr Rate kNone = {.rounds = kNoSchedule, .chunks = 1};

Rate reduced(long long rounds, long long chunks) {
  if (rounds == kNoSchedule) return kNone;
  const long long divisor = std::gcd(rounds, chunks);
  return {.rounds = rounds / divisor, .chunks = chunks / divisor};
}

// From `steps` steps on, until the next tread: at least `rate` rounds per chunk; for a fixed chunk count, at
// least `rounds` rounds.
struct Tread {
  int steps = 0;
  int rounds = 0;
  Rate rate = {};
};
using Staircase = std::vector<Tread>;  // the first from 0 steps on; rounds fall

// The last tread that is not beyond; before the first, nothing is possible.
int at(const Staircase& stairs, int steps) {
  int rounds = kNoSchedule;
  for (const Tread& tread : stairs)
    if (tread.steps <= steps) rounds = tread.rounds;
  return rounds;
}

// Where the space does not allow that many rounds, there is no schedule until more steps allow them: with k =
// 0, 5 rounds take 5 steps. Moved to the right like that, a tread may pass one of fewer rounds, which then
// stands for both.
Staircase limited(const Staircase& stairs, const Space& space) {
  Staircase kept = {{.steps = 0, .rounds = kNoSchedule, .rate = kNone}};
  for (const Tread& tread : stairs) {
    int steps = tread.steps;
    if (tread.rounds == kNoSchedule || tread.rounds > space.max_rounds) continue;
    if (space.extra_rounds != kAnyRounds) steps = std::max(steps, tread.rounds - space.extra_rounds);
    if (steps > space.max_steps) continue;
    // Needs no more steps than those of more rounds.
    while (!kept.empty() && steps <= kept.back().steps) kept.pop_back();
    kept.push_back({.steps = steps, .rounds = tread.rounds, .rate = tread.rate});
  }
  return kept;
}

// With more steps than a claim covers: either no more of them are used, and it holds, or at least one more
// is, and every step has a round. So "at most 3 steps take at least 7 rounds" leaves 4 rounds to 4 steps and
// more. Bounds change only one step after those that claims name, so only these steps need to be examined.
Staircase claimed(const Result& result, CollectiveKind collective, int chunks) {
  std::vector<const Claim*> claims;
  for (const Claim& claim : result.claims)
    if (speaks_of(claim, collective, chunks)) claims.push_back(&claim);
  std::set<int> starts = {0};
  for (const Claim* claim : claims)
    if (claim->steps != kAnySteps) starts.insert(claim->steps + 1);
  Staircase stairs;
  for (int steps : starts) {
    int rounds = 0;
    for (const Claim* claim : claims) {
      const int least = rounds_claimed(*claim, chunks);
      rounds = std::max(rounds, claim->steps >= steps ? least : std::min(least, claim->steps + 1));
    }
    if (stairs.empty() || rounds < stairs.back().rounds)
      stairs.push_back({.steps = steps, .rounds = rounds, .rate = reduced(rounds, chunks)});
  }
  return limited(stairs, result.space);
}

// The same of any chunk count, by what is claimed of all of them. With more steps than a claim covers nothing
// follows: that each step has a round implies little for many chunks. The space limits rounds, of which there
// are the fewest with the fewest chunks.
Staircase claimed_of_any(const Result& result, const std::vector<const Claim*>& claims) {
  std::set<int> starts = {0};
  for (const Claim* claim : claims)
    if (claim->steps != kAnySteps) starts.insert(claim->steps + 1);
  Staircase stairs;
  for (int steps : starts) {
    Rate rate;
    int rounds = 0;
    for (const Claim* claim : claims) {
      if (claim->steps < steps) continue;
      if (const Rate least = reduced(claim->rounds, claim->chunks); less(rate, least)) rate = least;
      rounds = std::max(rounds, rounds_claimed(*claim, result.space.min_chunks));
    }
    if (stairs.empty() || less(rate, stairs.back().rate))
      stairs.push_back({.steps = steps, .rounds = rounds, .rate = rate});
  }
  return limited(stairs, result.space);
}

// One after the other: steps and rounds add up. Treads are enough, since between two of them only steps are
// wasted. The space is that of the whole, so it is asked again after the sum.
Staircase composed(const Result& result, CollectiveKind of, int chunks) {
  const Staircase first = claimed(result, of, chunks);
  const Staircase second = claimed(result, CollectiveKind::Allgather, chunks);
  std::vector<Tread> all;
  for (const Tread& a : first)
    for (const Tread& b : second)
      if (a.rounds != kNoSchedule && b.rounds != kNoSchedule)
        all.push_back(
            {.steps = a.steps + b.steps,
             .rounds = a.rounds + b.rounds,
             .rate = reduced(a.rounds + b.rounds, static_cast<long long>(chunks) * result.topology.ranks)});
  std::sort(all.begin(), all.end(), [](const Tread& a, const Tread& b) {
    return a.steps != b.steps ? a.steps < b.steps : a.rounds < b.rounds;
  });
  Staircase stairs;
  for (const Tread& tread : all)
    if (stairs.empty() || tread.rounds < stairs.back().rounds) stairs.push_back(tread);
  return limited(stairs, result.space);
}

// What the claims leave possible to one family with one number of chunks.
struct Left {
  Method family = Method::Direct;
  int count = 1;  // of the space; kAnyChunks: whatever
  Staircase stairs = {};
};

Rate rate_at(const Left& left, int steps) {
  Rate rate = kNone;
  for (const Tread& tread : left.stairs)
    if (tread.steps <= steps) rate = tread.rate;
  return rate;
}

bool allreduce_asked(const Result& result) {
  return result.kind == ResultKind::Frontier && result.collective.kind == CollectiveKind::AllReduce;
}

// Composed, Gathered or Direct; other collectives than AllReduce have one family only.
Method family(const Result& result, const Point& point) {
  const bool own = point.method == Method::Composed || point.method == Method::Gathered;
  return allreduce_asked(result) && own ? point.method : Method::Direct;
}

// Of one chunk count.
std::vector<Left> left_of(const Result& result, int count) {
  std::vector<Left> all = {
      {.family = Method::Direct, .count = count, .stairs = claimed(result, result.collective.kind, count)}};
  if (!allreduce_asked(result)) return all;
  for (const CollectiveKind first : first_phases(result.collective))
    all.push_back({.family = Method::Composed, .count = count, .stairs = composed(result, first, count)});
  all.push_back({.family = Method::Gathered,
                 .count = count,
                 .stairs = claimed(result, CollectiveKind::Allgather, count)});
  return all;
}

// What messages alone show of an AllReduce holds for those that gather, too, and for those that begin with an
// Alltoall. A refutation is of schedules with one value per rank.
std::vector<Left> left_of_any(const Result& result) {
  const bool copies = std::ranges::count(first_phases(result.collective), CollectiveKind::Alltoall) > 0;
  std::vector<const Claim*> direct, gathered;
  for (const Claim& claim : result.claims) {
    if (!claim.any_chunks) continue;
    const bool own = claim.collective == result.collective.kind;
    if (own) direct.push_back(&claim);
    if (own ? claim.certificate.kind != Certificate::Kind::Refutation
            : claim.collective == CollectiveKind::Allgather && !copies)
      gathered.push_back(&claim);
  }
  std::vector<Left> all = {
      {.family = Method::Direct, .count = kAnyChunks, .stairs = claimed_of_any(result, direct)}};
  if (allreduce_asked(result))
    all.push_back(
        {.family = Method::Gathered, .count = kAnyChunks, .stairs = claimed_of_any(result, gathered)});
  return all;
}

std::vector<Left> everything_left(const Result& result) {
  const Space& space = result.space;
  if (space.max_chunks == kAnyChunks) return left_of_any(result);
  std::vector<Left> all;
  for (int c = space.min_chunks; c <= space.max_chunks; ++c)
    std::ranges::move(left_of(result, c), std::back_inserter(all));
  return all;
}

Rate lowest(const std::vector<Left>& all, int steps) {
  Rate best = kNone;
  for (const Left& left : all)
    if (const Rate rate = rate_at(left, steps); less(rate, best)) best = rate;
  return best;
}

// Of the searched space; of none if its chunks do not fit its family.
int chunk_count(const Result& result, const Point& point) {
  const int parts = family(result, point) == Method::Composed ? result.topology.ranks : 1;
  return point.cost.chunks % parts == 0 ? point.cost.chunks / parts : 0;
}

// Of the family and the chunks of a point that others dominate; it is marked against these alone.
std::vector<Left> own_left(const Result& result, const Point& point) {
  std::vector<Left> own = left_of(result, chunk_count(result, point));
  std::erase_if(own, [&](const Left& left) { return left.family != family(result, point); });
  return own;
}

void mark_point(const Result& result, const std::vector<Left>& all, Point& point) {
  const std::vector<Left> own = point.on_frontier ? std::vector<Left>() : own_left(result, point);
  const std::vector<Left>& against = point.on_frontier ? all : own;
  const Rate rate = reduced(point.cost.rounds, point.cost.chunks);
  point.bound = lowest(against, point.cost.steps);
  point.proven =
      rate == point.bound && (point.cost.steps == 0 || less(rate, lowest(against, point.cost.steps - 1)));
}

// Found and possible are both staircases, so the gap between them changes only at treads and points. An
// opening is listed where it begins or changes, with what was found by then.
std::vector<Opening> openings(const Result& result, const std::vector<Left>& all) {
  std::set<int> steps;
  for (const Left& left : all)
    for (const Tread& tread : left.stairs) steps.insert(tread.steps);
  for (const Point& point : result.points) steps.insert(point.cost.steps);
  std::vector<Opening> found;
  Opening before;
  bool first = true;
  for (int s : steps) {
    Opening now{.steps = s, .bound = lowest(all, s)};
    for (const Point& point : result.points)
      if (const Rate rate = reduced(point.cost.rounds, point.cost.chunks);
          point.cost.steps <= s && (!now.found || less(rate, *now.found)))
        now.found = rate;
    const bool same = !first && now.found == before.found && now.bound == before.bound;
    if (!same && less(now.bound, now.found.value_or(kNone))) found.push_back(now);
    before = now;
    first = false;
  }
  return found;
}

// The last chunk count before the first that leaves something open.
int chunks_closed(const Result& result) {
  const Space& space = result.space;
  if (result.complete) return space.max_chunks;
  for (int c = space.min_chunks; c < space.min_chunks + kMostComplete; ++c)
    if (c > space.max_chunks || !openings(result, left_of(result, c)).empty())
      return c > space.min_chunks ? c - 1 : 0;
  return space.min_chunks + kMostComplete - 1;
}

}  // namespace

int rounds_left(const Result& result, CollectiveKind collective, int chunks, int steps) {
  return at(claimed(result, collective, chunks), steps);
}

Rate least_rate(const Result& result, const Point& point, int steps) {
  return lowest(point.on_frontier ? everything_left(result) : own_left(result, point), steps);
}

bool excludes_more(const std::vector<Claim>& known, const Claim& claim) {
  return std::ranges::none_of(known, [&](const Claim& other) {
    if (!speaks_of(other, claim.collective, claim.chunks) || other.steps < claim.steps) return false;
    if (!claim.any_chunks) return rounds_claimed(other, claim.chunks) >= claim.rounds;
    return other.any_chunks &&
           !less(reduced(other.rounds, other.chunks), reduced(claim.rounds, claim.chunks));
  });
}

bool lies_within(const Result& result, const Point& point) {
  const int chunks = chunk_count(result, point);
  return chunks >= result.space.min_chunks && chunks <= result.space.max_chunks &&
         point.cost.steps <= result.space.max_steps &&
         point.cost.rounds <= most_rounds(result.space, point.cost.steps);
}

std::vector<std::size_t> mark(Result& result) {
  std::vector<Point>& points = result.points;
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  const auto cost = [&](std::size_t i) -> const Cost& { return points[i].cost; };
  const auto on_frontier = [&](std::size_t i) { return points[i].on_frontier; };
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return std::pair(cost(i).chunks, cost(i).steps); });
  // Of points that cost the same one is on the frontier, the first.
  for (std::size_t i = 0; i < order.size(); ++i) {
    bool& best = points[order[i]].on_frontier = true;
    for (std::size_t j = 0; best && j < order.size(); ++j) {
      const Cost &other = cost(order[j]), &own = cost(order[i]);
      const bool same = other.steps == own.steps && compare_rate(other, own) == 0;
      best = !dominates(other, own) && !(same && j < i);
    }
  }
  const auto dominated = std::ranges::stable_partition(order, on_frontier).begin();
  std::ranges::stable_sort(order.begin(), dominated, {}, [&](std::size_t i) { return cost(i).steps; });
  std::vector<Point> sorted;
  sorted.reserve(points.size());
  for (const std::size_t i : order) sorted.push_back(std::move(points[i]));
  points = std::move(sorted);
  const std::vector<Left> all = everything_left(result);
  for (Point& point : points) mark_point(result, all, point);
  result.openings = openings(result, all);
  result.complete = result.openings.empty();
  result.complete_chunks = chunks_closed(result);
  return order;
}

// Which claims a point rests on is not remembered by the search but derived: claims are left out, and what
// the others still show is asked of the arithmetic that marked the point (pareto/optimality.h). So what is
// named is needed, beside the others that are named, and what is not named is not.
//
// What lost: the first claim that alone excludes fewer rounds, of the point's own number of chunks. "3 steps
// are impossible" does so where a whole round per step is counted, and shows no rate of any chunk count.

namespace {

constexpr std::ptrdiff_t kMostRefutationsNamed = 3;

std::string words(const Certificate& certificate) {
  switch (certificate.kind) {
    case Certificate::Kind::Distance:
      return "distance";
    case Certificate::Kind::Weights:
      return certificate.prices.size() == 1 ? "cut or flow bound" : "time-expanded LP bound";
    case Certificate::Kind::Partition:
      return "partition bound";
    case Certificate::Kind::Trees:
      return "bound of trees";
    case Certificate::Kind::Cuts:
      return "cuts in time";
    case Certificate::Kind::Entries:
      return "bound of late entries";
    case Certificate::Kind::Growth:
      return "growth bound";
    case Certificate::Kind::Refutation:
      return "refutation " + certificate.formula_sha256.substr(0, 8);
    case Certificate::Kind::None:
      break;
  }
  return "nothing";
}

// Those of the claims that are enough for what `holds` asks of a result, so that none of them can be left
// out: each is left out in turn, the last first, where the others are enough. Requires that all together are.
template <typename Holds>
std::vector<const Claim*> carrying(const Result& result, std::vector<const Claim*> claims,
                                   const Holds& holds) {
  // The fields that the arithmetic reads: certificates may be large.
  Result some{.kind = result.kind, .space = result.space};
  some.topology.ranks = result.topology.ranks;
  some.collective.kind = result.collective.kind;
  some.collective.order = result.collective.order;
  const auto enough = [&](const std::vector<const Claim*>& left) {
    some.claims.clear();
    for (const Claim* claim : left)
      some.claims.push_back({.collective = claim->collective,
                             .chunks = claim->chunks,
                             .any_chunks = claim->any_chunks,
                             .steps = claim->steps,
                             .rounds = claim->rounds,
                             .certificate = {.kind = claim->certificate.kind}});
    return holds(some);
  };
  for (auto last = std::ssize(claims); last-- > 0;) {
    std::vector<const Claim*> fewer = claims;
    fewer.erase(fewer.begin() + last);
    if (enough(fewer)) claims = std::move(fewer);
  }
  return claims;
}

std::string kinds(const std::vector<const Claim*>& claims) {
  std::set<std::string> names;
  std::vector<std::string> refutations;
  for (const Claim* claim : claims)
    if (claim->certificate.kind == Certificate::Kind::Refutation)
      refutations.push_back(words(claim->certificate));
    else
      names.insert(words(claim->certificate));
  if (std::ssize(refutations) > kMostRefutationsNamed)
    refutations = {counted(std::ssize(refutations), "refutation")};
  names.insert(refutations.begin(), refutations.end());
  return joined({names.begin(), names.end()});
}

}  // namespace

// Proven (docs/bounds.md) has two parts: as few steps take no fewer rounds, and fewer steps take more. Of
// what carries both, each part takes its own: so what is named for one part is not what the other could
// replace.
Reasons reasons(const Result& result, const Point& point) {
  if (!point.proven) return {};
  const int steps = point.cost.steps;
  const Rate rate = {.rounds = point.cost.rounds, .chunks = point.cost.chunks};
  const auto no_fewer_rounds = [&](const Result& some) {
    return !less(least_rate(some, point, steps), rate);
  };
  const auto no_fewer_steps = [&](const Result& some) {
    return steps == 0 || less(rate, least_rate(some, point, steps - 1));
  };
  std::vector<const Claim*> all;
  for (const Claim& claim : result.claims) all.push_back(&claim);
  all = carrying(result, std::move(all),
                 [&](const Result& some) { return no_fewer_rounds(some) && no_fewer_steps(some); });
  return {.rounds = carrying(result, all, no_fewer_rounds), .steps = carrying(result, all, no_fewer_steps)};
}

std::string explain(const Result& result, const Point& point) {
  if (!point.proven) return "";
  if (point.cost.steps == 0) return "nothing has to be sent";
  const auto [rounds, steps] = reasons(result, point);
  return "rounds: " + kinds(rounds) + "; steps: " + kinds(steps);
}

}  // namespace chorale
