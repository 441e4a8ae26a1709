// Two things bliss does not give: automorphisms with their images of links and limits, and small groups
// without fixed ranks.
//
// The graph that bliss gets has a vertex for each rank, two for each link (its tail and its head, which show
// the direction) and one for each shared limit, joined to the tails of its links; colours distinguish kinds,
// bandwidths and prices. Of the answer only the ranks are used: links and limits are matched again
// (automorphism), and a permutation that does not match is not a symmetry.
//
// The whole group is tried first, since its formulas are the smallest (dgx1 Allgather (3,7,6): 594 conflicts,
// and 2,056 or more with its subgroups), and besides it small ones: generators as bliss finds them mostly fix
// some rank, so elements without fixed ranks are guessed from the numbering (which is how tori, hypercubes
// and equal nodes are numbered) and drawn as random products, and groups are grown from them by closure,
// given up as soon as an element fixes a rank. In a group that fixes none, every rank has as many images as
// the group has elements, so a formula shrinks evenly by that.
//
// Alternatives that lost: the first four of the largest free groups, which mostly are images of each other:
// on torus:4x4, 35 groups are of 10 kinds, and AllReduce (4,4,3) is found under two of them that were not
// among the four. Groups of less than half the largest, too: they cost time on instances without an answer
// (amd-z52 AllReduce, 1 to 5 chunks: 12.6 s of CPU time, 9.5 without).
#include "graph/automorphisms.h"

#include <algorithm>
#include <bliss/graph.hh>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

using Permutation = std::vector<int>;

auto kind(const Link& l) {
  return std::tuple(l.bandwidth, l.alpha_us, l.beta_us_per_byte);
}

std::tuple<int, bool, bool> kind(const SharedLimit& limit) {
  return {limit.bandwidth, limit.abilities.multicast, limit.abilities.reduce};
}

Permutation identity(int n) {
  Permutation p(n);
  std::iota(p.begin(), p.end(), 0);
  return p;
}

Permutation product(const Permutation& first, const Permutation& then) {
  Permutation result(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) result[i] = then[first[i]];
  return result;
}

// All cycles of one length: no power but the identity fixes a point. (1 2)(3 4 5) moves all, and its square
// fixes 1.
bool acts_freely(const Permutation& p) {
  std::vector<bool> seen(p.size(), false);
  int length = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (seen[i]) continue;
    int cycle = 0;
    for (int at = static_cast<int>(i); !seen[at]; at = p[at]) {
      seen[at] = true;
      ++cycle;
    }
    if (length != 0 && cycle != length) return false;
    length = cycle;
  }
  return length > 1;
}

// All elements; empty if some of them but the identity fixes a point, which a group of more elements than
// points has.
std::vector<Permutation> free_closure(const std::vector<Permutation>& generators, int points) {
  std::set<Permutation> known = {identity(points)};
  std::vector<Permutation> elements(known.begin(), known.end());
  for (std::size_t i = 0; i < elements.size(); ++i)
    for (const Permutation& g : generators) {
      Permutation next = product(elements[i], g);
      if (known.contains(next)) continue;
      // A product of two free elements may fix a point, so each new one is examined. Products with generators
      // from the right reach every element, since powers are inverses in a finite group.
      if (!acts_freely(next) || static_cast<int>(elements.size()) >= points) return {};
      known.insert(next);
      elements.push_back(std::move(next));
    }
  return elements;
}

bool keeps_colours(const Permutation& p, const std::vector<int>& colours) {
  for (std::size_t n = 0; n < p.size(); ++n)
    if (colours[n] != colours[p[n]]) return false;
  return true;
}

// Permutations that numbering by position suggests: rotations within blocks of consecutive ranks, rotations
// by whole blocks, flips of a bit. On a torus, a hypercube or equal nodes these are the translations.
std::vector<Permutation> by_position(int ranks) {
  std::vector<Permutation> result;
  for (int block = ranks; block >= 1; --block) {
    if (ranks % block != 0) continue;
    Permutation within(ranks), whole(ranks);
    for (int n = 0; n < ranks; ++n) {
      within[n] = n / block * block + (n % block + 1) % block;
      whole[n] = (n + block) % ranks;
    }
    if (block > 1) result.push_back(within);
    if (block < ranks) result.push_back(whole);
  }
  for (int bit = 1; bit < ranks; bit *= 2) {
    if (ranks % (2 * bit) != 0) continue;
    Permutation flip(ranks);
    for (int n = 0; n < ranks; ++n) flip[n] = n ^ bit;
    result.push_back(flip);
  }
  return result;
}

