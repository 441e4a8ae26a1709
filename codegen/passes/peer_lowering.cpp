// The idea: hops (Moves to be) are shared out over lanes, which are put side by side: one lane for our
// kernel, as many as it takes where thread blocks hold little. A lane is one block of each rank, which
// communicate only with each other.
//
// What is closed can be a lane: both ends of each message, and all hops that touch a slot that any of them
// writes. So counters and their values are local to a lane, and its size can be measured by itself
// (PeerOptions::excess).
//
// All signals are known before any instruction is written, since a rank signals in the order of its hops; so
// values of counters are found rank by rank, and then all Waits have theirs. The invariant of a block:
// between two accesses of its threads to a slot, one of them a store, there is a Sync.
//
// What lost: plans of MSCCL++ had a lowering of their own, from events to text, with the same mailboxes and
// the same rule for when threads must meet, but without fusion. What is different for them are options, and
// 1,432 plans (the grid of benchmarks/ and baseline algorithms, in place and out of place) have a quarter
// fewer operations, and 17 % fewer thread blocks.
#include "codegen/passes/peer_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/passes/by_switch.h"
#include "codegen/passes/events.h"
#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

// The idea: once every message has a slot of its own, sending is storing, and a rank is a list of Moves. So a
// value that is sent on can be stored by the Move that makes it, and chunks that never meet in memory can be
// separated, for any target.

// A Move to be, with the messages that it takes and brings: what a message brings lies in its mailbox.
struct Hop {
  DataOperation move = {};       // its operands have ranks
  int turn = 0;                  // the step in which it sends; what it takes in step s - 1 also has s
  std::vector<int> takes = {};   // messages; several of one sum by a switch
  std::vector<int> brings = {};  // messages
  int part = 0;
  bool gone = false;  // what it did, an earlier one does as well
};

using Hops = std::vector<Hop>;  // of one rank, in an order in which they could be done one after the other

// Scratch slots of the receiver that no other message uses; of what a switch does, of its team. Of messages
// that receivers load (pull), slots of the sender, which those of one value in one step have in common.
struct Mailboxes {
  struct Mailbox {
    DataPlace to = {};    // where the sender stores
    DataPlace from = {};  // where the receiver loads
  };
  std::map<int, Mailbox> at = {};  // by message: the first slot
  std::vector<int> scratch = {};   // by rank: all its slots, those of the program too
};
std::vector<DataPlace> consecutive(const DataPlace& first, int count) {
  std::vector<DataPlace> result;
  for (int k = 0; k < count; ++k) result.push_back(next_place(first, k));
  return result;
}

// All slots of these operands, each the first of `count`, in the memory of each rank of a team.
std::set<DataPlace> accessed(const std::vector<DataPlace>& firsts, int count, const Teams& teams) {
  std::set<DataPlace> result;
  for (const DataPlace& first : firsts)
    for (const DataPlace& one : single_places(teams, first))
      for (const DataPlace& slot : consecutive(one, count)) result.insert(slot);
  return result;
}

// A send is a store into the receiver's mailbox, a receive a load from it: the mailbox is one more source,
// the first. Of a sum by a switch the mailboxes are the team's.
Hop hop_of(Rank n, const Event& event, const Mailboxes& mail, const Switched& switched) {
  Hop hop{.move = event.does, .turn = event.does.sends ? event.step : event.step + 1};
  for (std::vector<DataPlace>* places : {&hop.move.from, &hop.move.to})
    for (DataPlace& place : *places) place.rank = n;
  if (hop.move.sends) {
    const auto all = switched.brought.find(event.message);
    hop.brings = all == switched.brought.end() ? std::vector{event.message} : all->second;
    hop.move.to = {mail.at.at(event.message).to};
  }
  if (hop.move.takes) {
    const SwitchUse* const use = switched.use(event.message);
    hop.takes = use != nullptr && use->sum ? use->messages : std::vector{event.message};
    hop.move.from.insert(hop.move.from.begin(), mail.at.at(event.message).from);
  }
  hop.move.takes = hop.move.sends = false;
  return hop;
}

