// The cheapest program first: blocks that hand values on, on shallow queues, then on deeper ones; then a
// block for each direction; more channels only where blocks are longer than the target takes. Every attempt
// is made from the beginning and verified with its queues. A deadlock is the only fault that the next attempt
// may remove; any other is returned.
#include "codegen/passes/relax.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/passes/events.h"
#include "ir/collective.h"
#include "semantics/verify_blocks.h"

namespace chorale {
namespace {

// A block for each pair of peers between which values are handed on, those that do it most first, so that a
// value can stay in a register; then one for each peer and direction that is left, and one for what is local.
// The rank's list is an order in which it could do everything alone, so what must come before what follows
// from it: a read after the last write of its slot, a write after that and after all reads since.
//
// Invariant: a block sends to at most one rank and receives from at most one, on one channel. A receive and
// the send after it become one instruction only if the send waits for nothing but its own block; what it left
// in its slot is then not stored unless another operation reads it, so the hazards are found anew.

class RankBuilder {
 public:
  RankBuilder(const Collective& collective, Rank rank, Events events, const RelaxOptions& options,
              bool paired)
      : collective_(collective), rank_(rank), events_(std::move(events)), options_(options) {
    std::erase_if(events_, [](const Event& e) { return e.gone; });
    make_blocks(paired);
    find_hazards();
    fuse();
    find_hazards();  // a value in a register is not read, nor written unless another operation reads it
  }

