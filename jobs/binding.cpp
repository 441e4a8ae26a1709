// The dual prices of a certificate are positive only on parts that bind (complementary slackness): with more
// of any other part the bound would be the same. Parts are called by the ends of their links, or, if shared
// limits were declared, by these.
#include "jobs/binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cost/busbw.h"
#include "cost/cost.h"
#include "graph/components.h"
#include "ir/node_label.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr double kLeastShare = 0.05;  // smaller ones are not listed
constexpr std::size_t kMostGroupsListed = 4;

// The kinds of its ends; a NIC where one of them is the network.
std::string name_of_link(const Topology& topology, Node src, Node dst) {
  const std::string from = node_kind(topology, src), to = node_kind(topology, dst);
  if (from == "network" || to == "network") return to == "network" ? "NIC out" : "NIC in";
  if (from == to) return "links between " + from + (from.ends_with("ch") ? "es" : "s");
  return from + " to " + to;
}

// The NICs that a label ends with, which lead from its node to the network; or the NIC that the node is.
std::string nics_of(const Topology& topology, Node node) {
  if (node >= std::ssize(topology.labels) || topology.labels[node].kind == "NIC")
    return label_of(topology, node);
  const std::string& name = topology.labels[node].name;
  const std::size_t behind = name.find(", ");
  return behind == name.npos ? "" : name.substr(behind + 2);
}

// What people call the link: the NIC that it is, the GPU that it joins with a switch, or else both ends, as
// --without-link takes them.
std::string own_name_of_link(const Topology& topology, Node src, Node dst) {
  if (node_kind(topology, dst) == "network") return nics_of(topology, src);
  if (node_kind(topology, src) == "network") return nics_of(topology, dst);
  std::string from = label_of(topology, src), to = label_of(topology, dst);
  if (from.empty() || to.empty()) return "";
  if (node_kind(topology, dst) == "NVSwitch") return from;
  if (node_kind(topology, src) == "NVSwitch") return to;
  // Between just two nodes the network is a part of the link: "node0:gpu5".
  const auto host = [](const std::string& name) { return name.substr(0, name.find(':')); };
  if (from.starts_with("node") && to.starts_with("node") && host(from) != host(to)) {
    from = nics_of(topology, src);
    to = nics_of(topology, dst);
  }
  return from + ">" + to;
}

// "gpu0-gpu1" for "gpu0>gpu1" and "gpu1>gpu0", and other names once; none where they are many.
std::vector<std::string> named_once(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> once;
  for (const std::string& name : names) {
    const std::size_t at = name.find('>');
    const std::string from = name.substr(0, at), to = at == name.npos ? "" : name.substr(at + 1);
    const bool both = at != name.npos && std::ranges::find(names, to + ">" + from) != names.end();
    if (both && std::ranges::find(once, to + "-" + from) != once.end()) continue;
    const std::string one = both ? from + "-" + to : name;
    if (std::ranges::find(once, one) == once.end()) once.push_back(one);
    if (once.size() > kMostNamed) return {};
  }
  return once;
}

// Of a limit that was made of one link the link (SharedLimit::cables).
std::string name_of_limit(const Topology& topology, const SharedLimit& limit) {
  if (limit.cables.size() == 1 && limit.name.starts_with("link "))
    return name_of_link(topology, limit.cables.front().src, limit.cables.front().dst);
  return limit_kind(limit);
}

// Names and rates, GB/s, of links and limits, in their order.
struct PartRates {
  using Part = std::pair<std::string, double>;
  std::vector<Part> links = {}, limits = {};
};

// A limit counts chunks, so its rate is in units of a link: the first one's.
PartRates part_rates(const Topology& topology) {
  PartRates parts;
  for (const Link& link : topology.links)
    parts.links.emplace_back(name_of_link(topology, link.src, link.dst),
                             link.bandwidth / link.beta_us_per_byte / 1e3);
  for (const SharedLimit& limit : topology.limits)
    parts.limits.emplace_back(
        name_of_limit(topology, limit),
        limit.links.empty() ? 0
                            : limit.bandwidth / topology.links[limit.links.front()].beta_us_per_byte / 1e3);
  return parts;
}

