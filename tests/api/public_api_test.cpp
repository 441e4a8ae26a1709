// The door does what it states, verified by rooms behind it and by slow obvious code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "cost/program_time.h"
#include "ir/block_program.h"
#include "jobs/chorale.h"
#include "semantics/verify_blocks.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

Result small(const std::string& spec, const std::string& collective, int chunks = 2) {
  const Topology there = machine(spec);
  return frontier(there, chorale::collective(collective, there), {.max_chunks = chunks});
}

// What is asked of a switch with four ranks is asked of the routes through it.
TEST(Door, SwitchesAreRemovedAtThePublicApi) {
  Topology with_switch{.name = "star", .ranks = 4, .switches = 1};
  for (Rank n = 0; n < 4; ++n) {
    with_switch.links.push_back({.src = n, .dst = 4});
    with_switch.links.push_back({.src = 4, .dst = n});
  }
  const Topology without = flatten(with_switch);
  ASSERT_EQ(without.links.size(), 12u);
  const Collective asked = collective("broadcast", without);
  Result one = frontier(with_switch, asked, {.max_chunks = 1}),
         other = frontier(without, asked, {.max_chunks = 1});
  one.seconds = other.seconds = 0;
  for (Result* each : {&one, &other}) {
    for (Point& point : each->points) point.seconds = 0;
    for (Claim& claim : each->claims) claim.seconds = 0;
  }
  EXPECT_EQ(one, other);
  EXPECT_TRUE(one.complete);
}

// A collective may be asked of a machine as it is described. (It ended the program: switches are no ranks.)
TEST(Door, CollectivesAreOfMachinesWithSwitchesToo) {
  Topology star{.name = "star", .ranks = 3, .switches = 1};
  for (Rank n = 0; n < 3; ++n) star.links.push_back({.src = n, .dst = 3});
  star.links.push_back({.src = 3, .dst = 0});
  EXPECT_EQ(collective("gather", star, {.root = 0}).ranks, 3);
  EXPECT_THROW(collective("broadcast", star, {.root = 0}),
               InputError);  // nothing comes out to ranks 1 and 2
}

// Three ranks give 5, 5 and 5 elements, and each has their sums: 1 + 10 + 100 times the index.
TEST(Door, PointsRunOnDataOfTheCallers) {
  const Result result = small("ring:3", "allreduce");
  RankData data(3);
  for (std::int32_t n = 0, factor = 1; n < 3; ++n, factor *= 10) {
    std::vector<std::int32_t> values(5);
    for (std::int32_t i = 0; i < 5; ++i) values[i] = i * factor;
    const auto bytes = std::as_bytes(std::span(values));
    data[n].assign(bytes.begin(), bytes.end());
  }
  for (const Point& point : result.points)
    for (const std::vector<std::byte>& sums :
         run_on(result.topology, point, ElementType::Int32, ReduceOp::Sum, data)) {
      ASSERT_EQ(sums.size(), 20u);
      for (std::int32_t i = 0, value = 0; i < 5; ++i) {
        std::memcpy(&value, sums.data() + 4 * i, 4);
        EXPECT_EQ(value, 111 * i);
      }
    }
  const auto run_them = [&] {
    return run_on(result.topology, result.points[0], ElementType::Int32, ReduceOp::Sum, data);
  };
  data[1].pop_back();
  EXPECT_THAT(run_them, ThrowsMessage<InputError>(HasSubstr("the input of rank 1: 19 bytes of int32")));
  data[1].resize(16);
  EXPECT_THAT(run_them, ThrowsMessage<InputError>(HasSubstr("has blocks of 4 elements, others of 5")));
  data.pop_back();
  EXPECT_THAT(run_them, ThrowsMessage<InputError>(HasSubstr("are of 2 ranks; the machine has 3")));
}

