// The bytes that a program moves between a cache and memory: what -fsanitize=thread calls at each load and
// store, in place of its library. Each thread has a cache of its own, of CHORALE_CACHE bytes in lines of 64,
// 16 to a set, of which the least recently used goes. A line that is loaded is read from memory, one that is
// stored to is written when it goes; stores read nothing. Linked with --wrap=memcpy,--wrap=memmove.
#include "counter.h"

#include <cstdint>
#include <cstring>
#include <vector>

#ifndef CHORALE_CACHE
#define CHORALE_CACHE (32 << 10)
#endif

namespace {

constexpr std::uintptr_t kLine = 64, kWays = 16, kSets = CHORALE_CACHE / kLine / kWays;

struct Line {
  std::uintptr_t number = 0;
  std::uint64_t used = 0;
  bool here = false, dirty = false;
};
struct Cache {
  std::vector<Line> lines{kSets * kWays};
  std::uint64_t now = 0;
  MemoryBytes bytes = {};
};
thread_local Cache* cache = nullptr;

void touch(std::uintptr_t number, bool stores) {
  Line* const set = cache->lines.data() + number % kSets * kWays;
  Line* oldest = set;
  for (Line* line = set; line < set + kWays; ++line) {
    if (line->here && line->number == number) {
      line->used = ++cache->now;
      line->dirty |= stores;
      return;
    }
    if (line->used < oldest->used) oldest = line;
  }
  if (oldest->dirty) cache->bytes.written += kLine;
  if (!stores) cache->bytes.read += kLine;
  *oldest = {number, ++cache->now, true, stores};
}
inline void access(const void* at, std::size_t bytes, bool stores) {
  if (cache == nullptr || bytes == 0) return;
  const auto first = reinterpret_cast<std::uintptr_t>(at);
  for (std::uintptr_t line = first / kLine; line <= (first + bytes - 1) / kLine; ++line) touch(line, stores);
}

}  // namespace

void start_counting() {
  cache = new Cache;
}
MemoryBytes counted_bytes() {
  Cache* const ended = cache;
  cache = nullptr;
  for (const Line& line : ended->lines)
    if (line.dirty) ended->bytes.written += kLine;
  const MemoryBytes bytes = ended->bytes;
  delete ended;
  return bytes;
}

extern "C" {

void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  access(from, bytes, false);
  access(to, bytes, true);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  access(from, bytes, false);
  access(to, bytes, true);
  return __real_memmove(to, from, bytes);
}

#define ACCESS(bytes)                            \
  void __tsan_read##bytes(void* at) {            \
    access(at, bytes, false);                    \
  }                                              \
  void __tsan_write##bytes(void* at) {           \
    access(at, bytes, true);                     \
  }                                              \
  void __tsan_unaligned_read##bytes(void* at) {  \
    access(at, bytes, false);                    \
  }                                              \
  void __tsan_unaligned_write##bytes(void* at) { \
    access(at, bytes, true);                     \
  }                                              \
  void __tsan_volatile_read##bytes(void* at) {   \
    access(at, bytes, false);                    \
  }                                              \
  void __tsan_volatile_write##bytes(void* at) {  \
    access(at, bytes, true);                     \
  }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16) void __tsan_read_range(void* at, std::size_t bytes) {
  access(at, bytes, false);
}
void __tsan_write_range(void* at, std::size_t bytes) {
  access(at, bytes, true);
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}

#define ATOMIC(bits, T)                                                                        \
  T __tsan_atomic##bits##_load(const volatile T* at, int) {                                    \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
  }                                                                                            \
  void __tsan_atomic##bits##_store(volatile T* at, T x, int) {                                 \
    __atomic_store_n(at, x, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                            \
  T __tsan_atomic##bits##_exchange(volatile T* at, T x, int) {                                 \
    return __atomic_exchange_n(at, x, __ATOMIC_SEQ_CST);                                       \
  }                                                                                            \
  T __tsan_atomic##bits##_fetch_add(volatile T* at, T x, int) {                                \
    return __atomic_fetch_add(at, x, __ATOMIC_SEQ_CST);                                        \
  }                                                                                            \
  T __tsan_atomic##bits##_fetch_sub(volatile T* at, T x, int) {                                \
    return __atomic_fetch_sub(at, x, __ATOMIC_SEQ_CST);                                        \
  }                                                                                            \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* old, T x, int, int) {   \
    return __atomic_compare_exchange_n(at, old, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                            \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* old, T x, int, int) {     \
    return __atomic_compare_exchange_n(at, old, x, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
  }
ATOMIC(8, std::uint8_t)
ATOMIC(32, std::uint32_t) ATOMIC(64, std::uint64_t) void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
}
