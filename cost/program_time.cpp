// Blocks are run until all of them wait, and the clock advances to the next event of the network; this
// repeats until all blocks are done. Nothing is planned ahead, so the result is what happens and not an
// optimum. `busiest_us` bounds the optimum from below. Each event examines all blocks; of a schedule, the
// ranks at which data arrived.
//
// A program that the verifier accepts cannot stand still: if no time is left and a block is not done, that
// is a bug of ours.
#include "cost/program_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "cost/cost.h"
#include "cost/fluid_network.h"
#include "ir/error.h"

namespace chorale {
namespace {

// The only place where the call is added to a simulated time.
ProgramTime reported(const FluidNetwork& network, double call_us, double us) {
  FluidNetwork::Busiest busiest = network.busiest();
  return {.us = call_us + us,
          .busiest_us = busiest.us,
          .busiest = std::move(busiest.name),
          .links_chosen = network.had_a_choice()};
}

// Runs blocks, of either kind, to their ends: `step` does what a block can do now, and returns whether that
// was anything. A state has its `block` and the number of its `next` instruction.
template <typename State, typename Step>
ProgramTime simulate(FluidNetwork& network, double call_us, std::vector<State>& states, const Step& step) {
  const auto done = [&] {
    return std::all_of(states.begin(), states.end(), [](const State& state) {
      return state.next == static_cast<int>(state.block->instructions.size());
    });
  };
  ProgramTime result;
  do {
    for (bool moved = true; moved;) {
      moved = false;
      for (State& state : states)
        while (step(state)) moved = true;
      if (moved) result.us = network.now();
    }
  } while (network.advance());
  if (!done()) throw std::logic_error("program_time: a program that never ends");
  return reported(network, call_us, result.us);
}

void require_ranks(const Topology& topology, std::size_t ranks) {
  if (static_cast<std::size_t>(topology.ranks) != ranks)
    throw InputError(topology.name, fmt::format("has {} ranks, the program {}", topology.ranks, ranks),
                     "use a machine of that size");
}

// The progress of the ranks of a schedule, step by step. Messages of a step over one link begin and end
// together, so they are one transfer with as many shares.
class ScheduleTime {
 public:
  // First the bundles, in the order of steps, so that the epochs of each rank come out sorted by step; then
  // the places of each bundle in the lists of its two ranks, by binary search.
  ScheduleTime(const Schedule& schedule, const Topology& topology, double chunk_bytes,
               const std::atomic<bool>* stop)
      : topology_(topology),
        network_(topology),
        chunk_bytes_(chunk_bytes),
        stop_(stop),
        ranks_(topology.ranks) {
    for (int s = 0; s < std::ssize(schedule.steps) && !stopped(); ++s) {
      std::map<LinkId, std::vector<Send>> by_link;
      for (const Send& send : schedule.steps[s].sends) by_link[send.link].push_back(send);
      for (auto& [l, sends] : by_link) {
        const int number = static_cast<int>(bundles_.size());
        const Link& link = topology.links[l];
        epoch_of(link.src, s).sends.push_back(number);
        ++epoch_of(link.src, s).open;
        ++epoch_of(link.dst, s).open;
        bundles_.push_back({.step = s, .link = l, .sends = std::move(sends)});
      }
    }
    for (Bundle& bundle : bundles_) {
      bundle.of_src = place_of(topology.links[bundle.link].src, bundle.step);
      bundle.of_dst = place_of(topology.links[bundle.link].dst, bundle.step);
    }
  }

  // Nothing where it was stopped.
  std::optional<ProgramTime> run() {
    for (Rank n = 0; n < topology_.ranks && !stopped(); ++n) go_on(n);
    double us = 0;
    while (!stopped() && network_.advance())
      for (const int transfer : network_.arrivals()) {
        us = network_.now();
        const Bundle& bundle = bundles_[bundle_of_[transfer]];
        const Rank src = topology_.links[bundle.link].src, dst = topology_.links[bundle.link].dst;
        --ranks_[src].epochs[bundle.of_src].open;
        --ranks_[dst].epochs[bundle.of_dst].open;
        for (const Rank n : {src, dst}) go_on(n);
      }
    if (stopped()) return std::nullopt;
    for (const State& rank : ranks_)
      if (rank.next != rank.epochs.size())
        throw std::logic_error("schedule_time: a schedule that never ends");
    return reported(network_, topology_.call_us, us);
  }

 private:
  bool stopped() const { return stop_ != nullptr && *stop_; }

  struct Bundle {
    int step = 0;
    LinkId link = 0;
    std::vector<Send> sends = {};
    std::size_t of_src = 0, of_dst = 0;  // epochs of its ends
  };
  struct Epoch {  // a step in which the rank does anything
    int step = 0;
    std::vector<int> sends = {};  // bundles
    int open = 0;                 // bundles, also received ones, that are not there yet
  };
  struct State {
    std::vector<Epoch> epochs = {};
    std::size_t next = 0;
    bool started = false;
  };

