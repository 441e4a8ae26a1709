#include "bounds/price_search.h"

#include <algorithm>
#include <set>
#include <utility>

#include "bounds/cuts.h"
#include "bounds/flow_lp.h"

namespace chorale {
namespace {

constexpr std::int64_t kLargestProgram = 1'500'000;  // columns, for any number of steps
constexpr std::int64_t kLargestTimed = 200'000;      // columns, for some steps
constexpr std::int64_t kAllPrograms = 3'000'000;     // columns of all programs built for one answer
constexpr int kTurns = 6;

class PriceSearch {
 public:
  PriceSearch(const Topology& topology, const std::vector<ChunkClass>& classes, int steps)
      : topology_(topology), classes_(classes), steps_(steps), columns_left_(kAllPrograms) {}

  std::optional<PriceBound> run() {
    if (classes_.empty()) return std::nullopt;
    if (one_destination_each() && !one_destination()) {
      charge(farthest_destinations());
    } else {
      if (steps_ > 0 || !everyone_wants_the_same()) charge(farthest_destinations());
      charge_single_ranks();
    }
    if (!best_ && steps_ == 0) take(even_prices(), Choice(classes_.size(), kNotCharged));
    if (!one_destination_each()) improve();
    if (!best_) return std::nullopt;
    return best_->bound;
  }

 private:
  bool one_destination_each() const {
    return std::all_of(classes_.begin(), classes_.end(),
                       [](const ChunkClass& c) { return c.post.size() == 1; });
  }

  bool one_destination() const {
    return one_destination_each() &&
           std::all_of(classes_.begin(), classes_.end(),
                       [this](const ChunkClass& c) { return c.post == classes_.front().post; });
  }

  // But for what it has itself: Allgather, Broadcast.
  bool everyone_wants_the_same() const {
    return std::all_of(classes_.begin(), classes_.end(), [this](const ChunkClass& c) {
      return static_cast<int>(c.pre.size() + c.post.size()) == topology_.ranks;
    });
  }

  Choice farthest_destinations() const {
    Choice choice;
    for (const ChunkClass& c : classes_) {
      const std::vector<int> far = hops(topology_, c.pre);
      choice.push_back(
          *std::max_element(c.post.begin(), c.post.end(), [&](Rank a, Rank b) { return far[a] < far[b]; }));
    }
    return choice;
  }

  Choice all_to(Rank v) const {
    Choice choice;
    for (const ChunkClass& c : classes_)
      choice.push_back(std::binary_search(c.post.begin(), c.post.end(), v) ? v : kNotCharged);
    return choice;
  }

  void charge_single_ranks() {
    if (steps_ == 0 && limits_are_ports(topology_)) {
      // The cut is at one rank, but which does not matter: what pays nothing is not charged.
      if (const std::optional<PriceBound> cut = tightest_cut(topology_, classes_))
        take(cut->prices, Choice(classes_.size(), kNotCharged), true);
      return;
    }
    for (Rank v = 0; v < topology_.ranks; ++v)
      if (Choice choice = all_to(v); std::any_of(choice.begin(), choice.end(), [](Rank d) { return d >= 0; }))
        charge(choice);
  }

  // Looks for the best prices for the choice; true if they are the best so far.
  bool charge(const Choice& choice) {
    FlowProgram program(topology_, demands(classes_, choice), steps_);
    if (program.size() > (steps_ > 0 ? kLargestTimed : kLargestProgram) || program.size() > columns_left_)
      return false;
    columns_left_ -= program.size();
    program.build();
    if (!solved_.insert(program.signature()).second) return false;
    return take(program.prices(), choice);
  }

  bool take(std::vector<Prices> prices, const Choice& choice, bool settled = false) {
    if (prices.empty()) return false;
    std::optional<Payment> payment = pay(topology_, classes_, std::move(prices), steps_ > 0, choice);
    if (!payment || (best_ && !stronger(payment->bound, best_->bound))) return false;
    settled_ = settled || payment->dearest == choice;
    best_ = std::move(payment);
    return true;
  }

  void improve() {
    for (int turn = 0; turn < kTurns && best_ && !settled_; ++turn)
      if (!charge(Choice(best_->dearest))) return;
  }

  // Volume: every link costs the same.
  std::vector<Prices> even_prices() const {
    return {{.links = std::vector<int>(topology_.links.size(), 1),
             .limits = std::vector<int>(topology_.limits.size(), 0)}};
  }

  const Topology& topology_;
  const std::vector<ChunkClass>& classes_;
  const int steps_;  // 0: any number
  std::int64_t columns_left_;
  std::set<std::uint64_t> solved_ = {};  // signatures
  std::optional<Payment> best_ = {};
  bool settled_ = false;  // the best prices' dearest destinations are those they were made for
};

}  // namespace

std::optional<PriceBound> price_bound(const Topology& topology, const std::vector<ChunkClass>& classes) {
  return PriceSearch(topology, classes, 0).run();
}

std::optional<PriceBound> timed_price_bound(const Topology& topology, const std::vector<ChunkClass>& classes,
                                            int steps) {
  return PriceSearch(topology, classes, steps).run();
}

}  // namespace chorale
