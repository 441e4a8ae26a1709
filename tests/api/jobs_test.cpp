// Jobs that are done to what others wrote, or with tools of the machine: programs, libraries, tuning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "jobs/chorale.h"

namespace chorale {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string emitted(Target target) {
  const Result ring = classic(machine("ring:4"), {.name = "ring_allreduce"});
  return compile(ring.topology, ring.points.front(), target).files.front().text;
}

// What we emit is read back, in every form that can be, and is right, runs, and takes as long on the ring as
// four ranks need for six steps there at least.
TEST(LoweredPrograms, OfOursAreRight) {
  for (const Target target : {Target::Json, Target::MscclXml, Target::Mscclpp}) {
    const std::unique_ptr<LoweredProgram> program = lowered_program(emitted(target), "program");
    const ProgramShape& shape = program->shape();
    EXPECT_EQ(shape.shared_memory, target == Target::Mscclpp);
    EXPECT_EQ(shape.ranks, 4);
    EXPECT_EQ(name_of(shape.collective), "allreduce");
    EXPECT_THAT(shape.instructions, Not(IsEmpty()));
    for (const bool in_place : {false, true}) {
      if (in_place ? !shape.in_place : !shape.out_of_place) continue;
      const ProgramVerdict verdict = program->verdict(in_place);
      EXPECT_EQ(verdict.fault, "");
      const int depth = std::max(verdict.depth, 1);
      for (const RunRow& row : program->run({.bytes = {400}, .iterations = 1, .warm_up = 0}, in_place, depth))
        EXPECT_EQ(row.wrong, 0);
      const Topology ring = machine("ring:4");
      EXPECT_GE(program->time(ring, 0, depth).us, 6 * ring.links.front().alpha_us * 0.999);
    }
  }
}

// What gathers adds nothing up.
TEST(LoweredPrograms, WrongOnesAreJudged) {
  const Result pair = classic(machine("full:2"), {.name = "ring_allgather"});
  std::string text = compile(pair.topology, pair.points.front(), Target::Json).files.front().text;
  const std::unique_ptr<LoweredProgram> right = lowered_program(text, "program");
  ASSERT_EQ(right->verdict(false).fault, "");
  const std::size_t at = text.find("\"collective\": \"allgather\"");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 25, "\"collective\": \"allreduce\"");
  EXPECT_THAT(lowered_program(text, "program")->verdict(false).fault, Not(IsEmpty()));
}

TEST(LoweredPrograms, WhatIsNoneIsRefused) {
  EXPECT_THROW(lowered_program("", "nothing.json"), InputError);
  EXPECT_THROW(lowered_program("<algo/>", "nothing.xml"), InputError);
}

// Two groups of a ring, and all of it: the second build has all answers, and asks nobody.
TEST(Libraries, AreBuiltInThisProcess) {
  const std::string path = ::testing::TempDir() + "chorale_jobs.db";
  std::filesystem::remove(path);
  const std::unique_ptr<AnswerFile> file = open_answers(path, true);
  const std::vector<LibraryQuestion> questions = library_questions(
      R"({"machines": ["ring:4"], "collectives": ["allgather"], "groups": ["all", "pairs"], "max_chunks": 1})",
      "spec.json");
  ASSERT_EQ(questions.size(), 2u);
  const BuildReport built = build_library(*file, questions, {.jobs = 2});
  EXPECT_EQ(built.answered, 2);
  EXPECT_THAT(built.failures, IsEmpty());
  EXPECT_EQ(build_library(*file, questions, {},
                          [](const LibraryQuestion&, const std::function<bool()>&) -> Searched {
                            throw std::logic_error("asked again");
                          })
                .there,
            2);
  for (const LibraryQuestion& question : questions)
    EXPECT_TRUE(find_answer(*file, question, path)->result.complete);
  std::filesystem::remove(path);
}

// Nothing describes this machine to NCCL here: a file that is none is passed over, and named.
TEST(Discovery, SaysWhatWasTriedBefore) {
  const std::string path = ::testing::TempDir() + "chorale_jobs.xml";
  write_file(path, "<nothing/>");
  try {
    EXPECT_THAT(discover_machine({path}).lacked, HasSubstr(path));
  } catch (const InputError& error) {  // no GPU anywhere
    EXPECT_THAT(error.what(), HasSubstr(path));
    EXPECT_THAT(error.what(), HasSubstr("nvidia-smi"));
  }
}

// Without measurements, the tuner needs no compiler: it ranks by prices, the fused schedule before the given
// one.
TEST(Tuning, RanksByPricesWhereNothingIsMeasured) {
  const Workload sgd = read_workload(std::string(CHORALE_SOURCE) + "/examples/sgd.chorale");
  const WorkloadMachine machine_of =
      algorithms_for(machine("ring:4"), sgd, WorkloadSearch::Transformed, {}, {.max_chunks = 1});
  const TuneResult result = tune(sgd, machine_of, {.most_candidates = 50});
  ASSERT_THAT(result.ranking, Not(IsEmpty()));
  EXPECT_LE(result.candidates[result.ranking.front()].price.us, result.candidates.front().price.us);
  for (const Candidate& each : result.candidates) EXPECT_FALSE(each.measured_us);
}

// Two groups of two: rank 0 reaches rank 1 of its group, which comes back by the other group only. So no
// collective within a group is searched.
TEST(Tuning, LeavesOutLevelsThatAreJoinedOneWay) {
  Topology one_way{.name = "one_way", .ranks = 4};
  for (const auto& [src, dst] : {std::pair(0, 1), {0, 2}, {1, 3}, {2, 0}, {2, 3}, {3, 1}, {3, 2}})
    one_way.links.push_back({.src = src, .dst = dst});
  const Workload sum = parse_workload(R"(
workload sums ranks 2 groups 2
Tensor g(fp32, [8], Local)
sum = AllReduce("+", g)
return sum
)",
                                      "sums");
  FrontierOptions options{.max_chunks = 1};
  options.synthesis.limits.conflicts = 1000;
  const WorkloadMachine found = algorithms_for(one_way, sum, WorkloadSearch::Transformed, {}, options);
  ASSERT_THAT(found.algorithms, Not(IsEmpty()));
  for (const Result& each : found.algorithms) EXPECT_EQ(each.topology.ranks, 4);
}

}  // namespace
}  // namespace chorale
