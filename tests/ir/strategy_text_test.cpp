#include <gmock/gmock.h>

#include "ir/error.h"
#include "ir/placement.h"

namespace chorale {
namespace {

TEST(StrategyText, IsReadAsItIsPrinted) {
  const std::vector<std::string> levels = {"root", "node", "gpu"};
  const auto number = [&](const std::string& name) {
    return static_cast<int>(std::ranges::find(levels, name) - levels.begin());
  };
  Strategy all;
  for (const StrategyInstruction::Operation operation : kAllOperations)
    for (const auto form : {StrategyInstruction::Form::InsideGroup, StrategyInstruction::Form::Parallel,
                            StrategyInstruction::Form::Master})
      for (int slice = 1; slice < 3; ++slice)
        for (int ancestor = 0; ancestor < slice; ++ancestor)
          all.push_back(
              {slice, form, form == StrategyInstruction::Form::InsideGroup ? 0 : ancestor, operation});
  Strategy back;
  for (const NamedInstruction& each : parse_strategy(to_text(all, levels), "test"))
    back.push_back(
        {number(each.slice), each.form, each.ancestor.empty() ? 0 : number(each.ancestor), each.operation});
  EXPECT_EQ(back, all);
}

TEST(StrategyText, SaysWhichInstructionIsNone) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "is empty"},
           {" ; ", "instruction 1: ''"},
           {"(gpu, InsideGroup, AllReduce); gpu", "instruction 2: 'gpu' is none"},
           {"(gpu, Inside, AllReduce)", "has no form"},
           {"(gpu, InsideGroup(root), AllReduce)", "a level too many or too few"},
           {"(gpu, Master, AllReduce)", "a level too many or too few"},
           {"(gpu, Master(root), Sum)", "has no operation"},
           {"(gpu, InsideGroup)", "has no operation"},
           {"()", "has no form"},
           {std::string(5000, 'x'), "longer than"}})
    EXPECT_THAT([&] { parse_strategy(text, "--strategy"); },
                testing::ThrowsMessage<InputError>(testing::HasSubstr(words)))
        << text;
}

}  // namespace
}  // namespace chorale
