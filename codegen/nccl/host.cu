namespace {

chorale::NcclAlgorithm& algorithm() {
  static chorale::NcclAlgorithm only(
      chorale::StepTables{kRanks, kSteps, kPieces, kSlots, kMessages, kMessageCount, kWork, kWorkCount, kSlices}, kInputShift,
      chorale::NcclCalls{ncclGroupStart, ncclGroupEnd, ncclSend, ncclRecv, ncclCommGetAsyncError, ncclGetErrorString});
  return only;
}

std::string& last_error() {
  thread_local std::string text;
  return text;
}

// The tensors are those of the function that is applied to sums, this rank's, on its device. With a time limit, waits for each step. The current device must be the communicator's.
ncclResult_t run(const void* send, void* recv, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                 cudaStream_t stream, const void* const* tensors,
                 std::chrono::milliseconds limit = std::chrono::milliseconds(0)) {
  int ranks = 0;
  chorale::NcclRun run;
  if (ncclCommCount(comm, &ranks) != ncclSuccess || ncclCommUserRank(comm, &run.rank) != ncclSuccess)
    return ncclInvalidArgument;
  if (ranks != kRanks || type > ncclBfloat16 || op > ncclAvg) {
    last_error() = "needs " + std::to_string(kRanks) + " ranks, a type of numbers, and sum, prod, max, min or avg";
    return ncclInvalidArgument;
  }
  run.type = type, run.op = op, run.input = send, run.output = recv, run.comm = comm, run.stream = stream;
  run.tensors = tensors;
  return algorithm().run(run, static_cast<std::int64_t>(count), limit, last_error());
}

}  // namespace

// What went wrong last in this thread: rank, step, peer, and why.
extern "C" const char* chorale_last_error() { return last_error().c_str(); }

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

long piece_begin(long n, int piece) { return n / kPieces * piece + std::min<long>(piece, n % kPieces); }
long piece_length(long n, int piece) { return piece_begin(n, piece + 1) - piece_begin(n, piece); }
long slot_begin(long n, int slot) { return slot / kPieces * n + piece_begin(n, slot % kPieces); }

// A number for each element. Ranks that are to have the same data do: see kSame.
unsigned long element_number(int rank, int slot, long e) {
  for (const auto& same : kSame)
    if (same[0] == rank && same[1] == slot) return element_number(same[2], same[3], e);
  unsigned long x = 0x9e3779b97f4a7c15ul * (rank * 100003ul + slot + 1) + e * 0xbf58476d1ce4e5b9ul;
  x ^= x >> 29;
  return x;
}

template <typename T>
T number(int value) {
  return static_cast<T>(static_cast<float>(value));
}
// Small integers, so that sums are exact in any order and in every type.
template <typename T>
T element(int rank, int slot, long e) {
  return number<T>(static_cast<int>(element_number(rank, slot, e) % std::max(2, std::min(1000, 250 / kRanks))));
}
// Of mixed magnitude, so that sums are rounded, and have equal bits only if they are made in one order.
template <typename T>
T rounding_element(int rank, int slot, long e) {
  const unsigned long x = element_number(rank, slot, e) * 0x94d049bb133111ebul;
  const double magnitude = std::ldexp(1 + static_cast<double>(x >> 11) * 0x1p-53, static_cast<int>(x >> 3 & 7) - 4);
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(x >> 32);
  else if constexpr (sizeof(T) == 8)
    return (x & 1) != 0 ? -magnitude : magnitude;
  else
    return static_cast<T>(static_cast<float>((x & 1) != 0 ? -magnitude : magnitude));
}

template <typename T>
long wrong_elements(int rank, long n, const std::vector<T>& output) {
  long wrong = 0;
  for (std::size_t p = 0; p < std::size(kPromised);) {
    const int who = kPromised[p][0], slot = kPromised[p][1];
    std::size_t end = p;
    while (end < std::size(kPromised) && kPromised[end][0] == who && kPromised[end][1] == slot) ++end;
    for (long e = 0; who == rank && e < piece_length(n, slot % kPieces); ++e) {
      T sum = element<T>(kPromised[p][2], kPromised[p][3], e);
      for (std::size_t k = p + 1; k < end; ++k)
        sum = chorale::combined<chorale::Combination::Sum>(sum, element<T>(kPromised[k][2], kPromised[k][3], e));
      const T want = chorale::applied(chorale::StepFunction(), sum, slot_begin(n, kPromised[p][3]) + e,
                                      chorale::TestTensors());
      wrong += !chorale::agree(output[slot_begin(n, slot) + e], want, chorale::StepFunction::kExact);
    }
    p = end;
  }
  return wrong;
}

