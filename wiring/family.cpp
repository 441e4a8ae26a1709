// Sets of generators by orderly generation: a set is examined if no automorphism makes it smaller. The first
// elements of such a set are such a set, so that a set that is not ends all that begin with it.
#include "wiring/family.h"

#include <algorithm>
#include <memory>

#include "ir/error.h"
#include "symmetry/automorphisms.h"

namespace chorale {
namespace {

constexpr int kMostAutomorphisms = 2048;
constexpr long long kMostWork = 100'000'000;  // images of sets and their elements: some seconds

class Generators {
 public:
  Generators(const std::shared_ptr<const Group>& group, const std::atomic<bool>* stop, long long& work,
             std::vector<CayleyGraph>& found)
      : group_(group), stop_(stop), work_(work), found_(found), class_of_(group->order, -1) {
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

  // With `links` more links, of the classes from `from` on.
  void choose(std::size_t from, int links) {
    if (stop_ != nullptr && stop_->load()) return;
    if (links == 0) return keep();
    for (std::size_t c = from; c < elements_.size(); ++c) {
      const int taken = group_->inverses[elements_[c]] == elements_[c] ? 1 : 2;
      if (taken > links) continue;
      chosen_.push_back(static_cast<int>(c));
      if (is_least()) choose(c + 1, links - taken);
      chosen_.pop_back();
    }
  }

 private:
  bool is_least() {
    for (const std::vector<int>& move : moves_) {
      if ((work_ += std::ssize(chosen_)) > kMostWork)
        throw InputError("design", "has too many graphs to compare", "use fewer ranks, or a smaller degree");
      image_.clear();
      for (const int c : chosen_) image_.push_back(move[c]);
      std::ranges::sort(image_);
      if (image_ < chosen_) return false;
    }
    return true;
  }

  void keep() {
    CayleyGraph graph{.group = group_};
    for (const int c : chosen_) graph.generators.push_back(elements_[c]);
    if (measure(graph)) found_.push_back(std::move(graph));
  }

  const std::shared_ptr<const Group> group_;
  const std::atomic<bool>* const stop_;
  long long& work_;
  std::vector<CayleyGraph>& found_;
  std::vector<int> class_of_ = {};            // of an element: its own and its inverse's
  std::vector<int> elements_ = {};            // of a class: the first
  std::vector<std::vector<int>> moves_ = {};  // of classes, by automorphism
  std::vector<int> chosen_ = {}, image_ = {};
};

}  // namespace

WiringFamily wirings(int ranks, int degree, const std::atomic<bool>* stop) {
  WiringFamily family;
  long long work = 0;
  for (const GroupKind& kind : groups_of(ranks)) {
    if (static_cast<int>(kind.factors.size()) > degree) continue;  // more factors than generators
    if (stop != nullptr && stop->load()) break;
    const std::size_t before = family.graphs.size();
    const auto group = std::make_shared<const Group>(kind.group());
    Generators(group, stop, work, family.graphs).choose(0, degree);
    if (family.graphs.size() > before)
      family.groups.push_back({group->name, static_cast<long long>(family.graphs.size() - before)});
  }
  family.complete = stop == nullptr || !stop->load();
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