// Of the claims about the rate those with one set of prices: a certificate with a set per step holds for a
// number of steps only, and one without prices names no parts.
const Claim* strongest(const Result& result) {
  const Claim* best = nullptr;
  for (const Claim& claim : result.claims) {
    if (!claim.any_chunks || claim.collective != result.collective.kind || claim.steps != kAnySteps ||
        claim.rounds == kNoSchedule || claim.certificate.prices.size() != 1)
      continue;
    if (best == nullptr || less({best->rounds, best->chunks}, {claim.rounds, claim.chunks})) best = &claim;
  }
  return best;
}

// Parts with a price, by name and rate. A price times a rate is what the bound counts of a part, in bytes per
// time; shares are of all parts, and add up to 1 before those below kLeastShare are left out.
std::vector<MachinePart> priced_parts(const Topology& topology, const Prices& prices) {
  constexpr std::size_t kMostKept = 16;  // before directions are joined
  const PartRates rates = part_rates(topology);
  std::map<PartRates::Part, MachinePart> alike;
  double all = 0;
  const auto add = [&](const PartRates::Part& named, int price, const Cable* link) {
    const auto& [what, rate] = named;
    if (price == 0 || rate == 0) return;
    MachinePart& part = alike[named];
    part.what = what;
    part.gbs = rate;
    ++part.count;
    if (link != nullptr && part.names.size() <= kMostKept)
      part.names.push_back(own_name_of_link(topology, link->src, link->dst));
    part.share += price * rate;
    all += price * rate;
  };
  for (std::size_t l = 0; l < prices.links.size(); ++l) {
    const Cable link{topology.links[l].src, topology.links[l].dst};
    add(rates.links[l], prices.links[l], &link);
  }
  for (std::size_t i = 0; i < prices.limits.size(); ++i) {
    const std::vector<Cable>& cables = topology.limits[i].cables;
    add(rates.limits[i], prices.limits[i], cables.size() == 1 ? &cables.front() : nullptr);
  }
  std::vector<MachinePart> parts;
  for (auto& [key, part] : alike) {
    part.share /= all;
    if (std::ssize(part.names) < part.count || std::ranges::any_of(part.names, &std::string::empty))
      part.names.clear();
    if (part.share >= kLeastShare) parts.push_back(part);
  }
  std::ranges::stable_sort(parts, std::greater(), &MachinePart::share);
  return parts;
}

// Ranks that reach each other by links without a price: strongly connected components.
std::vector<std::vector<Rank>> joined_ranks(const Topology& topology, const Prices& prices) {
  std::vector<bool> priced(topology.links.size());
  for (std::size_t l = 0; l < prices.links.size(); ++l) priced[l] = prices.links[l] > 0;
  for (std::size_t i = 0; i < prices.limits.size(); ++i)
    if (prices.limits[i] > 0)
      for (const LinkId l : topology.limits[i].links) priced[l] = true;
  const Node nodes = topology.ranks + topology.switches;
  std::vector<std::vector<Node>> heads(nodes);
  for (std::size_t l = 0; l < topology.links.size(); ++l)
    if (!priced[l]) heads[topology.links[l].src].push_back(topology.links[l].dst);
  const std::vector<int> component = strong_components(
      nodes, [&](Node n) -> const auto& { return heads[n]; });
  std::map<int, std::vector<Rank>> groups;
  for (Rank n = 0; n < topology.ranks; ++n) groups[component[n]].push_back(n);
  std::vector<std::vector<Rank>> all;
  for (auto& [root, group] : groups) all.push_back(std::move(group));
  std::ranges::sort(all);
  return all;
}

// A certificate that divides the ranks names its groups; by prices alone they are what the priced parts
// separate.
std::vector<std::vector<Rank>> groups_of(const Topology& topology, const Certificate& certificate) {
  if (certificate.group.empty()) return joined_ranks(topology, certificate.prices.front());
  std::map<int, std::vector<Rank>> groups;
  for (Rank n = 0; n < std::ssize(certificate.group); ++n) groups[certificate.group[n]].push_back(n);
  std::vector<std::vector<Rank>> all;
  for (auto& [number, group] : groups) all.push_back(std::move(group));
  return all;
}

