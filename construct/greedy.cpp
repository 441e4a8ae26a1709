// Invariants: what the ranks have after a step is carried to itself by every element of the group, since
// orbits of sends are taken whole or not at all; a sender has had the chunk since an earlier step, since
// candidates are listed before any is taken; and a chunk that some rank of a block has does not enter the
// block again. (One orbit may bring it in over several links at once, if some element but the identity keeps
// the chunk and the block.)
//
// A try examines one send of each orbit per step, about chunks times links over the order of the group, and a
// whole orbit when its send is considered.
//
// How the rounds are cut into steps decides. A few geometric cuts are tried first; alone they missed most
// Broadcasts on a switch, which random cuts fill in milliseconds, so all further tries are random.
#include "construct/greedy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "ir/embedding.h"
#include "ir/tidy.h"
#include "symmetry/induced_chunks.h"

namespace chorale {
namespace {

constexpr std::size_t kMostElements = 4096;  // each is examined for each orbit; hypercube:6 has 46,080
// Rounds of a step over those of the next: 1 is evenly, 2 halves them from step to step, 0.8 lets them grow.
constexpr double kRatios[kGeometricTries] = {1.0, 1.25, 1.5, 1.7, 2.0, 2.5, 0.8};

// The group that the generators generate, its elements as embeddings of the task in itself; nothing if it is
// too large or does not preserve the collective.
std::vector<Embedding> group_elements(const Topology& topology, const Collective& collective,
                                      const std::vector<Automorphism>& generators) {
  std::vector<Embedding> steps;
  for (const Automorphism& g : generators) {
    std::optional<std::vector<Chunk>> chunks = induced_chunks(collective, g);
    if (!chunks) return {};
    steps.push_back({.ranks = g.ranks, .links = g.links, .chunks = std::move(*chunks)});
  }
  std::vector<Embedding> elements = {identity(topology, collective)};
  std::set<std::vector<Rank>> known = {elements[0].ranks};
  // A queue that grows while it is read. Products of generators are all of a finite group: inverses are
  // powers.
  for (std::size_t i = 0; i < elements.size() && elements.size() <= kMostElements; ++i)
    for (const Embedding& g : steps)
      if (Embedding next = compose(elements[i], g); known.insert(next.ranks).second)
        elements.push_back(std::move(next));
  if (elements.size() > kMostElements) return {};
  return elements;
}

// The smallest set of ranks that reach one of them for free; all ranks if the claim prices nothing. Where the
// prices are a cut, that is its far side: what enters it pays, and the bound is met only if no chunk pays
// twice. Prices that differ from step to step name no one set, and neither do those of a machine below chosen
// paths.
std::vector<Rank> tight_set(const Topology& topology, const Claim& bound) {
  std::vector<Rank> best(topology.ranks);
  std::iota(best.begin(), best.end(), 0);
  if (bound.certificate.kind != Certificate::Kind::Weights || bound.certificate.prices.size() != 1 ||
      topology.underlay)
    return best;
  const Prices& prices = bound.certificate.prices[0];
  std::vector<int> price = prices.links;
  for (std::size_t i = 0; i < topology.limits.size(); ++i)
    for (LinkId l : topology.limits[i].links) price[l] += prices.limits[i];
  Topology back = topology;  // free links only, reversed
  back.links.clear();
  for (std::size_t l = 0; l < topology.links.size(); ++l)
    if (price[l] == 0) back.links.push_back({.src = topology.links[l].dst, .dst = topology.links[l].src});
  const HopCounts hops(back);
  for (Rank v = 0; v < topology.ranks; ++v) {
    const std::vector<int> distance = hops.from({v});
    std::vector<Rank> set;
    for (Rank n = 0; n < topology.ranks; ++n)
      if (distance[n] >= 0) set.push_back(n);
    if (set.size() < best.size()) best = std::move(set);
  }
  return best;
}

// Block of each rank, named by its least rank: images of the set under the group. Images that overlap and
// have different names are not blocks, and then every rank is one of its own; two of one name are taken as
// one. Blocks of single ranks give no information: to enter one is to reach its rank.
std::vector<int> blocks(const std::vector<Rank>& set, const std::vector<Embedding>& elements, int ranks) {
  std::vector<int> alone(ranks);
  std::iota(alone.begin(), alone.end(), 0);
  if (static_cast<int>(set.size()) == ranks) return alone;
  std::vector<int> block(ranks, -1);
  for (const Embedding& element : elements) {
    std::vector<Rank> image;
    for (Rank n : set) image.push_back(element.ranks[n]);
    const int name = *std::min_element(image.begin(), image.end());
    for (Rank n : image) {
      if (block[n] >= 0 && block[n] != name) return alone;
      block[n] = name;
    }
  }
  for (Rank n = 0; n < ranks; ++n)
    if (block[n] < 0) block[n] = n;
  return block;
}

// A round for each step, the others by the ratio; the remainder of rounding goes to the first steps.
std::vector<int> split_rounds(const Budget& budget, double ratio) {
  std::vector<double> share(budget.steps);
  for (int s = 0; s < budget.steps; ++s) share[s] = std::pow(ratio, budget.steps - 1 - s);
  const double sum = std::accumulate(share.begin(), share.end(), 0.0);
  std::vector<int> rounds(budget.steps, 1);
  int left = budget.rounds - budget.steps;
  for (int s = 0; s < budget.steps; ++s) {
    const int more = static_cast<int>(share[s] / sum * (budget.rounds - budget.steps));
    rounds[s] += more;
    left -= more;
  }
  for (int s = 0; left > 0; s = (s + 1) % budget.steps, --left) ++rounds[s];
  return rounds;
}

std::vector<int> random_split(const Budget& budget, std::mt19937& random) {
  std::vector<int> rounds(budget.steps, 1);
  for (int left = budget.rounds - budget.steps; left > 0; --left) ++rounds[random() % rounds.size()];
  return rounds;
}

class Filling {
 public:
  Filling(const Topology& topology, const Collective& collective, const std::vector<Embedding>& elements,
          std::vector<int> block)
      : topology_(topology),
        collective_(collective),
        elements_(elements),
        block_(std::move(block)),
        chunks_(static_cast<int>(collective.chunks.size())),
        links_(static_cast<int>(topology.links.size())),
        limits_of_(topology.links.size()) {
    for (std::size_t i = 0; i < topology.limits.size(); ++i)
      for (LinkId l : topology.limits[i].links) limits_of_[l].push_back(static_cast<int>(i));
    // The first send of each orbit stands for all of it.
    std::vector<bool> seen(static_cast<std::size_t>(chunks_) * links_, false);
    for (Chunk c = 0; c < chunks_; ++c)
      for (LinkId l = 0; l < links_; ++l) {
        if (seen[at_link(c, l)]) continue;
        for (const Embedding& g : elements_) seen[at_link(g.chunks[c], g.links[l])] = true;
        representatives_.push_back({.chunk = c, .link = l});
      }
  }

