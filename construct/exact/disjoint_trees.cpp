// Trees grow side by side, link by link. A link into rank v may be taken if afterwards all trees that lack v
// can still flow to it at once: Edmonds' condition for sets of ranks with v, and only such sets have lost
// something (Lovasz 1976). A set that forbids a link forbids it for good: it stays tight, since what enters
// it later takes a link into it. So each link is examined once per tree, and there is always one to take.
//
// What lost: negotiation (packing.h). Where trees leave no link unused it comes near and never ends: 4 trees
// on a random regular machine of 1,024 ranks have 4,092 links of 4,092.
#include "construct/exact/disjoint_trees.h"

#include <algorithm>
#include <utility>

namespace chorale {
namespace {

class DisjointTrees {
 public:
  DisjointTrees(const Network& network, long long rounds, WorkBudget& effort)
      : network_(network), effort_(effort), room_(network.links()), flow_(network.links()) {
    for (LinkId l = 0; l < network.links(); ++l)
      room_[l] = rounds * static_cast<long long>(network.capacity(l));
  }

  void add(const RankSet& sources) {
    Growing& tree = trees_.emplace_back();
    tree.has.assign(network_.ranks(), false);
    for (const Rank n : sources) {
      tree.has[n] = true;
      tree.ranks.push_back(n);
    }
  }

  // An offer that is refused is refused for good (see above), so an offer is examined once, and the loop ends
  // when the last depth has made no offers.
  bool grow() {
    for (int i = 0; i < std::ssize(trees_); ++i)
      for (const Rank n : std::vector<Rank>(trees_[i].ranks)) offer(i, n);
    while (!offers_.empty()) {
      std::vector<Offer> now;
      now.swap(offers_);
      for (const Offer& offer : now) {
        if (!effort_.affords(1)) return false;
        Growing& tree = trees_[offer.tree];
        const Rank to = network_.dst(offer.link);
        if (tree.has[to] || room_[offer.link] == 0 || !leaves_enough(offer.tree, offer.link)) continue;
        tree.has[to] = true;
        tree.ranks.push_back(to);
        tree.links.push_back(offer.link);
        --room_[offer.link];
        this->offer(offer.tree, to);
      }
    }
    return std::ranges::all_of(
        trees_, [&](const Growing& tree) { return std::ssize(tree.ranks) == network_.ranks(); });
  }

  // A pipeline takes as many steps more as its highest tree has. At a rank two trees exchange the links by
  // which they enter, or one takes a link that has room, where the squares of all depths become less; that
  // ends, since each exchange makes their sum less.
  void lower() {
    for (Growing& tree : trees_) hang(tree);
    for (bool lower = true; lower && effort_.affords(1);) {
      lower = false;
      for (Rank n = 0; n < network_.ranks(); ++n)
        for (Growing& tree : trees_) lower |= tree.by[n] >= 0 && improve(tree, n);
    }
  }

  ChunkTree tree(int i) const {
    ChunkTree result;
    for (const Rank n : trees_[i].ranks)
      if (trees_[i].by[n] >= 0) result.links.push_back(trees_[i].by[n]);
    return result;
  }

 private:
  struct Growing {
    std::vector<char> has = {};
    std::vector<Rank> ranks = {};  // each after the one before it in the tree
    std::vector<LinkId> links = {};
    // By rank, once it is grown: the link into it (-1: a source), its depth; of what is below it, and it, the
    // number and the sum of depths.
    std::vector<LinkId> by = {};
    std::vector<long long> depth = {}, below = {}, depths = {};
  };

  // Depths from the links into ranks, which are put into order.
  void hang(Growing& tree) {
    if (tree.by.empty()) {
      tree.by.assign(network_.ranks(), -1);
      for (const LinkId l : tree.links) tree.by[network_.dst(l)] = l;
    }
    tree.depth.assign(network_.ranks(), -1);
    const auto depth = [&](auto&& self, Rank n) -> long long {
      if (tree.depth[n] < 0) tree.depth[n] = tree.by[n] < 0 ? 0 : self(self, network_.src(tree.by[n])) + 1;
      return tree.depth[n];
    };
    for (const Rank n : tree.ranks) depth(depth, n);
    std::ranges::stable_sort(tree.ranks, {}, [&](Rank n) { return tree.depth[n]; });
    tree.below.assign(network_.ranks(), 1);
    tree.depths = tree.depth;
    for (auto n = tree.ranks.rbegin(); n != tree.ranks.rend(); ++n)
      if (tree.by[*n] >= 0) {
        tree.below[network_.src(tree.by[*n])] += tree.below[*n];
        tree.depths[network_.src(tree.by[*n])] += tree.depths[*n];
      }
    effort_.spend(network_.ranks());
  }

  // What the squares of depths become more if the rank hangs on this link; nothing where that is below it.
  std::optional<long long> change(const Growing& tree, Rank n, LinkId link) {
    for (Rank above = network_.src(link); above != n; above = network_.src(tree.by[above])) {
      effort_.spend(1);
      if (tree.by[above] < 0) {
        const long long by = tree.depth[network_.src(link)] + 1 - tree.depth[n];
        return by * (2 * tree.depths[n] + by * tree.below[n]);
      }
    }
    return std::nullopt;
  }