// Elements of the group that act freely, from products of generators drawn with a fixed seed.
std::vector<Permutation> by_chance(const SymmetryGroup& group, int ranks) {
  constexpr int kDraws = 300, kLength = 12;
  std::vector<Permutation> result;
  if (group.generators.empty()) return result;
  std::mt19937 random(1);
  for (int draw = 0; draw < kDraws; ++draw) {
    Permutation p = identity(ranks);
    for (int k = 0; k < kLength; ++k)
      p = product(p, group.generators[random() % group.generators.size()].ranks);
    for (Permutation power = p; power != identity(ranks); power = product(power, p))
      if (acts_freely(power)) {
        result.push_back(power);
        break;
      }
  }
  return result;
}

struct Subgroup {
  std::vector<Permutation> generators = {};
  std::vector<Permutation> elements = {};
};

// Joins elements that keep the subgroup free, greedily from each start. A free group has at most as many
// elements as there are ranks, so one of that size is maximal. The group of the start alone is kept as well:
// small groups leave more schedules.
std::vector<Subgroup> grow(const std::vector<Permutation>& elements, int ranks) {
  constexpr std::size_t kStarts = 24;
  std::vector<Subgroup> result;
  for (std::size_t start = 0; start < std::min(kStarts, elements.size()); ++start) {
    Subgroup group{.generators = {elements[start]}, .elements = free_closure({elements[start]}, ranks)};
    if (group.elements.empty()) continue;
    result.push_back(group);
    for (std::size_t k = 0; k < elements.size() && static_cast<int>(group.elements.size()) < ranks; ++k) {
      if (std::find(group.elements.begin(), group.elements.end(), elements[k]) != group.elements.end())
        continue;
      std::vector<Permutation> generators = group.generators;
      generators.push_back(elements[k]);
      std::vector<Permutation> closure = free_closure(generators, ranks);
      if (!closure.empty()) group = {.generators = std::move(generators), .elements = std::move(closure)};
    }
    if (group.generators.size() > 1) result.push_back(std::move(group));
  }
  return result;
}

// How far each element carries the ranks, in hops: the same for subgroups that a symmetry of the machine
// carries to each other, which answer the same questions.
using Reach = std::vector<std::vector<int>>;

Reach reach_of(const Subgroup& group, const std::vector<std::vector<int>>& hops_between) {
  Reach reach;
  for (const Permutation& p : group.elements) {
    std::vector<int>& moves = reach.emplace_back();
    for (std::size_t n = 0; n < p.size(); ++n) moves.push_back(hops_between[n][p[n]]);
    std::sort(moves.begin(), moves.end());
  }
  std::sort(reach.begin(), reach.end());
  return reach;
}

// Vertex colours of bliss, and its edges. Ranks come first, then the tail and the head of each link.
using VertexKind = std::tuple<int, int, double, double>;  // what, and its kind

struct Vertices {
  std::vector<VertexKind> kinds = {};
  std::vector<std::pair<int, int>> edges = {};
};

// Ranks, links and limits are vertices: a link hangs between its ends by a vertex for each, so that direction
// counts.
Vertices vertices_of(const Topology& topology, const std::vector<int>& rank_colours) {
  Vertices result;
  const auto add = [&](int what, int a, double b, double c) {
    result.kinds.emplace_back(what, a, b, c);
    return static_cast<int>(result.kinds.size()) - 1;
  };
  for (Rank n = 0; n < topology.ranks; ++n) add(0, rank_colours[n], 0, 0);
  for (const Link& l : topology.links) {
    const int tail = add(1, l.bandwidth, l.alpha_us, l.beta_us_per_byte);
    const int head = add(2, l.bandwidth, l.alpha_us, l.beta_us_per_byte);
    result.edges.insert(result.edges.end(), {{l.src, tail}, {tail, head}, {head, l.dst}});
  }
  for (const SharedLimit& limit : topology.limits) {
    const int vertex = add(3, limit.bandwidth, limit.abilities.multicast, limit.abilities.reduce);
    for (LinkId l : limit.links) result.edges.emplace_back(vertex, topology.ranks + 2 * l);
  }
  return result;
}

