// Every operation is a function that makes one element on one rank: it reads elements, and what it makes is written to
// the memory of the ranks that are to have it. A unit (a kernel, or an operation by itself) goes through its elements on
// all ranks in a shuffled order. Of each element all operations of the kernel are done before the next one begins, with
// values in registers, which are empty when it begins: so a kernel that needs what another of its elements makes finds
// nothing, in whatever order they come, and that is an error instead of a wrong number. Units that are overlapped have
// all their elements in one such order; an element that reads what another unit has not made yet is put back.
//
// Memory remembers how often each element was written: not yet, once, or again by the update of an input. A read says
// which of the two it is meant for, and so one that comes after an update that should have come after it is found, as
// one that comes too early is.
//
// This is as slow as it looks: nothing is vectorized, hoisted or skipped. It shares the nouns with what it judges, and
// nothing else.
#include "semantics/workload_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

namespace chorale {
namespace {

using Sides = std::vector<std::int64_t>;

// What a rank has of a tensor: along one dimension, of `side` places with `inner` elements in each, those from `begin`
// on.
struct Holding {
  std::int64_t side = 1, inner = 1;
  std::int64_t begin = 0, length = 0;

  // Where an element of the tensor lies in it; -1: nowhere.
  std::int64_t place(std::int64_t element) const {
    const std::int64_t along = element / inner % side - begin;
    if (along < 0 || along >= length) return -1;
    return (element / inner / side * length + along) * inner + element % inner;
  }
  bool operator==(const Holding&) const = default;
};

int world(const Workload& workload) {
  return workload.ranks * workload.groups;
}

// The first rank of those among which a tensor of the type is laid out that is on `rank`, too.
int first_peer(const Workload& workload, const TensorType& type, int rank) {
  return type.scope == Scope::World ? 0 : rank / workload.ranks * workload.ranks;
}

Holding held(const Workload& workload, const TensorType& type, int rank) {
  const std::int64_t all = elements(type);
  const int group = rank / workload.ranks;
  if (type.scope == Scope::Group && (group < type.first_group || group > type.last_group))
    return {.inner = all};
  const int within = rank - first_peer(workload, type, rank);
  if (type.layout.kind == LayoutKind::Rooted && within != type.layout.root) return {.inner = all};
  if (type.layout.kind != LayoutKind::Sliced) return {.inner = all, .length = 1};
  Holding holding{.side = all};
  if (type.layout.dim != kFlat) {
    holding.side = type.shape.at(type.layout.dim).value;
    for (std::size_t d = type.layout.dim + 1; d < type.shape.size(); ++d)
      holding.inner *= type.shape[d].value;
  }
  const int ranks = ranks_of(workload, type);
  holding.begin = part_begin(holding.side, ranks, within);
  holding.length = part_begin(holding.side, ranks, within + 1) - holding.begin;
  return holding;
}

std::int64_t size(const TensorType& type, const Holding& holding) {
  return elements(type) / holding.side * holding.length;
}

Sides sides_of(const TensorType& type) {
  Sides sides;
  for (const Extent& extent : type.shape) sides.push_back(extent.value);
  return sides;
}

// The element of a tensor with sides `of` that is read for an element of one with sides `in`, to which it broadcasts:
// dimensions are those counted from the last one, and a side of 1 is read again and again.
std::int64_t aligned(const Sides& in, std::int64_t element, const Sides& of) {
  std::int64_t aligned_element = 0, stride = 1;
  for (std::size_t back = 1; back <= of.size(); ++back) {
    const std::int64_t along = element % in[in.size() - back];
    element /= in[in.size() - back];
    const std::int64_t side = of[of.size() - back];
    aligned_element += (side == 1 ? 0 : along) * stride;
    stride *= side;
  }
  return aligned_element;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// std::shuffle gives another order in another library.
template <typename T>
void shuffle(std::vector<T>& list, std::mt19937_64& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random() % i]);
}

class WorkloadMachine {
 public:
  WorkloadMachine(const Workload& workload, const WorkloadState& inputs, const WorkloadRunOptions& options)
      : workload_(workload), world_(world(workload)), seed_(options.seed), random_(options.order) {
    for (const Operation& op : workload.operations) declare(op);
    make_units();
    for (const Value& value : values_) {
      if (value.op->kind == OperationKind::Input) load(value, inputs);
      if (is_number_of_ranks(value.op->kind)) number_ranks(value);
    }
  }