// Behind the scratch that the program and the switches take (`scratch`, by rank): a mailbox is as long as its
// message.
// Sends of a step read what was before it, so those from one slot carry one value.
Mailboxes mailboxes_of(std::vector<int> scratch, const std::vector<Events>& ranks,
                       const std::map<int, Ends>& all_ends, const Switched& switched, bool pull) {
  Mailboxes mail{.scratch = std::move(scratch)};
  std::map<std::tuple<Rank, int, DataPlace, int>, DataPlace> stored;  // by sender, step, slot and count
  for (const auto& [message, ends] : all_ends) {
    if (const SwitchUse* const use = switched.use(message)) {
      const Slot slot{Buffer::Scratch, switched.slots[switched.use_of.at(message)]};
      const DataPlace of_team{slot, -1, use->team};
      mail.at[message] = use->sum ? Mailboxes::Mailbox{{slot, ends.from}, of_team}
                                  : Mailboxes::Mailbox{of_team, {slot, ends.to}};
      continue;
    }
    const Rank owner = pull ? ends.from : ends.to;
    DataPlace here{{Buffer::Scratch, mail.scratch[owner]}, owner};
    if (pull) {
      const Event& send = ranks[ends.from][ends.send];
      here =
          stored.try_emplace({ends.from, send.step, send.does.from.front(), ends.count}, here).first->second;
    }
    mail.at[message] = {here, here};
    mail.scratch[owner] = std::max(mail.scratch[owner], here.slot.index + ends.count);
  }
  // A slot of a team lies at one offset in both copies of the scratch.
  for (const std::vector<Rank>& team : switched.teams) {
    int most = 0;
    for (const Rank n : team) most = std::max(most, mail.scratch[n]);
    for (const Rank n : team) mail.scratch[n] = most;
  }
  return mail;
}

// In the order of the events, on which fuse and drop_dead_stores rely. What several receivers load is stored
// by the first hop that brings it.
std::vector<Hops> hops_of(const std::vector<Events>& ranks, const Mailboxes& mail, const Switched& switched) {
  std::vector<Hops> result(ranks.size());
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n) {
    std::map<DataPlace, std::size_t> brought;  // by mailbox of this rank
    for (const Event& event : ranks[n]) {
      if (event.gone) continue;
      Hop hop = hop_of(n, event, mail, switched);
      const DataPlace& to = hop.move.to.front();
      if (!hop.brings.empty() && to.rank == n) {
        const auto [at, first] = brought.try_emplace(to, result[n].size());
        if (!first) {
          result[n][at->second].brings.push_back(event.message);
          continue;
        }
      }
      result[n].push_back(std::move(hop));
    }
  }
  return result;
}

// A value that is sent after it was made is stored to the peer by the hop that makes it, if the target has
// such a Move: a hop that only copies a value into mailboxes disappears if the hop that made this value, all
// of it and not since overwritten, can store there as well. `made` has the last maker of each slot; a value
// that several hops have made in parts has none.
void fuse(Hops& hops, const std::function<bool(const DataOperation&)>& has) {
  // By slot: the last hop that stored it, and its first slot.
  std::map<DataPlace, std::pair<int, DataPlace>> made;
  for (int h = 0; h < static_cast<int>(hops.size()); ++h) {
    Hop& hop = hops[h];
    if (!hop.brings.empty()) {
      const DataPlace source = hop.move.from.front();
      int maker = -1;
      for (const DataPlace& slot : consecutive(source, hop.move.count)) {
        const auto at = made.find(slot);
        const int by = at != made.end() && at->second.second == source ? at->second.first : -2;
        maker = maker == -1 || maker == by ? by : -2;
      }
      if (maker < 0 || hops[maker].move.count != hop.move.count) continue;
      DataOperation both = hops[maker].move;
      both.to.push_back(hop.move.to.front());
      if (!has(both)) continue;
      hops[maker].move = std::move(both);
      hops[maker].brings.insert(hops[maker].brings.end(), hop.brings.begin(), hop.brings.end());
      hop.gone = true;
      continue;
    }
    for (const DataPlace& slot : consecutive(hop.move.to.front(), hop.move.count))
      made[slot] = {h, hop.move.to.front()};
  }
  std::erase_if(hops, [](const Hop& hop) { return hop.gone; });
}

