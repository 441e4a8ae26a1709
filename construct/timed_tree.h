// One tree on the time-expanded machine: what goes from some ranks to others, each link in a step.
#pragma once

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "construct/timed_load.h"
#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// Grows one tree away from its roots: the rank that is cheapest to reach is joined by its cheapest path, and
// the next path may begin anywhere in the tree (Takahashi and Matsuyama 1980). One Dijkstra search, which
// continues from cost 0 wherever the tree arrives. Backwards: time and links are reversed.
//
// Invariant: a rank is reached once. A path that passes a rank before it was reached becomes its path; the
// one that it had is given up, or a contribution would be counted twice.
class TimedTree {
 public:
  static constexpr double kInfinitePrice = std::numeric_limits<double>::infinity();

  explicit TimedTree(const Topology& topology)
      : ranks_(topology.ranks), forwards_(topology, false), backwards_(topology, true) {}

  struct Question {
    const RankSet* roots = nullptr;
    const RankSet* targets = nullptr;
    int start = 0;  // the first layer is this step, or, backwards, the one before it
    int layers = 0;
    bool backwards = false;
    // Each layer costs more than the first by this part of it: a path that is as cheap earlier serves more of
    // those that come after, which the search for the next rank alone does not see.
    double tilt = 0;
    const std::vector<int>* hops =
        nullptr;  // of a single target, if known: from each rank to it, or, backwards, from it; < 0: none
  };
  // Appends the sends of the tree. Their price, without the tilt; nothing where some target is out of reach.
  std::optional<double> grow(const Question&, const TimedLoad&, TimedSends&);

  // Edge relaxations of all trees so far.
  long long work() const { return work_; }

 private:
  struct Arc {
    LinkId link = 0;
    Rank to = 0;
  };
  // Links by the rank that they leave.
  struct Arcs {
    Arcs(const Topology&, bool reversed);
    std::vector<Arc> all = {};
    std::vector<int> first = {};
    std::vector<Rank> from = {};  // [link]
  };
  struct Entry {
    LinkId link = -1;
    int layer = 0;
  };
  struct Arrival {
    LinkId link = -1;  // none: it was there before
    Rank from = -1;
  };
  struct Offer {
    double cost = 0;
    int layer = 0;
    Rank rank = 0;
    bool operator<(const Offer&) const;  // the most expensive first, in the order of a heap
  };

  std::size_t at(Rank n, int layer) const { return static_cast<std::size_t>(n) * (layers_ + 1) + layer; }
  int step(int layer) const { return asked_->backwards ? asked_->start - 1 - layer : asked_->start + layer; }
  bool is_stale(const Offer&) const;
  int lower(Rank, int layer, double cost);
  void spread(Rank, int layer, int most);
  void prune();

  int ranks_;
  Arcs forwards_, backwards_;
  const Arcs* arcs_ = nullptr;
  const TimedLoad* load_ = nullptr;
  const Question* asked_ = nullptr;
  int layers_ = 0;
  long long work_ = 0;
  std::vector<double> tilt_ = {};  // by layer
  std::vector<double> cost_ = {};  // by rank and layer; never rises from layer to layer
  std::vector<Arrival> by_ = {};
  std::vector<char> reached_ = {}, wanted_ = {};
  std::vector<Entry> entries_ = {};  // by rank; no link where it is not reached, and of roots
  std::vector<int> below_ = {};
  std::vector<Offer> offers_ = {};  // a heap
  std::vector<std::pair<Rank, int>> path_ = {};
};

}  // namespace chorale
