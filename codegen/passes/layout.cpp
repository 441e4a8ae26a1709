#include "codegen/passes/layout.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace chorale {
namespace {

constexpr int kMostRanks = 256;
constexpr int kSweeps = 300;

std::vector<Spot> circle(int ranks) {
  std::vector<Spot> places(ranks);
  for (Rank r = 0; r < ranks; ++r) {
    const double angle = 2 * std::numbers::pi * r / ranks;
    places[r] = {.x = std::sin(angle), .y = -std::cos(angle)};
  }
  return places;
}

// Hops there or back, whichever is less; `ranks` where there is no path.
std::vector<std::vector<double>> distances(const Topology& t) {
  std::vector<std::vector<double>> result(t.ranks, std::vector<double>(t.ranks, t.ranks));
  for (Rank a = 0; a < t.ranks; ++a) {
    const std::vector<int> from_a = hops(t, {a});
    for (Rank b = 0; b < t.ranks; ++b)
      if (from_a[b] >= 0) {
        result[a][b] = std::min<double>(result[a][b], from_a[b]);
        result[b][a] = result[a][b];
      }
  }
  return result;
}

// Each sweep moves every rank to the mean of where the others want it, nearer ones counting more.
void spread(std::vector<Spot>& places, const std::vector<std::vector<double>>& distance) {
  const int n = static_cast<int>(places.size());
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (int a = 0; a < n; ++a) {
      double x = 0, y = 0, total = 0;
      for (int b = 0; b < n; ++b) {
        if (a == b) continue;
        const double d = distance[a][b], weight = 1 / (d * d);
        const double dx = places[a].x - places[b].x, dy = places[a].y - places[b].y;
        const double apart = std::max(std::hypot(dx, dy), 1e-9);
        x += weight * (places[b].x + d * dx / apart);
        y += weight * (places[b].y + d * dy / apart);
        total += weight;
      }
      places[a] = {.x = x / total, .y = y / total};
    }
}

void fit(std::vector<Spot>& places) {
  double left = 1e300, right = -1e300, top = 1e300, bottom = -1e300;
  for (const Spot& p : places) {
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  const double size = std::max({right - left, bottom - top, 1e-9});
  for (Spot& p : places)
    p = {.x = 0.5 + (p.x - (left + right) / 2) / size, .y = 0.5 + (p.y - (top + bottom) / 2) / size};
}

}  // namespace

std::vector<Spot> layout(const Topology& t) {
  std::vector<Spot> places = circle(t.ranks);
  if (t.ranks > 2 && t.ranks <= kMostRanks) {
    const std::vector<std::vector<double>> distance = distances(t);
    const bool any_far = std::any_of(distance.begin(), distance.end(), [&](const std::vector<double>& row) {
      return std::count(row.begin(), row.end(), 1.0) < t.ranks - 1;
    });
    if (any_far) {
      for (Spot& p : places) p = {.x = p.x * t.ranks / 8, .y = p.y * t.ranks / 8};
      spread(places, distance);
    }
  }
  fit(places);
  return places;
}

}  // namespace chorale
