// Sets of generators by orderly generation: a set is examined if no automorphism makes it smaller. The first
// elements of such a set are such a set, so that a set that is not ends all that begin with it.
//
// A group that has too many sets for that is sampled: from random sets on, one generator after the other is
// exchanged for one that shortens distances, until none does.
#include "topology/wiring/family.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "graph/automorphisms.h"
#include "topology/wiring/all_groups.h"
#include "topology/wiring/isomorphism.h"

namespace chorale {
namespace {

constexpr int kMostAutomorphisms = 2048;
constexpr unsigned kSeed = 1;
// A group may map sets for this part of what is left, as few need so much: with as many parts as groups, two
// of the 267 of order 64 would be sampled at four links.
constexpr long long kShares = 32;

// Elements come in classes {a, a^-1}, since a link has two directions; sets are of classes, and
// automorphisms permute them. An element that is its own inverse is one link of a rank, others are two.
class Generators {
 public:
  Generators(const std::shared_ptr<const Group>& group, const std::atomic<bool>* stop)
      : group_(group), stop_(stop), class_of_(group->order, -1) {
    for (int a = 1; a < group->order; ++a) {
      if (class_of_[a] >= 0) continue;
      class_of_[a] = class_of_[group->inverses[a]] = static_cast<int>(elements_.size());
      elements_.push_back(a);
    }
    for (const std::vector<int>& map : automorphisms(*group, kMostAutomorphisms)) {
      std::vector<int> moved;
      for (const int a : elements_) moved.push_back(class_of_[map[a]]);
      moves_.push_back(std::move(moved));
    }
    std::ranges::sort(moves_);
    moves_.erase(std::unique(moves_.begin(), moves_.end()), moves_.end());
  }

  // All graphs of so many links, or, if that takes more than `sets`, the best of some, for `samples`. Returns
  // whether it was all.
  bool find(int links, long long sets, long long samples) {
    left_ = sets;
    choose(0, links);
    sets_mapped = sets - std::max(0LL, left_);
    if (left_ >= 0 && !stopped()) return true;
    left_ = samples;
    sample(links);
    links_sampled = samples - std::max(0LL, left_);
    return false;
  }

  std::vector<CayleyGraph> found = {};
  long long sets_mapped = 0, links_sampled = 0;  // of the effort

 private:
  bool stopped() const { return stop_ != nullptr && stop_->load(); }
  int links_of_class(int c) const { return group_->inverses[elements_[c]] == elements_[c] ? 1 : 2; }

  // With `links` more links, of the classes from `from` on. `left_` counts the classes that automorphisms map
  // and the links that distances are measured over, which is the same work on every machine.
  void choose(std::size_t from, int links) {
    if (left_ < 0 || stopped()) return;
    if (links == 0) {
      left_ -= 1LL * group_->order * std::ssize(chosen_);
      if (CayleyGraph graph = measured(chosen_); graph.distances > 0) found.push_back(std::move(graph));
      return;
    }
    for (std::size_t c = from; c < elements_.size(); ++c) {
      const int taken = links_of_class(static_cast<int>(c));
      if (taken > links) continue;
      chosen_.push_back(static_cast<int>(c));
      if (is_least()) choose(c + 1, links - taken);
      chosen_.pop_back();
    }
  }

  // Orderly generation (Read 1978): the smallest set of an orbit is reached through sets that are the
  // smallest of theirs, so no list of known sets is needed. `chosen_` is ascending and the image is sorted,
  // so they are compared as sequences.
  bool is_least() {
    for (const std::vector<int>& move : moves_) {
      if ((left_ -= std::ssize(chosen_)) < 0) return false;
      int first = move[chosen_.front()];
      for (const int c : chosen_) first = std::min(first, move[c]);
      if (first > chosen_.front()) continue;
      image_.clear();
      for (const int c : chosen_) image_.push_back(move[c]);
      std::ranges::sort(image_);
      if (image_ < chosen_) return false;
    }
    return true;
  }

  // Of no distances where some rank is not reached.
  CayleyGraph measured(const std::vector<int>& classes) const {
    CayleyGraph graph{.group = group_};
    for (const int c : classes) graph.generators.push_back(elements_[c]);
    if (!measure(graph)) graph.distances = 0;
    return graph;
  }

