// An emitted workload as a library for programs in other languages, with a C interface that does not depend
// on MPI: the caller supplies a function that moves messages, or, of ranks on one machine, memory that they
// share (shared.h); or, with -DCHORALE_NCCL, for tensors on GPUs, messages go over NCCL. NAME.json lists the
// tensors, in the order of the addresses that chorale_run takes; results have the rows of NAME.json, too.
// C++17, and is copied into emitted programs.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "tensor/exchange/device.h"
#include "tensor/exchange/exchange.h"
#ifdef CHORALE_NCCL
#include "tensor/exchange/nccl.h"
#else
#include "tensor/exchange/shared.h"
#endif

extern "C" {
struct chorale_message {
  void* data;
  std::int64_t bytes;
  int peer, tag;
  int sends;  // 1, or 0: receives
};
// Moves all messages, and returns when sent data may be written again and received data are there: 0, or
// another number if that failed. Messages of a pair with one tag arrive in order.
typedef int (*chorale_exchange)(void* context, chorale_message* messages, int count);
}

namespace chorale {

class CallbackTransport : public HostTransport {
 public:
  CallbackTransport(int rank, int ranks, chorale_exchange exchange, void* context)
      : rank_(rank), ranks_(ranks), exchange_(exchange), context_(context) {}

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    messages_.clear();
    for (Delivery& receive : receives) {
      messages_.push_back({receive.data, receive.bytes, receive.peer, receive.tag, 0});
      receive.at = receive.data;
    }
    for (const Delivery& send : posted_) messages_.push_back({send.data, send.bytes, send.peer, send.tag, 1});
    posted_.clear();
    for (const Delivery& send : sends) messages_.push_back({send.data, send.bytes, send.peer, send.tag, 1});
    if (messages_.empty()) return;
    if (exchange_(context_, messages_.data(), static_cast<int>(messages_.size())) != 0)
      throw std::runtime_error("messages were not moved");
  }

  // All that is started moves at once.
  MessageOrder order() const override { return MessageOrder::Steps; }
  void start(Delivery& message, bool sends, int number) override {
    (sends ? started_sends_ : started_receives_).push_back(message);
    started_.push_back(number);
    message.at = message.data;
  }
  std::vector<int> ended(bool waits = true) override {
    if (!waits) return {};
    exchange(started_sends_, started_receives_);
    started_sends_.clear();
    started_receives_.clear();
    return std::exchange(started_, {});
  }

 private:
  int rank_ = 0, ranks_ = 1;
  chorale_exchange exchange_ = nullptr;
  void* context_ = nullptr;
  std::vector<chorale_message> messages_ = {};
  std::vector<Delivery> started_sends_ = {}, started_receives_ = {};
  std::vector<int> started_ = {};
};

// Why the last call of this thread failed.
inline std::string& library_error() {
  thread_local std::string error;
  return error;
}

// The transport is a reference, or is made of the arguments that come last.
template <typename Workload, typename Transport>
class LibraryProgram {
 public:
  template <typename... Rest>
  explicit LibraryProgram(const std::int64_t* sizes, Rest&&... rest)
      : transport_(rest...), sizes_(from(sizes)), program_(transport_, sizes_) {}

  std::int64_t elements(int tensor) {
    std::int64_t result = -1;
    int at = 0;
    Workload::tensors(tensors_, sizes_, transport_.rank(),
                      [&](const DriverTensor&, auto&, const Share& part) {
                        if (at++ == tensor) result = part.elements();
                      });
    return result;
  }
  void run(void* const* addresses, std::uint64_t seed) {
    int at = 0;
    tensors_.seed = seed;
    Workload::tensors(tensors_, sizes_, transport_.rank(),
                      [&](const DriverTensor&, auto& member, const Share&) {
                        using Member = std::remove_reference_t<decltype(member)>;
                        if constexpr (std::is_pointer_v<Member>)
                          member = static_cast<Member>(addresses[at++]);
                        else
                          member = *static_cast<const Member*>(addresses[at++]);
                      });
    program_.run(tensors_);
  }