  WorkloadRun run() {
    WorkloadRun run;
    for (std::size_t first = 0, next; first < units_.size(); first = next) {
      next = first + 1;
      while (!units_[first].overlap.empty() && next < units_.size() &&
             units_[next].overlap == units_[first].overlap)
        ++next;
      do_together(first, next);
      for (std::size_t u = first; u < next; ++u) run.traffic.push_back(traffic(units_[u]));
    }
    for (const Value& value : values_)
      if (value.op->kind == OperationKind::Input)
        run.state.tensors[value.op->name] = contents(value, updated_.contains(value.memory) ? 2 : 1);
    for (const std::string& name : workload_.outputs) {
      const Value& value = values_[number(name)];
      if (value.op->kind != OperationKind::Input) run.state.tensors[name] = contents(value, value.written);
    }
    return run;
  }

 private:
  // The result of an operation.
  struct Value {
    const Operation* op = nullptr;
    Sides sides = {};
    std::vector<Holding> holdings = {};            // by rank of the world
    std::vector<int> operands = {};                // numbers of values
    std::vector<std::vector<int>> receivers = {};  // by rank: the ranks whose memory gets what it makes
    int memory = -1;
    char written = 1;  // how often an element is, when it is this
    int unit = -1;     // that makes it
    bool kept = true;  // or only in registers
  };
  struct Memory {
    RankValues contents = {};
    std::vector<std::vector<char>> written = {};  // how often
  };
  struct Unit {
    std::string name = {}, kernel = {}, overlap = {};
    std::vector<int> operations = {};
    Sides sides = {};             // of the elements that it goes through
    std::vector<int> tasks = {};  // by rank, that are not done
    // By memory and rank: which elements were read and written.
    std::vector<std::vector<char>> reads = {}, writes = {};
  };
  // Elements of a unit on a rank; those before `next` are done.
  struct Task {
    int unit = 0, rank = 0;
    std::int64_t next = 0, end = 0;
  };
  struct Register {
    bool full = false;
    std::int64_t element = 0;
    double value = 0;
  };
  struct Read {
    int reader = 0, value = 0, rank = 0;  // values: the one that is made, and what it is made of
    std::int64_t element = 0;
  };
  struct Write {
    int value = 0, rank = 0;
    std::int64_t element = 0;
    double number = 0;
  };

  [[noreturn]] void fail(const Read& read, const std::string& why) const {
    throw std::logic_error(fmt::format("{} reads element {} of {} on rank {}, {}",
                                       values_[read.reader].op->name, read.element,
                                       values_[read.value].op->name, read.rank, why));
  }

  int number(const std::string& name) const {
    for (std::size_t v = 0; v < values_.size(); ++v)
      if (values_[v].op->name == name) return static_cast<int>(v);
    throw std::logic_error("there is no operation " + name + " before it is read");
  }

  void declare(const Operation& op) {
    Value value{.op = &op, .sides = sides_of(op.type)};
    for (int rank = 0; rank < world_; ++rank) value.holdings.push_back(held(workload_, op.type, rank));
    for (const std::string& operand : op.operands) {
      value.operands.push_back(number(operand));
      const Value& read = values_[value.operands.back()];
      if (updated_.contains(read.memory) && read.written == 1)
        throw std::logic_error(op.name + " reads " + operand + " after its update");
    }
    if (!op.updates.empty()) {
      const Value& input = values_[number(op.updates)];
      if (input.op->kind != OperationKind::Input || input.op->type.element != op.type.element ||
          input.sides != value.sides || input.holdings != value.holdings)
        throw std::logic_error(op.name + " updates what is not of its type, or no input");
      if (!updated_.insert(input.memory).second) throw std::logic_error(op.updates + " is updated twice");
      value.memory = input.memory;
      value.written = 2;
    } else {
      value.memory = static_cast<int>(memories_.size());
      Memory& memory = memories_.emplace_back();
      for (const Holding& holding : value.holdings) {
        memory.contents.emplace_back(size(op.type, holding));
        memory.written.emplace_back(size(op.type, holding));
      }
    }
    for (int rank = 0; rank < world_; ++rank) value.receivers.push_back(receivers(value, rank));
    values_.push_back(std::move(value));
  }