// What rooms behind the door assert is what a caller may get wrong.
TEST(Door, QuestionsThatDoNotFitAreRefused) {
  const Topology ring = machine("ring:4");
  EXPECT_THAT([&] { frontier(ring, make_collective("allgather", 5, 1)); },
              ThrowsMessage<InputError>(HasSubstr("allgather: is of 5 ranks; the machine has 4")));
  EXPECT_THAT([&] { synthesize(ring, make_collective("allgather", 4, 2), SynthesisQuestion{}); },
              ThrowsMessage<InputError>(HasSubstr("cuts a block into 2 chunks")));
  EXPECT_THAT([&] { frontier(ring, make_collective("allgather", 4, 1), {.min_chunks = 3, .max_chunks = 2}); },
              ThrowsMessage<InputError>(HasSubstr("no chunk count from 3 to 2")));
  EXPECT_THAT([&] { collective("allgather", ring, {.root = 1}); },
              ThrowsMessage<InputError>(HasSubstr("has no root")));
  EXPECT_THAT([&] { classic(ring, {.name = "ring_allreduce", .root = 1}); },
              ThrowsMessage<InputError>(HasSubstr("has no root")));
}

// Of a ring of four, in both directions: an Allgather takes 2 steps (the farthest block is two hops away) and
// 3/2 rounds per chunk (three blocks arrive over two links).
TEST(Door, BoundsAreToldAsTheyAreKnown) {
  const Topology ring = machine("ring:4");
  std::vector<Bounds> told;
  const Bounds known = bounds(ring, collective("allgather", ring),
                              {.chunks = 2, .progress = [&](const Bounds& each) { told.push_back(each); }});
  EXPECT_EQ(known.steps, 2);
  EXPECT_EQ(known.rate.rounds * 2, known.rate.chunks * 3);
  EXPECT_EQ(known.rounds.rounds, 3);
  EXPECT_EQ(known.within, 2);
  EXPECT_GE(known.rounds_within.rounds, 3);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].steps, 2);
  EXPECT_EQ(told[0].rate.rounds, 0);
  EXPECT_EQ(told[1].rate, known.rate);
}

TEST(Door, BaselinesComeWithBoundsAndAreSound) {
  for (const ClassicEntry& entry : known_classics()) {
    Result result;
    try {
      result = classic(machine("full:4"), {.name = name_of(entry.method)});
    } catch (const InputError&) {
      continue;  // not for four ranks
    }
    EXPECT_THAT(check(result).faults, IsEmpty()) << name_of(entry.method);
    EXPECT_EQ(result.kind, ResultKind::Algorithm);
    EXPECT_FALSE(result.claims.empty()) << name_of(entry.method);
  }
}

// Of all points of all results that are for the call, the least time; ties go to the first.
TEST(Select, TakesTheFastestOfThoseForTheCall) {
  const std::vector<Result> results = {
      small("ring:4", "allgather"), small("line:4", "allgather"),
      small("ring:5", "allgather"), small("ring:4", "allreduce"),
      small("full:4", "broadcast"), classic(machine("full:4"), {.name = "ring_allgather"})};
  std::mt19937 random(7);
  int found = 0;
  for (int i = 0; i < 500; ++i) {
    const CollectiveCall call = {
        .collective = std::vector{CollectiveKind::Allgather, CollectiveKind::AllReduce,
                                  CollectiveKind::Broadcast, CollectiveKind::Gather}[random() % 4],
        .ranks = 4 + static_cast<int>(random() % 2),
        .root = static_cast<Rank>(random() % 2),
        .block_bytes = std::exp2(std::uniform_real_distribution(0.0, 34.0)(random))};
    const bool first_only = random() % 3 == 0;
    std::optional<Choice> expected;
    for (int r = 0; r < 6; ++r)
      for (int p = 0; p < static_cast<int>(results[r].points.size()); ++p) {
        const Result& result = results[r];
        const double us = time_us(result.points[p].cost, result.topology, call.block_bytes);
        if (result.collective.kind != call.collective || result.collective.ranks != call.ranks ||
            !result.points[p].on_frontier ||
            (call.collective == CollectiveKind::Broadcast && call.root != 0) || (first_only && p > 0))
          continue;
        if (!expected || us < expected->us) expected = {.result = r, .point = p, .us = us};
      }
    std::function<bool(const Choice&)> usable;
    if (first_only) usable = [](const Choice& choice) { return choice.point == 0; };
    EXPECT_EQ(select(results, call, usable), expected) << name_of(call.collective) << " " << call.block_bytes;
    found += expected.has_value();
  }
  EXPECT_GT(found, 200);
  EXPECT_LT(found, 500);
}

