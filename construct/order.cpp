// A send's urgency is a time in rounds, the least first: when its chunk is due, less what must still follow
// it at the pace of the steps, less three times what the fullest of its bins still has to carry. Chunks of a
// class are due one after the other, in an order in which each prefix loads all bins evenly (vector
// balancing). The classic choice, the longest path first, lets all deep trees start at once and starve each
// other later: up to 12 % more on the same packing; due dates without balance: 1.301 in place of 1.175.
#include "construct/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace chorale {
namespace {

constexpr double kCritical = 3;  // per round that the fullest of its bins still needs
constexpr int kBalanced = 150;   // chunks examined for the next position
constexpr double kNearlyFullest = 0.97;
constexpr double kKeysOfRound = 1000;  // urgency is counted in parts of a round
constexpr double kShares[] = {0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03};
constexpr int kEvenWidths[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

// Each position takes, of the next chunks, the one with which the prefix deviates least, in squares, from
// its share of all loads; the order of the candidates is random, since packings list similar trees together.
// [chunk of the packing] -> its position among those of its class, from 0 to 1.
std::vector<double> balanced_places(const Jobs& jobs, WorkBudget& effort) {
  const Network& network = jobs.network();
  std::vector<std::vector<int>> links_of(jobs.pieces());
  for (int j = 0; j < jobs.count(); ++j) links_of[jobs.piece(j)].push_back(jobs.link(j));
  std::vector<double> place(jobs.pieces(), 0), off(network.bins()), mean(network.bins());
  std::mt19937 random(1);
  for (int first = 0, last = 0; first < jobs.pieces(); first = last) {
    while (last < jobs.pieces() && jobs.class_of(last) == jobs.class_of(first)) ++last;
    std::vector<int> list(last - first);
    std::iota(list.begin(), list.end(), first);
    const int count = last - first;
    for (int i = count; i > 1; --i) std::swap(list[i - 1], list[random() % i]);
    std::ranges::fill(off, 0);
    std::ranges::fill(mean, 0);
    const auto each_bin = [&](int piece, const auto& visit) {
      for (const LinkId l : links_of[piece])
        for (const int b : network.bins_of(l)) visit(b);
    };
    for (const int piece : list) each_bin(piece, [&](int b) { mean[b] += 1.0 / count; });
    for (int i = 0; i < count; ++i) {
      if (effort.affords(1)) {
        int best = i;
        double least = 0;
        for (int t = i; t < std::min(count, i + kBalanced); ++t) {
          double sum = 0;
          each_bin(list[t],
                   [&](int b) { sum += (2 * off[b] + 1) / (network.capacity(b) * network.capacity(b)); });
          effort.spend(std::ssize(links_of[list[t]]) / 4);
          if (t > i && sum >= least) continue;
          least = sum;
          best = t;
        }
        std::swap(list[i], list[best]);
      }
      each_bin(list[i], [&](int b) { off[b] += 1; });
      for (int b = 0; b < network.bins(); ++b) off[b] -= mean[b];
      place[list[i]] = (i + 0.5) / count;
    }
  }
  return place;
}

// One plan by list scheduling, for one choice of widths.
class Ordering {
 public:
  Ordering(const Jobs& jobs, int copies, const std::vector<double>& places, WorkBudget& effort)
      : jobs_(jobs),
        network_(jobs.network()),
        copies_(copies),
        places_(places),
        effort_(effort),
        scheduling_(jobs, effort) {}

  const StepAssignment& plan() const { return scheduling_.plan(); }

  // left_ and supply_ are kept up to date from step to step: urgencies and the width of the next step follow
  // from them. False where the plan gets too long or the effort ends.
  bool run(const Widths& widths, int most_steps) {
    left_ = jobs_.load();
    for (double& sends : left_) sends *= copies_;
    supply_.assign(network_.bins(), 0);
    total_ = fullest();
    pace_ = std::max<double>(widths.least, widths.share * total_);
    scheduling_.begin(copies_, [&](int copy, int j) { return urgency(copy, j); });
    while (!scheduling_.is_done()) {
      if (std::ssize(plan().rounds) >= most_steps || !effort_.affords(1)) return false;
      scheduling_.fill(width(widths));
      for (int b = 0; b < network_.bins(); ++b) {
        left_[b] -= scheduling_.used()[b];
        supply_[b] -= scheduling_.used()[b];
      }
      scheduling_.end_step();
    }
    return true;
  }

 private:
  double fullest() const {
    double most = 0;
    for (int b = 0; b < network_.bins(); ++b) most = std::max(most, left_[b] / network_.capacity(b));
    return most;
  }

  // As it is when the job becomes ready; the least is the most urgent. Asked for once per job, which is
  // counted among the ready ones (supply_) here.
  long long urgency(int copy, int j) {
    double behind = 0;
    for (const int b : network_.bins_of(jobs_.link(j))) {
      behind = std::max(behind, left_[b] / network_.capacity(b));
      ++supply_[b];
    }
    const double place = (copy + places_[jobs_.piece(j)]) / copies_;
    return std::llround(kKeysOfRound * (place * total_ - jobs_.height(j) * pace_ - kCritical * behind));
  }

  // By supply: the bins that decide the total must not idle, and a step wider than what is ready there only
  // lets others run ahead.
  double width(const Widths& widths) const {
    const double most = fullest();
    double width = std::max<double>(widths.least, std::ceil(widths.share * most));
    if (!widths.by_supply) return width;
    for (int b = 0; b < network_.bins(); ++b)
      if (left_[b] / network_.capacity(b) > kNearlyFullest * most)
        width = std::min(width, std::floor(supply_[b] / network_.capacity(b)));
    return std::max<double>(widths.least, width);
  }

  const Jobs& jobs_;
  const Network& network_;
  const int copies_;
  const std::vector<double>& places_;
  WorkBudget& effort_;
  ListScheduling scheduling_;
  double total_ = 0, pace_ = 1;                  // in rounds: all, and a step
  std::vector<double> left_ = {}, supply_ = {};  // [bin] sends: not yet in a step, and of these ready
};

}  // namespace

void order(const Jobs& jobs, int copies, int most_steps, WorkBudget& effort, const FoundPlan& found) {
  const std::vector<double> places = balanced_places(jobs, effort);
  Ordering ordering(jobs, copies, places, effort);
  const auto attempt = [&](const Widths& widths) {
    if (effort.affords(1) && ordering.run(widths, most_steps)) found(copies, ordering.plan());
  };
  // Last where it takes all of the work.
  const bool narrow = effort.affords(2LL * jobs.count() * needed_rounds(jobs.network(), jobs.packing()));
  if (narrow) attempt({.least = 1, .share = 0});
  for (const double share : kShares) {
    attempt({.share = share, .by_supply = true});
    attempt({.share = share});
  }
  const double rounds = static_cast<double>(ordering.plan().total_rounds());
  for (const int least : kEvenWidths)
    if (least > 1 && least < rounds / 3) attempt({.least = least});
  if (!narrow) attempt({.least = 1, .share = 0});
}

}  // namespace chorale
