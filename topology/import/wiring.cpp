// Small changes are repeated until none is possible. Each preserves what GPUs can send each other: a dead end
// carries nothing; a node between two others carries what the slower of its lines does; and the traffic of
// one of two switches that have their GPUs in the same shares can be split over both in these shares, and
// vice versa.
#include "topology/import/wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ir/words.h"

namespace chorale {
namespace {

using NodeKind = WiringNode::Kind;
constexpr double kSameShare = 1e-6;

class Simplifier {
 public:
  explicit Simplifier(Wiring wiring) : wiring_(std::move(wiring)), there_(wiring_.nodes.size(), true) {}

  // Parallel lines first, so that a switch with two lines to a GPU is compared as one; then switches that
  // are alike; the rest until nothing changes.
  Wiring result() {
    add_up();
    merge_nvswitches();
    while (drop_dead_ends() || contract()) add_up();
    say();
    return renumbered();
  }

 private:
  // Neighbours, whatever the number of lines: add_up() has made one of parallel lines.
  struct Ends {
    std::set<int> from = {}, to = {};  // by node: where its lines come from and lead to
  };

  bool is_gpu(int n) const { return wiring_.nodes[n].kind == NodeKind::Gpu; }

  // Lines between the same two nodes.
  void add_up() {
    std::map<std::pair<int, int>, WiringLine> sums;
    for (const WiringLine& line : wiring_.lines) {
      if (line.src == line.dst) continue;
      const auto [at, added] = sums.try_emplace({line.src, line.dst}, line);
      if (added) continue;
      at->second.gbs += line.gbs;
      at->second.alpha_us = std::max(at->second.alpha_us, line.alpha_us);
    }
    wiring_.lines.clear();
    for (const auto& [ends, line] : sums) wiring_.lines.push_back(line);
  }

  std::vector<Ends> ends() const {
    std::vector<Ends> result(wiring_.nodes.size());
    for (const WiringLine& line : wiring_.lines) {
      result[line.src].to.insert(line.dst);
      result[line.dst].from.insert(line.src);
    }
    return result;
  }

  // By GPU: the rates to and from the switch.
  using Shares = std::map<int, std::pair<double, double>>;

  // Are the rates of one switch those of the other, times one number for all GPUs and both directions?
  static bool same_shares(const Shares& a, const Shares& b) {
    if (a.empty() || a.size() != b.size()) return false;
    const double times = b.begin()->second.first / a.begin()->second.first;
    const auto fits = [&](double x, double y) {
      return std::abs(x * times - y) <= kSameShare * std::max(x * times, y);
    };
    return std::ranges::equal(a, b, [&](const auto& x, const auto& y) {
      return x.first == y.first && fits(x.second.first, y.second.first) &&
             fits(x.second.second, y.second.second);
    });
  }

  // Into the first of each kind of shares.
  // Shares of a switch are compared with those of switches that have the same first GPU, and no others.
  void merge_nvswitches() {
    std::map<int, Shares> shares;
    for (const WiringLine& line : wiring_.lines) {
      if (wiring_.nodes[line.dst].kind == NodeKind::NvSwitch && is_gpu(line.src))
        shares[line.dst][line.src].first += line.gbs;
      if (wiring_.nodes[line.src].kind == NodeKind::NvSwitch && is_gpu(line.dst))
        shares[line.src][line.dst].second += line.gbs;
    }
    std::map<int, int> into;
    std::map<int, std::vector<int>> first_of;  // by the first GPU: switches that stay
    for (const auto& [node, its] : shares) {
      std::vector<int>& stay = first_of[its.begin()->first];
      const auto same =
          std::ranges::find_if(stay, [&](int other) { return same_shares(shares.at(other), its); });
      if (same == stay.end()) {
        stay.push_back(node);
        continue;
      }
      into[node] = *same;
      there_[node] = false;
      ++merged_[*same];
    }
    for (WiringLine& line : wiring_.lines) {
      if (into.contains(line.src)) line.src = into[line.src];
      if (into.contains(line.dst)) line.dst = into[line.dst];
    }
    add_up();
  }

