// What is on disk is read once, and of that the fastest that can be lowered is chosen.
#include "library/algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"

namespace chorale {
namespace {

using ::testing::HasSubstr;

// Two ranks that exchange their blocks: whole in one step, or by halves in two; a step takes 1 us, and so does a round of a
// whole block of 1,000 bytes.
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
    for (Chunk c = 0; c < chunks; ++c)
      point.schedule.steps.push_back(
          {.rounds = 1, .sends = {{.chunk = c, .link = 0}, {.chunk = chunks + c, .link = 1}}});
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

Program named(const Topology&, const Collective& collective, const Schedule& schedule) {
  return {.collective = collective.kind, .steps = static_cast<int>(schedule.steps.size())};
}

constexpr CollectiveCall kAsked{.collective = CollectiveKind::Allgather, .ranks = 2, .block_bytes = 1000};

TEST_F(Library, ChoosesTheFastestAndLowersItOnce) {
  Algorithms library(write("a.json", to_json(exchange())));
  EXPECT_EQ(library.size(), 2);
  EXPECT_EQ(library.complaints(), std::vector<std::string>{});
  int lowered = 0;
  const auto counted = [&](const Topology& t, const Collective& c, const Schedule& s) {
    ++lowered;
    return named(t, c, s);
  };
  std::string why;
  for (int i = 0; i < 2; ++i) {
    const LoadedAlgorithm* const chosen = library.choose(kAsked, counted, why);
    ASSERT_NE(chosen, nullptr) << why;
    EXPECT_EQ(chosen->number, 0);
    EXPECT_EQ(chosen->program->steps, 1);  // 2 us against 3
  }
  EXPECT_EQ(lowered, 1);
}

TEST_F(Library, TakesTheNextWhereTheFastestCannotBeLowered) {
  Algorithms library(write("a.json", to_json(exchange())));
  int refused = 0;
  const auto refusing = [&](const Topology& t, const Collective& c, const Schedule& s) {
    if (s.steps.size() == 1) {
      ++refused;
      throw InputError("a point", "cannot be lowered");
    }
    return named(t, c, s);
  };
  std::string why;
  for (int i = 0; i < 2; ++i) {
    const LoadedAlgorithm* const chosen = library.choose(kAsked, refusing, why);
    ASSERT_NE(chosen, nullptr) << why;
    EXPECT_EQ(chosen->number, 1);
    EXPECT_EQ(chosen->program->steps, 2);
    EXPECT_THAT(why, HasSubstr("cannot be lowered"));
  }
  EXPECT_EQ(refused, 1);
  const auto never = [](const Topology&, const Collective&, const Schedule&) -> Program {
    throw InputError("a point", "cannot be lowered");
  };
  Algorithms other(directory_);
  EXPECT_TRUE(other.has(kAsked, why));  // as all ranks say that loaded the same
  EXPECT_EQ(other.choose(kAsked, never, why), nullptr);
  EXPECT_THAT(why, HasSubstr("cannot be lowered"));
}

TEST_F(Library, SaysWhatItHasNot) {
  Algorithms library(write("a.json", to_json(exchange())));
  std::string why;
  EXPECT_FALSE(library.has({.collective = CollectiveKind::Allgather, .ranks = 3}, why));
  EXPECT_EQ(why, "no allgather for 3 ranks");
  EXPECT_EQ(library.choose({.collective = CollectiveKind::Alltoall, .ranks = 2}, named, why), nullptr);
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
      library.choose({.collective = CollectiveKind::Alltoall, .ranks = 2}, named, why);
  ASSERT_NE(chosen, nullptr) << why;
  EXPECT_EQ(chosen->number, 2);
}

}  // namespace
}  // namespace chorale