  Epoch& epoch_of(Rank n, int step) {
    std::vector<Epoch>& epochs = ranks_[n].epochs;
    if (epochs.empty() || epochs.back().step != step) epochs.push_back({.step = step});
    return epochs.back();
  }
  std::size_t place_of(Rank n, int step) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(ranks_[n].epochs, step, {}, &Epoch::step) -
                                    ranks_[n].epochs.begin());
  }

  // Starts the rank's sends, and goes on to its next step when all data have arrived.
  // No rank waits for others but through its data: a rank whose step is complete begins its next one, even if
  // others still work at the step before. So a schedule can take less than the sum of the longest times of
  // its steps.
  void go_on(Rank n) {
    State& rank = ranks_[n];
    for (; rank.next < rank.epochs.size(); ++rank.next, rank.started = false) {
      const Epoch& epoch = rank.epochs[rank.next];
      if (!rank.started)
        for (const int b : epoch.sends) start(b);
      rank.started = true;
      if (epoch.open > 0) return;
    }
  }

  // Limits whose switch multicasts or reduces count equal values of a step once, with the first of them
  // that begins.
  void start(int number) {
    const Bundle& bundle = bundles_[number];
    const int messages = static_cast<int>(bundle.sends.size());
    std::vector<FluidNetwork::Counted> counted;
    for (const int i : network_.limits_of(bundle.link)) {
      int count = messages;
      if (topology_.limits[i].abilities.any())
        count = static_cast<int>(std::ranges::count_if(bundle.sends, [&](const Send& send) {
          return carried_.insert({i, bundle.step, counted_as(topology_, topology_.limits[i], send)}).second;
        }));
      counted.push_back({.limit = i, .part = static_cast<double>(count) / messages});
    }
    network_.start(bundle.link, messages * chunk_bytes_, messages, counted);
    bundle_of_.push_back(number);
  }

  const Topology& topology_;
  FluidNetwork network_;
  const double chunk_bytes_;
  const std::atomic<bool>* const stop_;
  std::vector<State> ranks_;
  std::vector<Bundle> bundles_ = {};
  std::vector<int> bundle_of_ = {};                           // by transfer
  std::set<std::tuple<int, int, CountedOnce>> carried_ = {};  // limit, step, what it counts
};

class BlockTime {
 public:
  BlockTime(const BlockProgram& program, const Topology& topology, double block_bytes, int depth)
      : network_(topology),
        call_us_(topology.call_us),
        chunk_bytes_(block_bytes / program.chunks_per_block),
        depth_(depth) {
    for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
      first_.push_back(static_cast<int>(blocks_.size()));
      for (const Block& block : program.ranks[n].blocks) {
        for (int i = 0; i < static_cast<int>(block.instructions.size()); ++i)
          if (block.instructions[i].barrier >= 0)
            barriers_[{n, block.instructions[i].barrier}].push_back({static_cast<int>(blocks_.size()), i});
        blocks_.push_back({n, &block});
      }
    }
  }

  ProgramTime run() {
    return simulate(network_, call_us_, blocks_, [this](State& state) { return step(state); });
  }

 private:
  struct State {
    Rank rank = 0;
    const Block* block = nullptr;
    int next = 0;
    int sending = -1;  // the transfer of instruction `next`
  };
  using Connection = std::tuple<Rank, Rank, int>;

  bool step(State& state) {
    if (state.next == static_cast<int>(state.block->instructions.size())) return false;
    const BlockInstruction& i = state.block->instructions[state.next];
    if (state.sending >= 0) {
      if (!network_.left(state.sending)) return false;
      state.sending = -1;
      ++state.next;
      return true;
    }
    // In order: the instructions of its rank that it waits for, then those that it meets at a barrier, then
    // its message and a free slot in the queue. Nothing is taken before all are there.
    if (!free_to_start(state)) return false;
    // A barrier opens when all have come to it. Blocks go on one after the other, so those that have gone on
    // count as come.
    if (i.barrier >= 0)
      for (const auto& [block, number] : barriers_.at({state.rank, i.barrier}))
        if (const State& other = blocks_[block];
            other.next < number || (other.next == number && !free_to_start(other)))
          return false;
    auto& in = queues_[{state.block->recv_from, state.rank, state.block->channel}];
    auto& out = queues_[{state.rank, state.block->send_to, state.block->channel}];
    if (i.does.takes && (in.empty() || !network_.arrived(in.front()))) return false;
    if (i.does.sends && static_cast<int>(out.size()) >= depth_) return false;
    if (i.does.takes) in.pop_front();
    if (!i.does.sends) {
      ++state.next;
      return true;
    }
    state.sending = network_.start_between(state.rank, state.block->send_to, i.does.count * chunk_bytes_);
    // In the queue from now on: its depth counts messages that are under way as well.
    out.push_back(state.sending);
    return true;
  }

  // Is what its next instruction names in `after` complete?
  bool free_to_start(const State& state) const {
    const std::vector<BlockReference>& all = state.block->instructions[state.next].after;
    return std::all_of(all.begin(), all.end(), [&](const BlockReference& before) {
      return blocks_[first_[state.rank] + before.block].next > before.instruction;
    });
  }

  FluidNetwork network_;
  const double call_us_, chunk_bytes_;
  const int depth_;
  std::vector<int> first_ = {};  // block, by rank
  std::vector<State> blocks_ = {};
  std::map<std::pair<Rank, int>, std::vector<std::pair<int, int>>> barriers_ = {};  // blocks, instructions
  std::map<Connection, std::deque<int>> queues_ = {};                               // transfers
};

