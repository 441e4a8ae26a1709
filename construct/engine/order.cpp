// A send's urgency is a time in rounds, the least first: when its chunk is due, less what must still follow
// it at the pace of the steps, less three times what the fullest of its bins still has to carry. Chunks of a
// class are due one after the other, in an order in which each prefix loads all bins evenly (vector
// balancing). The classic choice, the longest path first, lets all deep trees start at once and starve each
// other later: up to 12 % more on the same packing; due dates without balance: 1.301 in place of 1.175.
#include "construct/engine/order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
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

// Slots of a period are classes: a send may take any, and goes in the first step of that class after what it
// waits for. So a choice of classes decides only how long one copy takes, never whether copies fit beside
// each other. First fit, in the order in which jobs wait for each other; then overloaded pairs of class and
// bin are negotiated, more expensive in each iteration. Greedy slots by time, without negotiation, gave 119
// rounds for 88 on six full boxes with NICs. What lost: to move what waits long to earlier classes that have
// room, and periods that are longer by a fiftieth: both found less in the same work.
//
// A job is due in step copy * period + slot. In each step all that is due goes, which fits; the step is as
// wide as that needs, and holes take what is due later, within two latencies. So the pipe fills and empties
// in narrower steps by itself: 1.021 of the bound where without holes it is 1.037 (Broadcast on a random
// regular graph of 24 ranks).

namespace {

constexpr int kSlotTurns = 40, kSlotPatience = 12;
constexpr double kFewerCopies = 1.7;
constexpr double kFewerSteps = 0.8;
constexpr double kFewerPeriod = 0.6;     // times another: steps are fewer by more than a trifle
constexpr double kMostSlotPlaces = 4e6;  // slots times jobs: a second of negotiation
constexpr int kWindow = 2;               // latencies within which holes are filled

struct Slots {
  int period = 1;              // slots
  std::vector<int> slot = {};  // [job]
  int latency = 1;             // slots that one copy takes
  double rounds = 0;           // of a period
  double latency_rounds() const { return latency * rounds / period; }
};

class SlotSearch {
 public:
  SlotSearch(const Jobs& jobs, WorkBudget& effort)
      : jobs_(jobs), network_(jobs.network()), effort_(effort), before_(jobs.count()) {
    for (int j = 0; j < jobs.count(); ++j)
      for (const SendGraph::Edge& edge : jobs.after(j)) before_[edge.then].push_back(j);
  }

  // Slots for a period of so many rounds, divided evenly over its slots: share_ has the rounds of each class
  // (a slot modulo the period), load_ what the jobs of a class send over each bin.
  Slots find(long long rounds, int period) {
    period_ = period;
    share_.clear();
    for (int k = 0; k < period; ++k)
      share_.push_back(static_cast<double>((k + 1) * rounds / period - k * rounds / period));
    load_.assign(static_cast<std::size_t>(period) * network_.bins(), 0);
    history_.assign(load_.size(), 0);
    slot_.assign(jobs_.count(), 0);
    for (const int j : jobs_.in_order()) {
      slot_[j] = first_fit(j);
      add(j, 1);
    }
    negotiate();
    Slots slots{.period = period, .slot = slot_};
    slots.latency = *std::ranges::max_element(slot_) + 1;
    for (int k = 0; k < period; ++k) {
      double most = 0;
      for (int b = 0; b < network_.bins(); ++b)
        most = std::max(most, std::ceil(load_[at(k, b)] / network_.capacity(b) - 1e-9));
      slots.rounds += most;
    }
    return slots;
  }

 private:
  std::size_t at(int k, int bin) const { return static_cast<std::size_t>(k) * network_.bins() + bin; }
  double room(int k, int bin) const { return share_[k] * network_.capacity(bin); }
  int after(int j) const {
    int last = -1;
    for (const int other : before_[j]) last = std::max(last, slot_[other]);
    return last + 1;
  }
  void add(int j, int by) {
    for (const int b : network_.bins_of(jobs_.link(j))) load_[at(slot_[j] % period_, b)] += by;
  }

