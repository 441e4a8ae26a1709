// Peer programs on one GPU that has the memory of all ranks: the same kernel, rows and check as on CPU
// threads, with the buffers of runtime/peer_machine.h as the host's side. Inputs are written and outputs read
// between launches, untimed; a time is that of the kernels on the device, between two events.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "ir/error.h"
#include "runtime/exchange/gpu_memory.h"
#include "runtime/gpu/peer_launch.h"
#include "runtime/gpu_run.h"
#include "runtime/peer_machine.h"
#include "runtime/rows.h"

namespace chorale {
namespace {

constexpr int kThreads = 512, kMostSlices = 32;

void require(cudaError_t code, const char* what) {
  if (code != cudaSuccess)
    throw InputError("gpu", fmt::format("{}: {}", what, cudaGetErrorString(code)),
                     "see nvidia-smi, or use --transport kernel");
}

// An array on the device.
template <typename T>
class DeviceArray {
 public:
  // All zero.
  explicit DeviceArray(std::size_t count) : bytes_(count * sizeof(T)) {
    T* memory = nullptr;
    require(cudaMalloc(&memory, std::max<std::size_t>(bytes_, 1)), "cudaMalloc");
    memory_.reset(memory);
    require(cudaMemset(memory, 0, bytes_), "cudaMemset");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { upload(values.data()); }

  T* get() const { return memory_.get(); }
  void upload(const T* from) { copy(get(), from, cudaMemcpyHostToDevice); }
  void download(T* to) const { copy(to, get(), cudaMemcpyDeviceToHost); }

 private:
  void copy(void* to, const void* from, cudaMemcpyKind kind) const {
    if (bytes_ > 0) require(cudaMemcpy(to, from, bytes_, kind), "cudaMemcpy");
  }

  std::size_t bytes_;
  GpuMemory<T> memory_ = {};
};

// Events lie in the stream around the kernels: a time has no work of the host in it.
class Stream {
 public:
  Stream() {
    require(cudaStreamCreate(&stream), "cudaStreamCreate");
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
  }
  ~Stream() {
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaStreamDestroy(stream);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr, stop = nullptr;
};

// Before anything is made on a device: the message then names what to use instead.
void require_gpu() {
  int devices = 0;
  require(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices == 0) throw InputError("gpu", "no GPU here", "use --transport kernel");
}

// As many slices as can all be resident, since slices of different blocks wait for each other: residents /
// blocks.
PeerRunOptions fitting(const PeerProgram& program, const PeerKernelChoice& choice) {
  int resident = 0;
  require(resident_blocks(choice, kThreads, &resident), "the kernel");
  std::size_t blocks = 0;
  for (const PeerRank& rank : program.ranks) blocks += rank.blocks.size();
  const int slices = std::min(kMostSlices, resident / static_cast<int>(std::max<std::size_t>(blocks, 1)));
  if (slices < 1)
    throw InputError(
        program.name,
        fmt::format("has {} blocks that wait for each other, the GPU has room for {}", blocks, resident),
        "use --transport kernel");
  return {.slices = slices};
}

// With the interface that runtime/rows.h requires.
class GpuMachine : public PeerMachine {
 public:
  GpuMachine(const PeerProgram& program, const BlockShape& shape, const PeerKernelChoice& choice, ReduceOp op,
             bool average, std::chrono::milliseconds timeout)
      : PeerMachine(program, shape, fitting(program, choice)),
        choice_(choice),
        op_(op),
        average_(average),
        timeout_(timeout),
        rows_(table_.rows),
        places_(table_.places),
        blocks_(table_.blocks),
        rank_rows_(table_.ranks),
        teams_(table_.teams),
        members_(table_.members),
        expression_(epilogue_.expression()),
        operands_(epilogue_.operands()),
        launches_(table_.blocks.size() * options_.slices),
        trouble_(1) {
    const std::size_t kept = choice.wide ? sizeof(float) : size_of(shape.type);
    // The kernel's own rule, of which only the size of an element matters.
    const std::int64_t pitch = choice.wide              ? scratch_pitch<float>(tables_, shape_)
                               : kept == sizeof(double) ? scratch_pitch<double>(tables_, shape_)
                               : kept == sizeof(float)  ? scratch_pitch<float>(tables_, shape_)
                               : kept == 2              ? scratch_pitch<std::uint16_t>(tables_, shape_)
                                                        : scratch_pitch<std::uint8_t>(tables_, shape_);
    // By rank; uploaded as tables when all memory is there. Sums are kept in the output unless they are wide.
    std::vector<void*> inputs, outputs, works, scratches;
    std::vector<std::uint64_t*> counters;
    const auto bytes = [this](std::size_t count) {
      memory_.emplace_back(count);
      return static_cast<void*>(memory_.back().get());
    };
    for (Rank n = 0; n < ranks(); ++n) {
      const PeerRankRow& rank = table_.ranks[n];
      device_input_.emplace_back(input_[n].size());
      device_output_.emplace_back(output_[n].size());
      counters_.emplace_back(static_cast<std::size_t>(rank.counters) * options_.slices);
      inputs.push_back(device_input_.back().get());
      outputs.push_back(device_output_.back().get());
      works.push_back(choice.wide ? bytes(begin(rank.output_chunks) * sizeof(float)) : outputs.back());
      // Twice the scratch where launches alternate between two halves of it.
      scratches.push_back(bytes(pitch * rank.scratch_chunks * (program.double_scratch ? 2 : 1) * kept));
      counters.push_back(counters_.back().get());
    }
    for (const auto* pointers : {&inputs, &outputs, &works, &scratches}) pointers_.emplace_back(*pointers);
    counter_pointers_ = std::make_unique<DeviceArray<std::uint64_t*>>(counters);
    tables_.rows = rows_.get();
    tables_.places = places_.get();
    tables_.blocks = blocks_.get();
    tables_.ranks = rank_rows_.get();
    tables_.teams = teams_.get();
    tables_.members = members_.get();
    std::vector<void*> tensors;
    for (const std::vector<char>& tensor : epilogue_.tensor_bytes()) {
      tensor_memory_.emplace_back(tensor);
      tensors.push_back(tensor_memory_.back().get());
    }
    pointers_.emplace_back(tensors);
  }

