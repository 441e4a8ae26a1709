#include "topology/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

std::string also(const char* before, const Abilities& abilities) {
  return abilities.any() ? before + in_words(abilities) : "";
}

std::vector<std::vector<LinkId>> links_out(const Topology& t) {
  std::vector<std::vector<LinkId>> out(t.ranks + t.switches);
  for (LinkId l = 0; l < std::ssize(t.links); ++l) out[t.links[l].src].push_back(l);
  return out;
}

// The most links from a rank to another: each switch on a path adds one. None if one does not reach another.
// Breadth first from 64 ranks at a time, a bit for each: of 4,096 ranks and a million links each is followed
// as often as there are hops, 64 times, and not 4,096 times.
std::optional<int> diameter(const Topology& t, const std::vector<std::vector<LinkId>>& out_of) {
  int longest = 0;
  for (Rank first = 0; first < t.ranks; first += 64) {
    std::vector<std::uint64_t> reached(out_of.size(), 0), front(out_of.size(), 0), next(out_of.size(), 0);
    std::vector<Node> active, found;
    std::uint64_t all = 0;
    for (Rank n = first; n < std::min(first + 64, t.ranks); ++n) {
      active.push_back(n);
      reached[n] = front[n] = std::uint64_t{1} << (n - first);
      all |= front[n];
    }
    for (int hops = 1; !active.empty(); ++hops) {
      found.clear();
      for (const Node n : active)
        for (const LinkId l : out_of[n]) {
          const Node to = t.links[l].dst;
          const std::uint64_t fresh = front[n] & ~reached[to];
          if (fresh == 0) continue;
          if (next[to] == 0) found.push_back(to);
          next[to] |= fresh;
        }
      for (const Node n : active) front[n] = 0;
      for (const Node n : found) {
        reached[n] |= next[n];
        front[n] = std::exchange(next[n], 0);
        if (n < t.ranks) longest = std::max(longest, hops);
      }
      std::swap(active, found);
    }
    for (Rank n = 0; n < t.ranks; ++n)
      if (reached[n] != all) return std::nullopt;
  }
  return longest;
}

}  // namespace

std::string name_of(const Topology& t, Node n) {
  return n < t.ranks ? std::to_string(n) : fmt::format("switch{}", n - t.ranks);
}

// Sums of bandwidths are in chunks per round; of several links between the same two nodes each is listed.
Report report_of(const Topology& t) {
  const std::vector<std::vector<LinkId>> out_of = links_out(t);
  const std::optional<int> hops = diameter(t, out_of);
  Report report{.title = t.name};
  ReportTable nodes{
      .title = fmt::format("{}: {}, {}, {}, {}; {}", t.name, counted(t.ranks, "rank"),
                           counted(t.switches, "switch", "switches"), counted(std::ssize(t.links), "link"),
                           counted(std::ssize(t.limits), "shared limit"),
                           hops ? "diameter " + counted(*hops, "hop") : "NOT connected"),
      .rows = {{"node", "out", "in", "links to"}},
      .kinds = "lrrl"};
  const bool labelled = !t.labels.empty();
  if (labelled) {
    nodes.rows.front().insert(nodes.rows.front().begin() + 1, "name");
    nodes.kinds.insert(1, "l");
  }
  std::vector<long long> in(t.ranks + t.switches, 0);
  for (const Link& link : t.links) in[link.dst] += link.bandwidth;
  for (Node n = 0; n < t.ranks + t.switches; ++n) {
    long long out = 0;
    std::vector<std::string> to;
    for (const LinkId id : out_of[n]) {
      const Link& l = t.links[id];
      out += l.bandwidth;
      to.push_back(name_of(t, l.dst) + (l.bandwidth == 1 ? "" : fmt::format("(x{})", l.bandwidth)));
    }
    const Abilities able = n < t.ranks || t.abilities.empty() ? Abilities() : t.abilities[n - t.ranks];
    nodes.rows.push_back(
        {name_of(t, n), std::to_string(out), std::to_string(in[n]), joined(to, " ") + also("; may ", able)});
    if (labelled)
      nodes.rows.back().insert(nodes.rows.back().begin() + 1,
                               n < std::ssize(t.labels) ? t.labels[n].name : "");
  }
  report.tables = {std::move(nodes)};
  ReportTable limits{.title = "Chunks per round that several links move together",
                     .rows = {{"limit", "links", "chunks"}},
                     .kinds = "lrr"};
  for (const SharedLimit& limit : t.limits)
    limits.rows.push_back({limit.name + also(", may ", limit.abilities), std::to_string(limit.links.size()),
                           std::to_string(limit.bandwidth)});
  if (!t.limits.empty()) report.tables.push_back(std::move(limits));
  report.sentences = {fmt::format("{}alpha {} us per step, beta {} us per byte of a round",
                                  t.call_us > 0 ? fmt::format("a call costs {} us, ", t.call_us) : "",
                                  step_alpha_us(t), round_beta_us_per_byte(t))};
  return report;
}

