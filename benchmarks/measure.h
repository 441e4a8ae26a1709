// What measurements share: where they were taken, statistics, and their main().
#pragma once

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "ir/error.h"

namespace chorale {

// "machine: <processor>, 2 hardware threads, Linux x86_64"
inline std::string machine_line() {
  std::string processor = "unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(':') != std::string::npos) {
      processor = line.substr(line.find(':') + 2);
      break;
    }
  utsname name = {};
  uname(&name);
  return fmt::format("machine: {}, {} hardware threads, {} {}\n", processor,
                     std::thread::hardware_concurrency(), name.sysname, name.machine);
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Of all threads of this process.
inline double cpu_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

inline double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

// Runs the measurement; bad input is one line and exit code 2.
inline int guarded(const char* name, int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const InputError& error) {
    fmt::print(stderr, "{}: error: {}\n", name, error.what());
    return 2;
  }
}

}  // namespace chorale