// For targets whose switch only adds up what it then stores at all ranks of the team: a sum that is copied on
// is stored there, and what its rank keeps is copied from there.
// A sum with a later copy of its result, which no hop overwrites in between. The copy is turned round, and is
// made at once, so that what reads the result before the copy was due finds it.
void store_sums_to_all(Hops& hops, const Teams& teams, const std::function<bool(const DataOperation&)>& has) {
  const auto of_team = [](const DataPlace& place) { return place.team >= 0; };
  for (int s = 0; s < std::ssize(hops); ++s) {
    if (!of_team(hops[s].move.from.front()) || has(hops[s].move)) continue;
    const DataPlace result = hops[s].move.to.front();
    for (int c = s + 1; c < std::ssize(hops); ++c) {
      Hop& copy = hops[c];
      if (of_team(copy.move.to.front()) && copy.move.from == std::vector{result}) {
        const DataPlace stored = copy.move.to.front();
        hops[s].move.to.front() = stored;
        std::swap(hops[s].brings, copy.brings);
        copy.turn = hops[s].turn;
        copy.move.to = {result};
        copy.move.from = {{stored.slot, result.rank}};
        std::rotate(hops.begin() + s + 1, hops.begin() + c, hops.begin() + c + 1);
        break;
      }
      if (accessed(copy.move.to, copy.move.count, teams).contains(result)) break;
    }
  }
}

// A value stored to a peer is not kept locally if no later operation reads it.
void drop_dead_stores(Hops& hops, const Teams& teams, const std::function<bool(const DataOperation&)>& has) {
  // One pass from the end: what is dead after a hop, and not read by it, is dead before it.
  std::set<DataPlace> dead;  // at this point they are not read before they are stored again
  const auto is_dead = [&](const DataPlace& slot) { return dead.contains(slot); };
  // Backwards. Output is wanted at the end, scratch is not.
  for (const Hop& hop : hops)
    for (const std::vector<DataPlace>* all : {&hop.move.from, &hop.move.to})
      for (const DataPlace& slot : accessed(*all, hop.move.count, teams))
        if (slot.slot.buffer == Buffer::Scratch) dead.insert(slot);
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    const std::set<DataPlace> stored = accessed({hop->move.to.front()}, hop->move.count, teams);
    DataOperation less = hop->move;
    less.to.erase(less.to.begin());
    if (!less.to.empty() && std::ranges::all_of(stored, is_dead) && has(less))
      hop->move = std::move(less);
    else
      dead.insert(stored.begin(), stored.end());
    for (const DataPlace& slot : accessed(hop->move.from, hop->move.count, teams)) dead.erase(slot);
  }
}

// Sets `part`: hops of all ranks whose data meet in a slot that is written are of one part. Returns how many
// parts there are.
// Slots that nothing writes (most inputs) join no parts: they are only read.
int find_parts(std::vector<Hops>& ranks, const Teams& teams) {
  std::vector<Hop*> all;
  std::set<DataPlace> written;
  for (Hops& hops : ranks)
    for (Hop& hop : hops) {
      all.push_back(&hop);
      written.merge(accessed(hop.move.to, hop.move.count, teams));
    }
  DisjointSets joined(static_cast<int>(all.size()));  // the first hop stands for all
  std::map<DataPlace, int> first;                     // hop that touches a slot
  for (int h = 0; h < static_cast<int>(all.size()); ++h)
    for (const std::vector<DataPlace>* places : {&all[h]->move.from, &all[h]->move.to})
      for (const DataPlace& slot : accessed(*places, all[h]->move.count, teams))
        if (written.contains(slot)) joined.join(h, first.try_emplace(slot, h).first->second);
  int parts = 0;
  for (int h = 0; h < static_cast<int>(all.size()); ++h)
    all[h]->part = joined.find(h) == h ? parts++ : all[joined.find(h)]->part;
  return parts;
}

// State of the lowering of a program, from beginning to end.
struct PeerWork {
  const PeerOptions& options;
  std::map<int, Ends> ends = {};  // by message
  Switched switched = {};
  Mailboxes mail = {};
  std::vector<Hops> hops = {};  // by rank
  PeerProgram frame = {};       // all but its blocks
};

// The instructions of one block, with a Sync wherever its threads must meet: what one has stored others load
// and overwrite after it only, what one has loaded others overwrite after it, and so it is with what a Wait
// was for. A Sync is decided by what its threads have stored and loaded since they last met, and by whether a
// Wait came since.
class BlockWriter {
 public:
  explicit BlockWriter(const Teams& teams) : teams_(teams) {}

