// The idea: each counter is raised by one block, in its order, so what a Wait waits for does not depend on
// timing, and actors are run one by one, in any order in which they can; an actor that cannot run in the end
// waits forever. A counter only grows, so a Wait that may pass may pass later too, and the order of running
// makes no difference except for races, which the clocks show in any order. verify_peers.h defines what each
// actor knows; clocks are shared until an actor learns (most Moves of a block know the same). Form is checked
// first.
//
// The environment of the program is run with it: the user of each rank is an actor that writes the inputs and
// spoils the outputs before every launch and reads the outputs after it. An access that comes too early or
// too late in a rank's memory is in a race with the user.
#include "semantics/verify_peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>

#include "ir/words.h"
#include "semantics/symbolic_machine.h"

namespace chorale {
namespace {

// With separate scratch for even and odd launches, a Signal of two launches ago shows that a scratch may be
// used again. An older one would not show it.
constexpr int kMostLag = 2;

// What an actor knows: how far others have come, and single accesses that are over though their phases may
// not be, as packets show them.
struct Knowing {
  Clock clock = {};
  Accesses over = {};
};
using Knowledge = std::shared_ptr<const Knowing>;

// Accesses of phases that the clock has are not listed.
void extend(Knowing& knowing, const Knowing& other) {
  learn(knowing.clock, other.clock);
  knowing.over.insert(other.over.begin(), other.over.end());
  std::erase_if(knowing.over, [&](const auto& access) {
    return knowing.clock[std::get<1>(access)] >= std::get<3>(access);
  });
}

bool knows(const Knowing& knowing, const Cell& cell, const Access& before) {
  return knowing.clock[before.actor] >= before.phase ||
         knowing.over.contains({&cell, before.actor, before.instruction, before.phase});
}

// The knowledge that a Signal hands on; of packets their stores too. Actors point to messages of packets, so
// they are kept in deques, where they stay when more arrive.
struct Message {
  Knowledge knowledge = {};
  std::vector<std::pair<const Cell*, Access>> stored = {};
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
  Accesses seen = {};                        // that packets have shown to single threads since the last Sync
  bool proxy = false;
};

class PeerVerifier final : SymbolicMachine {
 public:
  PeerVerifier(const Collective& collective, const PeerProgram& program, const PeerVerifierOptions& options,
               int limit)
      : SymbolicMachine(collective, program, program.in_place, program.double_scratch, limit),
        program_(program),
        options_(options) {
    for (Rank n = 0; n < ranks(); ++n) {
      first_actor_.push_back(static_cast<int>(actors_.size()));
      for (int b = -1; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
        actors_.push_back({.rank = n, .block = b});
    }
    for (const auto& [n, b] : options_.proxies) actors_[first_actor_[n] + 1 + b].proxy = true;
    first_actor_.push_back(static_cast<int>(actors_.size()));
  }

  // Launches follow each other per rank and not all at once, so that a fast rank meets what a slow one
  // still reads: races between launches are found as those within one.
  std::vector<Fault> run() {
    form();
    if (found_.empty()) counters();
    if (found_.empty()) {
      most_ = values_of_a_launch(program_);
      waits();
    }
    if (!found_.empty()) return std::move(found_);
    start();
    for (bool moved = true; moved && !full();) {
      moved = false;
      for (Rank n = 0; n < ranks() && !full(); ++n) {
        for (int a = first_actor_[n] + 1; a < first_actor_[n + 1]; ++a)
          while (!full() && can_step(a)) {
            step(a);
            moved = true;
          }
        // A rank goes on to its next launch when its blocks have ended, however far others are: it is ahead
        // of them as far as its counters let it.
        moved = turn(n) || moved;
      }
    }
    ends();
    return std::move(found_);
  }

 private:
  const PeerInstruction& instruction(Rank n, int b, int i) const {
    return program_.ranks[n].blocks[b].instructions[i];
  }

  Access at(Rank n, int b, int i) const { return {.actor = first_actor_[n] + 1 + b, .instruction = i}; }
  FaultPlace place(const Access& access) const override {
    const Actor& actor = actors_[access.actor];
    return {.rank = actor.rank, .block = actor.block, .instruction = access.instruction};
  }
  std::string name(const Access& access) const override {
    const Actor& actor = actors_[access.actor];
    if (actor.block < 0) return fmt::format("the user of rank {}, between launches", actor.rank);
    return name_of(program_, actor.rank, actor.block, access.instruction) +
           (access.phase > 0 ? fmt::format(" of launch {}", access.launch) : "");
  }

  // Ranks, counters and values in range, so that what follows can index by them.
  void form() {
    for (Rank n = 0; n < ranks(); ++n)
      if (const int counters = program_.ranks[n].counters; counters < 0)
        report(Kind::Form, {.rank = n}, "rank {}: {} counters", n, counters);
    for (std::size_t t = 0; t < program_.teams.size(); ++t)
      if (const std::vector<Rank>& team = program_.teams[t];
          team.size() < 2 || team.front() < 0 || team.back() >= ranks() ||
          std::ranges::adjacent_find(team, std::greater_equal()) != team.end())
        report(Kind::Form, {}, "team {} is not of two or more different ranks, sorted", t);
    if (!found_.empty()) return;
    for_each_instruction(program_, [&](Rank n, int b, int i, const PeerInstruction& instruction) {
      if (instruction.opcode == PeerOpcode::Move) move_form(n, instruction.does, at(n, b, i));
      if (instruction.opcode != PeerOpcode::Signal && instruction.opcode != PeerOpcode::Wait) return;
      if (instruction.team >= static_cast<int>(program_.teams.size()))
        return complain(Kind::Form, at(n, b, i), "there is no team {}", instruction.team);
      const bool own = instruction.opcode == PeerOpcode::Wait;
      for (const Rank owner : own ? std::vector{n} : signalled(program_, instruction)) {
        if (owner < 0 || owner >= ranks())
          return complain(Kind::Form, at(n, b, i), "there is no rank {}", owner);
        if (instruction.counter < 0 || instruction.counter >= program_.ranks[owner].counters)
          complain(Kind::Form, at(n, b, i), "rank {} has {}", owner,
                   counted(program_.ranks[owner].counters, "counter"));
      }
      if (instruction.value < 1) complain(Kind::Form, at(n, b, i), "values begin at 1");
      if (instruction.opcode == PeerOpcode::Wait && (instruction.lag < 0 || instruction.lag > kMostLag))
        complain(Kind::Form, at(n, b, i), "a lag of {} launches, 0 to {} are possible", instruction.lag,
                 kMostLag);
    });
  }

  void move_form(Rank n, const DataOperation& op, const Access& at) {
    if (op.from.empty() || op.to.empty())
      return complain(Kind::Form, at, "moves from nowhere, or to nowhere");
    if (op.takes || op.sends) return complain(Kind::Form, at, "there are no messages here");
    operation_form(n, op, at);
  }

  // A counter is raised by one block: to 1, 2, 3, ... in the order of its Signals.
  void counters() {
    struct Raised {
      Rank rank = -1;
      int block = -1;
      int value = 0;
    };
    std::map<std::pair<Rank, int>, Raised> by_counter;
    for_each_instruction(program_, [&](Rank n, int b, int i, const PeerInstruction& signal) {
      if (signal.opcode != PeerOpcode::Signal) return;
      for (const Rank owner : signalled(program_, signal)) {
        Raised& raised = by_counter[{owner, signal.counter}];
        if (raised.rank >= 0 && (raised.rank != n || raised.block != b))
          return complain(Kind::Match, at(n, b, i), "the counter is raised by rank {}, block {} too",
                          raised.rank, raised.block);
        if (signal.value != raised.value + 1)
          complain(Kind::Match, at(n, b, i), "the counter is at {} and can become {} only", raised.value,
                   raised.value + 1);
        raised = {.rank = n, .block = b, .value = signal.value};
      }
    });
    // A switch adds one to all of them; a launch has to leave them alike.
    for_each_instruction(program_, [&](Rank n, int b, int i, const PeerInstruction& signal) {
      if (signal.opcode != PeerOpcode::Signal) return;
      const std::vector<Rank> owners = signalled(program_, signal);
      const auto gain = [&](Rank owner) { return by_counter[{owner, signal.counter}].value; };
      for (const Rank owner : owners)
        if (gain(owner) != gain(owners.front()))
          return complain(Kind::Match, at(n, b, i), "the counter becomes {} at rank {} and {} at rank {}",
                          gain(owners.front()), owners.front(), gain(owner), owner);
    });
  }

  // A value above all Signals of a launch is given by none of them, and in the last launch no later one gives
  // it. All other Waits end, or are part of a cycle, which running finds.
  void waits() {
    for_each_instruction(program_, [&](Rank n, int b, int i, const PeerInstruction& wait) {
      if (wait.opcode == PeerOpcode::Wait && wait.value > most_[n][wait.counter])
        complain(Kind::Deadlock, at(n, b, i), "waits forever, the counter becomes {} at most",
                 most_[n][wait.counter]);
    });
  }

  void start() {
    int most_lag = 0;
    for_each_instruction(program_, [&](Rank, int, int, const PeerInstruction& i) {
      if (i.opcode == PeerOpcode::Wait) most_lag = std::max(most_lag, i.lag);
    });
    // In the first `most_lag` launches some Waits pass at once, so launch `most_lag` is the first that is
    // like all later ones. Two more follow it, since what a launch leaves is met by the next one, and three
    // with double_scratch, where it is met by the one after the next.
    launches_ = 3 + most_lag + (program_.double_scratch ? 1 : 0);
    for (Rank n = 0; n < ranks(); ++n) raised_.emplace_back(program_.ranks[n].counters);
    for (const PeerPacket& packet : options_.packets) packets_[{packet.rank, packet.counter}] = packet;
    launch_.resize(ranks(), 0);
    for (Rank n = 0; n < ranks(); ++n) begin_launch(n, {Clock(actors_.size(), 0)});
  }

  // The user spoils the outputs and writes the inputs; blocks start from all that the user knows. Outputs
  // first: in place an input may lie where an output does, and is what stays. A spoiled slot has no value: to
  // read it before it is written in this launch is to read what was never written.
  void begin_launch(Rank n, Knowing knowing) {
    const int user = first_actor_[n];
    Actor& actor = actors_[user];
    for (int o = 0; o < program_.ranks[n].output_chunks; ++o)
      write_by_user(n, {Buffer::Output, o}, knowing, {});
    for (int i = 0; i < program_.ranks[n].input_chunks; ++i)
      write_by_user(n, {Buffer::Input, i}, knowing, input_value(n, i, launch_[n]));
    knowing.clock[user] = actor.phase++;
    const auto known = std::make_shared<const Knowing>(std::move(knowing));
    for (int a = user; a < first_actor_[n + 1]; ++a) {
      actors_[a].next = 0;
      actors_[a].at_start = actors_[a].proxy && actors_[a].known ? both(*actors_[a].known, *known) : known;
      actors_[a].known = actors_[a].at_start;
    }
  }

  static Knowledge both(Knowing one, const Knowing& other) {
    extend(one, other);
    return std::make_shared<const Knowing>(std::move(one));
  }

  void write_by_user(Rank n, const Slot& slot, const Knowing& knowing, SymbolicValue value) {
    Cell& here = cell(n, slot, launch_[n]);
    touch(here, {slot, n}, true, by_user(n, knowing));
    here.value = std::move(value);
    here.made_of.clear();
  }

  Doing by_user(Rank n, const Knowing& knowing) const {
    const int user = first_actor_[n];
    return {.rank = n,
            .access = {.actor = user, .phase = actors_[user].phase, .launch = launch_[n]},
            .ordered = [&knowing](const Cell& here, const Access& before) {
              return knows(knowing, here, before);
            }};
  }

  // Ends the launch of a rank whose blocks have come to their end; true if they had. That is a Sync of each
  // block, and the user learns from all but proxies, which launches do not wait for. The user's reading is a
  // phase of its own, which the user knows before spoiling what was read.
  bool turn(Rank n) {
    if (launch_[n] == launches_) return false;
    Knowing knowing = *actors_[first_actor_[n]].known;
    for (int a = first_actor_[n] + 1; a < first_actor_[n + 1]; ++a)
      if (actors_[a].next < length(a)) return false;
    for (int a = first_actor_[n] + 1; a < first_actor_[n + 1]; ++a) {
      sync(a);
      if (!actors_[a].proxy) extend(knowing, *actors_[a].known);
    }
    look(n, knowing);
    knowing.clock[first_actor_[n]] = actors_[first_actor_[n]].phase++;
    if (++launch_[n] < launches_) begin_launch(n, std::move(knowing));
    return true;
  }

  // The user reads the outputs at the end of a launch.
  void look(Rank n, const Knowing& knowing) {
    for (int o = 0; o < program_.ranks[n].output_chunks; ++o)
      touch(cell(n, {Buffer::Output, o}, launch_[n]), {{Buffer::Output, o}, n}, false, by_user(n, knowing));
    if (found_.empty()) outputs(n, fmt::format("at the end of launch {}", launch_[n]), launch_[n]);
  }

  int length(int a) const {
    return static_cast<int>(program_.ranks[actors_[a].rank].blocks[actors_[a].block].instructions.size());
  }

  // Which of the Signals so far a Wait is for; negative: none. Values go on from launch to launch, and each
  // Signal raises by one, so it is a matter of counting.
  // Launch k with a lag of l waits for the value of launch k - l: signals are numbered through all
  // launches.
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

  // From now on all threads of the block know what single ones have learned, and the block and all receivers
  // of its signals know what it did in the phase that ends here.
  void sync(int a) {
    Actor& actor = actors_[a];
    see_packets(actor);
    actor.packets.clear();
    Knowing knowing = *actor.known;
    for (const Knowledge& other : actor.learned) extend(knowing, *other);
    knowing.over.merge(std::exchange(actor.seen, {}));
    knowing.clock[a] = actor.phase++;
    actor.learned.clear();
    actor.known = std::make_shared<const Knowing>(std::move(knowing));
  }

  void step(int a) {
    Actor& actor = actors_[a];
    const PeerInstruction& i = instruction(actor.rank, actor.block, actor.next);
    switch (i.opcode) {
      case PeerOpcode::Move:
        move(a, i.does);
        break;
      case PeerOpcode::Signal:
        for (const Rank owner : signalled(program_, i))
          raised_[owner][i.counter].push_back(message(actor, i, owner));
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

  // Is this Sync part of storing or loading packets? Data with their own flags have no such Sync: a thread
  // continues when it has what it takes, whatever the others have seen.
  bool of_packets(const Actor& actor) const {
    const auto& block = program_.ranks[actor.rank].blocks[actor.block].instructions;
    const PeerInstruction* before = actor.next > 0 ? &block[actor.next - 1] : nullptr;
    const PeerInstruction* after =
        actor.next + 1 < static_cast<int>(block.size()) ? &block[actor.next + 1] : nullptr;
    return (before && before->opcode == PeerOpcode::Wait && of_packet(actor.rank, *before)) ||
           (after && after->opcode == PeerOpcode::Signal && after->team < 0 &&
            of_packet(after->rank, *after));
  }

  // Relaxed ones, and those of packets, hand on what was known when the launch began. A packet's also names
  // the last writer of each of its slots: its flag guarantees that store and no later one.
  Message message(const Actor& actor, const PeerInstruction& signal, Rank owner) {
    const auto packet = packets_.find({owner, signal.counter});
    const bool relaxed = packet != packets_.end() || (signal.relaxed && !options_.relaxed_orders);
    Message message{.knowledge = relaxed ? actor.at_start : actor.known};
    if (packet != packets_.end())
      for (int k = 0; k < packet->second.count; ++k) {
        const Cell& stored = cell(owner, {Buffer::Scratch, packet->second.first + k}, launch_[actor.rank]);
        message.stored.push_back({&stored, stored.writer});
      }
    return message;
  }

  // Until the next Sync the knowledge that packets bring is for this Move alone: its threads have each seen
  // the flag of the data that they take, and nothing else.
  void move(int a, const DataOperation& op) {
    Actor& actor = actors_[a];
    Knowing knowing = *actor.known;
    for (const Message* packet : actor.packets) extend(knowing, *packet->knowledge);
    Doing doing{.rank = actor.rank,
                .block = actor.block,
                .access = {.actor = a,
                           .phase = actor.phase,
                           .launch = launch_[actor.rank],
                           .instruction = actor.next},
                .ordered = [&knowing](const Cell& here, const Access& before) {
                  return knows(knowing, here, before);
                }};
    if (!packets_.empty())
      doing.carried = [&](const Cell& here) {
        return came_as_packet(here, actor) || knows(knowing, here, here.writer);
      };
    see_packets(actor);
    perform(op, doing);
    actor.packets.clear();
  }

  // A packet shows its store and what was read for it.
  void see_packets(Actor& actor) {
    for (const Message* packet : actor.packets)
      for (const auto& [cell, stored] : packet->stored) {
        actor.seen.insert({cell, stored.actor, stored.instruction, stored.phase});
        if (came_as_packet(*cell, actor)) actor.seen.insert(cell->made_of.begin(), cell->made_of.end());
      }
  }

  static bool came_as_packet(const Cell& here, const Actor& actor) {
    for (const Message* packet : actor.packets)
      for (const auto& [cell, stored] : packet->stored)
        if (cell == &here && stored.actor == here.writer.actor && stored.phase == here.writer.phase &&
            stored.instruction == here.writer.instruction)
          return true;
    return false;
  }

  void ends() {
    for (Rank n = 0; n < ranks(); ++n)
      for (int a = first_actor_[n] + 1; launch_[n] < launches_ && a < first_actor_[n + 1]; ++a)
        if (actors_[a].next < length(a))
          report(Kind::Deadlock, {.rank = n, .block = actors_[a].block, .instruction = actors_[a].next},
                 "{} waits forever in launch {}", name_of(program_, n, actors_[a].block, actors_[a].next),
                 launch_[n]);
  }

  const PeerProgram& program_;
  const PeerVerifierOptions options_;
  int launches_ = 0;
  std::vector<std::vector<int>> most_ = {};                    // values_of_a_launch
  std::vector<int> first_actor_ = {};                          // by rank: the user
  std::vector<int> launch_ = {};                               // by rank: of its blocks
  std::vector<Actor> actors_ = {};                             // users and blocks
  std::vector<std::vector<std::deque<Message>>> raised_ = {};  // by rank, counter and Signal so far
  std::map<std::pair<Rank, int>, PeerPacket> packets_ = {};
};

}  // namespace

std::vector<Fault> violations(const Collective& collective, const PeerProgram& program,
                              const PeerVerifierOptions& options, int limit) {
  std::vector<Fault> faults = size_faults(collective, program);
  return faults.empty() ? PeerVerifier(collective, program, options, limit).run() : faults;
}

}  // namespace chorale
