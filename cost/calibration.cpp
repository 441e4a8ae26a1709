// Paths are found hop by hop from each rank, the widest of each length. Classes are settled one after the
// other, the pairs with the fewest unsettled classes first: the rest of a pair's latency, after the settled
// classes, is divided among the others in proportion to their described latencies. A rate measures only the
// narrowest link of the path, as it is described: the other links are no slower.
#include "cost/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "ir/error.h"
#include "ir/words.h"

namespace chorale {
namespace {

double us_per_byte(const Link& link) {
  return link.beta_us_per_byte / link.bandwidth;
}

// By node: the path there from a rank.
// Breadth first by number of hops, the widest of equally short paths. A link that leaves another rank is not
// followed: ranks forward nothing.
std::vector<std::vector<LinkId>> ways_from(const Topology& topology, Rank src) {
  const std::size_t nodes = static_cast<std::size_t>(topology.ranks + topology.switches);
  constexpr double kFar = std::numeric_limits<double>::max();
  std::vector<double> narrowest(nodes, kFar);  // us a byte
  std::vector<int> length(nodes, -1);
  std::vector<LinkId> last(nodes, -1);
  length[src] = 0;
  narrowest[src] = 0;
  std::vector<Node> front = {src};
  for (int hops = 1; !front.empty(); ++hops) {
    std::set<Node> next;
    const std::set<Node> here(front.begin(), front.end());
    for (LinkId l = 0; l < static_cast<LinkId>(topology.links.size()); ++l) {
      const Link& link = topology.links[l];
      if (!here.contains(link.src) || (link.src != src && link.src < topology.ranks)) continue;
      const double rate = std::max(narrowest[link.src], us_per_byte(link));
      if (length[link.dst] >= 0 && (length[link.dst] < hops || rate >= narrowest[link.dst])) continue;
      length[link.dst] = hops;
      narrowest[link.dst] = rate;
      last[link.dst] = l;
      next.insert(link.dst);
    }
    front.assign(next.begin(), next.end());
  }
  std::vector<std::vector<LinkId>> ways(nodes);
  for (std::size_t n = 0; n < nodes; ++n) {
    for (Node at = static_cast<Node>(n); last[at] >= 0; at = topology.links[last[at]].src)
      ways[n].push_back(last[at]);
    std::ranges::reverse(ways[n]);
  }
  return ways;
}

std::vector<int> class_of_links(const Topology& topology, const std::vector<LinkClass>& classes) {
  std::vector<int> result(topology.links.size());
  for (std::size_t c = 0; c < classes.size(); ++c)
    for (const LinkId l : classes[c].links) result[l] = static_cast<int>(c);
  return result;
}

// A measured pair: how often each class is on its path, and its times.
struct MeasuredPair {
  std::map<int, int> classes = {};
  int narrowest = 0;     // class
  double bandwidth = 1;  // of its narrowest link
  std::optional<double> alpha_us = {}, us_per_byte = {};
};

class PairReader {
 public:
  PairReader(const Topology& topology, const std::vector<int>& class_of, const std::string& where)
      : topology_(topology), class_of_(class_of), where_(where) {}

  // Of the same two ranks.
  // Two sizes give a line: the slope is the rate, the rest at size 0 the latency. A message behind others
  // of the same pair shows the rate without the latency; if such were measured, they give the slope.
  MeasuredPair read(const std::vector<const MessageTime*>& times) {
    const RankMessage& ends = times.front()->message;
    name_ = fmt::format("{} -> {}", ends.src, ends.dst);
    MeasuredPair pair = on_its_way(ends.src, ends.dst);
    std::vector<const MessageTime*> alone, behind_others;
    for (const MessageTime* each : times) {
      if (!(each->us.median > 0))
        fail(fmt::format("{} bytes {} take {} us", each->message.bytes, name_, each->us.median),
             "measure again");
      (each->by_itself ? alone : behind_others).push_back(each);
    }
    const auto bytes = [](const MessageTime* each) { return each->message.bytes; };
    std::ranges::stable_sort(alone, {}, bytes);
    std::ranges::stable_sort(behind_others, {}, bytes);
    pair.us_per_byte = rate(behind_others);
    if (!pair.us_per_byte) pair.us_per_byte = rate(alone);
    if (!alone.empty())
      pair.alpha_us =
          std::max(0.0, alone.front()->us.median -
                            pair.us_per_byte.value_or(0) * static_cast<double>(alone.front()->message.bytes));
    return pair;
  }

 private:
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const {
    throw InputError(where_, problem, remedy);
  }

