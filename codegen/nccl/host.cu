namespace {

using chorale::Failure;
using chorale::Form;

// A form with the ranks of a failure.
struct Ready {
  Ready(const Form& form, const Failure& failure)
      : steps(form.tables, failure.ranks), algorithm(steps.tables(), kInputShift, chorale::linked_nccl()) {}
  chorale::RenumberedSteps steps;
  chorale::NcclAlgorithm algorithm;
};
Ready& ready(const Form& form, const Failure& failure) {
  static std::mutex mutex;
  static std::map<std::pair<const Form*, const Failure*>, Ready> all;
  const std::lock_guard<std::mutex> lock(mutex);
  return all.try_emplace({&form, &failure}, form, failure).first->second;
}

chorale::NcclFailure& failure_of(ncclComm_t comm) {
  static std::mutex mutex;
  static std::map<ncclComm_t, chorale::NcclFailure> all;
  const std::lock_guard<std::mutex> lock(mutex);
  return all[comm];
}

chorale::FailureFile& failure_file() {
  static chorale::FailureFile file(chorale::variable("CHORALE_FAILED"),
                                   chorale::variable("CHORALE_FAILED_SIGNAL"));
  return file;
}

std::string& last_error() {
  thread_local std::string text;
  return text;
}

constexpr bool kPacks = !std::is_same_v<chorale::StepUnit, float>;

double block_bytes(ncclDataType_t type, std::int64_t n) {
  const std::int64_t units = type == ncclFloat32 ? chorale::units_of<chorale::StepUnit>(n) : n;
  return static_cast<double>(units) * static_cast<double>(chorale::size_of(type));
}

// Of blocks of `length` floats, one after the other.
template <typename T>
__global__ void pack_blocks(const float* numbers, std::int64_t blocks, std::int64_t length, T* units) {
  const std::int64_t each = chorale::units_of<T>(length);
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < blocks * each;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
    units[i] = chorale::packed<T>(numbers + i / each * length, length, i % each);
}
template <typename T>
__global__ void unpack_blocks(const T* units, std::int64_t blocks, std::int64_t length, float* numbers, int divisor) {
  const std::int64_t each = chorale::units_of<T>(length);
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < blocks * each;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t u = i % each, first = u * chorale::UnitOf<T>::kValues;
    float* const block = numbers + i / each * length;
    chorale::unpack(units[i], block, length, u);
    for (std::int64_t e = first; divisor > 1 && e < first + chorale::UnitOf<T>::kValues && e < length; ++e)
      block[e] = chorale::averaged(block[e], divisor);
  }
}

// Floats that travel as something else: packed before in memory of the stream, and unpacked after.
ncclResult_t run_packed(Ready& ready, chorale::NcclRun run, std::int64_t n, std::chrono::milliseconds limit) {
  using Unit = chorale::StepUnit;
  const chorale::StepTables& tables = ready.steps.tables();
  const std::int64_t inputs = tables.slots[run.rank][0] / tables.pieces, outputs = tables.slots[run.rank][1] / tables.pieces,
                     units = chorale::units_of<Unit>(n);
  chorale::StreamMemory memory(run.stream);
  const auto failed = [](cudaError_t code) {
    last_error() = std::string("packing floats: ") + cudaGetErrorString(code);
    return ncclUnhandledCudaError;
  };
  const std::int64_t apart = (inputs * units * static_cast<std::int64_t>(sizeof(Unit)) + 255) / 256 * 256;
  if (const cudaError_t code = memory.allocate(apart + outputs * units * sizeof(Unit) + 1); code != cudaSuccess)
    return failed(code);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(std::min<std::int64_t>(std::max(inputs, outputs) * units / 256 + 1, 1024)));
  config.blockDim = dim3(256);
  config.stream = run.stream;
  const float* const from = static_cast<const float*>(run.input);
  float* const to = static_cast<float*>(run.output);
  Unit *const input = reinterpret_cast<Unit*>(memory.data()), *const output = reinterpret_cast<Unit*>(memory.data() + apart);
  if (const cudaError_t code = cudaLaunchKernelEx(&config, pack_blocks<Unit>, from, inputs, n, input); code != cudaSuccess)
    return failed(code);
  const int divisor = run.op == ncclAvg ? tables.ranks : 1;
  run.input = input, run.output = output, run.op = run.op == ncclAvg ? ncclSum : run.op;
  if (const ncclResult_t code = ready.algorithm.run(run, units, limit, last_error()); code != ncclSuccess) return code;
  const cudaError_t code =
      cudaLaunchKernelEx(&config, unpack_blocks<Unit>, static_cast<const Unit*>(output), outputs, n, to, divisor);
  return code == cudaSuccess ? ncclSuccess : failed(code);
}

