#include "cost/busbw.h"

#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <string_view>

namespace chorale {
namespace {

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_allreduce(const std::string& name) {
  return is_any_of(name, {"allreduce", "allreduce_by_gather"});
}

bool is_of_blocks(const std::string& name) {
  return is_any_of(name, {"allgather", "reducescatter", "alltoall", "gather", "scatter"});
}

}  // namespace

int blocks_of(const std::string& collective, int ranks) {
  return is_of_blocks(collective) ? ranks : 1;
}

double busbw_factor(const std::string& collective, int ranks) {
  assert(ranks >= 1);
  const double others = (ranks - 1.0) / ranks;
  return is_allreduce(collective) ? 2 * others : is_of_blocks(collective) ? others : 1.0;
}

double algbw(double size_bytes, double time_us) {
  return time_us > 0 ? size_bytes / time_us / 1e3 : 0;
}

double busbw(const std::string& collective, int ranks, double size_bytes, double time_us) {
  return algbw(size_bytes, time_us) * busbw_factor(collective, ranks);
}

}  // namespace chorale
