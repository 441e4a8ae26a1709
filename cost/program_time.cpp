// Blocks are run as far as they come, transfers that are ready are started where links are free, and the clock goes to the next
// time at which something ends; over and over, until all blocks are done. Nothing is planned ahead: a transfer takes the
// first free link in the order of readiness, as hardware queues do, so the result is what happens and not what could at
// best. `busiest_us` says how far the best may be.
//
// Everything that can move at a time moves before the clock does. Times at which something ends are kept as
// they were computed and the clock stands exactly at them, so nothing is compared within a tolerance. Each
// time looks at all blocks, and at all transfers that wait or are on their way.
//
// A program that the referee accepts cannot stand still: if no time is left and a block is not done, that is
// a bug of ours.
#include "cost/program_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "cost/cost.h"
#include "ir/error.h"

namespace chorale {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// What a transfer of a schedule carries.
struct SentValue {
  int step = -1;  // of no schedule
  Chunk chunk = 0;
  bool reduce = false;
};

// Links and limits, and the transfers over them.
class Network {
 public:
  explicit Network(const Topology& topology) : topology_(topology) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
      between_[{topology.links[l].src, topology.links[l].dst}].push_back(l);
    limits_of_.resize(topology.links.size());
    for (int i = 0; i < static_cast<int>(topology.limits.size()); ++i)
      for (LinkId l : topology.limits[i].links) limits_of_[l].push_back(i);
    taken_.resize(topology.links.size(), false);
    used_.resize(topology.limits.size(), 0);
    link_us_.resize(topology.links.size(), 0);
    limit_us_.resize(topology.limits.size(), 0);
  }

  double now() const { return now_; }

  double alpha(Rank from, Rank to) const {
    double least = kNever;
    for (LinkId l : links(from, to)) least = std::min(least, topology_.links[l].alpha_us);
    return least;
  }

  // A transfer that is ready now; its number. Of a schedule's, what is sent: limits whose switch multicasts or reduces carry
  // equal values of a step once, with the first of them.
  int send(Rank from, Rank to, double bytes, const SentValue& value = {}) {
    links(from, to);
    transfers_.push_back({.from = from, .to = to, .bytes = bytes, .value = value});
    waiting_.push_back(static_cast<int>(transfers_.size()) - 1);
    return waiting_.back();
  }
  bool left(int transfer) const { return transfers_[transfer].leaves <= now_; }
  bool arrived(int transfer) const { return transfers_[transfer].arrives <= now_; }

  // Something will happen then.
  void wake_at(double time) { times_.insert(time); }

  // Starts what is ready and finds its links free, in the order of readiness. One that finds none holds up
  // nobody behind it who needs other links.
  void start() {
    std::erase_if(waiting_, [&](int t) {
      for (LinkId l : links(transfers_[t].from, transfers_[t].to))
        if (free(l, transfers_[t].value)) {
          begin(transfers_[t], l);
          return true;
        }
      return false;
    });
  }

  // To the next time at which something happens; false if nothing does.
  bool advance() {
    if (times_.empty()) return false;
    now_ = *times_.begin();
    times_.erase(times_.begin());
    std::erase_if(flying_, [&](const auto& end) {
      if (end.leaves > now_) return false;
      taken_[end.link] = false;
      for (int i : end.limits) used_[i] -= share(end.link, i);
      return true;
    });
    return true;
  }

  void report(ProgramTime& result) const {
    for (std::size_t l = 0; l < link_us_.size(); ++l)
      if (link_us_[l] > result.busiest_us) {
        result.busiest_us = link_us_[l];
        result.busiest = fmt::format("link {} -> {}", topology_.links[l].src, topology_.links[l].dst);
      }
    for (std::size_t i = 0; i < limit_us_.size(); ++i)
      if (limit_us_[i] > result.busiest_us) {
        result.busiest_us = limit_us_[i];
        result.busiest = "limit " + topology_.limits[i].name;
      }
  }

 private:
  struct Transfer {
    Rank from = 0, to = 0;
    double bytes = 0;
    SentValue value = {};
    double leaves = kNever, arrives = kNever;
  };
  struct Flight {
    double leaves = 0;
    LinkId link = 0;
    std::vector<int> limits = {};  // of which it keeps its part
  };

  const std::vector<LinkId>& links(Rank from, Rank to) const {
    const auto at = between_.find({from, to});
    if (at == between_.end())
      throw InputError(topology_.name,
                       fmt::format("has no link from rank {} to rank {}, which the program uses", from, to),
                       "use a machine that has it");
    return at->second;
  }

  // What a transfer over this link keeps of a limit: the link's whole bandwidth, or all that there is. So it
  // has one rate from beginning to end, and nothing is computed anew when another comes or goes.
  int share(LinkId l, int limit) const {
    return std::min(topology_.links[l].bandwidth, topology_.limits[limit].bandwidth);
  }

