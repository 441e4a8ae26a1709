// All ranks of the algorithm in algorithm.h on one GPU, or, compiled as plain C++, on threads of a CPU: fills
// inputs, runs the kernel, checks every element, replays it as a CUDA graph with other inputs, and prints
// times with the columns of nccl-tests, beside a copy of as many bytes on the device.
//
// The element type is float; -DELEMENT=chorale::Float16 (Bfloat16, double, std::int32_t, ...) takes another
// one, -DREDUCTION=Max (Min, Prod) another operation, -DWIDEN adds 16-bit floats as float32, -DIN_PLACE has
// input and output in one memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "algorithm.h"
#include "measure.h"
#include "options.h"
#include "values.h"
#if defined(__CUDACC__) || defined(CHORALE_GPU)
#include "virtual_gpu.h"
#else
#include "virtual_cpu.h"
#endif

namespace {

using T = ELEMENT;
#ifdef WIDEN
using W = float;
#else
using W = T;
#endif
constexpr chorale::Combination kReduction = chorale::Combination::REDUCTION;
constexpr bool kWidened = !std::is_same_v<T, W>;
using Virtual = Device<chorale::SharedMemory<T, W, algorithm::Function>, chorale::Always<kReduction>>;

// The algorithm on such a device, for messages up to a given size.
class Machine {
 public:
  Machine(Virtual& device, const Options& options, long most)
      : device_(device), options_(options), most_(most) {
    launch_.tables = tables_by([&]<typename Row>(const Row* rows, std::size_t count) {
      Row* const there = device.allocate<Row>(static_cast<long>(count));
      device.upload(there, rows, static_cast<long>(count));
      return there;
    });
    launch_.shape = shape_for<T, W>(options, most);
    const long pitch = chorale::scratch_pitch<W>(launch_.tables, launch_.shape);
    std::vector<W*> works, scratches;
    std::vector<std::uint64_t*> counters;
    for (int n = 0; n < algorithm::kRanks; ++n) {
      const chorale::PeerRankRow& rank = algorithm::kRankRows[n];
      inputs_.push_back(device.allocate<T>(begin(most, rank.input_chunks)));
      outputs_.push_back(device.allocate<T>(begin(most, rank.output_chunks)));
      works.push_back(kWidened ? device.allocate<W>(begin(most, rank.output_chunks))
                               : reinterpret_cast<W*>(outputs_.back()));
      scratches.push_back(
          device.allocate<W>(pitch * rank.scratch_chunks * (algorithm::kDoubleScratch ? 2 : 1)));
      counters.push_back(device.allocate<std::uint64_t>(static_cast<long>(rank.counters) * options.slices));
    }
    launch_.memory = {.inputs = on_device(inputs_),
                      .outputs = on_device(outputs_),
                      .works = on_device(works),
                      .scratches = on_device(scratches),
                      .all_counters = on_device(counters),
                      .launches = device.allocate<std::uint64_t>(
                          static_cast<long>(std::size(algorithm::kBlockRows)) * options.slices)};
    for (int n = 0; n < algorithm::kRanks; ++n)
      for (int k = 0; k < algorithm::Function::kOperands; ++k)
        tensors_.push_back(device.allocate<char>(static_cast<long>(tensor(k, n, most).size())));
    launch_.memory.epilogue.tensors = reinterpret_cast<const void* const*>(on_device(tensors_));
    launch_.memory.epilogue.operands = algorithm::Function::kOperands;
    trouble_ = device.allocate<chorale::Trouble>(1);
    launch_.patience = {.nanoseconds = static_cast<std::uint64_t>(options.patience * 1e9),
                        .trouble = trouble_};
  }

  void prepare(long elements, unsigned seed) {
    launch_.shape.elements = elements;
    for (int n = 0; n < algorithm::kRanks; ++n) {
      RankValues<T> values(n, elements);
      values.put_inputs(expected_, seed);
      device_.upload(inputs_[n], values.input().data(), static_cast<long>(values.input().size()));
      device_.upload(outputs_[n], values.output().data(), static_cast<long>(values.output().size()));
      for (int k = 0; k < algorithm::Function::kOperands; ++k) {
        const std::vector<char> bytes = tensor(k, n, elements);
        device_.upload(tensors_[static_cast<std::size_t>(n * algorithm::Function::kOperands + k)],
                       bytes.data(), static_cast<long>(bytes.size()));
      }
    }
  }

  void run() {
    device_.launch(launch_, options_.threads, kWidened);
    device_.wait();
    end_if_stuck();
  }
  double replay(int warm_up, int times) {
    const double us = device_.replay(launch_, options_.threads, kWidened, warm_up, times);
    end_if_stuck();
    return us;
  }

  long wrong(unsigned seed) {
    long wrong = 0;
    std::vector<std::uint64_t> hashes;
    for (int n = 0; n < algorithm::kRanks; ++n) {
      RankValues<T> values(n, launch_.shape.elements);
      device_.download(values.input().data(), inputs_[n], static_cast<long>(values.input().size()));
      device_.download(values.output().data(), outputs_[n], static_cast<long>(values.output().size()));
      values.add_hashes(expected_, hashes);
      wrong += values.wrong(expected_, seed);
    }
    return seed == chorale::kRounding ? expected_.disagreements(hashes) : wrong;
  }

  // Of as many bytes as all ranks have in their largest buffers.
  double copy(long elements, int times) {
    const std::size_t all = algorithm::kRanks * most_elements(elements) * sizeof(T);
    if (room_ == nullptr)
      room_ =
          device_.allocate<char>(2 * algorithm::kRanks * most_elements(most_) * static_cast<long>(sizeof(T)));
    return device_.copy(room_ + all, room_, all, times);
  }

 private:
  template <typename V>
  V** on_device(const std::vector<V*>& pointers) {
    V** const there = device_.allocate<V*>(static_cast<long>(pointers.size()));
    device_.upload(there, pointers.data(), static_cast<long>(pointers.size()));
    return there;
  }

  void end_if_stuck() {
    chorale::Trouble trouble;
    device_.download(&trouble, trouble_, 1);
    if (complain(trouble, options_.patience)) std::exit(3);
  }

  Virtual& device_;
  const Options options_;
  const long most_;
  const Expected<kReduction> expected_;
  Virtual::Launch launch_ = {};
  std::vector<T*> inputs_ = {}, outputs_ = {};
  std::vector<char*> tensors_ = {};  // by rank, then operand
  chorale::Trouble* trouble_ = nullptr;
  char* room_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  Virtual device;
  device.fit(options);
  Machine machine(device, options, block_elements<T>(std::max(options.from, options.to)));
  std::printf("# %s\n# %d virtual ranks on %s, %d slice%s of %d threads; copy: %d x size on the device\n",
              algorithm::kName, algorithm::kRanks, device.name().c_str(), options.slices,
              options.slices == 1 ? "" : "s", options.threads, algorithm::kRanks);
  const long wrong = measure_sizes<T>(machine, options, true);
  if (wrong > 0) std::fprintf(stderr, "%ld wrong elements\n", wrong);
  return wrong == 0 ? 0 : 1;
}
