// Usage: test_property [--seed=S | --first=S] [--long | --times=N] [options of gtest]
//
// --seed: only the case of this seed. --first: cases from this seed on, not from 0. --times: N times as many
// cases of each maker; --long: 20 times.
#include <iostream>

#include "tests/property/suite.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& suite = chorale::test::suite();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    const auto number = [&] { return static_cast<unsigned>(std::stoul(word.substr(name.size() + 1))); };
    if (word == "--long")
      suite.times = 20;
    else if (name == "--times" && name != word)
      suite.times = number();
    else if (name == "--first" && name != word)
      suite.first = number();
    else if (name == "--seed" && name != word)
      suite.seed = number();
    else
      return std::cerr << "unknown option: " << word << '\n', 2;
  }
  return RUN_ALL_TESTS();
}
