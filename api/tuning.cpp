// The tuner of workload/ with what it needs from here: options, prices by the machine's frontiers, and a way
// to measure. A candidate is measured only if --measure asks for it; its record says whether anything was,
// since a log is rewritten from then on.
//
// A schedule is measured by compiling the emitted program with its own Makefile and running it. Each prints
// its time and a fingerprint of its results: sums of the elements with fixed weights, and of their absolute
// values. The first schedule's fingerprint is the reference for all others, since transformations keep the
// program's meaning.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "api/work_folder.h"
#include "api/workload.h"
#include "ir/error.h"
#include "ir/files.h"

namespace chorale {
namespace {

// Sums in another order differ, most if many numbers are added up one after the other in fp32 or are 16-bit
// floats; a wrong block, or one at another position, differs by more.
constexpr double kOtherOrder = 0.02;

// "threads", "mpi" or "cuda", as in commands.
std::string carrier_name(WorkloadCarrier carrier) {
  return name_in(std::span<const Named<WorkloadCarrier>>(kWorkloadCarriers), carrier);
}

// Schedules measured as their user would: written, compiled by make, and run, with ranks as threads or under
// mpirun, in a folder that is removed again; or with all of them on a GPU. All that they compute is held
// against what the first one has computed.
class ScheduleRuns {
 public:
  // Keeps a reference to the machine. Folders are made in `where`. Throws InputError where the transport
  // cannot be had here.
  ScheduleRuns(const WorkloadMachine&, WorkloadCarrier, int runs, std::string where);

  // No time and no failure: the schedule cannot be emitted.
  Timing time(const Workload&, const Execution&);

 private:
  // Of a tensor, by its name: a number that all its bits make, and what is left of that if sums were added up
  // in another order (tensor/exchange/driver.h).
  struct Fingerprint {
    std::string bits = {};
    double weighted = 0, absolute = 0;
  };
  using Fingerprints = std::map<std::string, Fingerprint>;
  static Fingerprints fingerprints(const std::string& printed);
  std::string difference(const Fingerprints&) const;

  const WorkloadMachine& machine_;
  const WorkloadCarrier carrier_;
  const int runs_;
  const std::string where_;
  Fingerprints first_ = {};
};

ScheduleRuns::ScheduleRuns(const WorkloadMachine& machine, WorkloadCarrier carrier, int runs,
                           std::string where)
    : machine_(machine), carrier_(carrier), runs_(runs), where_(std::move(where)) {
  for (const char* program : {"mpirun", "mpicxx"})
    if (carrier == WorkloadCarrier::Mpi && !has_program(program))
      throw InputError("--transport mpi", fmt::format("there is no {} here", program),
                       "install an MPI, or measure with threads");
  if (carrier == WorkloadCarrier::Cuda && !has_program("${NVCC:-nvcc}"))
    throw InputError("--transport cuda", "there is no nvcc here", "install CUDA, or measure with threads");
}

// Lines "NAME is about WEIGHTED of ABSOLUTE" have the sums, and "NAME: BITS" the bits of the result.
ScheduleRuns::Fingerprints ScheduleRuns::fingerprints(const std::string& printed) {
  Fingerprints result;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const std::string about = " is about ";
    if (const std::size_t at = line.find(about); at != line.npos) {
      char* end = nullptr;
      const double weighted = std::strtod(line.c_str() + at + about.size(), &end);
      Fingerprint& of = result[line.substr(0, at)];
      of.weighted = weighted;
      of.absolute = std::strtod(end + std::string(" of ").size(), nullptr);
    } else if (const std::size_t colon = line.find(": ");
               colon != line.npos && line.find("best of") == line.npos) {
      result[line.substr(0, colon)].bits = line.substr(colon + 2);
    }
  }
  return result;
}

// Equal bits are equal results. Other bits are accepted if both sums agree up to the error of another order
// of additions; results that one of the two does not print are not compared.
std::string ScheduleRuns::difference(const Fingerprints& found) const {
  for (const auto& [name, wanted] : first_) {
    const auto it = found.find(name);
    if (it == found.end() || it->second.bits == wanted.bits) continue;
    const Fingerprint& other = it->second;
    const double most = kOtherOrder * std::max(wanted.absolute, other.absolute);
    // NaN is not close to any number.
    if (std::abs(other.weighted - wanted.weighted) <= most &&
        std::abs(other.absolute - wanted.absolute) <= most)
      continue;
    return fmt::format(
        "{} is another one than that of the first schedule: {:.6g} of {:.6g}, not {:.6g} of {:.6g}", name,
        other.weighted, other.absolute, wanted.weighted, wanted.absolute);
  }
  return "";
}

// A schedule that cannot be emitted has no time, and is no fault; one that does not compile, fails or differs
// has a failure, which the tuner reports. The first schedule that runs is the reference, so it cannot differ.
Timing ScheduleRuns::time(const Workload& workload, const Execution& execution) {
  const WorkFolder folder("--measure", where_);
  OrError<CompiledWorkload> compiled = try_compile(workload, machine_, execution, carrier_);
  if (!compiled) return {};
  write_files(in_folder(folder.path(), std::move(compiled->files)));
  const std::string name = carrier_name(carrier_);
  if (!folder.run("make -s " + name)) return {.failure = "does not compile: " + folder.complaint()};
  const std::string start = (carrier_ == WorkloadCarrier::Mpi ? fmt::format("mpirun --oversubscribe -n {} ",
                                                                            workload.ranks * workload.groups)
                                                              : "") +
                            "./*_" + name;
  if (!folder.run(fmt::format("{} --runs {}", start, runs_)))
    return {.failure = "fails: " + folder.complaint()};
  const std::string printed = folder.text("out"), before = fmt::format("best of {}: ", runs_);
  const std::size_t at = printed.find(before);
  if (at == printed.npos) return {.failure = "prints no time: " + folder.complaint()};
  const Fingerprints found = fingerprints(printed);
  if (const std::string other = difference(found); !other.empty()) return {.failure = other};
  if (first_.empty()) first_ = found;
  return {.us = std::strtod(printed.c_str() + at + before.size(), nullptr)};
}

}  // namespace

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
      {{.name = "beside",
        .option = "--beside",
        .value = "PART",
        .help = "The part of overlapped work that is done at the same time: 0 where one core does both ({})",
        .kind = OptionKind::Number,
        .highest = 1},
       member<Q, &Q::device, &D::beside>()},
      {rate("launch", "--launch", "US", "What starting a kernel, or a call, takes ({})"),
       member<Q, &Q::device, &D::launch_us>()},
      {rate("piece", "--piece", "US", "What handing a piece to overlapped work takes ({})"),
       member<Q, &Q::device, &D::piece_us>()},
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
                      .with = carrier_name(question.transport),
                      .machine = machine.topology.name,
                      .progress = question.progress,
                      .stop = question.stop,
                      .log = question.log};
  if (question.record) options.record = [&](const std::string& line) { question.record(line, measuring); };
  return tune(workload, options);
}

}  // namespace chorale
