// The replay against one that moves a clock tick by tick, and against what follows from its rules.
#include "cost/event_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "cost/cost.h"
#include "cost/program_time.h"
#include "semantics/verify_event_times.h"
#include "tests/kit/random.h"
#include "tests/kit/seeds.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

constexpr double kTick = 0.125;     // us; exact in sums
constexpr int kTicksPerChunk = 12;  // over a unit of bandwidth: a whole number over 2 and 3 as well

// Links with latencies of whole ticks, and chunks of one byte that take whole ticks.
Topology in_ticks(std::mt19937& random, Topology t) {
  for (Link& link : t.links) {
    link.alpha_us = test::below(random, 6) * kTick;
    link.beta_us_per_byte = kTicksPerChunk * (1 + test::below(random, 2)) * kTick;
  }
  return t;
}

// Any sends in any steps: the replay asks for nothing else.
Schedule any_sends(std::mt19937& random, const Topology& t) {
  Schedule schedule;
  for (int steps = test::between(random, 1, 4); steps > 0; --steps) {
    Step step;
    std::set<Send> sends;
    for (int more = test::between(random, 1, 8); more > 0; --more)
      sends.insert({.chunk = test::below(random, 3),
                    .link = test::below(random, static_cast<int>(t.links.size())),
                    .reduce = test::below(random, 2) == 0});
    step.sends.assign(sends.begin(), sends.end());
    step.rounds = needed_rounds(t, step);
    schedule.steps.push_back(step);
  }
  return schedule;
}

// What a resource carries at once.
struct SlowJob {
  int step = 0, ticks = 0;
  std::vector<int> sends = {};
  int ready = -1, begun = -1;
};

// Tick by tick: each idle resource looks through the jobs of the first step that it has not done, and begins
// the one whose data have been there longest.
std::vector<SendTimes> slow_times(const Schedule& schedule, const Topology& t) {
  std::vector<SendTimes> sends;
  for (int s = 0; s < std::ssize(schedule.steps); ++s)
    for (const Send& send : schedule.steps[s].sends) sends.push_back({.step = s, .send = send});
  const int links = static_cast<int>(t.links.size());
  std::vector<std::vector<SlowJob>> resources(t.links.size() + t.limits.size());
  std::vector<std::vector<std::pair<int, int>>> carried(sends.size());  // resource, job
  for (int i = 0; i < std::ssize(sends); ++i) {
    const Link& link = t.links[sends[i].send.link];
    const int ticks = static_cast<int>(std::lround(link.beta_us_per_byte / kTick));
    for (int r = 0; r < std::ssize(resources); ++r) {
      if (r < links && r != sends[i].send.link) continue;
      const SharedLimit* limit = r < links ? nullptr : &t.limits[r - links];
      if (limit != nullptr && std::ranges::count(limit->links, sends[i].send.link) == 0) continue;
      const int takes = ticks / (limit == nullptr ? link.bandwidth : limit->bandwidth);
      const auto same = std::ranges::find_if(resources[r], [&](const SlowJob& job) {
        const SendTimes& other = sends[job.sends.front()];
        return limit != nullptr && limit->abilities.any() && other.step == sends[i].step &&
               counted_as(t, *limit, other.send) == counted_as(t, *limit, sends[i].send);
      });
      if (same == resources[r].end()) {
        carried[i].push_back({r, static_cast<int>(resources[r].size())});
        resources[r].push_back({.step = sends[i].step, .ticks = takes, .sends = {i}});
      } else {
        carried[i].push_back({r, static_cast<int>(same - resources[r].begin())});
        same->sends.push_back(i);
        same->ticks = std::max(same->ticks, takes);
      }
    }
  }
  std::vector<int> there(sends.size(), -1);
  const auto has_data = [&](int i, int now) {
    for (int j = 0; j < std::ssize(sends); ++j)
      if (sends[j].step < sends[i].step && sends[j].send.chunk == sends[i].send.chunk &&
          t.links[sends[j].send.link].dst == t.links[sends[i].send.link].src &&
          (there[j] < 0 || there[j] > now))
        return false;
    return true;
  };
  for (int now = 0; std::ranges::count(there, -1) > 0; ++now) {
    for (bool changed = true; changed;) {  // messages without latency go on in the same tick
      changed = false;
      for (auto& jobs : resources)
        for (SlowJob& job : jobs)
          if (job.ready < 0 && std::ranges::all_of(job.sends, [&](int i) { return has_data(i, now); }))
            job.ready = now;
      for (auto& jobs : resources) {
        SlowJob* next = nullptr;
        bool busy = false;
        for (SlowJob& job : jobs) {
          if (job.begun >= 0 && job.begun + job.ticks > now) busy = true;
          if (job.begun >= 0) continue;
          const auto key = [](const SlowJob& of) {
            return std::pair(of.step, of.ready < 0 ? 1 << 30 : of.ready);
          };
          if (next == nullptr || key(job) < key(*next)) next = &job;
        }
        if (busy || next == nullptr || next->ready < 0) continue;
        next->begun = now;
        changed = true;
      }
      for (int i = 0; i < std::ssize(sends); ++i) {
        if (there[i] >= 0) continue;
        int left = 0, begin = 1 << 30;
        bool all = true;
        for (const auto& [r, j] : carried[i]) {
          const SlowJob& job = resources[r][j];
          all = all && job.begun >= 0;
          left = std::max(left, job.begun + job.ticks);
          begin = std::min(begin, job.begun);
        }
        if (!all) continue;
        there[i] = left + static_cast<int>(std::lround(t.links[sends[i].send.link].alpha_us / kTick));
        sends[i].begin_us = begin * kTick;
        sends[i].left_us = left * kTick;
        sends[i].there_us = there[i] * kTick;
      }
    }
  }
  return sends;
}

