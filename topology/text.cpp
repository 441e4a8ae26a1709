#include "topology/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/words.h"

namespace chorale {
namespace {

// "on a switch, 8 ports of 50 GB/s, 5 us, on rails, out of it 56 GB/s for 2": what is usual is left out.
std::string level_in_words(const Level& level) {
  const LinkModel& link = level.link;
  std::string text =
      fmt::format("{} {}", link.shape == LinkModel::Shape::Ring ? "in a ring," : "on a switch,",
                  link.ports == 1 ? "" : fmt::format("{} ports of ", link.ports));
  text += fmt::format("{:.6g} GB/s, {} us", link.bandwidth_gbs, link.latency_us);
  if (link.stream_gbs > 0) text += fmt::format(", a stream {:.6g} GB/s", link.stream_gbs);
  if (link.rails) text += ", on rails";
  const auto path = [&](const char* what, const std::optional<SharedPath>& shared) {
    if (shared)
      text += fmt::format(", {} {:.6g} GB/s{}", what, shared->bandwidth_gbs,
                          shared->children > 1 ? fmt::format(" for {}", shared->children) : "");
  };
  path("out of it", link.exit);
  path("detour", link.detour);
  return text;
}

std::string also(const char* before, const Abilities& abilities) {
  return abilities.any() ? before + in_words(abilities) : "";
}

}  // namespace

std::string describe(const Levels& levels) {
  if (!levels.hierarchy) return "no levels: it " + levels.why_none + "\n";
  std::string text = levels.by_cuts ? "levels, by the cuts between equal units, from the outermost in:\n"
                                    : "levels, from the outermost in:\n";
  for (const Level& level : levels.hierarchy->levels)
    text += fmt::format("  {:>8}: {} {}\n", level.name, level.fan_out, level_in_words(level));
  return text;
}

std::string name_of(const Topology& t, Node n) {
  return n < t.ranks ? std::to_string(n) : fmt::format("switch{}", n - t.ranks);
}

std::string describe(const Topology& t) {
  // In links from rank to rank: each switch on a path adds one.
  int diameter = 0;
  bool connected = true;
  const HopCounts hops(t);
  for (Rank n = 0; n < t.ranks; ++n) {
    const std::vector<int> distance = hops.from({n});
    for (Rank m = 0; m < t.ranks; ++m) {
      connected = connected && distance[m] >= 0;
      diameter = std::max(diameter, distance[m]);
    }
  }
  std::string text = fmt::format(
      "{}: {}, {}, {}, {}; {}\n", t.name, counted(t.ranks, "rank"), counted(t.switches, "switch", "switches"),
      counted(std::ssize(t.links), "link"), counted(std::ssize(t.limits), "shared limit"),
      connected ? "diameter " + counted(diameter, "hop") : "NOT connected");
  text += fmt::format("alpha {} us per step, beta {} us per byte of a round\n", step_alpha_us(t),
                      round_beta_us_per_byte(t));
  // Sums of bandwidths in chunks per round; of several links between the same two nodes each is listed.
  for (Node n = 0; n < t.ranks + t.switches; ++n) {
    long long out = 0, in = 0;
    std::string to;
    for (const Link& l : t.links) {
      if (l.dst == n) in += l.bandwidth;
      if (l.src != n) continue;
      out += l.bandwidth;
      to +=
          fmt::format(" {}{}", name_of(t, l.dst), l.bandwidth == 1 ? "" : fmt::format("(x{})", l.bandwidth));
    }
    text += fmt::format("  {:>8}: out {:>3}, in {:>3}; to{}{}\n", name_of(t, n), out, in, to,
                        n < t.ranks || t.abilities.empty() ? "" : also("; may ", t.abilities[n - t.ranks]));
  }
  for (const SharedLimit& limit : t.limits)
    text += fmt::format("  limit '{}': {} together move {} per round{}\n", limit.name,
                        counted(std::ssize(limit.links), "link"), counted(limit.bandwidth, "chunk"),
                        also(", may ", limit.abilities));
  return text;
}

}  // namespace chorale