  // Graphs found by the enumeration before it gave up count as known.
  void sample(int links) {
    std::mt19937 random(kSeed);
    std::set<std::vector<int>> known;
    for (const CayleyGraph& graph : found) known.insert(graph.generators);
    while (left_ >= 0 && !stopped()) {
      std::vector<int> classes = random_classes(links, random);
      left_ -= group_->order;
      if (classes.empty()) continue;
      CayleyGraph graph = shortened(classes);
      std::ranges::sort(graph.generators);
      if (graph.distances > 0 && known.insert(graph.generators).second) found.push_back(std::move(graph));
    }
  }

  // Of so many links together; empty: the last ones did not fit.
  std::vector<int> random_classes(int links, std::mt19937& random) const {
    std::vector<int> order(elements_.size()), classes;
    for (std::size_t c = 0; c < order.size(); ++c) order[c] = static_cast<int>(c);
    std::ranges::shuffle(order, random);
    for (const int c : order)
      if (links_of_class(c) <= links) {
        classes.push_back(c);
        links -= links_of_class(c);
      }
    return links == 0 ? classes : std::vector<int>();
  }

  // The first exchange that is better is taken, not the best one. Distances first, since they bound
  // Alltoall.
  CayleyGraph shortened(std::vector<int> classes) {
    const auto worse = [](const CayleyGraph& a, const CayleyGraph& b) {
      return std::tuple(a.distances == 0, a.distances, a.diameter) >
             std::tuple(b.distances == 0, b.distances, b.diameter);
    };
    CayleyGraph best = measured(classes);
    for (bool shorter = true; shorter;) {
      shorter = false;
      for (int& place : classes)
        for (int c = 0; c < std::ssize(elements_) && left_ >= 0; ++c) {
          if (links_of_class(c) != links_of_class(place) || std::ranges::count(classes, c) > 0) continue;
          const int before = std::exchange(place, c);
          left_ -= 1LL * group_->order * std::ssize(classes);
          CayleyGraph other = measured(classes);
          if (worse(best, other)) {
            best = std::move(other);
            shorter = true;
          } else {
            place = before;
          }
        }
    }
    return best;
  }

  const std::shared_ptr<const Group> group_;
  const std::atomic<bool>* const stop_;
  long long left_ = 0;                        // of the effort
  std::vector<int> class_of_ = {};            // of an element: its own and its inverse's
  std::vector<int> elements_ = {};            // of a class: the first
  std::vector<std::vector<int>> moves_ = {};  // of classes, by automorphism
  std::vector<int> chosen_ = {}, image_ = {};
};

}  // namespace

// What a group leaves of its part of the effort is there for the next ones. A family is complete if no group
// was sampled and nothing stopped it.
WiringFamily wirings(int ranks, int degree, const std::atomic<bool>* stop, const WiringEffort& effort) {
  std::vector<Group> groups = groups_of(ranks, stop);
  WiringFamily family{.groups_compared = static_cast<int>(groups.size()),
                      .all_groups = ranks <= kMaxOrderOfAllGroups,
                      .complete = true};
  std::erase_if(groups, [&](const Group& group) { return least_generators(group) > degree; });
  WiringEffort left = effort;
  for (long long after = std::ssize(groups); Group & each : groups) {
    if (stop != nullptr && stop->load()) break;
    const auto group = std::make_shared<const Group>(std::move(each));
    Generators generators(group, stop);
    const bool all = generators.find(degree, left.sets / std::min(after, kShares), left.samples / after);
    left.sets -= generators.sets_mapped;
    left.samples -= generators.links_sampled;
    --after;
    family.complete = all && family.complete;
    if (generators.found.empty()) continue;
    family.groups.push_back({group->name, relations(*group), std::ssize(generators.found)});
    std::ranges::move(generators.found, std::back_inserter(family.graphs));
  }
  family.complete = family.complete && (stop == nullptr || !stop->load());
  return family;
}

std::vector<Cable> canonical_links(const Topology& topology) {
  const Renumbering numbers = canonical_numbering(topology, std::vector<int>(topology.ranks, 0));
  std::vector<Cable> cables;
  for (const Link& link : topology.links)
    cables.push_back({numbers.ranks[link.src], numbers.ranks[link.dst]});
  std::ranges::sort(cables, {}, [](const Cable& cable) { return std::pair(cable.src, cable.dst); });
  return cables;
}

}  // namespace chorale
