#include "semantics/verify_peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "ir/block_program.h"
#include "semantics/fault_list.h"
#include "semantics/peer_form.h"
#include "semantics/promise.h"

namespace chorale {
namespace {

struct Value {
  std::shared_ptr<const SymbolicSum> sum = {};  // null: not written, or spoilt by the user
  int piece = 0;
};

// By actor: how many of its phases have happened before.
using Clock = std::vector<int>;
using Knowledge = std::shared_ptr<const Clock>;

struct Access {
  int actor = -1;
  int phase = 0;
  int launch = 0;
  int instruction = -1;  // of a block
};

struct Cell;

// What a Signal hands on; of packets their stores too.
struct Message {
  Knowledge knowledge = {};
  std::vector<std::pair<const Cell*, Access>> stored = {};
};

using Reads = std::set<std::tuple<const Cell*, int, int, int>>;  // cell, actor, instruction, phase

struct Cell {
  Value value = {};
  Access writer = {};
  std::map<std::pair<int, int>, Access> reads = {};  // since it was written, by actor and instruction
  Reads made_of = {};                                // of a packet: what was read for it
};

// A block, or the user of a rank.
struct Actor {
  Rank rank = 0;
  int block = -1;  // -1: the user
  int phase = 1;
  int next = 0;  // instruction
  Knowledge at_start = {};
  Knowledge known = {};
  std::vector<Knowledge> learned = {};
  std::vector<const Message*> packets = {};  // for the next Move
};

// Of a program without faults in its form.
class PeerReferee : FaultList {
 public:
  PeerReferee(const Collective& collective, const PeerProgram& program, const PeerRefereeOptions& options,
              int limit)
      : FaultList(limit), collective_(collective), program_(program), options_(options) {}

  std::vector<Fault> run() {
    start();
    for (bool moved = true; moved && !full();) {
      moved = false;
      for (Rank n = 0; n < ranks() && !full(); ++n) {
        for (int a = first_actor_[n] + 1; a < first_actor_[n + 1]; ++a)
          while (!full() && can_step(a)) {
            step(a);
            moved = true;
          }
        moved = turn(n) || moved;
      }
    }
    ends();
    return std::move(found_);
  }

 private:
  int ranks() const { return collective_.ranks; }
  int pieces() const { return program_.chunks_per_block; }

  const PeerInstruction& instruction(Rank n, int b, int i) const {
    return program_.ranks[n].blocks[b].instructions[i];
  }

  std::string at(Rank n, int b, int i) const { return name_of(program_, n, b, i); }

