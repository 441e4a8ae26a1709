// Nothing clever on purpose: every variable that the header names exists, whether it can ever be true or not.
// Unit propagation finds what cannot be (where a chunk cannot be yet), and the solver the rest.
//
// Counting is by sequential counters (Sinz 2005), in the one direction that rules need: more sends than a
// limit carries must show, fewer need not. The search's counters are totalizers; sharing them would share
// their mistakes.
//
// The cost of plainness: for each chunk, step and contribution as many clauses as a rank has pairs of
// incoming links, from (once), and the counters. Of the grid's 62 refutations all are shown from here, 60
// with at most 3,252 conflicts and two with 25,405, about twice what the search's formula takes.
#include "semantics/plain_formula.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "ir/frontier.h"

namespace chorale {

namespace {

int contributions_to(const Collective& collective, const ChunkSpec& spec) {
  return collective.combining ? static_cast<int>(spec.pre.size()) : 1;
}

}  // namespace

PlainFormula::PlainFormula(const Topology& topology, const Collective& collective, const Budget& budget,
                           bool number)
    : topology_(topology), collective_(collective), budget_(budget), into_(topology.ranks) {
  const int chunks = static_cast<int>(collective_.chunks.size());
  const int links = static_cast<int>(topology_.links.size());
  for (LinkId l = 0; l < links; ++l) into_[topology_.links[l].dst].push_back(l);
  name_variables();
  for (Chunk c = 0; c < chunks; ++c) {
    for (Rank n = 0; n < topology_.ranks; ++n) start(c, n);
    for (int s = 1; s <= budget_.steps; ++s) {
      for (LinkId l = 0; l < links; ++l) {
        source(c, l, s);
        part(c, l, s);
        complete(c, l, s);
      }
      for (Rank n = 0; n < topology_.ranks; ++n) {
        kept(c, n, s);
        replaced(c, n, s);
        sum(c, n, s);
        once(c, n, s);
      }
    }
    end(c);
    if (asks_order(collective_, c)) order(c);
  }
  if (budget_.rounds != kAnyRounds) {
    rounds();
    copies();
    for (int s = 1; s <= budget_.steps; ++s) {
      for (LinkId l = 0; l < links; ++l) bandwidth(std::span(&l, 1), topology_.links[l].bandwidth, s, {});
      for (const SharedLimit& limit : topology_.limits)
        bandwidth(limit.links, limit.bandwidth, s, limit.abilities);
    }
  }
  if (number) {
    const std::vector<Exchange> exchanges = exchanges_of_ranks();
    exchanges.empty() ? numbered() : exchanged(exchanges);
  }
}

// A run of consecutive variables for each chunk and kind, of which the first one is noted; in(), send() and
// the others below know the order within. A chunk with one contribution shares variables: its parts are its
// sends, and keep and kept do not exist for it.
void PlainFormula::name_variables() {
  const auto some = [this](std::size_t number) {
    const Lit first = formula_.variables + 1;
    formula_.variables += static_cast<int>(number);
    return first;
  };
  const std::size_t steps = budget_.steps, ranks = topology_.ranks, links = topology_.links.size();
  for (Chunk c = 0; c < std::ssize(collective_.chunks); ++c) {
    const std::size_t i = contributions(c);
    in_.push_back(some(ranks * (steps + 1) * i));
    send_.push_back(some(links * steps));
    part_.push_back(i == 1 ? send_.back() : some(links * steps * i));
    keep_.push_back(i == 1 ? 0 : some(ranks * steps));
    kept_.push_back(i == 1 ? 0 : some(ranks * steps * i));
  }
  if (budget_.rounds != kAnyRounds) round_ = some(steps * budget_.rounds);
}

void PlainFormula::start(Chunk c, Rank n) {
  for (int i = 0; i < contributions(c); ++i)
    formula_.add({starts(c, n, i) ? in(c, n, 0, i) : -in(c, n, 0, i)});
}

// (source) the sender holds some contribution; part() has which of them go along: all that it holds.
void PlainFormula::source(Chunk c, LinkId l, int s) {
  std::vector<Lit> clause = {-send(c, l, s)};
  for (int i = 0; i < contributions(c); ++i) clause.push_back(in(c, topology_.links[l].src, s - 1, i));
  formula_.add(clause);
}

// part = send and held: what of each contribution a send carries.
void PlainFormula::part(Chunk c, LinkId l, int s) {
  if (contributions(c) == 1) return;
  for (int i = 0; i < contributions(c); ++i) {
    const Lit held = in(c, topology_.links[l].src, s - 1, i);
    formula_.add({-part(c, l, s, i), send(c, l, s)});
    formula_.add({-part(c, l, s, i), held});
    formula_.add({part(c, l, s, i), -send(c, l, s), -held});
  }
}

void PlainFormula::kept(Chunk c, Rank n, int s) {
  if (contributions(c) == 1) return;
  for (int i = 0; i < contributions(c); ++i) {
    const Lit held = in(c, n, s - 1, i);
    formula_.add({-kept(c, n, s, i), keep(c, n, s)});
    formula_.add({-kept(c, n, s, i), held});
    formula_.add({kept(c, n, s, i), -keep(c, n, s), -held});
  }
}

// What is not kept has to be replaced, or a rank would lose a value without a send.
void PlainFormula::replaced(Chunk c, Rank n, int s) {
  if (contributions(c) == 1) return;
  std::vector<Lit> clause = {keep(c, n, s)};
  for (LinkId l : into_[n]) clause.push_back(send(c, l, s));
  formula_.add(clause);
}

// Both directions: what is in a value has arrived there, and what has arrived is in it.
void PlainFormula::sum(Chunk c, Rank n, int s) {
  for (int i = 0; i < contributions(c); ++i) {
    std::vector<Lit> clause = terms(c, n, s, i);
    for (Lit term : clause) formula_.add({in(c, n, s, i), -term});
    clause.push_back(-in(c, n, s, i));
    formula_.add(clause);
  }
}

// This makes it a sum and not a union. Pairs, since the terms are what a rank keeps and its incoming links:
// few.
void PlainFormula::once(Chunk c, Rank n, int s) {
  for (int i = 0; i < contributions(c); ++i) {
    const std::vector<Lit> all = terms(c, n, s, i);
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = a + 1; b < all.size(); ++b) formula_.add({-all[a], -all[b]});
  }
}

