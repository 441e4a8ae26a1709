// Machines of GPUs on PCI alone by their islands, and whether reads or writes of peers are faster there.
#include <gtest/gtest.h>

#include "tests/kit/refusal.h"
#include "topology/hardware/peer_access.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// The same links and limits, of another name.
void expect_same(const std::string& a, const std::string& b) {
  Topology one = load_topology(a), other = load_topology(b);
  one.name = other.name = "";
  EXPECT_EQ(one, other) << a << " " << b;
}

TEST(Boxes, IslandsAreHalvesOfTwoCpusOrAllOfOne) {
  expect_same("pcie:2x4", "pcie:2x1x4");
  expect_same("pcie:4x4", "pcie:2x2x4");
  expect_same("pcie:3x2", "pcie:1x3x2");
  expect_same("rtx-pro-6000:1x4", "rtx-pro-6000:1x1x4");
  for (const char* wrong : {"pcie:8", "pcie:2x0", "pcie:0x4", "pcie:1x1"})
    EXPECT_NE(test::refusal_of([&] { load_topology(wrong); }, "no error").find("islands x GPUs of one"),
              std::string::npos)
        << wrong;
}

// By PCI's generation, with its switches or without; of machines whose fastest links are others, of several
// nodes and of those without labels nothing is known.
TEST(Boxes, ReadsAreFasterWhereTheFactsHaveThem) {
  for (const char* machine : {"rtx-pro-6000:4x4", "rtx-5090:1x2", "rtx-pro-6000:2x0x2"}) {
    EXPECT_TRUE(reads_are_faster(load_topology(machine))) << machine;
    EXPECT_TRUE(reads_are_faster(flatten(load_topology(machine)))) << machine;
  }
  for (const char* machine : {"pcie:2x4", "a800-pcie:2x4", "l40s:1x8"}) {
    const Topology flat = flatten(load_topology(machine));
    ASSERT_NE(pci_between_gpus(flat), nullptr) << machine;
    EXPECT_EQ(pci_between_gpus(flat)->generation, 4);
    EXPECT_FALSE(reads_are_faster(flat));
  }
  for (const char* machine : {"rtx-pro-6000:2x2x1x4", "dgx-h100:1", "full:4", "dgx1", "hgx-h100-4"})
    EXPECT_EQ(pci_between_gpus(load_topology(machine)), nullptr) << machine;
}

}  // namespace
}  // namespace chorale
