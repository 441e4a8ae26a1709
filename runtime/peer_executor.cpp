#include "runtime/peer_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>

#include "ir/error.h"
#include "ir/peer_table.h"
#include "runtime/device/cpu.h"
#include "runtime/element_types.h"
#include "runtime/peer_machine.h"
#include "runtime/rows.h"
#include "runtime/test_data.h"
#include "runtime/transport.h"

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

template <typename T, typename W>
class TypedMachine : public PeerMachine {
 public:
  TypedMachine(const PeerProgram& program, const BlockShape& shape, const PeerRunOptions& options)
      : PeerMachine(program, shape, options), launches_(table_.blocks.size() * options.slices, 0) {
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
               .launches = launches_.data()};
  }

  // Launch after launch. before(i) is called when all ranks rest; microseconds of each.
  template <Combination op>
  std::vector<double> timed(int launches, bool average, std::chrono::milliseconds timeout,
                            const std::function<void(int)>& before) {
    std::vector<double> took;
    Clock::time_point start;
    int next = 0;
    std::barrier<Between> barrier(
        everybody(), Between{[&] {
          if (next > 0)
            took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
          if (next < launches) before(next);
          ++next;
          start = Clock::now();
        }});
    std::barrier<> done(everybody());
    run<op>(
        launches, average, timeout, [&](Rank) { barrier.arrive_and_wait(); },
        [&](Rank) { done.arrive_and_wait(); });
    return took;
  }

  // between(rank, i) is called before launch i of a rank, and after the last one; ranks do not wait for each
  // other.
  template <Combination op>
  void free(int launches, bool average, std::chrono::milliseconds timeout,
            const std::function<void(Rank, int)>& between) {
    std::vector<std::unique_ptr<std::barrier<Between>>> before;
    std::vector<std::unique_ptr<std::barrier<>>> done;
    std::vector<int> next(ranks(), 0);
    for (Rank n = 0; n < ranks(); ++n) {
      const auto threads = of_rank(n);
      before.push_back(std::make_unique<std::barrier<Between>>(
          threads, Between{[&between, &next, n] { between(n, next[n]++); }}));
      done.push_back(std::make_unique<std::barrier<>>(threads));
    }
    run<op>(
        launches, average, timeout, [&](Rank n) { before[n]->arrive_and_wait(); },
        [&](Rank n) { done[n]->arrive_and_wait(); });
  }

 private:
  static constexpr bool kWidened = !std::is_same_v<T, W>;

  std::ptrdiff_t everybody() const {
    return static_cast<std::ptrdiff_t>(table_.blocks.size()) * options_.slices * options_.threads;
  }
  std::ptrdiff_t of_rank(Rank n) const {
    return static_cast<std::ptrdiff_t>(program_.ranks[n].blocks.size()) * options_.slices * options_.threads;
  }

  template <Combination op, typename Before, typename Done>
  void run(int launches, bool average, std::chrono::milliseconds timeout, const Before& before,
           const Done& done) {
    const Patience patience{
        .nanoseconds = static_cast<std::uint64_t>(std::chrono::nanoseconds(timeout).count()),
        .trouble = &trouble_};
    std::vector<std::unique_ptr<CpuTeam::Shared>> teams;
    std::vector<std::thread> threads;
    for (int b = 0; b < static_cast<int>(table_.blocks.size()); ++b)
      for (int s = 0; s < options_.slices; ++s) {
        teams.push_back(std::make_unique<CpuTeam::Shared>(options_.threads));
        for (int t = 0; t < options_.threads; ++t)
          threads.emplace_back([&, b, s, t, shared = teams.back().get()] {
            const Rank n = table_.blocks[b].rank;
            for (int i = 0; i < launches; ++i) {
              before(n);
              CpuTeam team(t, options_.threads, *shared);
              PeerKernel<op, SharedMemory<T, W>, CpuTeam> kernel(tables_, shape_, memory_, patience, average,
                                                                 b, s, team);
              kernel.run();
              done(n);
              // One of the blocks finishes for the rank.
              if (b == 0 || table_.blocks[b - 1].rank != n) kernel.finish(n);
            }
            before(n);
          });
      }
    for (std::thread& thread : threads) thread.join();
    require_no_trouble(trouble_, timeout);
  }

  std::vector<std::vector<W>> scratch_ = {}, wide_ = {};
  std::vector<T*> inputs_ = {}, outputs_ = {};
  std::vector<W*> works_ = {}, scratches_ = {};
  std::vector<std::vector<std::uint64_t>> counters_ = {};
  std::vector<std::uint64_t> launches_ = {};
  Trouble trouble_ = {};
  std::vector<std::uint64_t*> all_counters_ = {};
  SharedMemory<T, W> memory_ = {};
};

