// What has failed of the machine, by its name ("link 0-1", "rank 3"), as the first line of a file has it; an
// empty line or no file: nothing has. It is read at each call, or, where a signal announces changes, at the
// first one and after each arrival of the signal.
//
// CHORALE_FAILED has the file, CHORALE_FAILED_SIGNAL the signal, USR1 or USR2. C++17 on POSIX, and is copied
// into emitted programs.
#pragma once

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace chorale {

// Of the environment; "": it is not set.
inline std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Ends with a zero; ranks send it to each other. Takes no memory.
using FailureName = std::array<char, 128>;

inline FailureName failure_name(const char* text) {
  FailureName name = {};
  std::strncpy(name.data(), text, name.size() - 1);
  return name;
}

// Arrivals of the signal, and what handled it before, which goes on to.
struct FailureSignal {
  static inline std::atomic<int> arrived{0};
  static inline struct sigaction before = {};

  // "": none is wanted. Returns whether it is listened to.
  static bool listen(const std::string& name) {
    static const bool listens = [&] {
      if (name != "USR1" && name != "USR2") return false;
      struct sigaction ours = {};
      ours.sa_sigaction = take;
      ours.sa_flags = SA_RESTART | SA_SIGINFO;
      return sigaction(name == "USR1" ? SIGUSR1 : SIGUSR2, &ours, &before) == 0;
    }();
    return listens;
  }

 private:
  static void take(int number, siginfo_t* info, void* context) {
    ++arrived;
    if ((before.sa_flags & SA_SIGINFO) != 0)
      before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
      before.sa_handler(number);
  }
};

class FailureFile {
 public:
  // "": there is none, and nothing has failed.
  FailureFile(std::string path, const std::string& signal)
      : path_(std::move(path)), by_signal_(FailureSignal::listen(signal)) {
    if (!signal.empty() && !by_signal_)
      std::fprintf(stderr,
                   "chorale: CHORALE_FAILED_SIGNAL is neither USR1 nor USR2: %s is read at each call\n",
                   path_.c_str());
  }

  bool given() const { return !path_.empty(); }

  FailureName name() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int arrived = FailureSignal::arrived;
    if (by_signal_ && arrived == read_at_) return name_;
    read_at_ = arrived;
    name_ = {};
    if (std::FILE* const file = std::fopen(path_.c_str(), "r")) {
      if (std::fgets(name_.data(), static_cast<int>(name_.size()), file) == nullptr) name_ = {};
      std::fclose(file);
      std::fill(name_.begin() + std::strcspn(name_.data(), "\r\n"), name_.end(), '\0');
    }
    return name_;
  }

 private:
  const std::string path_;
  const bool by_signal_;
  std::mutex mutex_ = {};
  int read_at_ = -1;  // arrivals
  FailureName name_ = {};
};

}  // namespace chorale