// Graphviz does the layout. What this adds is fewer lines: two links that are each other's reverse are one
// with two heads.

namespace {

// Text in a quoted graphviz string.
std::string escaped(const std::string& text) {
  std::string result;
  for (char c : shown(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// The link with ends exchanged and everything else equal that has not been used, or -1.
int matching_reverse(const Topology& t, std::size_t l, const std::vector<bool>& used) {
  for (std::size_t k = l + 1; k < t.links.size(); ++k)
    if (!used[k] && t.links[k].src == t.links[l].dst && t.links[k].dst == t.links[l].src &&
        t.links[k].bandwidth == t.links[l].bandwidth)
      return static_cast<int>(k);
  return -1;
}

// The children of a unit, which begins at `first`: ranks, or units in boxes.
std::string boxes(const Hierarchy& levels, std::size_t level, Rank first, const std::string& indent) {
  int below = 1;
  for (std::size_t k = level + 1; k < levels.levels.size(); ++k) below *= levels.levels[k].fan_out;
  std::string text;
  for (int child = 0; child < levels.levels[level].fan_out; ++child) {
    const Rank start = first + child * below;
    if (level + 1 == levels.levels.size())
      text += fmt::format("{}\"{}\";\n", indent, start);
    else
      text += fmt::format("{0}subgraph \"cluster_{1}_{2}\" {{\n{0}  label=\"{3} {4}\";\n{5}{0}}}\n", indent,
                          level, start, escaped(levels.levels[level].name), start / below,
                          boxes(levels, level + 1, start, indent + "  "));
  }
  return text;
}

// The label of a switch that does more than forward.
std::string able(const Topology& t, Node n) {
  if (t.abilities.empty() || !t.abilities[n - t.ranks].any()) return "";
  return fmt::format(", label=\"{}\\n{}\"", name_of(t, n), in_words(t.abilities[n - t.ranks]));
}

}  // namespace

std::string to_dot(const Topology& t, const Hierarchy* levels) {
  const bool boxed = levels != nullptr && levels->levels.size() > 1;
  std::string text = fmt::format("digraph \"{}\" {{\n  layout={};\n  node [shape=circle];\n", escaped(t.name),
                                 boxed ? "fdp" : "circo");  // circo draws no boxes
  if (boxed) text += boxes(*levels, 0, 0, "  ");
  for (Node n = t.ranks; n < t.ranks + t.switches; ++n)
    text += fmt::format("  \"{}\" [shape=box{}];\n", name_of(t, n), able(t, n));
  std::vector<bool> used(t.links.size(), false);
  // Ranks need no lines of their own: graphviz makes nodes of what links name. Bandwidth is the width of the
  // line, up to 8 points.
  for (std::size_t l = 0; l < t.links.size(); ++l) {
    if (used[l]) continue;
    const int back = matching_reverse(t, l, used);
    if (back >= 0) used[back] = true;
    text += fmt::format("  \"{}\" -> \"{}\" [penwidth={}{}];\n", name_of(t, t.links[l].src),
                        name_of(t, t.links[l].dst), std::min(8, t.links[l].bandwidth),
                        back >= 0 ? ", dir=both" : "");
  }
  std::string legend;
  for (const SharedLimit& limit : t.limits)
    legend += fmt::format("{}: {}, {} per round{}\\l", escaped(limit.name),
                          counted(std::ssize(limit.links), "link"), limit.bandwidth,
                          limit.abilities.any() ? ", may " + in_words(limit.abilities) : "");
  if (!legend.empty()) text += fmt::format("  label=\"{}\";\n", legend);
  return text + "}\n";
}

}  // namespace chorale
