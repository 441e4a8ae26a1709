// Counts the bytes between this thread's cache and memory (counter.cpp).
#pragma once

#include <cstdint>

struct MemoryBytes {
  std::int64_t read = 0, written = 0;
};

void start_counting();        // with an empty cache
MemoryBytes counted_bytes();  // since then; ends it
