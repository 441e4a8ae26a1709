#include "ir/job_template.h"

#include <gmock/gmock.h>

#include "ir/error.h"

namespace chorale {
namespace {

using testing::HasSubstr;

constexpr const char* kSmall = R"_({
  "job_template": "small",
  "axes": [{"name": "data"}, {"name": "tensor", "most": 4}],
  "numbers": [{"name": "layers", "is": 6}, {"name": "held", "is": "100 / tensor"}],
  "whole": ["layers / tensor"],
  "require": ["data <= 4"],
  "memory_bytes": "held + 1", "room_bytes": 60,
  "compute_us": "10 * layers / (data * tensor)",
  "reductions": [{"name": "g", "axes": ["data"], "bytes": "held", "times": "layers - 6 + max(data, 2)"},
                 {"name": "a", "goal": "alltoall", "axes": ["tensor"], "bytes": 8}]
})_";

JobTemplate small() {
  return job_template_from_json(kSmall, "small.json");
}

TEST(JobTemplate, GivesTheJobOfItsSizes) {
  const SizedJob one = sized(small(), {4, 2});
  EXPECT_EQ(one.unfit, "");
  EXPECT_DOUBLE_EQ(one.memory_bytes, 51);
  EXPECT_DOUBLE_EQ(one.compute_us, 7.5);
  ASSERT_EQ(one.job.reductions.size(), 2u);
  EXPECT_EQ(one.job.reductions[0], (Reduction{.name = "g", .axes = {0}, .bytes = 50, .times = 4}));
  EXPECT_EQ(one.job.reductions[1], (Reduction{.name = "a", .goal = Goal::AllToAll, .axes = {1}, .bytes = 8}));
  EXPECT_EQ(one.job.axes, (std::vector<Axis>{{"data", 4}, {"tensor", 2}}));
}

TEST(JobTemplate, LeavesOutWhatHasNothingToDo) {
  EXPECT_EQ(sized(small(), {1, 2}).job.reductions.size(), 1u);
}

// a waits for nothing, b for a, c for b, d for all before it. Without b, c waits for a.
TEST(JobTemplate, WhatWaitsForWhatIsLeftOutWaitsForWhatThatWaitedFor) {
  const JobTemplate job = job_template_from_json(R"_({
    "job_template": "chain", "axes": [{"name": "x"}, {"name": "y"}],
    "reductions": [{"name": "a", "axes": ["x"], "bytes": 8}, {"name": "b", "axes": ["y"], "bytes": "8 * (y - 1)", "after": ["a"]},
                   {"name": "c", "axes": ["x"], "bytes": 8, "after": ["b"]}, {"name": "d", "axes": ["x"], "bytes": 8}]})_",
                                                 "chain.json");
  using After = std::optional<std::vector<int>>;
  const auto after = [&](const std::vector<int>& sizes) {
    std::vector<After> result;
    for (const Reduction& each : sized(job, sizes).job.reductions) result.push_back(each.after);
    return result;
  };
  EXPECT_EQ(after({2, 2}), (std::vector<After>{{}, {{0}}, {{1}}, {}}));
  EXPECT_EQ(after({2, 1}), (std::vector<After>{{}, {{0}}, {}}));
  EXPECT_EQ(predecessors(sized(job, {2, 1}).job), (std::vector<std::vector<int>>{{}, {0}, {0, 1}}));
}

TEST(JobTemplate, SaysWhichConditionSizesDoNotObey) {
  EXPECT_EQ(sized(small(), {2, 4}).unfit, "layers / tensor is 1.5, not whole");
  EXPECT_EQ(sized(small(), {8, 2}).unfit, "data <= 4 does not hold");
  EXPECT_THAT(sized(small(), {2, 1}).unfit, HasSubstr("a device would keep"));
}

TEST(JobTemplate, RefusesWhatIsNone) {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = kSmall;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {changed(R"("name": "data"})", R"("name": "max"})"), "is not a name"},
      {changed(R"("name": "tensor")", R"("name": "data")"), "has a meaning already"},
      {changed(R"("is": 6)", R"("is": "held")"), "'held' is not an operand"},
      {changed("100 / tensor", "100 / tensor +"), "expected a value"},
      {changed("100 / tensor", "x / tensor"), "mean nothing here"},
      {changed(R"("most": 4)", R"("most": 4, "size": 5)"), "is more than the most"},
      {changed(R"("memory_bytes": "held + 1",)", ""), "without memory_bytes"},
      {changed(R"(["tensor"])", R"(["experts"])"), "is not an axis"},
      {changed("job_template", "job_tamplate"), "job_tamplate"},
  };
  for (const auto& [text, words] : wrong)
    EXPECT_THAT([&] { job_template_from_json(text, "t.json"); },
                testing::ThrowsMessage<InputError>(HasSubstr(words)))
        << text;
}

TEST(JobTemplate, RefusesAFormulaWithoutAValue) {
  JobTemplate job = small();
  job.compute_us.expression = {{.constant = 1}, {.constant = 0}, {.op = ExpressionOperator::Divide}};
  EXPECT_THROW(sized(job, {4, 2}), InputError);
}

}  // namespace
}  // namespace chorale
