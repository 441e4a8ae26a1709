// Rows of options: what is made of them, and that the files that repeat them for others have them as they
// are.
#include "ir/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/place_options.h"
#include "ir/run_options.h"
#include "ir/search_options.h"

namespace chorale {
namespace {

using testing::HasSubstr;

TEST(Options, AreDescribedAsKeysOfASpecification) {
  const std::string formats = read_file(CHORALE_SOURCE "/docs/formats.md");
  const std::string page = formats.substr(formats.find("## A library"));
  for (const OptionRow<FrontierOptions>& row : question_rows())
    EXPECT_THAT(page, HasSubstr("`" + std::string(key_of(row.words)) + "`"));
}

// A member that is set is the one that is read, and no other: else two rows would share one.
template <typename Owner>
void are_members_of_their_own(const std::vector<OptionRow<Owner>>& rows) {
  std::set<std::string_view> names, flags;
  for (const auto& row : rows) {
    EXPECT_TRUE(names.insert(row.words.name).second && flags.insert(row.words.option).second);
    Owner options;
    EXPECT_TRUE(is_default(row, options));
    if (row.member.text)
      row.member.text(options) = "x";
    else if (row.member.number)
      row.member.number(options) += 1;
    else
      row.member.set(options,
                     row.member.get(options) == row.words.least ? row.words.least + 1 : row.words.least);
    int changed = 0;
    for (const auto& other : rows) changed += !is_default(other, options);
    EXPECT_EQ(changed, 1) << row.words.name;
  }
}

TEST(Options, AreMembersOfTheirOwn) {
  std::vector<OptionRow<FrontierOptions>> rows(search_rows().begin(), search_rows().end());
  rows.insert(rows.end(), frontier_rows().begin(), frontier_rows().end());
  are_members_of_their_own(rows);
  are_members_of_their_own<PlaceOptions>({place_rows().begin(), place_rows().end()});
  are_members_of_their_own<RunOptions>({run_rows().begin(), run_rows().end()});
}

// Values of an enumeration are the names in their own table, and no other name is taken.
TEST(Options, AreChosenByName) {
  const OptionRow<PlaceOptions>& row = row_of(place_rows(), "algorithm");
  PlaceOptions options;
  for (const auto& [value, name] : algorithms()) {
    row.member.set(options, choice_named(row.words, std::string(name), "algorithm"));
    EXPECT_EQ(options.algorithm, value);
  }
  EXPECT_THROW(choice_named(row.words, "rings", "algorithm"), InputError);
}

TEST(Options, HaveTheirDefaultsInTheHelp) {
  EXPECT_EQ(help_of(row_of(search_rows(), "jobs")), "Search J chunk counts side by side (1)");
  EXPECT_EQ(help_of(row_of(frontier_rows(), "max_chunks")),
            "Cut a block into at most C chunks (as many as pay)");
  EXPECT_THAT(help_of(row_of(place_rows(), "rules")), HasSubstr("full: all valid (full)"));
  EXPECT_EQ(help_of(row_of(run_rows(), "wait")), "Give up when a rank waits longer than T (60)");
  EXPECT_EQ(help_of(row_of(run_rows(), "iterations"), {.iterations = 7}), "Measured runs (7)");
}

TEST(Options, HaveNoValueWhereTheyAreNotGiven) {
  const OptionRow<SynthesisQuestion>& steps = row_of(synthesis_rows(), "steps");
  EXPECT_EQ(given(steps, SynthesisQuestion()), std::nullopt);
  EXPECT_EQ(given(steps, SynthesisQuestion{.steps = 3}), 3);
}

TEST(Options, AreInRange) {
  const OptionWords& jobs = row_of(search_rows(), "jobs").words;
  require_in_range(jobs, std::int64_t{1}, "jobs");
  require_in_range(jobs, std::int64_t{256}, "jobs");
  EXPECT_THROW(require_in_range(jobs, std::int64_t{0}, "jobs"), InputError);
  EXPECT_THROW(require_in_range(jobs, std::int64_t{257}, "jobs"), InputError);
  const OptionWords& time = row_of(search_rows(), "time_limit").words;
  EXPECT_EQ(milliseconds_in(time, 1.5, "seconds"), 1500);
  EXPECT_EQ(milliseconds_in(time, 1e-9, "seconds"), 1);  // more than nothing
  EXPECT_EQ(milliseconds_in(time, 3.6e6, "seconds"), 3'600'000'000);
  for (const double bad : {0.0, -1.0, 3.7e6, std::nan("")})
    EXPECT_THROW(milliseconds_in(time, bad, "seconds"), InputError);
}

}  // namespace
}  // namespace chorale
