// A rank's events become hops: a Move, with the message that it takes and those that it brings. Forwards over them, what is
// sent is stored to the peer by the hop that made it; backwards, what nobody at home reads any more is not stored there. Then
// the block is written, with a Sync only where threads would else meet in a slot, after each wait, and before peers are told.
//
// That a store to a peer may come as early as its value is there rests on mailboxes: each has one message in a launch, so
// nothing is overwritten by being early.
#include "codegen/passes/peer_lowering.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "codegen/passes/events.h"
#include "semantics/verify_peers.h"

namespace chorale {
namespace {

// Where messages land, and who counts what.
struct Mail {
  std::map<int, int> slot = {};     // by message: the first scratch slot at the receiver
  std::map<int, int> counter = {};  // by message, at the receiver
  std::map<std::pair<Rank, Rank>, int> acknowledged = {};  // by sender and receiver: at the sender
  std::vector<int> scratch = {}, counters = {};            // by rank: how many in all
};

Mail mail_of(const Program& program, const std::vector<Events>& ranks) {
  Mail mail;
  for (const RankProgram& rank : program.ranks) mail.scratch.push_back(rank.scratch_chunks);
  mail.counters.resize(ranks.size(), 0);
  const std::map<int, Ends> all = ends_of(ranks);
  for (const auto& [message, ends] : all) {
    mail.slot[message] = mail.scratch[ends.to];
    mail.scratch[ends.to] += ranks[ends.to][ends.recv].does.count;
    mail.counter[message] = mail.counters[ends.to]++;
  }
  for (const auto& [message, ends] : all)
    if (mail.acknowledged.try_emplace({ends.from, ends.to}, mail.counters[ends.from]).second)
      ++mail.counters[ends.from];
  return mail;
}

// In place: one name for what is one place.
void name_places(const Collective& collective, const Program& program, std::vector<Events>& ranks) {
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    for (Event& event : ranks[n])
      for (std::vector<DataPlace>* places : {&event.does.from, &event.does.to})
        for (DataPlace& place : *places)
          place.slot = in_place_slot(collective.kind, program.chunks_per_block, n, place.slot,
                                     program.ranks[n].input_chunks, program.ranks[n].output_chunks);
}

// A Move to be, with the messages that it takes and brings.
struct Hop {
  DataOperation move = {};
  int takes = -1;                // message; -1: none
  std::vector<int> brings = {};  // messages
  bool gone = false;             // what it did, an earlier one does as well
};

std::vector<DataPlace> consecutive(const DataPlace& first, int count) {
  std::vector<DataPlace> result;
  for (int k = 0; k < count; ++k) result.push_back(next_place(first, k));
  return result;
}

std::set<DataPlace> touched(const std::vector<DataPlace>& firsts, int count) {
  std::set<DataPlace> result;
  for (const DataPlace& first : firsts)
    for (const DataPlace& slot : consecutive(first, count)) result.insert(slot);
  return result;
}

bool meet(const std::set<DataPlace>& a, const std::set<DataPlace>& b) {
  return std::any_of(a.begin(), a.end(), [&](const DataPlace& slot) { return b.contains(slot); });
}

std::vector<Hop> hops_of(Rank n, const Events& events, const Mail& mail) {
  std::vector<Hop> hops;
  for (const Event& event : events) {
    if (event.gone) continue;
    Hop hop{.move = event.does};
    for (std::vector<DataPlace>* places : {&hop.move.from, &hop.move.to})
      for (DataPlace& place : *places) place.rank = n;
    const auto mailbox = [&](Rank rank) {
      return DataPlace{{Buffer::Scratch, mail.slot.at(event.message)}, rank};
    };
    if (hop.move.sends) {
      hop.brings = {event.message};
      hop.move.to = {mailbox(event.peer)};
    }
    if (hop.move.takes) {
      hop.takes = event.message;
      hop.move.from.insert(hop.move.from.begin(), mailbox(n));
    }
    hop.move.takes = hop.move.sends = false;
    hops.push_back(std::move(hop));
  }
  return hops;
}

// What is sent right after it was made is stored to the peer by whoever makes it.
void fuse(std::vector<Hop>& hops) {
  std::map<DataPlace, std::pair<int, DataPlace>>
      made;  // by slot: the last hop that stored it, and its first slot
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
      hops[maker].move.to.push_back(hop.move.to.front());
      hops[maker].brings.push_back(hop.brings.front());
      hop.gone = true;
      continue;
    }
    for (const DataPlace& slot : consecutive(hop.move.to.front(), hop.move.count))
      made[slot] = {h, hop.move.to.front()};
  }
  std::erase_if(hops, [](const Hop& hop) { return hop.gone; });
}