 private:
  static typename Workload::Sizes from(const std::int64_t* values) {
    typename Workload::Sizes sizes;
    Workload::sizes(sizes, [&](const char*, std::int64_t& value) { value = *values++; });
    return sizes;
  }

  Transport transport_;
  typename Workload::Sizes sizes_;
  typename Workload::Tensors tensors_ = {};
  typename Workload::template Program<std::remove_reference_t<Transport>> program_;
};

#ifdef CHORALE_NCCL
// A rank of an NCCL communicator, on a GPU.
class LibraryRank {
 public:
  LibraryRank(int rank, int ranks, const void* id, int device) : device_(device) {
    select();
    ncclUniqueId bytes;
    std::memcpy(&bytes, id, sizeof bytes);
    check(ncclCommInitRank(&comm_, ranks, bytes, rank), "ncclCommInitRank");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~LibraryRank() {
    if (reached_ != nullptr) cudaEventDestroy(reached_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    if (comm_ != nullptr) ncclCommDestroy(comm_);
  }
  LibraryRank(const LibraryRank&) = delete;
  LibraryRank& operator=(const LibraryRank&) = delete;

  // Makes it the current device of the calling thread.
  void select() const { check(cudaSetDevice(device_), "cudaSetDevice"); }
  ncclComm_t comm() const { return comm_; }
  cudaStream_t stream() const { return stream_; }
  // After the work in the caller's stream, and before the work enqueued there next.
  template <typename Work>
  void within(cudaStream_t callers, const Work& work) {
    select();
    follow(stream_, callers);
    work();
    follow(callers, stream_);
  }

 private:
  void follow(cudaStream_t later, cudaStream_t earlier) {
    check(cudaEventRecord(reached_, earlier), "cudaEventRecord");
    check(cudaStreamWaitEvent(later, reached_, 0), "cudaStreamWaitEvent");
  }

  const int device_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t reached_ = nullptr;
};

template <typename Workload>
struct GpuLibraryProgram : LibraryProgram<Workload, NcclTransport> {
  GpuLibraryProgram(LibraryRank& rank, const std::int64_t* sizes)
      : LibraryProgram<Workload, NcclTransport>(sizes, rank.comm(), rank.stream()), rank(rank) {}
  LibraryRank& rank;
};
#endif

// The value, or `otherwise` if something was thrown; library_error() then has the message.
template <typename Value, typename Function>
Value guarded(Value otherwise, Function function) {
  try {
    return function();
  } catch (const std::exception& error) {
    library_error() = error.what();
    return otherwise;
  }
}

}  // namespace chorale

// chorale_use_blas: products are those of a BLAS of the process, by its sgemm_ and dgemm_ with 32-bit
// integers; null: the built-in loops. The functions of a library: null, -1 or another number than 0 if a call
// fails, and chorale_error() has the reason. A program is used by one thread at a time.
#define CHORALE_C_COMMON(Program)                            \
  void chorale_free(void* program) {                         \
    delete static_cast<Program*>(program);                   \
  }                                                          \
  std::int64_t chorale_elements(void* program, int tensor) { \
    return static_cast<Program*>(program)->elements(tensor); \
  }                                                          \
  const char* chorale_error() {                              \
    return chorale::library_error().c_str();                 \
  }

#ifndef CHORALE_NCCL
// chorale_join: this rank of those that a program is for, which all programs of the library share, and which
// is destroyed after them (chorale_leave); its messages are moved by a function, or lie in memory that the
// ranks share. chorale_gather: bytes of each rank on all of them, by rank.
#define CHORALE_C_INTERFACE(Workload)                                                         \
  using ChoraleProgram = chorale::LibraryProgram<Workload, chorale::HostTransport&>;          \
  extern "C" {                                                                                \
  CHORALE_C_COMMON(ChoraleProgram)                                                            \
  void chorale_use_blas(void* sgemm, void* dgemm) {                                           \
    chorale::process_gemm<float>() = reinterpret_cast<chorale::FortranGemm<float>>(sgemm);    \
    chorale::process_gemm<double>() = reinterpret_cast<chorale::FortranGemm<double>>(dgemm);  \
  }                                                                                           \
  void* chorale_join(int rank, int ranks, chorale_exchange exchange, void* context) {         \
    return static_cast<chorale::HostTransport*>(                                              \
        new chorale::CallbackTransport(rank, ranks, exchange, context));                      \
  }                                                                                           \
  std::int64_t chorale_line_bytes(int ranks) {                                                \
    return chorale::SharedTransport::line_bytes(ranks);                                       \
  }                                                                                           \
  void* chorale_join_shared(const chorale_shared* given) {                                    \
    return static_cast<chorale::HostTransport*>(new chorale::SharedTransport(*given));        \
  }                                                                                           \
  int chorale_gather(void* joined, void* mine, void* everyone, std::int64_t bytes) {          \
    return chorale::guarded(1, [&] {                                                          \
      chorale::HostTransport& ranks = *static_cast<chorale::HostTransport*>(joined);          \
      const std::int64_t own = ranks.rank() * bytes;                                          \
      std::memcpy(static_cast<char*>(everyone) + own, mine, static_cast<std::size_t>(bytes)); \
      ranks.gather(mine, everyone, bytes, 0, ranks.ranks());                                  \
      return 0;                                                                               \
    });                                                                                       \
  }                                                                                           \
  void chorale_leave(void* joined) {                                                          \
    delete static_cast<chorale::HostTransport*>(joined);                                      \
  }                                                                                           \
  void* chorale_make(void* joined, const std::int64_t* sizes) {                               \
    return chorale::guarded<void*>(nullptr, [&]() -> void* {                                  \
      return new ChoraleProgram(sizes, *static_cast<chorale::HostTransport*>(joined));        \
    });                                                                                       \
  }                                                                                           \
  int chorale_run(void* program, void* const* addresses, std::uint64_t seed) {                \
    return chorale::guarded(1, [&] {                                                          \
      static_cast<ChoraleProgram*>(program)->run(addresses, seed);                            \
      return 0;                                                                               \
    });                                                                                       \
  }                                                                                           \
  }
#else
// On GPUs: one rank has chorale_id fill 128 bytes, which all ranks pass to chorale_join, each with the number
// of its GPU; programs are made from the result of that, and are destroyed before chorale_leave. Addresses
// are in GPU memory, except those of scalars that the program does not change; chorale_run returns when all
// work is enqueued in the stream.
#define CHORALE_C_INTERFACE(Workload)                                                           \
  using ChoraleProgram = chorale::GpuLibraryProgram<Workload>;                                  \
  extern "C" {                                                                                  \
  CHORALE_C_COMMON(ChoraleProgram)                                                              \
  int chorale_id(void* bytes) {                                                                 \
    return chorale::guarded(1, [&] {                                                            \
      chorale::check(ncclGetUniqueId(static_cast<ncclUniqueId*>(bytes)), "ncclGetUniqueId");    \
      return 0;                                                                                 \
    });                                                                                         \
  }                                                                                             \
  void* chorale_join(int rank, int ranks, const void* id, int device) {                         \
    return chorale::guarded<void*>(                                                             \
        nullptr, [&]() -> void* { return new chorale::LibraryRank(rank, ranks, id, device); }); \
  }                                                                                             \
  void chorale_leave(void* rank) {                                                              \
    delete static_cast<chorale::LibraryRank*>(rank);                                            \
  }                                                                                             \
  void* chorale_make(void* rank, const std::int64_t* sizes) {                                   \
    return chorale::guarded<void*>(nullptr, [&]() -> void* {                                    \
      chorale::LibraryRank& on = *static_cast<chorale::LibraryRank*>(rank);                     \
      on.select();                                                                              \
      return new ChoraleProgram(on, sizes);                                                     \
    });                                                                                         \
  }                                                                                             \
  int chorale_run(void* program, void* const* addresses, std::uint64_t seed, void* stream) {    \
    return chorale::guarded(1, [&] {                                                            \
      ChoraleProgram& made = *static_cast<ChoraleProgram*>(program);                            \
      made.rank.within(static_cast<cudaStream_t>(stream), [&] { made.run(addresses, seed); });  \
      return 0;                                                                                 \
    });                                                                                         \
  }                                                                                             \
  }
#endif
