// The grammar for editors (packaging/vscode) knows the words of the language, and no others.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "ir/files.h"
#include "tensor/language/names.h"

namespace chorale::test {
namespace {

TEST(EditorGrammar, HasTheWordsOfTheLanguage) {
  const std::string file = CHORALE_SOURCE "/packaging/vscode/syntaxes/chorale.tmLanguage.json",
                    text = read_file(file);
  std::set<std::string> known;
  const std::regex list(R"re("\\\\b\(([A-Za-z0-9|]+)\)\\\\b")re"), word("[A-Za-z0-9]+");
  for (std::sregex_iterator each(text.begin(), text.end(), list), end; each != end; ++each) {
    const std::string words = (*each)[1];
    for (std::sregex_iterator one(words.begin(), words.end(), word); one != end; ++one)
      EXPECT_TRUE(known.insert(one->str()).second) << one->str() << " is there twice";
  }
  for (const std::string_view reserved : reserved_words())
    EXPECT_EQ(known.erase(std::string(reserved)), 1) << reserved << " is missing in " << file;
  EXPECT_EQ(known, (std::set<std::string>{"fixed", "flat", "padding", "scattered", "state", "stride"}));
}

}  // namespace
}  // namespace chorale::test
