// Parts decides for one communication whether a time is possible, by building multisets of parts bottom-up
// along the tree; what is possible stays possible with more time, so the least time is found by bisection
// over the finitely many times that a link can take.
//
// Thresholds combines communications: each link, by the number of hosts below it, must send at least one of
// finitely many load vectors (order_sets.h); the least sum of times that admits one for every link is found
// by branching over an open link's choices.
#include "placement/order_bound.h"

#include <algorithm>
#include <optional>

#include "placement/order_sets.h"

namespace chorale {
namespace {

// Can every switch cut the groups of one communication into parts such that no link takes longer?
// A part is the nodes of one group below one switch. Groups are alike, so what lies below a switch is a
// multiset of part sizes; whole groups never cross a link again and are dropped, so the root has to be
// left with nothing.
class Parts {
 public:
  Parts(const NodeTraffic& traffic, const NodeTree& tree, long long& budget)
      : traffic_(traffic),
        tree_(tree),
        group_(static_cast<int>(traffic.groups.front().size())),
        budget_(budget),
        below_(tree.below_uplinks()) {}

  // In us of all its bytes. True too where the budget ends.
  bool possible(double us) {
    us_ = us * (1 + 1e-9);
    return !parts_below(-1).empty() || is_spent();
  }

 private:
  using Multiset = std::vector<int>;  // descending: nodes of each group that is not whole
  using Multisets = std::set<Multiset>;

  // Once the budget is spent, nothing is enumerated any more.
  bool is_spent() const { return budget_ < 0; }

  // The sum over parts of what each sends at least, in the time of the link. Nothing may be left above the
  // root.
  bool fits(const Multiset& parts, int uplink) const {
    if (uplink < 0) return parts.empty();
    int all = 0;
    for (const int m : parts) all += load_of_part(traffic_, m, group_);
    return traffic_.bytes * in_one_direction(traffic_, all) / tree_.uplinks[uplink].gbs / 1e3 <= us_;
  }

  Multisets parts_below(int uplink) {
    Multisets all = {{}};
    for (const NodeTree::Leaf& leaf : tree_.leaves)
      if (leaf.uplink == uplink) all = joined(all, of_hosts(static_cast<int>(leaf.hosts.size())));
    for (const int below : below_[uplink < 0 ? tree_.uplinks.size() : static_cast<std::size_t>(uplink)])
      all = joined(all, parts_below(below));
    std::erase_if(all, [&](const Multiset& parts) { return !fits(parts, uplink); });
    return all;
  }

  Multisets of_hosts(int hosts) {
    Multisets all;
    Multiset parts;
    split(hosts, group_, parts, all);
    return all;
  }
  // All partitions of the hosts into parts in descending order: at most one per group, none larger than a
  // group.
  void split(int left, int most, Multiset& parts, Multisets& all) {
    if (is_spent() || --budget_ < 0) return;
    if (left == 0) {
      Multiset open;
      for (const int m : parts)
        if (m < group_) open.push_back(m);
      all.insert(open);
      return;
    }
    if (parts.size() == traffic_.groups.size()) return;
    for (int m = std::min(left, most); m >= 1; --m) {
      parts.push_back(m);
      split(left - m, m, parts, all);
      parts.pop_back();
    }
  }

  // Of two subtrees: each part of one either becomes one with a part of the other, of the same group, or
  // stays alone.
  Multisets joined(const Multisets& first, const Multisets& second) {
    if (first.size() == 1 && first.begin()->empty()) return second;
    Multisets all;
    for (const Multiset& a : first)
      for (const Multiset& b : second) {
        Multiset done;
        join(a, b, std::vector<char>(a.size(), 0), 0, done, all);
      }
    return all;
  }
  // Equal parts of `a` are tried once (`tried`): a is sorted.
  void join(const Multiset& a, const Multiset& b, std::vector<char> used, std::size_t i, Multiset& done,
            Multisets& all) {
    if (is_spent() || --budget_ < 0) return;
    if (i == b.size()) {
      Multiset together = done;
      for (std::size_t k = 0; k < a.size(); ++k)
        if (used[k] == 0) together.push_back(a[k]);
      if (together.size() > traffic_.groups.size()) return;
      std::ranges::sort(together, std::greater());
      all.insert(std::move(together));
      return;
    }
    int tried = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (used[k] != 0 || a[k] == tried || a[k] + b[i] > group_) continue;
      tried = a[k];
      used[k] = 1;
      if (a[k] + b[i] < group_) done.push_back(a[k] + b[i]);
      join(a, b, used, i + 1, done, all);
      if (a[k] + b[i] < group_) done.pop_back();
      used[k] = 0;
    }
    done.push_back(b[i]);
    join(a, b, used, i + 1, done, all);
    done.pop_back();
  }

