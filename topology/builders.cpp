// A machine is a few loops that list its links; what several of them share (a port of a switch, a NIC) is a
// limit over them. These need no nodes for switches: theirs do not block, so every pair that one joins is a
// link, and only ports bind. One whose switches block has them as nodes (topology/switches.h).
#include "topology/builders.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/limits.h"
#include "ir/number_in.h"
#include "ir/words.h"
#include "topology/import/fit.h"
#include "topology/switched_builder.h"

namespace chorale {

// Numbers are read to the last character, so that "4x" and "4 x4" are errors that name the place and not
// machines of four ranks.

// "tpu:AxBxC[:twisted]" is of the kind tpu.
std::vector<std::string> kinds(const std::vector<CatalogueEntry>& catalogue) {
  std::vector<std::string> result;
  for (const CatalogueEntry& entry : catalogue)
    result.push_back(entry.pattern.substr(0, entry.pattern.find_first_of(":[")));
  return result;
}

std::vector<int> spec_sizes(const std::string& where, const std::string& text) {
  std::string_view rest = text;
  std::vector<int> sizes;
  while (true) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    const int size = number_in<int>(rest.substr(0, end)).value_or(0);
    if (size < 1)
      throw InputError(
          where,
          rest.empty() ? "a size is missing" : "'" + std::string(rest.substr(0, 40)) + "' is not a size",
          "use numbers, 1 or more, after the colon");
    sizes.push_back(size);
    if (end == rest.size()) return sizes;
    rest.remove_prefix(end + 1);
  }
}

int spec_size(const std::string& where, const std::string& text, int least, int most) {
  const std::vector<int> sizes = spec_sizes(where, text);
  if (sizes.size() != 1 || sizes[0] < least || sizes[0] > most)
    throw InputError(where, "size " + text.substr(0, 40) + " is out of range",
                     "use " + std::to_string(least) + " to " + std::to_string(most));
  return sizes[0];
}

