// Alltoall on machines of rows and columns, of any size.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "ir/collective.h"
#include "ir/schedule.h"
#include "ir/topology.h"

namespace chorale {

// A machine whose ranks, x * row.ranks + y, are linked as in `row` where x is the same, as in `column` where
// y is, and not otherwise. Links by that of the part and by the row or column.
struct Product {
  Topology column = {};
  Topology row = {};
  std::vector<std::vector<LinkId>> column_links = {};
  std::vector<std::vector<LinkId>> row_links = {};
};
// With sides as equal as there are; none if the machine is none, or has shared limits or switches.
std::optional<Product> as_product(const Topology&);

// Returns an Alltoall composed of Alltoalls with `each` chunks per pair (1 or 2) on the row and on the
// column. In as many rounds as the bound where both meet theirs, both sides are equal, and sides times
// chunks are multiples of 2 * each (meshes, tori, hypercubes); in the steps of both.
Schedule alltoall_on(const Product&, int chunks, int each, const Schedule& on_column, const Schedule& on_row);

// One, of an Alltoall on a product, whose rows and columns are constructed by themselves; none elsewhere, or
// when stopped.
std::vector<Schedule> product_alltoall(const Topology&, const Collective&,
                                       const std::atomic<bool>* stop = nullptr);

}  // namespace chorale
