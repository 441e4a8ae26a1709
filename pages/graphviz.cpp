// The program is called and not its library: pages need no more to be built, a fault in it leaves a circle,
// and the library loads Pango, Cairo and X11. A call takes some 30 ms and half a second at most. The graph is
// in the command, as a here-document of numbers.
#include "pages/graphviz.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>

namespace chorale {
namespace {

constexpr std::size_t kMaxNodesLaidOut = 256, kMaxEdgesLaidOut = 8'000;
constexpr long long kWorkPerPair = 500;  // 0.4 s for 256 nodes
constexpr double kHeightLaidOut = 1.0;

// In inches, which are units here. Stress majorization, then overlaps are removed (prism).
std::string as_dot(const Graph& g, const std::vector<double>& widths) {
  std::ostringstream text;
  text << "graph {\nlayout=neato; overlap=prism; sep=0;\n"
       << "node [shape=box, fixedsize=true, label=\"\", height=" << kHeightLaidOut << "]; edge [len=1.6];\n";
  for (std::size_t n = 0; n < g.size(); ++n) text << n << " [width=" << widths[n] << "];\n";
  for (std::size_t a = 0; a < g.size(); ++a)
    for (const int b : g[a])
      if (static_cast<int>(a) < b) text << a << " -- " << b << ";\n";
  text << "}\n";
  return text.str();
}

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
  pclose(pipe);
  return text;
}

// Of lines "node 3 1.5 0.25 ...": its number, x, and y upwards. Nothing unless each node has one.
std::optional<std::vector<Spot>> spots_in(const std::string& plain, std::size_t nodes) {
  std::vector<Spot> spots(nodes);
  std::istringstream lines(plain);
  std::size_t count = 0, number = 0;
  Spot at;
  for (std::string line, word; std::getline(lines, line);)
    if (std::istringstream words(line); words >> word && word == "node") {
      if (!(words >> number >> at.x >> at.y) || number >= nodes) return std::nullopt;
      spots[number] = {.x = at.x, .y = -at.y};
      ++count;
    }
  return count == nodes ? std::optional(std::move(spots)) : std::nullopt;
}

}  // namespace

std::vector<Spot> spread_out(const Graph& g, const std::vector<double>& widths, DrawingWork& work) {
  std::size_t ends = 0;
  for (const std::vector<int>& next : g) ends += next.size();
  const auto pairs = static_cast<long long>(g.size() * g.size());
  if (ends > 0 && ends / 2 <= kMaxEdgesLaidOut && g.size() <= kMaxNodesLaidOut &&
      work.take(kWorkPerPair * pairs))
    if (auto spots = spots_in(output_of("neato -Tplain 2>/dev/null <<'END'\n" + as_dot(g, widths) + "END\n"),
                              g.size()))
      return *std::move(spots);
  return circle_of(static_cast<int>(g.size()), 0.35 + *std::ranges::max_element(widths));
}

}  // namespace chorale
