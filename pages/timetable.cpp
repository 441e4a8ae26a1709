// Rounds are colours, and sends are edges of a hypergraph whose nodes are links and limits. Where every send
// is under one limit of its source and one of its destination, this is edge colouring of a bipartite
// multigraph, and as many colours as the busiest node needs are enough (Koenig 1916): a send that fits no
// round goes to a round where its source has room, and what is then too much at its destination moves to a
// round where that has room, and so on along a path of sends in these two rounds, which never comes back.
// First fit alone loses there: dgx2 with 15 full rounds. Machines with more limits per link (trees of
// switches) have no such theorem; where no such exchange is found, the send goes where it drives out sends
// that were seldom hard to place, and these are placed again (ejection; Nagata, Braysy 2009, for vehicle
// routes).
#include "pages/timetable.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

namespace chorale {
namespace {

constexpr long long kWorkPerSend = 3'000;  // sends examined before a step is given up: 10 ms for 100 sends

// Resources are the links, then the limits; their capacity is in sends per round. Between two sends that are
// placed no resource is over its capacity in any round.
class Colouring {
 public:
  Colouring(const Topology& t, const Step& step, long long most_work)
      : rounds_(step.rounds), most_work_(most_work), resources_of_(step.sends.size()) {
    const int links = static_cast<int>(t.links.size());
    std::vector<std::vector<int>> limits_of(links);
    for (std::size_t i = 0; i < t.limits.size(); ++i)
      for (LinkId l : t.limits[i].links) limits_of[l].push_back(links + static_cast<int>(i));
    capacity_.resize(links + t.limits.size());
    for (int l = 0; l < links; ++l) capacity_[l] = t.links[l].bandwidth;
    for (std::size_t i = 0; i < t.limits.size(); ++i) capacity_[links + i] = t.limits[i].bandwidth;
    users_.resize(capacity_.size());
    for (std::size_t i = 0; i < step.sends.size(); ++i) {
      const LinkId l = step.sends[i].link;
      resources_of_[i] = limits_of[l];
      resources_of_[i].push_back(l);
      for (int r : resources_of_[i]) users_[r].push_back(static_cast<int>(i));
    }
    most_constrained_first();
  }

  std::vector<int> colour() {
    round_.assign(resources_of_.size(), kNone);
    hard_.assign(resources_of_.size(), 1);
    has_moved_.assign(resources_of_.size(), false);
    used_.assign(capacity_.size(), {});
    for (std::size_t r = 0; r < capacity_.size(); ++r)
      if (!users_[r].empty()) used_[r].assign(rounds_, 0);
    std::deque<int> waiting(order_.begin(), order_.end());
    while (!waiting.empty()) {
      const int send = waiting.front();
      waiting.pop_front();
      if (place(send)) continue;
      if (work_ > most_work_) return {};
      ++hard_[send];
      for (int other : drive_out(send)) waiting.push_back(other);
    }
    return work_ > most_work_ ? std::vector<int>() : round_;
  }
  long long work() const { return work_; }

 private:
  static constexpr int kNone = -1;

  // Sends over what has the least room left come first.
  void most_constrained_first() {
    std::vector<double> load(resources_of_.size(), 0);
    for (std::size_t i = 0; i < load.size(); ++i)
      for (int r : resources_of_[i])
        load[i] = std::max(load[i], static_cast<double>(users_[r].size()) / capacity_[r]);
    order_.resize(load.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return load[a] > load[b]; });
  }

  void put(int send, int round) {
    if (round_[send] != kNone)
      for (int r : resources_of_[send]) --used_[r][round_[send]];
    round_[send] = round;
    if (round != kNone)
      for (int r : resources_of_[send]) ++used_[r][round];
  }
  bool fits(int send, int round) const {
    const std::vector<int>& of = resources_of_[send];
    return std::all_of(of.begin(), of.end(), [&](int r) { return used_[r][round] < capacity_[r]; });
  }

  // First fit, then an exchange between each two rounds, in both orders. False: none fits, or the work is
  // spent.
  bool place(int send) {
    for (int round = 0; round < rounds_; ++round) {
      ++work_;
      if (!fits(send, round)) continue;
      put(send, round);
      return true;
    }
    for (int a = 0; a < rounds_; ++a)
      for (int b = 0; b < rounds_; ++b)
        if (a != b && work_ < most_work_ && exchange(send, a, b)) return true;
    return false;
  }

