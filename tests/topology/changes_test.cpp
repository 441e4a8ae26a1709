#include "topology/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/kit/refusal.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& machine, const MachineChanges& changes) {
  return test::refusal_of([&] { load_topology(machine, changes); }, "accepted");
}

TEST(Changes, AFailedCableIsGoneBothWays) {
  const Topology t = load_topology("ring:8", {.without_links = {"0-1"}});
  EXPECT_EQ(t.links.size(), 14U);
  EXPECT_EQ(find_link(t, 0, 1), -1);
  EXPECT_EQ(find_link(t, 1, 0), -1);
  EXPECT_THAT(t.name, HasSubstr("ring:8 without link 0-1"));
  const Topology one_way = load_topology("ring:8", {.without_links = {"0>1"}});
  EXPECT_EQ(find_link(one_way, 0, 1), -1);
  EXPECT_NE(find_link(one_way, 1, 0), -1);
}

// A cable has one name, that of its ends by label or by number; an importer may make two nodes of a part, one
// for each direction. Labels may have a dash.
TEST(Changes, CablesHaveTheNamesOfTheirEnds) {
  const Topology whole = load_topology("rtx-4090:2x0x2");  // gpu0 and gpu1 below cpu 0, rank 4
  for (const char* name : {"gpu0-cpu 0", "GPU0-CPU 0", "cpu 0-gpu0", "0-switch0"}) {
    const Topology t = load_topology("rtx-4090:2x0x2", {.without_links = {name}});
    EXPECT_EQ(t.links.size(), whole.links.size() - 2) << name;
    EXPECT_EQ(find_link(t, 0, 4), -1) << name;
  }
  EXPECT_EQ(load_topology("rtx-4090:2x0x2", {.without_links = {"gpu0>cpu 0"}}).links.size(),
            whole.links.size() - 1);
  Topology dashed = whole;
  dashed.labels[0].name = "gpu-a (0000:1d:00.0)";
  dashed.labels[4].name = "cpu>0 in";
  EXPECT_EQ(changed(dashed, {.degraded = {"gpu-a-cpu>0=0.5"}}).links.size(), whole.links.size());
  EXPECT_EQ(changed(dashed, {.without_links = {"gpu-a-cpu>0"}}).links.size(), whole.links.size() - 2);
  EXPECT_THAT(refusal("rtx-4090:2x0x2", {.without_links = {"gpu0-gpu3"}}),
              HasSubstr("has no link gpu0-gpu3"));
}

// A GPU has its name as a rank, and alone for all of its links, where nodes have labels and where not.
TEST(Changes, AGpuHasANameOfItsOwn) {
  for (const auto& [machine, name, number] : {std::tuple{"dgx1", "gpu5", "5"},
                                              {"dgx-h100:2", "GPU13", "13"},
                                              {"rtx-4090:2x0x2", "gpu1", "1"},
                                              {"hub:4", "gpu0", "0"}}) {
    const Topology whole = load_topology(machine), t = load_topology(machine, {.without_links = {name}});
    const Rank n = std::stoi(number);
    EXPECT_EQ(std::ranges::count_if(t.links, [&](const Link& l) { return l.src == n || l.dst == n; }), 0);
    EXPECT_EQ(t.links.size(),
              std::ranges::count_if(whole.links, [&](const Link& l) { return l.src != n && l.dst != n; }))
        << machine;
    Topology by_name = load_topology(machine, {.without_ranks = {name}}),
             by_number = load_topology(machine, {.without_ranks = {number}});
    by_name.name = by_number.name;
    EXPECT_EQ(by_name, by_number) << machine;
    EXPECT_EQ(ranks_gone(whole, {.without_ranks = {number, name}}), std::vector<Rank>{n});
  }
  const Topology spine = load_topology("leaf-spine:2x2x2");
  EXPECT_EQ(load_topology("leaf-spine:2x2x2", {.without_links = {"switch2"}}).links.size(),
            std::ranges::count_if(spine.links, [&](const Link& l) {
              return l.src != spine.ranks + 2 && l.dst != spine.ranks + 2;
            }));
  Topology shared = load_topology("ring:4");  // ranks 1 and 2 on one GPU
  for (const char* label : {"gpu3", "gpu1", "gpu1", "gpu-b"}) shared.labels.push_back({"gpu", label});
  EXPECT_EQ(ranks_gone(shared, {.without_ranks = {"gpu1"}}), (std::vector<Rank>{1, 2}));
  EXPECT_EQ(ranks_gone(shared, {.without_ranks = {"gpu3", "3"}}), (std::vector<Rank>{0, 3}));
  EXPECT_EQ(changed(shared, {.without_links = {"gpu-b"}}).links.size(), 4U);
  EXPECT_THAT(test::refusal_of([&] { changed(shared, {.without_ranks = {"gpu0"}}); }),
              HasSubstr("'gpu0' is not a rank of ring:4; use 0 to 3, or a name such as gpu3"));
  EXPECT_THAT(refusal("leaf-spine:2x2x2", {.without_ranks = {"switch0"}}), HasSubstr("is not a rank"));
  EXPECT_THAT(refusal("ring:4", {.without_links = {"gpu4"}}), HasSubstr("'gpu4' names no link"));
}

