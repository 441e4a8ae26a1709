// A tensor program read from a text, transformed, tuned for a machine, and compiled for it: Adam, data parallel.
//
//   adam_tuned [MACHINE [DIRECTORY]]
#include <chorale/chorale.h>

#include <algorithm>
#include <cstdio>
#include <string>

using namespace chorale;

constexpr const char* kAdam = R"(
workload adam
size N = 2^26
Tensor g(fp32, [N], Local)
Tensor p(fp32, [N], Replicated)
Tensor m(fp32, [N], Replicated) state
Tensor v(fp32, [N], Replicated) state
Scalar lr(fp32)
Scalar t(fp32)
sum = AllReduce("+", g)
avg = sum / WORLD
m_ = Update(m, 0.9 * m + 0.1 * avg)
v_ = Update(v, 0.999 * v + 0.001 * avg * avg)
m1 = m_ / (1 - Pow(0.9, t))
v1 = v_ / (1 - Pow(0.999, t))
p_ = Update(p, p - lr * m1 / (Sqrt(v1) + 1e-8))
return p_
)";

int main(int argc, char** argv) try {
  const Topology here = machine(argc > 1 ? argv[1] : "ring:4");
  const std::string directory = argc > 2 ? argv[2] : ".";
  const Workload plain = parse_workload(kAdam, "adam", {.ranks = here.ranks});

  // By hand: the paper's fuse(RS-Opt-AG).
  const Workload by_hand =
      transformed(plain,
                  "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v);"
                  "fuse(all; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)");

  // By the tuner, which tries all schedules.
  const WorkloadMachine known = algorithms_for(here, plain, WorkloadSearch::Transformed);
  const WorkloadPrices prices = prices_of(plain, known);
  const TuneResult tuned = tune(plain, {.prices = prices});
  const Candidate& best = tuned.candidates[tuned.ranking.front()];
  std::printf("%zu schedules; the best one is %s\n", tuned.candidates.size(), best.script.c_str());
  const double given_us = price(plain, prices).us, by_hand_us = price(by_hand, prices).us;
  std::printf("predicted: as it is %.1f us, manual %.1f us, tuned %.1f us\n", given_us, by_hand_us,
              best.price.us);
  if (best.price.us > std::min(given_us, by_hand_us)) return 1;

  CompiledWorkload program = compile(best.workload, known);
  for (const ChosenAlgorithm& each : program.chosen)
    std::printf("%s: %s in %d steps\n", each.operation.c_str(), each.collective.c_str(), each.cost.steps);
  write_files(in_folder(directory, std::move(program.files)));
  return 0;
} catch (const InputError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
