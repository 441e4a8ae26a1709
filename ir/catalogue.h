// What is known by name, as it is listed.
#pragma once

#include <string>

#include "ir/frontier.h"

namespace chorale {

// Machines, with and without levels.
struct CatalogueEntry {
  std::string pattern = {};      // "ring:n"
  std::string description = {};  // one line
  std::string example = {};      // a name of this kind
};

// Baseline algorithms.
struct ClassicEntry {
  Method method = Method::Direct;
  CollectiveKind collective = CollectiveKind::Custom;
  std::string description = {};  // one line
  bool of_nccl = false;          // NCCL performs the collective so
  bool is_pipelined = false;     // more chunks take more steps and fewer rounds per chunk
  bool is_sliced = false;        // so do more slices
};

}  // namespace chorale