// The verifier rejects such sends: a copy repeats what the receiver has, and an addend counts twice.
void PlainFormula::complete(Chunk c, LinkId l, int s) {
  std::vector<Lit> clause = {-send(c, l, s)};
  for (int i = 0; i < contributions(c); ++i) clause.push_back(-in(c, topology_.links[l].dst, s - 1, i));
  formula_.add(clause);
}

void PlainFormula::end(Chunk c) {
  for (Rank d : collective_.chunks[c].post)
    for (int i = 0; i < contributions(c); ++i) formula_.add({in(c, d, budget_.steps, i)});
}

// For each three contributions one pair may meet before the third joins, the same on all ranks and steps:
// the shape of one binary tree of additions, whose triples determine it.
void PlainFormula::order(Chunk c) {
  const RankSet& pre = collective_.chunks[c].pre;
  const bool fixed = collective_.order.kind == SumOrder::Kind::Fixed;
  const std::vector<int>& parent = collective_.order.tree.parent;
  const auto above = [&](Rank n) {
    std::set<int> nodes;
    for (int node = n; node >= 0; node = parent[node]) nodes.insert(node);
    return nodes;
  };
  const int contributors = contributions(c);
  for (int i = 0; i < contributors; ++i)
    for (int j = i + 1; j < contributors; ++j)
      for (int k = j + 1; k < contributors; ++k) {
        // Of each of the three: the other two are the pair.
        const int three[] = {i, j, k};
        std::vector<Lit> pairs;
        for (int alone = 0; alone < 3; ++alone) {
          const int a = three[alone == 0 ? 1 : 0], b = three[alone == 2 ? 1 : 2], out = three[alone];
          const Lit pair = formula_.fresh();
          if (fixed) {
            // The lowest node over both is not over the third.
            const std::set<int> over_a = above(pre[a]), over_b = above(pre[b]), over_out = above(pre[out]);
            const int meet = *std::ranges::find_if(over_a, [&](int node) { return over_b.contains(node); });
            formula_.add({over_out.contains(meet) ? -pair : pair});
          }
          for (const Lit other : pairs) formula_.add({-pair, -other});
          pairs.push_back(pair);
          for (int s = 1; s <= budget_.steps; ++s)
            for (Rank n = 0; n < topology_.ranks; ++n)
              formula_.add({-in(c, n, s, a), -in(c, n, s, b), in(c, n, s, out), pair});
        }
      }
}

