// Machines. A bidirectional link is two links, one after the other; where links are named by their ends there
// must be only one.

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "ir/design.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"

namespace chorale {

namespace {

constexpr std::size_t kMostLinks = Fields<Topology>::kMostLinks;
// Ranks, and as many switches: cables name nodes of a machine that is not here.
constexpr Node kMostNode = 2 * kMostRanks;
constexpr double kSmallest = 1e-12, kLargest = 1e9;

// The machine's alpha and beta are defaults of its links; a link may state its own. "both_ways" is the list's
// to read.
Link read_link(const JsonReader& json, int nodes, const Link& defaults) {
  require_fields<Link>(json, {"both_ways"});
  for (const char* end : {"src", "dst"}) json[end].integer(0, nodes - 1);  // refuses others
  Link link = defaults;
  read_members(json, link);
  if (link.src == link.dst) json.fail("goes from a node to itself", "remove it");
  return link;
}

// By its ends: the first link that has them, and how many do.
using LinksByEnds = std::map<std::pair<Node, Node>, std::pair<LinkId, int>>;

LinksByEnds links_by_ends(const Topology& topology) {
  LinksByEnds result;
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
    ++result.try_emplace({topology.links[l].src, topology.links[l].dst}, l, 0).first->second.second;
  return result;
}

// A link by number, or by [src, dst] where there is one such link.
LinkId read_link_name(const JsonReader& json, const Topology& topology, const LinksByEnds& by_ends) {
  if (!json.is_array()) return json.integer(0, static_cast<int>(topology.links.size()) - 1);
  if (json.size(2) != 2) json.fail("does not name a link", "use its number or [src, dst]");
  const int nodes = topology.ranks + topology.switches;
  const Node src = json.at(0).integer(0, nodes - 1), dst = json.at(1).integer(0, nodes - 1);
  const auto found = by_ends.find({src, dst});
  if (found == by_ends.end())
    json.fail(fmt::format("there is no link {} -> {}", src, dst), "add it to links");
  const auto [first, parallel] = found->second;
  if (parallel > 1)
    json.fail(fmt::format("there are {} links {} -> {}", parallel, src, dst), "use their numbers");
  return first;
}

// "link 3 -> 17": older files state no cables, and have a single one as a limit's name. Nine digits always
// fit an int.
std::vector<Cable> named_cables(const std::string& name) {
  Cable one;
  int end = 0;
  const bool named = std::sscanf(name.c_str(), "link %9d -> %9d%n", &one.src, &one.dst, &end) == 2;
  return named && end == std::ssize(name) ? std::vector{one} : std::vector<Cable>{};
}

// Cables are [[src, dst], ...].
struct CableFields : PlainFields {
  using PlainFields::read, PlainFields::write;
  std::string write(const std::vector<Cable>& cables, const FieldWords&) const {
    std::vector<std::string> ends;
    for (const Cable& each : cables) ends.push_back(fmt::format("[{},{}]", each.src, each.dst));
    return fmt::format("[{}]", fmt::join(ends, ","));
  }
  void read(const JsonReader& list, const FieldWords&, std::vector<Cable>& cables) const {
    for (const JsonReader& cable : list.elements(kMostLinks)) {
      if (cable.size(2) != 2) cable.fail("is not a cable", "use [src, dst]");
      cables.push_back({cable.at(0).integer(0, kMostNode), cable.at(1).integer(0, kMostNode)});
    }
  }
};

// Links by number or by their ends; kept sorted (SharedLimit::links).
struct LimitFields : CableFields {
  const Topology& topology;
  const LinksByEnds& by_ends;
  using CableFields::read;
  void read(const JsonReader& names, const FieldWords&, std::vector<LinkId>& links) const {
    for (const JsonReader& name : names.elements(kMostLinks))
      links.push_back(read_link_name(name, topology, by_ends));
    std::sort(links.begin(), links.end());
    if (links.empty()) names.fail("is empty", "name at least one link");
    if (std::adjacent_find(links.begin(), links.end()) != links.end())
      names.fail("names a link twice", "name each once");
  }
};

// Of a topology that is read: each member by those before it.
struct GraphFields : LineFields<GraphFields> {
  Topology* topology = nullptr;
  Link defaults = {};
  using LineFields::read, LineFields::write;

  std::string write(const Link& link, const FieldWords&) const { return write_fields(link); }
  std::string write(const SharedLimit& limit, const FieldWords&) const {
    return write_fields(limit, CableFields());
  }
  std::string write(const NodeLabel& label, const FieldWords&) const { return write_fields(label); }
  std::string write(const std::vector<int>& switches, const FieldWords&) const { return list(switches); }