// Loads and stores of one Move are under way at the same time; a Signal takes the latency of the link and
// no bandwidth.
class PeerTime {
 public:
  PeerTime(const PeerProgram& program, const Topology& topology, double block_bytes)
      : network_(topology),
        call_us_(topology.call_us),
        chunk_bytes_(block_bytes / program.chunks_per_block),
        program_(program) {
    for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
      raised_.emplace_back(program.ranks[n].counters);
      for (const PeerBlock& block : program.ranks[n].blocks) blocks_.push_back({n, &block});
    }
  }

  ProgramTime run() {
    return simulate(network_, call_us_, blocks_, [this](State& state) { return step(state); });
  }

 private:
  struct State {
    Rank rank = 0;
    const PeerBlock* block = nullptr;
    int next = 0;
    std::vector<int> loads = {}, stores = {};  // transfers of instruction `next`
  };

  bool step(State& state) {
    if (state.next == static_cast<int>(state.block->instructions.size())) return false;
    const PeerInstruction& i = state.block->instructions[state.next];
    if (!state.loads.empty() || !state.stores.empty()) {
      for (int t : state.loads)
        if (!network_.arrived(t)) return false;
      for (int t : state.stores)
        if (!network_.left(t)) return false;
      state.loads.clear();
      state.stores.clear();
      ++state.next;
      return true;
    }
    if (i.opcode == PeerOpcode::Move && begins(state, i.does)) return true;
    if (i.opcode == PeerOpcode::Wait && i.lag == 0) {
      const std::vector<double>& times = raised_[state.rank][i.counter];
      if (static_cast<int>(times.size()) < i.value || times[i.value - 1] > network_.now()) return false;
    }
    if (i.opcode == PeerOpcode::Signal) {
      for (const Rank owner : signalled(program_, i)) {
        const double there =
            network_.now() + (owner == state.rank ? 0 : network_.least_alpha(state.rank, owner));
        raised_[owner][i.counter].push_back(there);
        network_.wake_at(there);
      }
    }
    ++state.next;
    return true;
  }

  // Does this Move take time?
  bool begins(State& state, const DataOperation& move) {
    for (const DataPlace& place : move.from)
      for (const DataPlace& from : single_places(program_.teams, place))
        if (from.rank >= 0 && from.rank != state.rank)
          state.loads.push_back(network_.start_between(from.rank, state.rank, move.count * chunk_bytes_));
    for (const DataPlace& place : move.to)
      for (const DataPlace& to : single_places(program_.teams, place))
        if (to.rank >= 0 && to.rank != state.rank)
          state.stores.push_back(network_.start_between(state.rank, to.rank, move.count * chunk_bytes_));
    return !state.loads.empty() || !state.stores.empty();
  }

  FluidNetwork network_;
  const double call_us_, chunk_bytes_;
  const PeerProgram& program_;
  std::vector<State> blocks_ = {};
  std::vector<std::vector<std::vector<double>>> raised_ = {};  // when, by rank, counter and value
};

}  // namespace

ProgramTime schedule_time(const Schedule& schedule, const Topology& topology, int chunks_per_block,
                          double block_bytes) {
  return *ScheduleTime(schedule, topology, block_bytes / chunks_per_block, nullptr).run();
}

double point_us(const Topology& topology, const Point& point, double block_bytes) {
  if (have_equal_rates(topology)) return time_us(point.cost, topology, block_bytes);
  return schedule_time(point.schedule, topology, point.cost.chunks, block_bytes).us;
}

// Where all links are alike, a step takes alpha, and a round beta: no simulation is needed.
std::optional<double> point_us(const Machine& machine, const Point& point, double block_bytes,
                               const std::atomic<bool>* stop) {
  if (machine.once(have_equal_rates)) return time_us(point.cost, machine.once(alpha_beta), block_bytes);
  const std::optional<ProgramTime> time =
      ScheduleTime(point.schedule, machine, block_bytes / point.cost.chunks, stop).run();
  return time ? std::optional(time->us) : std::nullopt;
}

ProgramTime program_time(const BlockProgram& program, const Topology& topology, double block_bytes,
                         int depth) {
  require_ranks(topology, program.ranks.size());
  return BlockTime(program, topology, block_bytes, depth).run();
}

ProgramTime program_time(const PeerProgram& program, const Topology& topology, double block_bytes) {
  require_ranks(topology, program.ranks.size());
  return PeerTime(program, topology, block_bytes).run();
}

}  // namespace chorale
