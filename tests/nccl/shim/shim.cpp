// CUDA's and NCCL's calls over threads of one process; what they do is in the headers beside this file.
//
// A group is one task of each stream that it names. Its sends are all there at once; a receive takes the
// oldest message of its peer to this rank that nobody has taken; a send is over when it has been taken. So
// messages match by their order, and what NCCL could deadlock on hangs here. After CHORALE_SHIM_TIMEOUT_MS
// (20000) a hang becomes an error of the communicator that names rank and peer, and so does a message of
// another size.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nccl.h"
#include "runtime/device/elements.h"
#include "shim_together.h"

using namespace chorale;

// Streams, graphs, events.

struct CUgraph_st {
  std::mutex mutex = {};
  std::vector<ShimTask> tasks = {};       // of all streams, in an order that was possible
  std::vector<CUstream_st*> joined = {};  // streams that waited for what is recorded
  std::vector<void*> memory = {};
};
struct CUgraphExec_st {
  std::vector<ShimTask> tasks = {};
  std::vector<void*> memory = {};
};
struct CUmemPool_st {};

thread_local int shim_process = 0;
namespace {
thread_local int current_device = 0;
}

struct CUstream_st {
  const int process = shim_process, device = current_device;
  bool blocks = false;  // with the default stream
  int waiting = 0;      // threads in drain()
  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::deque<ShimTask> tasks = {};
  bool busy = false, ends = false;
  cudaError_t error = cudaSuccess;
  CUgraph_st* capture = nullptr;
  std::thread thread = std::thread([this] { work(); });

  ~CUstream_st() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_all();
    thread.join();
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ends || !tasks.empty(); });
      if (tasks.empty()) return;
      const ShimTask task = std::move(tasks.front());
      tasks.pop_front();
      busy = true;
      lock.unlock();
      const cudaError_t result = error == cudaSuccess ? task() : error;
      lock.lock();
      if (error == cudaSuccess) error = result;
      busy = false;
      changed.notify_all();
    }
  }

  cudaError_t add(ShimTask task) {
    const std::lock_guard lock(mutex);
    if (capture != nullptr) {
      const std::lock_guard recording(capture->mutex);
      capture->tasks.push_back(std::move(task));
    } else {
      tasks.push_back(std::move(task));
    }
    changed.notify_all();
    return cudaSuccess;
  }

  cudaError_t wait() {
    std::unique_lock lock(mutex);
    if (capture != nullptr) return cudaErrorStreamCaptureUnsupported;
    changed.wait(lock, [this] { return tasks.empty() && !busy; });
    return error;
  }
};

struct CUevent_st {
  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::uint64_t asked = 0, reached = 0;
  CUgraph_st* capture = nullptr;  // that it was recorded in
  std::chrono::steady_clock::time_point at = {};
};

namespace {

thread_local int captures = 0;  // of this thread, that forbid unsafe calls unless it is relaxed
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t failed(cudaError_t error) {
  return last_error = error;
}

bool forbids() {
  return captures > 0 && capture_mode != cudaStreamCaptureModeRelaxed;
}

int devices() {
  const char* const wanted = std::getenv("CHORALE_SHIM_DEVICES");
  return wanted != nullptr ? std::atoi(wanted) : 8;
}

CUstream_st* real(cudaStream_t stream) {
  if (stream != nullptr) return stream;
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<CUstream_st>> of_device;
  const std::lock_guard lock(mutex);
  auto& mine = of_device[current_device];
  if (!mine) mine = std::make_unique<CUstream_st>();
  return mine.get();
}

// All streams but the default ones. Never destroyed: streams are, at the end of the program.
struct Streams {
  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::set<CUstream_st*> all = {};
};
Streams& streams() {
  static Streams& only = *new Streams;
  return only;
}

// What CUDA waits for in a call that frees memory (all work of the GPU), and before the default stream's work
// (that of the streams that block). Work of other ranks is part of it, if they share the GPU.
void drain(bool only_blocking) {
  std::unique_lock lock(streams().mutex);
  std::vector<CUstream_st*> here;
  for (CUstream_st* const each : streams().all)
    if (each->process == shim_process && each->device == current_device && each->capture == nullptr &&
        (each->blocks || !only_blocking))
      here.push_back(each), ++each->waiting;
  lock.unlock();
  for (CUstream_st* const each : here) each->wait();
  lock.lock();
  for (CUstream_st* const each : here) --each->waiting;
  streams().changed.notify_all();
}

void* poisoned(std::size_t bytes) {
  void* const memory = std::aligned_alloc(256, (bytes + 511) / 256 * 256);
  std::memset(memory, 0xcb, bytes);
  return memory;
}

}  // namespace

