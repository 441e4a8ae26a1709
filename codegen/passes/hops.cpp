// The idea: once every message has a slot of its own, sending is storing, and a rank is a list of Moves. So a
// value that is sent on can be stored by the Move that makes it, and chunks that never meet in memory can be
// separated, for any target.
#include "codegen/passes/hops.h"

#include <algorithm>
#include <utility>

#include "ir/disjoint_sets.h"

namespace chorale {
namespace {

std::vector<DataPlace> consecutive(const DataPlace& first, int count) {
  std::vector<DataPlace> result;
  for (int k = 0; k < count; ++k) result.push_back(next_place(first, k));
  return result;
}

// A send is a store into the receiver's mailbox, a receive a load from it: the mailbox is one more source,
// the first.
Hop hop_of(Rank n, const Event& event, const Mailboxes& mail) {
  Hop hop{.move = event.does, .turn = event.does.sends ? event.step : event.step + 1};
  for (std::vector<DataPlace>* places : {&hop.move.from, &hop.move.to})
    for (DataPlace& place : *places) place.rank = n;
  if (hop.move.sends) {
    hop.brings = {event.message};
    hop.move.to = {mail.at.at(event.message)};
  }
  if (hop.move.takes) {
    hop.takes = event.message;
    hop.move.from.insert(hop.move.from.begin(), mail.at.at(event.message));
  }
  hop.move.takes = hop.move.sends = false;
  return hop;
}

}  // namespace

// Behind the scratch that a rank has already: a mailbox is as long as its message.
Mailboxes mailboxes_of(const Program& program, const std::vector<Events>& ranks) {
  Mailboxes mail;
  for (const RankProgram& rank : program.ranks) mail.scratch.push_back(rank.scratch_chunks);
  for (const auto& [message, ends] : ends_of(ranks)) {
    mail.at[message] = {{Buffer::Scratch, mail.scratch[ends.to]}, ends.to};
    mail.scratch[ends.to] += ranks[ends.to][ends.recv].does.count;
  }
  return mail;
}

// In the order of the events, on which fuse and drop_dead_stores rely.
std::vector<Hops> hops_of(const std::vector<Events>& ranks, const Mailboxes& mail) {
  std::vector<Hops> result(ranks.size());
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    for (const Event& event : ranks[n])
      if (!event.gone) result[n].push_back(hop_of(n, event, mail));
  return result;
}

// A hop that only copies a value into mailboxes disappears if the hop that made this value, all of it and not
// since overwritten, can store there as well. `made` has the last maker of each slot; a value that several
// hops have made in parts has none.
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
      hops[maker].brings.push_back(hop.brings.front());
      hop.gone = true;
      continue;
    }
    for (const DataPlace& slot : consecutive(hop.move.to.front(), hop.move.count))
      made[slot] = {h, hop.move.to.front()};
  }
  std::erase_if(hops, [](const Hop& hop) { return hop.gone; });
}

void drop_dead_stores(Hops& hops, const std::function<bool(const DataOperation&)>& has) {
  // One pass from the end: what is dead after a hop, and not read by it, is dead before it.
  std::set<DataPlace> dead;  // at this point they are not read before they are stored again
  const auto is_dead = [&](const DataPlace& slot) { return dead.contains(slot); };
  // Backwards. Output is wanted at the end, scratch is not.
  for (const Hop& hop : hops)
    for (const std::vector<DataPlace>* all : {&hop.move.from, &hop.move.to})
      for (const DataPlace& slot : touched(*all, hop.move.count))
        if (slot.slot.buffer == Buffer::Scratch) dead.insert(slot);
  for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop) {
    const std::vector<DataPlace> stored = consecutive(hop->move.to.front(), hop->move.count);
    DataOperation less = hop->move;
    less.to.erase(less.to.begin());
    if (!less.to.empty() && std::ranges::all_of(stored, is_dead) && has(less))
      hop->move = std::move(less);
    else
      dead.insert(stored.begin(), stored.end());
    for (const DataPlace& slot : touched(hop->move.from, hop->move.count)) dead.erase(slot);
  }
}

// Slots that nothing writes (most inputs) join no parts: they are only read.
int find_parts(std::vector<Hops>& ranks) {
  std::vector<Hop*> all;
  std::set<DataPlace> written;
  for (Hops& hops : ranks)
    for (Hop& hop : hops) {
      all.push_back(&hop);
      written.merge(touched(hop.move.to, hop.move.count));
    }
  DisjointSets joined(static_cast<int>(all.size()));  // the first hop stands for all
  std::map<DataPlace, int> first;                     // hop that touches a slot
  for (int h = 0; h < static_cast<int>(all.size()); ++h)
    for (const std::vector<DataPlace>* places : {&all[h]->move.from, &all[h]->move.to})
      for (const DataPlace& slot : touched(*places, all[h]->move.count))
        if (written.contains(slot)) joined.join(h, first.try_emplace(slot, h).first->second);
  int parts = 0;
  for (int h = 0; h < static_cast<int>(all.size()); ++h)
    all[h]->part = joined.find(h) == h ? parts++ : all[joined.find(h)]->part;
  return parts;
}

std::set<DataPlace> touched(const std::vector<DataPlace>& firsts, int count) {
  std::set<DataPlace> result;
  for (const DataPlace& first : firsts)
    for (const DataPlace& slot : consecutive(first, count)) result.insert(slot);
  return result;
}

}  // namespace chorale
