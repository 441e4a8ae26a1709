#include "topology/dot.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/shown.h"
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

}  // namespace

std::string to_dot(const Topology& t) {
  std::string text =
      fmt::format("digraph \"{}\" {{\n  layout=circo;\n  node [shape=circle];\n", escaped(t.name));
  for (Node n = t.ranks; n < t.ranks + t.switches; ++n)
    text += fmt::format("  \"{}\" [shape=box];\n", name_of(t, n));
  std::vector<bool> used(t.links.size(), false);
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
    legend +=
        fmt::format("{}: {} links, {} a round\\l", escaped(limit.name), limit.links.size(), limit.bandwidth);
  if (!legend.empty()) text += fmt::format("  label=\"{}\";\n", legend);
  return text + "}\n";
}

}  // namespace chorale
