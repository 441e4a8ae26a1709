// The limits of a whole command, enforced during all of its work: its time, its memory, Ctrl-C, SIGTERM and
// SIGHUP.
//
// The work stays on the main thread, where the allocator is fastest and MPI is at home; a second thread
// watches the clock and the signals, and lets the progress line run. Long work polls stop() and ends by
// itself. Work that has not ended half a second after a limit (in a call to a solver, in a file that is being
// read) is abandoned: the watcher reports the result published last, and ends the process. After an
// allocation that fails the same happens at once. The thread that requested it waits 200 ms inside operator
// new, so that nothing of ours or of a library unwinds without memory meanwhile, and then std::bad_alloc is
// thrown: that frees locks for which the last report may wait.
//
// A command that has an answer from the first moment reports it at any limit of time: until it is published,
// which takes little and bounded work, time alone does not cut the work.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/options.h"
#include "cli/outcome.h"
#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/hang.h"

namespace chorale {

// One line on standard error with the current activity and its duration, rewritten in place. Shown on a
// terminal, or where it is wanted always. May be called from any thread.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void want(ShowProgress when) {
    if (when != ShowProgress::OnTerminal) wanted_ = when == ShowProgress::Always;
  }
  bool wanted() const { return wanted_; }
  void show(std::string what);
  void log(const std::string& line);  // which stays, above the line that is rewritten
  void tick();                        // shows it again, its clock running
  void wipe();

 private:
  void paint(std::chrono::steady_clock::time_point now);

  std::mutex mutex_;
  std::atomic<bool> wanted_;
  bool shown_ = false;
  std::string what_ = {};
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = {};
};

// The report and the files of work that does not end: from copies of its own, since it is called while the
// work goes on.
using LastWord = std::function<Outcome(Stopped)>;

// One in a process.
class Supervisor {
 public:
  explicit Supervisor(const Invocation&);  // by its limits
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // What the work returns, its files written, or throws, unless a limit ends the process before.
  Outcome run(const std::function<Outcome()>& work);

  // For the work, from any of its threads.
  //
  // Becomes true at the time limit and at a signal. Work that comes to an end within half a second then is
  // not cut: a limit of a millisecond, too, gets the first result that can be reported.
  const std::atomic<bool>* stop() const { return &stop_; }
  const Limits& limits() const { return limits_; }
  // Why. No: nothing has stopped it.
  Stopped stopped() const;
  // None if negative.
  std::chrono::milliseconds time_left() const;
  double seconds() const;  // of the command until now
  ProgressLine& progress() { return line_; }
  // For work that reports what it is doing.
  std::function<void(const std::string&)> doing() {
    return [this](const std::string& what) { line_.show(what); };
  }
  void publish(LastWord);  // null: there is nothing to report
  // Before the work: what every report for people ends with, whether or not a limit cuts the work.
  void end_reports_with(std::string lines) { last_lines_ = std::move(lines); }
  // Until the next publish() a time limit does not cut the work.
  void await_first_answer();
  // When the result is known, and before the command changes anything: from here on only a second signal or
  // a lack of memory cuts the work. Does not return if the watcher is already reporting the published result.
  void take_floor();

 private:
  enum class Floor { Free, Work, Watcher, Done };
  static void allocation_failed();
  static void aborted(int);
  void limit_memory(std::int64_t bytes);
  void watch();
  bool note_signal();                     // is it the one that ends all?
  bool may_cut() const;                   // requires mutex_
  int named_signal(int exit_code) const;  // 129 for 130 after SIGHUP
  std::chrono::milliseconds until_next(std::chrono::steady_clock::time_point now) const;
  void note_lack_of_memory();
  [[noreturn]] void out_of_memory();
  [[noreturn]] void end();
  void end_report(Outcome&) const;
  std::string complaint() const;
  void wake() const;

  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const Limits limits_;
  const bool quiet_;             // of last words, too
  std::string last_lines_ = {};  // of reports
  ProgressLine line_ = {};
  std::atomic<bool> stop_ = false;
  std::atomic<Stopped> cause_ = Stopped::No;
  std::atomic<bool> starved_ = false;  // an allocation failed
  std::atomic<bool> hung_up_ = false;  // the signal was SIGHUP
  std::atomic<bool> over_ = false;     // the watcher is to leave
  mutable std::mutex mutex_;           // of the next four; nothing is allocated while it is held
  Floor floor_ = Floor::Free;
  bool awaits_answer_ = false;
  std::optional<std::chrono::steady_clock::time_point> deadline_ = {};
  std::shared_ptr<const LastWord> last_word_ = {};
  std::optional<std::chrono::steady_clock::time_point> cut_ = {};  // the watcher's: when to wait no longer
  std::unique_ptr<char[]> reserve_;                                // memory for the last report
  std::optional<rlimit> memory_before_ = {};
  int signals_ = -1, events_ = -1;  // files that become readable
  sigset_t caught_ = {};
  std::jthread watcher_;
};

// Nine tenths of the machine's memory, or of what a cgroup limits this process to, in bytes.
std::int64_t most_of_the_machine();

// The launcher of this process, if it is one of several.

// Whether this process was started by mpirun; and whether it is the one that prints.
bool started_by_mpirun();
bool speaks();
// The reaction of the other processes to bad input: none, after a delay in which the one that prints reports
// it, since mpirun ends all when the first exits with an error.
Outcome silent_refusal();
// Any rank may be the one that waits in vain, so any rank reports it, but those that do not print wait a
// second first: if the one that prints has something to report, mpirun has ended them by then.
InputError hung(const std::string& command, const Hang&);

}  // namespace chorale