  void start() {
    int most_lag = 0;
    for (const PeerRank& rank : program_.ranks)
      for (const PeerBlock& block : rank.blocks)
        for (const PeerInstruction& i : block.instructions)
          if (i.opcode == PeerOpcode::Wait) most_lag = std::max(most_lag, i.lag);
    launches_ = 3 + most_lag + (program_.double_scratch ? 1 : 0);
    most_ = values_of_a_launch(program_);
    first_actor_.resize(ranks() + 1, 0);
    for (Rank n = 0; n < ranks(); ++n) {
      first_actor_[n + 1] = first_actor_[n] + 1 + static_cast<int>(program_.ranks[n].blocks.size());
      for (int b = -1; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
        actors_.push_back({.rank = n, .block = b});
      raised_.emplace_back(program_.ranks[n].counters);
    }
    for (const PeerPacket& packet : options_.packets) packets_[{packet.rank, packet.counter}] = packet;
    launch_.resize(ranks(), 0);
    cells_.resize(ranks());
    for (Rank n = 0; n < ranks(); ++n) begin_launch(n, Clock(actors_.size(), 0));
  }

  Cell& cell(const PeerSlot& slot, int launch) {
    const Slot where =
        program_.in_place ? in_place_slot(collective_.kind, pieces(), slot.rank, slot.slot) : slot.slot;
    const bool odd = program_.double_scratch && where.buffer == Buffer::Scratch && launch % 2 == 1;
    return cells_[slot.rank][{where, odd}];
  }

  // The user spoils the outputs and writes the inputs; blocks start from all that he knows.
  void begin_launch(Rank n, Clock clock) {
    const int user = first_actor_[n];
    Actor& actor = actors_[user];
    for (int o = 0; o < program_.ranks[n].output_chunks; ++o)
      write_by_user(n, {Buffer::Output, o}, clock, {});
    for (int i = 0; i < program_.ranks[n].input_chunks; ++i) {
      const int new_place = launch_[n] * promise_.places() + promise_.place(n, i);
      write_by_user(n, {Buffer::Input, i}, clock,
                    {std::make_shared<SymbolicSum>(SymbolicSum{{new_place, 1}}), i % pieces()});
    }
    clock[user] = actor.phase++;
    const auto known = std::make_shared<const Clock>(std::move(clock));
    for (int a = user; a < first_actor_[n + 1]; ++a) {
      actors_[a].next = 0;
      actors_[a].at_start = actors_[a].known = known;
    }
  }

  void write_by_user(Rank n, const Slot& slot, const Clock& clock, Value value) {
    Cell& here = cell({n, slot}, launch_[n]);
    touch(here, {n, slot}, user_access(n), true, clock, {});
    here.value = std::move(value);
  }

  Access user_access(Rank n) const {
    return {.actor = first_actor_[n], .phase = actors_[first_actor_[n]].phase, .launch = launch_[n]};
  }

  // Ends the launch of a rank whose blocks have come to their end; true if they had.
  bool turn(Rank n) {
    if (launch_[n] == launches_) return false;
    Clock clock = *actors_[first_actor_[n]].known;
    for (int a = first_actor_[n] + 1; a < first_actor_[n + 1]; ++a)
      if (actors_[a].next < length(a)) return false;
    for (int a = first_actor_[n] + 1; a < first_actor_[n + 1]; ++a) {
      sync(a);
      learn(clock, *actors_[a].known);
    }
    for (int o = 0; o < program_.ranks[n].output_chunks && !full(); ++o) look(n, o, clock);
    clock[first_actor_[n]] = actors_[first_actor_[n]].phase++;
    if (++launch_[n] < launches_) begin_launch(n, std::move(clock));
    return true;
  }

  // The user looks at an output slot at the end of a launch.
  void look(Rank n, int o, const Clock& clock) {
    Cell& here = cell({n, {Buffer::Output, o}}, launch_[n]);
    touch(here, {n, {Buffer::Output, o}}, user_access(n), false, clock, {});
    if (!found_.empty()) return;
    const int launch = launch_[n];
    const SymbolicSum* const wanted = promise_.output(n, o);
    if (wanted == nullptr) {
      if (here.value.sum && !program_.in_place)
        say(Kind::Written, {.rank = n, .chunk = o},
            "at the end of launch {}: output[{}] of rank {} was written, where nothing is promised", launch,
            o, n);
      return;
    }
    if (!here.value.sum)
      return say(Kind::Outcome, {.rank = n, .chunk = o},
                 "at the end of launch {}: output[{}] of rank {} is not written", launch, o, n);
    SymbolicSum held;  // as of the first launch
    for (const auto& [place, times] : *here.value.sum)
      held.push_back({place - launch * promise_.places(), times});
    if (held.front().first < 0 || held.back().first >= promise_.places()) {
      say(Kind::Outcome, {.rank = n, .chunk = o},
          "at the end of launch {}: output[{}] of rank {} holds inputs of another launch", launch, o, n);
    } else if (held != *wanted) {
      say(Kind::Outcome, {.rank = n, .chunk = o}, "at the end of launch {}: output[{}] of rank {} {}", launch,
          o, n, promise_.difference(*wanted, held));
    } else if (here.value.piece != o % pieces()) {
      say(Kind::Outcome, {.rank = n, .chunk = o},
          "at the end of launch {}: output[{}] of rank {} holds piece {}", launch, o, n, here.value.piece);
    }
  }

  int length(int a) const {
    return static_cast<int>(program_.ranks[actors_[a].rank].blocks[actors_[a].block].instructions.size());
  }

  // Which of the Signals so far a Wait is for; negative: none.
  int awaited(const Actor& actor, const PeerInstruction& wait) const {
    return (launch_[actor.rank] - wait.lag) * most_[actor.rank][wait.counter] + wait.value - 1;
  }

  bool before_the_first(const Actor& actor, const PeerInstruction& wait) const {
    return wait.lag > launch_[actor.rank];
  }

  bool can_step(int a) const {
    const Actor& actor = actors_[a];
    if (launch_[actor.rank] == launches_ || actor.next == length(a)) return false;
    const PeerInstruction& i = instruction(actor.rank, actor.block, actor.next);
    return i.opcode != PeerOpcode::Wait || before_the_first(actor, i) ||
           awaited(actor, i) < static_cast<int>(raised_[actor.rank][i.counter].size());
  }

  static void learn(Clock& clock, const Clock& other) {
    for (std::size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], other[k]);
  }