// The limits of a hub are its ports: rank 2's are gone with it, those of others hold what is left.
TEST(Changes, ARankIsGoneWithItsPorts) {
  const Topology t = load_topology("hub:4", {.without_ranks = {"2"}});
  EXPECT_EQ(t.ranks, 3);
  EXPECT_EQ(t.links.size(), 6U);
  ASSERT_EQ(t.limits.size(), 6U);
  for (const SharedLimit& limit : t.limits) {
    EXPECT_EQ(limit.links.size(), 2U);
    std::set<Node> ends;
    for (LinkId l : limit.links) ends.insert({t.links[l].src, t.links[l].dst});
    EXPECT_EQ(ends.size(), 3U);  // the port's own and both others
  }
  EXPECT_TRUE(levels_of(t).hierarchy.has_value());  // a hub again
}

// Half of one chunk per round: everything else is two, in units of half the size.
TEST(Changes, ASlowLinkKeepsAllOtherRates) {
  const Topology whole = load_topology("dgx1"), t = load_topology("dgx1", {.degraded = {"0-2=0.5"}});
  ASSERT_EQ(t.links.size(), whole.links.size());
  for (std::size_t l = 0; l < t.links.size(); ++l) {
    const Link &before = whole.links[l], &after = t.links[l];
    const bool slow = before.src + before.dst == 2 && before.src != 1;
    EXPECT_DOUBLE_EQ(after.bandwidth / after.beta_us_per_byte,
                     before.bandwidth / before.beta_us_per_byte * (slow ? 0.5 : 1));
  }
  // Where it is an integer already, nothing is scaled: 0-1 has two NVLinks.
  EXPECT_EQ(load_topology("dgx1", {.degraded = {"0-1=0.5"}}).links.front().beta_us_per_byte,
            whole.links.front().beta_us_per_byte);
}

// Switches have names, too, and what fails is a cable to one: made before routes are.
TEST(Changes, OfMachinesWithSwitches) {
  const Topology t = load_topology("leaf-spine:2x2x2", {.without_links = {"switch0-switch2"}});
  EXPECT_EQ(t.links.size(), load_topology("leaf-spine:2x2x2").links.size() - 2);
  EXPECT_EQ(flatten(t).links.size(), 12U);  // one spine joins the leaves: a way for each pair
}

// Results have machines whose links are chosen routes: what fails is below these. Removed from the routes
// alone, it was still there for the bounds, and a rank that was gone stopped the search.
TEST(Changes, OfChosenRoutesAreOfTheMachineBelow) {
  const Topology described = load_topology("fat-tree:8"), flat = flatten(described);
  ASSERT_TRUE(flat.underlay.has_value());
  for (const MachineChanges& changes :
       {MachineChanges{.without_links = {"0-switch16"}}, MachineChanges{.without_ranks = {"1", "5"}},
        MachineChanges{.degraded = {"switch0-switch20=0.5"}}})
    EXPECT_EQ(changed(flat, changes), changed(described, changes));
}

