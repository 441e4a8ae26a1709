// Over a transport that takes notes, with ranks as threads.
#include "runtime/message_times.h"

#include <gtest/gtest.h>

#include <barrier>
#include <map>
#include <mutex>
#include <thread>

namespace chorale {
namespace {

struct Notes {
  explicit Notes(int ranks) : meeting(ranks), values(ranks) {}
  std::barrier<> meeting;
  std::vector<double> values;
  std::mutex mutex;
  std::map<std::pair<Rank, Rank>, std::vector<std::int64_t>> sent, received;
  bool in_order = true;
};

class CountingTransport : public Transport {
 public:
  CountingTransport(Notes& notes, Rank rank) : notes_(notes), rank_(rank) {}
  Rank rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(notes_.values.size()); }

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    const std::lock_guard lock(notes_.mutex);
    const auto note = [&](const std::vector<Delivery>& list, bool away, auto& of) {
      int last = 0;
      for (const Delivery& each : list) {
        const int distance = ((away ? each.peer - rank_ : rank_ - each.peer) + ranks()) % ranks();
        notes_.in_order = notes_.in_order && distance >= last;
        last = distance;
        of[away ? std::pair(rank_, each.peer) : std::pair(each.peer, rank_)].push_back(each.bytes);
      }
    };
    note(sends, true, notes_.sent);
    note(receives, false, notes_.received);
  }
  void barrier() override { notes_.meeting.arrive_and_wait(); }
  std::vector<double> all(double value) override {
    notes_.values[rank_] = value;
    barrier();
    const std::vector<double> values = notes_.values;
    barrier();
    return values;
  }

 private:
  Notes& notes_;
  const Rank rank_;
};

std::vector<Spread> on_all(Notes& notes, const auto& each) {
  std::vector<Spread> results(notes.values.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < results.size(); ++r)
      threads.emplace_back([&, r] {
        CountingTransport transport(notes, static_cast<Rank>(r));
        results[r] = each(transport);
      });
  }
  return results;
}

TEST(PingPong, GoesThereAndBackAndAllKnow) {
  Notes notes(3);
  const std::vector<Spread> told = on_all(notes, [](Transport& transport) {
    return ping_pong(transport, {2, 0, 100}, 5);
  });
  const std::vector<std::int64_t> six(6, 100);  // one does not count
  EXPECT_EQ(notes.sent,
            (std::map<std::pair<Rank, Rank>, std::vector<std::int64_t>>{{{2, 0}, six}, {{0, 2}, six}}));
  EXPECT_EQ(notes.sent, notes.received);
  for (const Spread& each : told) EXPECT_EQ(each, told[0]);
  EXPECT_GT(told[0].least, 0);
  EXPECT_LE(told[0].least, told[0].median);
  EXPECT_LE(told[0].median, told[0].most);
}

TEST(AllAtOnce, PostsEachMessageByDistance) {
  Notes notes(4);
  std::vector<RankMessage> messages;
  for (const Rank src : {3, 1, 0, 2})
    for (const Rank dst : {0, 1, 2, 3})
      if (src != dst) messages.push_back({src, dst, 10 * src + dst});
  messages.push_back({0, 1, 7});  // a second one of a pair
  const std::vector<Spread> told =
      on_all(notes, [&](Transport& transport) { return all_at_once(transport, messages, 1); });
  EXPECT_TRUE(notes.in_order);
  EXPECT_EQ(notes.sent.size(), 12u);
  EXPECT_EQ(notes.sent, notes.received);
  EXPECT_EQ((notes.sent[{0, 1}]), (std::vector<std::int64_t>{1, 7, 1, 7}));
  EXPECT_EQ((notes.sent[{3, 2}]), (std::vector<std::int64_t>{32, 32}));
  for (const Spread& each : told) EXPECT_EQ(each, told[0]);
}

}  // namespace
}  // namespace chorale