  std::optional<Schedule> run(const std::vector<int>& rounds, unsigned seed) {
    random_.seed(seed);
    has_.assign(static_cast<std::size_t>(chunks_) * topology_.ranks, 0);
    in_block_.assign(has_.size(), 0);
    for (Chunk c = 0; c < chunks_; ++c)
      for (Rank n : collective_.chunks[c].pre) give(c, n);
    Schedule schedule;
    for (int step_rounds : rounds) schedule.steps.push_back(fill(step_rounds));
    for (Chunk c = 0; c < chunks_; ++c)
      for (Rank n : collective_.chunks[c].post)
        if (!has_[at(c, n)]) return std::nullopt;
    return tidy(topology_, collective_, std::move(schedule));
  }

 private:
  std::size_t at(Chunk c, Rank n) const { return static_cast<std::size_t>(c) * topology_.ranks + n; }
  std::size_t at_link(Chunk c, LinkId l) const { return static_cast<std::size_t>(c) * links_ + l; }
  void give(Chunk c, Rank n) {
    has_[at(c, n)] = 1;
    in_block_[at(c, block_[n])] = 1;
  }

  Step fill(int rounds) {
    Step step{.rounds = rounds};
    struct Candidate {
      int holders;
      Send send;
    };
    // What enters blocks goes first, since that is what the bound counts; then chunks that few ranks have,
    // since later steps need them at more ranks. Ties are broken at random, differently in each try.
    std::vector<Candidate> entering, within;
    std::vector<int> holders(chunks_, 0);
    for (Chunk c = 0; c < chunks_; ++c)
      for (Rank n = 0; n < topology_.ranks; ++n) holders[c] += has_[at(c, n)];
    for (const Send& send : representatives_) {
      const Link& link = topology_.links[send.link];
      if (!has_[at(send.chunk, link.src)] || has_[at(send.chunk, link.dst)]) continue;
      const bool enters = block_[link.src] != block_[link.dst];
      if (enters && in_block_[at(send.chunk, block_[link.dst])]) continue;
      (enters ? entering : within).push_back({holders[send.chunk], send});
    }
    load_.assign(links_, 0);
    limit_load_.assign(topology_.limits.size(), 0);
    for (std::vector<Candidate>* list : {&entering, &within}) {
      std::shuffle(list->begin(), list->end(), random_);
      std::stable_sort(list->begin(), list->end(),
                       [](const Candidate& a, const Candidate& b) { return a.holders < b.holders; });
      for (const Candidate& candidate : *list) take_orbit(candidate.send, rounds, step);
    }
    return step;
  }