  void sync(int a) {
    Actor& actor = actors_[a];
    Clock clock = *actor.known;
    for (const Knowledge& other : actor.learned) learn(clock, *other);
    clock[a] = actor.phase++;
    actor.learned.clear();
    actor.known = std::make_shared<const Clock>(std::move(clock));
  }

  void step(int a) {
    Actor& actor = actors_[a];
    const PeerInstruction& i = instruction(actor.rank, actor.block, actor.next);
    switch (i.opcode) {
      case PeerOpcode::Move:
        move(a, i);
        break;
      case PeerOpcode::Signal:
        raised_[i.rank][i.counter].push_back(message(actor, i));
        break;
      case PeerOpcode::Wait:
        if (before_the_first(actor, i)) break;
        actor.learned.push_back(raised_[actor.rank][i.counter][awaited(actor, i)].knowledge);
        if (of_packet(actor.rank, i))
          actor.packets.push_back(&raised_[actor.rank][i.counter][awaited(actor, i)]);
        break;
      case PeerOpcode::Sync:
        if (!of_packets(actor)) sync(a);
        break;
    }
    ++actor.next;
  }

  bool of_packet(Rank owner, const PeerInstruction& i) const { return packets_.contains({owner, i.counter}); }

  // Is this Sync part of storing or loading packets?
  bool of_packets(const Actor& actor) const {
    const auto& block = program_.ranks[actor.rank].blocks[actor.block].instructions;
    const PeerInstruction* before = actor.next > 0 ? &block[actor.next - 1] : nullptr;
    const PeerInstruction* after =
        actor.next + 1 < static_cast<int>(block.size()) ? &block[actor.next + 1] : nullptr;
    return (before && before->opcode == PeerOpcode::Wait && of_packet(actor.rank, *before)) ||
           (after && after->opcode == PeerOpcode::Signal && of_packet(after->rank, *after));
  }

  Message message(const Actor& actor, const PeerInstruction& signal) {
    const auto packet = packets_.find({signal.rank, signal.counter});
    const bool relaxed = packet != packets_.end() || (signal.relaxed && !options_.relaxed_orders);
    Message message{.knowledge = relaxed ? actor.at_start : actor.known};
    if (packet != packets_.end())
      for (int k = 0; k < packet->second.count; ++k) {
        const Cell& stored =
            cell({signal.rank, {Buffer::Scratch, packet->second.first + k}}, launch_[actor.rank]);
        message.stored.push_back({&stored, stored.writer});
      }
    return message;
  }

  void move(int a, const PeerInstruction& i) {
    Actor& actor = actors_[a];
    const int launch = launch_[actor.rank];
    const Access access{.actor = a, .phase = actor.phase, .launch = launch, .instruction = actor.next};
    const Clock clock = clock_of_move(actor);
    const auto k_th = [](const PeerSlot& first, int k) {
      return PeerSlot{first.rank, {first.slot.buffer, first.slot.index + k}};
    };
    std::map<const Cell*, int> read;  // as which chunk
    std::vector<Value> results;
    std::vector<Reads> made_of(i.count);
    for (int k = 0; k < i.count; ++k) {
      Value result;
      for (const PeerSlot& first : i.from) {
        const PeerSlot from = k_th(first, k);
        Cell& here = cell(from, launch);
        if (came_as_packet(here, access)) made_of[k].insert(here.made_of.begin(), here.made_of.end());
        touch(here, from, access, false, clock, {});
        if (!packets_.empty()) made_of[k].insert({&here, a, access.instruction, access.phase});
        check(here.value, from, access, (i.piece + k) % pieces());
        read[&here] = k;
        result = &first == &i.from.front() ? here.value : sum(result, here.value);
      }
      results.push_back(result);
    }
    for (int k = 0; k < i.count; ++k)
      for (const PeerSlot& first : i.to) {
        const PeerSlot to = k_th(first, k);
        Cell& here = cell(to, launch);
        if (const auto other = read.find(&here);
            other != read.end() && other->second != k && once(access, access))
          say(Kind::Race, place(access), "{}: other threads may read {} before or after it is written",
              name(access), to_string(to));
        touch(here, to, access, true, clock, made_of[k]);
        here.value = results[k];
        here.made_of = made_of[k];
      }
    actor.packets.clear();
  }

  Clock clock_of_move(const Actor& actor) const {
    Clock clock = *actor.known;
    for (const Message* packet : actor.packets) learn(clock, *packet->knowledge);
    return clock;
  }

  static Value sum(const Value& a, const Value& b) {
    if (!a.sum || !b.sum) return {};
    return {std::make_shared<SymbolicSum>(added(*a.sum, *b.sum)), a.piece};
  }