// The tensors are those of the function that is applied to sums, this rank's, on its device. With a time
// limit, waits for each step. The current device must be the communicator's.
ncclResult_t run(const void* send, void* recv, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                 cudaStream_t stream, const void* const* tensors,
                 std::chrono::milliseconds limit = std::chrono::milliseconds(0)) {
  int ranks = 0;
  chorale::NcclRun run;
  if (ncclCommCount(comm, &ranks) != ncclSuccess || ncclCommUserRank(comm, &run.rank) != ncclSuccess)
    return ncclInvalidArgument;
  chorale::NcclFailure& named = failure_of(comm);
  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  if (failure_file().given() && cudaStreamIsCapturing(stream, &captured) == cudaSuccess &&
      captured == cudaStreamCaptureStatusNone) {
    const chorale::FailureName first = run.rank == 0 ? failure_file().name() : chorale::FailureName{};
    const ncclResult_t learnt = named.learn(chorale::linked_nccl(), comm, stream, run.rank, ranks, first);
    if (learnt != ncclSuccess) return learnt;
  }
  const Failure* const failure = chorale::failure_named(kFailures, named.name.data());
  if (failure == nullptr) {
    last_error() = chorale::not_ready_for(kFailures, named.name.data());
    return ncclInvalidArgument;
  }
  const Form& form = chorale::form_of(block_bytes(type, static_cast<std::int64_t>(count)), failure->forms);
  if (ranks != form.tables.ranks || type > ncclBfloat16 || (kPacks && type != ncclFloat32) || op > ncclAvg) {
    last_error() = "needs " + std::to_string(form.tables.ranks) + " ranks, " + (kPacks ? "float32" : "a type of numbers") + ", and sum, prod, max, min or avg";
    return ncclInvalidArgument;
  }
  run.type = type, run.op = op, run.input = send, run.output = recv, run.comm = comm, run.stream = stream;
  run.tensors = tensors;
  Ready& chosen = ready(form, *failure);
  if (kPacks) return run_packed(chosen, run, static_cast<std::int64_t>(count), limit);
  return chosen.algorithm.run(run, static_cast<std::int64_t>(count), limit, last_error());
}

}  // namespace

// What went wrong last in this thread: rank, step, peer, and why.
extern "C" const char* chorale_last_error() { return last_error().c_str(); }

// What has failed of the machine ("link 0-1"; "": nothing), for the next calls of a communicator: each of its
// ranks calls it, all between the same two. With CHORALE_FAILED=FILE the first rank reads the first line of
// that file at each call and sends it to the others.
extern "C" ncclResult_t chorale_failed(ncclComm_t comm, const char* what) {
  const chorale::FailureName name = chorale::failure_name(what != nullptr ? what : "");
  if (chorale::failure_named(kFailures, name.data()) == nullptr) {
    last_error() = chorale::not_ready_for(kFailures, name.data());
    return ncclInvalidArgument;
  }
  failure_of(comm).name = name;
  return ncclSuccess;
}

@FUNCTION@