  std::vector<int> receivers(const Value& value, int rank) const {
    const Operation& op = *value.op;
    if (op.kind == OperationKind::Send) {
      const int to = rank + op.shift * workload_.ranks;
      return to >= 0 && to < world_ && value.holdings[to].length > 0 ? std::vector{to} : std::vector<int>{};
    }
    if (op.kind != OperationKind::AllGather && op.kind != OperationKind::Broadcast) return {rank};
    std::vector<int> peers(ranks_of(workload_, op.type));
    std::iota(peers.begin(), peers.end(), first_peer(workload_, op.type, rank));
    return peers;
  }

  void make_units() {
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const Operation& op = *values_[v].op;
      if (op.kind <= OperationKind::Ranks) continue;
      if (units_.empty() || op.kernel.empty() || units_.back().kernel != op.kernel)
        units_.push_back(
            {.name = op.kernel.empty() ? op.name : op.kernel, .kernel = op.kernel, .overlap = op.overlap});
      values_[v].unit = static_cast<int>(units_.size()) - 1;
      units_.back().operations.push_back(static_cast<int>(v));
    }
    for (Unit& unit : units_)
      for (int v : unit.operations) {
        values_[v].kept = unit.kernel.empty() || is_needed_outside(v);
        widen(unit.sides, work_sides(v));
      }
  }

  bool is_needed_outside(int v) const {
    const Value& value = values_[v];
    if (!value.op->updates.empty() || std::ranges::count(workload_.outputs, value.op->name) > 0) return true;
    return std::ranges::any_of(values_, [&](const Value& reader) {
      return reader.unit != value.unit && std::ranges::count(reader.operands, v) > 0;
    });
  }

  static void widen(Sides& sides, const Sides& by) {
    if (sides.size() < by.size()) sides.insert(sides.begin(), by.size() - sides.size(), 1);
    for (std::size_t back = 1; back <= by.size(); ++back) {
      std::int64_t& side = sides[sides.size() - back];
      const std::int64_t other = by[by.size() - back];
      if (side != other && side != 1 && other != 1)
        throw std::logic_error("a kernel of operations whose shapes do not broadcast to one");
      side = std::max(side, other);
    }
  }

  void load(const Value& input, const WorkloadState& inputs) {
    const auto given = inputs.tensors.find(input.op->name);
    if (given == inputs.tensors.end()) throw std::logic_error("there is no input " + input.op->name);
    whole(workload_, input.op->type, given->second);  // of the right sizes; replicas are the same
    for (const std::vector<double>& of_rank : given->second)
      for (double x : of_rank)
        if (!same(rounded(input.op->type.element, x), x))
          throw std::logic_error(
              fmt::format("input {}: {} is no {}", input.op->name, x, short_name(input.op->type.element)));
    Memory& memory = memories_[input.memory];
    memory.contents = given->second;
    for (std::vector<char>& of_rank : memory.written) std::ranges::fill(of_rank, 1);
  }

  static bool is_number_of_ranks(OperationKind kind) {
    return kind == OperationKind::Rank || kind == OperationKind::Group || kind == OperationKind::Ranks;
  }
  void number_ranks(const Value& value) {
    Memory& memory = memories_[value.memory];
    for (int rank = 0; rank < world_; ++rank) {
      const int number = value.op->kind == OperationKind::Rank    ? rank % workload_.ranks
                         : value.op->kind == OperationKind::Group ? rank / workload_.ranks
                                                                  : world_;
      std::ranges::fill(memory.contents[rank], number);
      std::ranges::fill(memory.written[rank], 1);
    }
  }

  // Of a value whose elements were all written so often.
  const RankValues& contents(const Value& value, char written) const {
    const Memory& memory = memories_[value.memory];
    for (int rank = 0; rank < world_; ++rank)
      if (std::ranges::count(memory.written[rank], written) != std::ssize(memory.written[rank]))
        throw std::logic_error(
            fmt::format("in the end {} is not all there on rank {}", value.op->name, rank));
    return memory.contents;
  }

  // --- What is done where ---

