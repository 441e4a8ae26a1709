// One line on standard error with the current activity and its duration, rewritten in place.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

namespace chorale {

enum class ShowProgress { OnTerminal, Always, Never };

// Shown on a terminal, or where it is wanted always. May be called from any thread.
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

}  // namespace chorale
