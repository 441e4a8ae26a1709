// Two threads and one rule: only one of them makes the final report. The floor is Free while the work goes
// on. The work takes it before it writes files and prints (Work, then Done); the watcher takes it when a
// limit or a signal has come and the grace after it is over (Watcher), makes the last report, and ends the
// process while the work still runs. A thread that finds it taken waits for the end. A lack of memory takes
// it from either, since the thread that requested memory then blocks in operator new.
//
// All that wakes the watcher are two files: one for signals, which are blocked in every thread and so come
// nowhere else, and one for events, to which a signal handler, operator new and the work may write. It sleeps
// until the next time at which something is due, and forever if nothing is.
//
// The work has the main thread because MPI is initialized there and because glibc gives other threads an
// arena that grows by one system call per page. The memory limit is RLIMIT_DATA: RLIMIT_AS counts the 64 MiB
// that each thread's arena only reserves. It is lifted, and a reserve freed, before the last report, which
// then has memory.
//
// A library may run out of memory and end the process by itself. GMP aborts, which is seen (SIGABRT); whether
// a megabyte can still be mapped distinguishes that abort from a bug's.
#include "cli/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "api/run.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// For work to come to its own end, which is better than what it published. With the last report it stays
// under a second.
constexpr milliseconds kGrace{500};
// Between two paintings of the clock.
constexpr milliseconds kTick{200};
// A failed allocation waits so long before it throws, while the watcher begins its report.
constexpr milliseconds kUntilUnwound{200};
constexpr unsigned kMostSecondsOfLastWord = 60;  // of a huge result; if it hangs, SIGALRM ends it
// Enough for the text of any result that fits a screen; large ones are reported without our limit. Never
// touched until then, so it costs nothing.
constexpr std::size_t kReserve = std::size_t{8} << 20;
// An allocation that a library aborts on is small, or this much is not left either.
constexpr std::size_t kProbe = std::size_t{1} << 20;

std::atomic<Supervisor*> the_supervisor = nullptr;
std::atomic<pthread_t> the_watcher = {};
static_assert(std::atomic<Supervisor*>::is_always_lock_free && std::atomic<pthread_t>::is_always_lock_free,
              "a signal handler may only touch what cannot block");

bool on_the_watcher() {
  return pthread_equal(the_watcher, pthread_self()) != 0;
}

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

// Without C++'s streams: functions that do not throw may be called while a thread is running.
std::optional<std::int64_t> number_in(const char* path, const char* format) {
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) return std::nullopt;
  std::int64_t number = 0;
  const bool found = std::fscanf(file, format, &number) == 1;
  std::fclose(file);
  return found ? std::optional(number) : std::nullopt;
}

// Private memory that can be written to: what RLIMIT_DATA counts, and the stack.
std::int64_t data_in_use() {
  return number_in("/proc/self/statm", "%*d %*d %*d %*d %*d %" SCNd64).value_or(0) * sysconf(_SC_PAGESIZE);
}

// Sanitizers reserve terabytes of shadow memory, and the kernel counts those as data: no limit can be set.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

void complain(const std::string& line) {
  std::fprintf(stderr, "chorale: error: %s\n", line.c_str());
}

}  // namespace

// Beyond nine tenths of what there is, the kernel does not refuse memory: it kills some process silently.
std::int64_t most_of_the_machine() {
  std::int64_t bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    bytes = std::min(bytes, number_in(path, "%" SCNd64).value_or(bytes));
  return bytes / 10 * 9;
}

Supervisor::Supervisor(const Invocation& asked)
    : limits_(asked.limits), quiet_(asked.quiet), reserve_(std::make_unique_for_overwrite<char[]>(kReserve)) {
  line_.want(asked.quiet ? ShowProgress::Never : asked.progress);
  events_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sigemptyset(&caught_);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  for (int each : {SIGINT, SIGTERM, SIGHUP}) {
    if (each == SIGHUP && hangup.sa_handler == SIG_IGN) continue;  // nohup
    sigaddset(&caught_, each);
    signal(each, SIG_DFL);  // a shell's background job would ignore SIGINT
  }
  pthread_sigmask(SIG_BLOCK, &caught_, nullptr);  // for all threads that are made from here on
  signals_ = signalfd(-1, &caught_, SFD_CLOEXEC | SFD_NONBLOCK);
  if (limits_.time.count() >= 0) deadline_ = steady_clock::now() + limits_.time;
  const std::lock_guard lock(mutex_);  // the watcher waits for what follows, where nothing throws
  try {
    watcher_ = std::jthread([this] { watch(); });
  } catch (const std::system_error&) {
    throw std::bad_alloc();
  }
  the_watcher = watcher_.native_handle();
  the_supervisor = this;
  std::set_new_handler(allocation_failed);
  signal(SIGABRT, aborted);
  limit_memory(limits_.memory);
}