  // Instructions are numbered when all are in their blocks; then dependencies, which name them, are written.
  // Of several in one other block only the latest counts: a block's own order implies the rest.
  std::vector<Block> blocks() const {
    std::vector<Block> result = blocks_;
    std::vector<BlockReference> place(events_.size());
    for (int b = 0; b < static_cast<int>(result.size()); ++b)
      for (int e : members_[b]) {
        if (events_[e].gone) continue;
        place[e] = {b, static_cast<int>(result[b].instructions.size())};
        result[b].instructions.push_back({.does = events_[e].does});
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
  // for what is local. Pairs are taken greedily. A peer has one block per channel and direction, so a pair of
  // which an end is taken gets none. Local work is cut into blocks of at most most_instructions.
  void make_blocks(bool paired) {
    // A value is handed on where a send reads the slot that the last message into it has filled.
    std::map<std::tuple<int, Rank, Rank>, int> handed_on;  // channel, from, to
    std::map<Slot, const Event*> brought;
    for (const Event& event : events_) {
      if (event.message < 0) continue;
      if (!event.does.sends)
        brought[event.does.to[0].slot] = &event;
      else if (const auto at = brought.find(event.does.from[0].slot); at != brought.end() && paired)
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
      const bool out = event.does.sends;
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

  // In place input and output overlap: hazards are of memory, so one slot stands for both.
  Slot memory(const Slot& slot) const {
    return options_.in_place ? in_place_slot(collective_.kind, collective_.chunks_per_block, rank_, slot)
                             : slot;
  }

  // What must come before what: a read after the write that it reads, a write after what it overwrites.
  void find_hazards() {
    std::map<Slot, int> writer;
    std::map<Slot, std::vector<int>> readers;
    after_.assign(events_.size(), {});
    for (int e = 0; e < static_cast<int>(events_.size()); ++e) {
      if (events_[e].gone) continue;
      for (const Slot& slot : slots_of(events_[e].does.from, events_[e].does.count)) {
        if (const auto at = writer.find(memory(slot)); at != writer.end()) after_[e].insert(at->second);
        readers[memory(slot)].push_back(e);
      }
      for (const Slot& slot : slots_of(events_[e].does.to, events_[e].does.count)) {
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
        const bool fits = recv.does.takes && !recv.does.sends && send.does.sends && !send.does.takes &&
                          send.does.from == recv.does.to && send.does.count == recv.does.count;
        // The send may wait for nothing but this block.
        const bool free =
            fits && std::all_of(after_[members[k + 1]].begin(), after_[members[k + 1]].end(),
                                [&](int before) { return block_of_[before] == block_of_[members[k]]; });
        if (!free) continue;
        recv.does.sends = true;
        if (adds(recv.does) && !is_wanted(members[k], members[k + 1])) recv.does.to.clear();
        send.gone = true;
      }
  }

  // Is what the event leaves in its slots read by another one than the send, or there at the end?
  bool is_wanted(int event, int send) const {
    for (const Slot& slot : slots_of(events_[event].does.to, events_[event].does.count)) {
      bool overwritten = false;
      for (int e = event + 1; e < static_cast<int>(events_.size()) && !overwritten; ++e) {
        if (e == send || events_[e].gone) continue;
        for (const Slot& read : slots_of(events_[e].does.from, events_[e].does.count))
          if (memory(read) == memory(slot)) return true;
        for (const Slot& written : slots_of(events_[e].does.to, events_[e].does.count))
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

// The blocks of a rank, each with at most one peer to send to and one to receive from, with all dependencies
// between them; a value that is received and sent on stays in a register. `paired`: a block for two peers
// between which values are handed on, where there are such; else one for each peer and direction.
std::vector<Block> blocks_of(const Collective& collective, Rank rank, Events events,
                             const RelaxOptions& options, bool paired) {
  return RankBuilder(collective, rank, std::move(events), options, paired).blocks();
}

// The program is run on vector clocks: how far every block of every rank must have come when a block has come
// this far, by what it did, what it waited for, and what the clocks of its messages' senders were. A
// dependency is dropped where that is known without it, or where another dependency of the same instruction
// brings it along. Each instruction is examined once, after all that it waits for; blocks that wait forever
// keep what they have, and the verifier will report it.

// How far each block of each rank must have come, by block numbered through.
using Reached = std::vector<int>;

// Clocks are by block, all ranks' blocks numbered through; after_ keeps one for each instruction that has
// run.
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

  // Rounds over all blocks until none goes on; an instruction that cannot run yet is asked again in the next
  // round.
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
  // False: it waits. A message has the clock of its sender, behind the send. Dependencies that stay bring the
  // clocks behind the instructions that they name.
  bool step(Rank n, int b) {
    Block& block = program_.ranks[n].blocks[b];
    const int self = first_block_[n] + b;
    BlockInstruction& i = block.instructions[next_[self]];
    for (const BlockReference& before : i.after)
      if (next_[first_block_[n] + before.block] <= before.instruction) return false;
    std::vector<Reached>& queue = queues_[{block.recv_from, n, block.channel}];
    Reached reached = reached_[self];
    if (i.does.takes) {
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
    if (i.does.sends) queues_[{n, block.send_to, block.channel}].push_back(reached);
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

// Drops dependencies that follow from others, from the order in blocks and from messages.
void drop_implied_dependencies(BlockProgram& program) {
  ImpliedDependencies(program).drop();
}

// Which channel a message takes, and in which order messages enter it.

// Each message gets one of `channels` channels. Those that carry one value along stay together, so that it
// can stay in a register; each such chain goes where its fullest connection is emptiest.
//
// Chains by union-find over messages: a send from the slot that a message has come into continues it. The
// first message of a chain stands for it. Greedy, by the number of messages. A block can hand a value on in a
// register only if it comes and leaves on one channel.
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
      if (event.does.sends) {
        if (const auto at = brought.find(event.does.from[0].slot); at != brought.end()) {
          const int a = root(event.message), b = root(at->second);
          parent[std::max(a, b)] = std::min(a, b);
        }
      } else {
        brought[event.does.to[0].slot] = event.message;
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

// Orders the sends of a step as they are received, which queues require. Sends of a step read what was before
// it, so their order is free.
//
// A queue delivers in the order of its sends. Receives stay as they are, since what they land in may depend
// on each other; sends of one step are free.
void match_order(std::vector<Events>& ranks) {
  const std::map<int, Ends> ends = ends_of(ranks);
  for (Events& events : ranks) {
    const auto key = [&](const Event& event) {
      const bool is_send = event.does.sends && !event.gone;
      return std::tuple{event.step, is_send ? 0 : 1, is_send ? ends.at(event.message).recv : 0};
    };
    std::ranges::stable_sort(events, {}, key);
  }
}

// From the beginning each time: every pass changes the events in place.
BlockProgram build(const Collective& collective, const Program& program, const RelaxOptions& options,
                   bool paired) {
  std::vector<Events> ranks;
  for (const RankProgram& rank : program.ranks) ranks.push_back(completed(rank));
  merge_messages(ranks, program.chunks_per_block);
  spread(ranks, options.channels);
  match_order(ranks);
  BlockProgram result{.name = program.name,
                      .collective = program.collective,
                      .chunks_per_block = program.chunks_per_block,
                      .in_place = options.in_place,
                      .epilogue = program.epilogue};
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    result.ranks.push_back({.input_chunks = program.ranks[n].input_chunks,
                            .output_chunks = program.ranks[n].output_chunks,
                            .scratch_chunks = program.ranks[n].scratch_chunks,
                            .slice = program.ranks[n].slice,
                            .blocks = blocks_of(collective, n, std::move(ranks[n]), options, paired)});
  drop_implied_dependencies(result);
  return result;
}

// In instructions, of any rank.
int longest_block(const BlockProgram& program) {
  int longest = 0;
  for_each_instruction(program, [&](Rank, int, int i, const auto&) { longest = std::max(longest, i + 1); });
  return longest;
}

// Local sums are stored over an operand: a sum that is stored elsewhere becomes a copy, and additions to
// that. c = a + b becomes c = a, c = c + b.
Program with_sums_in_place(Program program) {
  for (RankProgram& rank : program.ranks)
    for (ThreadBlock& block : rank.blocks) {
      std::vector<Instruction> split;
      for (const Instruction& i : block.instructions) {
        const DataOperation& op = i.does;
        const bool elsewhere = is_local(op) && op.from.size() > 1 && op.to.size() == 1 &&
                               std::ranges::find(op.from, op.to.front()) == op.from.end();
        for (std::size_t k = 0; k < (elsewhere ? op.from.size() : 1); ++k) {
          Instruction& part = split.emplace_back(i);
          if (elsewhere && k == 0) part.does.from = {op.from[0]};
          if (elsewhere && k > 0) part.does.from = {op.to[0], op.from[k]};
        }
      }
      block.instructions = std::move(split);
    }
  return program;
}

// With blocks as short as requested. `steps` are those of the program, or their sums are elsewhere. More
// channels make blocks shorter, so their number grows as long as some attempt was too long.
Verification<BlockProgram> relaxed(const Verified<Program>& program, const Program& steps,
                                   const RelaxOptions& asked) {
  constexpr int kMostChannels = 32;
  // Blocks that hand values on first: they are fewest, and fuse. Where they would hang on queues as deep as
  // there are, a block for each direction.
  constexpr std::pair<bool, int> attempts[] = {{true, 1},  {true, 2},  {true, 4},  {true, 8},
                                               {false, 1}, {false, 2}, {false, 4}, {false, 8}};
  RelaxOptions options = asked;
  std::optional<Fault> fault;
  for (; options.channels <= kMostChannels; ++options.channels) {
    bool too_long = false;
    for (const auto& [paired, depth] : attempts) {
      if (depth > options.queue_depth) continue;
      BlockProgram result = build(program.collective(), steps, options, paired);
      result.queue_depth = depth;
      if (options.most_instructions > 0 && longest_block(result) > options.most_instructions) {
        too_long = true;
        continue;
      }
      Verification<BlockProgram> verification = verify(program, std::move(result));
      if (!verification.fault) return verification;
      fault = *verification.fault;
      if (fault->kind != Fault::Kind::Deadlock) break;
    }
    if (!too_long) break;
  }
  if (!fault || options.channels > kMostChannels)
    return {.fault = Fault{.kind = Fault::Kind::Limit,
                           .words = fmt::format("has blocks of more than {} instructions even on {} channels",
                                                options.most_instructions, kMostChannels),
                           .remedy = "use fewer chunks"}};
  const bool hangs = fault->kind == Fault::Kind::Deadlock;
  if (!hangs && !options.in_place)
    throw std::logic_error("relaxing " + program->name + " is wrong: " + fault->words);
  fault->words = (hangs ? "needs deeper queues: " : "cannot be done in place: ") + fault->words;
  fault->remedy = hangs ? "raise the depth, if the target has it" : "use it out of place";
  return {.fault = std::move(fault)};
}

// Ever shorter, until the target takes it.
// The target prints a program to find out whether it fits, so this is a loop around all passes. In place
// comes first: the one file then serves both kinds of calls, if no input is overwritten.
Verification<BlockProgram> fitted(const Verified<Program>& program, const Program& steps,
                                  RelaxOptions options) {
  const int most = options.most_instructions;
  Verification<BlockProgram> result{
      .fault =
          Fault{Fault::Kind::Limit, {}, "blocks of less than 4 steps are not enough", "raise the limit"}};
  for (const bool in_place : options.for_both ? std::vector{true, false} : std::vector{options.in_place}) {
    options.in_place = in_place;
    // Steps that only wait are counted by targets, too, so blocks may have to be shorter than the limit.
    for (int limit = most; limit >= 4; limit -= std::max(1, limit / 4)) {
      options.most_instructions = limit;
      result = relaxed(program, steps, options);
      if (result.fault) break;
      result.fault = options.excess(**result.accepted);
      if (result.fault) continue;
      // What works in place works out of place as well, if it writes no input.
      const BlockProgram& blocks = **result.accepted;
      if (options.for_both && in_place &&
          !violations(program.collective(), blocks, {.depth = blocks.queue_depth}, 1).empty())
        break;
      return result;
    }
  }
  result.accepted.reset();
  return result;
}

}  // namespace

// Only targets that print their program to see whether it fits have an excess to ask for.
Verification<BlockProgram> try_relax(const Verified<Program>& program, const RelaxOptions& options) {
  const Program steps = options.sums_in_place ? with_sums_in_place(*program) : *program;
  return options.excess ? fitted(program, steps, options) : relaxed(program, steps, options);
}

}  // namespace chorale
