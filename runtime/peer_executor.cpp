// A machine of CPU threads for the kernel: one for each thread of each slice of each block of each rank, all
// at once, since they wait for each other. They are kept for all launches and meet at barriers in between, so
// a launch costs no start of threads. A block that has waited in vain still comes to every barrier; the
// others see its trouble where they wait, and come to the barriers, too, so all can be joined before Hang is
// thrown.
//
// Two modes of launching. `run` lets all ranks begin together, with a barrier whose last thread takes the
// time and prepares the next launch. `run_free` lets a rank begin its next launch when its own blocks have
// ended the last one: only this shows what goes wrong when one rank is ahead of another, as ranks on GPUs of
// their own may be.
#include "runtime/peer_executor.h"

#include <atomic>
#include <barrier>
#include <functional>
#include <memory>

#include "ir/error.h"
#include "runtime/device/cpu.h"
#include "runtime/device/element_types.h"
#include "runtime/peer_machine.h"
#include "runtime/rows.h"
#include "runtime/test_data.h"
#include "runtime/together.h"

namespace chorale {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

struct Between {  // std::barrier wants what never throws
  std::function<void()> work = {};
  void operator()() noexcept {
    if (work) work();
  }
};

// The part that launches and waits, for any types. The kernel, with its many types and operations, is behind
// one virtual function: compiled once for each, it is most of what this file costs a compiler (38 CPU
// seconds; with the loops below as templates around it, two of them, 72).
class ThreadedMachine : public PeerMachine {
 public:
  ThreadedMachine(const PeerProgram& program, const BlockShape& shape, const PeerRunOptions& options,
                  ReduceOp op, std::chrono::milliseconds timeout)
      : PeerMachine(program, shape, options), op_(op), timeout_(timeout) {}
  virtual ~ThreadedMachine() = default;

  // Launch after launch. before(i) is called when all ranks rest; microseconds of each.
  std::vector<double> run(int launches, const std::function<void(int)>& before) {
    std::vector<double> took;
    Clock::time_point start;
    int next = 0;
    // Opens before each launch and once after the last: launch i takes from its i-th opening to the next.
    std::barrier<Between> barrier(
        everybody(), Between{[&] {
          if (next > 0)
            took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
          if (next < launches) before(next);
          ++next;
          start = Clock::now();
        }});
    std::barrier<> done(everybody());
    launch_all(
        launches, [&](Rank) { barrier.arrive_and_wait(); }, [&](Rank) { done.arrive_and_wait(); });
    return took;
  }

  // between(rank, i) is called before launch i of a rank, and after the last one; ranks do not wait for each
  // other.
  void run_free(int launches, const std::function<void(Rank, int)>& between) {
    std::vector<std::unique_ptr<std::barrier<Between>>> before;
    std::vector<std::unique_ptr<std::barrier<>>> done;
    std::vector<int> next(ranks(), 0);
    for (Rank n = 0; n < ranks(); ++n) {
      const auto threads = of_rank(n);
      before.push_back(std::make_unique<std::barrier<Between>>(
          threads, Between{[&between, &next, n] { between(n, next[n]++); }}));
      done.push_back(std::make_unique<std::barrier<>>(threads));
    }
    launch_all(
        launches, [&](Rank n) { before[n]->arrive_and_wait(); }, [&](Rank n) { done[n]->arrive_and_wait(); });
  }

 protected:
  struct Launch {  // of one thread block
    bool average = false;
    int block = 0;
    int slice = 0;
    const Patience& patience;
    const std::function<void(Rank)>& done;  // waits for the rank's other thread blocks
  };
  virtual void launch(const Launch&, CpuTeam&) = 0;

  const ReduceOp op_;

 private:
  std::ptrdiff_t everybody() const {
    return static_cast<std::ptrdiff_t>(table_.blocks.size()) * options_.slices * options_.threads;
  }
  std::ptrdiff_t of_rank(Rank n) const {
    return static_cast<std::ptrdiff_t>(program_.ranks[n].blocks.size()) * options_.slices * options_.threads;
  }

  // `before` is called before each launch and once more in the end, `done` between the kernel and what
  // finishes its outputs, both by every thread, with its rank.
  void launch_all(int launches, const std::function<void(Rank)>& before,
                  const std::function<void(Rank)>& done) {
    const bool average = op_ == ReduceOp::Avg && adds_up(program_);
    const Patience patience{
        .nanoseconds = static_cast<std::uint64_t>(std::chrono::nanoseconds(timeout_).count()),
        .trouble = &trouble_};
    std::vector<std::unique_ptr<CpuTeam::Shared>> teams;
    std::vector<std::function<void()>> works;
    for (int b = 0; b < static_cast<int>(table_.blocks.size()); ++b)
      for (int s = 0; s < options_.slices; ++s) {
        teams.push_back(std::make_unique<CpuTeam::Shared>(options_.threads));
        for (int t = 0; t < options_.threads; ++t)
          works.emplace_back([&, b, s, t, shared = teams.back().get()] {
            for (int i = 0; i < launches; ++i) {
              before(table_.blocks[b].rank);
              CpuTeam team(t, options_.threads, *shared);
              launch({.average = average, .block = b, .slice = s, .patience = patience, .done = done}, team);
            }
            before(table_.blocks[b].rank);
          });
      }
    run_together(works);
    require_no_trouble(trouble_, timeout_);
  }