Supervisor::~Supervisor() {
  over_ = true;
  wake();
  watcher_.join();
  std::set_new_handler(nullptr);
  signal(SIGABRT, SIG_DFL);
  the_supervisor = nullptr;
  if (memory_before_) setrlimit(RLIMIT_DATA, &*memory_before_);
  pthread_sigmask(SIG_UNBLOCK, &caught_, nullptr);
  close(signals_);
  close(events_);
}

// A result and an InputError wait for the floor before they get out: the watcher may be speaking already. No
// command writes its files itself, so none is written by work that the watcher has given up.
Outcome Supervisor::run(const std::function<Outcome()>& work) {
  const auto done = [this](const std::vector<NamedText>& files) {
    take_floor();
    write_files(files);
    line_.wipe();
    const std::lock_guard lock(mutex_);
    floor_ = Floor::Done;
  };
  try {
    Outcome outcome = work();
    end_report(outcome);
    done(outcome.files);
    outcome.exit_code = named_signal(outcome.exit_code);
    return outcome;
  } catch (const InputError&) {
    done({});
    throw;
  } catch (const std::bad_alloc&) {
    out_of_memory();  // more than size_t can hold: the allocator was not called
  } catch (const std::length_error&) {
    out_of_memory();
  } catch (const std::system_error& error) {  // no memory for a thread
    if (error.code() != std::errc::resource_unavailable_try_again &&
        error.code() != std::errc::not_enough_memory)
      throw;
    out_of_memory();
  }
}

void Supervisor::end_report(Outcome& outcome) const {
  if (!outcome.text.empty() && !outcome.verbatim) outcome.text += last_lines_;
}

Stopped Supervisor::stopped() const {
  if (const Stopped cause = cause_; cause != Stopped::No) return cause;
  const std::lock_guard lock(mutex_);  // the watcher may not have seen it yet
  return deadline_ && steady_clock::now() >= *deadline_ ? Stopped::TimeLimit : Stopped::No;
}

// At least a millisecond: solvers take less than 0 for no limit, and 0 leaves no time for an answer.
milliseconds Supervisor::time_left() const {
  const std::lock_guard lock(mutex_);
  if (!deadline_) return milliseconds(-1);
  return std::max(std::chrono::ceil<milliseconds>(*deadline_ - steady_clock::now()), milliseconds(1));
}

double Supervisor::seconds() const {
  return std::chrono::duration<double>(steady_clock::now() - started_).count();
}

void Supervisor::publish(LastWord word) {
  auto fresh = word ? std::make_shared<const LastWord>(std::move(word)) : nullptr;
  const std::lock_guard lock(mutex_);
  last_word_.swap(fresh);
  if (std::exchange(awaits_answer_, false)) wake();
}

void Supervisor::await_first_answer() {
  const std::lock_guard lock(mutex_);
  awaits_answer_ = true;
}

bool Supervisor::may_cut() const {
  return floor_ == Floor::Free && !(awaits_answer_ && cause_ == Stopped::TimeLimit);
}

// A command may take the floor early, and run() does at its end.
void Supervisor::take_floor() {
  {
    const std::lock_guard lock(mutex_);
    if (floor_ == Floor::Free) floor_ = Floor::Work;
    if (floor_ == Floor::Work) return;
  }
  wait_for_the_end();
}

// A limit of the process that is lower already stays.
void Supervisor::limit_memory(std::int64_t bytes) {
  if (bytes == Limits::kAllMemory || kSanitized) return;
  rlimit now = {};
  if (getrlimit(RLIMIT_DATA, &now) != 0) return;
  const std::int64_t most = bytes >= 0 ? data_in_use() + bytes : most_of_the_machine();
  if (now.rlim_cur != RLIM_INFINITY && now.rlim_cur <= static_cast<rlim_t>(most)) return;
  memory_before_ = now;
  now.rlim_cur = static_cast<rlim_t>(most);
  setrlimit(RLIMIT_DATA, &now);
}

void Supervisor::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(events_, &one, sizeof one);
}