  // Puts the send in round a, and moves others between a and b until nothing is too full; each moves once at
  // most. Undone where that fails.
  bool exchange(int send, int a, int b) {
    std::vector<int> moved = {send};
    has_moved_[send] = true;
    put(send, a);
    const auto forget = [&] {
      for (int s : moved) has_moved_[s] = false;
    };
    std::deque<int> full(resources_of_[send].begin(), resources_of_[send].end());
    while (!full.empty()) {
      const int r = full.front();
      full.pop_front();
      for (int round : {a, b})
        while (used_[r][round] > capacity_[r]) {
          const auto next = std::find_if(users_[r].begin(), users_[r].end(), [&](int s) {
            ++work_;
            return round_[s] == round && !has_moved_[s];
          });
          if (next == users_[r].end() || work_ > most_work_) {
            put(send, kNone);
            for (std::size_t i = 1; i < moved.size(); ++i) put(moved[i], round_[moved[i]] == a ? b : a);
            forget();
            return false;
          }
          moved.push_back(*next);
          has_moved_[*next] = true;
          put(*next, round == a ? b : a);
          full.insert(full.end(), resources_of_[*next].begin(), resources_of_[*next].end());
        }
    }
    forget();
    return true;
  }

  // Puts the send where it drives out the fewest others, each weighted by how often it was hard to place.
  // Returns those driven out.
  std::vector<int> drive_out(int send) {
    std::vector<int> best;
    int best_round = 0;
    long long least = std::numeric_limits<long long>::max();
    for (int round = 0; round < rounds_ && work_ <= most_work_; ++round) {
      std::vector<int> out;
      long long sum = 0;
      for (int r : resources_of_[send]) {
        // A send that leaves another resource may leave this one, too.
        int leaving = 0;
        for (int other : out) leaving += is_user(other, r) ? 1 : 0;
        if (used_[r][round] - leaving < capacity_[r]) continue;
        int easiest = kNone;
        for (int other : users_[r]) {
          ++work_;
          if (round_[other] != round || std::find(out.begin(), out.end(), other) != out.end()) continue;
          if (easiest == kNone || hard_[other] < hard_[easiest]) easiest = other;
        }
        out.push_back(easiest);
        sum += hard_[easiest];
      }
      if (sum < least) {
        least = sum;
        best = out;
        best_round = round;
      }
    }
    for (int other : best) put(other, kNone);
    put(send, best_round);
    return best;
  }
  bool is_user(int send, int r) const {
    return std::find(resources_of_[send].begin(), resources_of_[send].end(), r) != resources_of_[send].end();
  }

  int rounds_;
  long long most_work_;
  std::vector<std::vector<int>> resources_of_;  // by send: limits, then the link
  std::vector<std::vector<int>> users_ = {};    // by resource: sends
  std::vector<int> capacity_ = {};
  std::vector<int> order_ = {};
  std::vector<int> round_ = {};              // by send
  std::vector<bool> has_moved_ = {};         // by send: in this exchange
  std::vector<long long> hard_ = {};         // by send: how often it fitted nowhere
  std::vector<std::vector<int>> used_ = {};  // by resource and round
  long long work_ = 0;
};

}  // namespace

std::vector<int> rounds_of_sends(const Topology& t, const Step& step, DrawingWork& work) {
  // The values that a switch combines are not distinguished here.
  if (abilities_of(t).any()) return {};
  if (step.rounds == 1) return std::vector<int>(step.sends.size(), 0);
  long long resources = std::ssize(t.links);
  for (const SharedLimit& limit : t.limits) resources += 1 + std::ssize(limit.links);
  const long long sends = std::ssize(step.sends);
  if (!work.take(resources + sends)) return {};
  // More rounds than sends are never needed, and a file may state any number.
  Step least = step;
  least.rounds = std::max(1, std::min(step.rounds, static_cast<int>(step.sends.size())));
  Colouring colouring(t, least, std::min(kWorkPerSend * sends, work.left()));
  std::vector<int> rounds = colouring.colour();
  work.take(std::min(colouring.work(), work.left()));
  return rounds;
}

}  // namespace chorale
