// What binds: which parts of a machine keep a collective from being faster, from the certificate of the bound
// on its rate; and which part a schedule keeps busiest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "ir/machine.h"

namespace chorale {

// Alike links, or alike shared limits.
struct MachinePart {
  std::string what = {};  // "NIC out"; where nodes have labels by their kinds
  int count = 0;
  double gbs = 0;  // of one: GB/s = 1e9 bytes per second
  double share =
      0;  // of the capacity that the bound counts; of a schedule: of its time in which one is in use
  std::vector<std::string> names =
      {};  // of these parts in the machine's file, if they are few and it has any
  bool operator==(const MachinePart&) const = default;
};

struct Binding {
  std::vector<MachinePart> parts = {};  // the largest share first
  // Ranks that the rest of the machine joins: what crosses between these groups takes the parts. Fewer than
  // two: the parts separate nothing.
  std::vector<std::vector<Rank>> groups = {};
  int steps = 0;          // the fewest of any schedule, whatever the size; 0: not known
  double call_us = 0;     // of the call, which every size pays
  double latency_us = 0;  // of these steps, without the call
  // Messages of so many bytes and more are bound by the parts, smaller ones by the call and the latency.
  double from_bytes = 0;
  // Links differ in beta. The bound counts each at the rate of the fastest, so slower ones may bind instead.
  bool as_fastest = false;
};

// By the strongest claim about any number of steps and chunks; nullopt: there is none with a certificate, or
// nothing has to move.
std::optional<Binding> binding(const Result&);

// "what binds: from 213 KiB on NVSwitch out (16 x 300 GB/s) and NIC out, both directions (16 x 25 GB/s),
// between 4 groups of 4 ranks; below, the call, 6.6 us, and the latency of 2 steps, 5.7 us".
std::string in_words(const Binding&);

// The part that the schedule of a point of a result for this machine keeps busiest at that size, if it takes
// `us`; nullopt where switches compute, since sends do not count by themselves there, or nothing is sent.
std::optional<MachinePart> busiest_part(const Machine&, const Point&, double block_bytes, double us);

}  // namespace chorale
