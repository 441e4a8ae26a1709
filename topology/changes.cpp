// Changes by names, as the command line has them: "3", "switch0", "0-1" for a link in both directions,
// "0>1" for one; or the labels of nodes, "gpu0-gpu1"; "gpu0" alone for all links of one. First rates, then
// links, then ranks, since numbers of ranks move up when some are gone. A limit without links is gone with
// them.
#include "topology/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/error.h"
#include "ir/links_alone.h"
#include "ir/node_label.h"
#include "ir/words.h"
#include "topology/import/words.h"
#include "topology/text.h"

namespace chorale {
namespace {

constexpr int kMostPartDenominator =
    1000;  // a part of a bandwidth is a fraction with at most this below the line
constexpr long long kMostChunksOfLink = 1'000'000;

std::optional<int> whole_number(const std::string& text) {
  const std::optional<int> number = number_in<int>(text);
  return number >= 0 ? number : std::nullopt;
}

// A label may be that of two nodes, one for each direction; none: it names no node.
std::vector<Node> labelled(const Topology& t, const std::string& name) {
  std::vector<Node> nodes;
  for (Node n = 0; n < std::min<Node>(t.ranks + t.switches, static_cast<Node>(t.labels.size())); ++n)
    if (lower_case(label_of(t, n)) == lower_case(name)) nodes.push_back(n);
  return nodes;
}

// "3" is rank 3, "gpu3" as well where nodes have no labels, and "switch0" the first node behind the ranks;
// none: no node has the name.
std::vector<Node> nodes_found(const Topology& t, const std::string& name) {
  if (std::vector<Node> nodes = labelled(t, name); !nodes.empty()) return nodes;
  const bool is_switch = name.starts_with("switch");
  const bool is_gpu = t.labels.empty() && lower_case(name).starts_with("gpu");
  const auto number = whole_number(name.substr(is_switch ? 6 : is_gpu ? 3 : 0));
  if (!number || *number >= (is_switch ? t.switches : t.ranks)) return {};
  return {is_switch ? t.ranks + *number : *number};
}

// A machine without switch nodes has their ports as limits, of which one can be slower.
std::string or_a_limit(const Topology& t) {
  return t.limits.empty() ? "" : fmt::format(", or a shared limit, such as '{}=0.5'", t.limits.front().name);
}

std::vector<Node> nodes_named(const Topology& t, const std::string& option, const std::string& name) {
  std::vector<Node> nodes = nodes_found(t, name);
  if (nodes.empty())
    throw InputError(option, fmt::format("'{}' is not a rank or switch of {}", name.substr(0, 40), t.name),
                     fmt::format("use 0 to {}{}{}", t.ranks - 1,
                                 t.switches > 0 ? fmt::format(", switch0 to switch{}", t.switches - 1) : "",
                                 option == "--degrade" ? or_a_limit(t) : ""));
  return nodes;
}

// Of a rank as links and errors name it.
std::string example_name(const Topology& t) {
  return t.labels.empty() ? "gpu0" : label_of(t, 0);
}

// Those that "A-B" or "A>B" names, or the name of a node: all of its links. A number alone is no link's name.
std::vector<LinkId> links_named(const Topology& t, const std::string& option, const std::string& text) {
  // At either of the two characters, of which labels may have some: at the first between two of them.
  std::size_t at = text.find_first_of("->");
  if (at == std::string::npos || !labelled(t, text).empty()) {
    const std::vector<Node> nodes = whole_number(text) ? labelled(t, text) : nodes_found(t, text);
    if (nodes.empty())
      throw InputError(option, "'" + text.substr(0, 60) + "' names no link",
                       "use A-B for both directions, A>B for one, or a node's name for all of its links: " +
                           example_name(t) + (option == "--degrade" ? or_a_limit(t) : ""));
    const auto ends_at = [&](Node n) { return std::ranges::find(nodes, n) != nodes.end(); };
    std::vector<LinkId> result;
    for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l)
      if (ends_at(t.links[l].src) || ends_at(t.links[l].dst)) result.push_back(l);
    return result;
  }
  for (std::size_t i = at; i != std::string::npos; i = text.find_first_of("->", i + 1))
    if (!labelled(t, text.substr(0, i)).empty() && !labelled(t, text.substr(i + 1)).empty()) {
      at = i;
      break;
    }
  const std::vector<Node> a = nodes_named(t, option, text.substr(0, at)),
                          b = nodes_named(t, option, text.substr(at + 1));
  const auto joins = [&](const std::vector<Node>& from, const std::vector<Node>& to, const Link& link) {
    return std::ranges::find(from, link.src) != from.end() && std::ranges::find(to, link.dst) != to.end();
  };
  std::vector<LinkId> result;
  for (LinkId l = 0; l < static_cast<int>(t.links.size()); ++l)
    if (joins(a, b, t.links[l]) || (text[at] == '-' && joins(b, a, t.links[l]))) result.push_back(l);
  if (!result.empty()) return result;
  const auto one = std::ranges::find(t.links, a.front(), &Link::src);
  throw InputError(option, fmt::format("{} has no link {}", t.name, text.substr(0, 60)),
                   one == t.links.end()
                       ? "see 'chorale topology show' for its links"
                       : fmt::format("{} has one to {}", name_of(t, a.front()), name_of(t, one->dst)));
}

// A fraction of a bandwidth: above / below.
struct Part {
  int above = 1, below = 1;
};

// 0.5 as 1/2: the fraction with the least below the line that is it up to a millionth.
Part part_in(const std::string& text) {
  const double part = number_in<double>(text).value_or(0);
  if (part > 0 && part < 1)
    for (int below = 2; below <= kMostPartDenominator; ++below) {
      const double above = std::round(part * below);
      if (above >= 1 && std::abs(above / below - part) < 1e-6) return {static_cast<int>(above), below};
    }
  throw InputError("--degrade", fmt::format("'{}' is not a fraction of a bandwidth", text.substr(0, 40)),
                   "use what is left of it, between 0 and 1 in thousandths, such as 0.5");
}

// All bandwidths `times` as large, in units 1/`times` as large.
// A half of 1 chunk per round is 1 of 2: all bandwidths are doubled, and the unit halved, so nothing else
// changes.
void scale(Topology& t, int times) {
  const auto enlarged = [&](int& bandwidth) {
    if (bandwidth * static_cast<long long>(times) > kMostChunksOfLink)
      throw InputError("--degrade", "makes bandwidths over 1000000 chunks per round",
                       "use a simpler part, such as 0.5");
    bandwidth *= times;
  };
  for (Link& link : t.links) {
    enlarged(link.bandwidth);
    link.beta_us_per_byte *= times;
  }
  for (SharedLimit& limit : t.limits) enlarged(limit.bandwidth);
}

// Scaled by the least common multiple of the denominators of the new bandwidths: a half of 3 chunks per round
// is 3 of 6, and every other bandwidth is doubled as well.
void degrade(Topology& t, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw InputError("--degrade", "'" + text.substr(0, 60) + "' has no fraction", "use A-B=0.5");
  const std::string name = text.substr(0, equals);
  std::vector<int*> slower;
  for (SharedLimit& limit : t.limits)
    if (lower_case(limit.name) == lower_case(name)) slower.push_back(&limit.bandwidth);
  if (slower.empty())
    for (LinkId l : links_named(t, "--degrade", name)) slower.push_back(&t.links[l].bandwidth);
  const Part part = part_in(text.substr(equals + 1));
  int times = 1;
  for (const int* each : slower)
    times = std::lcm(times, part.below / std::gcd(part.below, *each * part.above));
  if (times > 1) scale(t, times);
  for (int* each : slower) *each = static_cast<int>(static_cast<long long>(*each) * part.above / part.below);
}

// Links behind a removed one move up, and limits name the remaining ones by their new numbers.
void remove(Topology& t, const std::vector<bool>& gone) {
  std::vector<LinkId> number(t.links.size(), -1);
  std::vector<Link> left;
  for (std::size_t l = 0; l < t.links.size(); ++l) {
    if (gone[l]) continue;
    number[l] = static_cast<LinkId>(left.size());
    left.push_back(t.links[l]);
  }
  t.links = std::move(left);
  for (SharedLimit& limit : t.limits) {
    std::erase_if(limit.links, [&](LinkId l) { return gone[l]; });
    for (LinkId& l : limit.links) l = number[l];
  }
  std::erase_if(t.limits, [](const SharedLimit& limit) { return limit.links.empty(); });
}

// `gone` is by node; switches stay, and are numbered behind the ranks that are left.
void remove_ranks(Topology& t, const std::vector<bool>& gone) {
  std::vector<bool> links(t.links.size(), false);
  for (std::size_t l = 0; l < links.size(); ++l) links[l] = gone[t.links[l].src] || gone[t.links[l].dst];
  remove(t, links);
  std::vector<Node> number(gone.size());
  Node next = 0;
  for (std::size_t n = 0; n < gone.size(); ++n)
    if (!gone[n]) number[n] = next++;
  for (Link& link : t.links) {
    link.src = number[link.src];
    link.dst = number[link.dst];
  }
  for (SharedLimit& limit : t.limits) limit.cables.clear();  // of other numbers
  std::vector<NodeLabel> labels;
  for (std::size_t n = 0; n < t.labels.size() && n < gone.size(); ++n)
    if (!gone[n]) labels.push_back(std::move(t.labels[n]));
  t.labels = std::move(labels);
  t.ranks = next - t.switches;
}

// Every switch gets the abilities, and delivers whatever its cables carry. A limit over the links of one rank
// is its cable to a switch; the switch is then not described.
void give(Topology& t, const Abilities& abilities) {
  const auto add = [&abilities](Abilities& to, bool into_switch, bool out_of_switch) {
    to.multicast = to.multicast || (abilities.multicast && into_switch);
    to.reduce = to.reduce || (abilities.reduce && out_of_switch);
  };
  t.switch_gain = 0;
  t.abilities.resize(t.switches);
  for (Abilities& each : t.abilities) add(each, true, true);
  bool any = t.switches > 0;
  for (SharedLimit& limit : t.limits) {
    if (t.switches > 0) break;
    const auto one = [&](Node Link::*end) {
      return std::ranges::all_of(
          limit.links, [&](LinkId l) { return t.links[l].*end == t.links[limit.links.front()].*end; });
    };
    const bool out = one(&Link::src), in = one(&Link::dst);
    add(limit.abilities, out, in);
    any = any || out || in;
  }
  if (!any)
    throw InputError(abilities.multicast ? "--switches-multicast" : "--switches-reduce",
                     t.name + " has no switches", "give a machine with some ('chorale topology list')");
}

// What is said of its calls, and its switches without abilities where these are taken away.
Topology with_calls(Topology t, const MachineChanges& changes) {
  t.call_us = changes.call_us.value_or(t.call_us);
  return changes.import.forward_only ? by_links_alone(std::move(t)) : t;
}

}  // namespace