  // Operations that send on what a rank has, and reductions of it, are done where it is, and not where the result is.
  static bool works_where_its_operand_is(OperationKind kind) {
    return kind == OperationKind::AllGather || kind == OperationKind::Broadcast ||
           kind == OperationKind::Send || kind == OperationKind::ReduceTensor;
  }
  const Value& worked_on(int v) const {
    return works_where_its_operand_is(values_[v].op->kind) ? values_[values_[v].operands.at(0)] : values_[v];
  }
  const Sides& work_sides(int v) const { return worked_on(v).sides; }

  // --- Reading ---

  double read(int reader, int v, int rank, std::int64_t element) {
    const Read read{.reader = reader, .value = v, .rank = rank, .element = element};
    const Value& value = values_[v];
    if (value.unit >= 0 && value.unit == values_[reader].unit) {
      const Register& there = registers_[v];
      if (rank != rank_ || !there.full || there.element != element)
        fail(read, "which their kernel has not made with the same element");
      return there.value;
    }
    const std::int64_t place = value.holdings[rank].place(element);
    if (place < 0) fail(read, "which has none");
    const Memory& memory = memories_[value.memory];
    if (memory.written[rank][place] > value.written) fail(read, "which is updated already");
    if (memory.written[rank][place] < value.written) {
      if (!is_late_) late_ = read;
      is_late_ = true;
      return 0;
    }
    if (!is_number_of_ranks(value.op->kind))
      touch(units_[values_[reader].unit].reads, value.memory, rank, place);
    return memory.contents[rank][place];
  }

  void touch(std::vector<std::vector<char>>& touched, int memory, int rank, std::int64_t place) {
    std::vector<char>& of_rank = touched[memory * world_ + rank];
    if (of_rank.empty()) of_rank.resize(memories_[memory].written[rank].size());
    of_rank[place] = 1;
  }

  // --- What operations make of what they read ---

  double made(int v, int rank, std::int64_t element) {
    const Value& value = values_[v];
    switch (value.op->kind) {
      case OperationKind::Pointwise:
        pointwise_ = {.reader = v, .rank = rank, .element = element};
        return computed(value.op->expression, value.op->type.element, element, seed_, operand_);
      case OperationKind::MatMul:
        return matrix_product(v, rank, element);
      case OperationKind::Convolution:
        return convolved(v, rank, element);
      case OperationKind::ReduceTensor:
      case OperationKind::Slice:
      case OperationKind::AllGather:
      case OperationKind::Broadcast:
      case OperationKind::Send:
        return read(v, value.operands.at(0), rank, element);
      case OperationKind::AllReduce:
      case OperationKind::ReduceScatter:
      case OperationKind::Reduce:
        return sum_over_ranks(v, rank, element);
      case OperationKind::AllToAll:
        return exchanged(v, rank, element);
      default:
        throw std::logic_error(value.op->name + " is nothing that is done");
    }
  }

  double sum_over_ranks(int v, int rank, std::int64_t element) {
    const Operation& op = *values_[v].op;
    const int first = first_peer(workload_, op.type, rank), peers = ranks_of(workload_, op.type);
    double sum = read(v, values_[v].operands.at(0), first, element);
    for (int peer = first + 1; peer < first + peers; ++peer)
      sum = rounded(op.type.element, folded(op.type.element, op.reduction, sum,
                                            read(v, values_[v].operands.at(0), peer, element)));
    return sum;
  }

  // Part j of what rank i has becomes part i of what rank j has.
  double exchanged(int v, int rank, std::int64_t element) {
    const Value& value = values_[v];
    const int peers = ranks_of(workload_, value.op->type),
              first = first_peer(workload_, value.op->type, rank);
    const std::int64_t part = elements(value.op->type) / peers;
    const int from = first + static_cast<int>(element / part);
    return read(v, value.operands.at(0), from, (rank - first) * part + element % part);
  }

  // Over what of the inner dimension? All; or where both operands are cut along it, the part that the rank has.
  Holding summed(int v, std::size_t first_dim, std::size_t second_dim, int rank) const {
    const Value &a = values_[values_[v].operands.at(0)], &b = values_[values_[v].operands.at(1)];
    const auto is_cut = [](const Value& x, std::size_t dim) {
      return x.op->type.layout.kind == LayoutKind::Sliced && x.op->type.layout.dim == static_cast<int>(dim);
    };
    if (is_cut(a, first_dim) && is_cut(b, second_dim)) return a.holdings[rank];
    return {.begin = 0, .length = a.sides.at(first_dim)};
  }