// One more than the most steps that are claimed to be too few.
int fewest_steps(const Result& result) {
  int fewest = 0;
  for (const Claim& claim : result.claims)
    if (claim.collective == result.collective.kind && claim.rounds == kNoSchedule && claim.steps != kAnySteps)
      fewest = std::max(fewest, claim.steps + 1);
  return fewest;
}

// "{0-7}" of consecutive ranks, "{0, 2, 4}" of others; of more than eight of these the first eight and "...".
std::string ranks_in_words(const std::vector<Rank>& group) {
  constexpr std::size_t kMostListed = 8;
  const auto size = static_cast<int>(group.size());
  if (size > 2 && group.back() - group.front() == size - 1)
    return fmt::format("{{{}-{}}}", group.front(), group.back());
  const auto end = group.begin() + static_cast<std::ptrdiff_t>(std::min(group.size(), kMostListed));
  return fmt::format("{{{}{}}}", fmt::join(group.begin(), end, ", "), end == group.end() ? "" : ", ...");
}

// ", between {0-3} and {4-7}"; of many groups their number and sizes; ", around each rank"; "" if nothing is
// separated.
std::string groups_in_words(const std::vector<std::vector<Rank>>& groups) {
  if (groups.size() < 2) return "";
  const auto size = [](const std::vector<Rank>& group) { return group.size(); };
  const auto [least, most] = std::ranges::minmax(groups, {}, size);
  if (most.size() == 1) return ", around each rank";
  if (groups.size() > kMostGroupsListed)
    return fmt::format(", between {} groups of {}", groups.size(),
                       least.size() == most.size()
                           ? counted(std::ssize(most), "rank")
                           : fmt::format("{} to {} ranks", least.size(), most.size()));
  std::vector<std::string> each;
  for (const std::vector<Rank>& group : groups) each.push_back(ranks_in_words(group));
  return ", between " + joined(each, " and ");
}

bool betas_differ(const Topology& topology) {
  return std::ranges::any_of(topology.links, [&](const Link& link) {
    return link.beta_us_per_byte != topology.links.front().beta_us_per_byte;
  });
}

// The name of the same part in the other direction.
std::string reversed_name(const std::string& what) {
  if (what.ends_with(" out")) return what.substr(0, what.size() - 3) + "in";
  if (what.ends_with(" in")) return what.substr(0, what.size() - 2) + "out";
  const std::size_t to = what.find(" to ");
  return to == std::string::npos ? "" : what.substr(to + 4) + " to " + what.substr(0, to);
}

// The parts of both directions are one where they are alike.
std::vector<MachinePart> both_ways(std::vector<MachinePart> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    MachinePart& one = parts[i];
    const auto twin =
        std::find_if(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end(),
                     [&, back = reversed_name(one.what)](const MachinePart& other) {
                       return other.what == back && other.gbs == one.gbs && other.count == one.count;
                     });
    if (twin == parts.end()) continue;
    one.what += ", both directions";
    one.share += twin->share;
    one.names.insert(one.names.end(), twin->names.begin(), twin->names.end());
    parts.erase(twin);
  }
  for (MachinePart& part : parts) part.names = named_once(part.names);
  return parts;
}

}  // namespace

// `from_bytes`: where the line of the rate, through 0, meets what no size avoids, the call and the latency of
// the fewest steps. Below, these bind.
std::optional<Binding> binding(const Result& result) {
  const Claim* const claim = strongest(result);
  if (claim == nullptr || claim->rounds == 0) return std::nullopt;
  const Topology machine = with_switches(result.topology);  // what prices are of
  const Prices& prices = claim->certificate.prices.front();
  if (prices.links.size() != machine.links.size() || prices.limits.size() != machine.limits.size())
    return std::nullopt;
  Binding found{.parts = both_ways(priced_parts(machine, prices)),
                .groups = groups_of(machine, claim->certificate),
                .steps = fewest_steps(result),
                .call_us = result.topology.call_us,
                .as_fastest = betas_differ(result.topology)};
  const TimeBound bound(result.topology, result.collective,
                        static_cast<double>(claim->rounds) / static_cast<double>(claim->chunks));
  // The slope in us per byte of a block, between two sizes at which latency no longer counts.
  constexpr double kLarge = 1e15;
  found.latency_us = bound.us(0) - found.call_us;
  const double us_per_byte = (bound.us(2 * kLarge) - bound.us(kLarge)) / kLarge;
  if (us_per_byte > 0)
    found.from_bytes =
        bound.us(0) / us_per_byte * static_cast<double>(message_shape(result.collective).blocks);
  return found.parts.empty() ? std::nullopt : std::optional(found);
}