// Where a switch multicasts and reduces, a send is a copy (the receiver's value is replaced by it) or
// joins a sum; one value is the first of each sum, kept or copied.
void PlainFormula::copies() {
  const bool asked = std::ranges::any_of(topology_.limits, [](const SharedLimit& limit) {
    return limit.abilities.multicast && limit.abilities.reduce;
  });
  if (!asked) return;
  for (Chunk c = 0; c < std::ssize(collective_.chunks); ++c) {
    if (contributions(c) == 1) continue;
    for (int s = 1; s <= budget_.steps; ++s)
      for (Rank n = 0; n < topology_.ranks; ++n) {
        std::vector<Lit> one = {keep(c, n, s)};
        for (LinkId l : into_[n]) {
          const Lit lit = formula_.fresh();
          copy_[{c, l, s}] = lit;
          formula_.add({-lit, send(c, l, s)});
          for (Lit other : one) formula_.add({-lit, -other});
          one.push_back(lit);
        }
        formula_.add(one);
      }
  }
}

// Sends that a limit counts once share one literal, which each of them makes true.
std::vector<Lit> PlainFormula::values(std::span<const LinkId> links, int s, const Abilities& abilities) {
  std::vector<Lit> result;
  std::map<std::tuple<Chunk, bool, Rank>, Lit> known;
  const auto value = [&](Chunk c, bool sum, Rank n) {
    const auto [at, fresh] = known.try_emplace({c, sum, n}, 0);
    if (fresh) result.push_back(at->second = formula_.fresh());
    return at->second;
  };
  for (LinkId l : links)
    for (Chunk c = 0; c < std::ssize(collective_.chunks); ++c) {
      const Lit moves = send(c, l, s);
      const auto [src, dst] = std::pair(topology_.links[l].src, topology_.links[l].dst);
      if (!abilities.any()) {
        result.push_back(moves);
      } else if (const auto copy = copy_.find({c, l, s});
                 copy != copy_.end() && abilities.multicast && abilities.reduce) {
        formula_.add({-copy->second, value(c, false, src)});
        formula_.add({-moves, copy->second, value(c, true, dst)});
      } else {
        const bool sum = abilities.reduce && !abilities.multicast;
        formula_.add({-moves, value(c, sum, sum ? dst : src)});
      }
    }
  return result;
}

void PlainFormula::bandwidth(std::span<const LinkId> links, long long chunks_a_round, int s,
                             const Abilities& abilities) {
  const std::vector<Lit> sends = values(links, s, abilities);
  // counted[k] stands for k + 1 sends or more. More than chunks_a_round * j need round j + 1; more than fit
  // into all rounds are forbidden. A limit that all chunks together keep ends the loop.
  const std::vector<Lit> counted = at_least(sends, chunks_a_round * budget_.rounds + 1);
  for (long long j = 0; j <= budget_.rounds; ++j) {
    const std::size_t too_many = chunks_a_round * j;  // at least one more than this
    if (too_many >= counted.size()) return;
    if (j == budget_.rounds)
      formula_.add({-counted[too_many]});
    else
      formula_.add({-counted[too_many], round(s, static_cast<int>(j) + 1)});
  }
}

// Rounds in unary, step by step, so that the true ones among all of them are the rounds that are spent.
void PlainFormula::rounds() {
  std::vector<Lit> all;
  for (int s = 1; s <= budget_.steps; ++s)
    for (int j = 1; j <= budget_.rounds; ++j) {
      all.push_back(round(s, j));
      if (j > 1) formula_.add({-round(s, j), round(s, j - 1)});
    }
  const std::vector<Lit> counted = at_least(all, budget_.rounds + 1LL);
  if (std::ssize(counted) > budget_.rounds) formula_.add({-counted[budget_.rounds]});
}