  void wait(int counter, int value, int lag) {
    block_.instructions.push_back(
        {.opcode = PeerOpcode::Wait, .counter = counter, .value = value, .lag = lag});
    waited_ = true;
  }

  void move(const DataOperation& move) {
    const std::set<DataPlace> from = accessed(move.from, move.count, teams_),
                              to = accessed(move.to, move.count, teams_);
    if (waited_ || meet(stored_, from) || meet(stored_, to) || meet(loaded_, to)) sync();
    block_.instructions.push_back({.opcode = PeerOpcode::Move, .does = move});
    loaded_.insert(from.begin(), from.end());
    stored_.insert(to.begin(), to.end());
  }

  // Of all that was done before.
  void tell(const std::vector<PeerInstruction>& signals) {
    if (signals.empty()) return;
    if (!signals.front().relaxed) sync();
    block_.instructions.insert(block_.instructions.end(), signals.begin(), signals.end());
  }

  PeerBlock written() { return std::move(block_); }

 private:
  static bool meet(const std::set<DataPlace>& a, const std::set<DataPlace>& b) {
    return std::ranges::any_of(a, [&](const DataPlace& slot) { return b.contains(slot); });
  }

  void sync() {
    block_.instructions.push_back({.opcode = PeerOpcode::Sync});
    stored_.clear();
    loaded_.clear();
    waited_ = false;
  }

  const Teams& teams_;
  PeerBlock block_ = {};
  std::set<DataPlace> stored_ = {}, loaded_ = {};  // since the threads met
  bool waited_ = false;
};

// A notification from one rank to another: a message has come, or (message -1) all that it sent has been
// read.
struct News {
  Rank to = -1;
  Rank from = -1;
  int message = -1;
  auto operator<=>(const News&) const = default;
};

// One block of each rank, which talk among themselves alone.
// What is counted: the arrival of each message, and for each pair of ranks that all of a launch's messages
// have been read. With shared counters both are one count per pair and direction.
class LaneWriter {
 public:
  // `hops` by rank.
  // Counters are numbered before any block is written. With one copy of the mailboxes a rank first reports to
  // its senders that it has read the last launch, and waits for the same from its receivers; with two copies
  // it reports at the end, and the wait is for the launch before the last.
  LaneWriter(const PeerWork& work, const std::vector<std::vector<const Hop*>>& hops)
      : work_(work), lane_(work.frame) {
    for (const auto& of_rank : hops)
      for (const Hop* hop : of_rank)
        for (const int message : hop->brings) made_by_[message] = hop;
    std::set<News> read;  // by sender and reader
    for (const auto& [message, hop] : made_by_) number(coming(message));
    for (const auto& [message, hop] : made_by_) {
      const News news{.to = coming(message).from, .from = coming(message).to};
      number(news);
      read.insert(news);
    }
    for (Rank n = 0; n < ranks(); ++n) {
      Group told, heard;
      for (const News& news : read) {
        if (news.from == n) told.tells.push_back(news);
        if (news.to == n) heard.awaits.push_back(news);
      }
      std::vector<Group>& groups = groups_.emplace_back();
      if (!work_.options.double_scratch) groups.push_back(told);
      groups.push_back(std::move(heard));
      add_groups(hops[n], groups);
      if (work_.options.double_scratch) groups.push_back(std::move(told));
    }
  }

  PeerProgram written() {
    for (std::vector<Group>& groups : groups_)
      for (Group& group : groups) find_signals(group);
    for (Rank n = 0; n < ranks(); ++n) lane_.ranks[n].blocks.push_back(block(groups_[n]));
    return std::move(lane_);
  }

 private:
  // Hops that are done together: all waits, then the moves, then all signals.
  struct Group {
    std::vector<News> awaits = {};
    std::vector<const Hop*> hops = {};
    std::vector<News> tells = {};
    std::vector<PeerInstruction> signals = {};
  };

  int ranks() const { return static_cast<int>(lane_.ranks.size()); }

  News coming(int message) const {
    const Ends& ends = work_.ends.at(message);
    return {.to = ends.to, .from = ends.from, .message = message};
  }

