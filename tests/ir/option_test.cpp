// Rows of options: what is made of them, and that the files that repeat them for others have them as they
// are.
#include "ir/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/search_options.h"

namespace chorale {
namespace {

using testing::HasSubstr;

std::string schema_of(const OptionWords& words) {
  const auto range = [&](const std::string& least, const std::string& most) {
    return ", \"minimum\": " + least + ", \"maximum\": " + most;
  };
  switch (words.kind) {
    case OptionKind::Switch:
      return R"({"type": "boolean"})";
    case OptionKind::Text:
      return R"({"type": "string"})";
    case OptionKind::Duration:
      return R"({"type": "number")" + range("0", std::to_string(words.most / 1000)) + "}";
    case OptionKind::Integer:
      break;
  }
  return R"({"type": "integer")" +
         (words.most == INT64_MAX ? ", \"minimum\": " + std::to_string(words.least)
                                  : range(std::to_string(words.least), std::to_string(words.most))) +
         "}";
}

// Of each row: its line in the schema, and its key in the page. If this fails, the message has the line to
// write.
TEST(Options, AreDescribedAsKeysOfASpecification) {
  const std::string schema = read_file(CHORALE_SOURCE "/docs/schemas/library-spec.schema.json");
  const std::string formats = read_file(CHORALE_SOURCE "/docs/formats.md");
  const std::string page = formats.substr(formats.find("## A library"));
  for (const OptionRow<FrontierOptions>& row : question_rows()) {
    const std::string key(key_of(row.words));
    EXPECT_THAT(schema, HasSubstr("\"" + key + "\": " + schema_of(row.words)));
    EXPECT_THAT(page, HasSubstr("`" + key + "`"));
  }
}

// A member that is set is the one that is read, and no other: else two rows would share one.
TEST(Options, AreMembersOfTheirOwn) {
  std::set<std::string_view> names, flags;
  std::vector<OptionRow<FrontierOptions>> rows(search_rows().begin(), search_rows().end());
  rows.insert(rows.end(), frontier_rows().begin(), frontier_rows().end());
  for (const auto& row : rows) {
    EXPECT_TRUE(names.insert(row.words.name).second && flags.insert(row.words.option).second);
    FrontierOptions options;
    EXPECT_TRUE(is_default(row, options));
    if (row.member.text)
      row.member.text(options) = "x";
    else
      row.member.set(options, row.words.kind == OptionKind::Switch ? 0 : row.words.least + 1);
    int changed = 0;
    for (const auto& other : rows) changed += !is_default(other, options);
    EXPECT_EQ(changed, 1) << row.words.name;
  }
}

TEST(Options, HaveTheirDefaultsInTheHelp) {
  EXPECT_EQ(help_of(row_of(search_rows(), "jobs")), "Search J chunk counts, or cubes, side by side (1)");
  EXPECT_EQ(help_of(row_of(frontier_rows(), "max_chunks")),
            "Cut a block into at most C chunks (as many as pay)");
}

TEST(Options, HaveNoValueWhereTheyAreNotGiven) {
  const OptionRow<SynthesisQuestion>& steps = row_of(synthesis_rows(), "steps");
  EXPECT_EQ(given(steps, SynthesisQuestion()), std::nullopt);
  EXPECT_EQ(given(steps, SynthesisQuestion{.steps = 3}), 3);
}

TEST(Options, AreInRange) {
  const OptionWords& cubes = row_of(search_rows(), "cubes").words;
  require_in_range(cubes, 2, "cubes");
  require_in_range(cubes, 4096, "cubes");
  EXPECT_THROW(require_in_range(cubes, 1, "cubes"), InputError);
  EXPECT_THROW(require_in_range(cubes, 4097, "cubes"), InputError);
  const OptionWords& time = row_of(search_rows(), "time_limit").words;
  EXPECT_EQ(milliseconds_in(time, 1.5, "seconds"), 1500);
  EXPECT_EQ(milliseconds_in(time, 1e-9, "seconds"), 1);  // more than nothing
  EXPECT_EQ(milliseconds_in(time, 3.6e6, "seconds"), 3'600'000'000);
  for (const double bad : {0.0, -1.0, 3.7e6, std::nan("")})
    EXPECT_THROW(milliseconds_in(time, bad, "seconds"), InputError);
}

}  // namespace
}  // namespace chorale