bliss::Graph graph_of(const Vertices& vertices, const std::map<VertexKind, unsigned>& colours) {
  bliss::Graph graph;
  for (const VertexKind& each : vertices.kinds) graph.add_vertex(colours.at(each));
  for (const auto& [a, b] : vertices.edges)
    graph.add_edge(static_cast<unsigned>(a), static_cast<unsigned>(b));
  return graph;
}

}  // namespace

Automorphism compose(const Automorphism& first, const Automorphism& then) {
  return {.ranks = product(first.ranks, then.ranks),
          .links = product(first.links, then.links),
          .limits = product(first.limits, then.limits)};
}

int order(const Automorphism& a) {
  int n = 1;
  for (Automorphism power = a; power.ranks != identity(static_cast<int>(a.ranks.size()));
       power = compose(power, a))
    ++n;
  return n;
}

namespace {

using Ends = std::tuple<Rank, Rank, std::tuple<int, double, double>>;

Ends ends_of(const Link& link) {
  return {link.src, link.dst, kind(link)};
}

}  // namespace

// Parallel links of one kind are matched by their numbers, so one permutation of ranks is one automorphism at
// most; limits that would only fit with parallel links exchanged do not count as symmetric here.
std::optional<Automorphism> automorphism(const Topology& topology, const std::vector<Rank>& ranks) {
  const std::vector<Link>& links = topology.links;
  std::vector<LinkId> order = identity(static_cast<int>(links.size()));
  std::ranges::stable_sort(order, {}, [&](LinkId l) { return ends_of(links[l]); });
  Automorphism result{.ranks = ranks, .links = std::vector<LinkId>(links.size())};
  for (auto first = order.begin(); first != order.end();) {
    const Ends ends = ends_of(links[*first]);
    const auto last = std::find_if(first, order.end(), [&](LinkId l) { return ends_of(links[l]) != ends; });
    const Ends image = {ranks[std::get<0>(ends)], ranks[std::get<1>(ends)], std::get<2>(ends)};
    const auto targets =
        std::ranges::equal_range(order, image, {}, [&](LinkId l) { return ends_of(links[l]); });
    if (std::ssize(targets) != last - first) return std::nullopt;
    for (auto to = targets.begin(); first != last; ++first, ++to) result.links[*first] = *to;
  }
  std::map<std::pair<std::vector<LinkId>, std::tuple<int, bool, bool>>, std::vector<int>> by_links;
  for (std::size_t i = 0; i < topology.limits.size(); ++i)
    by_links[{topology.limits[i].links, kind(topology.limits[i])}].push_back(static_cast<int>(i));
  result.limits.resize(topology.limits.size());
  for (const auto& [key, limits] : by_links) {
    std::vector<LinkId> image;
    for (LinkId l : key.first) image.push_back(result.links[l]);
    // Links of a limit are ascending (ir/topology.h).
    std::sort(image.begin(), image.end());
    const auto target = by_links.find({image, key.second});
    if (target == by_links.end() || target->second.size() != limits.size()) return std::nullopt;
    for (std::size_t i = 0; i < limits.size(); ++i) result.limits[limits[i]] = target->second[i];
  }
  return result;
}

Renumbering canonical_numbering(const Topology& topology, const std::vector<int>& rank_colours) {
  const Vertices vertices = vertices_of(topology, rank_colours);
  std::map<VertexKind, unsigned> colours;  // in the order of what they stand for, which no numbering changes
  for (const VertexKind& each : vertices.kinds) colours.emplace(each, 0);
  unsigned next = 0;
  for (auto& [each, colour] : colours) colour = next++;
  bliss::Graph graph = graph_of(vertices, colours);
  bliss::Stats stats;
  const unsigned* const label = graph.canonical_form(stats, nullptr, nullptr);
  Renumbering result{.ranks = identity(topology.ranks),
                     .links = identity(static_cast<int>(topology.links.size()))};
  // Ranks by their labels; links by their ends, and parallel ones, which shared limits may distinguish, by
  // the label of their tail.
  Permutation order = result.ranks;
  std::ranges::sort(order, {}, [&](Rank n) { return label[n]; });
  for (std::size_t i = 0; i < order.size(); ++i) result.ranks[order[i]] = static_cast<Rank>(i);
  order = result.links;
  std::ranges::sort(order, {}, [&](LinkId l) {
    const Link& link = topology.links[l];
    return std::tuple(result.ranks[link.src], result.ranks[link.dst], kind(link),
                      label[topology.ranks + 2 * l]);
  });
  for (std::size_t i = 0; i < order.size(); ++i) result.links[order[i]] = static_cast<LinkId>(i);
  return result;
}