std::vector<Rank> ranks_gone(const Topology& t, const MachineChanges& changes) {
  std::set<Rank> gone;
  for (const std::string& each : changes.without_ranks) {
    std::vector<Node> nodes = nodes_found(t, each);
    if (const auto number = whole_number(each)) nodes = {*number};
    std::erase_if(nodes, [&](Node n) { return n >= t.ranks; });
    if (nodes.empty())
      throw InputError("--without-rank", fmt::format("'{}' is not a rank of {}", each.substr(0, 40), t.name),
                       fmt::format("use 0 to {}, or a name such as {}", t.ranks - 1, example_name(t)));
    gone.insert(nodes.begin(), nodes.end());
  }
  return {gone.begin(), gone.end()};
}

Topology changed(const Topology& given, const MachineChanges& changes) {
  // Links and ranks are looked up before any of them is removed, by the numbers of the machine that was
  // given.
  if (changes.import.forward_only && changes.import.in_network)
    throw InputError("--switches-forward-only", "contradicts --switches-in-network", "leave one out");
  if (!changes.any()) return with_calls(given, changes);
  Topology t = with_calls(with_switches(given), changes);
  for (const std::string& each : changes.degraded) degrade(t, each);
  std::vector<bool> links(t.links.size(), false), nodes(t.ranks + t.switches, false);
  for (const std::string& each : changes.without_links)
    for (LinkId l : links_named(t, "--without-link", each)) links[l] = true;
  for (const Rank n : ranks_gone(t, changes)) nodes[n] = true;
  if (std::ranges::count(nodes, true) >= t.ranks)
    throw InputError("--without-rank", "leaves no rank of " + t.name, "leave at least one");
  remove(t, links);
  remove_ranks(t, nodes);
  if (changes.switches.any()) give(t, changes.switches);
  std::vector<std::string> words;
  for (const std::string& each : changes.without_links) words.push_back("without link " + each);
  for (const std::string& each : changes.without_ranks) words.push_back("without rank " + each);
  for (const std::string& each : changes.degraded) words.push_back("with " + each);
  if (changes.switches.any()) words.push_back("whose switches " + in_words(changes.switches));
  t.name = (t.name + " " + joined(words)).substr(0, 200);
  return t;
}

