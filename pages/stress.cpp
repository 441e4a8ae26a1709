// Stress majorization (Gansner, Koren and North 2004) by its local form: a node moves to the weighted mean of
// the places at which each other node would have it, at the distance of their hops. Weights are 1/d^2, so
// that near nodes count more. It descends to a local minimum, which depends on the start: a circle, here.
#include "pages/stress.h"

#include <algorithm>
#include <cmath>

namespace chorale {
namespace {

constexpr int kSweeps = 300;
constexpr int kPushes = 200;
constexpr double kHop = 1.6;  // units

}  // namespace

// Each sweep moves every node to the mean of where the others need it, nearer ones counting more.
void lessen_stress(std::vector<Spot>& spots, const Graph& g, DrawingWork& work) {
  const int nodes = static_cast<int>(spots.size());
  std::vector<std::vector<double>> distance(nodes);
  for (int a = 0; a < nodes; ++a)
    for (int hops : hops_in(g, a)) distance[a].push_back(kHop * (hops < 0 ? std::sqrt(nodes) : hops));
  for (int sweep = 0; sweep < kSweeps && work.take(1LL * nodes * nodes); ++sweep)
    for (int a = 0; a < nodes; ++a) {
      double x = 0, y = 0, total = 0;
      for (int b = 0; b < nodes; ++b) {
        if (a == b) continue;
        const double d = distance[a][b], weight = 1 / (d * d);
        const double dx = spots[a].x - spots[b].x, dy = spots[a].y - spots[b].y;
        const double now = std::max(std::hypot(dx, dy), 1e-9);
        x += weight * (spots[b].x + d * dx / now);
        y += weight * (spots[b].y + d * dy / now);
        total += weight;
      }
      if (total > 0) spots[a] = {.x = x / total, .y = y / total};
    }
}

// Pairs that overlap are moved apart symmetrically, until none does or after kPushes passes; nodes that had
// room move only when they are pushed.
void push_apart(std::vector<Spot>& spots, double least, DrawingWork& work) {
  const auto pairs = static_cast<long long>(spots.size() * spots.size() / 2);
  bool near = true;
  for (int push = 0; push < kPushes && near && work.take(pairs); ++push) {
    near = false;
    for (std::size_t a = 0; a < spots.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        const double now = apart(spots[a], spots[b]);
        if (now >= least) continue;
        near = true;
        // Nodes on one spot part in a direction that differs from pair to pair.
        const double angle = 2.4 * static_cast<double>(a + 7 * b);
        const double dx = now > 1e-6 ? (spots[a].x - spots[b].x) / now : std::cos(angle);
        const double dy = now > 1e-6 ? (spots[a].y - spots[b].y) / now : std::sin(angle);
        const double by = (least - now) / 2 + 1e-3;
        spots[a] = {.x = spots[a].x + by * dx, .y = spots[a].y + by * dy};
        spots[b] = {.x = spots[b].x - by * dx, .y = spots[b].y - by * dy};
      }
  }
}

}  // namespace chorale