// Where operator new has nothing to give. The watcher alone goes on, with the reserve; should it wait for a
// lock that this thread holds, unwinding frees it.
void Supervisor::allocation_failed() {
  Supervisor* const supervisor = the_supervisor;
  if (supervisor != nullptr && !on_the_watcher()) {
    supervisor->note_lack_of_memory();
    std::this_thread::sleep_for(kUntilUnwound);
  }
  throw std::bad_alloc();
}

// GMP and some C code abort when malloc has nothing to give; anything else that aborts is a bug, and goes on
// to do so.
void Supervisor::aborted(int) {
  Supervisor* const supervisor = the_supervisor;
  if (supervisor != nullptr && supervisor->starved_ && !on_the_watcher()) wait_for_the_end();
  void* const probe = mmap(nullptr, kProbe, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe != MAP_FAILED) {
    munmap(probe, kProbe);
    return;
  }
  if (supervisor != nullptr && !on_the_watcher()) supervisor->out_of_memory();
  constexpr char kLine[] = "chorale: error: out of memory; nothing could be printed of what was found\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine, sizeof kLine - 1);
  _exit(kUndecided);
}

void Supervisor::note_lack_of_memory() {
  Stopped none = Stopped::No;
  cause_.compare_exchange_strong(none, Stopped::MemoryLimit);
  starved_ = stop_ = true;
  wake();
}

void Supervisor::out_of_memory() {
  note_lack_of_memory();
  wait_for_the_end();
}

// Each iteration: events that end all at once (over, no memory, a second signal), then the limits, then the
// line.
void Supervisor::watch() {
  for (;;) {
    pollfd ready[] = {{.fd = signals_, .events = POLLIN, .revents = 0},
                      {.fd = events_, .events = POLLIN, .revents = 0}};
    poll(ready, 2, static_cast<int>(until_next(steady_clock::now()).count()));
    // The file is emptied first, then the causes are examined: in the other order, an event in between is
    // lost.
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t emptied = read(events_, &count, sizeof count);
    if (over_) return;
    if (starved_) end();
    if (ready[0].revents != 0 && note_signal()) {
      line_.wipe();
      _exit(named_signal(kInterrupted));
    }
    const auto now = steady_clock::now();
    Floor floor = Floor::Free;
    {
      const std::lock_guard lock(mutex_);
      if (Stopped none = Stopped::No; deadline_ && now >= *deadline_)
        cause_.compare_exchange_strong(none, Stopped::TimeLimit);
      if (cause_ != Stopped::No && !cut_) {
        stop_ = true;
        cut_ = now + kGrace;
      }
      // Work that is writing is not cut, however late: half a file is worse.
      if (cut_ && now >= *cut_ && may_cut()) floor_ = Floor::Watcher;
      floor = floor_;
    }
    if (floor == Floor::Watcher) end();
    if (line_.wanted()) line_.tick();
  }
}

// The second signal ends all, and so does the first when only text is left to print.
bool Supervisor::note_signal() {
  signalfd_siginfo info = {};
  if (read(signals_, &info, sizeof info) != sizeof info) return false;
  Stopped none = Stopped::No;
  const bool first = cause_.compare_exchange_strong(none, Stopped::Interrupted);
  if (first) hung_up_ = info.ssi_signo == SIGHUP;
  const std::lock_guard lock(mutex_);
  return !first || floor_ == Floor::Done;
}

// Commands know of an interruption only, whichever signal it was.
int Supervisor::named_signal(int exit_code) const {
  return exit_code == kInterrupted && hung_up_ ? kHungUp : exit_code;
}