Topology any_machine(std::mt19937& random, int seed) {
  return in_ticks(random, seed % 3 == 0
                              ? test::able_limits(random)
                              : test::random_machine(random, {.most_ranks = 5, .ports = seed % 3 == 1}));
}

TEST(EventTime, is_that_of_a_clock_that_goes_tick_by_tick) {
  for (int seed = 0; seed < 400; ++seed) {
    std::mt19937 random = test::seeded(seed);
    const Topology t = any_machine(random, seed);
    const Schedule schedule = any_sends(random, t);
    const EventTimes times = event_times(schedule, t, 1, 1);
    ASSERT_EQ(times.sends, slow_times(schedule, t)) << seed;
    double last = 0;
    for (const SendTimes& each : times.sends) last = std::max(last, each.there_us);
    EXPECT_EQ(times.us, last) << seed;
    EXPECT_EQ(event_us(schedule, t, 1, 1), times.us) << seed;
  }
}

// A step lasts until its slowest link and its busiest resource are done. By events nothing is later.
TEST(EventTime, is_never_more_than_step_by_step) {
  for (int seed = 0; seed < 400; ++seed) {
    std::mt19937 random = test::seeded(seed);
    Topology t = any_machine(random, seed);
    t.call_us = 3;
    const Schedule schedule = any_sends(random, t);
    double most = t.call_us;
    for (const Step& step : schedule.steps) {
      double alpha = 0, beta = 0;
      for (const Send& send : step.sends) {
        alpha = std::max(alpha, t.links[send.link].alpha_us);
        beta = std::max(beta, t.links[send.link].beta_us_per_byte);
      }
      most += alpha + step.rounds * beta;
    }
    EXPECT_LE(event_times(schedule, t, 1, 1).us, most) << seed;
    for (Link& link : t.links) link = {.src = link.src, .dst = link.dst, .bandwidth = link.bandwidth};
    const Point point{.cost = cost_of(schedule, 1), .schedule = schedule};
    EXPECT_LE(event_times(schedule, t, 1, 1e5).us, point_us(t, point, 1e5) * (1 + 1e-12)) << seed;
  }
}

