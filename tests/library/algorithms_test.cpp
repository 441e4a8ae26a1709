// What is on disk is read once, and of that the fastest that can be lowered is chosen.
#include "library/algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/group_collective.h"
#include "ir/json.h"
#include "library/answers.h"
#include "library/question.h"
#include "semantics/verify.h"
#include "tests/runtime/unverified.h"

namespace chorale {
namespace {

using ::testing::HasSubstr;

// Two ranks that exchange their blocks: whole in one step, or by halves in two; a step takes 1 us, and so
// does a round of a whole block of 1,000 bytes.
Result exchange(CollectiveKind kind = CollectiveKind::Allgather) {
  const Topology pair{.name = "pair",
                      .ranks = 2,
                      .links = {{.src = 0, .dst = 1, .alpha_us = 1, .beta_us_per_byte = 1e-3},
                                {.src = 1, .dst = 0, .alpha_us = 1, .beta_us_per_byte = 1e-3}}};
  Result result{.topology = pair, .collective = make_collective(kind, 2, 1)};
  for (int chunks : {1, 2}) {
    Point point{.cost = {.steps = chunks, .rounds = chunks, .chunks = chunks},
                .collective = make_collective(kind, 2, chunks),
                .on_frontier = true};
    // Of an Alltoall ranks keep the first block and the last.
    const int first = kind == CollectiveKind::Alltoall ? chunks : 0;
    for (Chunk c = 0; c < chunks; ++c)
      point.schedule.steps.push_back(
          {.rounds = 1,
           .sends = {{.chunk = first + c, .link = 0}, {.chunk = first + chunks + c, .link = 1}}});
    result.points.push_back(point);
  }
  return result;
}

class Library : public ::testing::Test {
 protected:
  Library() { std::filesystem::create_directories(directory_); }
  ~Library() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) {
    write_file(directory_ + "/" + name, text);
    return directory_ + "/" + name;
  }

