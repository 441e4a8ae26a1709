#include "codegen/passes/relax.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>

#include "codegen/passes/events.h"
#include "ir/error.h"
#include "semantics/verify_blocks.h"

namespace chorale {
namespace {

// --- Channels: messages that carry one value along stay together.

void spread(std::vector<Events>& ranks, int channels) {
  const std::map<int, Ends> ends = ends_of(ranks);
  std::map<int, int> parent;
  for (const auto& [message, unused] : ends) parent[message] = message;
  const auto root = [&](int m) {
    while (parent[m] != m) m = parent[m] = parent[parent[m]];
    return m;
  };
  for (const Events& events : ranks) {
    std::map<Slot, int> brought;  // by slot: the last message into it
    for (const Event& event : events) {
      if (event.gone || event.message < 0) continue;
      if (event.instruction.opcode == BlockOpcode::Send) {
        if (const auto at = brought.find(event.instruction.src); at != brought.end()) {
          const int a = root(event.message), b = root(at->second);
          parent[std::max(a, b)] = std::min(a, b);
        }
      } else {
        brought[event.instruction.dst] = event.message;
      }
    }
  }
  // Each chain goes where its fullest connection is emptiest.
  std::map<int, std::vector<std::pair<Rank, Rank>>> chains;
  for (const auto& [message, m] : ends) chains[root(message)].push_back({m.from, m.to});
  std::map<int, int> channel;
  std::map<std::tuple<Rank, Rank, int>, int> load;
  for (const auto& [chain, connections] : chains) {
    int best = 0, least = INT_MAX;
    for (int c = 0; c < channels; ++c) {
      int most = 0;
      for (const auto& [from, to] : connections) most = std::max(most, load[{from, to, c}]);
      if (most < least) best = c, least = most;
    }
    channel[chain] = best;
    for (const auto& [from, to] : connections) ++load[{from, to, best}];
  }
  for (Events& events : ranks)
    for (Event& event : events)
      if (!event.gone && event.message >= 0) event.channel = channel[root(event.message)];
}

// --- Queues: what is sent in a step, in the order in which it is received. Sends of a step read what was
// before it, so their order is free.

void match_order(std::vector<Events>& ranks) {
  const std::map<int, Ends> ends = ends_of(ranks);
  for (Events& events : ranks) {
    const auto key = [&](const Event& event) {
      const bool is_send = event.message >= 0 && event.instruction.opcode == BlockOpcode::Send && !event.gone;
      return std::tuple{event.step, is_send ? 0 : 1, is_send ? ends.at(event.message).recv : 0};
    };
    std::ranges::stable_sort(events, {}, key);
  }
}

// --- Blocks and dependencies of one rank.

class RankBuilder {
 public:
  RankBuilder(const Collective& collective, Rank rank, Events events, const RelaxOptions& options,
              bool paired)
      : collective_(collective), rank_(rank), events_(std::move(events)), options_(options) {
    std::erase_if(events_, [](const Event& e) { return e.gone; });
    make_blocks(paired);
    find_hazards();
    if (options_.fuse) {
      fuse();
      find_hazards();  // what stays in a register is neither read nor, where nobody else wants it, written
    }
  }

  std::vector<Block> blocks() const {
    std::vector<Block> result = blocks_;
    std::vector<BlockReference> place(events_.size());
    for (int b = 0; b < static_cast<int>(result.size()); ++b)
      for (int e : members_[b]) {
        if (events_[e].gone) continue;
        place[e] = {b, static_cast<int>(result[b].instructions.size())};
        result[b].instructions.push_back(events_[e].instruction);
      }
    for (int b = 0; b < static_cast<int>(result.size()); ++b)
      for (int e : members_[b]) {
        if (events_[e].gone) continue;
        std::map<int, int> latest;  // by block
        for (int before : after_[e]) {
          const BlockReference at = place[before];
          if (at.block != b)
            latest[at.block] = std::max(latest.contains(at.block) ? latest[at.block] : 0, at.instruction);
        }
        for (const auto& [block, instruction] : latest)
          result[b].instructions[place[e].instruction].after.push_back({block, instruction});
      }
    std::erase_if(result, [](const Block& block) { return block.instructions.empty(); });
    return result;
  }

