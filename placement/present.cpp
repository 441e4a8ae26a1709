// An order is laid over the levels from the inside out: the fastest axis takes what it can of the innermost
// level, the next one what is left of it. Over 2 nodes of 8 GPUs, "data,tensor" with 4 of each puts all of
// tensor inside of a node, and of data 2 inside and 2 between nodes. A list of devices is recognized by
// comparing it with every matrix in every order of axes inside of the levels.
#include "placement/present.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "ir/error.h"
#include "ir/words.h"
#include "placement/matrices.h"
#include "placement/synthesis_hierarchy.h"

namespace chorale {
namespace {

// Devices times matrices that a list is compared with.
constexpr long long kMostCompared = 200'000'000;

std::vector<std::string> split_at(std::string text, char separator) {
  std::erase(text, ' ');
  return split(text, separator);
}

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw InputError(where, problem,
                   "give the order of the axes (data,tensor: the last is the fastest; tensor-data as "
                   "Megatron has it), or the device of each rank");
}

// Axes, the slowest first. One of size 1 that is not named can stand anywhere, and is put in front.
std::vector<int> axes_in_order(const std::vector<Axis>& axes, const std::vector<std::string>& names,
                               const std::string& where) {
  std::vector<int> order;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(axes, name, &Axis::name);
    if (at == axes.end()) refuse(where, "'" + name.substr(0, 60) + "' is not an axis");
    order.push_back(static_cast<int>(at - axes.begin()));
    if (std::ranges::count(order, order.back()) > 1)
      refuse(where, "names '" + name.substr(0, 60) + "' twice");
  }
  for (int i = static_cast<int>(axes.size()) - 1; i >= 0; --i)
    if (std::ranges::find(order, i) == order.end()) {
      if (axes[i].size > 1) refuse(where, "does not name the axis '" + axes[i].name + "'");
      order.insert(order.begin(), i);
    }
  return order;
}

// An axis takes the greatest common divisor of what is left of it and of the level. If that is all of
// neither, the order cuts the level across, and no matrix of factors says so.
ParallelismMatrix by_order(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                           const std::vector<int>& order, const std::string& where) {
  const std::size_t levels = hierarchy.levels.size();
  ParallelismMatrix matrix{.factors = std::vector(axes.size(), std::vector(levels, 1)),
                           .orders = std::vector(levels, order)};
  std::size_t j = levels;
  int room = 1;  // of level j, what is left
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis)
    for (int left = axes[*axis].size; left > 1;) {
      while (room == 1 && j > 0) room = hierarchy.levels[--j].fan_out;
      const int taken = std::gcd(left, room);
      // All that is left of the axis, or of the level.
      if (taken != left && taken != room)
        throw InputError(where,
                         fmt::format("axis {} would take {} of {} at the level {}", axes[*axis].name, left,
                                     room, hierarchy.levels[j].name),
                         "placements are of factors of the axes over the levels");
      matrix.factors[*axis][j] *= taken;
      left /= taken;
      room /= taken;
    }
  return matrix;
}

// Rank r of the job is at position r of the mesh of all axes; device lists are compared with
// devices_of_mesh().
ParallelismMatrix by_devices(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                             const std::vector<std::string>& words, const std::string& where) {
  std::vector<int> listed;
  for (const std::string& word : words) {
    if (word.empty() || word.size() > 8 || !std::ranges::all_of(word, ::isdigit))
      refuse(where, "'" + word.substr(0, 60) + "' is not a device");
    listed.push_back(std::stoi(word));
  }
  std::vector<int> sorted = listed;
  std::ranges::sort(sorted);
  for (std::size_t n = 0; n < sorted.size(); ++n)
    if (sorted[n] != static_cast<int>(n) || sorted.size() != static_cast<std::size_t>(devices(hierarchy)))
      throw InputError(where,
                       fmt::format("does not list each of {} once", counted(devices(hierarchy), "device")),
                       "give the device of rank 0, of rank 1, and so on");
  const std::vector<bool> all_levels(hierarchy.levels.size(), true);
  long long compared = 0;
  for (const ParallelismMatrix& matrix : all_matrices(hierarchy, axes))
    for (const ParallelismMatrix& each : in_all_orders(matrix, all_levels)) {
      compared += std::ssize(listed);
      if (compared > kMostCompared)
        throw InputError(where, "is a list, and there are too many placements to compare it with",
                         "give the order of the axes");
      if (devices_of_mesh(each) == listed) return each;
    }
  throw InputError(where, "is not a placement of axes over levels, which is what can be priced",
                   "each axis takes a factor of each level, in one order of axes inside of the level");
}

// Orders count only where several axes split a level.
// So that a placement that is the same as a matrix in its usual order compares equal to it.
ParallelismMatrix without_idle_orders(ParallelismMatrix matrix) {
  bool given = true;
  for (std::size_t j = 0; j < matrix.orders.size(); ++j) {
    std::vector<int> split;
    for (const int axis : matrix.orders[j])
      if (matrix.factors[axis][j] > 1) split.push_back(axis);
    if (std::ranges::is_sorted(split)) std::ranges::sort(matrix.orders[j]);
    given = given && std::ranges::is_sorted(matrix.orders[j]);
  }
  if (given) matrix.orders.clear();
  return matrix;
}

}  // namespace

ParallelismMatrix read_present(const Hierarchy& hierarchy, const std::vector<Axis>& axes,
                               const std::string& text, const std::string& where) {
  require_fitting_axes(hierarchy, axes);
  if (text.empty()) refuse(where, "is empty");
  if (text.find_first_not_of("0123456789, ") == std::string::npos)
    return without_idle_orders(by_devices(hierarchy, axes, split_at(text, ','), where));
  // A single name is an order as well, and may have a - in it.
  const bool whole = std::ranges::find(axes, text, &Axis::name) != axes.end();
  const bool fastest_first = !whole && text.find(',') == std::string::npos;
  std::vector<int> order = axes_in_order(axes, split_at(text, fastest_first ? '-' : ','), where);
  if (fastest_first) std::ranges::reverse(order);
  return without_idle_orders(by_order(hierarchy, axes, order, where));
}

}  // namespace chorale