SymmetryGroup symmetry_group(const Topology& topology, const std::vector<int>& rank_colours) {
  const Vertices vertices = vertices_of(topology, rank_colours);
  std::map<VertexKind, unsigned> colours;  // as they come
  for (const VertexKind& each : vertices.kinds)
    colours.try_emplace(each, static_cast<unsigned>(colours.size()));
  bliss::Graph graph = graph_of(vertices, colours);
  struct Found {
    const Topology& topology;
    SymmetryGroup group = {};
  } found{topology};
  bliss::Stats stats;
  graph.find_automorphisms(
      stats,
      [](void* where, unsigned, const unsigned* image) {
        Found& to = *static_cast<Found*>(where);
        Permutation permutation(to.topology.ranks);
        for (Rank n = 0; n < to.topology.ranks; ++n) permutation[n] = static_cast<Rank>(image[n]);
        if (permutation == identity(to.topology.ranks)) return;  // exchanges parallel links only
        if (auto a = automorphism(to.topology, permutation)) to.group.generators.push_back(std::move(*a));
      },
      &found);
  // Of the graph: exchanges of parallel links count as well.
  found.group.order = static_cast<double>(stats.get_group_size_approx());
  return found.group;
}

std::vector<Rank> different_ranks(const Topology& topology) {
  DisjointSets alike(topology.ranks);
  for (const Automorphism& each : symmetry_group(topology, std::vector<int>(topology.ranks)).generators)
    for (Rank n = 0; n < topology.ranks; ++n) alike.join(n, each.ranks[n]);
  std::vector<Rank> ranks = identity(topology.ranks);
  std::erase_if(ranks, [&](Rank n) { return alike.find(n) != n; });
  return ranks;
}

namespace {

std::vector<Subgroup> free_subgroups(const Topology& topology, const std::vector<int>& rank_colours,
                                     const SymmetryGroup& group) {
  std::vector<Permutation> elements;
  for (Permutation& p : by_position(topology.ranks))
    if (keeps_colours(p, rank_colours) && acts_freely(p) && automorphism(topology, p))
      elements.push_back(std::move(p));
  for (Permutation& p : by_chance(group, topology.ranks))
    if (std::find(elements.begin(), elements.end(), p) == elements.end()) elements.push_back(std::move(p));
  return grow(elements, topology.ranks);
}

}  // namespace

std::vector<std::vector<Rank>> largest_free_subgroup(const Topology& topology) {
  std::vector<Permutation> best = {identity(topology.ranks)};
  const std::vector<int> colours(topology.ranks, 0);
  for (Subgroup& each : free_subgroups(topology, colours, symmetry_group(topology, colours)))
    if (each.elements.size() > best.size()) best = std::move(each.elements);
  return best;
}

std::vector<std::vector<Automorphism>> candidate_subgroups(const Topology& topology,
                                                           const std::vector<int>& rank_colours, int most) {
  const SymmetryGroup group = symmetry_group(topology, rank_colours);
  std::vector<Subgroup> subgroups = free_subgroups(topology, rank_colours, group);
  // A group with a fixed rank (the root of a Broadcast) does not have a free element; small cyclic ones still
  // help there.
  if (subgroups.empty())
    for (const Automorphism& g : group.generators)
      subgroups.push_back({.generators = {g.ranks}, .elements = {}});
  std::stable_sort(subgroups.begin(), subgroups.end(), [](const Subgroup& a, const Subgroup& b) {
    return a.elements.size() > b.elements.size();
  });
  std::vector<std::vector<Automorphism>> result;
  if (group.generators.size() > 1) result.push_back(group.generators);
  std::vector<std::vector<int>> hops_between;
  const HopCounts hops(topology);
  for (Rank n = 0; n < topology.ranks; ++n) hops_between.push_back(hops.from({n}));
  std::set<Reach> known;
  for (const Subgroup& subgroup : subgroups) {
    // Larger groups come first, so the rest is smaller still.
    if (static_cast<int>(result.size()) == most ||
        2 * subgroup.elements.size() < subgroups.front().elements.size())
      break;
    if (!subgroup.elements.empty() && !known.insert(reach_of(subgroup, hops_between)).second) continue;
    result.emplace_back();
    for (const Permutation& p : subgroup.generators) result.back().push_back(*automorphism(topology, p));
  }
  return result;
}

