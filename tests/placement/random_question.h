// A random machine, a job on it with reductions of all goals, and how it is asked for.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "ir/place_options.h"

namespace chorale {

struct Question {
  Hierarchy hierarchy = {};
  Job job = {};
  PlaceOptions options = {};
};

inline Question random_question(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Question q;
  const int levels = 1 + below(3);
  for (int j = 0; j < levels; ++j) {
    Level level{.name = "l" + std::to_string(j), .fan_out = std::vector<int>{1, 2, 2, 3, 4}[below(5)]};
    level.link = {.bandwidth_gbs = 1.0 + below(20), .latency_us = 1.0 * below(4)};
    if (below(3) == 0)
      level.link.exit = SharedPath{.bandwidth_gbs = 1.0 + below(9), .children = 1 + below(2)};
    if (below(4) == 0) level.link.shape = LinkModel::Shape::Ring;
    q.hierarchy.levels.push_back(level);
  }
  q.hierarchy.node_level = levels - 1;
  q.hierarchy.name = "random";
  int left = static_cast<int>(devices(q.hierarchy));
  for (const char* name : {"a", "b"}) {
    int size = left;
    if (name[0] == 'a') do
        size = 1 + below(left);
      while (left % size != 0);
    q.job.axes.push_back({name, size});
    left /= size;
  }
  const int reductions = 1 + below(3);
  for (int r = 0; r < reductions; ++r)
    q.job.reductions.push_back({.name = "r" + std::to_string(r),
                                .goal = kAllGoals[random() % kAllGoals.size()],
                                .axes = below(3) == 0 ? std::vector<int>{0, 1} : std::vector<int>{below(2)},
                                .bytes = 1.0 + below(1'000'000),
                                .times = 0.5 + below(4)});
  if (below(3) == 0)
    for (int r = 1; r < reductions; ++r)
      if (below(2)) q.job.reductions[r].after = below(2) ? std::vector<int>{} : std::vector<int>{r - 1};
  q.options = {.algorithm = std::vector{Algorithm::Ring, Algorithm::Tree, Algorithm::Auto}[below(3)],
               .rules = below(2) ? Rules::Paper : Rules::Full,
               .synthesis = kSynthesisChoices[1 + random() % 3].value,
               .top = 1 + below(4),
               .strategies = 1 + below(4)};
  if (below(3) == 0) q.options.conditions.order.push_back({.inner = 1, .outer = 0});
  if (below(4) == 0) q.options.own = parse_strategy("(root, InsideGroup, AllReduce)", "test");
  return q;
}

}  // namespace chorale