  // Copies that a switch makes, of which it tells all at once; null: none.
  const SwitchUse* signalled_at_once(const News& news) const {
    const SwitchUse* const use = news.message < 0 ? nullptr : work_.switched.use(news.message);
    return use != nullptr && !use->sum && work_.options.team_signals ? use : nullptr;
  }

  // The key of a counter: without the message where all of a pair share one, without the receiver where a
  // switch tells all of them.
  News counted_with(News news) const {
    if (const SwitchUse* const use = signalled_at_once(news))
      return {.from = news.from, .message = use->messages.front()};
    if (work_.options.shared_counters) news.message = -1;
    return news;
  }
  // That of a team has one number at all its ranks.
  void number(const News& news) {
    const SwitchUse* const use = signalled_at_once(news);
    const std::vector<Rank> owners = use == nullptr ? std::vector{news.to} : lane_.teams[use->team];
    int next = 0;
    for (const Rank n : owners) next = std::max(next, lane_.ranks[n].counters);
    if (!counters_.try_emplace(counted_with(news), next).second) return;
    for (const Rank n : owners) lane_.ranks[n].counters = next + 1;
  }
  int counter(const News& news) const { return counters_.at(counted_with(news)); }

  // By steps: all hops of a step. Otherwise hops that wait for no message, of which the later ones bring one:
  // their signals are sent together.
  bool together(const Hop& hop, const Hop& next) const {
    if (work_.options.by_steps) return hop.turn == next.turn;
    return hop.takes.empty() && next.takes.empty() && !next.brings.empty();
  }

  void add_groups(const std::vector<const Hop*>& hops, std::vector<Group>& groups) const {
    const Hop* last = nullptr;
    for (const Hop* hop : hops) {
      if (last == nullptr || !together(*last, *hop)) groups.emplace_back();
      for (const int message : hop->takes) groups.back().awaits.push_back(coming(message));
      for (const int message : hop->brings) groups.back().tells.push_back(coming(message));
      groups.back().hops.push_back(hop);
      last = hop;
    }
  }

  // In the order of the signalling rank, which gives the values that others wait for.
  // One Signal for all news that share a counter: its last value stands for all before it.
  void find_signals(Group& group) {
    std::map<News, PeerInstruction*> told;
    group.signals.reserve(group.tells.size());
    for (const News& news : group.tells) {
      PeerInstruction*& signal = told[counted_with(news)];
      if (signal == nullptr) {
        const SwitchUse* const use = signalled_at_once(news);
        signal = &group.signals.emplace_back(PeerInstruction{.opcode = PeerOpcode::Signal,
                                                             .rank = use ? -1 : news.to,
                                                             .team = use ? use->team : -1,
                                                             .counter = counter(news),
                                                             .value = ++raised_[counted_with(news)]});
        if (news.message >= 0)
          signal->does = about(news.message);
        else
          signal->relaxed = !work_.options.double_scratch;
      } else {
        signal->does = {};  // several messages have no common slot to name
      }
      values_[news] = signal->value;
    }
  }

  // What a switch does is about no slot of one receiver, and neither is what receivers load.
  DataOperation about(int message) const {
    const DataOperation& move = made_by_.at(message)->move;
    if (work_.switched.use(message) || work_.options.pull) return {};
    return {.to = {work_.mail.at.at(message).to}, .count = move.count, .piece = move.piece};
  }

  // A counter is awaited only beyond what the block has awaited already, and at once for the largest value
  // that a group needs. Mailboxes with a second copy wait for the launch before the last (lag 2).
  PeerBlock block(const std::vector<Group>& groups) const {
    BlockWriter writer(lane_.teams);
    std::map<int, int> awaited;  // by counter: its value
    for (const Group& group : groups) {
      std::map<int, int> wanted;  // likewise
      for (const News& news : group.awaits)
        wanted[counter(news)] = std::max(wanted[counter(news)], values_.at(news));
      for (const News& news : group.awaits) {
        const int here = counter(news), value = wanted[here];
        if (news.message < 0 && work_.options.double_scratch)
          writer.wait(here, value, 2);
        else if (std::exchange(awaited[here], std::max(awaited[here], value)) < value)
          writer.wait(here, value, 0);
      }
      for (const Hop* hop : group.hops) writer.move(hop->move);
      writer.tell(group.signals);
    }
    return writer.written();
  }