  bool improve(Growing& tree, Rank n) {
    const LinkId now = tree.by[n];
    for (const auto [link, before] : network_.arcs(n, true)) {
      if (link == now) continue;
      const std::optional<long long> own = change(tree, n, link);
      if (!own) continue;
      if (room_[link] > 0 && *own < 0) {
        --room_[link];
        ++room_[now];
        tree.by[n] = link;
        hang(tree);
        return true;
      }
      for (Growing& other : trees_) {
        if (other.by[n] != link) continue;
        const std::optional<long long> others = change(other, n, now);
        if (!others || *own + *others >= 0) continue;
        std::swap(tree.by[n], other.by[n]);
        hang(tree);
        hang(other);
        return true;
      }
    }
    return false;
  }
  struct Offer {
    int tree = 0;
    LinkId link = 0;
  };

  void offer(int tree, Rank n) {
    for (const auto [link, to] : network_.arcs(n, false))
      if (!trees_[tree].has[to]) offers_.push_back({.tree = tree, .link = link});
  }

  // Can all trees that lack the end of the link, but this one, flow there at once without it? One unit of
  // flow for each such tree, from any of its ranks, over links that have room; made unit by unit, by
  // augmenting paths.
  bool leaves_enough(int tree, LinkId link) {
    const Rank to = network_.dst(link);
    std::ranges::fill(flow_, 0);
    enters_.assign(trees_.size(), -1);
    --room_[link];
    trees_[tree].has[to] = true;  // it needs nothing any more
    bool enough = true;
    for (int i = 0; i < std::ssize(trees_) && enough; ++i)
      if (!trees_[i].has[to]) enough = augment(i, to);
    trees_[tree].has[to] = false;
    ++room_[link];
    return enough;
  }

  // One more unit, from some rank of tree `first`. A unit of another tree may enter elsewhere instead. The
  // search starts at the end, since trees are near. onward_ has for a rank how a unit goes on from there: 2 *
  // link over that link; 2 * link + 1 back over it, where the unit that used it goes another way; kTree - t
  // on the path of tree t's unit, which then enters at enters_next_[t].
  bool augment(int first, Rank to) {
    onward_.assign(network_.ranks(), kUnseen);
    enters_next_.assign(trees_.size(), -1);
    queue_.assign(1, to);
    onward_[to] = kEnd;
    const auto reach = [&](Rank n, int by) {
      if (onward_[n] != kUnseen) return;
      onward_[n] = by;
      queue_.push_back(n);
    };
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const Rank n = queue_[i];
      if (trees_[first].has[n] && n != to) {
        enter(first, n);
        return true;
      }
      for (int t = 0; t < std::ssize(trees_); ++t)
        if (enters_[t] >= 0 && enters_next_[t] < 0 && trees_[t].has[n]) {
          enters_next_[t] = n;
          reach(enters_[t], kTree - t);
        }
      for (const auto [link, before] : network_.arcs(n, true))
        if (flow_[link] < room_[link]) reach(before, 2 * link);
      for (const auto [link, before] : network_.arcs(n, false))
        if (flow_[link] > 0) reach(before, 2 * link + 1);
      effort_.spend(std::ssize(network_.arcs(n, true)) + std::ssize(network_.arcs(n, false)));
    }
    return false;
  }

  // Carries out the augmenting path that augment() has found.
  void enter(int first, Rank n) {
    enters_[first] = n;
    while (onward_[n] != kEnd) {
      const int by = onward_[n];
      if (by <= kTree) {
        n = enters_[kTree - by] = enters_next_[kTree - by];
        continue;
      }
      flow_[by / 2] += by % 2 == 0 ? 1 : -1;
      n = by % 2 == 0 ? network_.dst(by / 2) : network_.src(by / 2);
    }
  }

  static constexpr int kUnseen = -1, kEnd = -2, kTree = -3;  // kTree - t: as another unit of tree t
  const Network& network_;
  WorkBudget& effort_;
  std::vector<long long> room_, flow_;
  std::vector<Growing> trees_ = {};
  std::vector<Offer> offers_ = {};
  std::vector<Rank> enters_ = {}, enters_next_ = {};  // by tree: where its unit begins; -1: it has none
  std::vector<int> onward_ = {}, queue_ = {};         // by rank: how a unit goes on to the end
};

}  // namespace

// Every chunk has a tree of its own, of which all grow together: a class of k chunks is k trees from the same
// ranks.
std::optional<ChunkPacking> disjoint_trees(const Network& network, const std::vector<ChunkClass>& classes,
                                           int chunks, long long rounds, WorkBudget& effort) {
  if (!network.topology().limits.empty()) return std::nullopt;  // shared limits
  DisjointTrees growth(network, rounds, effort);
  for (const ChunkClass& each : classes) {
    std::vector<Rank> all(each.pre.begin(), each.pre.end());
    std::ranges::copy_if(each.post, std::back_inserter(all), [&](Rank n) { return !each.pre.contains(n); });
    if (std::ssize(all) != network.ranks()) return std::nullopt;
    for (long long i = 0; i < each.count() * chunks; ++i) growth.add(each.pre);
  }
  if (!growth.grow()) return std::nullopt;
  growth.lower();
  ChunkPacking packing{.chunks = chunks, .trees = std::vector<std::vector<ChunkTree>>(classes.size())};
  int next = 0;
  for (std::size_t k = 0; k < classes.size(); ++k)
    for (long long i = 0; i < classes[k].count() * chunks; ++i)
      packing.trees[k].push_back(growth.tree(next++));
  return packing;
}

}  // namespace chorale
