// What every maker of schedules promises (makers.h), on machines and communications without names: a table of
// makers by a table of properties.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "codegen/passes/lower.h"
#include "ir/renumbering.h"
#include "semantics/verified.h"
#include "semantics/verify.h"
#include "tests/property/makers.h"
#include "tests/property/suite.h"

namespace chorale {
namespace {

using test::Made;
using test::Maker;
using test::Makes;
using test::Question;
using test::Series;
using ::testing::IsEmpty;

// Slow and obvious: is there a path for each wanted thing? Links are walked until nothing changes.
bool is_possible(const Topology& t, const Collective& c) {
  const auto reached = [&](const RankSet& from) {
    std::vector<bool> in(t.ranks, false);
    for (Rank n : from) in[n] = true;
    for (int again = 0; again < t.ranks; ++again)
      for (const Link& link : t.links)
        if (in[link.src]) in[link.dst] = true;
    return in;
  };
  for (const ChunkSpec& spec : c.chunks)
    for (Rank d : spec.post) {
      if (!c.combining && !reached(spec.pre)[d]) return false;
      for (Rank p : spec.pre)
        if (c.combining && !reached({p})[d]) return false;
    }
  return true;
}

bool something_to_move(const Collective& c) {
  return std::ranges::any_of(c.chunks, [&](const ChunkSpec& spec) {
    return c.combining ? std::ranges::any_of(spec.post, [&](Rank d) { return spec.pre != RankSet{d}; })
                       : !std::ranges::includes(spec.pre, spec.post);
  });
}

struct Case {
  const Maker& row;
  const Question& q;
  const Makes& makes;
  Rate bound = {};  // no schedule has fewer rounds per so many chunks; 0: nothing has to move, or can
};

template <typename Do>
void for_each_made(const Case& of, const Do& act) {
  for (const Series& series : of.makes)
    for (const Made& made : series.made) act(series, made);
}

void are_verified(const Case& of) {
  for_each_made(of, [&](const Series&, const Made& made) {
    EXPECT_THAT(violations(of.q.topology, made.collective, made.schedule), IsEmpty());
  });
}

void keep_to_the_space(const Case& of) {
  for_each_made(of, [&](const Series& series, const Made& made) {
    EXPECT_LE(made.cost().rounds - made.cost().steps, series.extra);
    EXPECT_EQ(made.cost().steps > 0, something_to_move(made.collective));
  });
}

// Neither of any number of steps nor of this many.
void break_no_bound(const Case& of) {
  if (of.bound.rounds == 0) return;
  const auto& [t, c] = std::tie(of.q.topology, of.q.collective);
  const int fewest = fewest_steps(t, c).steps;
  std::map<int, int> in_steps;
  for_each_made(of, [&](const Series&, const Made& made) {
    const auto [steps, rounds, chunks] = made.cost();
    EXPECT_GE(steps, fewest);
    EXPECT_GE(rounds * of.bound.chunks, chunks * of.bound.rounds);
    if (of.row.any_chunks || t.ranks > of.row.few_steps) return;
    const auto [known, fresh] = in_steps.try_emplace(steps, 0);
    if (fresh) known->second = fewest_rounds_in(t, c, steps).rounds;
    EXPECT_GE(rounds, known->second);
  });
}

void are_undominated(const Case& of) {
  for (const Series& series : of.makes)
    for (std::size_t i = 1; series.undominated && i < series.made.size(); ++i) {
      EXPECT_LT(series.made[i - 1].cost().steps, series.made[i].cost().steps);
      EXPECT_GT(series.made[i - 1].cost().rounds, series.made[i].cost().rounds);
    }
}

void exist_where_possible(const Case& of) {
  if (!of.row.wherever_possible) return;
  for (const Series& series : of.makes)
    EXPECT_EQ(series.made.empty(), !is_possible(of.q.topology, of.q.collective)) << "k " << series.extra;
}

// More work, rounds or chunks never give less, but for a trifle where chunks are chosen.
void grow_with_the_question(const Case& of) {
  const double trifle = of.row.any_chunks ? 1.0021 : 1;
  for (const Series& series : of.makes) {
    if (series.within < 0) continue;
    const std::vector<Made>& more = of.makes[series.within].made;
    ASSERT_TRUE(!series.begins || series.made.size() <= more.size());
    for (std::size_t i = 0; i < series.made.size(); ++i) {
      const auto [steps, rounds, chunks] = series.made[i].cost();
      if (series.begins) {
        EXPECT_EQ(series.made[i], more[i]);
      }
      EXPECT_TRUE(std::ranges::any_of(more,
                                      [&](const Made& other) {
                                        const Cost cost = other.cost();
                                        return cost.steps <= steps &&
                                               1.0 * cost.rounds * chunks <= trifle * rounds * cost.chunks;
                                      }))
          << steps << " steps, " << rounds << " rounds, " << chunks << " chunks";
    }
  }
}

// The same question has the same answer.
void are_repeated(const Case& of) {
  if (of.q.seed % 4 == 0) {
    EXPECT_EQ(of.row.make(of.q), of.makes);
  }
}

RankSet renumbered(const RankSet& set, const std::vector<int>& ranks) {
  std::vector<Rank> all;
  for (const Rank n : set) all.push_back(ranks[n]);
  std::ranges::sort(all);
  return all;
}

// Ranks and links by other numbers: the same schedules, and as many steps at least.
void are_renumbered(const Case& of) {
  if (of.makes.empty() || of.q.seed % 4 != 1) return;
  std::mt19937 random(of.q.seed);
  Renumbering by = no_renumbering(of.q.topology);
  std::ranges::shuffle(by.ranks, random);
  std::ranges::shuffle(by.links, random);
  const Topology there = renumbered(of.q.topology, by);
  const auto moved = [&](Collective c) {
    for (ChunkSpec& chunk : c.chunks) {
      chunk.pre = renumbered(chunk.pre, by.ranks);
      chunk.post = renumbered(chunk.post, by.ranks);
    }
    if (c.order.kind == SumOrder::Kind::Fixed) c.order.tree = renumbered(c.order.tree, by.ranks);
    return c;
  };
  for (const Made& made : of.makes.front().made) {
    Schedule schedule = made.schedule;
    for (Step& step : schedule.steps)
      for (Send& send : step.sends) send.link = by.links[send.link];
    EXPECT_THAT(violations(there, moved(made.collective), schedule), IsEmpty());
  }
  if (of.bound.rounds == 0) return;
  EXPECT_EQ(fewest_steps(there, moved(of.q.collective)).steps,
            fewest_steps(of.q.topology, of.q.collective).steps);
}

// Backwards in time on the reversed machine a sum with one destination is a copy, which costs no more.
// What sums send in vain comes there to who has it, and can be left out.
void are_reversed(const Case& of) {
  const Topology back = reversed(of.q.topology);
  for_each_made(of, [&](const Series&, const Made& made) {
    if (!has_copying_dual(made.collective)) return;
    const Collective copies = dual(made.collective);
    Schedule schedule = reversed(made.schedule, false);
    std::set<std::pair<Chunk, Rank>> held;
    for (Chunk c = 0; c < std::ssize(copies.chunks); ++c)
      for (const Rank n : copies.chunks[c].pre) held.insert({c, n});
    for (Step& step : schedule.steps)
      std::erase_if(step.sends, [&](const Send& send) {
        return !held.insert({send.chunk, back.links[send.link].dst}).second;
      });
    EXPECT_THAT(violations(back, copies, schedule), IsEmpty());
  });
}

// To programs of each form that says how operations wait; the recipe verifies what it makes.
void are_lowered(const Case& of) {
  if (of.makes.empty() || of.q.seed % 4 != 2) return;
  for (const Made& made : of.makes.front().made) {
    if (total_sends(made.schedule) > 500) continue;
    const Verification<Schedule> verified = verify(of.q.topology, made.collective, made.schedule);
    ASSERT_TRUE(verified.accepted);
    const auto lowers = [](const auto& lowered) {
      EXPECT_TRUE(lowered.accepted) << (lowered.fault ? lowered.fault->words : "");
    };
    lowers(try_lower<Program>(*verified.accepted));
    lowers(try_lower<BlockProgram>(*verified.accepted));
    lowers(try_lower<PeerProgram>(*verified.accepted));
  }
}

const struct {
  const char* name;
  void (*hold)(const Case&);
} kProperties[] = {
    {"are verified", are_verified},
    {"keep to the space", keep_to_the_space},
    {"break no bound", break_no_bound},
    {"are undominated", are_undominated},
    {"exist where possible", exist_where_possible},
    {"grow with the question", grow_with_the_question},
    {"are repeated", are_repeated},
    {"are renumbered", are_renumbered},
    {"are reversed", are_reversed},
    {"are lowered", are_lowered},
};

// ---- One by the other.

class Schedules : public ::testing::TestWithParam<Maker> {};

bool meets(const Maker& row, const Made& made, const Rate& bound) {
  const double rounds = made.cost().rounds,
               least = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
  return rounds <= row.near * least * made.cost().chunks || (!row.any_chunks && rounds <= made.cost().steps);
}

// Of about 50 cases of those that are quick to make, and of all others: bounds of few steps are slow.
Rate bound_of(const Maker& row, const Question& q) {
  if (row.wherever_possible && (q.seed % (1 + row.cases / 51) != 0 || !is_possible(q.topology, q.collective)))
    return {};
  const Claim claim = fewest_rounds(q.topology, q.collective);
  if (!row.any_chunks) return {.rounds = claim.rounds, .chunks = q.collective.chunks_per_block};
  return claim.rounds == 0 ? Rate{} : rate_shown(q.topology, q.collective, claim.certificate);
}

TEST_P(Schedules, KeepTheirPromises) {
  const Maker& row = GetParam();
  int asked = 0, made = 0, met = 0, points = 0;
  test::each_case(row.maker, row.cases, [&](std::mt19937& random, unsigned seed) {
    Question q = row.ask(random, row, seed);
    q.seed = seed;
    const Rate bound = bound_of(row, q);
    if (bound.rounds == 0 && !row.wherever_possible) return;  // nothing has to move
    const Makes makes = row.make(q);
    for (const auto& [name, hold] : kProperties) {
      SCOPED_TRACE(name);
      hold({row, q, makes, bound});
    }
    ++asked;
    if (makes.empty()) return;
    const std::vector<Made>& all = makes.front().made;
    made += !all.empty();
    met += std::ranges::any_of(all, [&](const Made& one) { return meets(row, one, bound); });
    points += static_cast<int>(all.size());
  });
  if (!test::counts()) return;
  EXPECT_GE(made * 100, asked * row.made) << made << " of " << asked;
  EXPECT_LE(made * 100, asked * row.most_made) << made << " of " << asked;
  EXPECT_GE(met * 100, made * row.met) << met << " of " << made;
  EXPECT_GE(points * 100, asked * row.points) << points << " of " << asked;
}

INSTANTIATE_TEST_SUITE_P(Property, Schedules, ::testing::ValuesIn(test::makers()), test::test_name<Maker>);

}  // namespace
}  // namespace chorale