  const PeerWork& work_;
  PeerProgram lane_;
  std::map<int, const Hop*> made_by_ = {};           // by message
  std::map<News, int> counters_ = {}, raised_ = {};  // their numbers, and how far
  std::map<News, int> values_ = {};                  // of its counter
  std::vector<std::vector<Group>> groups_ = {};      // by rank
};

// The lane of the hops of these parts (find_parts), as a program.
PeerProgram lane_of(const PeerWork& work, const std::set<int>& parts) {
  std::vector<std::vector<const Hop*>> hops(work.hops.size());
  for (std::size_t n = 0; n < hops.size(); ++n)
    for (const Hop& hop : work.hops[n])
      if (parts.contains(hop.part)) hops[n].push_back(&hop);
  return LaneWriter(work, hops).written();
}

// In place: one name for each memory location.
void name_places(const Collective& collective, const Program& program, std::vector<Events>& ranks) {
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    for (Event& event : ranks[n])
      for (std::vector<DataPlace>* places : {&event.does.from, &event.does.to})
        for (DataPlace& place : *places)
          place.slot = in_place_slot(collective.kind, program.chunks_per_block, n, place.slot,
                                     program.ranks[n].input_chunks, program.ranks[n].output_chunks);
}

// Before it is verified.
struct PeerDraft {
  PeerProgram program = {};
  std::optional<Fault> fault = {};  // why there is none: Limit
};

// A lane beside those that are there. Its counters are numbered behind those of each rank: a Wait is for a
// counter of its own rank, a Signal for one of another.
void append(PeerProgram& program, PeerProgram&& lane) {
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
    for (PeerInstruction& i : lane.ranks[n].blocks[0].instructions) {
      if (i.opcode == PeerOpcode::Wait) i.counter += program.ranks[n].counters;
      if (i.opcode == PeerOpcode::Signal) i.counter += program.ranks[i.rank].counters;
    }
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
    PeerRank& rank = program.ranks[n];
    rank.counters += lane.ranks[n].counters;
    if (PeerBlock& block = lane.ranks[n].blocks[0]; !block.instructions.empty())
      rank.blocks.push_back(std::move(block));
  }
}

// The first part of each rank that does most in it, then the second ones, ...
std::vector<int> round_robin(const std::vector<std::map<Rank, int>>& hops) {
  std::vector<std::pair<int, int>> turns;  // and parts
  std::map<Rank, int> had;
  for (int part = 0; part < static_cast<int>(hops.size()); ++part) {
    const auto most = std::ranges::max_element(hops[part], {}, [](const auto& at) { return at.second; });
    turns.push_back({had[most->first]++, part});
  }
  std::ranges::sort(turns);
  std::vector<int> parts;
  for (const auto& [turn, part] : turns) parts.push_back(part);
  return parts;
}

// As few lanes as the target takes: each part goes into the first one that still has room. Most attempts
// fail, and each costs a lane that is written in vain; so a lane that exceeded a limit at a rank is not tried
// again with parts that do no less there (full:16, Allgather over all rings: 7.0 CPU s without, 1.5 with, for
// a plan that is 1 % longer). Parts are taken round-robin over the ranks at which they do most, so that lanes
// fill evenly at all ranks.
PeerDraft shared_out(PeerWork& work) {
  struct Lane {
    std::set<int> parts = {};
    PeerProgram program = {};
    std::map<Rank, int> too_much = {};  // hops of a part there
  };
  std::vector<std::map<Rank, int>> hops(find_parts(work.hops, work.switched.teams));  // by part
  for (Rank n = 0; n < static_cast<int>(work.hops.size()); ++n)
    for (const Hop& hop : work.hops[n]) ++hops[hop.part][n];
  std::vector<Lane> lanes;
  for (const int part : round_robin(hops)) {
    std::optional<Fault> excess;
    const auto has_room = [&](Lane& lane) {
      for (const auto& [n, most] : lane.too_much)
        if (hops[part][n] >= most) return false;
      std::set<int> with = lane.parts;
      with.insert(part);
      PeerProgram program = lane_of(work, with);
      excess = work.options.excess(program);
      if (excess) {
        lane.too_much[excess->place.rank] = hops[part][excess->place.rank];
      } else {
        lane.parts = std::move(with);
        lane.program = std::move(program);
      }
      return !excess;
    };
    if (std::ranges::any_of(lanes, has_room)) continue;
    if (static_cast<int>(lanes.size()) == work.options.most_blocks)
      return {.fault =
                  Fault{.kind = Fault::Kind::Limit,
                        .words = fmt::format("needs more than {} thread blocks", work.options.most_blocks),
                        .remedy = "use fewer chunks"}};
    if (!has_room(lanes.emplace_back())) {
      excess->words = "chunks that belong together need " + excess->words;
      return {.fault = excess};
    }
  }
  PeerDraft result{.program = work.frame};
  for (Lane& lane : lanes) append(result.program, std::move(lane.program));
  return result;
}

