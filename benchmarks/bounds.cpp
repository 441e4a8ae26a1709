// How long bounds take on large machines: what no schedule can beat, for each collective, in any number of
// steps and in the fewest. One run each: the times are far apart and the work is the same every time.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "api/search.h"
#include "benchmarks/kit/command_line.h"
#include "benchmarks/measure.h"

namespace chorale {
namespace {

// "none": no schedule has so few steps.
std::string shown(const Claim& claim) {
  return claim.rounds == kNoSchedule ? "none" : std::to_string(claim.rounds);
}

// What one question has found the next one uses (LowerBounds), as in a search; so each lap is what a question
// costs after those before it, and not alone.
void measure(const std::string& spec, const std::string& name, int chunks) {
  const Topology topology = machine(spec);
  const Collective collective = chorale::collective(name, topology);
  std::vector<double> seconds;
  double before = cpu_seconds();
  const auto lap = [&] {
    const double now = cpu_seconds();
    seconds.push_back(now - before);
    before = now;
  };
  const Bounds known =
      bounds(topology, collective, {.chunks = chunks, .progress = [&](const Bounds&) { lap(); }});
  lap();
  fmt::print("{:<14} {:<13} {:>5} {:>7} {:>7} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.3f}\n", spec, name, known.steps,
             shown(known.rounds), shown(known.rounds_within), seconds[0], seconds[1], seconds[2],
             seconds[0] + seconds[1] + seconds[2]);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  std::vector<std::string> topologies = {"ring:256",  "torus:16x16", "hypercube:8",  "dgx-a100:32",
                                         "ring:1024", "torus:32x32", "hypercube:10", "dgx-a100:128"};
  std::vector<std::string> collectives = {"allgather", "reducescatter", "allreduce", "alltoall",
                                          "broadcast", "gather",        "scatter",   "reduce"};
  int chunks = 1;
  CommandLine line{"Times of bounds on large machines"};
  line.list("--topologies", topologies, "Machines ('chorale topology list')");
  line.list("--collectives", collectives, "Collectives");
  line.number("--chunks", chunks, "Chunks of a block");
  if (const std::optional<int> code = line.read(argc, argv)) return *code;
  fmt::print("{}chunks of a block: {}\n", machine_line(), chunks);
  fmt::print(
      "rounds at least, in any steps and in the fewest; CPU seconds for the steps, for any steps, for the "
      "fewest, and in all\n\n");
  fmt::print("{:<14} {:<13} {:>5} {:>7} {:>7} {:>8} {:>8} {:>8} {:>8}\n", "machine", "collective", "steps",
             "any", "fewest", "steps s", "any s", "fewest s", "all s");
  for (const std::string& topology : topologies)
    for (const std::string& collective : collectives) measure(topology, collective, chunks);
  return 0;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("bounds", chorale::run, argc, argv);
}
