// A tensor program built in C++, transformed, tuned for a machine, and compiled for it: Adam, data parallel.
//
//   adam_built [MACHINE [DIRECTORY]]
#include <chorale/chorale.h>
#include <chorale/workload/build.h>

#include <algorithm>
#include <cstdio>
#include <string>

using namespace chorale;
using enum ElementType;

Workload adam(int ranks) {
  Builder b("adam", {.ranks = ranks});
  const Side n = b.size("N", 1 << 26);
  const Tensor g = b.tensor("g", Float32, {n}, local());
  const Tensor p = b.tensor("p", Float32, {n}, replicated());
  const Tensor m = b.tensor("m", Float32, {n}, replicated(), {.state = true});
  const Tensor v = b.tensor("v", Float32, {n}, replicated(), {.state = true});
  const Tensor lr = b.scalar("lr", Float32), t = b.scalar("t", Float32);

  const Tensor sum = b.all_reduce("sum", ReduceOp::Sum, g);
  const Tensor avg = b.let("avg", sum / b.world());
  const Tensor m_ = b.update("m_", m, 0.9 * m + 0.1 * avg);
  const Tensor v_ = b.update("v_", v, 0.999 * v + 0.001 * avg * avg);
  const Tensor m1 = b.let("m1", m_ / (1 - pow(0.9, t)));
  const Tensor v1 = b.let("v1", v_ / (1 - pow(0.999, t)));
  b.returns({b.update("p_", p, p - lr * m1 / (sqrt(v1) + 1e-8))});
  return b.finish();
}

int main(int argc, char** argv) try {
  const Topology here = machine(argc > 1 ? argv[1] : "ring:4");
  const std::string directory = argc > 2 ? argv[2] : ".";
  const Workload plain = adam(here.ranks);

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
