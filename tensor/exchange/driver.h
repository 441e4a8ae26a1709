// The main program around an emitted workload: fills tensors, runs, writes what comes out, checks that
// replicas agree, and takes the time.
//
//   NAME [SIZE=VALUE ...] [--runs 5] [--seed 1] [--in FOLDER] [--out FOLDER] [--patience SECONDS]
//        with -DCHORALE_CUDA also
//        [--gpus 1] [--channels BLOCKS] [--beside BLOCKS] [--threads THREADS]
//        [--graph] [--copy BYTES]: runs replay a recorded graph; a copy on a GPU is timed beside them
//
// A wait of a rank for another one that is longer than --patience ends the program, which names both and the
// step; 0: there is no limit. It is 60 with -DCHORALE_CUDA and 0 otherwise; with -DCHORALE_NCCL there is
// none.
//
// In and out, FOLDER/TENSOR.RANK has the elements that the rank has, one after the other. Without --in,
// tensors are filled with small multiples of 1/8, of the index in the whole tensor, so that it does not
// matter how they are laid out; a run before that has numbers whose sums are rounded, so that replicas are
// equal only if they are made in one order. With -DCHORALE_MPI ranks are processes of MPI, with
// -DCHORALE_CUDA they are on one GPU or dealt over several, with -DCHORALE_NCCL they have one each, else they
// are threads. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/fnv.h"
#include "tensor/exchange/device.h"

// The transport, by how the program is compiled.
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

inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
// -2, -1.875, .. 2.
template <typename T>
T driver_value(const char* name, int rank, std::int64_t index) {
  const std::uint64_t number = mixed(fnv_of(name) + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(index) +
                                     0x632be59bd9b4e019u * static_cast<std::uint64_t>(rank));
  const int eighths = static_cast<int>(number % 33) - 16;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(eighths);
  else
    return T(static_cast<float>(eighths) / 8);
}
// Between 1/16 and 4, with all bits of the mantissa; integers are as above.
template <typename T>
T rounding_driver_value(const char* name, int rank, std::int64_t index) {
  if constexpr (std::is_integral_v<T>) return driver_value<T>(name, rank, index);
  const std::uint64_t number = mixed(~fnv_of(name) + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(index) +
                                     0x632be59bd9b4e019u * static_cast<std::uint64_t>(rank));
  const double value =
      std::ldexp(1 + static_cast<double>(number >> 12) * 0x1p-52, static_cast<int>(number % 6) - 4);
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value);
  else
    return T(static_cast<float>(value));
}