// A slow link that one of two points goes round: by the worst link, the one with fewer rounds would be taken.
TEST(Select, PricesEachLinkByItsOwnNumbers) {
  Result result = small("dgx1", "allgather", 6);  // two points are on its frontier
  std::mt19937 random(5);
  std::uniform_real_distribution<double> factor(0.1, 10);
  int other_than_the_formula = 0;
  for (int i = 0; i < 50; ++i) {
    for (Link& link : result.topology.links) {
      link.alpha_us = factor(random);
      link.beta_us_per_byte = 4e-5 * factor(random);
    }
    for (const double bytes : {100.0, 1e5, 1e8}) {
      std::size_t best = result.points.size(), by_formula = best;
      double least = 0, least_by_formula = 0;
      for (std::size_t p = 0; p < result.points.size(); ++p) {
        const double us =
            schedule_time(result.points[p].schedule, result.topology, result.points[p].cost.chunks, bytes).us;
        if (best == result.points.size() || us < least) best = p, least = us;
        if (!result.points[p].on_frontier) continue;  // the formula knows nothing of others
        const double formula = time_us(result.points[p].cost, result.topology, bytes);
        if (by_formula == result.points.size() || formula < least_by_formula)
          by_formula = p, least_by_formula = formula;
      }
      const auto chosen = select({&result, 1}, call_of(result.collective, bytes));
      ASSERT_TRUE(chosen);
      EXPECT_EQ(chosen->point, static_cast<int>(best));
      EXPECT_EQ(chosen->us, least);
      other_than_the_formula += best != by_formula;
    }
  }
  EXPECT_GT(other_than_the_formula, 0);
}

// The fastest of all points, and never faster than the bound.
TEST(BestBySize, IsTheFastestAndNoFasterThanTheBound) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> factor(0.2, 5);
  for (const char* name : {"allgather", "allreduce", "broadcast", "alltoall"}) {
    Result result = small("line:4", name);
    for (int i = 0; i < 20; ++i) {
      if (i > 0)
        for (Link& link : result.topology.links) {
          link.alpha_us = factor(random);
          link.beta_us_per_byte = 4e-5 * factor(random);
        }
      const std::vector<SizeRow> rows = best_by_size(result, {1, 1000, 1 << 20, 1 << 30});
      ASSERT_EQ(rows.size(), 4u);
      for (const SizeRow& row : rows) {
        for (const Point& point : result.points)
          EXPECT_LE(row.us,
                    point_us(result.topology, point, static_cast<double>(row.block_bytes)) * (1 + 1e-12));
        EXPECT_GE(row.us, row.least_us * (1 - 1e-9)) << name << " " << row.block_bytes;
        EXPECT_GT(row.least_us, 0);
        if (row.message_bytes == 1 << 30) {
          EXPECT_LT(row.us, 40 * row.least_us) << name;  // links differ by 25
        }
      }
    }
  }
  Result nothing = small("line:4", "allgather");
  nothing.points.clear();
  EXPECT_THAT(best_by_size(nothing, {1}), IsEmpty());
  EXPECT_THAT(usual_sizes(), SizeIs(11));
  EXPECT_EQ(usual_sizes().front(), 1 << 10);
  EXPECT_EQ(usual_sizes().back(), 1 << 30);
}

// What a command that was stopped states of a machine whose links differ takes no longer than it may: a short
// schedule is timed as ever, one with 65,280 sends (256 ranks, each to 255 others) is not, and nothing else
// is lost.
TEST(BestSizes, OfLongSchedulesAreNotLookedForOnceStopped) {
  const std::atomic<bool> stop = true;
  Result small = classic(machine("ring:4"), {.name = "ring_allgather"});
  small.topology.links.front().alpha_us *= 2;
  EXPECT_FALSE(point_us(small.topology, small.points.front(), 1e3, &stop));
  EXPECT_EQ(point_us(small.topology, small.points.front(), 1e3, nullptr),
            point_us(small.topology, small.points.front(), 1e3));
  EXPECT_TRUE(best_sizes(small, {}, &stop).timed);
  EXPECT_EQ(best_sizes(small, {}, &stop).words, best_sizes_in_words(small));
  EXPECT_THAT(best_by_size(small, {1, 1000}, {}, &stop), SizeIs(2));
  Result large = classic(machine("full:256"), {.name = "direct_allgather"});
  large.topology.links.front().alpha_us *= 2;
  EXPECT_THAT(best_by_size(large, {1, 1000}, {}, &stop), IsEmpty());
  const BestSizes sizes = best_sizes(large, {}, &stop);
  EXPECT_FALSE(sizes.timed);
  EXPECT_THAT(sizes.words, testing::ElementsAre("not timed"));
  EXPECT_THAT(to_page(large, sizes), HasSubstr("</html>"));
}

