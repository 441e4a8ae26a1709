// Enumeration splits the fan-out of one level after the other among the axes, and gives up by the number of
// visits, not of matrices: conditions can leave few of very many. The SAT search is a second, independent
// method for the same set: a product of factors is not a sum, so the memory conditions are learnt from
// matrices that break them.
#include "placement/matrices.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "encoder/matrix_encoding.h"
#include "ir/error.h"

namespace chorale {
namespace {

// Eight axes of 8 on eight levels of 8 have more matrices than could be listed in a year.
constexpr std::size_t kMostMatrices = 1'000'000;
constexpr long long kMostVisits = 200'000'000;  // about a second

[[noreturn]] void refuse_too_many() {
  throw InputError("axes", fmt::format("there are over {} placements", kMostMatrices),
                   "join some axes, or keep some inside a level (--inside)");
}

// A unit of the level holds a shard for each position of these axes at levels further in: the product of
// their factors there.
bool meets(const ParallelismMatrix& matrix, const Conditions::Memory& memory) {
  double shards = 1;
  for (int axis : memory.axes)
    for (std::size_t j = static_cast<std::size_t>(memory.level) + 1; j < matrix.factors[axis].size(); ++j)
      shards *= matrix.factors[axis][j];
  return shards * memory.shard_bytes <= memory.capacity_bytes;
}

// Nowhere is the inner axis split at a level outside of one at which the outer axis is.
bool meets(const ParallelismMatrix& matrix, const Conditions::Order& order) {
  const std::vector<int>&inner = matrix.factors[order.inner], &outer = matrix.factors[order.outer];
  for (std::size_t j = 0; j < inner.size(); ++j)
    for (std::size_t k = j + 1; k < outer.size(); ++k)
      if (inner[j] > 1 && outer[k] > 1) return false;
  return true;
}

// The axis has factor 1 at the level and at all outside of it.
bool meets(const ParallelismMatrix& matrix, const Conditions::Inside& inside) {
  for (int j = 0; j <= inside.level; ++j)
    if (matrix.factors[inside.axis][j] > 1) return false;
  return true;
}

}  // namespace

void require_fitting_axes(const Hierarchy& hierarchy, const std::vector<Axis>& axes) {
  long long product = 1;
  for (const Axis& axis : axes) product = std::min(product * axis.size, 1LL << 32);
  if (product != devices(hierarchy))
    throw InputError(
        "axes",
        fmt::format("multiply to {}, but {} has {} devices", product, hierarchy.name, devices(hierarchy)),
        "change an axis, or add one for the rest");
}

// A level that one axis splits, or none, has one order only. The list grows by the product over levels of
// the factorials of the axes that split them.
std::vector<ParallelismMatrix> in_all_orders(const ParallelismMatrix& matrix,
                                             const std::vector<bool>& levels) {
  std::vector<ParallelismMatrix> result = {matrix};
  for (std::size_t j = 0; j < levels.size(); ++j) {
    std::vector<int> split, whole;
    for (int i = 0; i < static_cast<int>(matrix.factors.size()); ++i)
      (matrix.factors[i][j] > 1 ? split : whole).push_back(i);
    if (split.size() < 2 || !levels[j]) continue;
    std::vector<ParallelismMatrix> next;
    for (const ParallelismMatrix& one : result) {
      next.push_back(one);
      std::vector<int> order = split;
      while (std::next_permutation(order.begin(), order.end())) {
        next.push_back(one);
        if (next.back().orders.empty())
          for (std::size_t k = 0; k < levels.size(); ++k)
            next.back().orders.push_back(order_of(matrix, static_cast<int>(k)));
        next.back().orders[j] = order;
        next.back().orders[j].insert(next.back().orders[j].end(), whole.begin(), whole.end());
      }
    }
    result = std::move(next);
  }
  return result;
}

bool obeys(const ParallelismMatrix& matrix, const Conditions& conditions) {
  const auto obeyed = [&](const auto& condition) { return meets(matrix, condition); };
  return std::all_of(conditions.inside.begin(), conditions.inside.end(), obeyed) &&
         std::all_of(conditions.order.begin(), conditions.order.end(), obeyed) &&
         std::all_of(conditions.memory.begin(), conditions.memory.end(), obeyed);
}

std::vector<ParallelismMatrix> all_matrices(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                                            const Conditions& conditions) {
  require_fitting_axes(hierarchy, axes);
  const std::size_t levels = hierarchy.levels.size();
  std::vector<ParallelismMatrix> found;
  ParallelismMatrix matrix{.factors = std::vector(axes.size(), std::vector<int>(levels, 1))};
  std::vector<int> left;  // of each axis, to be split over the levels to come
  for (const Axis& axis : axes) left.push_back(axis.size);
  // An axis that stays inside has factor 1 on the levels before.
  std::vector<std::size_t> first_level(axes.size(), 0);
  for (const Conditions::Inside& inside : conditions.inside)
    first_level[inside.axis] = std::max(first_level[inside.axis], static_cast<std::size_t>(inside.level) + 1);
  long long visits = 0;
  // Chooses the factor of an axis at a level. It divides what is left of the level's fan-out (`rest`) and of
  // the axis (`left`). So a column is right if its level ends with a rest of 1, and a row since the last
  // level takes all that is left of its axis.
  const std::function<void(std::size_t, std::size_t, int)> fill = [&](std::size_t level, std::size_t axis,
                                                                      int rest) {
    if (level == levels) {
      if (obeys(matrix, conditions)) found.push_back(matrix);
      if (found.size() > kMostMatrices) refuse_too_many();
      return;
    }
    if (axis == axes.size()) {
      if (rest == 1) fill(level + 1, 0, level + 1 < levels ? hierarchy.levels[level + 1].fan_out : 1);
      return;
    }
    const int most = level < first_level[axis] ? 1 : std::min(rest, left[axis]);
    // Counted in factors that are tried, so that a search that finds nothing ends as well.
    if ((visits += most) > kMostVisits) refuse_too_many();
    for (int factor = 1; factor <= most; ++factor) {
      if (rest % factor != 0 || left[axis] % factor != 0) continue;
      if (level + 1 == levels && factor != left[axis]) continue;
      matrix.factors[axis][level] = factor;
      left[axis] /= factor;
      fill(level, axis + 1, rest / factor);
      left[axis] *= factor;
    }
    matrix.factors[axis][level] = 1;
  };
  fill(0, 0, hierarchy.levels.front().fan_out);
  std::sort(found.begin(), found.end());
  return found;
}

SolvedMatrices solve_matrices(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                              const Conditions& conditions, SatSolver& solver, const SolveLimits& limits) {
  require_fitting_axes(hierarchy, axes);
  const MatrixEncoding encoding(hierarchy, axes, conditions);
  solver.add(encoding.formula());
  SolvedMatrices found;
  while (true) {
    ++found.calls;
    const Verdict verdict = solver.solve({}, limits);
    if (verdict != Verdict::Sat) {
      found.complete = verdict == Verdict::Unsat;
      break;
    }
    const auto value = [&](Lit variable) { return solver.value(variable); };
    const ParallelismMatrix matrix = encoding.decode(value);
    // Memory is learnt from what breaks it. Excluded are all matrices whose factors inside are multiples of
    // these: this one, so that the loop ends, and others that need as much or more.
    bool fits = true;
    for (const Conditions::Memory& memory : conditions.memory)
      if (!meets(matrix, memory)) {
        solver.add(encoding.no_larger_inside(matrix, memory.axes, memory.level));
        fits = false;
      }
    if (!fits) continue;
    solver.add(encoding.another(matrix));
    found.matrices.push_back(matrix);
    if (found.matrices.size() > kMostMatrices) refuse_too_many();
  }
  std::sort(found.matrices.begin(), found.matrices.end());
  return found;
}

}  // namespace chorale
