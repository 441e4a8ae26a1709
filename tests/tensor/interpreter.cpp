// Every operation is a function that makes one element on one rank: it reads elements, and what it makes is
// written to the memory of the ranks that are to have it. A unit (a kernel, or an operation by itself) goes
// through its elements (or rows, if it is a kernel that reduces them) on all ranks in a shuffled order. Of
// each element all operations of the kernel are done before the next one begins, with values in registers,
// which are empty when it begins: so a kernel that needs what another of its elements makes finds nothing, in
// whatever order they come, and that is an error instead of a wrong number. Units that are overlapped have
// all their elements in one such order; an element that reads what another unit has not made yet is put back.
//
// Memory records how often each element was written: not yet, once, or again by the update of an input. A
// read states which of the two it is meant for, so a read that wrongly comes after an update is found, as is
// one that comes too early.
//
// The value of one element is computed in elements.cpp, as is its position.
//
// This is deliberately slow: nothing is vectorized, hoisted or skipped. It shares the nouns with what it
// verifies, and nothing else.
#include "tests/tensor/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

#include "tests/tensor/meaning.h"

namespace chorale {
namespace {

// std::shuffle gives another order in another library.
template <typename T>
void shuffle(std::vector<T>& list, std::mt19937_64& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random() % i]);
}