  void check(const Value& value, const PeerSlot& slot, const Access& access, int piece) {
    if (!found_.empty()) return;  // follows from another fault, perhaps
    if (!value.sum)
      say(Kind::Absent, place(access), "{}: {} was never written", name(access), to_string(slot));
    else if (value.piece != piece)
      say(Kind::Match, place(access), "{}: {} holds piece {}, not {}", name(access), to_string(slot),
          value.piece, piece);
  }

  FaultPlace place(const Access& access) const {
    return {.rank = actors_[access.actor].rank,
            .block = actors_[access.actor].block,
            .instruction = access.instruction};
  }

  std::string name(const Access& access) const {
    const Actor& actor = actors_[access.actor];
    if (actor.block < 0) return fmt::format("the user of rank {}, between launches", actor.rank);
    return fmt::format("{} of launch {}", at(actor.rank, actor.block, access.instruction), access.launch);
  }

  // Notes an access, and says what it is in a race with. What was read for a packet was read before whatever
  // is made of the packet is written.
  void touch(Cell& here, const PeerSlot& slot, const Access& access, bool writes, const Clock& clock,
             const Reads& before) {
    if (!came_as_packet(here, access)) unordered(here.writer, "writes", slot, access, writes, clock);
    if (!writes) {
      here.reads[{access.actor, access.instruction}] = access;
      return;
    }
    for (const auto& [reader, read] : here.reads)
      if (!before.contains({&here, read.actor, read.instruction, read.phase}))
        unordered(read, "reads", slot, access, writes, clock);
    here.reads.clear();
    here.writer = access;
  }

  bool came_as_packet(const Cell& here, const Access& access) const {
    for (const Message* packet : actors_[access.actor].packets)
      for (const auto& [cell, stored] : packet->stored)
        if (cell == &here && stored.actor == here.writer.actor && stored.phase == here.writer.phase &&
            stored.instruction == here.writer.instruction)
          return true;
    return false;
  }

  // Each fault once, not for each slot and launch.
  bool once(const Access& a, const Access& b) {
    return races_.insert({a.actor, a.instruction, b.actor, b.instruction}).second;
  }

  void unordered(const Access& other, const char* verb, const PeerSlot& slot, const Access& access,
                 bool writes, const Clock& clock) {
    if (other.actor < 0 || clock[other.actor] >= other.phase) return;
    if (other.actor == access.actor && other.launch == access.launch &&
        other.instruction == access.instruction)
      return;
    if (!once(other, access)) return;
    if (other.actor == access.actor)
      say(Kind::Race, place(access), "{}: {} {}, and instruction {} {} it, with no sync in between",
          name(access), writes ? "writes" : "reads", to_string(slot), other.instruction, verb);
    else
      say(Kind::Race, place(access), "{}: {} {}, and nothing orders that with {}, which {} it", name(access),
          writes ? "writes" : "reads", to_string(slot), name(other), verb);
  }

  void ends() {
    for (Rank n = 0; n < ranks(); ++n)
      for (int a = first_actor_[n] + 1; launch_[n] < launches_ && a < first_actor_[n + 1]; ++a)
        if (actors_[a].next < length(a))
          say(Kind::Deadlock, {.rank = n, .block = actors_[a].block, .instruction = actors_[a].next},
              "{} waits forever in launch {}", at(n, actors_[a].block, actors_[a].next), launch_[n]);
  }

  const Collective& collective_;
  const PeerProgram& program_;
  const PeerRefereeOptions options_;
  const Promise promise_{collective_};
  int launches_ = 0;
  std::vector<std::vector<int>> most_ = {};                        // values_of_a_launch
  std::vector<int> first_actor_ = {};                              // by rank: the user
  std::vector<std::map<std::pair<Slot, bool>, Cell>> cells_ = {};  // by rank; odd scratch
  std::vector<int> launch_ = {};                                   // by rank: of its blocks
  std::vector<Actor> actors_ = {};                                 // users and blocks
  std::vector<std::vector<std::deque<Message>>> raised_ = {};      // by rank, counter and Signal so far
  std::map<std::pair<Rank, int>, PeerPacket> packets_ = {};
  std::set<std::tuple<int, int, int, int>> races_ = {};  // actor and instruction of both
};

}  // namespace

std::vector<Fault> violations(const Collective& collective, const PeerProgram& program,
                              const PeerRefereeOptions& options, int limit) {
  std::vector<Fault> faults = form_faults(collective, program, limit);
  return faults.empty() ? PeerReferee(collective, program, options, limit).run() : faults;
}

}  // namespace chorale
