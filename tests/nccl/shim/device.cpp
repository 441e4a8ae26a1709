// NCCL's device interface over threads of one process: nccl_device.h reports what it is.
//
// What goes between nodes is delivered by a thread of the sender, in order, now and then after a while; so
// what is read before its signal has come is not there. With CHORALE_SHIM_EARLY_SIGNALS signals come first,
// which tests must notice.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "nccl_device.h"
#include "shim_together.h"

namespace {

[[noreturn]] void out_of_range(const char* what) {
  std::fprintf(stderr, "shim: %s\n", what);
  std::_Exit(9);
}

struct Windows {
  explicit Windows(int ranks) : memory(static_cast<std::size_t>(ranks)) {}
  std::vector<char*> memory;
  std::size_t bytes = 0;
  std::unique_ptr<char[]> everywhere = {};  // its addresses stand for those of all; nothing is ever there
};

// For addresses that stand for all.
std::mutex windows_mutex;
std::vector<std::shared_ptr<Windows>> all_windows;

// Of one rank: what it has sent and is not delivered yet.
class Wire {
 public:
  Wire() : thread_([this] { deliver(); }) {}
  ~Wire() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void send(std::function<void()> delivery) {
    const std::lock_guard lock(mutex_);
    deliveries_.push_back(std::move(delivery));
    changed_.notify_all();
  }

 private:
  void deliver() {
    for (unsigned number = 0;; ++number) {
      std::function<void()> next;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ends_ || !deliveries_.empty(); });
        if (deliveries_.empty()) return;
        next = std::move(deliveries_.front());
        deliveries_.pop_front();
      }
      if (number % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      next();
    }
  }

  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  std::deque<std::function<void()>> deliveries_ = {};
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace

struct ShimWindow {
  std::shared_ptr<Windows> all = {};
  int rank = 0, node = 1;
};

struct ShimNetwork {
  explicit ShimNetwork(int ranks) : signals(static_cast<std::size_t>(ranks)), wires(signals.size()) {}
  std::vector<std::vector<std::atomic<std::uint64_t>>> signals;  // by receiver
  std::vector<Wire> wires;  // by sender; what is on them is still delivered
  std::vector<std::unique_ptr<std::barrier<>>> barriers = {};  // of the only node
};

int shim_node(int ranks) {
  const char* const wanted = std::getenv("CHORALE_SHIM_NODE");
  return wanted != nullptr ? std::atoi(wanted) : ranks;
}

ncclResult_t ncclMemAlloc(void** memory, std::size_t bytes) {
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  std::memset(*memory, 0xcb, bytes);
  return ncclSuccess;
}
ncclResult_t ncclMemFree(void* memory) {
  std::free(memory);
  return ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* memory, std::size_t bytes, ncclWindow_t* window,
                                    int flags) {
  if (flags != NCCL_WIN_COLL_SYMMETRIC || memory == nullptr) return ncclInvalidArgument;
  int rank = 0, ranks = 0;
  ncclCommUserRank(comm, &rank);
  ncclCommCount(comm, &ranks);
  const auto make = [](int all) -> std::shared_ptr<void> { return std::make_shared<Windows>(all); };
  const auto together = shim_together(comm, make, [&](void* made) {
    Windows& all = *static_cast<Windows*>(made);
    if (all.bytes != 0 && all.bytes != bytes) out_of_range("windows of different sizes");
    all.bytes = bytes;
    if (!all.everywhere) all.everywhere = std::make_unique<char[]>(bytes);
    all.memory[static_cast<std::size_t>(rank)] = static_cast<char*>(memory);
  });
  if (!together) return ncclSystemError;
  const std::lock_guard lock(windows_mutex);
  all_windows.push_back(std::static_pointer_cast<Windows>(together));
  *window = new ShimWindow{all_windows.back(), rank, shim_node(ranks)};
  return ncclSuccess;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t window) {
  delete window;
  return ncclSuccess;
}

ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements* wanted, ncclDevComm* result) {
  static std::mutex mutex;
  static std::vector<std::shared_ptr<void>> networks;  // to the end: kernels have plain pointers
  int rank = 0, ranks = 0;
  ncclCommUserRank(comm, &rank);
  ncclCommCount(comm, &ranks);
  const int node = shim_node(ranks);
  if (ranks % node != 0 || (wanted->lsaMultimem && node != ranks)) return ncclInvalidUsage;
  const int signals = wanted->ginForceEnable && wanted->ginContextCount > 0 ? wanted->ginSignalCount : 0;
  const auto make = [](int all) -> std::shared_ptr<void> { return std::make_shared<ShimNetwork>(all); };
  const auto together = shim_together(comm, make, [&](void* made) {
    static_cast<ShimNetwork*>(made)->signals[static_cast<std::size_t>(rank)] =
        std::vector<std::atomic<std::uint64_t>>(static_cast<std::size_t>(signals));
    auto& barriers = static_cast<ShimNetwork*>(made)->barriers;
    while (node == ranks && static_cast<int>(barriers.size()) < wanted->lsaBarrierCount)
      barriers.push_back(std::make_unique<std::barrier<>>(ranks));
  });
  if (!together) return ncclSystemError;
  const std::lock_guard lock(mutex);
  networks.push_back(together);
  *result = {rank, ranks, node, static_cast<ShimNetwork*>(together.get())};
  return ncclSuccess;
}
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm*) {
  return ncclSuccess;
}