  // All sends of the orbit, or none. Others have been taken since this one was listed, so its receiver and
  // its block are checked again. What its receiver lacks, by symmetry those of the whole orbit lack.
  void take_orbit(const Send& send, int rounds, Step& step) {
    const Link& link = topology_.links[send.link];
    if (has_[at(send.chunk, link.dst)]) return;
    const bool enters = block_[link.src] != block_[link.dst];
    if (enters && in_block_[at(send.chunk, block_[link.dst])]) return;
    std::set<Send> orbit;
    for (const Embedding& g : elements_)
      orbit.insert({.chunk = g.chunks[send.chunk], .link = g.links[send.link]});
    if (!fits(orbit, rounds)) {
      for (const Send& member : orbit) load(member.link, -1);
      return;
    }
    // Two links of one orbit may lead to the same rank, which is to get the chunk once. Neither is better.
    std::set<std::pair<Chunk, Rank>> receivers;
    for (const Send& member : orbit)
      if (!receivers.insert({member.chunk, topology_.links[member.link].dst}).second) {
        for (const Send& undo : orbit) load(undo.link, -1);
        return;
      }
    for (const Send& member : orbit) {
      step.sends.push_back(member);
      give(member.chunk, topology_.links[member.link].dst);
    }
  }

  void load(LinkId l, int sends) {
    load_[l] += sends;
    for (int i : limits_of_[l]) limit_load_[i] += sends;
  }

  // Loads the orbit and returns whether everything is within its bandwidth.
  bool fits(const std::set<Send>& orbit, int rounds) {
    for (const Send& member : orbit) load(member.link, 1);
    return std::all_of(orbit.begin(), orbit.end(), [&](const Send& member) {
      const auto& limits = limits_of_[member.link];
      return load_[member.link] <= rounds * topology_.links[member.link].bandwidth &&
             std::all_of(limits.begin(), limits.end(),
                         [&](int i) { return limit_load_[i] <= rounds * topology_.limits[i].bandwidth; });
    });
  }

  const Topology& topology_;
  const Collective& collective_;
  const std::vector<Embedding>& elements_;
  const std::vector<int> block_;
  const int chunks_, links_;
  std::vector<std::vector<int>> limits_of_;       // by link
  std::vector<Send> representatives_ = {};        // one of each orbit of (chunk, link)
  std::vector<char> has_ = {}, in_block_ = {};    // by chunk, and rank or name of a block; grow during a step
  std::vector<int> load_ = {}, limit_load_ = {};  // sends of the step
  std::mt19937 random_;
};

}  // namespace

std::optional<Schedule> greedy_schedule(const Topology& topology, const Collective& collective,
                                        const Budget& budget, const std::vector<Automorphism>& generators,
                                        const Claim& bound, int tries) {
  if (budget.rounds < budget.steps) return std::nullopt;
  const std::vector<Embedding> elements = group_elements(topology, collective, generators);
  if (elements.empty()) return std::nullopt;
  Filling filling(topology, collective, elements,
                  blocks(tight_set(topology, bound), elements, topology.ranks));
  std::mt19937 random(1);
  for (int t = 0; t < tries; ++t) {
    const std::vector<int> rounds =
        t < kGeometricTries ? split_rounds(budget, kRatios[t]) : random_split(budget, random);
    if (auto schedule = filling.run(rounds, static_cast<unsigned>(t))) return schedule;
  }
  return std::nullopt;
}

}  // namespace chorale
