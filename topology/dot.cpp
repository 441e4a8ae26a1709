// Graphviz does the layout. What this adds is fewer lines: two links that are each other's reverse are one
// with two heads.
#include "topology/dot.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/shown.h"
#include "ir/words.h"
#include "topology/text.h"

namespace chorale {
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
