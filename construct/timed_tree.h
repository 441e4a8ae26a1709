// One tree in time: what goes from some ranks to others, each link in a step.
#pragma once

#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// Of every link what a send over it costs in each step.
class TimedPrices {
 public:
  TimedPrices() = default;
  TimedPrices(const Topology& topology, int steps) : steps_(steps), of_(topology.links.size() * steps) {}

  double at(LinkId l, int step) const { return of_[static_cast<std::size_t>(l) * steps_ + step]; }
  // By step.
  std::span<double> row(LinkId l) {
    return std::span(of_).subspan(static_cast<std::size_t>(l) * steps_, steps_);
  }
  // Each step dearer than the first by a part of it: with 0.1, step 3 costs 1.3 times as much.
  void dearer_later(double by, TimedPrices& into) const;

 private:
  int steps_ = 0;
  std::vector<double> of_ = {};  // by link, and in each by step
};

// Grows one tree away from a rank: whoever is cheapest to reach is joined by its cheapest way, and all of the
// tree is where the next way may begin (as Takahashi and Matsuyama 1980 have it). Backwards: time and links
// are turned round. One Dijkstra's, which goes on from cost 0 wherever the tree comes to: of all ways that
// may be taken next only those are looked at that cost less than the one that is taken.
//
// Invariant: a rank is reached once. A way that passes a rank before it was reached becomes its way; the one
// that it had is given up, or a contribution would be counted twice.
class TimedTree {
 public:
  static constexpr double kDearest = std::numeric_limits<double>::infinity();

  struct Way {
    LinkId link = -1;
    int layer = 0;  // that it is gone in
  };

  explicit TimedTree(const Topology& topology)
      : ranks_(topology.ranks), forwards_(topology, false), backwards_(topology, true) {}

  // From ranks that have it to all targets; prices are greater than 0. The first layer is the step `start`,
  // or, backwards, the one before it. By rank how it is reached (no link where it is not, and of roots), and
  // what all ways cost; nothing where some target is out of reach.
  std::optional<double> grow(const RankSet& roots, const RankSet& targets, int start, int layers,
                             bool backwards, const TimedPrices& prices, std::vector<Way>& ways);

  // At links in steps, by all trees so far: what they took.
  long long looks() const { return looks_; }

 private:
  struct Road {
    LinkId link = 0;
    Rank to = 0;
  };
  // Links by the rank that they leave.
  struct Roads {
    Roads(const Topology&, bool turned);
    std::vector<Road> all = {};
    std::vector<int> first = {};
    std::vector<Rank> to = {};  // [link]
  };
  struct Arrival {
    LinkId link = -1;  // none: it was there before
    Rank from = -1;
  };
  struct Offer {
    double cost = 0;
    int layer = 0;
    Rank rank = 0;
    bool operator<(const Offer&) const;  // the dearest first, as a heap has it
  };

  std::size_t at(Rank n, int layer) const { return static_cast<std::size_t>(n) * (layers_ + 1) + layer; }
  int step(int layer) const { return turned_ ? start_ - layer : start_ + layer; }
  double price(LinkId l, int layer) const { return prices_->at(l, step(layer)); }
  bool is_stale(const Offer&) const;
  int lower(Rank, int layer, double cost);
  void spread(Rank, int layer, int most);
  void prune(std::vector<Way>&) const;

  int ranks_;
  Roads forwards_, backwards_;
  const Roads* roads_ = nullptr;
  const TimedPrices* prices_ = nullptr;
  bool turned_ = false;
  int start_ = 0;
  int layers_ = 0;
  long long looks_ = 0;
  std::vector<double> cost_ = {};  // by rank and layer; never rises from layer to layer
  std::vector<Arrival> by_ = {};
  std::vector<char> reached_ = {}, wanted_ = {};
  std::priority_queue<Offer> offers_ = {};
  std::vector<std::pair<Rank, int>> path_ = {};
};

}  // namespace chorale
