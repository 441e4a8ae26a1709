// Round -1 of each loop is not counted: it sets up connections and touches memory for the first time.
#include "runtime/message_times.h"

#include <algorithm>
#include <chrono>

#include "ir/program.h"

namespace chorale {
namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// What one rank posts, with the memory that it comes from or goes to. Moving a vector of vectors moves no
// bytes, so addresses stay.
struct Postings {
  std::vector<std::vector<std::byte>> memory = {};
  std::vector<Delivery> sends = {}, recvs = {};

  void add(std::vector<Delivery>& to, int message, Rank peer, std::int64_t bytes) {
    memory.emplace_back(static_cast<std::size_t>(bytes), std::byte{1});
    to.push_back({.peer = peer, .tag = message, .data = memory.back().data(), .bytes = bytes});
  }
};

// Tags are numbers of messages in the list, so that both ends have the same.
Postings postings(const Transport& transport, std::span<const RankMessage> messages) {
  const Rank rank = transport.rank();
  Postings result;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const auto& [src, dst, bytes] = messages[m];
    if (src == rank) result.add(result.sends, static_cast<int>(m), dst, bytes);
    if (dst == rank) result.add(result.recvs, static_cast<int>(m), src, bytes);
  }
  const int ranks = transport.ranks();
  // In the order in which programs post: it is part of what is measured.
  std::ranges::stable_sort(result.sends, {},
                           [&](const Delivery& t) { return posting_distance(rank, t.peer, ranks); });
  std::ranges::stable_sort(result.recvs, {},
                           [&](const Delivery& t) { return posting_distance(t.peer, rank, ranks); });
  return result;
}

// Broadcasts the value of one rank: those of the others are 0.
Spread told(Transport& transport, const Spread& known) {
  return {.least = transport.most(known.least),
          .median = transport.most(known.median),
          .most = transport.most(known.most)};
}

}  // namespace

// Half of there and back, so that one clock suffices. The other ranks only wait for the answer.
Spread ping_pong(Transport& transport, const RankMessage& message, int times) {
  const auto& [src, dst, bytes] = message;
  const std::vector<RankMessage> there = {{src, dst, bytes}}, back = {{dst, src, bytes}};
  Postings first = postings(transport, there), second = postings(transport, back);
  std::vector<double> us;
  transport.barrier();
  for (int i = -1; i < times; ++i) {
    const Clock::time_point start = Clock::now();
    if (transport.rank() == src || transport.rank() == dst) {
      transport.exchange(first.sends, first.recvs);
      transport.exchange(second.sends, second.recvs);
    }
    if (i >= 0) us.push_back(us_since(start) / 2);
  }
  return told(transport, transport.rank() == src ? spread_of(std::move(us)) : Spread());
}

// A round takes as long as its slowest rank.
Spread all_at_once(Transport& transport, std::span<const RankMessage> messages, int times) {
  Postings mine = postings(transport, messages);
  std::vector<double> us;
  for (int i = -1; i < times; ++i) {
    transport.barrier();
    const Clock::time_point start = Clock::now();
    transport.exchange(mine.sends, mine.recvs);
    const double last = transport.most(us_since(start));
    if (i >= 0) us.push_back(last);
  }
  return spread_of(std::move(us));
}

}  // namespace chorale