PeerDraft draft_of(const Collective& collective, const Program& program, const PeerOptions& options,
                   const SwitchUses& by_switch, bool merged) {
  std::vector<Events> ranks;
  for (const RankProgram& rank : program.ranks) ranks.push_back(completed(rank));
  if (program.in_place) name_places(collective, program, ranks);
  std::set<int> apart;
  for (const SwitchUse& use : by_switch.uses) apart.insert(use.messages.begin(), use.messages.end());
  if (merged) merge_messages(ranks, program.chunks_per_block, apart);
  PeerWork work{.options = options, .ends = ends_of(ranks)};
  std::vector<int> scratch;
  for (const RankProgram& rank : program.ranks) scratch.push_back(rank.scratch_chunks);
  work.switched = use_switches(by_switch, ranks, work.ends, scratch);
  work.mail = mailboxes_of(std::move(scratch), ranks, work.ends, work.switched, options.pull);
  work.hops = hops_of(ranks, work.mail, work.switched);
  SwitchUses rest{.teams = by_switch.teams};
  std::set<int> refused;
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n) {
    const auto has = [&](const DataOperation& op) { return !options.has || options.has(n, op); };
    store_sums_to_all(work.hops[n], work.switched.teams, has);
    for (const Hop& hop : work.hops[n])
      if (hop.move.from.front().team >= 0 && !has(hop.move)) refused.insert(hop.takes.front());
    fuse(work.hops[n], has);
    drop_dead_stores(work.hops[n], work.switched.teams, has);
  }
  if (!refused.empty()) {
    std::ranges::copy_if(by_switch.uses, std::back_inserter(rest.uses),
                         [&](const SwitchUse& use) { return !refused.contains(use.messages.front()); });
    return draft_of(collective, program, options, rest, merged);
  }
  work.frame = {.name = program.name,
                .collective = collective.kind,
                .chunks_per_block = program.chunks_per_block,
                .in_place = program.in_place,
                .double_scratch = options.double_scratch,
                .epilogue = program.epilogue,
                .teams = work.switched.teams};
  for (std::size_t n = 0; n < ranks.size(); ++n)
    work.frame.ranks.push_back({.input_chunks = program.ranks[n].input_chunks,
                                .output_chunks = program.ranks[n].output_chunks,
                                .scratch_chunks = work.mail.scratch[n],
                                .slice = program.ranks[n].slice});
  return options.excess ? shared_out(work) : PeerDraft{.program = lane_of(work, {0})};
}

}  // namespace

PeerOptions peers_for_kernel(bool pull) {
  return {.pull = pull, .switches = !pull, .team_signals = true};
}

// Sums in an order of the switch's own may be such that ranks do not agree, and sums that one rank makes for
// others such that ranks wait for each other; then each is made by its rank.
Verification<PeerProgram> try_to_peers(const Verified<Program>& program, const PeerOptions& options,
                                       const SwitchUses& by_switch) {
  PeerDraft draft = draft_of(program.collective(), *program, options, by_switch, true);
  if (draft.fault) draft = draft_of(program.collective(), *program, options, by_switch, false);
  if (draft.fault) return {.fault = std::move(draft.fault)};
  Verification<PeerProgram> result = verify(program, std::move(draft.program));
  const auto is = [&](Fault::Kind kind) { return result.fault && result.fault->kind == kind; };
  if (!by_switch.uses.empty() && (is(Fault::Kind::Order) || is(Fault::Kind::Deadlock)))
    return try_to_peers(program, options);
  if (result.fault) throw std::logic_error("to_peers: " + result.fault->words);
  return result;
}

}  // namespace chorale