  const NodeTraffic& traffic_;
  const NodeTree& tree_;
  const int group_;
  long long& budget_;
  const std::vector<std::vector<int>> below_;  // uplinks by the one above them; the last: the root
  double us_ = 0;
};

double node_us(const NodeTraffic& traffic, const NodeTree& tree) {
  return traffic.bytes * messages_of_a_node(traffic) / tree.node_gbs / 1e3;
}

// The least time of one communication that its parts allow.
double least_alone(const NodeTraffic& traffic, const NodeTree& tree, long long budget) {
  // All times that parts can give a link: an integer number of messages over its rate. With k nodes in a
  // group, an exchange sends at most k * k / 4 messages each way, for halves of the group; rings and lines
  // one.
  std::set<double> times = {node_us(traffic, tree)};
  const int k = static_cast<int>(traffic.groups.front().size());
  for (const Uplink& uplink : tree.uplinks) {
    const int most =
        static_cast<int>(traffic.groups.size()) * (traffic.pattern == GroupPattern::All ? k * k / 4 : 1);
    for (int load = 1; load <= most; ++load)
      if (const double us = traffic.bytes * load / uplink.gbs / 1e3; us > *times.begin()) times.insert(us);
  }
  // The first time that is possible: what is possible stays so with more time.
  const std::vector<double> all(times.begin(), std::prev(times.end()));
  const auto impossible = [&](double us) {
    long long left = budget;
    return !Parts(traffic, tree, left).possible(us);
  };
  if (all.empty() || !impossible(all.front())) return *times.begin();
  const auto first = std::ranges::partition_point(all, impossible);
  return first == all.end() ? *times.rbegin() : *first;
}

// Does a link have a choice within the times?
bool is_within(const std::vector<std::vector<double>>& choices, const std::vector<double>& times) {
  return std::ranges::any_of(choices, [&](const std::vector<double>& us) {
    return std::ranges::equal(us, times, [](double a, double b) { return a <= b * (1 + 1e-9); });
  });
}

// The least sum of times such that every link has a choice within them.
class Thresholds {
 public:
  using Choices = std::set<std::vector<std::vector<double>>>;
  Thresholds(const Choices& choices, long long budget) : choices_(choices), budget_(budget) {}
  // Nothing where the budget ends.
  std::optional<double> least(std::vector<double> times) {
    descend(std::move(times));
    return budget_ > 0 ? std::optional(best_) : std::nullopt;
  }

 private:
  // An open link has no choice within the times, so the times have to rise to one of its choices.
  void descend(std::vector<double> times) {
    if ((budget_ -= static_cast<long long>(choices_.size())) < 0) return;
    double sum = 0;
    for (const double us : times) sum += us;
    if (sum >= best_) return;
    const auto open =
        std::ranges::find_if(choices_, [&](const auto& each) { return !is_within(each, times); });
    if (open == choices_.end()) {
      best_ = sum;
      return;
    }
    for (const std::vector<double>& us : *open) {
      std::vector<double> raised = times;
      for (std::size_t t = 0; t < us.size(); ++t) raised[t] = std::max(raised[t], us[t]);
      descend(std::move(raised));
    }
  }

  const Choices& choices_;
  long long budget_;
  double best_ = 1e300;
};

}  // namespace

OrderBound::OrderBound(const NodeMesh& mesh, const NodeTree& tree, long long budget) {
  for (const NodeTraffic& traffic : mesh.traffic) {
    alone_.push_back(tree.uplinks.empty() ? node_us(traffic, tree)
                                          : least_alone(traffic, tree, budget / 100));
    us_ += alone_.back();
  }
  if (tree.uplinks.empty()) return;
  // Links with equally many hosts below them have the same loads, and other times at other rates.
  std::set<int> sizes;
  for (const Uplink& uplink : tree.uplinks) sizes.insert(uplink.hosts);
  const auto least = least_loads(mesh, sizes, budget);
  for (const Uplink& uplink : tree.uplinks) {
    const auto at = least.find(uplink.hosts);
    if (at == least.end()) continue;
    std::set<std::vector<double>> choices;
    for (const NodeSetLoads& loads : at->second) {
      std::vector<double> us;
      for (std::size_t t = 0; t < loads.size(); ++t)
        us.push_back(mesh.traffic[t].bytes * loads[t] / uplink.gbs / 1e3);
      choices.insert(std::move(us));
    }
    choices_.insert({choices.begin(), choices.end()});
  }
  us_ = std::max(us_, Thresholds(choices_, budget).least(alone_).value_or(us_));
}

bool OrderBound::admits(const std::vector<double>& times) const {
  return is_within({alone_}, times) &&
         std::ranges::all_of(choices_, [&](const auto& choices) { return is_within(choices, times); });
}

}  // namespace chorale