// What goes to a peer need not be kept where nobody reads it any more.
void drop_dead_stores(std::vector<Hop>& hops) {
  std::set<DataPlace> dead;  // at this point nobody will read them before they are stored again
  const auto is_dead = [&](const DataPlace& slot) { return dead.contains(slot); };
  // Backwards. Output is wanted at the end, scratch is not.
  for (const Hop& hop : hops)
    for (const std::vector<DataPlace>* all : {&hop.move.from, &hop.move.to})
      for (const DataPlace& slot : touched(*all, hop.move.count))
        if (slot.slot.buffer == Buffer::Scratch) dead.insert(slot);
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    const DataPlace home = hop->move.to.front();
    const std::vector<DataPlace> stored = consecutive(home, hop->move.count);
    if (hop->move.to.size() > 1 && std::all_of(stored.begin(), stored.end(), is_dead))
      hop->move.to.erase(hop->move.to.begin());
    else
      dead.insert(stored.begin(), stored.end());
    for (const DataPlace& slot : touched(hop->move.from, hop->move.count)) dead.erase(slot);
  }
}

// The one block of a rank.
class PeerBlockWriter {
 public:
  PeerBlockWriter(Rank rank, const Mail& mail, const std::map<int, Ends>& ends)
      : rank_(rank), mail_(mail), ends_(ends) {}

  PeerBlock write(const std::vector<Hop>& hops) {
    for (const auto& [pair, counter] : mail_.acknowledged)
      if (pair.first == rank_) wait(counter, 2);
    for (std::size_t h = 0; h < hops.size(); ++h) {
      const Hop& hop = hops[h];
      if (hop.takes >= 0) wait(mail_.counter.at(hop.takes), 0);
      move(hop.move);
      for (int message : hop.brings) {
        const Rank peer = ends_.at(message).to;
        due_.push_back({.opcode = PeerOpcode::Signal,
                        .does = {.to = {{{Buffer::Scratch, mail_.slot.at(message)}, peer}},
                                 .count = hop.move.count,
                                 .piece = hop.move.piece},
                        .rank = peer,
                        .counter = mail_.counter.at(message)});
      }
      // Messages that are ready at the same time share a Sync.
      if (h + 1 == hops.size() || hop.takes >= 0 || hops[h + 1].brings.empty() || hops[h + 1].takes >= 0)
        tell();
    }
    for (const auto& [pair, counter] : mail_.acknowledged)
      if (pair.second == rank_)
        due_.push_back({.opcode = PeerOpcode::Signal, .rank = pair.first, .counter = counter});
    tell();
    return std::move(block_);
  }

 private:
  void wait(int counter, int lag) {
    block_.instructions.push_back({.opcode = PeerOpcode::Wait, .counter = counter, .lag = lag});
    waited_ = true;
  }

  void sync() {
    block_.instructions.push_back({.opcode = PeerOpcode::Sync});
    stored_.clear();
    loaded_.clear();
    waited_ = false;
  }

  void move(const DataOperation& move) {
    const std::set<DataPlace> from = touched(move.from, move.count), to = touched(move.to, move.count);
    if (waited_ || meet(stored_, from) || meet(stored_, to) || meet(loaded_, to)) sync();
    block_.instructions.push_back({.opcode = PeerOpcode::Move, .does = move});
    loaded_.insert(from.begin(), from.end());
    stored_.insert(to.begin(), to.end());
  }

  void tell() {
    if (due_.empty()) return;
    sync();
    block_.instructions.insert(block_.instructions.end(), due_.begin(), due_.end());
    due_.clear();
  }

  const Rank rank_;
  const Mail& mail_;
  const std::map<int, Ends>& ends_;
  PeerBlock block_ = {};
  std::vector<PeerInstruction> due_ = {};          // signals that wait for a Sync
  std::set<DataPlace> stored_ = {}, loaded_ = {};  // since the threads met
  bool waited_ = false;
};

}  // namespace

PeerProgram to_peers(const Collective& collective, const Program& program, const PeerOptions& options) {
  std::vector<Events> ranks;
  for (const RankProgram& rank : program.ranks) ranks.push_back(landed(rank));
  if (program.in_place) name_places(collective, program, ranks);
  if (options.merge) merge_messages(ranks, program.chunks_per_block);
  const Mail mail = mail_of(program, ranks);
  const std::map<int, Ends> ends = ends_of(ranks);
  PeerProgram result{.name = program.name,
                     .collective = collective.kind,
                     .chunks_per_block = program.chunks_per_block,
                     .in_place = program.in_place,
                     .double_scratch = true,
                     .epilogue = program.epilogue};
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n) {
    std::vector<Hop> hops = hops_of(n, ranks[n], mail);
    if (options.fuse) {
      fuse(hops);
      drop_dead_stores(hops);
    }
    result.ranks.push_back({.input_chunks = program.ranks[n].input_chunks,
                            .output_chunks = program.ranks[n].output_chunks,
                            .scratch_chunks = mail.scratch[n],
                            .counters = mail.counters[n],
                            .slice = program.ranks[n].slice,
                            .blocks = {PeerBlockWriter(n, mail, ends).write(hops)}});
  }
  if (const std::vector<Fault> faults = violations(collective, result, {}, 1); !faults.empty())
    throw std::logic_error("to_peers: " + faults.front().words);
  return result;
}

}  // namespace chorale