  bool free(LinkId l, const SentValue& value) const {
    return !taken_[l] && std::all_of(limits_of_[l].begin(), limits_of_[l].end(), [&](int i) {
      return used_[i] + share(l, i) <= topology_.limits[i].bandwidth ||
             carried_.contains(carriage(i, l, value));
    });
  }

  using Carriage = std::tuple<int, int, CountedOnce>;  // limit, step, what it counts
  Carriage carriage(int i, LinkId l, const SentValue& value) const {
    if (value.step < 0 || !topology_.limits[i].abilities.any()) return {-1, 0, {}};
    return {i, value.step,
            counted_as(topology_, topology_.limits[i],
                       {.chunk = value.chunk, .link = l, .reduce = value.reduce})};
  }

  void begin(Transfer& transfer, LinkId l) {
    const Link& link = topology_.links[l];
    int bandwidth = link.bandwidth;
    for (int i : limits_of_[l]) bandwidth = std::min(bandwidth, topology_.limits[i].bandwidth);
    const double us = link.beta_us_per_byte * transfer.bytes / bandwidth;
    transfer.leaves = now_ + us;
    transfer.arrives = transfer.leaves + link.alpha_us;
    wake_at(transfer.leaves);
    wake_at(transfer.arrives);
    taken_[l] = true;
    link_us_[l] += us;
    Flight flight{.leaves = transfer.leaves, .link = l};
    for (int i : limits_of_[l]) {
      const Carriage once = carriage(i, l, transfer.value);
      if (std::get<0>(once) >= 0 && !carried_.insert(once).second) continue;
      flight.limits.push_back(i);
      used_[i] += share(l, i);
      // A limit half of which was taken was in use for half of the time.
      limit_us_[i] += us * bandwidth / topology_.limits[i].bandwidth;
    }
    flying_.push_back(std::move(flight));
  }

  const Topology& topology_;
  std::map<std::pair<Rank, Rank>, std::vector<LinkId>> between_ = {};
  std::vector<std::vector<int>> limits_of_ = {};  // by link
  double now_ = 0;
  std::set<double> times_ = {};           // at which something leaves or arrives, from now_ on
  std::vector<Transfer> transfers_ = {};  // all, also those that have ended
  std::vector<int> waiting_ = {};         // in the order in which they became ready
  std::vector<Flight> flying_ = {};       // until they leave
  std::set<Carriage> carried_ = {};
  std::vector<char> taken_ = {};                      // by link
  std::vector<int> used_ = {};                        // by limit
  std::vector<double> link_us_ = {}, limit_us_ = {};  // in use
};

// Runs blocks, of either kind, to their ends: `step` does what a block can do now, and says whether that was
// anything. A state has its `block` and the number of its `next` instruction.
template <typename State, typename Step>
ProgramTime simulate(Network& network, std::vector<State>& states, const Step& step) {
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
        while (step(state)) {
          moved = true;
          result.us = network.now();
        }
      network.start();
    }
  } while (network.advance());
  if (!done()) throw std::logic_error("program_time: a program that never ends");
  network.report(result);
  return result;
}

void require_ranks(const Topology& topology, std::size_t ranks) {
  if (static_cast<std::size_t>(topology.ranks) != ranks)
    throw InputError(topology.name, fmt::format("has {} ranks, the program {}", topology.ranks, ranks),
                     "use a machine of that size");
}

// A message of a chunk.
struct ChunkMessage {
  int step = 0;
  Rank from = 0, to = 0;
  SentValue value = {};
};

// A rank's epochs are its instructions, each the messages that it sends and receives.
class EpochTime {
 public:
  // Messages by their numbers.
  EpochTime(std::vector<ChunkMessage> messages, int steps, const Topology& topology, double chunk_bytes)
      : network_(topology), chunk_bytes_(chunk_bytes), messages_(std::move(messages)) {
    ranks_.resize(static_cast<std::size_t>(topology.ranks));
    for (Epochs& epochs : ranks_) epochs.instructions.resize(static_cast<std::size_t>(steps));
    for (int m = 0; m < static_cast<int>(messages_.size()); ++m) {
      ranks_[messages_[m].from].instructions[messages_[m].step].sends.push_back(m);
      ranks_[messages_[m].to].instructions[messages_[m].step].receives.push_back(m);
    }
    transfers_.resize(messages_.size(), -1);
    for (const Epochs& epochs : ranks_) states_.push_back({.block = &epochs});
  }

  ProgramTime run() {
    return simulate(network_, states_, [this](State& state) { return step(state); });
  }

 private:
  struct Epoch {
    std::vector<int> sends = {}, receives = {};
  };
  struct Epochs {
    std::vector<Epoch> instructions = {};
  };
  struct State {
    const Epochs* block = nullptr;
    int next = 0;
    bool started = false;
  };