  // Switches that nothing can come out of elsewhere than it went in.
  // A NIC of a single node, a PCI switch with nothing below it, and what becomes a dead end when these are
  // gone.
  bool drop_dead_ends() {
    const std::vector<Ends> all = ends();
    std::set<int> dead;
    for (std::size_t n = 0; n < all.size(); ++n) {
      const bool leads_on = all[n].from.size() > 1 || all[n].to.size() > 1 ||
                            (all[n].from.size() == 1 && all[n].to.size() == 1 && all[n].from != all[n].to);
      if (there_[n] && !is_gpu(static_cast<int>(n)) &&
          (!leads_on || all[n].from.empty() || all[n].to.empty()))
        dead.insert(static_cast<int>(n));
    }
    std::erase_if(wiring_.lines,
                  [&](const WiringLine& l) { return dead.contains(l.src) || dead.contains(l.dst); });
    for (int n : dead) {
      there_[n] = false;
      ++dropped_;
    }
    return !dead.empty();
  }

  // Is the node between just two others, in one direction or in both?
  // A switch with exactly two neighbours chooses nothing: it is a longer link.
  static bool is_between(const Ends& its) {
    if (its.from.size() == 1 && its.to.size() == 1) return its.from != its.to;
    return its.from.size() == 2 && its.from == its.to;
  }

  // All that can go at once: no two that are neighbours.
  // A node with two neighbours in both directions becomes two lines, one with one of each becomes one. Rates
  // of lines in a row are the least, latencies add up.
  bool contract() {
    const std::vector<Ends> all = ends();
    std::set<int> gone, kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const int n = static_cast<int>(i);
      if (!there_[n] || is_gpu(n) || kept.contains(n) || !is_between(all[n])) continue;
      gone.insert(n);
      kept.insert(all[n].from.begin(), all[n].from.end());
      kept.insert(all[n].to.begin(), all[n].to.end());
    }
    if (gone.empty()) return false;
    std::map<int, std::vector<WiringLine>> in, out;
    for (const WiringLine& line : wiring_.lines) {
      if (gone.contains(line.dst)) in[line.dst].push_back(line);
      if (gone.contains(line.src)) out[line.src].push_back(line);
    }
    std::erase_if(wiring_.lines,
                  [&](const WiringLine& l) { return gone.contains(l.src) || gone.contains(l.dst); });
    for (int n : gone) {
      for (const WiringLine& a : in[n])
        for (const WiringLine& b : out[n])
          if (a.src != b.dst)
            wiring_.lines.push_back({.src = a.src,
                                     .dst = b.dst,
                                     .gbs = std::min(a.gbs, b.gbs),
                                     .alpha_us = a.alpha_us + b.alpha_us});
      pass_nics_on(n, all[n]);
      there_[n] = false;
      ++contracted_;
    }
    return true;
  }

  // The names of NICs stay, at what they lead to.
  void pass_nics_on(int n, const Ends& its) {
    WiringNode& gone = wiring_.nodes[n];
    if (gone.kind == NodeKind::Nic) gone.nics.insert(without_direction(gone.name));
    for (const std::set<int>& ends : {its.from, its.to})
      for (const int end : ends)
        if (wiring_.nodes[end].kind != NodeKind::Network)
          wiring_.nodes[end].nics.insert(gone.nics.begin(), gone.nics.end());
  }

  // What a NIC's nodes for paths out and in have in common.
  static std::string without_direction(const std::string& name) {
    const bool out = name.ends_with(" out");
    return name.substr(0, name.size() - (out ? 4 : name.ends_with(" in") ? 3 : 0));
  }

  void say() {
    int merged = 0;
    for (auto& [node, more] : merged_) {
      merged += more;
      wiring_.nodes[node].name = fmt::format("{} and {} more", wiring_.nodes[node].name, more);
    }
    if (merged > 0)
      wiring_.read.push_back(fmt::format("{} that join the same GPUs as others are shown with them as {}",
                                         counted(merged, "NVSwitch", "NVSwitches"),
                                         counted(std::ssize(merged_), "switch", "switches")));
    if (contracted_ > 0)
      wiring_.read.push_back(fmt::format("{} between just two others {} part of the link between them",
                                         counted(contracted_, "part", "parts"),
                                         contracted_ == 1 ? "is" : "are"));
    if (dropped_ > 0)
      wiring_.read.push_back(fmt::format("{} that {} nowhere {} left out", counted(dropped_, "part", "parts"),
                                         dropped_ == 1 ? "leads" : "lead", dropped_ == 1 ? "is" : "are"));
  }

