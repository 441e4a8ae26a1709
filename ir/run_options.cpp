#include "ir/run_options.h"

#include <climits>

namespace chorale {

std::span<const OptionRow<RunOptions>> run_rows() {
  using O = RunOptions;
  static constexpr Named<Accumulation> kAccumulations[] = {{Accumulation::OwnType, "type"},
                                                           {Accumulation::Float32, "float32"}};
  static constexpr auto kAccumulationChoices = choices_of(kAccumulations);
  static constexpr OptionRow<O> kRows[] = {
      {{.name = "iterations",
        .option = "--iterations",
        .value = "N",
        .help = "Measured runs ({})",
        .least = 1,
        .most = 1'000'000},
       member<O, &O::iterations>()},
      {{.name = "warm_up",
        .option = "--warmup",
        .value = "N",
        .help = "Runs before the measured ones ({})",
        .most = 1'000'000},
       member<O, &O::warm_up>()},
      {{.name = "accumulate",
        .option = "--accumulate",
        .help = "How halves are added: in their own type, rounded after each operation, or in float32 and "
                "rounded once, which sends twice the bytes ({})",
        .kind = OptionKind::Choice,
        .choices = kAccumulationChoices},
       member<O, &O::accumulation>()},
      {{.name = "wait",
        .option = "--wait",
        .value = "T",
        .help = "Give up when a rank waits longer than T ({})",
        .kind = OptionKind::Duration,
        .least = 1,
        .most = 3'600'000'000},
       member<O, &O::timeout>()},
  };
  return kRows;
}

}  // namespace chorale