namespace {

// Machines of Cai et al. 2021 and plain graphs have one unit of bandwidth: 25 GB/s, the line rate of an
// NVLink of their GPUs, 4e-5 microseconds per byte.
constexpr double kNvlinkAlpha = 0.7, kUnitBeta = 4e-5;
constexpr int kMostLinks = 1'000'000;

Link nvlink(Rank src, Rank dst, int bandwidth) {
  return {.src = src,
          .dst = dst,
          .bandwidth = bandwidth,
          .alpha_us = kNvlinkAlpha,
          .beta_us_per_byte = kUnitBeta};
}

void connect(Topology& t, Rank a, Rank b, int bandwidth = 1) {
  t.links.push_back(nvlink(a, b, bandwidth));
  t.links.push_back(nvlink(b, a, bandwidth));
}

void connect_cycle(Topology& t, const std::vector<Rank>& cycle, int bandwidth) {
  for (std::size_t i = 0; i < cycle.size(); ++i)
    connect(t, cycle[i], cycle[(i + 1) % cycle.size()], bandwidth);
}

Topology full(int n) {
  Topology t{.ranks = n};
  for (Rank a = 0; a < n; ++a)
    for (Rank b = 0; b < n; ++b)
      if (a != b) t.links.push_back(nvlink(a, b, 1));
  return t;
}

// What a non-blocking switch is to its ranks: any pair, but one chunk out and one in per rank and round.
Topology hub(int n) {
  Topology t = full(n);
  limit_ports(t, "port", 1, [](const Link&) { return true; });
  return t;
}

// With two ranks both links of the cycle would be the same: one in each direction.
Topology ring(int n) {
  Topology t{.ranks = n};
  for (Rank i = 0; i < (n == 2 ? 1 : n); ++i) connect(t, i, (i + 1) % n);
  return t;
}

Topology line(int n) {
  Topology t{.ranks = n};
  for (Rank i = 0; i + 1 < n; ++i) connect(t, i, i + 1);
  return t;
}

Topology star(int n) {
  Topology t{.ranks = n};
  for (Rank i = 1; i < n; ++i) connect(t, 0, i);
  return t;
}

// Each link once: from the end whose bit is 0.
Topology hypercube(int d) {
  Topology t{.ranks = 1 << d};
  for (Rank i = 0; i < t.ranks; ++i)
    for (int k = 0; k < d; ++k)
      if ((i >> k & 1) == 0) connect(t, i, i ^ (1 << k));
  return t;
}

// Ranks in row-major order; a side of two has one link in each direction even when it wraps.
Topology grid(const std::vector<int>& sides, bool wraps) {
  Topology t{.ranks = 1};
  for (int side : sides) t.ranks *= side;
  for (Rank n = 0; n < t.ranks; ++n) {
    int stride = t.ranks;
    for (int side : sides) {
      stride /= side;
      const int at = n / stride % side;
      if (at + 1 < side)
        connect(t, n, n + stride);
      else if (wraps && side > 2)
        connect(t, n, n - at * stride);
    }
  }
  return t;
}

// Cai et al. 2021, figure of the DGX-1: two rings over all GPUs, one of them with two NVLinks an edge.
Topology dgx1() {
  Topology t{.ranks = 8};
  connect_cycle(t, {0, 1, 4, 5, 6, 7, 2, 3}, 2);
  connect_cycle(t, {0, 2, 1, 3, 6, 4, 7, 5}, 1);
  return t;
}

// A DGX A100: twelve NVLinks of a GPU to the NVSwitch, and a NIC for each GPU that reaches its peers on the
// same rail.
Topology dgx_a100(int nodes, RateKind rates) {
  constexpr int kGpus = 8;
  const GpuFacts& gpu = gpu_facts("A100");
  const NetworkFacts& network = network_facts("InfiniBand");
  std::vector<double> gbs = {link_gbs(gpu, rates) * gpu.links};
  if (nodes > 1) gbs.push_back(nic_gbs(network, gpu.nic_gbits, rates));
  const RateFit fit = fitted(gbs, kNamedError);
  const int nvlinks = fit.units[0], nic = fit.units.back();
  Topology t{.ranks = kGpus * nodes, .call_us = gpu.call_us};
  const auto link = [&](Rank a, Rank b, int bandwidth, double step_us) {
    t.links.push_back({a, b, bandwidth, step_us, 1e-3 / fit.unit_gbs});
  };
  // One pair may have all NVLinks of both of its ends, as long as these send nothing else (limit_ports
  // below).
  for (int first = 0; first < t.ranks; first += kGpus)
    for (Rank a = first; a < first + kGpus; ++a)
      for (Rank b = first; b < first + kGpus; ++b)
        if (a != b) link(a, b, nvlinks, link_facts(gpu.link).step_us);
  for (Rank a = 0; a < t.ranks; ++a)
    for (int node = 0; node < nodes; ++node)
      if (node != a / kGpus) link(a, node * kGpus + a % kGpus, nic, network.step_us);
  // A rank's links to other nodes share its one NIC, those inside its NVLinks, in each direction.
  const auto inside = [](const Link& l) { return l.src / kGpus == l.dst / kGpus; };
  limit_ports(t, "NVSwitch", nvlinks, inside);
  if (nodes > 1) limit_ports(t, "NIC", nic, [&](const Link& l) { return !inside(l); });
  return t;
}

// "4x4": a machine of more than kMostRanks is refused before its product can overflow.
std::vector<int> sides(const std::string& spec, const std::string& text, std::size_t most_sides) {
  const std::vector<int> sizes = spec_sizes("topology " + spec, text);
  long long ranks = 1;
  for (int side : sizes) ranks = std::min<long long>(ranks * side, kMostRanks + 1);
  if (sizes.size() < 2 || sizes.size() > most_sides || ranks < 2 || ranks > kMostRanks)
    throw InputError("topology " + spec, "sides " + text.substr(0, 40) + " are not usable",
                     "use 2 to " + std::to_string(most_sides) + " sides with 2 to " +
                         std::to_string(kMostRanks) + " ranks in all, such as 4x4");
  return sizes;
}

// full and hub have n^2 links, so their sizes end earlier.
Topology build(const std::string& spec, const std::string& kind, const std::string& size, RateKind rates) {
  if (kind == "line") return line(spec_size("topology " + spec, size, 2, kMostRanks));
  if (kind == "ring") return ring(spec_size("topology " + spec, size, 2, kMostRanks));
  if (kind == "full") return full(spec_size("topology " + spec, size, 2, 1000));
  if (kind == "star") return star(spec_size("topology " + spec, size, 2, kMostRanks));
  if (kind == "hub") return hub(spec_size("topology " + spec, size, 2, 1000));
  if (kind == "hypercube") return hypercube(spec_size("topology " + spec, size, 1, 12));
  if (kind == "mesh") return grid(sides(spec, size, 2), false);
  if (kind == "torus") return grid(sides(spec, size, 3), true);
  if (kind == "dgx-a100") return dgx_a100(spec_size("topology " + spec, size, 1, 128), rates);
  std::vector<std::string> known = kinds(topology_catalogue());
  for (const std::string& with_levels : kinds(hierarchy_catalogue())) known.push_back(with_levels);
  throw InputError(
      "topology", "unknown name '" + spec.substr(0, 60) + "'",
      did_you_mean(kind, known, "see 'chorale topology list', or give a JSON file (a name with / or .json)"));
}

std::vector<CatalogueEntry> direct_catalogue() {
  return {
      {"dgx1", "NVIDIA DGX-1: 8 GPUs, a ring with two NVLinks an edge and one with one (as in SCCL)", "dgx1"},
      {"dgx2", "NVIDIA DGX-2 as in SCCL: 16 GPUs on a non-blocking switch, one unit in and one out per GPU",
       "dgx2"},
      {"dgx-a100:nodes",
       "NVIDIA DGX A100: 8 GPUs a node on an NVSwitch, a NIC of 200 Gb/s per GPU on its rail", "dgx-a100:2"},
      {"amd-z52", "AMD Z52: 8 GPUs in a ring", "amd-z52"},
      {"line:n", "n ranks in a row", "line:4"},
      {"ring:n", "n ranks in a cycle, both directions", "ring:8"},
      {"full:n", "all pairs linked", "full:8"},
      {"hub:n", "all pairs linked, one chunk in and one out per rank and round", "hub:8"},
      {"star:n", "rank 0 linked to all others", "star:5"},
      {"hypercube:d", "2^d ranks, linked where one bit differs", "hypercube:3"},
      {"mesh:AxB", "a grid without wrap-around", "mesh:4x4"},
      {"torus:AxB[xC]", "a grid with wrap-around", "torus:8x8"},
  };
}

}  // namespace

