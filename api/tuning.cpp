// The tuner of workload/ with what it needs from here: options, prices by the machine's frontiers, and a way
// to measure. A candidate is measured only if --measure asks for it; its record says whether anything was,
// since a log is rewritten from then on.
#include "api/tuning.h"

#include <optional>

#include "api/schedule_runs.h"

namespace chorale {

std::span<const OptionRow<TuneQuestion>> tune_rows() {
  using Q = TuneQuestion;
  using D = DeviceNumbers;
  static constexpr Named<WorkloadCarrier> kCarriers[] = {
      {WorkloadCarrier::Threads, "threads"}, {WorkloadCarrier::Mpi, "mpi"}, {WorkloadCarrier::Cuda, "cuda"}};
  static constexpr auto kCarrierChoices = choices_of(kCarriers);
  const auto count = [](std::string_view name, std::string_view option, std::string_view value,
                        std::string_view help, std::int64_t least, std::int64_t most) {
    return OptionWords{
        .name = name, .option = option, .value = value, .help = help, .least = least, .most = most};
  };
  const auto rate = [](std::string_view name, std::string_view option, std::string_view value,
                       std::string_view help) {
    return OptionWords{.name = name,
                       .option = option,
                       .value = value,
                       .help = help,
                       .kind = OptionKind::Number,
                       .highest = 1e9};
  };
  static const OptionRow<Q> kRows[] = {
      {count("measure", "--measure", "K",
             "Compile the K best schedules and the program as it is, run them, and rank by that", 1, 1000),
       member<Q, &Q::measured>()},
      {count("variations", "--variations", "N",
             "Run each of them with up to N other settings: algorithms, pieces, blocks, channels ({})", 0,
             1000),
       member<Q, &Q::variations>()},
      {{.name = "transport",
        .option = "--transport",
        .help = "What runs them: threads, mpirun, or one GPU for all ranks ({})",
        .kind = OptionKind::Choice,
        .choices = kCarrierChoices},
       member<Q, &Q::transport>()},
      {count("runs", "--runs", "N", "Runs of each, of which the best counts ({})", 1, 1'000'000),
       member<Q, &Q::runs>()},
      {{"log", "--log", "FILE",
        "Keep what was priced and measured there; what is there is not measured again", OptionKind::Text},
       member<Q, &Q::log, &NamedText::path>()},
      {count("candidates", "--candidates", "N", "Examine at most N schedules ({})", 0, 10'000'000),
       member<Q, &Q::most_candidates>()},
      {rate("memory_rate", "--memory-rate", "GB/S", "What memory gives a rank ({})"),
       member<Q, &Q::device, &D::memory_gbs>()},
      {rate("product_rate", "--product-rate", "TFLOP/S", "Products of matrices ({})"),
       member<Q, &Q::device, &D::product_tflops>()},
      {rate("compute_rate", "--compute-rate", "TFLOP/S", "All other arithmetic ({})"),
       member<Q, &Q::device, &D::compute_tflops>()},
      {rate("launch", "--launch", "US", "What starting a kernel, or a call, takes ({})"),
       member<Q, &Q::device, &D::launch_us>()},
  };
  return kRows;
}

// Prices come first, for all candidates; `measure` is called for the best of them, and for settings of these.
TuneResult tune(const Workload& workload, const WorkloadMachine& machine, const TuneQuestion& question) {
  // A transport that is not installed is refused here, before anything is priced.
  std::optional<ScheduleRuns> runs;
  if (question.measured > 0) runs.emplace(machine, question.transport, question.runs, question.folder);
  bool measuring = false;
  TuneOptions options{.prices = prices_of(workload, machine, question.device),
                      .most_candidates = question.most_candidates,
                      .roots = roots_to_try(machine.topology),
                      .measured = question.measured,
                      .variations = question.variations,
                      .values = setting_values(question.transport, workload.ranks * workload.groups),
                      .measure =
                          [&](const Candidate& candidate, const Execution& execution) {
                            measuring = true;
                            return runs->time(candidate.workload, execution);
                          },
                      .with = name_of(question.transport),
                      .machine = machine.topology.name,
                      .progress = question.progress,
                      .stop = question.stop,
                      .log = question.log};
  if (question.record) options.record = [&](const std::string& line) { question.record(line, measuring); };
  return tune(workload, options);
}

}  // namespace chorale