  // Outputs are uploaded, too: what before() has spoilt has to be spoilt on the device.
  std::vector<double> run(int times, const std::function<void(int)>& before) {
    std::vector<double> took;
    for (int i = 0; i < times; ++i) {
      before(i);
      for (Rank n = 0; n < ranks(); ++n) {
        device_input_[n].upload(input_[n].data());
        device_output_[n].upload(output_[n].data());
      }
      took.push_back(launch());
      for (Rank n = 0; n < ranks(); ++n) {
        device_input_[n].download(input_[n].data());
        device_output_[n].download(output_[n].data());
      }
    }
    return took;
  }

 private:
  // Microseconds. One launch has the blocks of all ranks, since they wait for each other. Trouble that a
  // block has met is read when the kernel has ended, and thrown as a Hang.
  double launch() {
    // Addresses by rank lie on the device, too; pointers_ has them in the order of its comment below.
    const PeerPointers pointers = {
        .inputs = pointers_[0].get(),
        .outputs = pointers_[1].get(),
        .works = pointers_[2].get(),
        .scratches = pointers_[3].get(),
        .counters = counter_pointers_->get(),
        .launches = launches_.get(),
        .epilogue = {{expression_.get(), static_cast<int>(epilogue_.expression().size()), operands_.get()},
                     pointers_[4].get(),
                     static_cast<int>(epilogue_.operands().size())}};
    const Patience patience = {
        .nanoseconds = static_cast<std::uint64_t>(std::chrono::nanoseconds(timeout_).count()),
        .trouble = trouble_.get()};
    require(cudaEventRecord(stream_.start, stream_.stream), "cudaEventRecord");
    require(launch_peers(choice_, {tables_, shape_, pointers, patience, op_, average_,
                                   static_cast<int>(table_.blocks.size()), kThreads, stream_.stream}),
            "the kernel");
    require(cudaEventRecord(stream_.stop, stream_.stream), "cudaEventRecord");
    require(cudaStreamSynchronize(stream_.stream), "the kernel");
    Trouble trouble;
    trouble_.download(&trouble);
    require_no_trouble(trouble, timeout_);
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, stream_.start, stream_.stop), "cudaEventElapsedTime");
    return milliseconds * 1e3;
  }

  const PeerKernelChoice choice_;
  const ReduceOp op_;
  const bool average_;
  const std::chrono::milliseconds timeout_;
  // On the device: the program, what is kept from launch to launch, and memory by rank. Counters and launches
  // have to begin at zero, which a DeviceArray does.
  const DeviceArray<PeerRow> rows_;
  const DeviceArray<PeerPlaceRow> places_;
  const DeviceArray<PeerBlockRow> blocks_;
  const DeviceArray<PeerRankRow> rank_rows_;
  const DeviceArray<PeerTeamRow> teams_;
  const DeviceArray<int> members_;
  const DeviceArray<ExpressionNode> expression_;
  const DeviceArray<OperandRow> operands_;
  const DeviceArray<std::uint64_t> launches_;
  const DeviceArray<Trouble> trouble_;
  std::vector<DeviceArray<std::byte>> device_input_ = {}, device_output_ = {};  // by rank
  std::vector<DeviceArray<std::byte>> memory_ = {};                             // works and scratches
  std::vector<DeviceArray<std::uint64_t>> counters_ = {};
  std::vector<DeviceArray<char>> tensor_memory_ = {};  // by rank, then operand
  std::vector<DeviceArray<void*>> pointers_ = {};      // inputs, outputs, works, scratches, tensors
  std::unique_ptr<DeviceArray<std::uint64_t*>> counter_pointers_ = {};
  Stream stream_ = {};
};

}  // namespace

// A machine for each row: the kernel, its slices and all memory depend on type, size and operation.
std::vector<RunRow> run_peers_on_gpu(const Verified<PeerProgram>& verified, const RunOptions& options) {
  const PeerProgram& program = *verified;
  const Collective& collective = verified.collective();
  check(options);
  check(program, {}, options.accumulation);
  require_gpu();
  return for_all_rows(options, [&](const BlockShape& shape, ReduceOp op) {
    const bool wide = shape.accumulation == Accumulation::Float32 && is_short_type(shape.type);
    GpuMachine machine(program, shape, {.type = shape.type, .wide = wide}, op,
                       op == ReduceOp::Avg && adds_up(program), options.timeout);
    return run_row_of_all(machine, collective, shape, op, options, machine.reference());
  });
}

}  // namespace chorale
