// Makers of schedules, machines and communications: a row for each way to make schedules of random questions.
// schedules_test.cpp has the properties that all of them have.
#pragma once

#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "construct/nestings.h"
#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"
#include "tests/kit/random.h"

namespace chorale::test {

// Two boxes of two or three ranks each, in which all are linked, joined by links from as many ranks as
// `joined` to those in their place: what crosses late still has to be spread.
inline Topology two_boxes(std::mt19937& random, int joined) {
  const int each = between(random, 2, 3);
  Topology t{.name = "boxes", .ranks = 2 * each};
  for (Rank a = 0; a < t.ranks; ++a)
    for (Rank b = 0; b < t.ranks; ++b) {
      const bool inside = a / each == b / each, across = a % each == b % each && a % each < joined;
      if (a != b && (inside || across)) t.links.push_back({.src = a, .dst = b, .bandwidth = inside ? 2 : 1});
    }
  return t;
}

struct Maker;

struct Question {
  unsigned seed = 0;
  Topology topology = {};
  Collective collective = {};
  std::vector<Nesting> nestings = {};  // of what is composed
};

struct Made {
  Collective collective = {};
  Schedule schedule = {};
  bool operator==(const Made&) const = default;
  Cost cost() const { return cost_of(schedule, collective.chunks_per_block); }
};

// The answer to one question to a maker.
struct Series {
  std::vector<Made> made = {};
  int extra = kAnyRounds;   // that rounds may exceed steps by
  bool undominated = true;  // by steps, none better than another in both steps and rounds
  int within = -1;          // the number of the series whose question allows more
  bool begins = false;      // that series, with just these
  bool operator==(const Series&) const = default;
};
using Makes = std::vector<Series>;

// Of machines and communications as the maker's fields say.
Question any(std::mt19937&, const Maker&, unsigned seed);

struct Maker {
  const char* maker;
  Makes (*make)(const Question&);
  Machines machines = {};
  Communications communications = {};
  unsigned cases = 0;
  int made = 100, met = 0;  // per cent: of the cases, that have something; of these, that meet the bound
  double near = 1;          // x lower bound, and it is met; or a round a step where there are more steps
  bool any_chunks = false;  // schedules of any number of chunks in any order; else of these chunks
  int most_made = 100;      // per cent of the cases
  int points = 0;           // per cent of the cases
  bool wherever_possible = false;  // there is something, and only there
  int few_steps = 9;  // of machines of no more ranks bounds of few steps are asked, which are slow
  Question (*ask)(std::mt19937&, const Maker&, unsigned seed) = any;
};

inline void PrintTo(const Maker& row, std::ostream* out) {
  *out << row.maker;
}

std::span<const Maker> makers();

}  // namespace chorale::test