// function.template operator()<op>(machine of the right types).
template <typename Function>
void with_machine(const PeerProgram& program, const BlockShape& shape, ReduceOp op,
                  const PeerRunOptions& options, Function function) {
  with_type(shape.type, [&](auto element) {
    using T = decltype(element);
    with_op(op, [&]<Combination reduction>() {
      if constexpr (is_half<T>)
        if (shape.accumulation == Accumulation::Float32) {
          TypedMachine<T, float> machine(program, shape, options);
          return function.template operator()<reduction>(machine);
        }
      TypedMachine<T, T> machine(program, shape, options);
      function.template operator()<reduction>(machine);
    });
  });
}

// A machine that launches one operation, for runtime/rows.h.
template <Combination op, typename Of>
struct Launched {
  Of& machine;
  const bool average;
  const std::chrono::milliseconds timeout;

  int ranks() const { return machine.ranks(); }
  bool in_place() const { return machine.in_place(); }
  std::int64_t input_bytes(Rank n) const { return machine.input_bytes(n); }
  void write_input(Rank n, const Bytes& bytes) { machine.write_input(n, bytes); }
  void spoil_output(Rank n) { machine.spoil_output(n); }
  Bytes input(Rank n) { return machine.input(n); }
  Bytes output(Rank n) { return machine.output(n); }
  std::vector<double> run(int times, const std::function<void(int)>& before) {
    return machine.template timed<op>(times, average, timeout, before);
  }
};

}  // namespace

std::vector<RunRow> run_peers_on_threads(const PeerProgram& program, const Collective& collective,
                                         const RunOptions& options, const PeerRunOptions& how) {
  check(options);
  check(program, how, options.accumulation);
  return for_all_rows(options, [&](const BlockShape& shape, ReduceOp op) {
    RunRow row;
    with_machine(program, shape, op, how, [&]<Combination reduction>(auto& machine) {
      Launched<reduction, std::remove_reference_t<decltype(machine)>> launched{
          machine, op == ReduceOp::Avg && reduces(program), options.timeout};
      row = run_row_of_all(launched, collective, shape, op, options);
    });
    return row;
  });
}

std::int64_t wrong_in_free_run(const PeerProgram& program, const Collective& collective,
                               const BlockShape& shape, ReduceOp op, int launches,
                               const PeerRunOptions& options, std::chrono::milliseconds timeout) {
  check(program, options, shape.accumulation);
  const bool average = op == ReduceOp::Avg && reduces(program);
  std::atomic<std::int64_t> wrong = 0;
  with_machine(program, shape, op, options, [&]<Combination reduction>(auto& machine) {
    machine.template free<reduction>(launches, average, timeout, [&](Rank n, int i) {
      if (i > 0)
        wrong += TestData(collective, shape, op, static_cast<std::uint64_t>(i))
                     .wrong_elements(n, machine.output(n));
      Bytes input(machine.input_bytes(n));
      TestData(collective, shape, op, static_cast<std::uint64_t>(i + 1)).fill_input(n, input);
      machine.spoil_output(n);
      machine.write_input(n, input);
    });
  });
  return wrong;
}

}  // namespace chorale
