// The idea: all signals are known before any instruction is written, since a rank signals in the order of its
// hops; so values of counters are found rank by rank, and then all Waits have theirs. The invariant of a
// block: between two accesses of its threads to a slot, one of them a store, there is a Sync.
#include "codegen/passes/lanes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace chorale {
namespace {

// The instructions of one block, with a Sync wherever its threads must meet: what one has stored others load
// and overwrite after it only, what one has loaded others overwrite after it, and so it is with what a Wait
// was for. A Sync is decided by what its threads have stored and loaded since they last met, and by whether a
// Wait came since.
class BlockWriter {
 public:
  void wait(int counter, int value, int lag) {
    block_.instructions.push_back(
        {.opcode = PeerOpcode::Wait, .counter = counter, .value = value, .lag = lag});
    waited_ = true;
  }

  void move(const DataOperation& move) {
    const std::set<DataPlace> from = touched(move.from, move.count), to = touched(move.to, move.count);
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

  // The key of a counter: without the message where all of a pair share one.
  News counted_with(News news) const {
    if (work_.options.shared_counters) news.message = -1;
    return news;
  }
  void number(const News& news) {
    int& next = lane_.ranks[news.to].counters;
    if (counters_.try_emplace(counted_with(news), next).second) ++next;
  }
  int counter(const News& news) const { return counters_.at(counted_with(news)); }

  // By steps: all hops of a step. Otherwise hops that wait for no message, of which the later ones bring one:
  // their signals are sent together.
  bool together(const Hop& hop, const Hop& next) const {
    if (work_.options.by_steps) return hop.turn == next.turn;
    return hop.takes < 0 && next.takes < 0 && !next.brings.empty();
  }

  void add_groups(const std::vector<const Hop*>& hops, std::vector<Group>& groups) const {
    const Hop* last = nullptr;
    for (const Hop* hop : hops) {
      if (last == nullptr || !together(*last, *hop)) groups.emplace_back();
      if (hop->takes >= 0) groups.back().awaits.push_back(coming(hop->takes));
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
        signal = &group.signals.emplace_back(PeerInstruction{.opcode = PeerOpcode::Signal,
                                                             .rank = news.to,
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

  DataOperation about(int message) const {
    const DataOperation& move = made_by_.at(message)->move;
    return {.to = {work_.mail.at.at(message)}, .count = move.count, .piece = move.piece};
  }

  // A counter is awaited only beyond what the block has awaited already, and at once for the largest value
  // that a group needs. Mailboxes with a second copy wait for the launch before the last (lag 2).
  PeerBlock block(const std::vector<Group>& groups) const {
    BlockWriter writer;
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

}  // namespace

PeerProgram lane_of(const PeerWork& work, const std::set<int>& parts) {
  std::vector<std::vector<const Hop*>> hops(work.hops.size());
  for (std::size_t n = 0; n < hops.size(); ++n)
    for (const Hop& hop : work.hops[n])
      if (parts.contains(hop.part)) hops[n].push_back(&hop);
  return LaneWriter(work, hops).written();
}

}  // namespace chorale
