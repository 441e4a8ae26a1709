// FNV-1a of 64 bits (Fowler, Noll, Vo): what tells texts and numbers apart that nobody has chosen to be
// alike. C++17, and is copied into emitted programs.
#pragma once

#include <cstdint>
#include <string_view>

namespace chorale {

constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325u;  // of nothing

constexpr std::uint64_t fnv_with(std::uint64_t hash, std::uint64_t word) {
  return (hash ^ word) * 0x100000001b3u;
}

// Of a text after all that has made `hash`, so the order of texts counts.
constexpr std::uint64_t fnv_of(std::string_view text, std::uint64_t hash = kFnvBasis) {
  for (const char c : text) hash = fnv_with(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace chorale