// Chunks that the same ranks have and need are one class, and its members can be exchanged freely. So a
// symmetry is one of the collective if it carries classes to classes of the same size; members go by their
// numbers, which makes the chunks of a product the product of the chunks.
//
// Example: on a ring of 3, the rotation by one carries the two chunks of an Allgather that rank 0 has to
// those that rank 1 has, the first to the first, the second to the second. A Broadcast's root has to stay
// where it is, or the class does not have an image.

namespace {

RankSet image(const RankSet& ranks, const std::vector<Rank>& permutation) {
  std::vector<Rank> result;
  for (Rank n : ranks) result.push_back(permutation[n]);
  return result;
}

}  // namespace

std::optional<std::vector<Chunk>> induced_chunks(const Collective& collective,
                                                 const Automorphism& automorphism) {
  if (collective.order.kind == SumOrder::Kind::Fixed &&
      renumbered(collective.order.tree, automorphism.ranks) != collective.order.tree)
    return std::nullopt;
  const std::vector<ChunkClass> classes = chunk_classes(collective);
  const auto ends = [](const ChunkClass& each) { return std::tie(each.pre, each.post); };
  std::vector<Chunk> result(collective.chunks.size());
  for (const ChunkClass& from : classes) {
    const RankSet pre = image(from.pre, automorphism.ranks), post = image(from.post, automorphism.ranks);
    // Classes are sorted by pre, then post.
    const auto to = std::ranges::lower_bound(classes, std::tie(pre, post), {}, ends);
    if (to == classes.end() || ends(*to) != std::tie(pre, post) || to->count() != from.count())
      return std::nullopt;
    for (std::size_t i = 0; i < from.chunks.size(); ++i) result[from.chunks[i]] = to->chunks[i];
  }
  return result;
}

namespace {

// The links of a rank, by what they lead to, where two ranks are not distinguished: equal if these can be
// exchanged, and compared before the whole machine is.
std::vector<Ends> links_of(const Topology& topology, const std::vector<LinkId>& links, Rank a, Rank b) {
  std::vector<Ends> ends;
  for (const LinkId l : links) {
    Link link = topology.links[l];
    for (Node* node : {&link.src, &link.dst})
      if (*node == b) *node = a;
    ends.push_back(ends_of(link));
  }
  std::ranges::sort(ends);
  return ends;
}

}  // namespace

std::vector<Automorphism> rank_exchanges(const Topology& topology, const Collective& collective) {
  std::vector<std::vector<LinkId>> links(topology.ranks);
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    for (const Node n : {topology.links[l].src, topology.links[l].dst}) links[n].push_back(l);
  const std::vector<int> colours = rank_colours(collective);
  std::vector<Automorphism> exchanges;
  std::vector<Rank> last;  // of each class
  const auto exchanged = [&](Rank a, Rank b) {
    if (colours[a] != colours[b] || links_of(topology, links[a], a, b) != links_of(topology, links[b], a, b))
      return false;
    std::vector<Rank> ranks = identity(topology.ranks);
    std::swap(ranks[a], ranks[b]);
    auto found = automorphism(topology, ranks);
    if (!found || !induced_chunks(collective, *found)) return false;
    exchanges.push_back(std::move(*found));
    return true;
  };
  for (Rank n = 0; n < topology.ranks; ++n) {
    const auto before = std::ranges::find_if(last, [&](Rank m) { return exchanged(m, n); });
    if (before == last.end())
      last.push_back(n);
    else
      *before = n;
  }
  return exchanges;
}