  double matrix_product(int v, int rank, std::int64_t element) {
    const Value& value = values_[v];
    const int a = value.operands.at(0), b = value.operands.at(1);
    const Sides &left = values_[a].sides, &right = values_[b].sides;
    const ElementType type = value.op->type.element;
    const std::int64_t inner = left.back(), columns = right.back(), rows = left.at(left.size() - 2);
    const std::int64_t row = element / columns,
                       column = element % columns;  // of all matrices, one below the other
    const std::int64_t matrix = right.size() > 2 ? row / rows : 0;
    const Holding over = summed(v, left.size() - 1, right.size() - 2, rank);
    double sum = 0;
    for (std::int64_t k = over.begin; k < over.begin + over.length; ++k)
      sum = folded(type, ReduceOp::Sum, sum,
                   product(type, read(v, a, rank, row * inner + k),
                           read(v, b, rank, (matrix * inner + k) * columns + column)));
    return sum;
  }

  double convolved(int v, int rank, std::int64_t element) {
    const Value& value = values_[v];
    const int x = value.operands.at(0), w = value.operands.at(1);
    const Sides &image = values_[x].sides, &filter = values_[w].sides, &out = value.sides;
    const ElementType type = value.op->type.element;
    const std::int64_t column = element % out[3], row = element / out[3] % out[2];
    const std::int64_t o = element / out[3] / out[2] % out[1], n = element / out[3] / out[2] / out[1];
    const Holding over = summed(v, 1, 1, rank);
    double sum = 0;
    for (std::int64_t c = over.begin; c < over.begin + over.length; ++c)
      for (std::int64_t i = 0; i < filter[2]; ++i)
        for (std::int64_t j = 0; j < filter[3]; ++j) {
          const std::int64_t y = row * value.op->stride + i - value.op->padding;
          const std::int64_t z = column * value.op->stride + j - value.op->padding;
          if (y < 0 || y >= image[2] || z < 0 || z >= image[3]) continue;  // zeros around the image
          sum = folded(type, ReduceOp::Sum, sum,
                       product(type, read(v, x, rank, ((n * image[1] + c) * image[2] + y) * image[3] + z),
                               read(v, w, rank, ((o * filter[1] + c) * filter[2] + i) * filter[3] + j)));
        }
    return sum;
  }

  // --- Units ---

  // All elements of the units on all ranks, in one order.
  void do_together(std::size_t first, std::size_t last) {
    std::vector<Task> tasks;
    for (std::size_t u = first; u < last; ++u) {
      begin(units_[u]);
      std::int64_t all = 1;
      for (std::int64_t side : units_[u].sides) all *= side;
      const std::int64_t tile = 1 + all / 4096;  // small tensors element by element, and no list of millions
      for (int rank = 0; rank < world_; ++rank)
        for (std::int64_t at = 0; at < all; at += tile, ++units_[u].tasks[rank])
          tasks.push_back(
              {.unit = static_cast<int>(u), .rank = rank, .next = at, .end = std::min(at + tile, all)});
    }
    shuffle(tasks, random_);
    std::deque<Task> queue(tasks.begin(), tasks.end());
    for (std::size_t in_vain = 0; !queue.empty();) {
      Task task = queue.front();
      queue.pop_front();
      const std::int64_t before = task.next;
      while (task.next < task.end && do_element(units_[task.unit], task.rank, task.next)) ++task.next;
      in_vain = task.next > before ? 0 : in_vain + 1;
      if (task.next == task.end) {
        if (--units_[task.unit].tasks[task.rank] == 0) finish(units_[task.unit], task.rank);
        continue;
      }
      queue.push_back(task);
      if (last - first == 1 || in_vain > queue.size()) fail(late_, "which is not made yet");
    }
  }

  void begin(Unit& unit) {
    unit.tasks.assign(world_, 0);
    unit.reads.assign(memories_.size() * world_, {});
    unit.writes.assign(memories_.size() * world_, {});
    registers_.resize(values_.size());
    for (int v : unit.operations)
      if (values_[v].op->kind == OperationKind::ReduceTensor) summands_[v].resize(world_);
  }