 private:
  // A block for a pair of peers between which values are handed on, or for one peer and direction; one more
  // for what is local.
  void make_blocks(bool paired) {
    std::map<std::tuple<int, Rank, Rank>, int> handed_on;  // channel, from, to
    std::map<Slot, const Event*> brought;
    for (const Event& event : events_) {
      if (event.message < 0) continue;
      if (event.instruction.opcode != BlockOpcode::Send)
        brought[event.instruction.dst] = &event;
      else if (const auto at = brought.find(event.instruction.src); at != brought.end() && paired)
        ++handed_on[{event.channel, at->second->peer, event.peer}];
    }
    std::vector<std::pair<int, std::tuple<int, Rank, Rank>>> pairs;
    for (const auto& [pair, count] : handed_on) pairs.push_back({-count, pair});
    std::ranges::sort(pairs);
    std::map<std::pair<int, Rank>, int> sender, receiver;  // channel, peer -> block
    for (const auto& [count, pair] : pairs) {
      const auto& [channel, from, to] = pair;
      if (receiver.contains({channel, from}) || sender.contains({channel, to})) continue;
      receiver[{channel, from}] = sender[{channel, to}] = static_cast<int>(blocks_.size());
      blocks_.push_back({.send_to = to, .recv_from = from, .channel = channel});
    }
    int local = -1, locals = 0;
    block_of_.resize(events_.size());
    for (std::size_t e = 0; e < events_.size(); ++e) {
      const Event& event = events_[e];
      if (event.message < 0) {
        if (local < 0 || (options_.most_instructions > 0 && locals % options_.most_instructions == 0)) {
          local = static_cast<int>(blocks_.size());
          blocks_.push_back({});
        }
        ++locals;
        block_of_[e] = local;
        continue;
      }
      const bool out = event.instruction.opcode == BlockOpcode::Send;
      const auto [at, added] =
          (out ? sender : receiver)
              .try_emplace({event.channel, event.peer}, static_cast<int>(blocks_.size()));
      if (added)
        blocks_.push_back(
            {.send_to = out ? event.peer : -1, .recv_from = out ? -1 : event.peer, .channel = event.channel});
      block_of_[e] = at->second;
    }
    members_.resize(blocks_.size());
    for (std::size_t e = 0; e < events_.size(); ++e) members_[block_of_[e]].push_back(static_cast<int>(e));
  }

  Slot memory(const Slot& slot) const {
    return options_.in_place ? in_place_slot(collective_.name, collective_.chunks_per_block, rank_, slot)
                             : slot;
  }

  // What must come before what: a read after the write that it reads, a write after what it overwrites.
  void find_hazards() {
    std::map<Slot, int> writer;
    std::map<Slot, std::vector<int>> readers;
    after_.assign(events_.size(), {});
    for (int e = 0; e < static_cast<int>(events_.size()); ++e) {
      if (events_[e].gone) continue;
      for (const Slot& slot : slots_read(events_[e].instruction)) {
        if (const auto at = writer.find(memory(slot)); at != writer.end()) after_[e].insert(at->second);
        readers[memory(slot)].push_back(e);
      }
      for (const Slot& slot : slots_written(events_[e].instruction)) {
        for (int reader : readers[memory(slot)])
          if (reader != e) after_[e].insert(reader);
        if (const auto at = writer.find(memory(slot)); at != writer.end()) after_[e].insert(at->second);
        writer[memory(slot)] = e;
        readers[memory(slot)].clear();
      }
    }
  }

