// One process per question, this program's own 'frontier', so that a search that runs out of memory takes one
// question with it. Question and answer go through files in memory (memfd), which need no directory and
// vanish with their process; the machine is written without the names that are not part of a question. Memory
// is divided evenly among the workers that run side by side.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "cli/library_command.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"

namespace chorale {
namespace {

// A worker is polled, since waitpid has no timeout and a signal handler would be shared with the supervisor.
constexpr std::chrono::milliseconds kPollInterval{5};

// A file in memory, which never has a name: nothing is left when the process ends, even by SIGKILL.
class NamelessFile {
 public:
  NamelessFile() : file_(memfd_create("chorale-library", MFD_CLOEXEC)) {
    if (file_ < 0)
      throw InputError("library build", "no file in memory can be made",
                       "raise the limit of open files (ulimit -n)");
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
  NamelessFile machine = {}, result = {};
};

std::int64_t memory_of_a_worker(const Limits& limits, int jobs) {
  const std::int64_t all = limits.memory >= 0 ? limits.memory : most_of_the_machine();
  return std::max<std::int64_t>(all / jobs, 1 << 20);
}

// The arguments of the command that answers it. Options are written by their rows, those that differ from the
// default: a new option of the question is passed on by itself.
std::vector<std::string> words_for(const LibraryQuestion& question, const Worker& worker,
                                   std::int64_t memory) {
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
  for (const OptionRow<FrontierOptions>& row : question_rows())
    if (!is_default(row, asked)) {
      words.emplace_back(row.words.option);
      if (row.words.kind != OptionKind::Switch)
        words.push_back(std::to_string(row.member.get(asked)) +
                        (row.words.kind == OptionKind::Duration ? "ms" : ""));
    }
  add("--memory-limit", std::to_string(memory));
  return words;
}

// Its standard output is the file of the result. Between fork and exec nothing is allocated: another thread
// may hold the allocator.
pid_t started(std::vector<std::string> words, const Worker& worker) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // The signal comes when the thread that forked ends. Between fork and prctl it may have ended already, so
  // the parent is compared. Signals are unblocked, since a mask survives exec.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || fcntl(worker.machine.descriptor(), F_SETFD, 0) != 0 ||
      dup2(worker.result.descriptor(), STDOUT_FILENO) < 0)
    _exit(kBadInput);
  execv("/proc/self/exe", arguments.data());
  _exit(kBadInput);
}

// The result that the worker wrote, or the reason for none. Exit codes 0, 3 and 20 are answers: found, cut
// short, impossible. Others, and signals, are reasons.
Searched searched_by(const Worker& worker, int status) {
  if (WIFSIGNALED(status))
    return {.why = fmt::format("its process was ended by signal {}", WTERMSIG(status))};
  const int code = WEXITSTATUS(status);
  if (code != kFound && code != kUndecided && code != kImpossible)
    return {.why = fmt::format("its process ended with {}", code)};
  const std::string result = read_file(worker.result.path());
  if (result.empty()) return {};
  return {.result = result_from_json(result, "a worker's result")};
}

}  // namespace

Search search_by_processes(const Limits& limits, int jobs) {
  const std::int64_t memory = memory_of_a_worker(limits, jobs);
  return [memory](const LibraryQuestion& question, const std::function<bool()>& stopped) -> Searched {
    const Worker worker;
    if (!(std::ofstream(worker.machine.path()) << to_json(without_names(question.topology)) << std::flush))
      throw InputError("library build", "a file in memory cannot be written", "use fewer --jobs");
    // Its parent is this thread, which waits for it.
    const pid_t process = started(words_for(question, worker, memory), worker);
    if (process < 0) throw InputError("library build", "no process can be started", "use fewer --jobs");
    int status = 0;
    while (waitpid(process, &status, WNOHANG) != process) {
      if (stopped()) {
        kill(process, SIGKILL);
        waitpid(process, nullptr, 0);
        return {};
      }
      std::this_thread::sleep_for(kPollInterval);
    }
    return searched_by(worker, status);
  };
}

}  // namespace chorale
