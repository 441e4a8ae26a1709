// Fields (ir/fields.h): random values come back from files as they were. docs/schemas is
// compared by docs/described.py.
#include "ir/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/json.h"
#include "tests/kit/refusal.h"

namespace chorale {
namespace {

using testing::HasSubstr;

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  bool coin() { return random_() % 2 == 0; }
  // Often the ends, where readers are wrong first.
  long long between(double least, double most) {
    const auto from = static_cast<long long>(least);
    const long long to = most >= static_cast<double>(LLONG_MAX) ? LLONG_MAX : static_cast<long long>(most);
    switch (random_() % 4) {
      case 0:
        return from;
      case 1:
        return to;
      default:
        return std::uniform_int_distribution<long long>(from, to)(random_);
    }
  }
  double number(double least, double most) {
    return random_() % 4 == 0 ? least : std::uniform_real_distribution(least, most)(random_);
  }
  template <typename Row, std::size_t n>
  Row of(std::span<const Row, n> rows) {
    return rows[random_() % rows.size()];
  }

  template <typename Value>
  void fill(Value& value, const FieldWords& words) {
    if constexpr (std::is_same_v<Value, bool>) {
      value = coin();
    } else if constexpr (std::is_same_v<Value, int>) {
      value = words.or_any && coin() ? INT_MAX : static_cast<int>(between(words.least, words.most));
    } else if constexpr (std::is_integral_v<Value>) {
      value = between(words.least, words.most);
    } else if constexpr (std::is_same_v<Value, double>) {
      value = number(words.least, words.most);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      value = coin() ? "" : "a_" + std::to_string(random_() % 100);
    } else if constexpr (std::is_same_v<Value, Rate>) {
      value = {.rounds = coin() ? kNoSchedule : between(0, 1e6), .chunks = between(1, 1e6)};
    } else if constexpr (std::is_same_v<Value, Method>) {
      value = of(methods()).value;
    } else if constexpr (requires { value.has_value(); }) {
      if (coin()) fill(value.emplace(), words);
    } else if constexpr (std::is_same_v<Value, Certificate>) {
      value.kind = of(certificate_kinds()).value;
      fields<Certificate>([&](const auto& field) {
        if (field.is_of(value.kind)) fill(field.of(value), field.words);
      });
      value.rank %= 5;  // of the machine below
    } else if constexpr (requires { Fields<Value>::all; }) {
      value = any<Value>();
    }  // else: what depends on more than itself stays as it is
  }
  template <typename Type>
  Type any() {
    Type value;
    fields<Type>([&](const auto& field) {
      if constexpr (std::is_lvalue_reference_v<decltype(field.of(value))>) fill(field.of(value), field.words);
    });
    return value;
  }

 private:
  std::mt19937 random_;
};

Topology any_machine(Dice& dice) {
  Topology machine{.name = "m", .ranks = 5};
  for (int l = 0; l < 6; ++l) {
    machine.links.push_back(dice.any<Link>());
    machine.links.back().src = l % 5;
    machine.links.back().dst = (l + 1) % 5;
  }
  for (int i = 0; i < 3; ++i) {
    machine.limits.push_back(dice.any<SharedLimit>());
    machine.limits.back().links = {i, i + 2};
  }
  return machine;
}

Result any_result(Dice& dice) {
  Result result{.topology = any_machine(dice), .collective = make_collective("allgather", 5, 1)};
  result.space = dice.any<Space>();
  result.space.max_chunks = std::max(result.space.min_chunks, result.space.max_chunks);
  result.limits = dice.any<SearchLimits>();
  for (int i = 0; i < 3; ++i) {
    result.openings.push_back(dice.any<Opening>());
    Claim& claim = result.claims.emplace_back(dice.any<Claim>());
    claim.collective = CollectiveKind::Broadcast;
    if (claim.any_chunks) claim.chunks = std::min(claim.chunks, kMostPerRate);
    result.points.push_back(dice.any<Point>());
    result.points.back().collective = make_collective("allgather", 5, 2);
    result.points.back().reduce_scatter_steps = 0;  // their schedules have no steps
  }
  return result;
}

TEST(Fields, ComeBackFromFiles) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const Result result = any_result(dice);
    const std::string text = to_json(result);
    const Result back = result_from_json(text, "test");
    ASSERT_EQ(back, result) << seed;
    ASSERT_EQ(to_json(back), text) << seed;
  }
}

TEST(Fields, OfHierarchiesComeBackFromFiles) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    Hierarchy hierarchy{.name = "h", .levels = {dice.any<Level>(), dice.any<Level>()}};
    for (int i = 0; i < 2; ++i) {
      Level& level = hierarchy.levels[i];
      level.name = "level " + std::to_string(i);
      level.fan_out = i + 2;
      level.link.shape = dice.coin() ? LinkModel::Shape::Ring : LinkModel::Shape::Switch;
      if (level.link.shape != LinkModel::Shape::Ring) level.link.detour = {};
      if (level.link.shape != LinkModel::Shape::Ring || level.link.exit || level.link.detour)
        level.link.host = {};
      else if (level.link.host)
        level.link.host->socket.children = level.link.host->uplink.children;
    }
    ASSERT_EQ(hierarchy_from_json(to_json(hierarchy), "test"), hierarchy) << to_json(hierarchy);
  }
}

// A number beyond its range is refused, with the place.
TEST(Fields, AreInTheirRanges) {
  Dice dice(1);
  const Result good = any_result(dice);
  const auto refuses = [&](const char* place, auto spoil) {
    Result bad = good;
    spoil(bad);
    EXPECT_THAT(test::refusal_of([&] { result_from_json(to_json(bad), "f.json"); }),
                HasSubstr("f.json: " + std::string(place) + ": "));
  };
  refuses("space.min_chunks", [](Result& r) { r.space.min_chunks = 0; });
  refuses("space.max_chunks", [](Result& r) { r.space.min_chunks = 7, r.space.max_chunks = 6; });
  refuses("space.max_steps", [](Result& r) { r.space.max_steps = -1; });
  refuses("limits.time_ms", [](Result& r) { r.limits.time_ms = -1; });
  refuses("openings[1].steps", [](Result& r) { r.openings[1].steps = 1'000'000'001; });
  refuses("claims[2].chunks", [](Result& r) { r.claims[2].chunks = 0; });
  refuses("claims[0].chunks",
          [](Result& r) { r.claims[0].any_chunks = true, r.claims[0].chunks = kMostPerRate + 1; });
  refuses("points[0].seconds", [](Result& r) { r.points[0].seconds = -1; });
  refuses("topology.links[3].src", [](Result& r) { r.topology.links[3].src = 5; });
  refuses("topology.limits[0].bandwidth", [](Result& r) { r.topology.limits[0].bandwidth = 0; });
}

}  // namespace
}  // namespace chorale
