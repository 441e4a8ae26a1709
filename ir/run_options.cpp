// Rows shared by 'run', 'program' and 'bench'. 'bench' names two of them as nccl-tests does (--iters,
// --warmup_iters). A wait is in milliseconds here.
#include "ir/run_options.h"

#include "ir/wire_names.h"

namespace chorale {

std::span<const OptionRow<RunOptions>> run_rows() {
  using O = RunOptions;
  static constexpr Named<Accumulation> kAccumulations[] = {{Accumulation::OwnType, "type"},
                                                           {Accumulation::Float32, "float32"}};
  static constexpr auto kAccumulationChoices = choices_of(kAccumulations);
  static constexpr auto kWireChoices = choices_of(kWireNames);
  static constexpr OptionRow<O> kRows[] = {
      {{"iterations", "--iterations", "N", "Measured runs ({})", OptionKind::Integer, 1, 1'000'000},
       member<O, &O::iterations>()},
      {{"warm_up", "--warmup", "N", "Runs before the measured ones ({})", OptionKind::Integer, 0, 1'000'000},
       member<O, &O::warm_up>()},
      {{.name = "accumulate",
        .option = "--accumulate",
        .help = "How halves are added: in their own type, rounded after each operation, or in float32 and "
                "rounded once, which sends twice the bytes ({})",
        .kind = OptionKind::Choice,
        .choices = kAccumulationChoices},
       member<O, &O::accumulation>()},
      {{.name = "wire",
        .option = "--wire",
        .help =
            "As what elements of float32 travel in a schedule of --sum once, over threads and MPI: each is "
            "rounded to it, and each sum, made in float32, too; of int8 and mxfp8 32 share a scale; sizes "
            "are of what travels ({})",
        .kind = OptionKind::Choice,
        .choices = kWireChoices},
       member<O, &O::wire>()},
      {{"wait", "--wait", "T", "Give up when a rank waits longer than T ({})", OptionKind::Duration, 1,
        3'600'000'000},
       member<O, &O::timeout>()},
  };
  return kRows;
}

}  // namespace chorale