// Until the deadline; after it until the cut, unless the floor is taken, when nothing is due any more.
milliseconds Supervisor::until_next(steady_clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  std::optional<steady_clock::time_point> next = deadline_;
  if (cut_) next = may_cut() ? cut_ : std::nullopt;
  const auto in = [&](milliseconds most) {
    return next ? std::clamp(std::chrono::ceil<milliseconds>(*next - now), milliseconds(0), most) : most;
  };
  return line_.wanted() ? in(kTick) : next ? in(milliseconds(60'000)) : milliseconds(-1);
}

std::string Supervisor::complaint() const {
  const char* const less = "ask for fewer chunks, steps or ranks";
  switch (starved_ ? Stopped::MemoryLimit : cause_.load()) {
    case Stopped::MemoryLimit:
      return limits_.memory >= 0
                 ? InputError("out of memory",
                              fmt::format("{} more than at the start (--memory-limit) are not enough",
                                          format_bytes(static_cast<double>(limits_.memory))),
                              fmt::format("raise it, or {}", less))
                       .what()
                 : InputError("out of memory", "this process gets no more", less).what();
    case Stopped::TimeLimit:
      return InputError("time limit", "over before there was anything to report", "raise --time-limit")
          .what();
    default:
      break;
  }
  return "interrupted before there was anything to report";
}

// On the watcher, while the work stands still or goes on in vain.
void Supervisor::end() {
  pthread_sigmask(SIG_UNBLOCK, &caught_, nullptr);  // one more signal ends this, too
  alarm(kMostSecondsOfLastWord);
  reserve_.reset();
  if (memory_before_) setrlimit(RLIMIT_DATA, &*memory_before_);
  int code = exit_code_of(stopped());
  // Under mpirun one process reports; the others leave it the time to.
  if (!speaks()) {
    silent_refusal();
    _exit(named_signal(code));
  }
  line_.wipe();
  std::shared_ptr<const LastWord> word;
  {
    const std::lock_guard lock(mutex_);
    floor_ = Floor::Watcher;
    word = last_word_;
  }
  try {
    // A report states the limit that ended it by itself; a lack of memory is an error line as well.
    if (!word || starved_) complain(complaint());
    if (word) {
      Outcome outcome = (*word)(stopped());
      end_report(outcome);
      code = outcome.exit_code;
      write_files(outcome.files);
      say(outcome, quiet_);
    }
  } catch (const InputError& error) {
    complain(error.what());
    code = kBadInput;
  } catch (const std::exception&) {
    complain("out of memory; nothing could be printed of what was found");
  }
  _exit(named_signal(code));
}

// The environment that launchers of MPI programs give to their processes.

bool started_by_mpirun() {
  const std::vector<std::string>& variables = launcher_variables();
  return std::any_of(variables.begin(), variables.end(),
                     [](const std::string& name) { return std::getenv(name.c_str()) != nullptr; });
}

// Before MPI is initialized only the environment determines it.
bool speaks() {
  // Open MPI; MPICH, Intel MPI and Slurm (PMI); launchers by PMIx.
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* const rank = std::getenv(variable)) return std::string(rank) == "0";
  return true;
}

// All processes read the same line and fail alike; the one that prints has to do so before mpirun sees the
// first exit code and ends the job.
Outcome silent_refusal() {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return {.exit_code = kBadInput};
}

InputError hung(const std::string& command, const Hang& hang) {
  const InputError error(command, hang.what(), "raise --wait, or see whether all ranks are alive");
  if (!speaks()) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::fprintf(stderr, "chorale: error: %s\n", error.what());
  }
  return error;
}

// One line, rewritten in place. Callers may report a thousand times a second, so it is painted at most every
// kBetween; tick() repaints it, since the clock in it runs on while nothing is reported.

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// To the first column, and erase to the end of the line (ANSI).
constexpr const char* kWipe = "\r\x1b[K";
constexpr milliseconds kBetween{50};

}  // namespace

ProgressLine::ProgressLine() : wanted_(isatty(STDERR_FILENO) == 1) {}

// The old text is freed after the lock is released: swapped, not assigned.
void ProgressLine::show(std::string what) {
  if (!wanted_) return;
  what = shown(what);
  const std::lock_guard lock(mutex_);
  what_.swap(what);
  const auto now = steady_clock::now();
  if (!shown_ || now - last_ >= kBetween) paint(now);
}

// The line goes above the one that is rewritten, which is painted again below it.
void ProgressLine::log(const std::string& line) {
  if (!wanted_) return;
  const std::string text = shown(line);
  const std::lock_guard lock(mutex_);
  std::fprintf(stderr, "%s%s\n", shown_ ? kWipe : "", text.c_str());
  if (shown_) paint(steady_clock::now());
  std::fflush(stderr);
}

void ProgressLine::tick() {
  const std::lock_guard lock(mutex_);
  if (!what_.empty()) paint(steady_clock::now());
}

void ProgressLine::wipe() {
  const std::lock_guard lock(mutex_);
  if (shown_) std::fputs(kWipe, stderr);
  shown_ = false;
  what_.clear();
}

// Allocates nothing: the clock runs even if no memory is left.
void ProgressLine::paint(steady_clock::time_point now) {
  last_ = now;
  shown_ = true;
  char clock[32];
  const int most =
      static_cast<int>(text_width()) - 1;  // a longer line would wrap, and then not be overwritten
  const int seconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(now - started_).count());
  const int width = std::snprintf(clock, sizeof clock, "%d s; ", seconds);
  std::fprintf(stderr, "%s%s%.*s", kWipe, clock, std::max(most - width, 0), what_.c_str());
  std::fflush(stderr);
}

}  // namespace chorale