const std::vector<CatalogueEntry>& topology_catalogue() {
  static const std::vector<CatalogueEntry> entries = [] {
    std::vector<CatalogueEntry> all = direct_catalogue();
    for (const std::vector<CatalogueEntry>* more :
         {&accelerator_catalogue(), &box_catalogue(), &switched_catalogue()})
      all.insert(all.end(), more->begin(), more->end());
    return all;
  }();
  return entries;
}

// Names without sizes first. A DGX-1 or DGX-2 without a number of nodes is one of these; with one it is a
// machine of switched_machine(). The name of the result is the spec.
Topology named_topology(const std::string& spec, RateKind rates) {
  if (spec.size() > 100)
    throw InputError("topology " + spec.substr(0, 60) + "...", "is not a machine",
                     "see 'chorale topology list'");
  Topology t;
  if (spec == "dgx1")
    t = dgx1();
  else if (spec == "dgx2")
    t = hub(16);
  else if (spec == "amd-z52")
    t = ring(8);
  else if (std::optional<Topology> accelerators = accelerator_machine(spec, rates))
    t = std::move(*accelerators);
  else if (std::optional<Topology> box = box_machine(spec, rates))
    t = std::move(*box);
  else if (std::optional<Topology> switched = switched_machine(spec, rates))
    t = std::move(*switched);
  else if (const std::size_t colon = spec.find(':'); colon == std::string::npos)
    t = build(spec, spec, "", rates);
  else
    t = build(spec, spec.substr(0, colon), spec.substr(colon + 1), rates);
  if (static_cast<int>(t.links.size()) > kMostLinks)
    throw InputError("topology " + spec, "has over a million links", "use fewer ranks");
  t.name = spec;
  return t;
}

}  // namespace chorale