void PlainFormula::numbered() {
  std::map<std::pair<RankSet, RankSet>, std::vector<Lit>> last;  // by pre and post
  for (Chunk c = 0; c < std::ssize(collective_.chunks); ++c) {
    const ChunkSpec& spec = collective_.chunks[c];
    // The one rank at which arrivals are compared, the same for all chunks of these ends. None: all ranks
    // that need such a chunk have it, and there is nothing to order.
    const auto at = std::ranges::find_if(
        spec.post, [&](Rank n) { return collective_.combining || !std::ranges::count(spec.pre, n); });
    if (at == spec.post.end()) continue;
    // Literal s - 1: the chunk has arrived there by step s, for the first time.
    std::vector<Lit> arrived;
    for (int s = 1; s <= budget_.steps; ++s) {
      const Lit lit = formula_.fresh();
      std::vector<Lit> clause = {-lit};
      for (LinkId l : into_[*at]) clause.push_back(send(c, l, s));
      if (s > 1) clause.push_back(arrived.back());
      for (std::size_t k = 1; k < clause.size(); ++k) formula_.add({lit, -clause[k]});
      formula_.add(clause);
      arrived.push_back(lit);
    }
    // By the time that this one has arrived, the one numbered before it has.
    std::vector<Lit>& before = last[{spec.pre, spec.post}];
    for (std::size_t s = 0; s < before.size(); ++s) formula_.add({-arrived[s], before[s]});
    before = std::move(arrived);
  }
}

// Links between the same ranks and of one bandwidth are carried over in the order of their numbers, as chunks
// of the same ends are.
std::optional<PlainFormula::Exchange> PlainFormula::exchange(Rank a, Rank b) const {
  if (collective_.order.kind == SumOrder::Kind::Fixed) return std::nullopt;
  const auto other = [&](Rank n) { return n == a ? b : n == b ? a : n; };
  const auto others = [&](const RankSet& ranks) {
    std::vector<Rank> images;
    for (const Rank n : ranks) images.push_back(other(n));
    return RankSet(std::move(images));
  };
  // The k-th of each kind to the k-th of the kind that it becomes; nothing where there are fewer.
  const auto matched = [](std::size_t number, const auto& kind, const auto& image) {
    std::map<std::decay_t<decltype(kind(0))>, std::vector<int>> by_kind;
    std::vector<std::size_t> place;
    for (std::size_t i = 0; i < number; ++i) {
      std::vector<int>& alike = by_kind[kind(i)];
      place.push_back(alike.size());
      alike.push_back(static_cast<int>(i));
    }
    std::vector<int> to;
    for (std::size_t i = 0; i < number; ++i) {
      const auto found = by_kind.find(image(i));
      if (found == by_kind.end() || place[i] >= found->second.size()) return std::vector<int>();
      to.push_back(found->second[place[i]]);
    }
    return to;
  };
  const auto link = [&](std::size_t l) { return topology_.links[l]; };
  const auto chunk = [&](std::size_t c) { return collective_.chunks[c]; };
  Exchange exchange{
      .links = matched(
          topology_.links.size(),
          [&](auto l) { return std::tuple(link(l).src, link(l).dst, link(l).bandwidth); },
          [&](auto l) { return std::tuple(other(link(l).src), other(link(l).dst), link(l).bandwidth); }),
      .chunks = matched(
          collective_.chunks.size(), [&](auto c) { return std::pair(chunk(c).pre, chunk(c).post); },
          [&](auto c) { return std::pair(others(chunk(c).pre), others(chunk(c).post)); })};
  if (exchange.links.empty() || exchange.chunks.empty()) return std::nullopt;
  std::multiset<std::tuple<std::vector<LinkId>, int, bool, bool>> limits, images;
  for (const SharedLimit& limit : topology_.limits) {
    std::vector<LinkId> image;
    for (const LinkId l : limit.links) image.push_back(exchange.links[l]);
    std::ranges::sort(image);
    const auto [multicast, reduce] = limit.abilities;
    limits.emplace(limit.links, limit.bandwidth, multicast, reduce);
    images.emplace(image, limit.bandwidth, multicast, reduce);
  }
  if (limits != images) return std::nullopt;
  return exchange;
}

std::vector<PlainFormula::Exchange> PlainFormula::exchanges_of_ranks() const {
  std::vector<Exchange> all;
  std::vector<Rank> last;  // of ranks that can be exchanged with each other
  for (Rank n = 0; n < topology_.ranks; ++n) {
    std::size_t i = 0;
    for (; i < last.size(); ++i)
      if (auto found = exchange(last[i], n)) {
        all.push_back(std::move(*found));
        last[i] = n;
        break;
      }
    if (i == last.size()) last.push_back(n);
  }
  return all;
}