  // All operations of the unit for one element on one rank; false: something that is read is not there yet, and nothing
  // was done.
  bool do_element(Unit& unit, int rank, std::int64_t element) {
    rank_ = rank;
    is_late_ = false;
    writes_.clear();
    for (int v : unit.operations) registers_[v].full = false;
    for (int v : unit.operations) {
      const Value& value = values_[v];
      const std::int64_t mine = aligned(unit.sides, element, work_sides(v));
      if (worked_on(v).holdings[rank].place(mine) < 0) continue;
      const std::vector<int>& to = value.receivers[rank];
      if (to.empty()) continue;
      const double number = rounded(value.op->type.element, made(v, rank, mine));
      if (is_late_) return false;
      if (!works_where_its_operand_is(value.op->kind))
        registers_[v] = {.full = true, .element = mine, .value = number};
      else if (value.op->kind == OperationKind::ReduceTensor &&
               !summands_[v][rank].try_emplace(mine, number).second)
        fail({.reader = v, .value = value.operands.at(0), .rank = rank, .element = mine},
             "for a second time");
      if (value.op->kind != OperationKind::ReduceTensor && value.kept)
        for (int receiver : to)
          writes_.push_back({.value = v, .rank = receiver, .element = mine, .number = number});
    }
    for (const Write& write : writes_) store(unit, write);
    return true;
  }

  void store(Unit& unit, const Write& write) {
    const Value& value = values_[write.value];
    const std::int64_t place = value.holdings[write.rank].place(write.element);
    if (place < 0)
      throw std::logic_error(
          fmt::format("{} is written on rank {}, which has none of it", value.op->name, write.rank));
    Memory& memory = memories_[value.memory];
    memory.contents[write.rank][place] = write.number;
    memory.written[write.rank][place] = value.written;
    touch(unit.writes, value.memory, write.rank, place);
  }

  // Reductions to a scalar end when all elements of the rank are done.
  void finish(Unit& unit, int rank) {
    for (int v : unit.operations) {
      const Value& value = values_[v];
      const ElementType type = value.op->type.element;
      if (value.op->kind != OperationKind::ReduceTensor || value.holdings[rank].length == 0) continue;
      double sum = neutral(type, value.op->reduction);
      for (const auto& [element, summand] : summands_[v][rank])
        sum = folded(type, value.op->reduction, sum, summand);
      store(unit, {.value = v, .rank = rank, .element = 0, .number = rounded(type, sum)});
    }
  }

  // --- Traffic ---

  std::int64_t bytes(const std::vector<std::vector<char>>& touched, int rank) const {
    std::int64_t sum = 0;
    for (const Value& value : values_)
      if (value.written == 1)  // each memory once
        sum += std::ranges::count(touched[value.memory * world_ + rank], 1) *
               static_cast<std::int64_t>(size_of(value.op->type.element));
    return sum;
  }

  UnitTraffic traffic(const Unit& unit) const {
    UnitTraffic most{.name = unit.name};
    for (int rank = 0; rank < world_; ++rank) {
      const std::int64_t read = bytes(unit.reads, rank), written = bytes(unit.writes, rank);
      if (read + written > most.read + most.written) most.read = read, most.written = written;
    }
    for (int v : unit.operations) most.sent += sent(v);
    return most;
  }

  std::int64_t sent(int v) const {
    const Value& value = values_[v];
    const TensorType& type = value.op->type;
    const std::int64_t element = static_cast<std::int64_t>(size_of(type.element)),
                       n = elements(type) * element;
    const int p = ranks_of(workload_, type);
    const auto smallest = [&](const Value& sliced) {  // the last ranks' parts are
      const int last = sliced.op->type.scope == Scope::World
                           ? world_ - 1
                           : (sliced.op->type.last_group + 1) * workload_.ranks - 1;
      return size(sliced.op->type, sliced.holdings[last]) * element;
    };
    switch (value.op->kind) {
      case OperationKind::AllReduce:
        return 2 * (n - elements(type) / p * element);
      case OperationKind::ReduceScatter:
        return n - smallest(value);
      case OperationKind::AllGather:
        return n - smallest(worked_on(v));
      case OperationKind::AllToAll:
        return n - n / p;
      case OperationKind::Reduce:
      case OperationKind::Broadcast:
        return p > 1 ? n : 0;
      case OperationKind::Send: {
        std::int64_t most = 0;
        for (int rank = 0; rank < world_; ++rank)
          if (!value.receivers[rank].empty())
            most = std::max(most, size(worked_on(v).op->type, worked_on(v).holdings[rank]) * element);
        return most;
      }
      default:
        return 0;
    }
  }