  const std::chrono::milliseconds timeout_;
  Trouble trouble_ = {};
};

// T is the type of the data, W that in which sums and scratch are kept.
template <typename T, typename W>
class TypedMachine : public ThreadedMachine {
 public:
  template <typename... Rest>
  TypedMachine(const PeerProgram& program, const BlockShape& shape, const PeerRunOptions& options,
               Rest... rest)
      : ThreadedMachine(program, shape, options, rest...),
        launches_(table_.blocks.size() * options.slices, 0) {
    for (const PeerRankRow& rank : table_.ranks)
      counters_.emplace_back(static_cast<std::size_t>(rank.counters) * options.slices, 0);
    const std::int64_t pitch = scratch_pitch<W>(tables_, shape_);
    for (Rank n = 0; n < ranks(); ++n) {
      scratch_.emplace_back(pitch * table_.ranks[n].scratch_chunks * (program.double_scratch ? 2 : 1));
      if (kWidened) wide_.emplace_back(begin(table_.ranks[n].output_chunks));
    }
    for (Rank n = 0; n < ranks(); ++n) {
      inputs_.push_back(reinterpret_cast<T*>(input_[n].data()));
      outputs_.push_back(reinterpret_cast<T*>(output_[n].data()));
      if constexpr (kWidened)
        works_.push_back(wide_[n].data());
      else
        works_.push_back(outputs_[n]);
      scratches_.push_back(scratch_[n].data());
      all_counters_.push_back(counters_[n].data());
    }
    memory_ = {.inputs = inputs_.data(),
               .outputs = outputs_.data(),
               .works = works_.data(),
               .scratches = scratches_.data(),
               .all_counters = all_counters_.data(),
               .launches = launches_.data(),
               .epilogue = {epilogue_.stack_function(), epilogue_.tensors().data(),
                            static_cast<int>(epilogue_.operands().size())}};
  }

 private:
  static constexpr bool kWidened = !std::is_same_v<T, W>;

  void launch(const Launch& what, CpuTeam& team) override {
    const PeerLaunch<SharedMemory<T, W, StackFunction>, Given> given{
        tables_, shape_, memory_, what.patience, {combination_of(op_)}, what.average, 0, 0};
    PeerKernel<SharedMemory<T, W, StackFunction>, Given, CpuTeam> kernel(given, what.block, what.slice, team);
    kernel.run();
    const Rank n = table_.blocks[what.block].rank;
    what.done(n);
    // One of the blocks finishes for the rank.
    if (what.block == 0 || table_.blocks[what.block - 1].rank != n) kernel.finish(n);
  }

  // By rank, with the pointers into them that the kernel wants; they must not grow any more. Counters and
  // launches go on from launch to launch, as on a GPU.
  std::vector<std::vector<W>> scratch_ = {}, wide_ = {};
  std::vector<T*> inputs_ = {}, outputs_ = {};
  std::vector<W*> works_ = {}, scratches_ = {};
  std::vector<std::vector<std::uint64_t>> counters_ = {};
  std::vector<std::uint64_t> launches_ = {};
  std::vector<std::uint64_t*> all_counters_ = {};
  SharedMemory<T, W, StackFunction> memory_ = {};
};

// Only short types have a second machine, with wide sums: for others the two would be the same.
std::unique_ptr<ThreadedMachine> machine_for(const PeerProgram& program, const BlockShape& shape,
                                             const PeerRunOptions& options, ReduceOp op,
                                             std::chrono::milliseconds timeout) {
  return with_type(shape.type, [&](auto element) -> std::unique_ptr<ThreadedMachine> {
    using T = decltype(element);
    if constexpr (is_short<T>)
      if (shape.accumulation == Accumulation::Float32)
        return std::make_unique<TypedMachine<T, float>>(program, shape, options, op, timeout);
    return std::make_unique<TypedMachine<T, T>>(program, shape, options, op, timeout);
  });
}

}  // namespace

std::vector<RunRow> run_peers_on_threads(const Verified<PeerProgram>& verified, const RunOptions& options,
                                         const PeerRunOptions& how) {
  const PeerProgram& program = *verified;
  const Collective& collective = verified.collective();
  check(options);
  check(program, how, options.accumulation);
  return for_all_rows(options, [&](const BlockShape& shape, ReduceOp op) {
    const std::unique_ptr<ThreadedMachine> machine = machine_for(program, shape, how, op, options.timeout);
    return run_row_of_all(*machine, collective, shape, op, options, machine->reference());
  });
}

// Elements that are wrong in any launch, while ranks run ahead of each other as far as the program lets them.
std::int64_t wrong_in_free_run(const Verified<PeerProgram>& verified, const BlockShape& shape, ReduceOp op,
                               int launches, const PeerRunOptions& options,
                               std::chrono::milliseconds timeout) {
  const PeerProgram& program = *verified;
  const Collective& collective = verified.collective();
  check(program, options, shape.accumulation);
  // Launch i has the inputs of seed i + 1, and `between` checks launch i - 1 before it writes them: data that
  // arrive too late, or too early, are of another seed and so are wrong.
  std::atomic<std::int64_t> wrong = 0;
  const std::unique_ptr<ThreadedMachine> machine = machine_for(program, shape, options, op, timeout);
  machine->run_free(launches, [&](Rank n, int i) {
    if (i > 0)
      wrong += TestData(collective, shape, op, static_cast<std::uint64_t>(i))
                   .wrong_elements(n, machine->output(n), machine->reference());
    Bytes input(machine->input_bytes(n));
    TestData(collective, shape, op, static_cast<std::uint64_t>(i + 1)).fill_input(n, input);
    machine->spoil_output(n);
    machine->write_input(n, input);
  });
  return wrong;
}

}  // namespace chorale