// Constructions look at no clock, but at a flag that is set at the limit. It is no interruption, and nobody
// is told that it was one. torus:8x8 in 1 to 512 chunks takes minutes.
TEST(Frontier, ATimeLimitWithoutASupervisorEndsConstructionsAndIsSaid) {
  const Topology there = machine("torus:8x8");
  const Result result = frontier(there, collective("allgather", there),
                                 {.max_chunks = 512, .time_limit = std::chrono::milliseconds(1)});
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.stopped, Stopped::TimeLimit);
  EXPECT_THAT(check(result).faults, IsEmpty());
}

// What is told of a baseline before its bounds are there is the same without them, and sound.
TEST(Classic, IsToldBeforeItsBounds) {
  int told = 0;
  const Result result =
      classic(machine("dgx1"), {.name = "ring_allreduce", .found = [&](const Result& found) {
                                  ++told;
                                  EXPECT_THAT(found.claims, IsEmpty());
                                  EXPECT_FALSE(found.complete);
                                  EXPECT_THAT(check(found).faults, IsEmpty());
                                }});
  EXPECT_EQ(told, 1);
  EXPECT_THAT(result.claims, Not(IsEmpty()));
}

TEST(Compile, EveryTargetGivesFilesUnderTheNameThatIsAskedFor) {
  const Result ring = classic(machine("ring:4"), {.name = "ring_allreduce"});
  const Point& point = ring.points.front();
  for (const auto& [target, name, ending, description, form] : known_targets()) {
    const Compiled compiled = compile(ring.topology, point, target);
    EXPECT_EQ(compiled.path, "ring_4_allreduce" + ending);
    ASSERT_FALSE(compiled.files.empty());
    for (const NamedText& file : compiled.files) {
      EXPECT_EQ(file.path.find(compiled.path), 0u);
      EXPECT_THAT(file.text, Not(IsEmpty()));
    }
    EXPECT_EQ(compile(ring.topology, point, target, {.name = "mine"}).path, "mine" + ending);
  }
  // Names come from files of others, too.
  Topology named = ring.topology;
  named.name = "../../$(x)";
  EXPECT_EQ(file_stem(named, ring.collective), "_._..___x__allreduce");
}

// What is written for blocks is read back and verified. A ring completes each chunk's sum at one rank; where
// all adds up for himself, all do.
TEST(Compile, AnEpilogueSaysHowManyCompleteASum) {
  for (const auto& [name, completed_by] :
       {std::pair("ring_allreduce", 1), std::pair("recursive_doubling_allreduce", 4)}) {
    const Result result = classic(machine("full:4"), {.name = name});
    const Compiled compiled = compile(result.topology, result.points.front(), Target::Json,
                                      {.channels = 2, .epilogue = Epilogue()});
    EXPECT_EQ(compiled.completed_by, completed_by) << name;
    const BlockProgramFile file = block_program_from_json(compiled.files.front().text, "text");
    EXPECT_THAT(violations(file.collective, file.program, {.depth = file.program.queue_depth}, 1), IsEmpty());
  }
  const Result gather = small("ring:4", "allgather");
  EXPECT_THROW(compile(gather.topology, gather.points.front(), Target::Dot, {.epilogue = Epilogue()}),
               InputError);
}

TEST(Compile, TargetsAreKnownByTheirNames) {
  for (const TargetEntry& each : known_targets()) EXPECT_EQ(target_named(each.name), each.target);
  EXPECT_THROW(target_named("jsom"), InputError);
  EXPECT_EQ(names_of(TargetForm::Blocks), "json and dot");
}

