// A block for each pair of peers between which values are handed on, those that do it most first, so that a
// value can stay in a register; then one for each peer and direction that is left, and one for what is local.
// The rank's list is an order in which it could do everything alone, so what must come before what follows
// from it: a read after the last write of its slot, a write after that and after all reads since.
//
// Invariant: a block sends to at most one rank and receives from at most one, on one channel. A receive and
// the send after it become one instruction only if the send waits for nothing but its own block; what it left
// in its slot is then not stored unless another operation reads it, so the hazards are found anew.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "codegen/passes/block_passes.h"

namespace chorale {
namespace {

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

}  // namespace

std::vector<Block> blocks_of(const Collective& collective, Rank rank, Events events,
                             const RelaxOptions& options, bool paired) {
  return RankBuilder(collective, rank, std::move(events), options, paired).blocks();
}

}  // namespace chorale