  int first_fit(int j) {
    const int first = after(j);
    int best = first;
    double least = std::numeric_limits<double>::infinity();
    for (int s = first; s < first + period_; ++s) {
      const int k = s % period_;
      double over = 0;
      for (const int b : network_.bins_of(jobs_.link(j)))
        over += std::max(0.0, load_[at(k, b)] + 1 - room(k, b)) / network_.capacity(b);
      if (over >= least) continue;
      least = over;
      best = s;
      if (over <= 1e-9) break;
    }
    effort_.spend(best - first + 1);
    return best;
  }

  // The class that is cheapest, with a little for each slot of delay.
  int cheapest(int j) {
    const int first = after(j);
    int best = first;
    double least = std::numeric_limits<double>::infinity();
    for (int s = first; s < first + period_; ++s) {
      const int k = s % period_;
      double cost = 0.02 * (s - first) / period_;
      for (const int b : network_.bins_of(jobs_.link(j))) {
        const double over = (load_[at(k, b)] + 1 - room(k, b)) / network_.capacity(b);
        cost += (over > 1e-9 ? 1 + over : 0.01) * (1 + history_[at(k, b)]);
      }
      if (cost >= least) continue;
      least = cost;
      best = s;
    }
    effort_.spend(period_);
    return best;
  }

  // As in packing.cpp: pairs of class and bin that are over become more expensive by half in each iteration,
  // and the jobs in them choose again, in random order.
  void negotiate() {
    double least = std::numeric_limits<double>::infinity();
    std::vector<int> met;
    for (int turn = 0, idle = 0; turn < kSlotTurns && idle < kSlotPatience && effort_.affords(1); ++turn) {
      double excess = 0;
      for (int k = 0; k < period_; ++k)
        for (int b = 0; b < network_.bins(); ++b)
          if (const double over = load_[at(k, b)] - room(k, b); over > 1e-9) {
            excess += over;
            history_[at(k, b)] += 0.5;
          }
      if (excess == 0) return;
      idle = excess < least ? 0 : idle + 1;
      least = std::min(least, excess);
      met.clear();
      for (int j = 0; j < jobs_.count(); ++j) {
        const int k = slot_[j] % period_;
        if (std::ranges::any_of(network_.bins_of(jobs_.link(j)),
                                [&](int b) { return load_[at(k, b)] > room(k, b) + 1e-9; }))
          met.push_back(j);
      }
      effort_.spend(jobs_.count());
      for (std::size_t i = met.size(); i > 1; --i) std::swap(met[i - 1], met[random_() % i]);
      for (const int j : met) {
        const int k = slot_[j] % period_;
        // What came out of it before leaves room enough.
        if (std::ranges::none_of(network_.bins_of(jobs_.link(j)),
                                 [&](int b) { return load_[at(k, b)] > room(k, b) + 1e-9; }))
          continue;
        add(j, -1);
        slot_[j] = cheapest(j);
        add(j, 1);
      }
      settle();
    }
  }

  // Each in the first slot of its class after what it waits for.
  void settle() {
    for (const int j : jobs_.in_order()) {
      const int k = slot_[j] % period_, first = after(j);
      slot_[j] = first + (k - first % period_ + period_) % period_;
    }
  }

