// A table of the algorithms; what they share (order, rings, chunks, links, cost) is prepared and finished
// around the one line that each of them is.
//
// A line states a plan (construct/baselines/plan.h): which rank sends which chunk to which rank, as if all
// ranks were linked with all. Only on_topology() knows the machine, so no algorithm has a case for one. An
// algorithm that does not fit is refused, and the missing link is named.
//
// Half of the table is the other half reversed: a plan that spreads a chunk from one rank, reversed and with
// sums, collects its sum there. So an Allgather makes a ReduceScatter, a Broadcast a Reduce, and the two one
// after the other an AllReduce. Trees are not concatenated: the broadcast begins while later chunks are still
// being reduced.
#include "construct/baselines/classic.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "construct/baselines/plan.h"
#include "construct/baselines/rings.h"
#include "ir/error.h"
#include "ir/words.h"

namespace chorale {
namespace {

struct Request {
  int ranks = 0;
  int chunks = 1;                // of a block of what the plan moves
  std::vector<Rank> order = {};  // starts at the root
  std::vector<Ring> rings = {};  // of ring algorithms
  std::vector<Tree> trees = {};  // of AllReduces on trees, and disjoint ones
  std::vector<std::vector<Rank>> nodes = {};
  int slices = 1;
};

// One or two over the nodes of the machine, with chains inside; a heap of ranks; those of a hypercube; of
// switches that add.
enum class Trees { None, One, Two, Heap, Disjoint, Nvls, NvlsTree, CollnetDirect, CollnetChain };

bool is_by_switches(Trees kind) {
  return kind > Trees::Disjoint;
}
bool is_by_network(Trees kind) {
  return kind == Trees::CollnetDirect || kind == Trees::CollnetChain;
}

// What an algorithm is, and what it needs.
enum Trait : unsigned {
  kOfNccl = 1,
  kPipelined = 2,
  kOneRing = 4,
  kManyRings = 8,
  kComposed = 16,  // of a collective of blocks and an Allgather: its vector has a block for each rank
  kPowerOfTwo = 32,
  kOfNodes = 64,
};
using Q = const Request&;
using PlanOf = Plan(Q);

struct Row {
  Method method = Method::Direct;
  CollectiveKind collective = CollectiveKind::Custom;
  const char* description = "";
  PlanOf* plan = nullptr;
  unsigned traits = 0;
  Trees trees = Trees::None;
  bool is(unsigned some) const { return (traits & some) != 0; }
};

// Recursive doubling, halving (its reverse) and direct exchanges, by position in an order: in step k
// positions whose numbers differ in bit k exchange. By doubling, each rank has what the 2^k positions of its
// block have, and gets what the 2^k of the neighbouring block have: after log2(n) steps all, and nothing
// twice. Two that exchange and add in one step both end with the sum of both, since sends read what was there
// before the step.
Plan doubling_allgather(Q q) {
  Plan plan;
  for (int k = 0; 1 << k < q.ranks; ++k)
    for (int i = 0; i < q.ranks; ++i)
      // the positions whose blocks i has received
      for (int j = i >> k << k; j < (i >> k << k) + (1 << k); ++j)
        for (int piece = 0; piece < q.chunks; ++piece)
          add(plan, k,
              {.chunk = q.order[j] * q.chunks + piece, .src = q.order[i], .dst = q.order[i ^ 1 << k]});
  return plan;
}

Plan doubling_allreduce(Q q) {
  Plan plan;
  for (int k = 0; 1 << k < q.ranks; ++k)
    for (int i = 0; i < q.ranks; ++i)
      for (Chunk c = 0; c < q.chunks; ++c)
        add(plan, k, {.chunk = c, .src = q.order[i], .dst = q.order[i ^ 1 << k], .reduce = true});
  return plan;
}

// From each rank to each other its block for it: all in one step, or in step s to the rank that is s + 1
// further on. Where contributions are sent, what arrives in the step is not read in it.
Plan exchanged(Q q, const std::function<int(Rank from, Rank to)>& block, bool at_once = true,
               bool reduce = false) {
  Plan plan;
  for (Rank n = 0; n < q.ranks; ++n)
    for (Rank m = 0; m < q.ranks; ++m)
      for (int i = 0; n != m && i < q.chunks; ++i)
        add(plan, at_once ? 0 : (m - n + q.ranks) % q.ranks - 1,
            {.chunk = block(n, m) * q.chunks + i, .src = n, .dst = m, .reduce = reduce});
  return plan;
}
Plan direct_allgather(Q q) {
  return exchanged(q, [](Rank from, Rank) { return from; });
}
Plan one_shot_allreduce(Q q) {
  return exchanged(
      q, [](Rank, Rank) { return 0; }, true, true);
}
template <bool at_once>
Plan direct_alltoall(Q q) {
  return exchanged(
      q, [&](Rank from, Rank to) { return from * q.ranks + to; }, at_once);
}

// The root's own part goes from it to all in the second step.
Plan direct_broadcast(Q q) {
  Plan plan;
  const Rank root = q.order.front();
  for (const Rank part : q.order)
    for (int i = 0; i < q.chunks; ++i)
      for (const Rank n : q.order) {
        const Chunk chunk = part * q.chunks + i;
        if (n == root) continue;
        if (n == part) add(plan, 0, {.chunk = chunk, .src = root, .dst = n});
        if (n != part) add(plan, 1, {.chunk = chunk, .src = part, .dst = n});
      }
  return plan;
}

// In step k a position has the blocks of the 2^k from its own on, and sends the position 2^k before it those
// which that lacks (Bruck et al. 1997; any number of ranks).
Plan bruck_allgather(Q q) {
  Plan plan;
  const int n = q.ranks;
  for (int k = 0; 1 << k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < std::min(1 << k, n - (1 << k)); ++j)
        for (int piece = 0; piece < q.chunks; ++piece)
          add(plan, k,
              {.chunk = q.order[(i + j) % n] * q.chunks + piece,
               .src = q.order[i],
               .dst = q.order[(i + n - (1 << k)) % n]});
  return plan;
}

// A block goes by the binary digits of its distance, the lowest first: in step k by 2^k where it has digit k.
Plan bruck_alltoall(Q q) {
  Plan plan;
  const int n = q.ranks;
  for (int k = 0; 1 << k < n; ++k)
    for (int from = 0; from < n; ++from)
      for (int far = 1; far < n; ++far)
        for (int piece = 0; (far >> k & 1) != 0 && piece < q.chunks; ++piece) {
          const int at = from + (far & ((1 << k) - 1));
          add(plan, k,
              {.chunk = (q.order[from] * n + q.order[(from + far) % n]) * q.chunks + piece,
               .src = q.order[at % n],
               .dst = q.order[(at + (1 << k)) % n]});
        }
  return plan;
}

// First between ranks of one position in their nodes, then all that these have inside of nodes. Of several
// slices one goes between nodes while the one before goes inside: of any two nodes at one distance (modulo
// their number), so that all of them send and receive as much in each.
Plan hierarchical_allgather(Q q) {
  Plan plan;
  const int count = static_cast<int>(q.nodes.size());
  for (int to = 0; to < count; ++to)
    for (std::size_t at = 0; at < q.nodes[to].size(); ++at)
      for (int from = 0; from < count; ++from)
        for (int piece = 0; piece < q.chunks; ++piece) {
          const Rank src = q.nodes[from][at], dst = q.nodes[to][at];
          const Chunk chunk = src * q.chunks + piece;
          const int distance = (to - from + count) % count;
          const int slice = std::max(0, distance - 1) * q.slices / (count - 1);
          if (distance > 0) add(plan, slice, {.chunk = chunk, .src = src, .dst = dst});
          for (const Rank peer : q.nodes[to])
            if (peer != dst) add(plan, slice + 1, {.chunk = chunk, .src = dst, .dst = peer});
        }
  return plan;
}

// Block b goes down a binomial tree from its rank: in the step of distance d (the largest power of two below
// the number of ranks first) those that are a multiple of 2d behind it send it to the rank d further on. So
// blocks that go far go alone, and the steps of many blocks are near (NCCL's PAT; any number of ranks).
Plan pat_allgather(Q q) {
  Plan plan;
  const int n = q.ranks;
  int step = 0;
  for (int d = n > 1 ? 1 << (std::bit_width(static_cast<unsigned>(n - 1)) - 1) : 0; d > 0; d /= 2, ++step)
    for (int root = 0; root < n; ++root)
      for (int behind = 0; behind + d < n; behind += 2 * d)
        for (int piece = 0; piece < q.chunks; ++piece)
          add(plan, step,
              {.chunk = q.order[root] * q.chunks + piece,
               .src = q.order[(root + behind) % n],
               .dst = q.order[(root + behind + d) % n]});
  return plan;
}

// Step s, position i of the ring: passes on the block of position i - s, which it got in step s - 1 (in step
// 0 its own). Every link carries one chunk in every step for each ring over it.
Plan ring_allgather(Q q) {
  Plan plan;
  for (int i = 0; i < q.chunks; ++i) {
    const auto& [ring, links] = q.rings[i % q.rings.size()];
    for (int s = 0; s < q.ranks - 1; ++s)
      for (int at = 0; at < q.ranks; ++at)  // what was its own s steps before comes from behind
        add(plan, s,
            {.chunk = ring[(at - s + q.ranks) % q.ranks] * q.chunks + i,
             .src = ring[at],
             .dst = ring[(at + 1) % q.ranks],
             .link = links.empty() ? -1 : links[at]});
  }
  return plan;
}

// From the root to the last rank. Chunks of one ring start one step after the other, those of different rings
// together.
Plan ring_broadcast(Q q) {
  Plan plan;
  const int count = static_cast<int>(q.rings.size());
  for (Chunk c = 0; c < q.chunks; ++c) {
    const auto& [ring, links] = q.rings[c % count];
    const std::size_t n = ring.size(), from = std::ranges::find(ring, q.order.front()) - ring.begin();
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const std::size_t at = (from + i) % n;
      add(plan, c / count + static_cast<int>(i),
          {.chunk = c, .src = ring[at], .dst = ring[(at + 1) % n], .link = links.empty() ? -1 : links[at]});
    }
  }
  return plan;
}

// A rank at depth d sends up in step height - d, one after all its children, and receives in step height + d
// - 1, one after its parent; both counted from the step in which the chunk starts. Chunks of one tree start
// one step after the other, those of different trees together; of copies alone none goes up.
template <bool sums>
Plan on_trees(Q q) {
  Plan plan;
  const int count = static_cast<int>(q.trees.size());
  for (Chunk c = 0; c < q.chunks; ++c) {
    const Tree& tree = q.trees[c % count];
    const int start = c / count + (sums ? tree.height() : 0);
    for (Rank n = 0; n < q.ranks; ++n) {
      const Rank above = tree.parent[n];
      if (above < 0) continue;
      if (sums) add(plan, start - tree.depth[n], {.chunk = c, .src = n, .dst = above, .reduce = true});
      add(plan, start + tree.depth[n] - 1, {.chunk = c, .src = above, .dst = n});
    }
  }
  return plan;
}

// In step k the first 2^k positions send to the next 2^k.
Plan binomial_broadcast(Q q) {
  Plan plan;
  for (int k = 0; 1 << k < q.ranks; ++k)
    for (int i = 0; i < 1 << k && i + (1 << k) < q.ranks; ++i)
      for (Chunk c = 0; c < q.chunks; ++c)
        add(plan, k, {.chunk = c, .src = q.order[i], .dst = q.order[i + (1 << k)]});
  return plan;
}

// In step k a position that is an odd multiple of 2^k passes on what the 2^k positions from it on have had,
// and is done.
Plan binomial_gather(Q q) {
  Plan plan;
  for (int k = 0; 1 << k < q.ranks; ++k)
    for (int i = 1 << k; i < q.ranks; i += 2 << k)
      for (int j = i; j < std::min(i + (1 << k), q.ranks); ++j)
        for (int piece = 0; piece < q.chunks; ++piece)
          add(plan, k,
              {.chunk = q.order[j] * q.chunks + piece, .src = q.order[i], .dst = q.order[i - (1 << k)]});
  return plan;
}

// Backwards: the parts of what is gathered are handed out, or what is copied is added up, over the same links
// of rings that are reversed, too.
template <PlanOf* gather>
Plan scattered(Q q) {
  return backwards(gather(q), false);
}
template <PlanOf* copies>
Plan summed(Q q) {
  Request back = q;
  for (Ring& ring : back.rings) ring = reversed_ring(ring);
  return backwards(copies(back), true);
}
// The sum of a block ends where the Allgather needs the block to begin, since it is the same plan.
template <PlanOf* gather>
Plan both(Q q) {
  return summed<gather>(q) + gather(q);
}

const std::vector<Row>& table() {
  using enum CollectiveKind;
  using M = Method;
  static const std::vector<Row> rows = {
      {M::RingAllgather, Allgather, "blocks go round one ring", ring_allgather, kOneRing},
      {M::RingReduceScatter, ReduceScatter, "partial sums go round one ring", summed<ring_allgather>,
       kOneRing},
      {M::RingAllReduce, AllReduce, "ring ReduceScatter, then ring Allgather", both<ring_allgather>,
       kOneRing | kComposed},
      {M::MultiRingAllgather, Allgather, "over all rings that share the machine, as NCCL does",
       ring_allgather, kOfNccl | kManyRings},
      {M::MultiRingReduceScatter, ReduceScatter, "over all rings that share the machine",
       summed<ring_allgather>, kOfNccl | kManyRings},
      {M::MultiRingAllReduce, AllReduce, "over all rings that share the machine", both<ring_allgather>,
       kOfNccl | kManyRings | kComposed},
      {M::TreeBroadcast, Broadcast, "down a binary tree, chunks as a pipeline", on_trees<false>, 0,
       Trees::Heap},
      {M::TreeReduce, Reduce, "up a binary tree, chunks as a pipeline", summed<on_trees<false>>, 0,
       Trees::Heap},
      {M::TreeAllReduce, AllReduce,
       "up a binary tree of the nodes and down again, chains inside nodes, chunks as a pipeline",
       on_trees<true>, 0, Trees::One},
      {M::TwoTreeAllReduce, AllReduce, "over two trees that have no inner node in common, as NCCL does",
       on_trees<true>, kOfNccl, Trees::Two},
      {M::BinomialBroadcast, Broadcast, "in each step those that have it send it to as many others",
       binomial_broadcast},
      {M::BinomialReduce, Reduce, "in each step half of the ranks add into the other half",
       summed<binomial_broadcast>},
      {M::BinomialGather, Gather, "in each step half of the ranks pass on what they have", binomial_gather},
      {M::BinomialScatter, Scatter, "in each step a rank hands on half of what it has",
       scattered<binomial_gather>},
      {M::RecursiveDoublingAllgather, Allgather, "exchange all with the rank 1, 2, 4, ... away",
       doubling_allgather, kPowerOfTwo},
      {M::RecursiveHalvingReduceScatter, ReduceScatter, "exchange half of the sums, a quarter, ...",
       summed<doubling_allgather>, kPowerOfTwo},
      {M::RecursiveDoublingAllReduce, AllReduce, "exchange the whole sum 1, 2, 4, ... away",
       doubling_allreduce, kPowerOfTwo},
      {M::HalvingDoublingAllReduce, AllReduce, "recursive halving, then recursive doubling",
       both<doubling_allgather>, kComposed | kPowerOfTwo},
      {M::DirectAllgather, Allgather, "each rank sends its block to all others in one step",
       direct_allgather},
      {M::DirectReduceScatter, ReduceScatter, "each rank sends all others their blocks in one step",
       summed<direct_allgather>},
      {M::DirectAllReduce, AllReduce, "two-shot: direct ReduceScatter, then direct Allgather",
       both<direct_allgather>, kComposed},
      {M::OneShotAllReduce, AllReduce, "one-shot: each rank sends its whole vector to all others in one step",
       one_shot_allreduce},
      {M::DirectAlltoall, Alltoall, "each rank sends each other its block in one step", direct_alltoall<true>,
       kOfNccl},
      {M::PairwiseAlltoall, Alltoall, "in step s each rank sends to the one s further on",
       direct_alltoall<false>},
      {M::MultiRingBroadcast, Broadcast, "along all rings from the root, chunks as a pipeline, as NCCL does",
       ring_broadcast, kOfNccl | kManyRings},
      {M::MultiRingReduce, Reduce, "along all rings to the root, chunks as a pipeline, as NCCL does",
       summed<ring_broadcast>, kOfNccl | kManyRings},
      {M::PatAllgather, Allgather, "a binomial tree for each block, far hops first, as NCCL's PAT",
       pat_allgather},
      {M::PatReduceScatter, ReduceScatter, "the same backwards: near hops first, sums go far alone",
       summed<pat_allgather>},
      {M::NvlsAllReduce, AllReduce,
       "switches of a node add for the owner of a piece and copy its sum, as NCCL's NVLS", on_trees<true>,
       kOfNccl, Trees::Nvls},
      {M::NvlsTreeAllReduce, AllReduce,
       "the same in each node, its owners in two trees over the nodes, as NCCL's NVLSTree", on_trees<true>,
       kOfNccl, Trees::NvlsTree},
      {M::CollnetDirectAllReduce, AllReduce,
       "ranks of a node send to the owner of a piece, switches of the network add over nodes", on_trees<true>,
       0, Trees::CollnetDirect},
      {M::CollnetChainAllReduce, AllReduce,
       "along a chain in each node, switches of the network add over nodes", on_trees<true>, 0,
       Trees::CollnetChain},
      {M::DirectBroadcast, Broadcast,
       "the root sends each rank a part, each rank sends its part to all others", direct_broadcast,
       kComposed},
      {M::DirectReduce, Reduce, "direct ReduceScatter, then each rank sends its sums to the root",
       summed<direct_broadcast>, kComposed},
      {M::BruckAllgather, Allgather,
       "all blocks of a rank go to the rank 1, 2, 4, ... before it, for any number of ranks",
       bruck_allgather},
      {M::BruckAlltoall, Alltoall,
       "blocks go 1, 2, 4, ... ranks further, by the binary digits of their distance", bruck_alltoall},
      {M::DisjointTreesBroadcast, Broadcast,
       "down the binomial trees of a hypercube that share no link, as a pipeline", on_trees<false>,
       kPipelined | kPowerOfTwo, Trees::Disjoint},
      {M::DisjointTreesReduce, Reduce, "the same backwards", summed<on_trees<false>>,
       kPipelined | kPowerOfTwo, Trees::Disjoint},
      {M::HierarchicalAllgather, Allgather,
       "direct between ranks of one position in their nodes, then direct inside of nodes",
       hierarchical_allgather, kOfNodes},
      {M::HierarchicalReduceScatter, ReduceScatter, "the same backwards: sums of a node go to other nodes",
       summed<hierarchical_allgather>, kOfNodes},
      {M::HierarchicalAllReduce, AllReduce,
       "hierarchical ReduceScatter, then hierarchical Allgather: four steps", both<hierarchical_allgather>,
       kComposed | kOfNodes},
  };
  return rows;
}

const Row& find_row(Method method) {
  const auto row = std::ranges::find(table(), method, [](const Row& r) { return r.method; });
  assert(row != table().end());
  return *row;
}

Method known_method(const std::string& name) {
  std::vector<std::string> known;
  for (const Row& row : table()) {
    known.push_back(name_of(row.method));
    if (known.back() == name) return row.method;
  }
  throw unknown_name("baseline", name, known, "name");
}

// The order to use. Where there is a root it is first, as binary heaps and binomial trees have theirs: by
// rotation, and where positions are corners of a hypercube by reflection, which keeps neighbours.
std::vector<Rank> order_used(const Row& row, int ranks, const ClassicOptions& options) {
  std::vector<Rank> order = options.order;
  if (order.empty()) {
    order.resize(ranks);
    std::iota(order.begin(), order.end(), 0);
  }
  if (!is_rooted(row.collective)) return order;
  const auto root = std::find(order.begin(), order.end(), options.root);
  if (row.trees != Trees::Disjoint) {
    std::rotate(order.begin(), root, order.end());
    return order;
  }
  std::vector<Rank> reflected;
  for (int i = 0; i < ranks; ++i) reflected.push_back(order[i ^ (root - order.begin())]);
  return reflected;
}

// The reason why no machine of `ranks` ranks fits the algorithm with these options; nothing if there is none.
std::optional<Unsuited> misfit(const Row& row, int ranks, const ClassicOptions& options) {
  if (row.is(kPowerOfTwo) && (ranks & (ranks - 1)) != 0)
    return Unsuited{fmt::format("{} ranks are not a power of two", ranks), "use another algorithm"};
  if (options.chunks < 0 || options.chunks > 1'000'000)
    return Unsuited{fmt::format("{} chunks", options.chunks), "use 1 to 1000000"};
  std::vector<Rank> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  if (!options.order.empty() && !std::ranges::is_permutation(options.order, all))
    return Unsuited{"the order does not name every rank once",
                    fmt::format("list the ranks 0 to {}, each once", ranks - 1)};
  if (options.root < 0 || options.root >= ranks)
    return Unsuited{fmt::format("root {} is not a rank", options.root),
                    fmt::format("use 0 to {}", ranks - 1)};
  return {};
}

// Each other destination receives a chunk, and each contribution is sent; in one shot from each rank to each.
double least_sends(const Row& row, const Collective& collective) {
  double sends = 0;
  for (const ChunkSpec& chunk : collective.chunks) {
    const auto others = static_cast<double>(chunk.pre.size()) - 1;
    const auto receive = static_cast<double>(std::ranges::count_if(
        chunk.post, [&](Rank n) { return collective.combining || !chunk.pre.contains(n); }));
    sends += !collective.combining                    ? receive
             : row.method == Method::OneShotAllReduce ? others * (receive - 1)
                                                      : others + receive - 1;
  }
  return sends;
}

// Many rings are those of the machine, whatever the order. A single one is the order itself, or, where no
// order is given and 0, 1, 2, ... is not a ring (on dgx1, 3 and 4 are not linked), the widest that there is.
// One that has a missing link stays: the link will be named.
std::vector<Ring> rings_for(const Row& row, const Machine& machine, const Order& order, bool any_order) {
  if (!row.is(kOneRing | kManyRings)) return {};
  if (row.is(kManyRings))
    if (const std::vector<Ring>& rings = machine.once(ring_decomposition); !rings.empty()) return rings;
  if (any_order && !is_ring(machine, order))
    if (const Order& widest = machine.once(widest_ring); !widest.empty()) return {{.order = widest}};
  return {{.order = order}};
}

// By ring the chain of each node: from the rank by which the ring leaves the node back to the one by which it
// enters. On rails ranks are linked across nodes only with those of the same position, so all heads of a
// channel have the position of the first, where some ring leaves from there. Empty if a ring does not pass
// through one node after the other.
std::vector<std::vector<Order>> chains_of(const std::vector<Ring>& rings,
                                          const std::vector<std::vector<Rank>>& nodes) {
  std::map<Rank, std::pair<std::size_t, std::size_t>> place;  // node, and position in it
  for (std::size_t j = 0; j < nodes.size(); ++j)
    for (std::size_t i = 0; i < nodes[j].size(); ++i) place[nodes[j][i]] = {j, i};
  std::vector<std::vector<Order>> chains;
  for (const Ring& ring : rings) {
    std::vector<Order>& of_ring = chains.emplace_back();
    for (auto at = ring.order.begin(); at != ring.order.end();) {
      const std::size_t node = of_ring.size();
      const auto end = std::find_if(at, ring.order.end(), [&](Rank n) { return place[n].first != node; });
      if (node >= nodes.size() || end - at != std::ssize(nodes[node])) return {};
      of_ring.emplace_back(std::make_reverse_iterator(end), std::make_reverse_iterator(at));
      at = end;
    }
  }
  std::vector<std::vector<Order>> result = chains;
  for (std::vector<Order>& channel : result)
    for (std::size_t j = 1; j < nodes.size(); ++j)
      for (const std::vector<Order>& other : chains)
        if (place[channel[j].front()].second != place[channel[0].front()].second &&
            place[other[j].front()].second == place[channel[0].front()].second)
          channel[j] = other[j];
  return result;
}

// One or two for each channel, as NCCL has them: over the nodes, with chains inside. Where ranks are all
// one node, or there is an order, ranks are the nodes; if these have not the links (dgx1), a chain along
// each ring is left.
std::vector<Tree> trees_for(Trees kind, const Machine& machine, const Order& order, bool any_order) {
  if (kind == Trees::None) return {};
  if (kind == Trees::Heap) return {heap_tree(order)};
  if (kind == Trees::Disjoint) return disjoint_binomial_trees(order);
  const auto over = [kind](const std::vector<int>& places) {
    if (kind == Trees::One) return std::vector<Tree>{heap_tree(places)};
    auto [first, second] = two_trees(places);
    return std::vector<Tree>{std::move(first), std::move(second)};
  };
  std::vector<Tree> trees = over(order);
  if (!any_order) return trees;
  const Topology& topology = machine.topology();
  std::vector<std::vector<Rank>> nodes = machine.once(nodes_of).ranks;
  if (nodes.size() == 1 || std::ssize(nodes) == topology.ranks) {
    const auto has_links = [&](const Tree& tree) {
      for (Rank n = 0; n < topology.ranks; ++n)
        if (const Rank above = tree.parent[n];
            above >= 0 && (find_link(topology, n, above) < 0 || find_link(topology, above, n) < 0))
          return false;
      return true;
    };
    if (std::ranges::all_of(trees, has_links)) return trees;
    nodes = {order};
  }
  std::vector<int> places(nodes.size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<Tree> chained;
  for (const std::vector<Order>& chains : chains_of(machine.once(ring_decomposition), nodes))
    for (const Tree& tree : over(places)) chained.push_back(chained_tree(tree.parent, chains));
  return chained.empty() ? trees : chained;
}

// Whether a switch that multicasts and one that adds are on the link.
std::vector<bool> able_links(const Topology& topology) {
  std::vector<bool> copied(topology.links.size(), false), added(copied), able(copied);
  for (const SharedLimit& limit : topology.limits)
    for (const LinkId l : limit.links) {
      copied[l] = copied[l] || limit.abilities.multicast;
      added[l] = added[l] || limit.abilities.reduce;
    }
  for (std::size_t l = 0; l < able.size(); ++l) able[l] = copied[l] && added[l];
  return able;
}

std::optional<Unsuited> differing_nodes(const Nodes& nodes) {
  const auto differs = [&](const std::vector<Rank>& node) { return node.size() != nodes.ranks[0].size(); };
  if (std::ranges::none_of(nodes.ranks, differs)) return {};
  return Unsuited{"its nodes have different numbers of ranks", "use nodes that are equal"};
}

// Several nodes of several ranks, all of one size.
std::optional<Unsuited> node_misfit(const Nodes& nodes) {
  if (nodes.ranks.size() > 1 && nodes.ranks[0].size() > 1) return differing_nodes(nodes);
  return Unsuited{nodes.ranks.size() > 1 ? "its nodes have one rank each" : "it is one node",
                  "use a machine of several nodes, or another algorithm"};
}

// Nodes for trees of switches that add: of equal size, and with such switches inside of them or between them.
std::optional<Unsuited> switch_misfit(Trees kind, const Topology& topology, const Nodes& nodes) {
  const std::size_t count = nodes.ranks.size();
  if (kind == Trees::Nvls && count > 1)
    return Unsuited{fmt::format("it is of {} nodes", count), "use nvls_tree_allreduce"};
  if (kind != Trees::Nvls && count == 1)
    return Unsuited{"it is one node", "use a machine of several nodes, or nvls_allreduce"};
  if (const std::optional<Unsuited> differing = differing_nodes(nodes)) return differing;
  const std::vector<bool> able = able_links(topology);
  bool any = topology.ranks == 1;
  for (std::size_t l = 0; l < able.size(); ++l)
    any = any || (able[l] && (topology.links[l].alpha_us >= nodes.network_us) == is_by_network(kind));
  if (any) return {};
  return Unsuited{fmt::format("switches {} do not multicast and reduce",
                              is_by_network(kind) ? "between its nodes" : "of its nodes"),
                  "use a machine whose switches do, or another algorithm"};
}

// By position in the nodes one rank of each is the head of its node, and the others of the node are below it:
// where the switch adds, or all are linked, each next to the head. Heads are in two trees, or, where the
// network adds, all below one of them, each of them once.
std::vector<Tree> trees_of_switches(Trees kind, std::vector<std::vector<Rank>> nodes) {
  std::vector<int> places(nodes.size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<std::vector<int>> over;
  if (is_by_network(kind)) {
    for (const int home : places) {
      over.emplace_back(nodes.size(), home);
      over.back()[home] = -1;
    }
  } else {
    auto [first, second] = two_trees(places);
    over.push_back(first.parent);
    if (nodes.size() > 1) over.push_back(second.parent);
  }
  std::vector<Tree> trees;
  for (std::size_t head = 0; head < nodes[0].size(); ++head) {
    for (const std::vector<int>& parents : over)
      trees.push_back(kind == Trees::CollnetChain ? chained_tree(parents, nodes) : star_tree(parents, nodes));
    for (std::vector<Rank>& node : nodes) std::ranges::rotate(node, node.begin() + 1);
  }
  return trees;
}

// So many chunks of each tree start together that there are few waves: those of a chunk each would leave a
// part of each round of a switch unused.
void in_waves(Request& request) {
  constexpr std::size_t kMostWaves = 16;
  const std::vector<Tree> trees = request.trees;
  for (std::size_t each = 2; each <= request.chunks / (trees.size() * kMostWaves); ++each)
    request.trees.insert(request.trees.end(), trees.begin(), trees.end());
}

// A ring sends a chunk over each of its links in every step. So a ring whose links carry w chunks per round
// needs w of them, and rings side by side want one each, as trees do.
int fewest_chunks(const Row& row, const Topology& topology, const Request& request) {
  if (row.is(kOneRing)) return std::max(1, ring_width(topology, request.rings[0].order));
  if (row.is(kManyRings)) return static_cast<int>(request.rings.size());
  return std::max(1, static_cast<int>(request.trees.size()));
}

}  // namespace

const std::vector<ClassicEntry>& classic_catalogue() {
  static const std::vector<ClassicEntry> entries = [] {
    std::vector<ClassicEntry> all;
    for (const Row& row : table())
      all.push_back({row.method, row.collective, row.description, row.is(kOfNccl), row.is(kPipelined),
                     row.is(kOfNodes)});
    return all;
  }();
  return entries;
}

Point classic_algorithm(const std::string& name, const Machine& machine, const ClassicOptions& options) {
  return classic_algorithm(known_method(name), machine, options);
}

Point classic_algorithm(Method method, const Machine& machine, const ClassicOptions& options) {
  Unsuited why;
  if (std::optional<Point> point = classic_if_possible(method, machine, options, &why))
    return *std::move(point);
  throw InputError(name_of(method) + " on " + machine.topology().name, why.words, why.remedy);
}

std::optional<Point> classic_if_possible(Method method, const Machine& machine, const ClassicOptions& options,
                                         Unsuited* why) {
  const Topology& topology = machine.topology();
  const Row& row = find_row(method);
  const int ranks = topology.ranks;
  const auto is_unsuited = [why](const std::optional<Unsuited>& wrong) {
    if (wrong && why != nullptr) *why = *wrong;
    return wrong.has_value();
  };
  if (is_unsuited(misfit(row, ranks, options))) return {};
  // From here on each line needs the one before: chunks are counted by rings and trees, which follow the
  // order.
  Request request{.ranks = ranks, .order = order_used(row, ranks, options)};
  request.rings = rings_for(row, machine, request.order, options.order.empty());
  const bool by_switches = is_by_switches(row.trees);
  if (by_switches || row.is(kOfNodes)) {
    const Nodes& nodes = machine.once(nodes_of);
    if (is_unsuited(by_switches ? switch_misfit(row.trees, topology, nodes) : node_misfit(nodes))) return {};
    request.nodes = nodes.ranks;
  }
  request.slices = options.slices;
  const bool is_sliced = row.is(kOfNodes) && request.slices > 1 && request.slices < std::ssize(request.nodes);
  if (request.slices != 1 && !is_sliced) {
    is_unsuited(Unsuited{fmt::format("{} slices", request.slices), "use fewer, between nodes"});
    return {};
  }
  request.trees = by_switches ? trees_of_switches(row.trees, request.nodes)
                              : trees_for(row.trees, machine, request.order, options.order.empty());
  request.chunks = options.chunks > 0 ? options.chunks : fewest_chunks(row, topology, request);
  if (by_switches) in_waves(request);

  const int chunks = row.is(kComposed) ? ranks * request.chunks : request.chunks;
  const Collective one = make_collective(row.collective, ranks, 1, options.root);
  if (const double sends = chunks * least_sends(row, one); sends > options.most_sends) {
    is_unsuited(Unsuited{fmt::format("it has {:.0f} sends", sends), "use another algorithm"});
    return {};
  }
  Point point{.method = method, .construction = name_of(method), .collective = with_chunks(one, chunks)};
  if (is_sliced) {
    point.method = Method::Direct;
    point.construction += fmt::format(", {} slices", request.slices);
  }
  std::pair<Rank, Rank> missing;
  std::optional<Schedule> schedule = on_topology(row.plan(request), topology, &missing);
  if (!schedule) {
    is_unsuited(Unsuited{fmt::format("there is no link {} -> {}", missing.first, missing.second),
                         "give an order whose neighbours are linked, or use another algorithm or machine"});
    return {};
  }
  point.schedule = *std::move(schedule);
  point.cost = cost_of(point.schedule, point.collective.chunks_per_block);
  return point;
}

}  // namespace chorale
