// A schedule is measured as its user would: it is written, compiled by make, and run with ranks as threads, in a folder that
// is removed again. What does not compile, or run, has no time.
#include "cli/tuning.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "api/inputs.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/words.h"

namespace chorale {
namespace {

namespace fs = std::filesystem;

class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (fs::temp_directory_path() / "chorale_tune_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw InputError("--measure", "no folder can be made in " + fs::temp_directory_path().string(),
                       "set TMPDIR to one that can be written to");
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = {};
};

// What a shell command prints; none if it fails.
std::optional<std::string> printed_by(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> part = {};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), count);
  const int status = pclose(pipe);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(text) : std::nullopt;
}

std::optional<double> measured_us(const Workload& workload, const WorkloadMachine& machine, int runs) {
  const WorkFolder folder;
  CompiledWorkload compiled;
  try {
    compiled = compile(workload, machine);
  } catch (const InputError&) {
    return {};
  }
  for (NamedText& file : compiled.files) file.path = folder.path() + "/" + file.path;
  write_files(compiled.files);
  const std::optional<std::string> text = printed_by(fmt::format(
      "cd '{}' && make -s threads 2>/dev/null && ./*_threads --runs {} 2>/dev/null", folder.path(), runs));
  if (!text) return {};
  const std::string before = fmt::format("best of {}: ", runs);
  const std::size_t at = text->find(before);
  return at == text->npos ? std::nullopt
                          : std::optional(std::strtod(text->c_str() + at + before.size(), nullptr));
}

}  // namespace

WorkloadMachine machine_for(const Workload& workload, const WorkloadTarget& target, WorkloadSearch search,
                            Supervisor& supervisor) {
  const Topology topology = machine(target.machine, target.changes);
  std::vector<Result> known;
  for (const std::string& file : target.algorithms) known.push_back(read_sound_result(file));
  FrontierOptions options{.max_chunks = target.max_chunks,
                          .time_limit = supervisor.time_left(),
                          .synthesis = {.limits = {.stop = supervisor.stop()}}};
  if (ProgressLine& line = supervisor.progress(); line.wanted())
    options.progress = [&line](const Progress& progress) { line.show(progress.doing); };
  return algorithms_for(topology, workload, search, std::move(known), options);
}

TuneResult tuned(const Workload& workload, const WorkloadMachine& machine, const TuneSettings& settings,
                 Supervisor& supervisor) {
  TuneOptions options{.prices = prices_of(workload, machine, settings.device),
                      .most_candidates = settings.most_candidates,
                      .measured = settings.measured,
                      .stop = supervisor.stop()};
  options.measure = [&](const Candidate& candidate) {
    return measured_us(candidate.workload, machine, settings.runs);
  };
  ProgressLine& line = supervisor.progress();
  if (line.wanted())
    options.progress = [&line](const TuneProgress& progress) {
      line.show(
          progress.to_measure > 0
              ? fmt::format("{} of {} measured", progress.measured, counted(progress.to_measure, "schedule"))
              : fmt::format("{}, {} to look at", counted(progress.candidates, "schedule"), progress.open));
    };
  // All that an earlier run has measured is recorded before anything is measured anew, so the file loses nothing whenever
  // it is written from then on.
  std::string log;
  bool measuring = false;
  if (!settings.log.empty()) {
    if (fs::exists(settings.log)) options.log = {settings.log, read_file(settings.log)};
    options.record = [&](const std::string& text) {
      log += text + "\n";
      if (measuring) write_file(settings.log, log);
    };
    options.measure = [&, measure = options.measure](const Candidate& candidate) {
      measuring = true;
      return measure(candidate);
    };
  }
  TuneResult result = tune(workload, options);
  if (!settings.log.empty()) write_file(settings.log, log);
  return result;
}

}  // namespace chorale
