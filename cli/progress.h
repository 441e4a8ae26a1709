// One line on standard error that says what is being done, rewritten in place.
#pragma once

#include <chrono>
#include <string>

namespace chorale {

enum class ShowProgress { OnTerminal, Always, Never };

class ProgressLine {
 public:
  explicit ProgressLine(ShowProgress);
  ~ProgressLine();  // wipes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool wanted() const { return wanted_; }
  void show(const std::string& text);

 private:
  const bool wanted_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_ = {};
};

}  // namespace chorale