  // A receive and the send of the same chunks that follows it in its block become one instruction.
  void fuse() {
    for (const std::vector<int>& members : members_)
      for (std::size_t k = 0; k + 1 < members.size(); ++k) {
        Event &recv = events_[members[k]], &send = events_[members[k + 1]];
        const bool fits = (recv.instruction.opcode == BlockOpcode::Recv ||
                           recv.instruction.opcode == BlockOpcode::RecvReduce) &&
                          send.instruction.opcode == BlockOpcode::Send &&
                          send.instruction.src == recv.instruction.dst &&
                          send.instruction.count == recv.instruction.count;
        // The send may wait for nothing but this block.
        const bool free =
            fits && std::all_of(after_[members[k + 1]].begin(), after_[members[k + 1]].end(),
                                [&](int before) { return block_of_[before] == block_of_[members[k]]; });
        if (!free) continue;
        const bool adds = recv.instruction.opcode == BlockOpcode::RecvReduce;
        recv.instruction.opcode = !adds                                   ? BlockOpcode::RecvCopySend
                                  : is_wanted(members[k], members[k + 1]) ? BlockOpcode::RecvReduceCopySend
                                                                          : BlockOpcode::RecvReduceSend;
        if (recv.instruction.opcode == BlockOpcode::RecvReduceSend) recv.instruction.dst = {};
        send.gone = true;
      }
  }

  // Is what the event leaves in its slots read by another one than the send, or there at the end?
  bool is_wanted(int event, int send) const {
    for (const Slot& slot : slots_written(events_[event].instruction)) {
      bool overwritten = false;
      for (int e = event + 1; e < static_cast<int>(events_.size()) && !overwritten; ++e) {
        if (e == send || events_[e].gone) continue;
        for (const Slot& read : slots_read(events_[e].instruction))
          if (memory(read) == memory(slot)) return true;
        for (const Slot& written : slots_written(events_[e].instruction))
          overwritten = overwritten || memory(written) == memory(slot);
      }
      if (!overwritten && slot.buffer != Buffer::Scratch) return true;
    }
    return false;
  }

  const Collective& collective_;
  const Rank rank_;
  Events events_;
  const RelaxOptions& options_;
  std::vector<Block> blocks_ = {};
  std::vector<std::vector<int>> members_ = {};  // by block: events
  std::vector<int> block_of_ = {};              // by event
  std::vector<std::set<int>> after_ = {};       // by event
};

// --- Dependencies that follow from the others, from the order in blocks and from messages.

// How far each block of each rank must have come, by block numbered through.
using Reached = std::vector<int>;

class ImpliedDependencies {
 public:
  explicit ImpliedDependencies(BlockProgram& program) : program_(program) {
    for (const BlockRank& rank : program.ranks) {
      first_block_.push_back(blocks_);
      blocks_ += static_cast<int>(rank.blocks.size());
    }
    next_.resize(blocks_, 0);
    reached_.resize(blocks_, Reached(blocks_, 0));
    after_.resize(blocks_);
  }

  void drop() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Rank n = 0; n < static_cast<int>(program_.ranks.size()); ++n)
        for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
          while (next_[first_block_[n] + b] <
                     static_cast<int>(program_.ranks[n].blocks[b].instructions.size()) &&
                 step(n, b))
            moved = true;
    }
  }

 private:
  bool step(Rank n, int b) {
    Block& block = program_.ranks[n].blocks[b];
    const int self = first_block_[n] + b;
    BlockInstruction& i = block.instructions[next_[self]];
    for (const BlockReference& before : i.after)
      if (next_[first_block_[n] + before.block] <= before.instruction) return false;
    std::vector<Reached>& queue = queues_[{block.recv_from, n, block.channel}];
    Reached reached = reached_[self];
    if (receives(i.opcode)) {
      if (queue.empty()) return false;
      join(reached, queue.front());
      queue.erase(queue.begin());
    }
    // One that another one brings along is not needed.
    std::vector<BlockReference> needed;
    for (const BlockReference& before : i.after) {
      const auto brings = [&](const Reached& r) {
        return r[first_block_[n] + before.block] > before.instruction;
      };
      bool implied = brings(reached);
      for (const BlockReference& other : i.after)
        implied =
            implied || (other != before && brings(after_[first_block_[n] + other.block][other.instruction]));
      if (!implied) needed.push_back(before);
    }
    for (const BlockReference& before : needed)
      join(reached, after_[first_block_[n] + before.block][before.instruction]);
    i.after = needed;
    reached[self] = ++next_[self];
    reached_[self] = reached;
    after_[self].push_back(reached);
    if (sends(i.opcode)) queues_[{n, block.send_to, block.channel}].push_back(reached);
    return true;
  }

  static void join(Reached& to, const Reached& from) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = std::max(to[k], from[k]);
  }

  BlockProgram& program_;
  int blocks_ = 0;
  std::vector<int> first_block_ = {}, next_ = {};
  std::vector<Reached> reached_ = {};
  std::vector<std::vector<Reached>> after_ = {};  // by block and instruction
  std::map<std::tuple<Rank, Rank, int>, std::vector<Reached>> queues_ = {};
};