template <typename T>
double driver_number(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

// One rank's tensors.
template <typename Workload, typename Transport>
class Driver {
 public:
  Driver(Transport& transport, const DriverOptions& options) : transport_(transport), options_(options) {
    Workload::sizes(sizes_, [&](const char* name, std::int64_t& value) {
      if (const auto it = options.sizes.find(name); it != options.sizes.end()) value = it->second;
    });
  }

  // The number of results that differ but should be equal.
  int run() {
    const int rank = transport_.rank();
    typename Workload::template Program<Transport> program(transport_, sizes_);
    tensors_.seed = options_.seed;
    int wrong = 0;
    const auto checked_run = [&] {
      make_all();
      program.run(tensors_);
      transport_.device().finish();
    };
    const auto check = [&] {
      Workload::tensors(tensors_, sizes_, rank,
                        [&](const DriverTensor& tensor, auto& member, const Share& part) {
                          if (tensor.is_result) wrong += finished(tensor, member, part) ? 0 : 1;
                        });
    };
    rounding_ = options_.in.empty();
    if (rounding_) checked_run(), check();
    rounding_ = false;
    checked_run();
    const auto step = prepared_step(program);
    check();
    double best = 1e30;
    for (int i = 0; i < options_.runs; ++i) {
      transport_.barrier();
      const auto start = std::chrono::steady_clock::now();
      step();
      transport_.device().finish();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      double longest = 0;
      for (const double each : transport_.all(took.count())) longest = std::max(longest, each);
      best = std::min(best, longest);
    }
    if (rank == 0 && options_.runs > 0)
      std::printf("%s: %d rank%s, best of %d: %.1f us\n", Workload::kName, Workload::kRanks,
                  Workload::kRanks == 1 ? "" : "s", options_.runs, 1e6 * best);
#ifdef CHORALE_CUDA
    transport_.barrier();
    if (rank == 0 && options_.copy > 0) time_copy();
    transport_.barrier();
#endif
    return wrong;
  }

 private:
  void make_all() {
    memory_.clear();
    Workload::tensors(
        tensors_, sizes_, transport_.rank(),
        [&](const DriverTensor& tensor, auto& member, const Share& part) { make(tensor, member, part); });
  }

  // The work of runs after the first one. A graph repeats the first one, on the same tensors.
  std::function<void()> prepared_step(typename Workload::template Program<Transport>& program) {
#ifdef CHORALE_CUDA
    if (options_.graph) {
      transport_.barrier();
      make_all();
      transport_.record([&] { program.run(tensors_); });
      transport_.replay();
      transport_.device().finish();
      return [this] { transport_.replay(); };
    }
#endif
    return [this, &program] { program.run(tensors_); };
  }
#ifdef CHORALE_CUDA
  // Copies that many bytes from one buffer of the GPU to another: each is read and written.
  void time_copy() {
    GpuDevice& device = transport_.device();
    const auto from = device.template memory<char>(options_.copy),
               to = device.template memory<char>(options_.copy);
    double best = 1e30;
    for (int i = 0; i < options_.runs + 1; ++i) {
      device.finish();
      const auto start = std::chrono::steady_clock::now();
      device.copy(to.get(), from.get(), options_.copy);
      device.finish();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (i > 0) best = std::min(best, took.count());
    }
    std::printf("copy of %lld bytes, best of %d: %.1f us\n", static_cast<long long>(options_.copy),
                options_.runs, 1e6 * best);
  }
#endif

  std::string file(const std::string& folder, const DriverTensor& tensor) const {
    return folder + "/" + tensor.name + "." + std::to_string(transport_.rank());
  }

  // Memory of the device with these values.
  template <typename T>
  T* placed(const T* values, std::int64_t count) {
    auto memory = transport_.device().template memory<T>(count);
    T* const at = memory.get();
    transport_.device().upload(at, values, static_cast<std::size_t>(count) * sizeof(T));
    memory_.push_back(std::make_shared<decltype(memory)>(std::move(memory)));
    return at;
  }
  template <typename T>
  std::vector<T> first_values(const DriverTensor& tensor, const Share& part) {
    std::vector<T> values(static_cast<std::size_t>(part.elements()));
    if (tensor.is_input) fill(tensor, values.data(), part);
    return values;
  }
  template <typename T>
  void make(const DriverTensor& tensor, T*& member, const Share& part) {
    using Value = std::remove_const_t<T>;
    member = placed(first_values<Value>(tensor, part).data(), part.elements());
  }
  // In tensors of 1, 1500, 7 and 2100 elements, and so on.
  template <typename T>
  void make(const DriverTensor& tensor, Scattered<T>& member, const Share& part) {
    const std::vector<T> values = first_values<T>(tensor, part);
    std::vector<std::pair<const T*, std::int64_t>> list;
    static constexpr std::int64_t kLengths[] = {1, 1500, 7, 2100};
    for (std::int64_t i = 0; i < part.elements(); i += list.back().second) {
      const std::int64_t count = std::min(kLengths[list.size() % 4], part.elements() - i);
      list.push_back({placed(values.data() + i, count), count});
    }
    member = Scattered<T>(list);
  }
  template <typename T, typename = std::enable_if_t<!std::is_pointer_v<T>>>
  void make(const DriverTensor& tensor, T& member, const Share& part) {
    fill(tensor, &member, part);
  }
  template <typename T>
  void fill(const DriverTensor& tensor, T* values, const Share& part) {
    if (!options_.in.empty()) {
      std::ifstream stream(file(options_.in, tensor), std::ios::binary);
      const auto bytes = static_cast<std::streamsize>(part.elements() * static_cast<std::int64_t>(sizeof(T)));
      stream.read(reinterpret_cast<char*>(values), bytes);
      require(stream.good() && stream.gcount() == bytes, file(options_.in, tensor) + " cannot be read");
      require(stream.peek() == std::ifstream::traits_type::eof(),
              file(options_.in, tensor) + " is longer than the " + std::to_string(bytes) +
                  " bytes of the tensor");
      return;
    }
    for (std::int64_t i = 0; i < part.elements(); ++i)
      values[i] =
          (rounding_ ? rounding_driver_value<T>
                     : driver_value<T>)(tensor.name, tensor.is_local ? transport_.rank() : 0, part.index(i));
  }

  template <typename T>
  std::vector<T> found(const T* at, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    transport_.device().download(values.data(), at, values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  bool finished(const DriverTensor& tensor, T* at, const Share& part) {
    return is_right(tensor, found<std::remove_const_t<T>>(at, part.elements()).data(), part);
  }
  template <typename T>
  bool is_right(const DriverTensor& tensor, const T* values, const Share& part) {
    if (!options_.out.empty() && !rounding_) {
      std::ofstream stream(file(options_.out, tensor), std::ios::binary);
      stream.write(reinterpret_cast<const char*>(values),
                   static_cast<std::streamsize>(part.elements() * static_cast<std::int64_t>(sizeof(T))));
      require(stream.good(), file(options_.out, tensor) + " cannot be written");
    }
    // A sum over all elements of hashes of index and value, which is the same for every layout; and, for runs
    // that added in another order, the sum of elements with weights between -1 and 1, and of their absolute
    // values. Made-up inputs can lead to NaN (roots of negative numbers), which counts as 1.
    std::uint64_t sum = 0;
    double weighted = 0, absolute = 0;
    for (std::int64_t i = 0; i < part.elements(); ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, values + i, sizeof(T));
      const std::uint64_t place = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(part.index(i));
      const double number = driver_number(values[i]), value = std::isfinite(number) ? number : 1;
      if (rounding_ && std::isnan(number)) bits = 0;  // the compiler chooses which of two NaNs their sum is
      sum += mixed(bits + place);
      weighted += value * (static_cast<double>(mixed(place) >> 11) * 0x1p-52 - 1);
      absolute += std::abs(value);
    }
    const std::int64_t whole = product(part.whole());
    const std::vector<double> low = transport_.all(static_cast<double>(sum & 0xffffffu)),
                              elements = transport_.all(static_cast<double>(part.elements())),
                              weighted_of = transport_.all(weighted), absolute_of = transport_.all(absolute);
    bool same = true;
    std::uint64_t total = 0;
    weighted = absolute = 0;
    for (std::size_t r = 0; r < low.size(); ++r) {
      const std::size_t first =
          r / static_cast<std::size_t>(tensor.scope_ranks) * static_cast<std::size_t>(tensor.scope_ranks);
      const bool replica = !tensor.is_local && r != first && elements[r] == static_cast<double>(whole) &&
                           elements[first] == elements[r];
      if (replica) {
        same = same && low[r] == low[first];
        continue;
      }
      total += static_cast<std::uint64_t>(low[r]);
      weighted += weighted_of[r];
      absolute += absolute_of[r];
    }
    if (rounding_) {
      if (transport_.rank() == 0 && !same)
        std::printf("%s: where sums are rounded, replicas differ\n", tensor.name);
      return same;
    }
    if (transport_.rank() == 0)
      std::printf("%s: %06llx%s\n%s is about %.9g of %.9g\n", tensor.name,
                  static_cast<unsigned long long>(total & 0xffffffu), same ? "" : ", and replicas differ",
                  tensor.name, weighted, absolute);
    return same;
  }
  template <typename T>
  bool finished(const DriverTensor& tensor, Scattered<T>& member, const Share& part) {
    std::vector<T> values;
    for (const Interval<T>& each : member.tensors())
      for (const T& value : found<T>(each.at, each.count)) values.push_back(value);
    return is_right(tensor, values.data(), part);
  }
  template <typename T, typename = std::enable_if_t<!std::is_pointer_v<T>>>
  bool finished(const DriverTensor&, T&, const Share&) {
    return true;
  }

  Transport& transport_;
  const DriverOptions& options_;
  typename Workload::Sizes sizes_ = {};
  typename Workload::Tensors tensors_ = {};
  std::vector<std::shared_ptr<void>> memory_ = {};
  bool rounding_ = false;
};

template <typename Workload>
int workload_main(int argc, char** argv) {
  int code = 0;
#ifdef CHORALE_MPI
  MPI_Init(&argc, &argv);
  try {
    const DriverOptions options = driver_options<Workload>(argc, argv);
    MpiTransport transport(MPI_COMM_WORLD, options.patience);
    code = Driver<Workload, MpiTransport>(transport, options).run() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
#else
  try {
    const DriverOptions options = driver_options<Workload>(argc, argv);
    std::mutex mutex;
    const auto each = [&](auto& transport) {
      const int wrong = Driver<Workload, std::decay_t<decltype(transport)>>(transport, options).run();
      const std::lock_guard<std::mutex> lock(mutex);
      if (wrong != 0) code = 1;
    };
#ifdef CHORALE_CUDA
    on_cuda_ranks<Workload::kRanks>(options.on_gpus, each);
#elif defined(CHORALE_NCCL)
    on_nccl_ranks(Workload::kRanks, each);
#else
    on_thread_ranks(Workload::kRanks, each, options.patience);
#endif
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
#endif
  return code;
}

}  // namespace chorale