  const Workload& workload_;
  const int world_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  std::vector<Value> values_ = {};  // in the order of the list
  std::vector<Memory> memories_ = {};
  std::set<int> updated_ = {};  // memories
  std::vector<Unit> units_ = {};
  // Of the element that is done now.
  Read pointwise_ = {};
  const std::function<double(int)> operand_ = [this](int operand) {
    const Value& made = values_[pointwise_.reader];
    const int v = made.operands.at(operand);
    return read(pointwise_.reader, v, pointwise_.rank,
                aligned(made.sides, pointwise_.element, values_[v].sides));
  };
  int rank_ = 0;
  std::vector<Register> registers_ = {};  // by value
  std::vector<Write> writes_ = {};
  bool is_late_ = false;
  Read late_ = {};  // what is not there yet
  // Of reductions to a scalar, by rank and element.
  std::map<int, std::vector<std::map<std::int64_t, double>>> summands_ = {};
};

int first_rank(const Workload& workload, const TensorType& type) {
  return type.scope == Scope::World ? 0 : type.first_group * workload.ranks;
}
int last_rank(const Workload& workload, const TensorType& type) {
  return type.scope == Scope::World ? world(workload) : (type.last_group + 1) * workload.ranks;
}

}  // namespace

WorkloadRun interpret(const Workload& workload, const WorkloadState& inputs,
                      const WorkloadRunOptions& options) {
  return WorkloadMachine(workload, inputs, options).run();
}

std::vector<std::vector<double>> whole(const Workload& workload, const TensorType& type,
                                       const RankValues& values) {
  if (std::ssize(values) != world(workload)) throw std::logic_error("a tensor of another number of ranks");
  for (int rank = 0; rank < world(workload); ++rank)
    if (std::ssize(values[rank]) != size(type, held(workload, type, rank)))
      throw std::logic_error(
          fmt::format("rank {} has {} elements of a {}", rank, values[rank].size(), to_string(type)));
  const int peers = ranks_of(workload, type);
  std::vector<std::vector<double>> tensors;
  for (int first = first_rank(workload, type); first < last_rank(workload, type); first += peers) {
    std::vector<double> tensor;
    if (type.layout.kind == LayoutKind::Local) {
      for (int rank = first; rank < first + peers; ++rank)
        tensor.insert(tensor.end(), values[rank].begin(), values[rank].end());
    } else {
      tensor.resize(elements(type));
      std::vector<bool> is_known(tensor.size());
      for (int rank = first; rank < first + peers; ++rank) {
        const Holding holding = held(workload, type, rank);
        for (std::int64_t e = 0; e < std::ssize(tensor); ++e) {
          const std::int64_t place = holding.place(e);
          if (place < 0) continue;
          if (is_known[e] && !same(tensor[e], values[rank][place]))
            throw std::logic_error(fmt::format("element {} is {} on rank {} and {} on another", e,
                                               values[rank][place], rank, tensor[e]));
          tensor[e] = values[rank][place];
          is_known[e] = true;
        }
      }
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

RankValues laid_out(const Workload& workload, const TensorType& type,
                    const std::vector<std::vector<double>>& tensors) {
  RankValues values(world(workload));
  const int peers = ranks_of(workload, type), from = first_rank(workload, type),
            to = last_rank(workload, type);
  const std::int64_t all = elements(type), given = type.layout.kind == LayoutKind::Local ? all * peers : all;
  if (std::ssize(tensors) != (to - from) / peers)
    throw std::logic_error("a tensor of another number of groups");
  for (int rank = from; rank < to; ++rank) {
    const std::vector<double>& tensor = tensors[(rank - from) / peers];
    if (std::ssize(tensor) != given)
      throw std::logic_error(fmt::format("{} elements of a {}", tensor.size(), to_string(type)));
    const Holding holding = held(workload, type, rank);
    values[rank].resize(size(type, holding));
    for (std::int64_t e = 0; e < all; ++e)
      if (const std::int64_t place = holding.place(e); place >= 0)
        values[rank][place] = tensor[given == all ? e : (rank - from) % peers * all + e];
  }
  return values;
}

}  // namespace chorale
