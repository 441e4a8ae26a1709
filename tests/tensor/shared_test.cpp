// Messages between processes of one machine (tensor/exchange/shared.h), by threads that share heaps: random
// ones against what was sent, of memory in the heap and elsewhere; a rank that runs ahead; the end of a
// process.
#include "tensor/exchange/shared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/kit/random.h"
#include "tests/tensor/shared_room.h"

namespace chorale::test {
namespace {

struct Planned {
  int from, to, tag, length;
  bool stays, borrows, posted, in_heap, in_pieces;
};

std::vector<Planned> random_messages(std::mt19937& random, int ranks) {
  std::vector<Planned> messages;
  const int count = below(random, 4) == 0 ? 700 : 1 + below(random, 12);
  for (int m = 0; m < count; ++m)
    for (int from = 0; from < ranks; ++from) {
      const int to = (from + 1 + below(random, ranks - 1)) % ranks;
      const auto coin = [&] { return below(random, 2) == 0; };
      messages.push_back({from, to, below(random, 3), below(random, 5) == 0 ? 0 : below(random, 3000), coin(),
                          coin(), below(random, 8) == 0, coin(), coin()});
    }
  return messages;
}
// What is in message m, element by element.
std::vector<int> content(int m, int length) {
  std::vector<int> numbers(length);
  std::iota(numbers.begin(), numbers.end(), 1000 * m);
  return numbers;
}

TEST(SharedTransport, BringsWhatWasSent) {
  std::mt19937 random(29);
  for (int round = 0; round < 30; ++round) {
    const int ranks = 2 + below(random, 4);
    const std::vector<Planned> messages = random_messages(random, ranks);
    SharedRoom room(ranks);
    std::vector<std::vector<int>> data;
    std::vector<int*> places;
    for (std::size_t m = 0; m < messages.size(); ++m) {
      data.push_back(content(static_cast<int>(m), messages[m].length));
      places.push_back(data.back().data());
      if (messages[m].in_heap) {
        places.back() = room.take<int>(messages[m].from, messages[m].length);
        std::ranges::copy(data.back(), places.back());
      }
    }
    room.run([&](SharedTransport& transport) {
      for (int again = 0; again < 2; ++again) {
        std::vector<Delivery> sends, receives;
        std::vector<std::vector<int>> got;
        std::vector<std::size_t> which;
        for (std::size_t m = 0; m < messages.size(); ++m) {
          const Planned& planned = messages[m];
          const std::int64_t bytes = planned.length * static_cast<std::int64_t>(sizeof(int));
          if (planned.from == transport.rank()) {
            Delivery send = {planned.to, planned.tag, places[m], bytes, 0, planned.stays};
            if (planned.in_pieces && planned.length > 1) {
              char* const at = reinterpret_cast<char*>(places[m]);
              send.pieces = {{at, 4}, {at + 4, bytes - 4}};
            }
            if (planned.posted)
              transport.post(send);
            else
              sends.push_back(send);
          }
          if (planned.to == transport.rank()) {
            got.emplace_back(planned.length, -1);
            which.push_back(m);
            receives.push_back({planned.from, planned.tag, nullptr, bytes, 0, false, planned.borrows});
          }
        }
        // Of one pair and tag, messages that are posted come before the others.
        std::vector<std::size_t> order(which.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_partition(order, [&](std::size_t k) { return messages[which[k]].posted; });
        std::vector<Delivery> sorted;
        for (const std::size_t k : order) {
          sorted.push_back(receives[k]);
          sorted.back().data = got[k].data();
        }
        transport.exchange(sends, sorted);
        for (std::size_t k = 0; k < order.size(); ++k) {
          const int* const at = static_cast<const int*>(sorted[k].at);
          const Planned& planned = messages[which[order[k]]];
          ASSERT_EQ(std::vector<int>(at, at + planned.length), data[which[order[k]]]) << "round " << round;
        }
        transport.release(sends, sorted);
        transport.finish();
      }
      EXPECT_EQ(transport.sum(transport.rank()), ranks * (ranks - 1) / 2);
    });
  }
}

TEST(SharedTransport, HoldsBackARankThatRunsAhead) {
  SharedRoom room(2);
  room.run([&](SharedTransport& transport) {
    for (int m = 0; m < 5000; ++m) {
      int number = m, got = -1;
      std::vector<Delivery> sends, receives;
      (transport.rank() == 0 ? sends : receives)
          .push_back({1 - transport.rank(), 0, transport.rank() == 0 ? &number : &got, 4});
      transport.exchange(sends, receives);
      ASSERT_EQ(got, transport.rank() == 1 ? m : -1);
    }
    std::vector<Delivery> many(1025, Delivery{1 - transport.rank(), 0, nullptr, 0}), none;
    EXPECT_THROW(transport.exchange(many, none), std::runtime_error);
  });
}

// Each has 1024 notes for the other: of more messages the rest waits for room, and not the rank for it.
TEST(SharedTransport, StartsMoreMessagesThanThereIsRoomFor) {
  SharedRoom room(2);
  room.run([&](SharedTransport& transport) {
    constexpr int count = 3000;
    std::vector<int> numbers(count), got(count, -1), expected(count);
    std::iota(numbers.begin(), numbers.end(), 10000 * transport.rank());
    std::iota(expected.begin(), expected.end(), 10000 * (1 - transport.rank()));
    std::vector<Delivery> messages;
    for (int m = 0; m < 2 * count; ++m)
      messages.push_back({1 - transport.rank(), 0, m < count ? &numbers[m] : &got[m - count], 4});
    for (int m = 0; m < 2 * count; ++m) transport.start(messages[m], m < count, m);
    for (std::size_t ended = 0; ended < messages.size();) ended += transport.ended().size();
    EXPECT_EQ(got, expected);
  });
}

TEST(SharedTransport, ReadsWhatLiesInTheHeapWhereItIs) {
  SharedRoom room(2);
  int* const number = room.take<int>(0, 1);
  *number = 7;
  room.run([&](SharedTransport& transport) {
    int got = 0, elsewhere = 7;
    std::vector<Delivery> sends, receives;
    if (transport.rank() == 0)
      sends = {{1, 0, number, 4, 0, true}, {1, 1, &elsewhere, 4, 0, true}};
    else
      receives = {{0, 0, &got, 4, 0, false, true}, {0, 1, &got, 4, 0, false, true}};
    transport.exchange(sends, receives);
    if (transport.rank() == 1) {
      EXPECT_EQ(receives[0].at, number);
      EXPECT_NE(receives[1].at, &elsewhere);
      EXPECT_EQ(*static_cast<const int*>(receives[1].at), 7);
    }
    transport.release(sends, receives);
  });
}

TEST(SharedTransport, SaysThatAProcessHasEnded) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  ASSERT_GE(descriptor, 0);
  SharedRoom room(2, {-1, descriptor});
  kill(child, SIGKILL);
  SharedTransport transport(room.of(0));
  int got = 0;
  std::vector<Delivery> sends, receives = {{1, 0, &got, 4}};
  try {
    transport.exchange(sends, receives);
    FAIL() << "a message of nobody";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the process of rank 1 has ended");
  }
  close(descriptor);
  waitpid(child, nullptr, 0);
}

TEST(SharedTransport, NamesRankStepAndPeerOfAHang) {
  SharedRoom room(2);
  SharedTransport transport(room.of(1), std::chrono::milliseconds(1));
  int got = 0;
  std::vector<Delivery> sends, receives = {{0, 5, &got, 4, 2}};
  try {
    transport.exchange(sends, receives);
    FAIL() << "a message of nobody";
  } catch (const Hang& hang) {
    EXPECT_STREQ(hang.what(), "rank 1, step 3: message 5 was not sent by rank 0 within 0.001 s");
  }
}

}  // namespace
}  // namespace chorale::test
