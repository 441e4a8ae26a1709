// What every measurement says first: where it was taken.
#pragma once

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <string>
#include <thread>

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

}  // namespace chorale
