// Texts of every format, damaged at random: what comes of them is a machine that holds together, or
// one line. The fuzzers (tests/fuzz) do this better, guided by what is covered; this needs no clang,
// and runs with all tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>

#include "ir/error.h"
#include "ir/json.h"
#include "tests/kit/refusal.h"
#include "tests/kit/seeds.h"
#include "topology/import/import.h"

namespace chorale {
namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t n) {
  return n == 0 ? 0 : random() % n;
}

// One of: a number by another, a line gone or twice or elsewhere, a stretch gone, a byte by another.
void damage(std::string& text, Random& random) {
  static const std::vector<std::string> numbers = {
      "0",           "-1",    "1",      "2",   "4096", "4097", "1e9", "1000000000",           "2147483647",
      "-2147483648", "1e308", "1e-300", "0.5", "nan",  "inf",  "",    "18446744073709551616", "null",
      "NV99",        "<",     "\""};
  if (text.empty()) return;
  const std::size_t at = below(random, text.size());
  switch (random() % 5) {
    case 0: {
      const std::size_t begin = text.find_first_of("0123456789", at);
      if (begin == std::string::npos) return;
      const std::size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
      text.replace(begin, end - begin, numbers[below(random, numbers.size())]);
      return;
    }
    case 1: {
      const std::size_t begin = text.rfind('\n', at) + 1,
                        end = std::min(text.find('\n', at), text.size() - 1) + 1;
      const std::string line = text.substr(begin, end - begin);
      if (random() % 2 == 0) text.erase(begin, end - begin);
      if (random() % 2 == 0) text.insert(text.rfind('\n', below(random, text.size() + 1)) + 1, line);
      return;
    }
    case 2:
      text.erase(at, below(random, 20));
      return;
    case 3:
      text[at] = static_cast<char>(random() % 256);
      return;
    default:
      text.insert(at, text.substr(below(random, text.size()), below(random, 30)));
  }
}

void expect_sound(const Import& import, const std::string& text) {
  const Topology& machine = import.machine;
  ASSERT_GT(machine.ranks, 0) << text;
  ASSERT_EQ(machine.labels.size(), static_cast<std::size_t>(machine.ranks + machine.switches)) << text;
  ASSERT_EQ(topology_from_json(to_json(machine), "written"), machine) << text;
  for (const FittedRate& rate : import.rates)
    ASSERT_LE(std::abs(rate.bandwidth * import.unit_gbs - rate.gbs), 0.0501 * rate.gbs) << text;
}

TEST(ImportDamage, IsAMachineOrOneLine) {
  constexpr int kTimes = 200;
  int formats = 0;
  for (const auto& folder : std::filesystem::directory_iterator(CHORALE_SOURCE "/tests/fuzz/corpus")) {
    const std::string name = folder.path().filename().string();
    if (!name.starts_with("import_")) continue;
    ++formats;
    std::vector<std::string> texts;
    for (const auto& file : std::filesystem::directory_iterator(folder))
      texts.push_back(read_file(file.path().string()));
    ASSERT_FALSE(texts.empty()) << name;
    std::sort(texts.begin(), texts.end());
    Random random = test::seeded(1);
    int machines = 0;
    for (int i = 0; i < kTimes; ++i) {
      std::string text = texts[static_cast<std::size_t>(i) % texts.size()];
      for (unsigned left = 1 + random() % 4; left > 0; --left) damage(text, random);
      machines += test::refusal_of([&] { expect_sound(imported({{"input", text}}), text); }).empty();
      if (HasFatalFailure()) return;
    }
    std::printf("%-14s %7d texts, %6d of them machines\n", name.c_str(), kTimes, machines);
  }
  EXPECT_EQ(formats, 4);
}

// Numbers that no machine has, in a form that is right: TACCL's chunk of 4294967296 MB once made a link of
// 2e11 GB/s, which the reader of machines refuses. `expect_sound` reads back what is written.
TEST(ImportDamage, WhatIsWrittenIsReadBack) {
  Random random = test::seeded(2);
  const auto number = [&] {  // any magnitude that a reader takes, and some beyond
    return fmt::format("{:.6g}", std::pow(10.0, static_cast<double>(random() % 4000) / 100.0 - 20.0));
  };
  int machines = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = fmt::format(
        R"({{"chorale_wiring":1,"nodes":[["gpu","a"],["gpu","b"]],"lines":[[0,1,{},{}],[1,0,{},{}]],)"
        R"("ports":[[0,0,0,{},{}],[1,1,1,{},{}]],"copies":2,"read":[],"assumed":[]}})",
        number(), number(), number(), number(), number(), number(), number(), number());
    const ImportOptions options{.nodes = 1 + i % 2};
    const std::string said = test::refusal_of([&] {
      expect_sound(imported({{"input", text}}, options), text);
    });
    if (HasFatalFailure()) return;
    ++(said.empty() ? machines : refused);
  }
  EXPECT_GT(machines, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace chorale