  // The switches that a list names, by their numbers from 0.
  void read(const JsonReader& json, const FieldWords&, std::vector<int>& switches) const {
    if (json.size(kMostRanks) > 0 && topology->switches == 0)
      json.fail("names switches, and there are none", "leave it out");
    switches = json.integers(kMostRanks, 0, topology->switches - 1);
  }
  // "both_ways" makes the reverse the next link, so numbers of links depend on it.
  void read(const JsonReader& json, const FieldWords&, std::vector<Link>& links) const {
    for (const JsonReader& each : json.elements(kMostLinks)) {
      const Link link = read_link(each, topology->ranks + topology->switches, defaults);
      links.push_back(link);
      if (!each.has("both_ways") || !each["both_ways"].boolean()) continue;
      links.push_back(link);
      std::swap(links.back().src, links.back().dst);
    }
  }
  void read(const JsonReader& json, const FieldWords&, std::vector<SharedLimit>& limits) const {
    const LinksByEnds by_ends = links_by_ends(*topology);
    for (const JsonReader& each : json.elements(kMostLinks)) {
      limits.push_back(read_fields<SharedLimit>(each, LimitFields{{}, *topology, by_ends}));
      if (!each.has("cables")) limits.back().cables = named_cables(limits.back().name);
    }
  }
};

// A topology without what is below it. alpha_us and beta_us_per_byte of the whole are only read: writers
// state them at each link.
Topology read_graph(const JsonReader& json) {
  require_fields<Topology>(json, {"alpha_us", "beta_us_per_byte", "underlay", "ways"});
  Topology topology;
  GraphFields codec{{}, &topology};
  if (json.has("alpha_us")) codec.defaults.alpha_us = json["alpha_us"].number(0, kLargest);
  if (json.has("beta_us_per_byte"))
    codec.defaults.beta_us_per_byte = json["beta_us_per_byte"].number(kSmallest, kLargest);
  read_members(json, topology, codec);
  return topology;
}

// Form only: whether the links match their paths is checked by semantics/verify_routes.h. "ways" has a list
// of links below for each link above.
Underlay read_underlay(const JsonReader& json, const Topology& above) {
  for (const char* key : {"underlay", "ways"})
    if (json["underlay"].has(key))
      json["underlay"][key].fail("is not for what is below itself", "leave it out");
  Topology machine = read_graph(json["underlay"]);
  if (const Abilities able = abilities_of(machine);
      able.any())  // of chosen routes it is not known what counts once
    json["underlay"][able.multicast ? "multicast" : "reduce"].fail("is of switches below chosen routes",
                                                                   "leave it out");
  // Ranks have the same numbers on both levels.
  if (machine.ranks != above.ranks)
    json["underlay"].fail(fmt::format("has {} ranks, what is above it {}", machine.ranks, above.ranks));
  Underlay underlay{
      .switches = machine.switches, .links = std::move(machine.links), .limits = std::move(machine.limits)};
  const int last = static_cast<int>(underlay.links.size()) - 1;
  for (const JsonReader& links : json["ways"].elements(kMostLinks))
    underlay.routes.push_back(links.integers(kMostRanks, 0, last));
  return underlay;
}

}  // namespace

Topology read_topology(const JsonReader& json) {
  Topology topology = read_graph(json);
  if (json.has("underlay"))
    topology.underlay = read_underlay(json, topology);
  else if (json.has("ways"))
    json["ways"].fail("are of no underlay", "leave them out");
  return topology;
}

// What is below is written as a machine of its own, one level further in; with_switches() has no underlay, so
// this ends.
std::string write_topology(const Topology& topology, const std::string& indent) {
  const std::string inner = indent + "  ";
  std::string text = "{\n" + inner + write_members(topology, GraphFields{{{}, inner}});
  if (topology.underlay) {
    std::vector<std::string> ways;
    for (const std::vector<LinkId>& way : topology.underlay->routes) ways.push_back(list(way));
    Topology below = with_switches(topology);
    below.labels.clear();  // they are above, as what a call costs
    below.call_us = 0;
    text += fmt::format(",\n{0}\"underlay\": {1},\n{0}\"ways\": {2}", inner, write_topology(below, inner),
                        lines(ways, inner));
  }
  return text + "\n" + indent + "}";
}

std::string to_json(const Topology& topology) {
  return write_topology(topology, "") + "\n";
}

Topology topology_from_json(std::string_view text, const std::string& file) {
  return read_topology(parse_json(text, file));
}

// Designs are written for other programs; nothing here reads them back. A rate is null, and so is a time,
// where no schedule was found.

template <>
struct Fields<DesignDemand> {
  static constexpr auto all = plain_fields<&DesignDemand::collective, &DesignDemand::weight>();
};
template <>
struct Fields<DesignFamily> {
  using F = DesignFamily;
  static constexpr auto all = plain_fields<&F::group, &F::relations, &F::graphs>();
};
template <>
struct Fields<WiringRate> {
  using W = WiringRate;
  static std::optional<Rate> found(const W& rate) {
    return rate.found.rounds > 0 ? std::optional(rate.found) : std::nullopt;
  }
  static constexpr std::tuple all = {field<&W::bound>(), Derived<W, found>{{.name = "found"}},
                                     field<&W::steps>()};
};
template <>
struct Fields<DesignedGraph> {
  using D = DesignedGraph;
  static std::optional<double> found_us(const D& wiring) {
    return wiring.found_us > 0 ? std::optional(wiring.found_us) : std::nullopt;
  }
  static constexpr std::tuple all = {field<&D::name>(),
                                     field<&D::alike>(),
                                     field<&D::diameter>(),
                                     field<&D::distances>(),
                                     field<&D::bisection>(),
                                     field<&D::bound_us>(),
                                     Derived<D, found_us>{{.name = "found_us"}},
                                     field<&D::rates>()};
};

std::string to_json(const Design& design) {
  const Design& d = design;
  return json_file("chorale_design", 1, "ranks", d.ranks, "degree", d.degree, "job", d.job, "message_bytes",
                   d.message_bytes, "alpha_us", d.alpha_us, "link_gbs", d.link_gbs, "proven", d.proven,
                   "bound_us", d.bound_us, "groups", d.groups, "all_groups", d.all_groups, "all_compared",
                   d.all_compared, "by_distance", d.by_distance, "stopped", name_of(d.stopped), "best",
                   d.best, "named", d.named, "families", d.families);
}

}  // namespace chorale