cudaError_t shim_enqueue(cudaStream_t stream, ShimTask task) {
  return real(stream)->add(std::move(task));
}

bool shim_is_here(cudaStream_t stream) {
  return real(stream)->device == current_device;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = devices();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= devices()) return failed(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return real(nullptr)->wait();
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer && std::getenv("CHORALE_SHIM_NO_PEERS") == nullptr;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> open;
  int can = 0;
  cudaDeviceCanAccessPeer(&can, current_device, peer);
  if (can == 0 || flags != 0 || peer >= devices()) return failed(cudaErrorInvalidDevice);
  const std::lock_guard lock(mutex);
  return open.insert({current_device, peer}).second ? cudaSuccess : failed(cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? 8 : std::getenv("CHORALE_SHIM_NO_POOLS") == nullptr;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (device < 0 || device >= devices()) return failed(cudaErrorInvalidDevice);
  const int bus = std::getenv("CHORALE_SHIM_BUS_DOWN") == nullptr ? device : devices() - 1 - device;
  std::snprintf(text, length, "0000:%02X:00.0", 16 * bus + 7);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::snprintf(properties->name, sizeof properties->name, "a stand-in for a GPU");
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorNotReady:
      return "not ready";
    case cudaErrorStreamCaptureUnsupported:
      return "not permitted when stream is capturing";
    case cudaErrorUnknown:
      return "unknown error";
    default:
      return "an error";
  }
}