std::string in_words(const Binding& binding) {
  std::vector<std::pair<std::string, std::string>> parts;  // by name: counts of each rate
  for (const MachinePart& part : binding.parts) {
    const std::string rate = fmt::format("{} x {:.4g} GB/s{}{}", part.count, part.gbs,
                                         part.names.empty() ? "" : ": ", joined(part.names));
    const auto same = std::ranges::find(parts, part.what, &std::pair<std::string, std::string>::first);
    if (same == parts.end())
      parts.emplace_back(part.what, rate);
    else
      same->second += " and " + rate;
  }
  std::vector<std::string> named;
  for (const auto& [what, rates] : parts) named.push_back(what + " (" + rates + ")");
  std::string text = fmt::format(
      "what binds{}: from {} on {}{}", binding.as_fastest ? " if all links had the rate of the fastest" : "",
      format_bytes(binding.from_bytes), joined(named), groups_in_words(binding.groups));
  std::vector<std::string> below;
  if (binding.call_us > 0) below.push_back(fmt::format("the call, {},", format_us(binding.call_us)));
  if (binding.latency_us > 0)
    below.push_back(fmt::format("the latency of {}{}",
                                binding.steps > 0 ? counted(binding.steps, "step") + ", " : "",
                                format_us(binding.latency_us)));
  if (!below.empty()) text += "; below, " + joined(below, " and ");
  if (text.ends_with(',')) text.pop_back();
  return text;
}

// The share of `us` in which a part is in use: at 1 no schedule that loads it as much is faster.
std::optional<MachinePart> busiest_part(const Machine& machine, const Point& point, double block_bytes,
                                        double us) {
  const Topology& topology = machine.topology();
  if (machine.once(abilities_of).any() || !(us > 0)) return std::nullopt;
  std::vector<long long> loads(topology.links.size());
  for (const Step& step : point.schedule.steps)
    for (const Send& send : step.sends) ++loads[send.link];
  const double chunk = block_bytes / point.collective.chunks_per_block;
  const PartRates& rates = machine.once(part_rates);
  std::map<PartRates::Part, int> alike;
  MachinePart busiest;
  const auto consider = [&](const PartRates::Part& part, long long load) {
    const auto& [what, rate] = part;
    if (rate == 0 || load == 0) return;
    ++alike[part];
    // Bytes over the part, divided by what it carries in `us`: 1 GB/s is 1e3 bytes per microsecond.
    const double share = static_cast<double>(load) * chunk / (rate * 1e3) / us;
    // Of a path in which all parts are as busy the NIC is named.
    const bool as_busy = share > busiest.share * (1 - 1e-9);
    const bool first_nic = what.starts_with("NIC") && !busiest.what.starts_with("NIC");
    if (share > busiest.share * (1 + 1e-9) || (as_busy && first_nic))
      busiest = {.what = what, .gbs = rate, .share = share};
  };
  // Limits first: they are parts, of which a link is only a path.
  for (std::size_t i = 0; i < topology.limits.size(); ++i) {
    long long load = 0;
    for (const LinkId l : topology.limits[i].links) load += loads[l];
    consider(rates.limits[i], load);
  }
  for (std::size_t l = 0; l < loads.size(); ++l) consider(rates.links[l], loads[l]);
  busiest.count = alike[{busiest.what, busiest.gbs}];
  return busiest.share > 0 ? std::optional(busiest) : std::nullopt;
}

}  // namespace chorale
