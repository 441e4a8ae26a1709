#include "tensor/language/execution.h"

#include <gtest/gtest.h>

#include "ir/error.h"
#include "ir/json_reader.h"

namespace chorale::test {
namespace {

Execution all_given() {
  return {.points = {{.operation = "rs", .cost = {.steps = 3, .rounds = 7, .chunks = 2}},
                     {.operation = "sum", .cost = {.steps = 1, .rounds = 3}}},
          .pieces = {{.overlap = "both", .pieces = 8}},
          .block = 4096,
          .channels = 2};
}

Execution execution_of(const std::string& text) {
  return execution_from_json(parse_json(text, "test"));
}

TEST(Execution, IsReadAsItIsWritten) {
  EXPECT_EQ(execution_of(to_json(all_given())), all_given());
  EXPECT_EQ(to_json(Execution{}), "{}");
  EXPECT_EQ(execution_of("{}"), Execution{});
  EXPECT_EQ(to_json(Execution{.block = 512}), "{\"block\":512}");
}

TEST(Execution, IsToldInWords) {
  EXPECT_EQ(to_string(all_given()),
            "rs in 3 steps and 7/2 rounds, sum in 1 step and 3/1 rounds, both in 8 pieces, blocks of 4096, 2 "
            "channels");
  EXPECT_EQ(to_string(Execution{}), "");
}

TEST(Execution, KnowsWhatItGives) {
  const Execution execution = all_given();
  EXPECT_EQ(point_of(execution, "rs")->steps, 3);
  EXPECT_EQ(point_of(execution, "other"), nullptr);
  EXPECT_EQ(pieces_of(execution, "both"), 8);
  EXPECT_EQ(pieces_of(execution, "other"), 0);
}

TEST(Execution, RefusesWhatIsNone) {
  for (const char* text :
       {"[]", R"({"blocks":1})", R"({"block":0})", R"({"channels":-1})", R"({"pieces":[{"overlap":"o"}]})",
        R"({"pieces":[{"overlap":"o","pieces":0}]})", R"({"points":[{"operation":"x","cost":[1,2]}]})",
        R"({"points":[{"operation":"x","cost":[1,2,0]}]})", R"({"points":{"x":[1,2,1]}})"})
    EXPECT_THROW(execution_of(text), InputError) << text;
}

}  // namespace
}  // namespace chorale::test