  // Nodes that are left keep their order, so GPUs keep their ranks.
  Wiring renumbered() {
    std::vector<int> number(wiring_.nodes.size(), -1);
    Wiring result{.call_us = wiring_.call_us,
                  .computing = wiring_.computing,
                  .read = std::move(wiring_.read),
                  .assumed = std::move(wiring_.assumed)};
    for (std::size_t n = 0; n < wiring_.nodes.size(); ++n)
      if (there_[n]) {
        number[n] = static_cast<int>(result.nodes.size());
        result.nodes.push_back(std::move(wiring_.nodes[n]));
      }
    for (WiringLine line : wiring_.lines) {
      line.src = number[line.src];
      line.dst = number[line.dst];
      result.lines.push_back(line);
    }
    return result;
  }

  Wiring wiring_;
  std::vector<bool> there_;
  std::map<int, int> merged_ = {};  // by switch that stays: how many more it stands for
  int dropped_ = 0, contracted_ = 0;
};

}  // namespace

int Wiring::add(NodeKind kind, std::string name) {
  nodes.push_back({kind, std::move(name)});
  return static_cast<int>(nodes.size()) - 1;
}

void Wiring::join(int a, int b, double gbs, double alpha_us) {
  lines.push_back({a, b, gbs, alpha_us});
  lines.push_back({b, a, gbs, alpha_us});
}

// Each node has a switch of its own for what comes in, which the ports of all other nodes send to. A port
// that sends to several of these does so over one line of its rate.
void join_network(Wiring& wiring, const std::vector<NetworkPort>& ports, int nodes, bool within_nodes) {
  constexpr std::size_t kMostLines = 100'000, kMostSwitches = 3'000;
  // Two nodes need one line per port; of more, each port reaches a switch per other node.
  const bool fits = nodes == 2 || (ports.size() * static_cast<std::size_t>(nodes) <= kMostLines &&
                                   ports.size() + static_cast<std::size_t>(nodes) <= kMostSwitches);
  wiring.assumed.emplace_back("the network never blocks; each NIC has its own speed into it");
  if (within_nodes || !fits) {
    const int network = wiring.add(NodeKind::Network, "network");
    for (const NetworkPort& port : ports) {
      wiring.lines.push_back({port.out, network, port.gbs, port.alpha_us});
      wiring.lines.push_back({network, port.in, port.gbs, port.alpha_us});
    }
    wiring.assumed.push_back(fmt::format("GPUs of one node may also use the network between them{}",
                                         within_nodes ? "" : ": for this many NICs it is one switch"));
    return;
  }
  // The switch into a node is not linked from its own ports, so nothing goes out and comes back.
  std::vector<int> into;
  for (int node = 0; node < nodes; ++node)
    into.push_back(wiring.add(NodeKind::Network, fmt::format("network into node {}", node)));
  for (const NetworkPort& port : ports) {
    wiring.lines.push_back({into[port.node], port.in, port.gbs, port.alpha_us});
    int from = port.out;
    double alpha_us = port.alpha_us;
    if (nodes > 2) {
      from = wiring.add(NodeKind::Network, "network from " + wiring.nodes[port.out].name);
      wiring.lines.push_back({port.out, from, port.gbs, alpha_us});
      alpha_us = 0;
    }
    for (int node = 0; node < nodes; ++node)
      if (node != port.node) wiring.lines.push_back({from, into[node], port.gbs, alpha_us});
  }
}

void join_network(Wiring& wiring, const std::vector<NetworkPort>& ports, const SwitchTree& tree) {
  std::vector<int> node;
  // By switch: the rates of all ports below it, and half of the longest latency of one.
  std::vector<double> below(tree.switches.size(), 0), alpha(tree.switches.size(), 0);
  for (const std::string& name : tree.switches)
    node.push_back(wiring.add(NodeKind::Network, "network switch " + name));
  for (const NetworkPort& port : ports) {
    const int leaf = tree.leaf[port.node];
    wiring.lines.push_back({port.out, node[leaf], port.gbs, port.alpha_us});
    wiring.lines.push_back({node[leaf], port.in, port.gbs, port.alpha_us});
    for (int each = leaf; each >= 0; each = tree.above[each]) {
      below[each] += port.gbs;
      alpha[each] = std::max(alpha[each], port.alpha_us / 2);
    }
  }
  for (std::size_t each = 0; each < node.size(); ++each)
    if (tree.above[each] >= 0 && below[each] > 0)
      wiring.join(node[each], node[tree.above[each]], below[each], alpha[each]);
  wiring.assumed.emplace_back("a link up from a switch carries what all hosts below it do: it never blocks");
}

Wiring simplified(Wiring wiring) {
  return Simplifier(std::move(wiring)).result();
}

}  // namespace chorale