#ifndef CHORALE_NO_MAIN
namespace {

void require(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::_Exit(1);
}
void require(ncclResult_t code, const char* what) {
  if (code == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s %s\n", what, ncclGetErrorString(code), chorale_last_error());
  std::_Exit(1);
}

// Those of the function that is applied to sums, as this rank has them.
std::vector<const void*> device_tensors([[maybe_unused]] int rank, [[maybe_unused]] const chorale::StepTables& tables,
                                        [[maybe_unused]] const chorale::Pieces& pieces) {
  std::vector<const void*> tensors;
  if constexpr (chorale::StepFunction::kOperands > 0) {
    long whole = 0;
    const auto* const slots = tables.slots;
    for (int each = 0; each < tables.ranks; ++each) whole = std::max<long>(whole, pieces.slot_begin(slots[each][0]));
    for (int k = 0; k < chorale::StepFunction::kOperands; ++k) {
      const std::vector<char> bytes = chorale::StepFunction::test_tensor(
          k, whole, pieces.slot_begin(tables.slices[rank]), pieces.slot_begin(slots[rank][1]));
      void* memory = nullptr;
      require(cudaMalloc(&memory, bytes.size() + 1), "cudaMalloc");
      require(cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
      tensors.push_back(memory);
    }
  }
  return tensors;
}

// A rank's part of a GPU for all of its runs. Ranks may share the GPU, where their kernels wait for each
// other: what may wait for all work of the GPU is done before the ranks meet, and after the last has
// finished. For the same reason the stream is none that the default stream waits for.
struct OnGpu {
  OnGpu(int rank, const chorale::StepTables& tables, long n, std::size_t element) {
    const chorale::Pieces pieces{n, tables.pieces};
    const long inputs = pieces.slot_begin(tables.slots[rank][0]), outputs = pieces.slot_begin(tables.slots[rank][1]);
    require(cudaMalloc(&memory, (inputs + outputs) * element + 512), "cudaMalloc");
    tensors = device_tensors(rank, tables, pieces);
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
  }
  ~OnGpu() {
    cudaEventDestroy(start), cudaEventDestroy(stop), cudaStreamDestroy(stream);
    for (const void* tensor : tensors) cudaFree(const_cast<void*>(tensor));
    cudaFree(memory);
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

  void* memory = nullptr;  // input and output
  std::vector<const void*> tensors = {};
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr, stop = nullptr;
};

struct Measured {
  long wrong = 0;
  double us = 0;
  std::vector<std::uint64_t> hashes = {};  // of the promised slots
};

// One rank: a run on data whose sums are rounded, a checked run, and a timed loop.
template <typename T>
Measured measure(const Failure& failure, int rank, ncclComm_t comm, const OnGpu& gpu, ncclDataType_t type, long n,
                 int iterations, bool in_place) {
  const Form& form = chorale::form_of(block_bytes(type, n), failure.forms);
  const chorale::StepTables& tables = ready(form, failure).steps.tables();
  const chorale::Pieces pieces{n, tables.pieces};
  const chorale::SelfCheck check = form.check();
  const int slots = tables.slots[rank][0];
  const long inputs = pieces.slot_begin(slots), outputs = pieces.slot_begin(tables.slots[rank][1]);
  std::vector<T> input(inputs), output(outputs);
  T* const base = static_cast<T*>(gpu.memory);
  // a rank may have only one of them
  const long apart = in_place && inputs > 0 && outputs > 0 ? rank * n : 0;
  T* const send = base + (kInputShift > 0 ? apart : 0);
  T* const recv = in_place ? base + (kInputShift < 0 ? apart : 0)
                           : base + (inputs * sizeof(T) + 255) / 256 * 256 / sizeof(T);
  const auto copy = [&](void* to, const void* from, long elements, cudaMemcpyKind kind) {
    require(cudaMemcpyAsync(to, from, elements * sizeof(T), kind, gpu.stream), "cudaMemcpyAsync");
  };
  const auto finish = [&] { require(cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize"); };
  const auto run_once = [&](std::chrono::seconds limit) {
    require(run(send, recv, n, type, ncclSum, comm, gpu.stream, gpu.tensors.data(), limit), form.name);
  };
  const auto run_on = [&](unsigned seed) {
    check.fill(rank, slots, pieces, seed, input.data());
    std::fill(output.begin(), output.end(), static_cast<T>(77.0f));
    copy(recv, output.data(), outputs, cudaMemcpyHostToDevice);
    copy(send, input.data(), inputs, cudaMemcpyHostToDevice);
    run_once(std::chrono::seconds(60));
    copy(output.data(), recv, outputs, cudaMemcpyDeviceToHost);
    finish();
  };
  Measured result;
  run_on(chorale::kRounding);
  result.hashes = check.hashes(rank, pieces, output);
  run_on(1);
  result.wrong = check.wrong(
      rank, pieces, 1, output, chorale::combined<chorale::Combination::Sum, T>, [](T have, T sum, long e) {
        if constexpr (std::is_same_v<T, float>) sum = chorale::travelled<chorale::StepUnit>(sum);
        const T want = chorale::applied(chorale::StepFunction(), sum, e, chorale::TestTensors());
        return chorale::agree(have, want, chorale::StepFunction::kExact);
      });
  require(cudaEventRecord(gpu.start, gpu.stream), "cudaEventRecord");
  for (int i = 0; i < iterations; ++i) run_once(std::chrono::seconds(0));
  require(cudaEventRecord(gpu.stop, gpu.stream), "cudaEventRecord");
  finish();
  float ms = 0;
  require(cudaEventElapsedTime(&ms, gpu.start, gpu.stop), "cudaEventElapsedTime");
  result.us = 1e3 * ms / iterations;
  return result;
}

using Measure = Measured (*)(const Failure&, int, ncclComm_t, const OnGpu&, ncclDataType_t, long, int, bool);
struct Type {
  const char* name;
  ncclDataType_t type;
  std::size_t bytes;
  Measure measure;
};
const Type kTypes[] = {{"float32", ncclFloat32, 4, measure<float>},
                       {"float64", ncclFloat64, 8, measure<double>},
                       {"float16", ncclFloat16, 2, measure<chorale::Float16>},
                       {"bfloat16", ncclBfloat16, 2, measure<chorale::Bfloat16>},
                       {"int8", ncclInt8, 1, measure<std::int8_t>},
                       {"uint8", ncclUint8, 1, measure<std::uint8_t>},
                       {"int32", ncclInt32, 4, measure<std::int32_t>},
                       {"uint32", ncclUint32, 4, measure<std::uint32_t>},
                       {"int64", ncclInt64, 8, measure<std::int64_t>},
                       {"uint64", ncclUint64, 8, measure<std::uint64_t>}};

}  // namespace

int main(int argc, char** argv) {
  const long n = chorale::integer_argument(argc, argv, 1, 1048576);
  const int iterations = static_cast<int>(std::min(chorale::integer_argument(argc, argv, 2, 20), 1l << 30));
  const std::string wanted = argc > 3 ? argv[3] : "float32";
  const Type* type = nullptr;
  for (const Type& each : kTypes)
    if (each.name == wanted && (!kPacks || each.type == ncclFloat32)) type = &each;
  if (n < 0 || iterations < 1 || type == nullptr) {
    std::fprintf(stderr,
                 "usage: %s [elements of a block, 0 or more] [iterations, 1 or more] [type: float32, bfloat16, ...]\n",
                 argv[0]);
    return 2;
  }
  // What had failed when it began; calls follow what fails later.
  const chorale::FailureName name = failure_file().given() ? failure_file().name() : chorale::FailureName{};
  const Failure* const failure = chorale::failure_named(kFailures, name.data());
  if (failure == nullptr) {
    std::fprintf(stderr, "%s\n", chorale::not_ready_for(kFailures, name.data()).c_str());
    return 2;
  }
  const Form& form = chorale::form_of(block_bytes(type->type, n), failure->forms);
  const int ranks = form.tables.ranks;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  if (const std::string too_few = chorale::too_few_gpus(devices, kRanks); !too_few.empty()) {
    std::fprintf(stderr, "%s\n", too_few.c_str());
    return 2;
  }
  ncclUniqueId id;
  require(ncclGetUniqueId(&id), "ncclGetUniqueId");
  long wrong = 0;
  std::vector<Measured> measured[2];
  for (auto& each : measured) each.resize(ranks);
  std::vector<std::unique_ptr<OnGpu>> gpus(ranks);  // the last to be destroyed, when all ranks have finished
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ncclComm_t comm;
      require(cudaSetDevice((failure->lost >= 0 && rank >= failure->lost ? rank + 1 : rank) % devices), "cudaSetDevice");
      gpus[rank] = std::make_unique<OnGpu>(rank, ready(form, *failure).steps.tables(), n, type->bytes);
      require(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
      for (int in_place = 0; in_place <= kInPlace; ++in_place)
        measured[in_place][rank] = type->measure(*failure, rank, comm, *gpus[rank], type->type, n, iterations, in_place != 0);
      require(ncclCommDestroy(comm), "ncclCommDestroy");
    });
  for (std::thread& thread : threads) thread.join();
  const chorale::SelfCheck check = form.check();
  for (int in_place = 0; in_place <= kInPlace; ++in_place) {
    double us = 0;
    long here = 0;
    std::vector<std::uint64_t> hashes(check.promised().size(), 0);
    for (const Measured& each : measured[in_place]) {
      us = std::max(us, each.us), here += each.wrong;
      for (std::size_t k = 0; k < hashes.size(); ++k) hashes[k] |= each.hashes[k];
    }
    const long differ = check.disagreements(hashes);
    std::printf("%s%s%s%s: %ld %s a block, %s, mean of %d: %.1f us, %ld wrong, %ld slots with ranks that differ%s\n",
                failure == kFailures ? "" : "after the failure of ",
                failure->name, failure == kFailures ? "" : ": ", form.name, n, type->name, in_place ? "in place" : "out of place", iterations, us, here, differ,
                kAgreed ? "" : ", as they may");
    wrong += here + (kAgreed ? differ : 0);
  }
  return wrong == 0 ? 0 : 1;
}
#endif
