#include "cli/library_build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"

namespace chorale {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenLooks{5};

// A file without a name: whatever ends the process, SIGKILL too, nothing is left.
class NamelessFile {
 public:
  NamelessFile() {
    std::string name = (fs::temp_directory_path() / "chorale-library-XXXXXX").string();
    file_ = mkostemp(name.data(), O_CLOEXEC);
    if (file_ < 0) throw InputError(name, "no file can be made there", "set TMPDIR to where there is room");
    unlink(name.c_str());
  }
  ~NamelessFile() {
    if (file_ >= 0) close(file_);
  }
  NamelessFile(NamelessFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  NamelessFile& operator=(NamelessFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }

  int descriptor() const { return file_; }
  // By which this process opens it, and those that inherit the descriptor.
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_ = -1;
};

struct Worker {
  pid_t process = 0;
  std::size_t question = 0;
  NamelessFile machine = {}, result = {};
};

std::int64_t memory_of_a_worker(const LibraryCommand& command) {
  const std::int64_t all = command.limits.memory >= 0
                               ? command.limits.memory
                               : sysconf(_SC_PHYS_PAGES) / 10 * 9 * sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(all / command.jobs, 1 << 20);
}

// The words of the command that answers it.
std::vector<std::string> words_for(const LibraryQuestion& question, const Worker& worker, std::int64_t memory,
                                   int cube_jobs) {
  const FrontierOptions& asked = question.options;
  std::vector<std::string> words = {
      "chorale", "frontier", worker.machine.path(), name_of(question.collective), "-q", "--json", "-"};
  const auto add = [&](const char* option, const std::string& value) {
    words.push_back(option);
    words.push_back(value);
  };
  if (is_rooted(question.collective.kind)) add("--root", std::to_string(question.collective.root));
  if (const SumOrder& order = question.collective.order; order != SumOrder{})
    add("--order", to_string(order));
  add("--min-chunks", std::to_string(asked.min_chunks));
  if (asked.max_chunks != kAnyChunks) add("--max-chunks", std::to_string(asked.max_chunks));
  if (asked.extra_rounds != kAnyRounds) add("--k", std::to_string(asked.extra_rounds));
  if (asked.max_steps != kAnySteps) add("--max-steps", std::to_string(asked.max_steps));
  if (asked.synthesis.limits.conflicts >= 0)
    add("--conflicts", std::to_string(asked.synthesis.limits.conflicts));
  if (asked.synthesis.cubes > 0) {
    add("--cubes", std::to_string(asked.synthesis.cubes));
    add("--jobs", std::to_string(cube_jobs));
  }
  if (asked.time_limit.count() >= 0) add("--time-limit", fmt::format("{}ms", asked.time_limit.count()));
  add("--memory-limit", std::to_string(memory));
  return words;
}

// Its standard output is the file of the result. Between fork and exec nothing is allocated: another thread may
// hold the allocator.
pid_t started(std::vector<std::string> words, const Worker& worker) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || fcntl(worker.machine.descriptor(), F_SETFD, 0) != 0 ||
      dup2(worker.result.descriptor(), STDOUT_FILENO) < 0)
    _exit(kBadInput);
  execv("/proc/self/exe", arguments.data());
  _exit(kBadInput);
}

std::string in_words(const LibraryQuestion& question, const std::string& what) {
  const AnswerPlace& place = question.places.front();
  return fmt::format("{}, {}, {}: {}", place.machine, place.group, place.collective, what);
}

// Keeps what the worker has written. What it could not answer is said.
void take(AnswerFile& file, const LibraryQuestion& question, const Worker& worker, int status,
          BuildReport& report) {
  const bool well =
      WIFEXITED(status) && (WEXITSTATUS(status) == kFound || WEXITSTATUS(status) == kUndecided ||
                            WEXITSTATUS(status) == kImpossible);
  const std::string result = well ? read_file(worker.result.path()) : "";
  if (!well)
    report.failures.push_back(in_words(
        question, WIFSIGNALED(status) ? fmt::format("its process was ended by signal {}", WTERMSIG(status))
                                      : fmt::format("its process ended with {}", WEXITSTATUS(status))));
  else if (result.empty() || !keep_answer(file, question, result_from_json(result, "a worker's result")))
    report.failures.push_back(in_words(question, "not answered within the limits"));
  else
    ++report.answered;
}

}  // namespace

BuildReport build_library(AnswerFile& file, const std::vector<LibraryQuestion>& questions,
                          const LibraryCommand& command, Supervisor& supervisor) {
  BuildReport report;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (has_answer(file, questions[i]))
      ++report.there;
    else
      open.push_back(i);
  }
  const std::int64_t memory = memory_of_a_worker(command);
  std::vector<Worker> workers;
  std::size_t next = 0;
  const auto start_next = [&] {
    Worker worker{.question = open[next++]};
    const LibraryQuestion& question = questions[worker.question];
    if (!(std::ofstream(worker.machine.path()) << to_json(without_names(question.topology)) << std::flush))
      throw InputError("library build", "a temporary file cannot be written",
                       "set TMPDIR to where there is room");
    // The last questions have the processors of those that are answered, for their cubes.
    const int side_by_side = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(command.jobs),
                                                                    open.size() - next + workers.size() + 1));
    worker.process = started(words_for(question, worker, memory, command.jobs / side_by_side), worker);
    if (worker.process < 0)
      throw InputError("library build", "no process can be started", "use fewer --jobs");
    workers.push_back(std::move(worker));
  };
  while (!*supervisor.stop() && (next < open.size() || !workers.empty())) {
    while (next < open.size() && std::ssize(workers) < command.jobs) start_next();
    int status = 0;
    const auto ended = std::ranges::find_if(workers, [&](const Worker& worker) {
      return waitpid(worker.process, &status, WNOHANG) == worker.process;
    });
    if (ended == workers.end()) {
      std::this_thread::sleep_for(kBetweenLooks);
      continue;
    }
    take(file, questions[ended->question], *ended, status, report);
    workers.erase(ended);
    supervisor.progress().show(
        fmt::format("{} of {} answered", report.there + report.answered, questions.size()));
  }
  for (const Worker& worker : workers) {
    kill(worker.process, SIGKILL);
    waitpid(worker.process, nullptr, 0);
  }
  return report;
}

}  // namespace chorale