BlockProgram build(const Collective& collective, const Program& program, const RelaxOptions& options,
                   bool paired) {
  std::vector<Events> ranks;
  for (const RankProgram& rank : program.ranks) ranks.push_back(landed(rank));
  if (options.merge) merge_messages(ranks, program.chunks_per_block);
  spread(ranks, options.channels);
  match_order(ranks);
  BlockProgram result{.name = program.name,
                      .collective = program.collective,
                      .chunks_per_block = program.chunks_per_block,
                      .in_place = options.in_place};
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    result.ranks.push_back(
        {.input_chunks = program.ranks[n].input_chunks,
         .output_chunks = program.ranks[n].output_chunks,
         .scratch_chunks = program.ranks[n].scratch_chunks,
         .blocks = RankBuilder(collective, n, std::move(ranks[n]), options, paired).blocks()});
  ImpliedDependencies(result).drop();
  return result;
}

int longest_block(const BlockProgram& program) {
  std::size_t longest = 0;
  for (const BlockRank& rank : program.ranks)
    for (const Block& block : rank.blocks) longest = std::max(longest, block.instructions.size());
  return static_cast<int>(longest);
}

}  // namespace

BlockProgram relax(const Collective& collective, const Program& program, const RelaxOptions& asked) {
  constexpr int kMostChannels = 32;
  // Blocks that hand values on first: they are fewest, and fuse. Where they would hang on queues as deep as
  // there are, a block for each direction.
  constexpr std::pair<bool, int> attempts[] = {{true, 1},  {true, 2},  {true, 4},  {true, 8},
                                               {false, 1}, {false, 2}, {false, 4}, {false, 8}};
  RelaxOptions options = asked;
  std::string fault;
  for (; options.channels <= kMostChannels; ++options.channels) {
    bool too_long = false;
    for (const auto& [paired, depth] : attempts) {
      if (depth > options.queue_depth) continue;
      BlockProgram result = build(collective, program, options, paired);
      result.queue_depth = depth;
      if (options.most_instructions > 0 && longest_block(result) > options.most_instructions) {
        too_long = true;
        continue;
      }
      const auto faults = violations(collective, result, depth, options.in_place, 1);
      if (faults.empty()) return result;
      fault = faults.front();
      if (fault.find("waits forever") == std::string::npos) break;
    }
    if (!too_long) break;
  }
  if (fault.empty() || options.channels > kMostChannels)
    throw InputError(program.name,
                     fmt::format("has blocks of more than {} instructions even on {} channels",
                                 options.most_instructions, kMostChannels),
                     "use fewer chunks");
  if (fault.find("waits forever") != std::string::npos)
    throw InputError(program.name, "needs deeper queues: " + fault, "raise the depth, if the target has it");
  if (options.in_place)
    throw InputError(program.name, "cannot be done in place: " + fault, "use it out of place");
  throw std::logic_error("relaxing " + program.name + " is wrong: " + fault);
}

}  // namespace chorale