// equal: all pairs so far are; it may also be true elsewhere, which only restricts. An exchange is its own
// inverse, so one of each two sends that it exchanges is enough.
void PlainFormula::exchanged(std::vector<Exchange> exchanges) {
  Exchange none{.links = std::vector<LinkId>(topology_.links.size()),
                .chunks = std::vector<Chunk>(collective_.chunks.size())};
  std::iota(none.links.begin(), none.links.end(), 0);
  std::iota(none.chunks.begin(), none.chunks.end(), 0);
  std::map<std::pair<RankSet, RankSet>, Chunk> last;  // by pre and post
  for (Chunk c = 0; c < std::ssize(collective_.chunks); ++c) {
    const auto [before, first] = last.try_emplace({collective_.chunks[c].pre, collective_.chunks[c].post}, c);
    if (first) continue;
    exchanges.push_back(none);
    std::swap(exchanges.back().chunks[before->second], exchanges.back().chunks[c]);
    before->second = c;
  }
  for (const auto& [links, chunks] : exchanges) {
    Lit equal = 0;  // of no pair: true
    const auto unless_equal = [&](std::vector<Lit> clause) {
      if (equal != 0) clause.push_back(-equal);
      formula_.add(clause);
    };
    for (int s = 1; s <= budget_.steps; ++s)
      for (Chunk c = 0; c < std::ssize(chunks); ++c)
        for (LinkId l = 0; l < std::ssize(links); ++l) {
          if (std::pair(chunks[c], links[l]) <= std::pair(c, l)) continue;
          const Lit own = send(c, l, s), image = send(chunks[c], links[l], s), next = formula_.fresh();
          unless_equal({own, -image});
          unless_equal({own, next});
          unless_equal({-image, next});
          equal = next;
        }
  }
}

int PlainFormula::contributions(Chunk c) const {
  return contributions_to(collective_, collective_.chunks[c]);
}

bool PlainFormula::starts(Chunk c, Rank n, int i) const {
  const RankSet& pre = collective_.chunks[c].pre;
  return collective_.combining ? pre[i] == n : pre.contains(n);
}

// What the rank's new value may be made of: what it kept, and what arrives over each link.
std::vector<Lit> PlainFormula::terms(Chunk c, Rank n, int s, int i) const {
  std::vector<Lit> all = {kept(c, n, s, i)};
  for (LinkId l : into_[n]) all.push_back(part(c, l, s, i));
  return all;
}

// One more literal at a time: k of the first i are true if k of the first i - 1 are, or k - 1 of them and the
// i-th. Only this direction: a solver may set a count to true without need, which only restricts it. Counts
// beyond `most` are not used, so 2 * most clauses per literal are enough.
std::vector<Lit> PlainFormula::at_least(std::span<const Lit> literals, long long most) {
  std::vector<Lit> counted;  // of the literals so far
  for (Lit lit : literals) {
    std::vector<Lit> more;
    const long long size = std::min<long long>(std::ssize(counted) + 1, most);
    for (long long k = 0; k < size; ++k) {
      more.push_back(formula_.fresh());
      if (k < std::ssize(counted)) formula_.add({-counted[k], more[k]});
      if (k == 0)
        formula_.add({-lit, more[k]});
      else
        formula_.add({-lit, -counted[k - 1], more[k]});
    }
    counted = std::move(more);
  }
  return counted;
}

Lit PlainFormula::in(Chunk c, Rank n, int s, int i) const {
  return in_[c] + (s * topology_.ranks + n) * contributions(c) + i;
}

Lit PlainFormula::send(Chunk c, LinkId l, int s) const {
  return send_[c] + (s - 1) * static_cast<int>(topology_.links.size()) + l;
}

Lit PlainFormula::part(Chunk c, LinkId l, int s, int i) const {
  return part_[c] + ((s - 1) * static_cast<int>(topology_.links.size()) + l) * contributions(c) + i;
}

Lit PlainFormula::keep(Chunk c, Rank n, int s) const {
  return keep_[c] + (s - 1) * topology_.ranks + n;
}

Lit PlainFormula::kept(Chunk c, Rank n, int s, int i) const {
  if (contributions(c) == 1) return in(c, n, s - 1, i);
  return kept_[c] + ((s - 1) * topology_.ranks + n) * contributions(c) + i;
}