// A role is to have a chunk that a number of ranks need, or to need one that a number of ranks have; even and
// odd numbers distinguish the two.
std::vector<int> rank_colours(const Collective& collective) {
  std::vector<std::vector<int>> roles(collective.ranks);
  for (const ChunkSpec& spec : collective.chunks) {
    for (Rank n : spec.pre) roles[n].push_back(static_cast<int>(2 * spec.post.size()));
    for (Rank n : spec.post) roles[n].push_back(static_cast<int>(2 * spec.pre.size() + 1));
  }
  for (auto& role : roles) std::sort(role.begin(), role.end());
  const std::set<std::vector<int>> kinds(roles.begin(), roles.end());
  std::vector<int> colours;
  for (const auto& role : roles)
    colours.push_back(static_cast<int>(std::distance(kinds.begin(), kinds.find(role))));
  return colours;
}

// A digit is a stride and a number of values. Adding one to it, modulo its values, is a symmetry or not,
// whatever the other digits are; so each possible digit is tried once, and a number system is composed of the
// symmetric digits, such that shifts move a rank to as many others as possible. Shifts of different digits
// commute, so all combinations of them are the group.
//
// Alternative that lost: generators from bliss (automorphisms.h), and free subgroups composed of random
// products of them, which takes minutes at 1,024 ranks and may miss the group that acts on all ranks alike.

namespace {

struct Digit {
  int stride = 1;
  int values = 1;
};

Rank turned(Rank n, const Digit& digit, int by) {
  const int value = n / digit.stride % digit.values;
  return n + ((value + by) % digit.values - value) * digit.stride;
}

class Digits {
 public:
  explicit Digits(const Topology& topology) : topology_(topology) {
    for (const Link& link : topology.links) links_.push_back(ends(link.src, link.dst, link));
    std::ranges::sort(links_);
  }

  // Such that their shifts carry a rank to as many others as possible.
  std::vector<Digit> best() { return below(topology_.ranks); }

 private:
  using Ends = std::tuple<Rank, Rank, int>;
  static Ends ends(Rank src, Rank dst, const Link& link) { return {src, dst, link.bandwidth}; }

  // For the digits under this stride, which divides the ranks.
  std::vector<Digit> below(int stride) {
    if (const auto known = best_.find(stride); known != best_.end()) return known->second;
    std::vector<Digit> most;
    long long reach = 1;
    for (int values = stride; values > 1; --values) {
      if (stride % values != 0) continue;
      const Digit digit{.stride = stride / values, .values = values};
      std::vector<Digit> digits = below(digit.stride);
      if (is_symmetry(digit)) digits.push_back(digit);
      long long carried = 1;
      for (const Digit& d : digits) carried *= d.values;
      if (carried > reach) {
        reach = carried;
        most = std::move(digits);
      }
      if (reach == stride) break;
    }
    return best_[stride] = most;
  }

  // Most digits that are not symmetric fail at the first links.
  bool is_symmetry(const Digit& digit) {
    for (const Link& link : topology_.links)
      if (!std::ranges::binary_search(links_,
                                      ends(turned(link.src, digit, 1), turned(link.dst, digit, 1), link)))
        return false;
    std::vector<Rank> ranks(topology_.ranks);
    for (Rank n = 0; n < topology_.ranks; ++n) ranks[n] = turned(n, digit, 1);
    return automorphism(topology_, ranks).has_value();
  }

  const Topology& topology_;
  std::vector<Ends> links_ = {};  // sorted
  std::map<int, std::vector<Digit>> best_ = {};
};

}  // namespace

std::vector<std::vector<Rank>> digit_shifts(const Topology& topology) {
  std::vector<std::vector<Rank>> group(1);
  for (Rank n = 0; n < topology.ranks; ++n) group.front().push_back(n);
  for (const Digit& digit : Digits(topology).best()) {
    const std::size_t before = group.size();
    for (int by = 1; by < digit.values; ++by)
      for (std::size_t g = 0; g < before; ++g) {
        std::vector<Rank> ranks = group[g];
        for (Rank& n : ranks) n = turned(n, digit, by);
        group.push_back(std::move(ranks));
      }
  }
  return group;
}

namespace {

constexpr std::size_t kMostLinks =
    5000;  // for which bliss and products of its generators take some hundredths

}  // namespace

std::vector<std::vector<Rank>> free_symmetries(const Topology& topology) {
  std::vector<std::vector<Rank>> shifts = digit_shifts(topology);
  if (std::ssize(shifts) == topology.ranks || topology.links.size() > kMostLinks) return shifts;
  std::vector<std::vector<Rank>> found = largest_free_subgroup(topology);
  return found.size() > shifts.size() ? found : shifts;
}

}  // namespace chorale