// Each send of the path begins when the one before is there, or when it leaves what both use; the first one
// at 0. So the path is as long as the whole.
TEST(EventTime, has_a_critical_path_without_gaps) {
  using Wait = CriticalSend::Wait;
  std::set<Wait> seen;
  for (int seed = 0; seed < 400; ++seed) {
    std::mt19937 random = test::seeded(seed);
    const Topology t = any_machine(random, seed);
    const EventTimes times = event_times(any_sends(random, t), t, 1, 1);
    ASSERT_FALSE(times.critical.empty());
    EXPECT_EQ(times.critical.front().from_us, 0) << seed;
    EXPECT_EQ(times.critical.front().wait, Wait::Nothing) << seed;
    EXPECT_EQ(times.sends[times.critical.back().send].there_us, times.us) << seed;
    for (std::size_t i = 1; i < times.critical.size(); ++i) {
      const CriticalSend& each = times.critical[i];
      const SendTimes &now = times.sends[each.send], &before = times.sends[times.critical[i - 1].send];
      seen.insert(each.wait);
      if (each.wait == Wait::Data) {
        EXPECT_EQ(each.from_us, before.there_us) << seed;
        EXPECT_EQ(t.links[before.send.link].dst, t.links[now.send.link].src) << seed;
        EXPECT_EQ(before.send.chunk, now.send.chunk) << seed;
      } else if (each.wait == Wait::Link) {
        EXPECT_EQ(before.send.link, now.send.link) << seed;
      } else {
        ASSERT_EQ(each.wait, Wait::Limit) << seed;
        for (const LinkId l : {before.send.link, now.send.link})
          EXPECT_EQ(std::ranges::count(t.limits[each.limit].links, l), 1) << seed;
      }
    }
  }
  EXPECT_EQ(seen, (std::set{Wait::Data, Wait::Link, Wait::Limit}));
}

// One message takes its latency and its bytes; two over one link the bytes twice and the latency once. The
// second hop of the first chunk goes beside the first hop of the second, over a link ten times as slow.
TEST(EventTime, of_few_messages_is_counted_by_hand) {
  Topology line{.name = "line", .ranks = 3, .call_us = 5};
  line.links = {{.src = 0, .dst = 1, .alpha_us = 0.5, .beta_us_per_byte = 1e-3},
                {.src = 1, .dst = 2, .alpha_us = 2, .beta_us_per_byte = 1e-2}};
  const auto us = [&](std::vector<Step> steps) { return event_times({std::move(steps)}, line, 1, 1000).us; };
  EXPECT_DOUBLE_EQ(us({{.sends = {{0, 0}}}}), 5 + 1 + 0.5);
  EXPECT_DOUBLE_EQ(us({{.rounds = 2, .sends = {{0, 0}, {1, 0}}}}), 5 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(us({{.sends = {{0, 0}}}, {.sends = {{0, 1}, {1, 0}}}, {.sends = {{1, 1}}}}),
                   5 + 1.5 + 10 + 10 + 2);
  EXPECT_DOUBLE_EQ(us({}), 5);
}

// What the replay finds is accepted by the verifier, which knows nothing of it. Its words name no fault where
// there is none: the machines are all kinds of the kit.
TEST(EventTimesVerifier, accepts_what_the_replay_finds) {
  for (int seed = 0; seed < 400; ++seed) {
    std::mt19937 random = test::seeded(seed);
    const Topology t = any_machine(random, seed);
    const Schedule schedule = any_sends(random, t);
    const std::vector<Fault> faults = violations(t, schedule, event_times(schedule, t, 1, 1), 1);
    EXPECT_TRUE(faults.empty()) << seed << " " << faults.front();
  }
}

// A limit of one unit over two links: two messages at the same time take two units of it.
TEST(EventTimesVerifier, refuses_a_limit_that_carries_two_at_once) {
  Topology t = test::full(3);
  t.limits = {{.name = "NIC out", .links = {0, 1}, .bandwidth = 1}};
  const Schedule schedule{.steps = {{.rounds = 2, .sends = {{0, 0}, {0, 1}}}}};
  const double us = t.links[0].beta_us_per_byte * 1e5;  // of a chunk
  EventTimes times = event_times(schedule, t, 1, 1e5);
  EXPECT_TRUE(violations(t, schedule, times, 1e5).empty());
  for (SendTimes& each : times.sends) {  // each alone takes that long, and both do not
    each.begin_us = 0;
    each.left_us = 1.5 * us;
    each.there_us = 1.5 * us + t.links[0].alpha_us;
  }
  times.us = times.sends[0].there_us;
  const std::vector<Fault> faults = violations(t, schedule, times, 1e5);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, Fault::Kind::Bandwidth);
  for (SendTimes& each : times.sends) each.there_us += each.left_us = 2 * us;  // as fluids, in two
  times.us = times.sends[0].there_us;
  EXPECT_TRUE(violations(t, schedule, times, 1e5).empty());
}