void* shim_address(ncclWindow_t window, std::size_t offset, int rank) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= window->all->memory.size())
    out_of_range("there is no such rank");
  if (offset >= window->all->bytes) out_of_range("an address outside of the window");
  return window->all->memory[static_cast<std::size_t>(rank)] + offset;
}
void* ncclGetLocalPointer(ncclWindow_t window, std::size_t offset) {
  return shim_address(window, offset, window->rank);
}
void* ncclGetLsaPointer(ncclWindow_t window, std::size_t offset, int lsa_rank) {
  if (lsa_rank < 0 || lsa_rank >= window->node) out_of_range("a rank of another node has no address here");
  return shim_address(window, offset, window->rank / window->node * window->node + lsa_rank);
}

void* shim_everywhere(ncclWindow_t window, std::size_t offset) {
  shim_address(window, offset, 0);
  return window->all->everywhere.get() + offset;
}
void* shim_one_of(const void* everywhere, int k) {
  const char* const address = static_cast<const char*>(everywhere);
  const std::lock_guard lock(windows_mutex);
  for (const auto& windows : all_windows)
    if (address >= windows->everywhere.get() && address < windows->everywhere.get() + windows->bytes)
      return static_cast<std::size_t>(k) < windows->memory.size()
                 ? windows->memory[static_cast<std::size_t>(k)] + (address - windows->everywhere.get())
                 : nullptr;
  out_of_range("an address that stands for none");
}
void shim_lsa_barrier(const ncclDevComm* comm, unsigned index) {
  if (index >= comm->network->barriers.size()) out_of_range("a barrier that was not asked for");
  comm->network->barriers[index]->arrive_and_wait();
}

void shim_put(const ncclDevComm* comm, int peer, void* to, const void* from, std::size_t bytes, long signal) {
  auto& signals = comm->network->signals.at(static_cast<std::size_t>(peer));
  if (signal >= static_cast<long>(signals.size())) out_of_range("a signal that was not asked for");
  static const bool early = std::getenv("CHORALE_SHIM_EARLY_SIGNALS") != nullptr;
  const auto raise = [&signals, signal] {
    if (signal >= 0) signals[static_cast<std::size_t>(signal)].fetch_add(1, std::memory_order_release);
  };
  if (early) raise();
  comm->network->wires[static_cast<std::size_t>(comm->rank)].send([=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
    if (!early) raise();
  });
}
std::uint64_t shim_signal(const ncclDevComm* comm, long signal) {
  auto& signals = comm->network->signals[static_cast<std::size_t>(comm->rank)];
  if (signal >= static_cast<long>(signals.size())) out_of_range("a signal that was not asked for");
  return signals[static_cast<std::size_t>(signal)].load(std::memory_order_acquire);
}