// Values (results of operations) have memories; an update shares its input's. Units are what is done as
// one.
class WorkloadMachine {
 public:
  WorkloadMachine(const Workload& workload, const WorkloadState& inputs, const WorkloadRunOptions& options)
      : workload_(workload),
        world_(world(workload)),
        seed_(options.seed),
        random_(options.order),
        rank_sum_(options.rank_sum) {
    for (const Operation& op : workload.operations) declare(op);
    make_units();
    for (const Value& value : values_) {
      if (value.op->kind == OperationKind::Input) load(value, inputs);
      if (is_constant(value.op->kind)) load_constant(value);
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
    TensorSides sides = {};
    std::vector<Holding> holdings = {};            // by rank of the world
    std::vector<int> operands = {};                // numbers of values
    std::vector<SizedTensor> types = {};           // and what they are
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
    TensorSides sides = {};       // of the elements that it goes through
    std::int64_t row = 1;         // elements that it does together: a row where a kernel reduces rows
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
    bool stays = false;  // a row that is not put: nothing is moved
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
      value.types.push_back({&values_[value.operands.back()].op->type, values_[value.operands.back()].sides});
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

  // A gather makes each element on the rank that has it, and writes it to all; a send to one other rank, or
  // to none where there is no such group.
  std::vector<int> receivers(const Value& value, int rank) const {
    const Operation& op = *value.op;
    if (op.kind == OperationKind::Send && op.around) {
      const int ranks = ranks_of(workload_, op.type), first = first_peer(workload_, op.type, rank);
      return {first + (rank - first + ranks + op.shift) % ranks};
    }
    if (op.kind == OperationKind::Send) {
      const int to = rank + op.shift * workload_.ranks;
      return to >= 0 && to < world_ && value.holdings[to].length > 0 ? std::vector{to} : std::vector<int>{};
    }
    if (op.kind != OperationKind::AllGather && op.kind != OperationKind::Broadcast) return {rank};
    const TensorType& from = values_[value.operands.at(0)].op->type;
    std::vector<int> peers(ranks_of(workload_, from));
    std::iota(peers.begin(), peers.end(), first_peer(workload_, from, rank));
    return peers;
  }

  // As language/kernels.h has them, by the same rule and other code: consecutive operations of one kernel
  // name.
  void make_units() {
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const Operation& op = *values_[v].op;
      if (is_given(op.kind)) continue;
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
    for (Unit& unit : units_) unit.row = row_of(unit);
  }

  std::int64_t row_of(const Unit& unit) const {
    const auto reduces = [&](int v) { return values_[v].op->kind == OperationKind::ReduceAlong; };
    if (unit.kernel.empty() || std::ranges::none_of(unit.operations, reduces)) return 1;
    for (int v : unit.operations)
      if (reduces(v) && values_[v].op->dims.at(0) + 1 != std::ssize(values_[v].sides))
        throw std::logic_error("a kernel reduces along another dimension than the last one");
    return unit.sides.back();
  }

  bool is_needed_outside(int v) const {
    const Value& value = values_[v];
    if (!value.op->updates.empty() || std::ranges::count(workload_.outputs, value.op->name) > 0) return true;
    return std::ranges::any_of(values_, [&](const Value& reader) {
      return reader.unit != value.unit && std::ranges::count(reader.operands, v) > 0;
    });
  }

  // The common shape of a kernel's operations, by broadcasting: [1, H] and [B, 1] give [B, H].
  static void widen(TensorSides& sides, const TensorSides& by) {
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
        if (!same_number(rounded(input.op->type.element, x), x))
          throw std::logic_error(fmt::format("input {}: {} is not of type {}", input.op->name, x,
                                             short_name(input.op->type.element)));
    Memory& memory = memories_[input.memory];
    memory.contents = given->second;
    for (std::vector<char>& of_rank : memory.written) std::ranges::fill(of_rank, 1);
  }

  double number_of(const Operation& constant, int rank) const {
    if (constant.kind == OperationKind::Rank) return rank % workload_.ranks;
    if (constant.kind == OperationKind::Group) return rank / workload_.ranks;
    if (constant.kind == OperationKind::Ranks) return world_;
    return static_cast<double>(std::ranges::find(workload_.sizes, constant.name, &WorkloadSize::name)->value);
  }
  void load_constant(const Value& value) {
    Memory& memory = memories_[value.memory];
    for (int rank = 0; rank < world_; ++rank) {
      std::ranges::fill(memory.contents[rank], number_of(*value.op, rank));
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

  // --- Where operations are done ---

  // Operations that send on what a rank has, and reductions of it, are done where it is, and not where the
  // result is.
  static bool works_where_its_operand_is(OperationKind kind) {
    return kind == OperationKind::AllGather || kind == OperationKind::Broadcast ||
           kind == OperationKind::Send || kind == OperationKind::ReduceTensor;
  }
  const Value& worked_on(int v) const {
    return works_where_its_operand_is(values_[v].op->kind) ? values_[values_[v].operands.at(0)] : values_[v];
  }
  const TensorSides& work_sides(int v) const { return worked_on(v).sides; }

  // --- Reading ---

  // Inside of a kernel from its register, which has to be of the same element; else from memory, which has
  // to be as new as the reader means, and no newer.
  double read(int reader, int v, int rank, std::int64_t element) {
    const Read read{.reader = reader, .value = v, .rank = rank, .element = element};
    const Value& value = values_[v];
    if (value.unit >= 0 && value.unit == values_[reader].unit) {
      const Register& there = register_of(v, element);
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
    stays_ = is_put_in_place(*values_[reader].op) && v == values_[reader].operands[0];
    if (!is_constant(value.op->kind) && !stays_)
      touch(units_[values_[reader].unit].reads, value.memory, rank, place);
    return memory.contents[rank][place];
  }

  void touch(std::vector<std::vector<char>>& touched, int memory, int rank, std::int64_t place) {
    std::vector<char>& of_rank = touched[memory * world_ + rank];
    if (of_rank.empty()) of_rank.resize(memories_[memory].written[rank].size());
    of_rank[place] = 1;
  }

  // --- Units ---

  // All elements of the units on all ranks, in one order.
  // A queue: a run of elements that must wait goes to its end. If a whole turn of the queue does nothing,
  // then nothing ever will, and the error is the missing read of the element that was tried last.
  void do_together(std::size_t first, std::size_t last) {
    std::vector<Task> tasks;
    for (std::size_t u = first; u < last; ++u) {
      begin(units_[u]);
      std::int64_t all = 1;
      for (std::int64_t side : units_[u].sides) all *= side;
      all /= units_[u].row;
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
    for (int v : unit.operations) registers_[v].assign(unit.row, {});
    for (int v : unit.operations)
      if (values_[v].op->kind == OperationKind::ReduceTensor) summands_[v].resize(world_);
  }

  // Elements of a row have registers of their own.
  Register& register_of(int v, std::int64_t element) {
    return registers_[v][element % std::ssize(registers_[v])];
  }

  // All operations of the unit for one element, or row, on one rank; false: something that is read is not
  // there yet, and nothing was done.
  // Writes and summands are collected and stored in the end: an element that has to be put back has done
  // nothing.
  bool do_element(Unit& unit, int rank, std::int64_t row) {
    rank_ = rank;
    is_late_ = false;
    writes_.clear();
    for (int v : unit.operations)
      for (Register& each : registers_[v]) each.full = false;
    for (int v : unit.operations)
      for (std::int64_t k = 0; k < unit.row; ++k)
        if (!do_operation(v, rank, aligned(unit.sides, row * unit.row + k, work_sides(v)))) return false;
    for (const Write& write : writes_) {
      const Value& value = values_[write.value];
      if (value.op->kind != OperationKind::ReduceTensor)
        store(unit, write);
      else if (!summands_[write.value][rank].try_emplace(write.element, write.number).second)
        fail({.reader = write.value, .value = value.operands.at(0), .rank = rank, .element = write.element},
             "for a second time");
    }
    return true;
  }

  // Values of a row are computed once per row, whichever element asks first.
  bool do_operation(int v, int rank, std::int64_t element) {
    const Value& value = values_[v];
    const std::vector<int>& to = value.receivers[rank];
    if (worked_on(v).holdings[rank].place(element) < 0 || to.empty()) return true;
    const bool has_register = !works_where_its_operand_is(value.op->kind);
    Register& mine = register_of(v, element);
    if (has_register && mine.full && mine.element == element) return true;  // of the row
    reader_ = v;
    stays_ = false;
    const double number = rounded(
        value.op->type.element, made_element(workload_, {value.op, &value.sides, value.types, rank, element},
                                             seed_, operand_, rank_sum_));
    if (is_late_) return false;
    if (has_register) mine = {.full = true, .element = element, .value = number};
    if (value.op->kind == OperationKind::ReduceTensor)
      writes_.push_back({.value = v, .rank = rank, .element = element, .number = number});
    else if (value.kept)
      for (int receiver : to)
        writes_.push_back(
            {.value = v, .rank = receiver, .element = element, .number = number, .stays = stays_});
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
    if (!write.stays) touch(unit.writes, value.memory, write.rank, place);
  }

  // Reductions to a scalar end when all elements of the rank are done.
  // In the order of elements, so that the sum does not depend on the order in which they were visited.
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

  // Of each memory the elements that were touched, once each, however often.
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
    for (int v : unit.operations) most.sent += sent_bytes(workload_, *values_[v].op);
    return most;
  }

  const Workload& workload_;
  const int world_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  const RankSum rank_sum_;
  std::vector<Value> values_ = {};  // in the order of the list
  std::vector<Memory> memories_ = {};
  std::set<int> updated_ = {};  // memories
  std::vector<Unit> units_ = {};
  // Of the element that is done now: the value that is made, and how it reads.
  int reader_ = 0;
  const OperandReader operand_ = [this](int operand, int rank, std::int64_t element) {
    return read(reader_, values_[reader_].operands.at(operand), rank, element);
  };
  int rank_ = 0;
  std::vector<std::vector<Register>> registers_ = {};  // by value, and element of the row
  std::vector<Write> writes_ = {};
  bool is_late_ = false, stays_ = false;
  Read late_ = {};  // what is not there yet
  // Of reductions to a scalar, by rank and element.
  std::map<int, std::vector<std::map<std::int64_t, double>>> summands_ = {};
};

}  // namespace

WorkloadRun interpret(const Workload& workload, const WorkloadState& inputs,
                      const WorkloadRunOptions& options) {
  return WorkloadMachine(workload, inputs, options).run();
}

}  // namespace chorale