// Without limits a send of the critical path cannot be earlier by anything: what it waits for is exact there.
// Nothing can leave, or be there, sooner; none may be missing; the whole is not less than its last arrival.
TEST(EventTimesVerifier, refuses_what_is_earlier) {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random = test::seeded(seed);
    const Topology t = in_ticks(random, test::random_machine(random, {.most_ranks = 5, .most_limits = 0}));
    const Schedule schedule = any_sends(random, t);
    const EventTimes right = event_times(schedule, t, 1, 1);
    const auto refused = [&](const auto& change) {
      EventTimes wrong = right;
      change(wrong);
      return !violations(t, schedule, wrong, 1).empty();
    };
    for (const CriticalSend& each : right.critical)
      EXPECT_TRUE(refused([&](EventTimes& wrong) {
        SendTimes& moved = wrong.sends[each.send];
        for (double* const us : {&moved.begin_us, &moved.left_us, &moved.there_us}) *us -= kTick;
      })) << seed;
    const int any = test::below(random, static_cast<int>(right.sends.size()));
    EXPECT_TRUE(refused([&](EventTimes& wrong) {
      wrong.sends[any].left_us -= kTick;
      wrong.sends[any].there_us -= kTick;
    })) << seed;
    EXPECT_TRUE(refused([&](EventTimes& wrong) { wrong.sends[any].there_us -= kTick; })) << seed;
    EXPECT_TRUE(refused([&](EventTimes& wrong) { wrong.sends.erase(wrong.sends.begin() + any); })) << seed;
    EXPECT_TRUE(refused([&](EventTimes& wrong) { wrong.sends.push_back(wrong.sends[any]); })) << seed;
    EXPECT_TRUE(refused([&](EventTimes& wrong) { wrong.us -= kTick; })) << seed;
  }
}

// Each rank's part of all vectors, then the sums: rank 0 waits for what comes late over the link 1 -> 0, and
// its sum leaves 10 us later than those of the others.
TEST(EventTime, sums_of_chunks_wait_for_all_of_them) {
  Topology t = test::full(3);
  Point point{.collective = make_collective("allreduce_in_phases", 3, 3)};
  point.schedule.steps = {{.rounds = 1}, {.rounds = 1}};
  for (LinkId l = 0; l < std::ssize(t.links); ++l) {
    Link& link = t.links[l];
    link.alpha_us = link.src == 1 && link.dst == 0 ? 11 : 1;
    link.beta_us_per_byte = 0;
    point.schedule.steps[0].sends.push_back({.chunk = 3 * link.src + link.dst, .link = l});
    point.schedule.steps[1].sends.push_back({.chunk = 9 + link.src, .link = l});
  }
  point.cost = cost_of(point.schedule, 3);
  const EventTimes times = event_times(point, t, 1);
  for (const SendTimes& each : times.sends)
    EXPECT_DOUBLE_EQ(each.begin_us, each.step == 0 ? 0 : each.send.chunk == 9 ? 11 : 1) << each.send.chunk;
  EXPECT_EQ(event_us(point, t, 1), times.us);
}

}  // namespace
}  // namespace chorale