  // The narrowest link as it is described: if the description is wrong, the rate is given to the wrong class.
  MeasuredPair on_its_way(Rank src, Rank dst) const {
    const std::vector<LinkId> way = message_route(topology_, src, dst);
    if (way.empty())
      fail(fmt::format("nothing leads {} but over other ranks", name_), "name two ranks that are joined");
    MeasuredPair pair;
    LinkId narrowest = way.front();
    for (const LinkId l : way) {
      ++pair.classes[class_of_[l]];
      if (us_per_byte(topology_.links[l]) > us_per_byte(topology_.links[narrowest])) narrowest = l;
    }
    pair.narrowest = class_of_[narrowest];
    pair.bandwidth = topology_.links[narrowest].bandwidth;
    return pair;
  }

  // Of messages by rising size.
  // The two largest different sizes: small messages are all latency.
  std::optional<double> rate(const std::vector<const MessageTime*>& times) const {
    if (times.empty()) return {};
    const MessageTime& longest = *times.back();
    const auto shorter = std::find_if(times.rbegin(), times.rend(), [&](const MessageTime* each) {
      return each->message.bytes < longest.message.bytes;
    });
    if (shorter == times.rend()) return {};
    const double bytes = static_cast<double>(longest.message.bytes - (*shorter)->message.bytes);
    // On a busy machine a median may show no more time for more bytes; the shortest times are the least
    // disturbed.
    for (const double more_us :
         {longest.us.median - (*shorter)->us.median, longest.us.least - (*shorter)->us.least})
      if (more_us > 0) return more_us / bytes;
    return {};
  }

  const Topology& topology_;
  const std::vector<int>& class_of_;
  const std::string& where_;
  std::string name_ = {};
};

// An example: NVLink alone (1 us) settles its class; then a pair over NVLink and NIC, at 6 us, leaves 5 us
// to the NIC's. Of several pairs the median is what is subtracted.
class Settling {
 public:
  Settling(const std::vector<LinkClass>& classes, const std::vector<MeasuredPair>& pairs)
      : classes_(classes), pairs_(pairs), alphas_(classes.size()) {}

  std::vector<std::optional<Spread>> alphas() {
    for (;;) {
      std::size_t fewest = std::numeric_limits<std::size_t>::max();
      for (const MeasuredPair& pair : pairs_)
        if (const std::size_t open = open_of(pair); open > 0) fewest = std::min(fewest, open);
      if (fewest == std::numeric_limits<std::size_t>::max()) return std::move(alphas_);
      std::map<int, std::vector<double>> found;
      for (const MeasuredPair& pair : pairs_)
        if (open_of(pair) == fewest)
          for (const auto& [c, alpha] : left_of(pair)) found[c].push_back(alpha);
      for (auto& [c, values] : found) alphas_[c] = spread_of(std::move(values));
    }
  }

 private:
  std::size_t open_of(const MeasuredPair& pair) const {
    if (!pair.alpha_us) return 0;
    return static_cast<std::size_t>(
        std::ranges::count_if(pair.classes, [&](const auto& each) { return !alphas_[each.first]; }));
  }

  // What is left of the pair's latency when settled classes are subtracted, divided as the description has
  // it; evenly if that has no latencies. Never negative, since medians scatter.
  std::map<int, double> left_of(const MeasuredPair& pair) const {
    double left = *pair.alpha_us, described = 0;
    int links = 0;
    for (const auto& [c, times] : pair.classes) {
      if (alphas_[c]) {
        left -= times * alphas_[c]->median;
        continue;
      }
      described += times * classes_[c].described.alpha_us;
      links += times;
    }
    std::map<int, double> result;
    for (const auto& [c, times] : pair.classes)
      if (!alphas_[c])
        result[c] =
            std::max(0.0, left) * (described > 0 ? classes_[c].described.alpha_us / described : 1.0 / links);
    return result;
  }

