// Names of failures, and the machines that they name.
#include <gtest/gtest.h>

#include <set>

#include "ir/error.h"
#include "topology/changes.h"
#include "topology/machines.h"

namespace chorale {
namespace {

// A ring of four has four cables and four ranks; dgx-h100:2 one cable per rank to its switches inside, one
// NIC each, and nothing between switches.
TEST(SingleFailures, AreEachCableAndEachRank) {
  EXPECT_EQ(single_failures(load_topology("ring:4")),
            (std::vector<std::string>{"link 0-1", "link 0-3", "link 1-2", "link 2-3", "rank 0", "rank 1",
                                      "rank 2", "rank 3"}));
  const Topology one_way{.name = "one way", .ranks = 2, .links = {{.src = 0, .dst = 1}}};
  EXPECT_EQ(single_failures(one_way), (std::vector<std::string>{"link 0>1", "rank 0", "rank 1"}));
}

// Each name is of the machine without just these links, or that rank.
TEST(SingleFailures, NameMachines) {
  for (const char* const spec :
       {"ring:4", "torus:2x4", "dgx1", "dgx-h100:2", "mi250:1", "leaf-spine:2x2x1"}) {
    const Topology whole = load_topology(spec);
    std::set<std::string> seen;
    std::size_t links = 0;
    for (const std::string& failure : single_failures(whole)) {
      EXPECT_TRUE(seen.insert(failure).second);
      const std::string name = std::string(spec) + " without " + failure;
      EXPECT_TRUE(is_machine(name));
      const Topology left = load_topology(name);
      const NamedChanges named = split_failure(name);
      EXPECT_EQ(named.machine, spec);
      EXPECT_EQ(named.failure, failure);
      EXPECT_EQ(left, changed(whole, named.changes));
      if (failure.starts_with("rank")) {
        EXPECT_EQ(left.ranks, whole.ranks - 1);
      } else {
        EXPECT_EQ(left.ranks, whole.ranks);
        EXPECT_LT(left.links.size(), whole.links.size());
        links += whole.links.size() - left.links.size();
      }
    }
    EXPECT_EQ(links, whole.links.size()) << spec;  // each link fails once
  }
}

TEST(SingleFailures, RefuseOtherNames) {
  EXPECT_EQ(split_failure("ring:4").failure, "");
  EXPECT_THROW(split_failure("ring:4 without cake"), InputError);
  for (const char* const wrong : {"ring:4 without link 0-2", "ring:4 without link 0", "ring:4 without rank 4",
                                  "ring:4 without rank x", "nothing:4 without rank 1"})
    EXPECT_THROW(load_topology(wrong), InputError) << wrong;
}

}  // namespace
}  // namespace chorale
