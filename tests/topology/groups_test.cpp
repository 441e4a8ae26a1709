#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "ir/words.h"
#include "tests/kit/random.h"
#include "topology/wiring/all_groups.h"
#include "topology/wiring/isomorphism.h"

namespace chorale {
namespace {

using test::below;

// OEIS A000001, from order 1 on.
constexpr int kGroups[] = {1,   1, 1,  2, 1, 2,  1, 5, 2,  2, 1,  5,  1, 2,  1,  14, 1,  5,  1,  5, 2,
                           2,   1, 15, 2, 2, 5,  4, 1, 4,  1, 51, 1,  2, 1,  14, 1,  2,  2,  14, 1, 6,
                           1,   4, 2,  2, 1, 52, 2, 5, 1,  5, 1,  15, 2, 13, 2,  2,  1,  13, 1,  2, 4,
                           267, 1, 4,  1, 5, 1,  4, 1, 50, 1, 2,  3,  4, 1,  6,  1,  52, 15, 2,  1, 15};

TEST(Groups, AreAsManyOfEachOrderAsAreKnown) {
  for (int order = 1; order <= 80; ++order)
    EXPECT_EQ(std::ssize(groups_of(order)), kGroups[order - 1]) << order;
  EXPECT_EQ(groups_of(84).size(), 15U);
  EXPECT_EQ(groups_of(112).size(), 43U);
  EXPECT_EQ(groups_of(120).size(), 47U);
}

TEST(Groups, AreGroups) {
  std::mt19937 random(1);
  for (const int order : {1, 2, 4, 6, 8, 12, 15, 21, 24, 27, 32, 60, 63, 75, 120, 128, 243}) {
    std::set<std::string> names;
    for (const Group& group : groups_of(order)) {
      ASSERT_EQ(group.order, order) << group.name;
      EXPECT_TRUE(names.insert(group.name).second) << group.name;
      for (int i = 0; i < 200; ++i) {
        const int a = below(random, order), b = below(random, order), c = below(random, order);
        EXPECT_EQ(group.product(group.product(a, b), c), group.product(a, group.product(b, c))) << group.name;
        EXPECT_EQ(group.product(a, group.inverses[a]), 0) << group.name;
        EXPECT_EQ(group.product(0, a), a);
      }
      for (const std::vector<int>& map : automorphisms(group, 100)) {
        const int a = below(random, order), b = below(random, order);
        EXPECT_EQ(map[group.product(a, b)], group.product(map[a], map[b])) << group.name;
        EXPECT_EQ(std::set(map.begin(), map.end()).size(), map.size()) << group.name;
      }
    }
  }
  // Units of Z16, GL(2,2), the holomorph of Z4 over its centre, S4 of both Q8 and SL(2,3), GL(4,2).
  EXPECT_EQ(automorphisms(cyclic_product({16}), 1'000).size(), 8U);
  EXPECT_EQ(automorphisms(cyclic_product({2, 2}), 1'000).size(), 6U);
  EXPECT_EQ(automorphisms(semidirect_product(4, 2, 3), 1'000).size(), 8U);
  EXPECT_EQ(automorphisms(dicyclic(2), 1'000).size(), 24U);
  EXPECT_EQ(automorphisms(alternating_of_five(), 1'000).size(), 120U);
  EXPECT_EQ(automorphisms(special_linear_of_five(), 1'000).size(), 120U);
  EXPECT_EQ(automorphisms(cyclic_product({2, 2, 2, 2}), 50'000).size(), 20'160U);
}

// Renumbered at random, a group is the same one; of all of an order, no other is.
TEST(Groups, AreIsomorphicToTheirRenumberingsOnly) {
  std::mt19937 random(2);
  for (const int order : {8, 16, 24, 27, 32, 36, 60}) {
    const std::vector<Group> groups = groups_of(order);
    for (const Group& group : groups) {
      std::vector<int> to(order);
      for (int a = 0; a < order; ++a) to[a] = a;
      for (int a = order - 1; a > 1; --a) std::swap(to[a], to[1 + below(random, a)]);
      Group other{.order = order};
      other.products.resize(group.products.size());
      other.inverses.resize(order);
      for (int a = 0; a < order; ++a) {
        other.inverses[to[a]] = static_cast<std::uint16_t>(to[group.inverses[a]]);
        for (int b = 0; b < order; ++b)
          other.products[to[a] * order + to[b]] = static_cast<std::uint16_t>(to[group.product(a, b)]);
      }
      const auto colors = element_colors(other);
      for (const Group& each : groups)
        EXPECT_EQ(is_isomorphic(each, element_colors(each), other, colors), &each == &group)
            << each.name << ", " << group.name;
    }
  }
}

// A word is brought into the order of the digits by the relations alone, as they are printed: what this makes
// of the word of a followed by that of b is the word of a b. So the relations define the group.
TEST(Groups, AreDefinedByTheirRelations) {
  std::mt19937 random(3);
  const auto letters = [](const std::string& word) {
    std::string all;
    for (const std::string& power : split(word, ' '))
      if (power != "1") all += std::string(power.size() > 1 ? std::stoul(power.substr(2)) : 1, power[0]);
    return all;
  };
  for (const int order : {6, 8, 12, 16, 24, 32, 48, 54})
    for (const Group& group : groups_of(order)) {
      std::map<std::string, std::string> rules;
      for (std::string each : split(relations(group), ',')) {
        if (each[0] == ' ') each = each.substr(1);
        const std::size_t equals = each.find(" = ");
        rules[letters(each.substr(0, equals))] = letters(each.substr(equals + 3));
      }
      for (int f = 0; f < std::ssize(group.factors); ++f)
        for (int g = 0; g < f; ++g) {
          const std::string back = {static_cast<char>('a' + f), static_cast<char>('a' + g)};
          rules.try_emplace(back, std::string(back.rbegin(), back.rend()));
        }
      const auto word = [&](int element) {
        std::string all;
        for (std::size_t f = 0; f < group.factors.size(); ++f)
          all += std::string(element / group.generator(f) % group.factors[f], static_cast<char>('a' + f));
        return all;
      };
      for (int i = 0; i < 20; ++i) {
        const int a = below(random, order), b = below(random, order);
        std::string at = word(a) + word(b);
        for (bool more = true; more;) {
          more = false;
          for (const auto& [left, right] : rules)
            if (const std::size_t place = at.find(left); place != std::string::npos) {
              at.replace(place, left.size(), right);
              more = true;
            }
          ASSERT_LT(at.size(), 10'000U) << group.name;
        }
        EXPECT_EQ(at, word(group.product(a, b))) << group.name << ": " << relations(group);
      }
    }
}

// Against the fewest elements that generate the group, all tried.
TEST(Groups, LeastGeneratorsAreNoMoreThanItTakes) {
  for (const int order : {4, 6, 8, 12, 16, 18, 24, 27})
    for (const Group& group : groups_of(order)) {
      const auto generate = [&](const std::vector<int>& elements) {
        std::vector<bool> reached(order, false);
        std::vector<int> queue = {0};
        reached[0] = true;
        for (std::size_t i = 0; i < queue.size(); ++i)
          for (const int element : elements)
            if (const int next = group.product(queue[i], element); !reached[next]) {
              reached[next] = true;
              queue.push_back(next);
            }
        return static_cast<int>(queue.size()) == order;
      };
      int fewest = 1;
      for (bool found = false; !found; fewest += found ? 0 : 1) {
        std::vector<int> elements(fewest, 0);
        for (std::size_t at = 0; at < elements.size() && !found;) {
          found = generate(elements);
          for (at = 0; at < elements.size() && ++elements[at] == order; ++at) elements[at] = 0;
        }
      }
      EXPECT_LE(least_generators(group), fewest) << group.name;
      if (std::set<int>{4, 8, 16, 27}.contains(order)) {
        EXPECT_EQ(least_generators(group), fewest) << group.name;
      }
    }
}

TEST(Groups, HaveTheNamesPeopleKnow) {
  const std::map<int, std::vector<std::string>> known = {{8, {"Q8", "D4", "Z2^3"}},
                                                         {12, {"A4", "Z2 x Z6"}},
                                                         {16, {"Q16", "D4 x Z2"}},
                                                         {24, {"S4", "SL(2,3)", "A4 x Z2", "Dic6"}},
                                                         {60, {"A5", "A4 x Z5"}},
                                                         {64, {"Z4 x| Z16 by 3", "Z2^3 x| Z8"}},
                                                         {120, {"S5", "SL(2,5)", "A5 x Z2"}},
                                                         {128, {"D64"}}};
  for (const auto& [order, names] : known) {
    const std::vector<Group> groups = groups_of(order);
    for (const std::string& name : names)
      EXPECT_EQ(std::ranges::count(groups, name, &Group::name), 1) << order << ", " << name;
  }
}

TEST(Groups, StopWhenAsked) {
  const std::atomic<bool> stop = true;
  EXPECT_LT(groups_of(64, &stop).size(), 267U);
}

}  // namespace
}  // namespace chorale