  bool step(State& state) {
    if (state.next == static_cast<int>(state.block->instructions.size())) return false;
    const Epoch& epoch = state.block->instructions[state.next];
    if (!state.started) {
      for (const int m : epoch.sends)
        transfers_[m] = network_.send(messages_[m].from, messages_[m].to, chunk_bytes_, messages_[m].value);
      state.started = true;
    }
    for (const int m : epoch.sends)
      if (!network_.left(transfers_[m])) return false;
    for (const int m : epoch.receives)
      if (transfers_[m] < 0 || !network_.arrived(transfers_[m])) return false;
    ++state.next;
    state.started = false;
    return true;
  }

  Network network_;
  const double chunk_bytes_;
  const std::vector<ChunkMessage> messages_;
  std::vector<Epochs> ranks_ = {};
  std::vector<int> transfers_ = {};  // by message; -1: not sent yet
  std::vector<State> states_ = {};
};

class BlockTime {
 public:
  BlockTime(const BlockProgram& program, const Topology& topology, double block_bytes, int depth)
      : network_(topology), chunk_bytes_(block_bytes / program.chunks_per_block), depth_(depth) {
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
    return simulate(network_, blocks_, [this](State& state) { return step(state); });
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
    // In order: what it waits for in its rank, then those that it meets at a barrier, then its message and a
    // free place in the queue. Nothing is taken before all are there.
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
    state.sending = network_.send(state.rank, state.block->send_to, i.does.count * chunk_bytes_);
    // In the queue from now on: its depth is of messages on their way as well.
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

  Network network_;
  const double chunk_bytes_;
  const int depth_;
  std::vector<int> first_ = {};  // block, by rank
  std::vector<State> blocks_ = {};
  std::map<std::pair<Rank, int>, std::vector<std::pair<int, int>>> barriers_ = {};  // blocks, instructions
  std::map<Connection, std::deque<int>> queues_ = {};                               // transfers
};

class PeerTime {
 public:
  PeerTime(const PeerProgram& program, const Topology& topology, double block_bytes)
      : network_(topology), chunk_bytes_(block_bytes / program.chunks_per_block) {
    for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
      raised_.emplace_back(program.ranks[n].counters);
      for (const PeerBlock& block : program.ranks[n].blocks) blocks_.push_back({n, &block});
    }
  }

  ProgramTime run() {
    return simulate(network_, blocks_, [this](State& state) { return step(state); });
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
      const double there = network_.now() + (i.rank == state.rank ? 0 : network_.alpha(state.rank, i.rank));
      raised_[i.rank][i.counter].push_back(there);
      network_.wake_at(there);
    }
    ++state.next;
    return true;
  }

  // Does this Move take time?
  bool begins(State& state, const DataOperation& move) {
    for (const DataPlace& from : move.from)
      if (from.rank >= 0 && from.rank != state.rank)
        state.loads.push_back(network_.send(from.rank, state.rank, move.count * chunk_bytes_));
    for (const DataPlace& to : move.to)
      if (to.rank >= 0 && to.rank != state.rank)
        state.stores.push_back(network_.send(state.rank, to.rank, move.count * chunk_bytes_));
    return !state.loads.empty() || !state.stores.empty();
  }

  Network network_;
  const double chunk_bytes_;
  std::vector<State> blocks_ = {};
  std::vector<std::vector<std::vector<double>>> raised_ = {};  // when, by rank, counter and value
};

}  // namespace

ProgramTime program_time(const Program& program, const Topology& topology, double block_bytes) {
  require_ranks(topology, program.ranks.size());
  std::vector<ChunkMessage> messages;
  for (const MessageEnds& each : messages_of(program))
    messages.push_back({.step = each.step, .from = each.from, .to = each.to});
  return EpochTime(std::move(messages), program.steps, topology, block_bytes / program.chunks_per_block)
      .run();
}

ProgramTime schedule_time(const Schedule& schedule, const Topology& topology, int chunks_per_block,
                          double block_bytes) {
  std::vector<ChunkMessage> messages;
  for (int s = 0; s < static_cast<int>(schedule.steps.size()); ++s)
    for (const Send& send : schedule.steps[s].sends)
      messages.push_back({.step = s,
                          .from = topology.links[send.link].src,
                          .to = topology.links[send.link].dst,
                          .value = {.step = s, .chunk = send.chunk, .reduce = send.reduce}});
  return EpochTime(std::move(messages), static_cast<int>(schedule.steps.size()), topology,
                   block_bytes / chunks_per_block)
      .run();
}

bool links_alike(const Topology& topology) {
  return std::ranges::all_of(topology.links, [&](const Link& link) {
    return link.alpha_us == topology.links.front().alpha_us &&
           link.beta_us_per_byte == topology.links.front().beta_us_per_byte;
  });
}

double point_us(const Topology& topology, const Point& point, double block_bytes) {
  if (links_alike(topology)) return time_us(point.cost, topology, block_bytes);
  return schedule_time(point.schedule, topology, point.cost.chunks, block_bytes).us;
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