Lit PlainFormula::round(int s, int j) const {
  return round_ + (s - 1) * budget_.rounds + j - 1;
}

double PlainFormula::literals(const Topology& topology, const Collective& collective, const Budget& budget) {
  // Of the clauses above, for each chunk, step and contribution: (once) has two literals for each pair of
  // terms, all others together about 12 a link and 10 a rank. A counter has two clauses, of two and three
  // literals, for each literal and count. Tests hold this within a factor of two of what is built.
  const double links = static_cast<double>(topology.links.size()), ranks = topology.ranks;
  const double chunks = static_cast<double>(collective.chunks.size()), steps = budget.steps;
  std::vector<double> into(topology.ranks, 1);
  for (const Link& link : topology.links) ++into[link.dst];
  double pairs = 0;
  for (double terms : into) pairs += terms * terms;
  double all = 0;
  for (const ChunkSpec& spec : collective.chunks) {
    const double i = contributions_to(collective, spec);
    all += steps * i * (pairs + 12 * links + 10 * ranks);
    if (asks_order(collective, static_cast<Chunk>(&spec - collective.chunks.data())))
      all += i * (i - 1) * (i - 2) / 6 * (12 * steps * ranks + 9);
  }
  if (budget.rounds == kAnyRounds) return all;
  const auto counter = [](double literals, double most) { return 5 * literals * std::min(literals, most); };
  for (const Link& link : topology.links)
    all += steps * counter(chunks, static_cast<double>(link.bandwidth) * budget.rounds + 1);
  for (const SharedLimit& limit : topology.limits)
    all += steps * counter(chunks * static_cast<double>(limit.links.size()),
                           static_cast<double>(limit.bandwidth) * budget.rounds + 1);
  return all + counter(steps * budget.rounds, budget.rounds + 1.0);
}

// A model of the plain formula as a schedule: a step for each that sends anything, with the rounds that its
// sends need. Whether the schedule is right is the verifier's to decide.

namespace {

// The fewest that carry them.
// The model's rounds may be more than are needed, since counters are implied in one direction only.
int rounds_for(const Topology& topology, const std::vector<Send>& sends) {
  long long rounds = 1;
  const auto carry = [&](std::span<const LinkId> links, long long bandwidth, const Abilities& abilities) {
    std::set<std::tuple<Chunk, int, int>> values;
    for (const Send& send : sends) {
      if (std::ranges::count(links, send.link) == 0) continue;
      const Link& link = topology.links[send.link];
      if (!abilities.any())
        values.insert({send.chunk, 0, send.link});
      else if (abilities.reduce && (send.reduce || !abilities.multicast))
        values.insert({send.chunk, 1, link.dst});
      else
        values.insert({send.chunk, 2, link.src});
    }
    const long long load = std::ssize(values);
    if (load > 0) rounds = std::max(rounds, (load + bandwidth - 1) / bandwidth);
  };
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    carry(std::span(&l, 1), topology.links[l].bandwidth, {});
  for (const SharedLimit& limit : topology.limits) carry(limit.links, limit.bandwidth, limit.abilities);
  return static_cast<int>(rounds);
}

}  // namespace

Schedule PlainFormula::schedule(const Assignment& model) const {
  Schedule result;
  for (int s = 1; s <= budget_.steps; ++s) {
    Step step;
    for (Chunk c = 0; c < std::ssize(collective_.chunks); ++c)
      for (Rank n = 0; n < topology_.ranks; ++n) {
        // If nothing is kept, the first to arrive replaces what was there and the others are added to it.
        // Which one is the first does not matter: the sum is the same.
        bool add = contributions(c) > 1 && model[keep(c, n, s)];
        for (LinkId l : into_[n])
          if (model[send(c, l, s)]) {
            if (const auto copy = copy_.find({c, l, s}); copy != copy_.end()) add = !model[copy->second];
            step.sends.push_back({.chunk = c, .link = l, .reduce = add});
            add = contributions(c) > 1;
          }
      }
    if (step.sends.empty()) continue;
    step.rounds = rounds_for(topology_, step.sends);
    std::ranges::sort(step.sends);
    result.steps.push_back(std::move(step));
  }
  return result;
}

}  // namespace chorale