// A machine without switch nodes has their ports as limits: one of them is half of what the others are.
TEST(Changes, OfALimitByItsName) {
  const Topology whole = load_topology("hub:5"), t = load_topology("hub:5", {.degraded = {"Port in 2=0.5"}});
  ASSERT_EQ(t.limits.size(), whole.limits.size());
  for (std::size_t i = 0; i < t.limits.size(); ++i)
    EXPECT_EQ(t.limits[i].bandwidth * (t.limits[i].name == "port in 2" ? 2 : 1),
              2 * whole.limits[i].bandwidth);
  for (const Link& link : t.links) EXPECT_EQ(link.bandwidth, 2 * whole.links.front().bandwidth);
  EXPECT_THAT(refusal("hub:5", {.degraded = {"0-switch0=0.5"}}),
              HasSubstr("use 0 to 4, or a shared limit, such as 'port out 0=0.5'"));
  EXPECT_THAT(refusal("hub:5", {.without_links = {"0-switch0"}}), testing::EndsWith("use 0 to 4"));
}

// Of random changes: what is left is just what was not named.
TEST(Changes, LeaveTheRestAsItIs) {
  std::mt19937 random(11);
  for (const char* name : {"dgx1", "torus:3x3", "hub:5", "dgx-a100:2", "leaf-spine:2x3x2"})
    for (int trial = 0; trial < 20; ++trial) {
      const Topology whole = load_topology(name);
      const Rank gone = static_cast<Rank>(random() % whole.ranks);
      const Topology t = load_topology(name, {.without_ranks = {std::to_string(gone)}});
      std::multiset<std::vector<int>> expected, found;
      const auto moved = [&](Node n) { return n > gone ? n - 1 : n; };
      for (const Link& l : whole.links)
        if (l.src != gone && l.dst != gone) expected.insert({moved(l.src), moved(l.dst), l.bandwidth});
      for (const Link& l : t.links) found.insert({l.src, l.dst, l.bandwidth});
      EXPECT_EQ(found, expected) << name << " without " << gone;
      for (const SharedLimit& limit : t.limits)
        for (LinkId l : limit.links) EXPECT_LT(l, static_cast<LinkId>(t.links.size()));
    }
}

TEST(Changes, RefusesInOneLine) {
  EXPECT_THAT(refusal("ring:4", {.without_links = {"0-2"}}),
              HasSubstr("ring:4 has no link 0-2; 0 has one to 1"));
  EXPECT_THAT(refusal("fat-tree:4", {.without_links = {"0-1"}}),
              HasSubstr("has no link 0-1; 0 has one to switch"));
  EXPECT_THAT(refusal("ring:4", {.without_links = {"0"}}), HasSubstr("'0' names no link"));
  EXPECT_THAT(refusal("ring:4", {.without_links = {"0-9"}}),
              HasSubstr("'9' is not a rank or switch of ring:4; use 0 to 3"));
  EXPECT_THAT(refusal("ring:4", {.without_links = {"0-switch1"}}),
              HasSubstr("'switch1' is not a rank or switch"));
  EXPECT_THAT(refusal("ring:4", {.without_ranks = {"4"}}), HasSubstr("'4' is not a rank of ring:4"));
  EXPECT_THAT(refusal("ring:2", {.without_ranks = {"0", "1"}}), HasSubstr("leaves no rank"));
  EXPECT_THAT(refusal("ring:4", {.degraded = {"0-1"}}), HasSubstr("has no fraction"));
  for (const char* part : {"0", "1", "-1", "nan", "2", "1e-9", "", "half"})
    EXPECT_THAT(refusal("ring:4", {.degraded = {"0-1=" + std::string(part)}}),
                HasSubstr("is not a fraction of a bandwidth"));
}

}  // namespace
}  // namespace chorale