// Failures have the names that changes have on the command line (topology/changes.cpp), so a failed machine
// is the named one with one change, and its name can be given wherever a machine's can.

namespace {

constexpr std::string_view kWithout = " without ";
constexpr std::string_view kLink = "link ", kRank = "rank ";

}  // namespace

std::vector<std::string> single_failures(const Topology& described) {
  // Parallel links between the same two nodes fail together, and so do both directions of a cable.
  std::set<std::pair<Node, Node>> directed;
  for (const Link& link : described.links) directed.emplace(link.src, link.dst);
  std::vector<std::string> failures;
  for (const auto& [src, dst] : directed) {
    const bool both = directed.contains({dst, src});
    if (both && dst < src) continue;
    failures.push_back(
        fmt::format("{}{}{}{}", kLink, name_of(described, src), both ? "-" : ">", name_of(described, dst)));
  }
  for (Rank n = 0; described.ranks > 1 && n < described.ranks; ++n)
    failures.push_back(fmt::format("{}{}", kRank, n));
  return failures;
}

NamedChanges split_failure(const std::string& spec_or_file) {
  // The first " without ". Names of machines have no blanks; a path that has this word in it is split as
  // well.
  const std::size_t at = spec_or_file.find(kWithout);
  if (at == std::string::npos) return {.machine = spec_or_file};
  NamedChanges named{.machine = spec_or_file.substr(0, at),
                     .failure = spec_or_file.substr(at + kWithout.size())};
  if (named.failure.starts_with(kLink))
    named.changes.without_links = {named.failure.substr(kLink.size())};
  else if (named.failure.starts_with(kRank))
    named.changes.without_ranks = {named.failure.substr(kRank.size())};
  else
    throw InputError("machine " + spec_or_file.substr(0, 100),
                     "'" + named.failure.substr(0, 60) + "' is not a failure",
                     "name it 'MACHINE without link A-B' or 'MACHINE without rank N'");
  return named;
}

}  // namespace chorale