// For each output slot of all ranks, the first that is promised the same sums.
std::vector<std::size_t> alike() {
  std::map<std::vector<int>, std::size_t> first;  // by what is added up
  std::vector<std::size_t> like;
  for (std::size_t p = 0; p < std::size(kPromised);) {
    const int who = kPromised[p][0], slot = kPromised[p][1];
    std::vector<int> sum;
    for (; p < std::size(kPromised) && kPromised[p][0] == who && kPromised[p][1] == slot; ++p)
      sum.insert(sum.end(), {kPromised[p][2], kPromised[p][3]});
    like.push_back(first.emplace(std::move(sum), like.size()).first->second);
  }
  return like;
}

// Numbers that the bits of each of these slots make: 0 for those of other ranks.
template <typename T>
std::vector<unsigned long> hashes_of(int rank, long n, const std::vector<T>& output) {
  std::vector<unsigned long> hashes;
  for (std::size_t p = 0; p < std::size(kPromised); ++p) {
    const int who = kPromised[p][0], slot = kPromised[p][1];
    if (p > 0 && kPromised[p - 1][0] == who && kPromised[p - 1][1] == slot) continue;
    unsigned long hash = 0;
    for (long e = 0; who == rank && e < piece_length(n, slot % kPieces); ++e) {
      unsigned long bits = 0;
      std::memcpy(&bits, &output[slot_begin(n, slot) + e], sizeof(T));
      hash = (hash ^ bits) * 0x9e3779b97f4a7c15ul;
      hash ^= hash >> 29;
    }
    hashes.push_back(hash);
  }
  return hashes;
}

