// One line on standard error that says what is being done, rewritten in place.
#pragma once

#include <chrono>
#include <string>

namespace chorale {

class ProgressLine {
 public:
  explicit ProgressLine(bool always);  // otherwise only on a terminal
  ~ProgressLine();                     // wipes the line
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
