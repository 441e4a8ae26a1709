// hwloc's logical numbers go through the machine socket by socket; the system's (those of sched_getaffinity)
// may alternate between sockets. The process keeps its binding, so it is determined once; a machine that
// hwloc cannot read has core 0 for all, and ranks of a host stay in the order of their numbers.
#include "preload/bound_cores.h"

#ifdef CHORALE_HWLOC
#include <hwloc.h>
#endif

namespace chorale {
namespace {

#ifdef CHORALE_HWLOC
std::uint64_t asked() {
  hwloc_topology_t machine = nullptr;
  if (hwloc_topology_init(&machine) != 0) return 0;
  std::uint64_t first = 0;
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  // Nothing but the cores' numbers is wanted: devices and caches take time to find.
  if (allowed != nullptr && hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
      hwloc_topology_load(machine) == 0 && hwloc_get_cpubind(machine, allowed, HWLOC_CPUBIND_PROCESS) == 0 &&
      !hwloc_bitmap_iszero(allowed))
    if (const hwloc_obj_t core =
            hwloc_get_next_obj_inside_cpuset_by_type(machine, allowed, HWLOC_OBJ_PU, nullptr))
      first = core->logical_index;
  hwloc_bitmap_free(allowed);
  hwloc_topology_destroy(machine);
  return first;
}
#else
std::uint64_t asked() {
  return 0;
}
#endif

}  // namespace

std::uint64_t first_bound_core() {
  static const std::uint64_t core = asked();
  return core;
}

}  // namespace chorale