// Those of the function that is applied to sums, as this rank has them.
std::vector<const void*> device_tensors([[maybe_unused]] int rank, [[maybe_unused]] long n) {
  std::vector<const void*> tensors;
  if constexpr (chorale::StepFunction::kOperands > 0) {
    long whole = 0;
    for (const auto& slots : kSlots) whole = std::max(whole, slot_begin(n, slots[0]));
    for (int k = 0; k < chorale::StepFunction::kOperands; ++k) {
      const std::vector<char> bytes = chorale::StepFunction::test_tensor(
          k, whole, slot_begin(n, kSlices[rank]), slot_begin(n, kSlots[rank][1]));
      void* memory = nullptr;
      require(cudaMalloc(&memory, bytes.size() + 1), "cudaMalloc");
      require(cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
      tensors.push_back(memory);
    }
  }
  return tensors;
}

struct Measured {
  long wrong = 0;
  double us = 0;
  std::vector<unsigned long> hashes = {};  // of the slots of alike()
};

// One rank: a run on data whose sums are rounded, a checked run, and a timed loop.
template <typename T>
Measured measure(int rank, ncclComm_t comm, ncclDataType_t type, long n, int iterations, bool in_place) {
  const long inputs = slot_begin(n, kSlots[rank][0]), outputs = slot_begin(n, kSlots[rank][1]);
  std::vector<T> input(inputs), output(outputs);
  void* memory = nullptr;
  const long together = in_place ? std::max(inputs, outputs) : inputs + outputs;
  require(cudaMalloc(&memory, together * sizeof(T) + 512), "cudaMalloc");
  T* const base = static_cast<T*>(memory);
  const long apart = in_place && inputs > 0 && outputs > 0 ? rank * n : 0;  // a rank may have one of them only
  T* const send = base + (kInputShift > 0 ? apart : 0);
  T* const recv = in_place ? base + (kInputShift < 0 ? apart : 0)
                           : base + (inputs * sizeof(T) + 255) / 256 * 256 / sizeof(T);
  const std::vector<const void*> tensors = device_tensors(rank, n);
  cudaStream_t stream;
  cudaEvent_t start, stop;
  require(cudaStreamCreate(&stream), "cudaStreamCreate");
  require(cudaEventCreate(&start), "cudaEventCreate");
  require(cudaEventCreate(&stop), "cudaEventCreate");
  const auto run_on = [&](T (*value)(int, int, long)) {
    for (int slot = 0; slot < kSlots[rank][0]; ++slot)
      for (long e = 0; e < piece_length(n, slot % kPieces); ++e)
        input[slot_begin(n, slot) + e] = value(rank, slot, e);
    std::fill(output.begin(), output.end(), number<T>(77));
    require(cudaMemcpy(recv, output.data(), outputs * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    require(cudaMemcpy(send, input.data(), inputs * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    require(run(send, recv, n, type, ncclSum, comm, stream, tensors.data(), std::chrono::seconds(60)), kName);
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    require(cudaMemcpy(output.data(), recv, outputs * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  };
  Measured result;
  run_on(rounding_element<T>);
  result.hashes = hashes_of(rank, n, output);
  run_on(element<T>);
  result.wrong = wrong_elements(rank, n, output);
  require(cudaEventRecord(start, stream), "cudaEventRecord");
  for (int i = 0; i < iterations; ++i) require(run(send, recv, n, type, ncclSum, comm, stream, tensors.data()), kName);
  require(cudaEventRecord(stop, stream), "cudaEventRecord");
  require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  float ms = 0;
  require(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
  result.us = 1e3 * ms / iterations;
  require(cudaEventDestroy(start), "cudaEventDestroy");
  require(cudaEventDestroy(stop), "cudaEventDestroy");
  require(cudaStreamDestroy(stream), "cudaStreamDestroy");
  for (const void* tensor : tensors) require(cudaFree(const_cast<void*>(tensor)), "cudaFree");
  require(cudaFree(memory), "cudaFree");
  return result;
}

using Measure = Measured (*)(int, ncclComm_t, ncclDataType_t, long, int, bool);
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
  const long n = argc > 1 ? std::atol(argv[1]) : 1048576;
  const int iterations = argc > 2 ? std::atoi(argv[2]) : 20;
  const std::string wanted = argc > 3 ? argv[3] : "float32";
  const Type* type = nullptr;
  for (const Type& each : kTypes)
    if (each.name == wanted) type = &each;
  if (n < 0 || iterations < 1 || type == nullptr) {
    std::fprintf(stderr,
                 "usage: %s [elements of a block, 0 or more] [iterations, 1 or more] [type: float32, bfloat16, ...]\n",
                 argv[0]);
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < kRanks) {
    std::fprintf(stderr, "needs %d GPUs in this machine, found %d\n", kRanks, devices);
    return 2;
  }
  ncclUniqueId id;
  require(ncclGetUniqueId(&id), "ncclGetUniqueId");
  long wrong = 0;
  const std::vector<std::size_t> like = alike();
  std::vector<Measured> measured[2];
  for (auto& each : measured) each.resize(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      ncclComm_t comm;
      require(cudaSetDevice(rank), "cudaSetDevice");
      require(ncclCommInitRank(&comm, kRanks, id, rank), "ncclCommInitRank");
      for (int in_place = 0; in_place <= kInPlace; ++in_place)
        measured[in_place][rank] = type->measure(rank, comm, type->type, n, iterations, in_place != 0);
      require(ncclCommDestroy(comm), "ncclCommDestroy");
    });
  for (std::thread& thread : threads) thread.join();
  for (int in_place = 0; in_place <= kInPlace; ++in_place) {
    double us = 0;
    long here = 0, differ = 0;
    std::vector<unsigned long> hashes(like.size(), 0);
    for (const Measured& each : measured[in_place]) {
      us = std::max(us, each.us), here += each.wrong;
      for (std::size_t k = 0; k < hashes.size(); ++k) hashes[k] |= each.hashes[k];
    }
    for (std::size_t k = 0; k < hashes.size(); ++k) differ += hashes[k] != hashes[like[k]];
    std::printf("%s: %ld %s a block, %s, mean of %d: %.1f us, %ld wrong, %ld slots with ranks that differ%s\n", kName, n,
                type->name, in_place ? "in place" : "out of place", iterations, us, here, differ,
                kAgreed ? "" : ", as they may");
    wrong += here + (kAgreed ? differ : 0);
  }
  return wrong == 0 ? 0 : 1;
}
#endif