  const Jobs& jobs_;
  const Network& network_;
  WorkBudget& effort_;
  std::vector<std::vector<int>> before_;
  int period_ = 1;
  std::vector<double> share_ = {};                // [class], rounds
  std::vector<double> load_ = {}, history_ = {};  // [class][bin]
  std::vector<int> slot_ = {};
  std::mt19937 random_{1};
};

// Copies, each a period after the one before. A step takes what is due, and then what is due soon, as far as
// the step does not get wider by it. Keys: kSlot from one slot to the next; within a slot the highest first.
bool pipelined(ListScheduling& scheduling, const Jobs& jobs, const Slots& slots, int copies, int most_steps,
               WorkBudget& effort) {
  constexpr long long kSlot = 1LL << 32;
  scheduling.begin(copies, [&](int copy, int j) {
    return (static_cast<long long>(copy) * slots.period + slots.slot[j]) * kSlot - jobs.height(j);
  });
  for (long long slot = 0; !scheduling.is_done(); ++slot) {
    scheduling.fill(ListScheduling::kAnyWidth, slot * kSlot);
    if (scheduling.rounds() == 0) continue;
    if (std::ssize(scheduling.plan().rounds) >= most_steps || !effort.affords(1)) return false;
    scheduling.fill(scheduling.rounds(), (slot + kWindow * slots.latency) * kSlot);
    scheduling.end_step();
  }
  return true;
}

}  // namespace

void pipeline(const Jobs& jobs, long long rounds, int most_copies, int most_steps, double enough,
              WorkBudget& effort, const WorthPlan& worthwhile, const FoundPlan& found) {
  if (jobs.count() == 0 || rounds < 1) return;
  SlotSearch search(jobs, effort);
  std::vector<Slots> all;
  for (long long width = 1; width == 1 || width / 2 < rounds; width *= 2) {
    if (!effort.affords(1)) break;
    const int period = static_cast<int>(std::max<long long>(1, rounds / width));
    if (static_cast<double>(period) * jobs.count() > kMostSlotPlaces) continue;
    if (all.empty() || all.back().period != period) all.push_back(search.find(rounds, period));
  }
  if (all.empty()) return;
  // Rounds of so many copies, about: a period each, and half of the latency, in which the pipe fills and
  // empties in narrower steps.
  const auto estimate = [](const Slots& slots, int copies) {
    return copies * slots.rounds + slots.latency_rounds() / 2;
  };
  double latency = std::numeric_limits<double>::infinity();
  for (const Slots& slots : all) latency = std::min(latency, slots.latency_rounds());
  // With so many copies the latency adds no more than `enough` allows; more of them gain nothing.
  const double worth = latency / static_cast<double>(rounds) / std::max(1e-4, enough - 1);
  ListScheduling scheduling(jobs, effort);
  // The same numbers of copies whatever the most is, so that more of them may be asked for and nothing is
  // lost.
  std::vector<int> numbers;
  for (double copies = 1; copies <= most_copies && copies <= kFewerCopies * worth;
       copies = std::ceil(copies * kFewerCopies))
    numbers.push_back(static_cast<int>(copies));
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    const int copies = *number;
    std::ranges::stable_sort(all, {}, [&](const Slots& slots) { return estimate(slots, copies); });
    // The best guesses, and the best of few steps; of those as good as another of fewer steps only that one.
    int fewest = std::numeric_limits<int>::max(), tried = 0;
    for (const Slots& slots : all) {
      if (tried >= 2 && slots.period >= kFewerPeriod * fewest) continue;
      if (std::ranges::any_of(all, [&](const Slots& other) {
            return other.period <= kFewerPeriod * slots.period &&
                   estimate(other, copies) <= estimate(slots, copies) * (enough + 1) / 2;
          }))
        continue;
      fewest = std::min(fewest, slots.period);
      if (++tried > 4 || !effort.affords(1)) break;
      // Filling and emptying the pipe take no fewer rounds than none, and holes save few steps.
      const double steps = kFewerSteps * copies * slots.period;
      if (steps > most_steps || !worthwhile(copies, static_cast<int>(steps), copies * slots.rounds)) continue;
      effort.spend(static_cast<long long>(jobs.count()) * copies);
      if (pipelined(scheduling, jobs, slots, copies, most_steps, effort)) found(copies, scheduling.plan());
    }
  }
}

}  // namespace chorale