  const std::string directory_ = ::testing::TempDir() + "chorale_library_" +
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

// In the place of the recipe, which libraries do not have.
Verification<Program> named(const Verified<Schedule>& schedule, bool /*serialize_ports*/) {
  const Collective& collective = schedule.collective();
  return {.accepted = unverified(
              Program{.collective = collective.kind, .steps = static_cast<int>(schedule->steps.size())},
              collective)};
}

constexpr CollectiveCall kAsked{.collective = CollectiveKind::Allgather, .ranks = 2, .block_bytes = 1000};

TEST_F(Library, ChoosesTheFastestAndLowersItOnce) {
  Algorithms library(write("a.json", to_json(exchange())));
  EXPECT_EQ(library.size(), 2);
  EXPECT_EQ(library.complaints(), std::vector<std::string>{});
  int lowered = 0;
  const auto counted = [&](const Verified<Schedule>& s, bool serialize_ports) {
    ++lowered;
    return named(s, serialize_ports);
  };
  std::string why;
  for (int i = 0; i < 2; ++i) {
    const LoadedAlgorithm* const chosen = library.choose(kAsked, {}, counted, why);
    ASSERT_NE(chosen, nullptr) << why;
    EXPECT_EQ(chosen->number, 0);
    EXPECT_EQ(chosen->program->steps, 1);  // 2 us against 3
  }
  EXPECT_EQ(lowered, 1);
}

// A latency of 1 us, 1,000 bytes a us: from 100,000 bytes per chunk on, what shares a port is serialized;
// lowered once for each.
TEST_F(Library, LongMessagesAreSerialized) {
  Algorithms library(write("a.json", to_json(exchange())));
  std::vector<bool> asked;
  const auto noted = [&](const Verified<Schedule>& s, bool serialize_ports) {
    asked.push_back(serialize_ports);
    return named(s, serialize_ports);
  };
  std::string why;
  CollectiveCall call = kAsked;
  for (const std::int64_t bytes : {1000, 2000, 99'000, 101'000, 200'000, 1000}) {
    call.block_bytes = bytes;
    ASSERT_NE(library.choose(call, {}, noted, why), nullptr) << why;
  }
  EXPECT_EQ(asked, std::vector({false, true}));
}

TEST_F(Library, TakesTheNextWhereTheFastestCannotBeLowered) {
  Algorithms library(write("a.json", to_json(exchange())));
  int refused = 0;
  const auto refusing = [&](const Verified<Schedule>& s, bool serialize_ports) -> Verification<Program> {
    if (s->steps.size() == 1) {
      ++refused;
      return {.fault = Fault{.words = "cannot be lowered"}};
    }
    return named(s, serialize_ports);
  };
  std::string why;
  for (int i = 0; i < 2; ++i) {
    const LoadedAlgorithm* const chosen = library.choose(kAsked, {}, refusing, why);
    ASSERT_NE(chosen, nullptr) << why;
    EXPECT_EQ(chosen->number, 1);
    EXPECT_EQ(chosen->program->steps, 2);
    EXPECT_THAT(why, HasSubstr("cannot be lowered"));
  }
  EXPECT_EQ(refused, 1);
  const auto never = [](const Verified<Schedule>&, bool) -> Verification<Program> {
    return {.fault = Fault{.words = "cannot be lowered"}};
  };
  Algorithms other(directory_);
  EXPECT_TRUE(other.has(kAsked, why));  // as all ranks report that loaded the same
  EXPECT_EQ(other.choose(kAsked, {}, never, why), nullptr);
  EXPECT_THAT(why, HasSubstr("cannot be lowered"));
}

// Rank 0 has one block, rank 1 two: of the same collective with other counts, of the equal one, and where
// ranks sit in another order than they are numbered, nothing is known.
TEST_F(Library, CountsAreTakenAsTheyAre) {
  Result result = exchange();
  result.collective =
      make_collective({.kind = CollectiveKind::Allgather, .groups = {{0, 1}}, .counts = {{1, 2}}}, 2);
  result.points.resize(1);
  Point& point = result.points.front();
  point.collective = result.collective;
  point.cost.rounds = 2;
  point.schedule.steps = {
      {.rounds = 2, .sends = {{.chunk = 0, .link = 0}, {.chunk = 1, .link = 1}, {.chunk = 2, .link = 1}}}};
  Algorithms library(write("a.json", to_json(result)));
  ASSERT_EQ(library.size(), 1) << library.complaints().front();
  CollectiveCall call{.custom_name = "allgatherv", .ranks = 2, .block_bytes = 1000, .counts = {1, 2}};
  std::string why;
  EXPECT_TRUE(library.has(call, why));
  EXPECT_NE(library.choose(call, {}, named, why), nullptr) << why;
  EXPECT_FALSE(library.has(kAsked, why));
  call.counts = {2, 1};
  EXPECT_FALSE(library.has(call, why));
  EXPECT_EQ(why, "no allgatherv of these counts for 2 ranks");
  // What is called so, and what has an algorithm for equal blocks, is not it either.
  Algorithms equal(write("b.json", to_json(exchange())));
  call.counts = {1, 2};
  EXPECT_FALSE(equal.has(call, why));
}

TEST_F(Library, SaysWhatItHasNot) {
  Algorithms library(write("a.json", to_json(exchange())));
  std::string why;
  EXPECT_FALSE(library.has({.collective = CollectiveKind::Allgather, .ranks = 3}, why));
  EXPECT_EQ(why, "no allgather for 3 ranks");
  EXPECT_EQ(library.choose({.collective = CollectiveKind::Alltoall, .ranks = 2}, {}, named, why), nullptr);
  EXPECT_EQ(why, "no alltoall for 2 ranks");
}

TEST_F(Library, AFileThatCannotBeReadIsSaidAndOthersStay) {
  write("a.json", to_json(exchange()));
  write("b.json", "nothing");
  const Algorithms library(directory_);
  EXPECT_EQ(library.size(), 2);
  ASSERT_EQ(library.complaints().size(), 1U);
  EXPECT_THAT(library.complaints()[0], HasSubstr("b.json"));
}

// Ranks tell each other numbers and fingerprints: the same files, the same ones.
TEST_F(Library, WhatIsAddedComesAfterwards) {
  const std::string gather = write("a.json", to_json(exchange())),
                    twice = write("b.json", to_json(exchange(CollectiveKind::Alltoall)));
  Algorithms library(gather);
  EXPECT_EQ(library.fingerprint(), Algorithms(gather).fingerprint());
  EXPECT_NE(library.fingerprint(), Algorithms(twice).fingerprint());
  library.add(Algorithms(twice));
  EXPECT_EQ(library.size(), 4);
  std::string why;
  const LoadedAlgorithm* const chosen =
      library.choose({.collective = CollectiveKind::Alltoall, .ranks = 2}, {}, named, why);
  ASSERT_NE(chosen, nullptr) << why;
  EXPECT_EQ(chosen->number, 2);
}

// A schedule that loses a chunk, and one that costs more than it states, are passed over: the lowering here
// believes all.
TEST_F(Library, IsNotBelieved) {
  Result wrong = exchange();
  wrong.points[0].schedule.steps[0].sends.pop_back();
  std::string why;
  Algorithms library(write("a.json", to_json(wrong)));
  const LoadedAlgorithm* const chosen = library.choose(kAsked, {}, named, why);
  ASSERT_NE(chosen, nullptr) << why;
  EXPECT_EQ(chosen->number, 1);
  EXPECT_THAT(why, HasSubstr("at the end: rank 0 does not have chunk 1"));
  wrong.points[1].cost.rounds = 1;
  Algorithms none(write("b.json", to_json(wrong)));
  EXPECT_EQ(none.choose(kAsked, {}, named, why), nullptr);
}

// A line of three: 0 to 1 to 2, and back; a Broadcast in two steps.
Result along_a_line(Rank root) {
  Topology line{.name = "line", .ranks = 3};
  for (const auto& [src, dst] : {std::pair(0, 1), {1, 0}, {1, 2}, {2, 1}})
    line.links.push_back({.src = src, .dst = dst});
  Result result{.topology = line, .collective = make_collective(CollectiveKind::Broadcast, 3, 1, root)};
  const std::vector<LinkId> links = root == 0 ? std::vector{0, 2} : std::vector{3, 1};
  Point point{.cost = {.steps = 2, .rounds = 2}, .collective = result.collective, .on_frontier = true};
  for (const LinkId l : links)
    point.schedule.steps.push_back({.rounds = 1, .sends = {{.chunk = 0, .link = l}}});
  result.points.push_back(point);
  return result;
}

// What is to be lowered has been verified, its ranks called otherwise or not.
Verification<Program> as_verified(const Verified<Schedule>& schedule, bool /*serialize_ports*/) {
  const Collective& collective = schedule.collective();
  EXPECT_TRUE(violations(schedule.topology(), collective, *schedule).empty());
  return {.accepted = unverified(
              Program{.collective = collective.kind,
                      .steps = static_cast<int>(schedule->steps.size()),
                      .ranks = std::vector<RankProgram>(collective.root + 1)},  // to be seen outside
              collective)};
}

TEST_F(Library, AnotherRootIsServedWhereASymmetryCarriesTheOneThatIsThere) {
  Algorithms library(write("a.json", to_json(along_a_line(0))));
  CollectiveCall call{.collective = CollectiveKind::Broadcast, .ranks = 3, .root = 2, .block_bytes = 100};
  std::string why;
  const LoadedAlgorithm* const chosen = library.choose(call, {}, as_verified, why);
  ASSERT_NE(chosen, nullptr) << why;
  EXPECT_EQ(chosen->number, 0);
  EXPECT_EQ(chosen->program->ranks.size(), 3u);  // the root is 2
  call.root = 1;
  EXPECT_TRUE(library.has(call, why));
  EXPECT_EQ(library.choose(call, {}, as_verified, why), nullptr);
  EXPECT_EQ(why, "no broadcast for 3 ranks with root 1");
  call.root = 3;  // of a wrong call
  EXPECT_EQ(library.choose(call, {}, as_verified, why), nullptr);
}

// Gathered and added up by hand: two ranks send each other all they have.
Result sum_of_two(const SumOrder& order) {
  Result result = exchange(CollectiveKind::Allgather);
  result.collective = make_collective(CollectiveKind::AllReduce, 2, 1);
  result.collective.order = order;
  result.points.resize(1);
  Point& point = result.points.front();
  point.collective = result.collective;
  point.schedule = {
      {{.rounds = 1,
        .sends = {{.chunk = 0, .link = 0, .reduce = true}, {.chunk = 0, .link = 1, .reduce = true}}}}};
  return result;
}

TEST_F(Library, SumsWhoseRanksMayDifferAreLeftOutAndWithAFixedOrderAllOthersToo) {
  const std::string agreed = write("a.json", to_json(sum_of_two({})));
  const std::string free = write("b.json", to_json(sum_of_two({.kind = SumOrder::Kind::Free})));
  const std::string fixed = write("c.json", to_json(sum_of_two(parse_sum_order("(0 1)", 2, ""))));
  EXPECT_EQ(Algorithms(agreed).size(), 1);
  EXPECT_EQ(Algorithms(free).size(), 0);
  EXPECT_THAT(Algorithms(free).complaints(),
              ::testing::ElementsAre(HasSubstr("its ranks may end with different bits")));
  EXPECT_EQ(Algorithms(directory_).size(), 2);
  EXPECT_EQ(Algorithms(directory_, "mpi", "fixed").size(), 1);
  EXPECT_EQ(Algorithms(fixed, "mpi", "fixed").size(), 1);
  // Ranks of which one has the variable and another has not must see that they differ.
  EXPECT_NE(Algorithms(fixed, "mpi", "fixed").fingerprint(), Algorithms(fixed).fingerprint());
  EXPECT_EQ(Algorithms(fixed, "mpi", "agreed").fingerprint(), Algorithms(fixed).fingerprint());
  EXPECT_EQ(Algorithms(fixed, "mpi", "Fixed").size(), 0);
  EXPECT_THAT(Algorithms(fixed, "mpi", "Fixed").complaints(),
              ::testing::ElementsAre(HasSubstr("use fixed or agreed")));
}

// Its buffers are those of an AllReduce, so it serves the call.
TEST_F(Library, VectorsThatAreGatheredAndAddedUpServeAnAllReduce) {
  Result gathered = exchange(CollectiveKind::Allgather);
  gathered.collective = make_collective(CollectiveKind::AllReduce, 2, 1);
  gathered.points.resize(1);
  gathered.points[0].method = Method::Gathered;
  gathered.points[0].collective = make_collective(CollectiveKind::AllReduceByGather, 2, 1);
  Algorithms library(write("a.json", to_json(gathered)));
  std::string why;
  const CollectiveCall call{.collective = CollectiveKind::AllReduce, .ranks = 2, .block_bytes = 100};
  EXPECT_NE(library.choose(call, {}, as_verified, why), nullptr) << why;
}

class LibraryFile : public Library {
 protected:
  // Of searches that had other seeds, so that there is a question for each.
  void put(Result result, const std::vector<int>& hosts, const std::vector<MeasuredTime>& times = {}) {
    const auto file = open_answers(path_, true);
    const Renumbering same = no_renumbering(result.topology);
    result.topology = without_names(result.topology);
    const std::string question = question_text(subject_of(result.topology, result.collective, same),
                                               {.min_chunks = result.space.min_chunks,
                                                .max_chunks = result.space.max_chunks,
                                                .synthesis = {.seed = ++questions_}});
    file->put({.question = question, .answer = to_json(result), .numbering = to_json(same)});
    file->put_place(question, {.machine = "here",
                               .group = "all",
                               .collective = name_of(result.collective),
                               .ranks = result.collective.ranks,
                               .hosts = hosts});
    for (const MeasuredTime& time : times) file->put_measured(question, time);
  }
  const std::string path_ = directory_ + "/library.db";
  int questions_ = 0;
};

TEST_F(LibraryFile, IsChosenFromByWhereRanksSit) {
  Result node = exchange(), rail = exchange();
  rail.points.erase(rail.points.begin());  // to be distinguished: two steps
  put(node, {0, 0});
  put(rail, {0, 1});
  Algorithms library(path_);
  EXPECT_THAT(library.complaints(), ::testing::IsEmpty());
  EXPECT_EQ(library.size(), 3);
  std::string why;
  const auto steps = [&](const std::vector<RankLocation>& group) {
    const LoadedAlgorithm* const chosen = library.choose(kAsked, group, as_verified, why);
    return chosen == nullptr ? 0 : chosen->program->steps;
  };
  EXPECT_EQ(steps({{.host = 4}, {.host = 4}}), 1);
  EXPECT_EQ(steps({{.host = 4}, {.host = 2}}), 2);
  Algorithms only(write("rail.json", to_json(rail)));  // implies nothing about hosts
  EXPECT_NE(only.choose(kAsked, {{.host = 4}, {.host = 4}}, as_verified, why), nullptr);
}

// Numbers of another machine ended a program by a signal; an answer to another question, and hosts of more
// ranks, are reported.
TEST_F(LibraryFile, WhatDoesNotBelongTogetherIsNotLoaded) {
  put(exchange(), {0, 0, 1});
  EXPECT_THAT(Algorithms(path_).complaints(), ::testing::ElementsAre(HasSubstr("entry with other ranks")));
  std::filesystem::remove(path_);
  const Result one = exchange();
  open_answers(path_, true)
      ->put({.question = "another",
             .answer = to_json(one),
             .numbering = to_json(no_renumbering(one.topology))});
  EXPECT_THAT(Algorithms(path_).complaints(), ::testing::ElementsAre(HasSubstr("another question")));
  EXPECT_EQ(Algorithms(path_).size(), 0);
}

TEST_F(LibraryFile, PassesOnWhereNothingSitsSo) {
  Result node = exchange();
  put(node, {0, 0});
  Algorithms library(path_);
  std::string why;
  EXPECT_EQ(library.choose(kAsked, {{.host = 0}, {.host = 1}}, as_verified, why), nullptr);
  EXPECT_EQ(why, "no allgather for 2 ranks that sit 1 + 1 on 2 hosts");
  EXPECT_NE(library.choose(kAsked, {}, as_verified, why), nullptr);  // who does not know is served
}

TEST_F(LibraryFile, WhatWasMeasuredCounts) {
  // By the prediction the first point, of one step, is faster on 1,000 bytes: 2 us against 3.
  std::vector<MeasuredTime> times;
  for (const auto& [point, bytes, us] : {std::tuple(MeasuredTime::kOwn, 100, 5.0),
                                         {0, 100, 9.0},
                                         {1, 100, 4.0},
                                         {MeasuredTime::kOwn, 1'000, 6.0},
                                         {0, 1'000, 9.0},
                                         {1, 1'000, 8.0}})
    times.push_back(
        {.point = point, .bytes = bytes, .median_us = us, .least_us = us, .most_us = us, .times = 3});
  put(exchange(), {}, times);
  std::string why;
  const auto steps = [&](Algorithms& library, double bytes) {
    CollectiveCall call = kAsked;
    call.block_bytes = bytes;
    const LoadedAlgorithm* const chosen = library.choose(call, {}, as_verified, why);
    return chosen == nullptr ? 0 : chosen->program->steps;
  };
  Algorithms library(path_);
  EXPECT_EQ(steps(library, 100), 2);
  EXPECT_EQ(steps(library, 1), 2);      // as the smallest
  EXPECT_EQ(steps(library, 1'000), 0);  // 6 us of its own against 8
  EXPECT_EQ(why, "its own was measured to be faster: 6 us against 8 us of " + path_ +
                     ", allgather of here, all, point 1");
  EXPECT_EQ(steps(library, 400), 2);  // 4 + 300/900 * 4 = 5.33 against 5.33: not slower
  EXPECT_EQ(steps(library, 500), 0);  // 5.78 against 5.44
  EXPECT_EQ(steps(library, 1e6), 0);
  Algorithms elsewhere(path_, "nccl");  // nothing was measured over that
  EXPECT_EQ(steps(elsewhere, 1'000), 1);
  EXPECT_NE(elsewhere.fingerprint(), library.fingerprint());
}

// After a failure a place's numbering decides which rank of the answer a rank is.
TEST_F(LibraryFile, NumberingsAfterAFailureAreInTheFingerprint) {
  const auto fingerprint_of = [&](const std::vector<Rank>& ranks, const std::vector<LinkId>& links) {
    std::filesystem::remove(path_);
    questions_ = 0;
    put(exchange(), {});
    const auto file = open_answers(path_, false);
    std::string question;
    file->each([&](const StoredAnswer& stored) { question = stored.question; });
    file->put_place(question, {.machine = "here without link 0-1",
                               .group = "all",
                               .collective = "allgather",
                               .ranks = 2,
                               .numbering = to_json(Renumbering{.ranks = ranks, .links = links})});
    const Algorithms library(path_);
    EXPECT_THAT(library.complaints(), ::testing::IsEmpty());
    return library.fingerprint();
  };
  const std::uint64_t straight = fingerprint_of({0, 1}, {0, 1});
  EXPECT_EQ(fingerprint_of({0, 1}, {0, 1}), straight);
  EXPECT_NE(fingerprint_of({1, 0}, {1, 0}), straight);
}

TEST_F(Library, ADirectoryThatCannotBeReadIsSaid) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every directory";
  write("a.json", to_json(exchange()));
  std::filesystem::permissions(directory_, std::filesystem::perms::none);
  const Algorithms library(directory_);
  std::filesystem::permissions(directory_, std::filesystem::perms::owner_all);
  EXPECT_EQ(library.size(), 0);
  EXPECT_THAT(library.complaints(), ::testing::ElementsAre(HasSubstr(directory_ + ": cannot be read: ")));
}

TEST_F(LibraryFile, ADamagedOneIsSaid) {
  put(exchange(), {});
  std::string bytes = read_file(path_);
  for (std::size_t i = 2000; i < bytes.size(); ++i) bytes[i] = 'x';
  write_file(path_, bytes);
  Algorithms library(path_);
  EXPECT_EQ(library.size(), 0);
  ASSERT_EQ(library.complaints().size(), 1u);
  EXPECT_THAT(library.complaints().front(), HasSubstr("library.db"));
}

}  // namespace
}  // namespace chorale