// What prints code needs the function; MSCCL and MSCCL++ have no operation for it.
TEST(Compile, TargetsWithoutAPlaceForAnEpilogueRefuseIt) {
  const Result ring = classic(machine("ring:4"), {.name = "ring_allreduce"});
  const Epilogue half{.expression = parse_expression("x * 0.5", {}, "test")};
  for (const TargetEntry& each : known_targets()) {
    const bool blocks = each.form == TargetForm::Blocks;
    const bool refuses = each.form == TargetForm::Plan || each.form == TargetForm::Replayed;
    const auto with = [&](const Epilogue& epilogue) {
      return compile(ring.topology, ring.points.front(), each.target, {.epilogue = epilogue});
    };
    if (refuses)
      EXPECT_THROW(with(half), InputError) << each.name;
    else
      EXPECT_FALSE(with(half).files.empty()) << each.name;
    if (blocks)
      EXPECT_FALSE(with({}).files.empty()) << each.name;
    else
      EXPECT_THROW(with({}), InputError) << each.name;
  }
}

// A schedule of another program's that does not do what its point states is refused, not printed.
TEST(Compile, WrongSchedulesAreRefused) {
  Result ring = classic(machine("ring:4"), {.name = "ring_allreduce"});
  ring.points.front().schedule.steps.pop_back();
  for (const Target target : {Target::Mpi, Target::Cuda, Target::MscclXml, Target::Json})
    EXPECT_THROW(compile(ring.topology, ring.points.front(), target), InputError);
  EXPECT_THROW(run(ring.topology, ring.points.front()), InputError);
}

TEST(Run, EveryElementIsRightApartAndInPlace) {
  for (const char* collective : {"allreduce", "alltoall", "gather"}) {
    const Result result = small("ring:4", collective, 1);
    for (const Executor executor : {Executor::Threads, Executor::Kernel})
      for (const bool in_place : {false, true}) {
        const std::vector<RunRow> rows =
            run(result.topology, result.points.front(), {.executor = executor, .in_place = in_place},
                {.bytes = {0, 12, 4096}, .types = {ElementType::Int32}, .iterations = 1, .warm_up = 0});
        ASSERT_EQ(rows.size(), 3u);
        for (const RunRow& row : rows) EXPECT_EQ(row.wrong, 0) << collective << in_place;
      }
  }
}

TEST(Run, WhatIsMissingIsSaid) {
  const Result ring = classic(machine("ring:4"), {.name = "ring_allreduce"});
  const Point& point = ring.points.front();
  EXPECT_THAT([&] { run(ring.topology, point, {.executor = Executor::Mpi}); },
              ThrowsMessage<InputError>(HasSubstr("has not joined the others")));
  EXPECT_THAT([&] { run(ring.topology, point, {}, {.bytes = {std::int64_t{1} << 40}}); },
              ThrowsMessage<InputError>(HasSubstr("would be needed, the machine has")));
  EXPECT_THAT([&] { run(ring.topology, point, {}, {.accumulation = Accumulation::Float32}); },
              ThrowsMessage<InputError>(HasSubstr("none of the types is a half")));
}

TEST(Inputs, AResultThatIsReadIsSound) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "door_test.json";
  Result result = classic(machine("ring:4"), {.name = "ring_allgather"});
  write_file(file, to_json(result));
  EXPECT_EQ(read_sound_result(file), read_result(file));
  result.points.front().cost.rounds += 1;  // states another cost
  write_file(file, to_json(result));
  EXPECT_THROW(read_sound_result(file), InputError);
  result.points.front().cost.rounds -= 1;
  result.points.front().schedule.steps.front().sends.pop_back();  // does not give all everything
  write_file(file, to_json(result));
  EXPECT_NO_THROW(read_result(file));
  EXPECT_THROW(read_sound_result(file), InputError);
  std::filesystem::remove(file);
}

TEST(Place, ThePublicApiRanksAsTheRoomDoes) {
  const Hierarchy cluster = hierarchy("a100:4");
  const Job job = {.axes = {{"data", 4}, {"tensor", 16}},
                   .reductions = {{.name = "tensor", .axes = {1}, .bytes = 4e9}}};
  const Ranking ranking = place(cluster, job);
  ASSERT_EQ(ranking.priced, 3);  // 16 over 4 x 16 devices: 1, 2 or 4 of it outside
  EXPECT_LE(ranking.best[0].us, ranking.best[1].us);
  EXPECT_THAT(to_page(ranking), HasSubstr("<html"));
}

}  // namespace
}  // namespace chorale