  const std::vector<LinkClass>& classes_;
  const std::vector<MeasuredPair>& pairs_;
  std::vector<std::optional<Spread>> alphas_;
};

// `shared`: how much longer bytes take where all links of the class are busy at once (share(), below).
void give_numbers(Calibration& calibration) {
  for (const CalibratedClass& each : calibration.classes)
    for (const LinkId l : each.links.links) {
      Link& link = calibration.machine.links[l];
      if (each.alpha_us) link.alpha_us = each.alpha_us->median;
      if (each.beta_us_per_byte) link.beta_us_per_byte = each.beta_us_per_byte->median * each.shared;
    }
}

}  // namespace

// Equal floating-point numbers are one class: descriptions repeat the same text for links that are alike.
std::vector<LinkClass> link_classes(const Topology& topology) {
  std::map<std::tuple<int, double, double>, std::size_t> numbers;
  std::vector<LinkClass> classes;
  for (LinkId l = 0; l < static_cast<LinkId>(topology.links.size()); ++l) {
    const Link& link = topology.links[l];
    const auto [at, is_new] =
        numbers.try_emplace({link.bandwidth, link.alpha_us, link.beta_us_per_byte}, classes.size());
    if (is_new) classes.push_back({.described = link});
    classes[at->second].links.push_back(l);
  }
  return classes;
}

std::vector<LinkId> message_route(const Topology& topology, Rank src, Rank dst) {
  return ways_from(topology, src)[dst];
}

// Of each class the pairs with the shortest paths, since the fewer classes a pair has, the better each is
// known; spread over all such pairs.
std::vector<std::pair<Rank, Rank>> pairs_to_measure(const Topology& topology, int most) {
  const std::vector<int> class_of = class_of_links(topology, link_classes(topology));
  std::map<int, std::map<std::size_t, std::vector<std::pair<Rank, Rank>>>> pairs;  // by class and length
  for (Rank src = 0; src < topology.ranks; ++src) {
    const auto ways = ways_from(topology, src);
    for (Rank dst = 0; dst < topology.ranks; ++dst) {
      std::set<int> on_way;
      for (const LinkId l : ways[dst]) on_way.insert(class_of[l]);
      for (const int c : on_way) pairs[c][ways[dst].size()].emplace_back(src, dst);
    }
  }
  std::set<std::pair<Rank, Rank>> chosen;
  for (const auto& [c, by_length] : pairs) {
    const auto& shortest = by_length.begin()->second;
    const std::size_t count = std::min<std::size_t>(shortest.size(), static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < count; ++i) chosen.insert(shortest[i * shortest.size() / count]);
  }
  return {chosen.begin(), chosen.end()};
}

// Loads that show what links share although the machine's description has no limit for it: all links of a
// class at once, and, over switches, shifts by two distances.
std::vector<Crowd> crowds_to_measure(const Topology& topology) {
  std::vector<Crowd> crowds;
  for (const LinkClass& each : link_classes(topology)) {
    Crowd crowd;
    for (const LinkId l : each.links) {
      const Link& link = topology.links[l];
      if (link.src < topology.ranks && link.dst < topology.ranks)
        crowd.messages.push_back({link.src, link.dst, link.bandwidth});
    }
    if (crowd.messages.empty()) continue;
    const RankMessage& first = crowd.messages.front();
    crowd.name = fmt::format("{} like {} -> {} at once", counted(std::ssize(crowd.messages), "link"),
                             first.src, first.dst);
    crowds.push_back(std::move(crowd));
  }
  if (topology.switches == 0) return crowds;
  for (const int distance : std::set{1, topology.ranks / 2}) {
    Crowd crowd{.name = fmt::format("every rank to the one {} after it", distance)};
    for (Rank src = 0; src < topology.ranks; ++src)
      if (const Rank dst = (src + distance) % topology.ranks;
          dst != src && !message_route(topology, src, dst).empty())
        crowd.messages.push_back({src, dst, 1});
    if (!crowd.messages.empty()) crowds.push_back(std::move(crowd));
  }
  return crowds;
}

// The time per byte of a fluid model: the busiest link or limit.
CrowdRate predicted(const Topology& topology, const Crowd& crowd) {
  const std::vector<int> class_of = class_of_links(topology, link_classes(topology));
  std::vector<double> bytes(topology.links.size());
  for (const RankMessage& message : crowd.messages)
    for (const LinkId l : message_route(topology, message.src, message.dst))
      bytes[l] += static_cast<double>(message.bytes);
  CrowdRate rate;
  const auto at_least = [&](double us, LinkId l) {
    if (us > rate.us_per_byte) rate = {us, class_of[l]};
  };
  for (LinkId l = 0; l < static_cast<LinkId>(topology.links.size()); ++l)
    at_least(bytes[l] * us_per_byte(topology.links[l]), l);
  for (const SharedLimit& limit : topology.limits) {
    if (limit.links.empty()) continue;
    const auto beta = [&](LinkId l) { return topology.links[l].beta_us_per_byte; };
    const LinkId slowest = *std::ranges::max_element(limit.links, {}, beta);
    const double all = std::accumulate(limit.links.begin(), limit.links.end(), 0.0,
                                       [&](double sum, LinkId l) { return sum + bytes[l]; });
    at_least(all * beta(slowest) / limit.bandwidth, slowest);
  }
  return rate;
}

// A class that no pair measures keeps its description, and so does the rate of one that is nowhere the
// narrowest.
Calibration calibrated(const Topology& topology, std::span<const MessageTime> times,
                       const std::string& where) {
  const std::vector<LinkClass> classes = link_classes(topology);
  const std::vector<int> class_of = class_of_links(topology, classes);
  std::map<std::pair<Rank, Rank>, std::vector<const MessageTime*>> by_pair;
  for (const MessageTime& each : times) by_pair[{each.message.src, each.message.dst}].push_back(&each);
  std::vector<MeasuredPair> pairs;
  PairReader reader(topology, class_of, where);
  for (const auto& [ends, its] : by_pair) pairs.push_back(reader.read(its));
  Calibration result{.machine = topology};
  const std::vector<std::optional<Spread>> alphas = Settling(classes, pairs).alphas();
  for (std::size_t c = 0; c < classes.size(); ++c)
    result.classes.push_back({.links = classes[c], .alpha_us = alphas[c]});
  std::map<int, std::vector<double>> betas;
  for (const MeasuredPair& pair : pairs)
    if (pair.us_per_byte) betas[pair.narrowest].push_back(*pair.us_per_byte * pair.bandwidth);
  for (auto& [c, values] : betas) result.classes[c].beta_us_per_byte = spread_of(std::move(values));
  give_numbers(result);
  return result;
}

// If a crowd takes longer than predicted, the class that was to be the slowest is slowed down by as much
// before the next crowd is compared. So a later crowd slows a class only by what earlier ones have not
// explained.
void share(Calibration& calibration, std::span<const Crowd> crowds, std::span<const double> us_per_byte) {
  const std::vector<int> class_of = [&] {
    std::vector<LinkClass> classes;
    for (const CalibratedClass& each : calibration.classes) classes.push_back(each.links);
    return class_of_links(calibration.machine, classes);
  }();
  for (std::size_t i = 0; i < crowds.size(); ++i) {
    const std::vector<LinkClass> now =
        link_classes(calibration.machine);  // alike now may be more than before
    const CrowdRate alone = predicted(calibration.machine, crowds[i]);
    calibration.crowds.push_back(
        {.name = crowds[i].name, .us_per_byte = us_per_byte[i], .alone = alone.us_per_byte});
    if (!(us_per_byte[i] > alone.us_per_byte)) continue;
    CalibratedClass& decides =
        calibration.classes[class_of[now[static_cast<std::size_t>(alone.decides)].links.front()]];
    if (!decides.beta_us_per_byte) continue;
    decides.shared *= us_per_byte[i] / alone.us_per_byte;
    give_numbers(calibration);
  }
}

// Each of the three is set to its best value for the others in turn: a convex problem with a bound on each,
// which this solves. A prior of 1 for alphas and betas, of little weight, decides what the times leave open.
MachineFit fit_machine(std::span<const CollectiveTime> times) {
  constexpr int kRounds = 2000;
  constexpr double kPrior = 1e-5;  // weight, for each time
  MachineFit fit;
  const double prior = kPrior * static_cast<double>(times.size());
  const auto improve = [&](double& value, auto part, double usual, double weight) {
    double above = weight * usual, below = weight;
    for (const CollectiveTime& t : times) {
      const double all = fit.call_us + fit.alphas * t.steps_us + fit.betas * t.bytes_us;
      const double own = part(t) / t.us, rest = (t.us - all) / t.us + own * value;
      above += own * rest;
      below += own * own;
    }
    if (below > 0) value = std::max(0.0, above / below);
  };
  for (int round = 0; round < kRounds; ++round) {
    improve(
        fit.betas, [](const CollectiveTime& t) { return t.bytes_us; }, 1, prior);
    improve(
        fit.call_us, [](const CollectiveTime&) { return 1.0; }, 0, 0);
    improve(
        fit.alphas, [](const CollectiveTime& t) { return t.steps_us; }, 1, prior);
  }
  return fit;
}

Topology with_fit(Topology machine, const MachineFit& fit) {
  machine.call_us = fit.call_us;
  const auto scale = [&](std::vector<Link>& links) {
    for (Link& link : links) {
      link.alpha_us *= fit.alphas;
      link.beta_us_per_byte *= fit.betas;
    }
  };
  scale(machine.links);
  if (machine.underlay) scale(machine.underlay->links);
  return machine;
}

}  // namespace chorale
