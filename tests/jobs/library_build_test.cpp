// Whoever searches, each question is asked once, and what was found is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "ir/json.h"
#include "jobs/library.h"

namespace chorale {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

Topology ring(int ranks) {
  Topology topology{.name = "ring", .ranks = ranks};
  for (Rank n = 0; n < ranks; ++n) topology.links.push_back({.src = n, .dst = (n + 1) % ranks});
  return topology;
}

class Building : public ::testing::Test {
 protected:
  Building() {
    for (const int ranks : {2, 3, 4, 5}) {
      LibraryQuestion& question = questions_.emplace_back(
          library_question(ring(ranks), make_collective(CollectiveKind::Allgather, ranks, 1), {}));
      question.places = {{.machine = "ring:" + std::to_string(ranks),
                          .group = "all",
                          .collective = "allgather",
                          .ranks = ranks,
                          .numbering = to_json(question.numbering)}};
    }
  }
  ~Building() override { std::filesystem::remove(path_); }

  // What is kept is not verified here.
  static Searched found(const LibraryQuestion& question, Stopped stopped = Stopped::No) {
    return {.result =
                Result{.topology = question.topology, .collective = question.collective, .stopped = stopped}};
  }

  std::vector<int> ranks_kept() {
    std::vector<int> kept;
    file_->each([&](const StoredAnswer& stored) { kept.push_back(stored.places.at(0).ranks); });
    return kept;
  }

  const std::string path_ = ::testing::TempDir() + "chorale_build_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
  std::unique_ptr<AnswerFile> file_ = open_answers(path_, true);
  std::vector<LibraryQuestion> questions_ = {};
};

// Four questions by three threads, and again: now all are there, and nobody is asked.
TEST_F(Building, AsksEachOnce) {
  std::mutex mutex;
  std::vector<int> asked;
  const Search search = [&](const LibraryQuestion& question, const std::function<bool()>&) {
    const std::lock_guard lock(mutex);
    asked.push_back(question.topology.ranks);
    return found(question);
  };
  const BuildReport first = build_library(*file_, questions_, {.jobs = 3}, search);
  EXPECT_EQ(first.answered, 4);
  EXPECT_EQ(first.there, 0);
  EXPECT_THAT(asked, UnorderedElementsAre(2, 3, 4, 5));
  EXPECT_THAT(ranks_kept(), UnorderedElementsAre(2, 3, 4, 5));
  const BuildReport second = build_library(*file_, questions_, {}, search);
  EXPECT_EQ(second.there, 4);
  EXPECT_EQ(second.answered, 0);
  EXPECT_EQ(asked.size(), 4u);
}

// Why there is no answer is reported of each question; what was interrupted is not kept, since it would be
// found instead of a search that can do better.
TEST_F(Building, SaysWhatIsMissing) {
  const BuildReport report = build_library(
      *file_, questions_, {}, [](const LibraryQuestion& question, const std::function<bool()>&) {
        if (question.topology.ranks == 2) return Searched{.why = "it died"};
        if (question.topology.ranks == 3) return Searched{};
        return found(question, question.topology.ranks == 4 ? Stopped::Interrupted : Stopped::No);
      });
  EXPECT_EQ(report.answered, 1);
  EXPECT_THAT(report.failures, ElementsAre("ring:2, all, allgather: it died",
                                           "ring:3, all, allgather: not answered within the limits",
                                           "ring:4, all, allgather: not answered within the limits"));
  EXPECT_THAT(ranks_kept(), ElementsAre(5));
}

// What ends while the build is stopped is left out, and nothing else is begun.
TEST_F(Building, StopsWhenItIsTold) {
  std::atomic<bool> stop = false;
  const BuildReport report =
      build_library(*file_, questions_, {.stop = &stop},
                    [&](const LibraryQuestion& question, const std::function<bool()>& stopped) {
                      EXPECT_FALSE(stopped());
                      stop = true;
                      EXPECT_TRUE(stopped());
                      return found(question);
                    });
  EXPECT_EQ(report.answered, 0);
  EXPECT_TRUE(report.failures.empty());
}

// One search throws; the others see that it is over, and it is thrown where the build was asked for.
TEST_F(Building, ThrowsWhatASearchThrows) {
  const auto build_it = [&] {
    build_library(*file_, questions_, {.jobs = 2},
                  [](const LibraryQuestion& question, const std::function<bool()>& stopped) -> Searched {
                    if (question.topology.ranks == 2) throw std::runtime_error("no process can be started");
                    while (!stopped()) std::this_thread::yield();
                    return {};
                  });
  };
  EXPECT_THROW(build_it(), std::runtime_error);
  EXPECT_TRUE(ranks_kept().empty());
}

}  // namespace
}  // namespace chorale
