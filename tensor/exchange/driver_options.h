// The transport of an emitted workload's main program, by how it is compiled, and the options of its command
// line (tensor/exchange/driver.h lists them). C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

#if defined(CHORALE_MPI)
#include "runtime/exchange/mpi.h"
#elif defined(CHORALE_CUDA)
#include "tensor/exchange/cuda.h"
#elif defined(CHORALE_NCCL)
#include "tensor/exchange/nccl.h"
#else
#include "runtime/exchange/threads.h"
#endif

namespace chorale {

struct DriverTensor {
  const char* name;
  bool is_input, is_result;
  bool is_local;    // each rank's is another
  int scope_ranks;  // consecutive ones whose replicas are the same
};

struct DriverOptions {
  std::map<std::string, std::int64_t> sizes = {};
  int runs = 5;
  std::uint64_t seed = 1;
  std::string in = {}, out = {};
  std::chrono::milliseconds patience = {};
#ifdef CHORALE_CUDA
  GpuRankOptions on_gpus = {};
  bool graph = false;
  std::int64_t copy = 0;  // bytes; 0: none
#endif
};

// Throws std::invalid_argument.
inline std::int64_t driver_integer(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  require(!text.empty() && *end == 0 && number >= 0 && number < 1LL << 40,
          option + ": '" + text + "' is not an integer of 0 to 2^40 - 1");
  return number;
}

// Throws std::invalid_argument.
template <typename Workload>
DriverOptions driver_options(int argc, char** argv) {
  DriverOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      require(i + 1 < argc, word + " needs a value");
      return argv[++i];
    };
    const auto integer = [&] {
      return static_cast<int>(std::min<std::int64_t>(driver_integer(word, value()), 1 << 30));
    };
    if (word == "--runs")
      options.runs = integer();
    else if (word == "--seed")
      options.seed = static_cast<std::uint64_t>(driver_integer(word, value()));
    else if (word == "--in")
      options.in = value();
    else if (word == "--out")
      options.out = value();
#ifdef CHORALE_CUDA
    else if (word == "--gpus")
      options.on_gpus.gpus = integer();
    else if (word == "--channels")
      options.on_gpus.channels = integer();
    else if (word == "--beside")
      options.on_gpus.beside = integer();
    else if (word == "--threads")
      options.on_gpus.threads = integer();
    else if (word == "--graph")
      options.graph = true;
    else if (word == "--copy")
      options.copy = driver_integer(word, value());
    else if (word == "--patience")
      options.on_gpus.patience = integer();
#elif !defined(CHORALE_NCCL)
    else if (word == "--patience")
      options.patience = std::chrono::seconds(driver_integer(word, value()));
#endif
    else if (const std::size_t at = word.find('='); at != word.npos)
      options.sizes[word.substr(0, at)] = driver_integer(word.substr(0, at), word.substr(at + 1));
    else
      throw std::invalid_argument(
          word + " is not an option: [SIZE=VALUE ...] [--runs N] [--seed N] [--in FOLDER] [--out FOLDER]");
  }
  typename Workload::Sizes sizes;
  for (const auto& given : options.sizes) {
    bool known = false;
    Workload::sizes(sizes,
                    [&](const std::string& each, std::int64_t&) { known = known || each == given.first; });
    require(known, given.first + " is not a size of " + Workload::kName);
  }
  return options;
}

}  // namespace chorale