cudaError_t shim_malloc(void** at, std::size_t bytes) {
  if (forbids()) return failed(cudaErrorStreamCaptureUnsupported);
  *at = poisoned(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (forbids()) return failed(cudaErrorStreamCaptureUnsupported);
  if (memory != nullptr) drain(false);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  *handle = {};
  std::memcpy(handle->reserved, &memory, sizeof memory);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** at, cudaIpcMemHandle_t handle, unsigned) {
  if (forbids()) return failed(cudaErrorStreamCaptureUnsupported);
  std::memcpy(at, handle.reserved, sizeof *at);
  return *at == nullptr ? failed(cudaErrorInvalidValue) : cudaSuccess;
}
cudaError_t cudaMallocHost(void** at, std::size_t bytes) {
  return shim_malloc(at, bytes);
}
cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
cudaError_t shim_malloc_async(void** at, std::size_t bytes, cudaStream_t stream) {
  *at = poisoned(bytes);
  if (CUgraph_st* const graph = real(stream)->capture) graph->memory.push_back(*at);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  // A graph keeps its memory for the next launch; what is there then is nobody's.
  if (real(stream)->capture != nullptr) return cudaSuccess;
  return shim_enqueue(stream, [=] {
    std::free(memory);
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  if (forbids()) return failed(cudaErrorStreamCaptureUnsupported);
  static CUmemPool_st only;  // programs keep theirs to the end
  *pool = &only;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) {
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) {
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return shim_enqueue(stream, [=] {
    if (bytes > 0) std::memmove(to, from, bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (forbids()) return failed(cudaErrorStreamCaptureUnsupported);
  drain(true);
  cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return real(nullptr)->wait();
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return shim_enqueue(stream, [=] {
    if (bytes > 0) std::memset(memory, value, bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  if (forbids()) return failed(cudaErrorStreamCaptureUnsupported);
  drain(true);
  cudaMemsetAsync(memory, value, bytes, nullptr);
  return real(nullptr)->wait();
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  *stream = new CUstream_st;
  (*stream)->blocks = (flags & cudaStreamNonBlocking) == 0;
  const std::lock_guard lock(streams().mutex);
  streams().all.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    std::unique_lock lock(streams().mutex);
    streams().all.erase(stream);
    streams().changed.wait(lock, [&] { return stream->waiting == 0; });
  }
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return failed(real(stream)->wait());
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  CUstream_st* const s = real(stream);
  const std::lock_guard lock(s->mutex);
  if (s->capture != nullptr) return failed(cudaErrorStreamCaptureUnsupported);
  return s->error != cudaSuccess ? s->error : s->tasks.empty() && !s->busy ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = real(stream)->capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr) return failed(cudaErrorStreamCaptureUnsupported);
  stream->capture = new CUgraph_st;
  ++captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = std::exchange(stream->capture, nullptr);
  for (CUstream_st* const joined : (*graph)->joined) joined->capture = nullptr;
  --captures;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->tasks, std::exchange(graph->memory, {})};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  for (const ShimTask& task : exec->tasks) shim_enqueue(stream, task);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  for (void* memory : exec->memory) std::free(memory);
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(event->mutex);
    event->capture = real(stream)->capture;
    ticket = ++event->asked;
  }
  return shim_enqueue(stream, [=] {
    const std::lock_guard lock(event->mutex);
    event->reached = std::max(event->reached, ticket);
    event->at = std::chrono::steady_clock::now();
    event->changed.notify_all();
    return cudaSuccess;
  });
}
// For what the event was asked for until now.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(event->mutex);
    if (event->capture != nullptr) {  // so is what the stream does from now on
      CUstream_st* const later = real(stream);
      if (later->capture == event->capture) return cudaSuccess;
      const std::lock_guard recording(event->capture->mutex);
      event->capture->joined.push_back(later);
      later->capture = event->capture;
      return cudaSuccess;
    }
    ticket = event->asked;
  }
  return shim_enqueue(stream, [=] {
    std::unique_lock lock(event->mutex);
    event->changed.wait(lock, [&] { return event->reached >= ticket; });
    return cudaSuccess;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(event->mutex);
  return event->reached == event->asked ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::unique_lock lock(event->mutex);
  event->changed.wait(lock, [&] { return event->reached == event->asked; });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = std::chrono::duration<float, std::milli>(stop->at - start->at).count();
  return cudaSuccess;
}

// NCCL.

namespace {

struct Message {
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool taken = false;
};

enum class Kind { AllReduce, Reduce, ReduceScatter, Broadcast, AllGather, AllToAll };

struct CollectiveCall {
  Kind kind = Kind::AllReduce;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t op = ncclSum;
  double scale = 1;  // of an own operation
  int root = 0;
};

// Ranks meet here once for each collective.
struct Meeting {
  std::map<int, CollectiveCall> calls = {};
  int computed = 0, left = 0;
};

// Something that all ranks have made together.
struct Common {
  std::shared_ptr<void> made = {};
  int joined = 0;
};

// What the ranks of a communicator share.
struct World {
  explicit World(int size) : ranks(size) {}
  const int ranks;
  std::mutex mutex = {};
  std::condition_variable changed = {};
  int arrived = 0;
  bool aborted = false;
  std::map<std::pair<int, int>, std::deque<Message*>> messages = {};  // from, to
  std::map<std::uint64_t, Meeting> meetings = {};
  std::map<int, Common> common = {};
};

struct PointToPoint {
  bool sends = false;
  void* data = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};

}  // namespace

struct ncclComm {
  std::shared_ptr<World> world = {};
  int rank = 0, device = 0;
  std::mutex mutex = {};
  ncclResult_t error = ncclSuccess;
  std::string text = {};
  std::uint64_t collectives = 0;  // enqueued
  std::vector<std::pair<double, ncclRedOp_t>> scales = {};
  int commons = 0;  // made
};

namespace {

std::chrono::milliseconds patience() {
  const char* const wanted = std::getenv("CHORALE_SHIM_TIMEOUT_MS");
  return std::chrono::milliseconds(wanted != nullptr ? std::atoi(wanted) : 20000);
}

cudaError_t broken(ncclComm* comm, const std::string& what) {
  const std::lock_guard lock(comm->mutex);
  if (comm->error == ncclSuccess) {
    comm->error = ncclRemoteError;
    comm->text = "rank " + std::to_string(comm->rank) + ": " + what;
    std::fprintf(stderr, "shim: %s\n", comm->text.c_str());
  }
  return cudaErrorUnknown;
}

// Waits with the lock of the world held; false: in vain.
template <typename Ready>
bool waited(World& world, std::unique_lock<std::mutex>& lock, Ready ready) {
  return world.changed.wait_for(lock, patience(), [&] { return world.aborted || ready(); }) && !world.aborted;
}

std::size_t bytes_of(ncclDataType_t type) {
  constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return sizes[type];
}

// What fails; empty: nothing.
std::string moved(World& world, std::unique_lock<std::mutex>& lock, int rank,
                  const std::vector<PointToPoint>& all, const std::deque<Message>& sent) {
  const auto name = [](const PointToPoint& each) {
    return std::string(each.sends ? "a send of " : "a receive of ") + std::to_string(each.bytes) + " bytes " +
           (each.sends ? "to" : "from") + " rank " + std::to_string(each.peer);
  };
  for (const PointToPoint& each : all) {
    if (each.sends) continue;
    auto& queue = world.messages[{each.peer, rank}];
    if (!waited(world, lock, [&] { return !queue.empty(); })) return name(each) + " waits in vain";
    Message* const message = queue.front();
    if (message->bytes != each.bytes)
      return name(each) + " meets a message of " + std::to_string(message->bytes) + " bytes";
    queue.pop_front();
    if (each.bytes > 0) std::memcpy(each.data, message->data, each.bytes);
    message->taken = true;
    world.changed.notify_all();
  }
  std::size_t next = 0;
  for (const PointToPoint& each : all)
    if (each.sends && !waited(world, lock, [&, i = next++] { return sent[i].taken; }))
      return name(each) + " waits in vain";
  return "";
}

cudaError_t move_messages(ncclComm* comm, const std::vector<PointToPoint>& all) {
  World& world = *comm->world;
  std::deque<Message> sent;
  std::unique_lock lock(world.mutex);
  for (const PointToPoint& each : all)
    if (each.sends) {
      sent.push_back({.data = each.data, .bytes = each.bytes});
      world.messages[{comm->rank, each.peer}].push_back(&sent.back());
    }
  world.changed.notify_all();
  const std::string fault = moved(world, lock, comm->rank, all, sent);
  if (fault.empty()) return cudaSuccess;
  for (auto& [pair, queue] : world.messages)
    if (pair.first == comm->rank) queue.clear();  // they end here
  return broken(comm, fault);
}

template <typename T>
T reduced(ncclRedOp_t op, T a, T b) {
  switch (op) {
    case ncclProd:
      return combined<Combination::Prod>(a, b);
    case ncclMax:
      return combined<Combination::Max>(a, b);
    case ncclMin:
      return combined<Combination::Min>(a, b);
    default:
      return combined<Combination::Sum>(a, b);
  }
}

template <typename T>
std::vector<char> summed(const std::map<int, CollectiveCall>& calls, std::size_t begin, std::size_t count) {
  const CollectiveCall& first = calls.begin()->second;
  std::vector<T> sum(count);
  for (const auto& [rank, call] : calls) {
    const T* const mine = static_cast<const T*>(call.send) + begin;
    for (std::size_t i = 0; i < count; ++i) {
      T value = mine[i];
      if constexpr (std::is_floating_point_v<T>)
        if (call.op >= ncclNumOps) value = static_cast<T>(value * call.scale);
      sum[i] = rank == calls.begin()->first ? value : reduced(first.op, sum[i], value);
    }
  }
  if (first.op == ncclAvg)
    for (T& value : sum) value = averaged(value, static_cast<int>(calls.size()));
  std::vector<char> bytes(count * sizeof(T));
  if (count > 0) std::memcpy(bytes.data(), sum.data(), bytes.size());
  return bytes;
}

std::vector<char> summed(const std::map<int, CollectiveCall>& calls, std::size_t begin, std::size_t count) {
  switch (calls.begin()->second.type) {
    case ncclInt8:
      return summed<std::int8_t>(calls, begin, count);
    case ncclUint8:
      return summed<std::uint8_t>(calls, begin, count);
    case ncclInt32:
      return summed<std::int32_t>(calls, begin, count);
    case ncclUint32:
      return summed<std::uint32_t>(calls, begin, count);
    case ncclInt64:
      return summed<std::int64_t>(calls, begin, count);
    case ncclUint64:
      return summed<std::uint64_t>(calls, begin, count);
    case ncclFloat16:
      return summed<Float16>(calls, begin, count);
    case ncclBfloat16:
      return summed<Bfloat16>(calls, begin, count);
    case ncclFloat64:
      return summed<double>(calls, begin, count);
    default:
      return summed<float>(calls, begin, count);
  }
}

// What this rank has in the end.
std::vector<char> outcome(const std::map<int, CollectiveCall>& calls, int rank) {
  const CollectiveCall& mine = calls.at(rank);
  const std::size_t bytes = mine.count * bytes_of(mine.type);
  std::vector<char> all;
  const auto add = [&](const void* data) {
    const char* const from = static_cast<const char*>(data);
    all.insert(all.end(), from, from + bytes);
  };
  switch (mine.kind) {
    case Kind::AllReduce:
      return summed(calls, 0, mine.count);
    case Kind::Reduce:
      return rank == mine.root ? summed(calls, 0, mine.count) : all;
    case Kind::ReduceScatter:
      return summed(calls, mine.count * rank, mine.count);
    case Kind::Broadcast:
      add(calls.at(mine.root).send);
      return all;
    case Kind::AllGather:
      for (const auto& [n, call] : calls) add(call.send);
      return all;
    case Kind::AllToAll:
      for (const auto& [n, call] : calls) add(static_cast<const char*>(call.send) + bytes * rank);
      return all;
  }
  return all;
}

cudaError_t meet(ncclComm* comm, std::uint64_t number, const CollectiveCall& call) {
  World& world = *comm->world;
  std::unique_lock lock(world.mutex);
  Meeting& meeting = world.meetings[number];
  meeting.calls[comm->rank] = call;
  world.changed.notify_all();
  const auto all = static_cast<std::size_t>(world.ranks);
  if (!waited(world, lock, [&] { return meeting.calls.size() == all; }))
    return broken(comm, "a collective waits for other ranks in vain");
  for (const auto& [rank, other] : meeting.calls)
    if (other.kind != call.kind || other.count != call.count || other.type != call.type ||
        other.op != call.op)
      return broken(comm, "rank " + std::to_string(rank) + " calls another collective");
  const std::vector<char> result = outcome(meeting.calls, comm->rank);
  ++meeting.computed;  // outputs may be others' inputs of this call
  world.changed.notify_all();
  if (!waited(world, lock, [&] { return meeting.computed == world.ranks; }))
    return broken(comm, "a collective waits for other ranks in vain");
  if (!result.empty()) std::memcpy(call.recv, result.data(), result.size());
  if (++meeting.left == world.ranks) world.meetings.erase(number);
  return cudaSuccess;
}

// Groups of the calling thread.
struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<std::pair<ncclComm*, cudaStream_t>> order = {};
  std::map<std::pair<ncclComm*, cudaStream_t>, std::vector<PointToPoint>> messages = {};
  std::vector<std::pair<cudaStream_t, ShimTask>> collectives = {};
};
thread_local Group group;

void launch_group() {
  for (auto& [stream, task] : group.collectives) shim_enqueue(stream, std::move(task));
  for (const auto& at : group.order)
    shim_enqueue(at.second, [comm = at.first, all = group.messages[at]] { return move_messages(comm, all); });
  group.collectives.clear();
  group.order.clear();
  group.messages.clear();
}

ncclResult_t add_message(PointToPoint message, ncclComm_t comm, cudaStream_t stream) {
  if (comm == nullptr || message.peer < 0 || message.peer >= comm->world->ranks ||
      (message.data == nullptr && message.bytes > 0)) {
    group.error = ncclInvalidArgument;
    return ncclInvalidArgument;
  }
  const std::pair<ncclComm*, cudaStream_t> at{comm, stream};
  if (group.messages.count(at) == 0) group.order.push_back(at);
  group.messages[at].push_back(message);
  if (group.depth == 0) launch_group();
  return ncclSuccess;
}

std::atomic<long> collective_calls = 0;

ncclResult_t add_collective(CollectiveCall call, ncclComm_t comm, cudaStream_t stream) {
  if (comm == nullptr || call.root < 0 || call.root >= comm->world->ranks) return ncclInvalidArgument;
  for (const auto& [scale, op] : comm->scales)
    if (op == call.op) call.scale = scale;
  ++collective_calls;
  const std::uint64_t number = comm->collectives++;
  // A graph that is launched again meets again.
  CUgraph_st* const graph = real(stream)->capture;
  ShimTask task;
  if (graph != nullptr)
    task = [=] { return meet(comm, comm->collectives++, call); };
  else
    task = [=] { return meet(comm, number, call); };
  group.collectives.emplace_back(stream, std::move(task));
  if (group.depth == 0) launch_group();
  return ncclSuccess;
}

std::mutex worlds_mutex;
std::map<int, std::weak_ptr<World>> worlds;
int next_world = 0;

std::shared_ptr<World> world_of(int id, int ranks) {
  const std::lock_guard lock(worlds_mutex);
  std::shared_ptr<World> world = worlds[id].lock();
  if (!world) worlds[id] = world = std::make_shared<World>(ranks);
  return world;
}

}  // namespace

std::shared_ptr<void> shim_together(ncclComm_t comm, std::shared_ptr<void> (*make)(int ranks),
                                    const std::function<void(void*)>& join) {
  World& world = *comm->world;
  std::unique_lock lock(world.mutex);
  Common& common = world.common[comm->commons++];
  if (!common.made) common.made = make(world.ranks);
  join(common.made.get());
  ++common.joined;
  world.changed.notify_all();
  return waited(world, lock, [&] { return common.joined == world.ranks; }) ? common.made : nullptr;
}

// For tests: how many collectives of NCCL's own were called, by all ranks.
extern "C" long shim_collectives() {
  return collective_calls;
}

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(worlds_mutex);
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, &++next_world, sizeof next_world);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  if (rank < 0 || rank >= ranks) return ncclInvalidArgument;
  int number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  *comm = new ncclComm;
  (*comm)->world = world_of(number, ranks);
  (*comm)->rank = rank;
  (*comm)->device = current_device;
  World& world = *(*comm)->world;
  std::unique_lock lock(world.mutex);
  ++world.arrived;
  world.changed.notify_all();
  if (group.depth == 0) world.changed.wait(lock, [&] { return world.arrived >= ranks; });
  return ncclSuccess;
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* list) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclGroupStart();
  for (int i = 0; i < count; ++i) {
    ncclCommInitRank(&comms[i], count, id, i);
    comms[i]->device = list != nullptr ? list[i] : i;
  }
  return ncclGroupEnd();
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  bool left = false;
  {
    const std::lock_guard lock(comm->world->mutex);
    for (const auto& [pair, queue] : comm->world->messages)
      left = left || (pair.second == comm->rank && !queue.empty());
  }
  if (left) std::fprintf(stderr, "shim: rank %d: messages were never received\n", comm->rank);
  delete comm;
  return left ? ncclInternalError : ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  // The communicator itself is left: tasks of its streams may look at it.
  const std::lock_guard lock(comm->world->mutex);
  comm->world->aborted = true;
  comm->world->changed.notify_all();
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  *count = comm->world->ranks;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  *device = comm->device;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const std::lock_guard lock(comm->mutex);
  *error = comm->error;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t error) {
  constexpr const char* texts[] = {
      "no error",         "unhandled cuda error", "unhandled system error", "internal error",
      "invalid argument", "invalid usage",        "remote process error",   "in progress"};
  return error >= 0 && error < 8 ? texts[error] : "unknown result";
}
const char* ncclGetLastError(ncclComm_t comm) {
  return comm->text.c_str();
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t, ncclComm_t comm) {
  if (type != ncclFloat32 && type != ncclFloat64) return ncclInvalidUsage;
  double scale = 0;
  if (type == ncclFloat32)
    scale = *static_cast<float*>(scalar);
  else
    scale = *static_cast<double*>(scalar);
  *op = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(comm->scales.size()));
  comm->scales.emplace_back(scale, *op);
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) {
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  const ncclResult_t error = std::exchange(group.error, ncclSuccess);
  if (error == ncclSuccess) launch_group();
  group.collectives.clear(), group.order.clear(), group.messages.clear();
  return error;
}
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t*) {
  if (group.depth == 0) return ncclInvalidUsage;
  --group.depth;
  group.collectives.clear(), group.order.clear(), group.messages.clear();
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_message({true, const_cast<void*>(data), count * bytes_of(type), peer}, comm, stream);
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_message({false, data, count * bytes_of(type), peer}, comm, stream);
}
ncclResult_t ncclAllReduce(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return add_collective({Kind::AllReduce, send, recv, count, type, op}, comm, stream);
}
ncclResult_t ncclReduce(const void* send, void* recv, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return add_collective({Kind::Reduce, send, recv, count, type, op, 1, root}, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return add_collective({Kind::ReduceScatter, send, recv, count, type, op}, comm, stream);
}
ncclResult_t ncclBroadcast(const void* send, void* recv, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return add_collective({Kind::Broadcast, send, recv, count, type, ncclSum, 1, root}, comm, stream);
}
ncclResult_t ncclBcast(void* data, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(data, data, count, type, root, comm, stream);
}
ncclResult_t ncclAllGather(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return add_collective({Kind::AllGather, send, recv, count, type}, comm, stream);
}
ncclResult_t ncclAlltoAll(const void* send, void* recv, std::size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  return add_collective({Kind::AllToAll, send, recv, count, type}, comm, stream);
}
