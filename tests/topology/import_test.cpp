// Small texts of each format, whose machines can be worked out by hand; and real files.
#include "topology/import/import.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <random>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "tests/kit/refusal.h"
#include "tests/kit/seeds.h"
#include "topology/import/fit.h"
#include "topology/import/host.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using testing::Contains;
using testing::HasSubstr;

Import import_of(const std::string& text, const ImportOptions& options = {}) {
  return imported({{"a.file", text}}, options);
}

// Chunks a round from one node to another, over all links.
int between(const Topology& machine, Node a, Node b) {
  int sum = 0;
  for (const Link& link : machine.links) sum += link.src == a && link.dst == b ? link.bandwidth : 0;
  return sum;
}

std::string refusal(const std::string& text, const ImportOptions& options = {}) {
  return test::refusal_of([&] { import_of(text, options); }, "accepted");
}

// Of random rates: within the error, and no smaller integers for the slowest are, which trying them all
// shows.
TEST(Fit, IsTheSmallestWithinTheError) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> rates;
    for (int i = 0; i < 1 + round % 4; ++i) rates.push_back(1 + random() % 1000 / 10.0);
    const double error = 0.01 + random() % 10 / 100.0;
    const RateFit fit = fitted(rates, error);
    const double slowest = *std::min_element(rates.begin(), rates.end());
    int of_slowest = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      EXPECT_NEAR(fit.units[i] * fit.unit_gbs, rates[i], rates[i] * error * 1.0001) << round;
      if (rates[i] == slowest) of_slowest = fit.units[i];
    }
    for (int q = 1; q < of_slowest; ++q)
      for (int step = 0; step <= 200; ++step) {
        const double unit = slowest / q * (1 - 0.999 * error + 1.998 * error * step / 200);
        const bool all = std::all_of(rates.begin(), rates.end(), [&](double rate) {
          return std::abs(std::max(1.0, std::round(rate / unit)) * unit - rate) <= rate * error * 0.999;
        });
        EXPECT_FALSE(all) << "round " << round << ": " << q << " would do, not " << of_slowest;
      }
  }
}

TEST(Fit, RefusesWhatNoIntegersCanSay) {
  EXPECT_THROW(fitted(std::vector<double>{1e-6, 1e6}, 0.05), InputError);
}

std::string gpu(int n, const std::string& links) {
  return "<pci busid=\"0:" + std::to_string(n) +
         "\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"><gpu dev=\"" + std::to_string(n) +
         "\" sm=\"80\" rank=\"" + std::to_string(n) + "\">" + links + "</gpu></pci>";
}

std::string nvlink(const std::string& target, int count, const std::string& kind) {
  return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" + kind +
         "\"/>";
}

std::string nccl(const std::string& inside) {
  return "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"23\" "
         "modelid=\"49\">" +
         inside + "</cpu></system>";
}

// Three GPUs in a row: two NVLinks, then one. PCI is left out: NVLinks join all.
TEST(NcclXml, NvlinksCount) {
  const Import import = import_of(nccl(gpu(0, nvlink("0:1", 2, "0x030200")) +
                                       gpu(1, nvlink("0:0", 2, "0x030200") + nvlink("0:2", 1, "0x0302")) +
                                       gpu(2, nvlink("0:1", 1, "0x030200"))));
  EXPECT_EQ(import.machine.ranks, 3);
  EXPECT_EQ(import.machine.switches, 0);
  EXPECT_EQ(between(import.machine, 0, 1), 2);
  EXPECT_EQ(between(import.machine, 1, 0), 2);
  EXPECT_EQ(between(import.machine, 1, 2), 1);
  EXPECT_EQ(between(import.machine, 0, 2), 0);
  EXPECT_DOUBLE_EQ(import.unit_gbs, 20);  // one NVLink of an A100, as NCCL counts
}

// Two switches with two and one NVLink of every GPU are one with three.
TEST(NcclXml, NvswitchesThatActAsOneAreOne) {
  const std::string links = nvlink("1:0", 2, "0x068000") + nvlink("1:1", 1, "0x068000");
  const Import import = import_of(nccl(gpu(0, links) + gpu(1, links) + gpu(2, links)));
  EXPECT_EQ(import.machine.switches, 1);
  EXPECT_EQ(import.machine.links.size(), 6U);
  EXPECT_DOUBLE_EQ(import.unit_gbs, 60);
}

// With other shares they stay two: the second joins GPUs 0 and 1 only, so it is just a link between them.
TEST(NcclXml, OtherNvswitchesStay) {
  const std::string links = nvlink("1:0", 2, "0x068000") + nvlink("1:1", 1, "0x068000");
  const Import import = import_of(nccl(gpu(0, links) + gpu(1, links) + gpu(2, nvlink("1:0", 2, "0x068000"))));
  EXPECT_EQ(import.machine.switches, 1);
  EXPECT_EQ(between(import.machine, 0, 1), 1);
  EXPECT_EQ(between(import.machine, 0, 3), 2);
  EXPECT_EQ(between(import.machine, 3, 2), 2);
}

// No NVLinks: the tree of PCI, in which both GPUs of a switch share its way up (gen 4 x16 below, gen 3 x16
// above).
TEST(NcclXml, PciIsATreeOfSharedLinks) {
  const auto under = [](int bus, const std::string& inside) {
    return "<pci busid=\"9:" + std::to_string(bus) +
           "\" class=\"0x060400\" link_speed=\"8 GT/s\" link_width=\"16\">" + inside + "</pci>";
  };
  const Import import =
      import_of(nccl(under(0, gpu(0, "") + gpu(1, "")) + under(1, gpu(2, "") + gpu(3, ""))));
  const Topology& machine = import.machine;
  ASSERT_EQ(machine.switches, 2);  // the CPU is just between them
  EXPECT_EQ(between(machine, 0, 4), 2);
  EXPECT_EQ(between(machine, 4, 5), 1);
  EXPECT_DOUBLE_EQ(import.unit_gbs, 13);
  EXPECT_EQ(flatten(machine).links.size(), 12U);
}

// Two nodes of two GPUs, one NIC each: the way out of a node is shared, and as fast as the NIC.
TEST(NcclXml, NodesAreJoinedByTheirNics) {
  const std::string links = nvlink("1:0", 5, "0x068000");
  const std::string node =
      nccl("<pci busid=\"9:0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">" + gpu(0, links) +
           gpu(1, links) +
           "<pci busid=\"2:0\" class=\"0x020000\" link_speed=\"16 GT/s\" link_width=\"16\"><nic><net "
           "name=\"mlx5_0\" dev=\"0\" speed=\"100000\" port=\"1\"/></nic></pci></pci>");
  const Import import = imported({{"0.xml", node}, {"1.xml", node}});
  EXPECT_EQ(import.machine.ranks, 4);
  const Topology flat = flatten(import.machine);
  for (Rank a : {0, 1})
    for (Rank b : {2, 3}) EXPECT_EQ(between(flat, a, b), 1);  // 12.5 of 100 GB/s
  EXPECT_EQ(between(flat, 0, 1), 8);                          // and not round by the network
  const Import asked = imported({{"0.xml", node}, {"1.xml", node}}, {.network_within_nodes = true});
  EXPECT_EQ(between(flatten(asked.machine), 0, 1), 8 + 1);
  int limits = 0;
  for (const SharedLimit& limit : flat.limits) limits += limit.bandwidth == 1 && limit.links.size() >= 4;
  EXPECT_EQ(limits, 2);  // out of the one node is into the other
  const Topology four = flatten(imported({{"0.xml", node}}, {.nodes = 4}).machine);
  EXPECT_EQ(std::ranges::count(four.limits, 1, &SharedLimit::bandwidth),
            8);  // out of each node, and into each
  for (const SharedLimit& limit : four.limits)
    EXPECT_TRUE(limit.bandwidth > 1 || limit.links.size() == 2U * 6U);
  const Import same = imported({{"0.xml", node}}, {.nodes = 2});
  EXPECT_EQ(same.machine.links, import.machine.links);
}

Import of_folder(const std::string& file, const ImportOptions& options = {}) {
  const std::string path = CHORALE_SOURCE "/tests/data/" + file;
  return imported({{path, read_file(path)}}, options);
}

double into(const Import& import, Node node) {
  double gbs = 0;
  for (const Link& link : import.machine.links)
    gbs += link.dst == node ? link.bandwidth * import.unit_gbs : 0;
  return gbs;
}

// A GPU of GB300 has 18 NVLinks of 40.1 GB/s to the switch. Its C2C leads to the CPU, and so to NICs: no
// other GPU is reached over it, and nothing but NVLink is between the four.
TEST(NcclXml, C2cJoinsNoGpus) {
  const Import import = of_folder("repro/public/gb300_tray.xml");
  EXPECT_EQ(import.machine.switches, 1);
  for (Rank n = 0; n < 4; ++n) EXPECT_NEAR(into(import, n), 18 * 40.1, 0.1);
  EXPECT_THAT(import.assumed, testing::Not(Contains(HasSubstr("does not join all GPUs"))));
  // Two trays: each GPU sends through C2C and its NIC of 800 Gb/s, not through two lanes of PCI.
  const Topology two = flatten(of_folder("repro/public/gb300_tray.xml", {.nodes = 2}).machine);
  double out = 0;
  for (const SharedLimit& limit : two.limits)
    if (std::ranges::any_of(limit.links, [&](LinkId l) { return two.links[l].dst >= 4; }))
      out = std::max(out, limit.bandwidth * 1e-3 / two.links.front().beta_us_per_byte);
  EXPECT_GT(out, 0.9 * 97.5);
}

// Two ranks of a GPU have its 18 NVLinks together: all that leaves a GPU for the other one is 721.8 GB/s.
TEST(NcclXml, RanksOfOneGpuShareItsLinks) {
  const Import import = of_folder("repro/public/two_ranks_one_gpu.xml");
  EXPECT_EQ(import.machine.ranks, 4);
  EXPECT_THAT(import.read, Contains(HasSubstr("4 ranks share GPUs")));
  const Topology flat = flatten(import.machine);
  bool limited = false;
  for (const SharedLimit& limit : flat.limits) {
    const auto leaves = [&](LinkId l) { return flat.links[l].src < 2 && flat.links[l].dst >= 2; };
    if (std::ranges::count_if(limit.links, leaves) == 4)  // 2 x 2 pairs
      limited = limited || limit.bandwidth * 1e-3 / flat.links.front().beta_us_per_byte < 1.05 * 721.8;
  }
  EXPECT_TRUE(limited);
}

// One NIC near both CPUs is listed under each, and carries 50 GB/s, not 100; CPUs of two hosts have no link.
TEST(NcclXml, DevicesAreCountedOnce) {
  const auto cpu = [](int n, const std::string& host, const std::string& inside) {
    return fmt::format(R"(<cpu numaid="{}" host_hash="{}" arch="x86_64" vendor="AuthenticAMD">{}</cpu>)", n,
                       host, inside);
  };
  const std::string net = R"(<nic><net name="mlx5_0" guid="0x7" port="1" speed="400000"/></nic>)";
  const auto system = [](const std::string& cpus) { return "<system version=\"1\">" + cpus + "</system>"; };
  const std::string links = nvlink("1:0", 5, "0x068000");
  const Import one =
      import_of(system(cpu(0, "a", gpu(0, links) + net) + cpu(1, "a", gpu(1, links) + net)), {.nodes = 2});
  EXPECT_THAT(one.read, Contains(HasSubstr("1 further entry of NICs")));
  double most = 0;
  const Topology flat = flatten(one.machine);
  for (const SharedLimit& limit : flat.limits)
    if (std::ranges::any_of(limit.links, [&](LinkId l) { return flat.links[l].dst >= 2; }) &&
        std::ranges::all_of(limit.links, [&](LinkId l) { return flat.links[l].src < 2; }) &&
        std::ranges::any_of(limit.links, [&](LinkId l) { return flat.links[l].src == 0; }) &&
        std::ranges::any_of(limit.links, [&](LinkId l) { return flat.links[l].src == 1; }))
      most = std::max(most, limit.bandwidth * 1e-3 / flat.links.front().beta_us_per_byte);
  EXPECT_GT(most, 0);
  EXPECT_LT(most, 1.06 * 48.75);
  // GPUs of two hosts on PCI alone: nothing joins them.
  const Import apart = import_of(system(cpu(0, "a", gpu(0, "")) + cpu(1, "b", gpu(1, ""))));
  EXPECT_EQ(hops(apart.machine, {0})[1], -1);
  EXPECT_NE(hops(import_of(system(cpu(0, "a", gpu(0, "")) + cpu(1, "a", gpu(1, "")))).machine, {0})[1], -1);
}

TEST(Import, ARateAboveTheLineRateIsFlagged) {
  const std::string pair = "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n";
  EXPECT_THAT(import_of(pair, {.nvlink_gbs = 15}).assumed, Contains(HasSubstr("above the line rate")));
  EXPECT_THAT(import_of(pair, {.nvlink_gbs = 14}).assumed, testing::Not(Contains(HasSubstr("above"))));
  EXPECT_NEAR(import_of(pair).unit_gbs, 4 * 12, 1e-9);  // the bridge of two cards of Ampere
  // Four GPUs with four links each to the others are A100.
  EXPECT_NEAR(of_folder("repro/public/quad_mesh.txt").unit_gbs, 4 * 20, 1e-9);
}

// Weights of 15 and 30, and hops of 1 throughout: three links of each GPU, not seven.
TEST(RocmSmi, WeightsDecideWhatIsLinked) {
  const Import import = of_folder("repro/public/rocm_hops_all_one.txt");
  EXPECT_EQ(import.machine.links.size(), 2U * 12U);
  for (Rank n = 0; n < 8; ++n) EXPECT_NEAR(into(import, n), 3 * 36, 1e-6);
}

// Four APUs, each a NUMA node: two links of 48 GB/s to each other; of a card that the text names one of 36.
// Headings of both forms. Of PCI no hops are asked for, and no xGMI is spoken of.
TEST(RocmSmi, NumaNodesAndNamesDecideTheModel) {
  const auto text = [](int gpus, const std::string& type, const std::string& heading,
                       const std::string& more) {
    const auto table = [&](const std::string& title, const std::string& cell) {
      std::string rows = "==== " + title + " between two GPUs ====\n";
      for (int a = -1; a < gpus; ++a) {
        rows += a < 0 ? "" : fmt::format("GPU{}", a);
        for (int b = 0; b < gpus; ++b) rows += a < 0 ? fmt::format(" GPU{}", b) : a == b ? " 0" : " " + cell;
        rows += "\n";
      }
      return rows;
    };
    std::string all = table("Link Type", type) + (type == "XGMI" ? table("Hops", "1") : "") + "====\n" + more;
    for (int n = 0; n < gpus; ++n)
      all += fmt::format(fmt::runtime(heading), n) + fmt::format(" : (Topology) Numa Node: {}\n", n);
    return all;
  };
  for (const char* heading : {"GPU[{}]", "GPU {}"}) {
    const Import apus = import_of(text(4, "XGMI", heading, ""));
    for (Rank n = 0; n < 4; ++n) EXPECT_NEAR(into(apus, n), 3 * 2 * 48, 1e-6);
    EXPECT_THAT(apus.assumed,
                Contains(HasSubstr("MI300A (four bridged MI210 have the same output, 36 GB/s")));
  }
  EXPECT_NEAR(into(import_of(text(4, "XGMI", "GPU {}", "Card series: MI210\n")), 0), 3 * 36, 1e-6);
  const Import pci = import_of(text(2, "PCIE", "GPU {}", ""));
  EXPECT_EQ(pci.machine.ranks, 2);
  for (const std::string& each : pci.assumed) EXPECT_THAT(each, testing::Not(HasSubstr("xGMI")));
}

TEST(NcclXml, SaysOfPciWhatItAssumed) {
  const auto sentences = of_folder("repro/public/h100_vm.xml").assumed;
  EXPECT_THAT(sentences, Contains(HasSubstr("without a width are taken for x16")));
  EXPECT_THAT(sentences, testing::Not(Contains(HasSubstr("GT/s"))));
}

TEST(NcclXml, SaysWhatItLeavesOut) {
  const Import import =
      import_of(nccl(gpu(0, nvlink("0:0", 12, "0x030200") + nvlink("7:7", 1, "0x030200")) + gpu(1, "")));
  EXPECT_THAT(import.assumed, Contains(HasSubstr("1 NVLink of GPUs to themselves")));
  EXPECT_THAT(import.odd, Contains(HasSubstr("1 NVLink to 7:7, which the file does not have")));
  const std::string links = nvlink("1:0", 5, "0x068000");
  const std::string no_gpu =
      "<pci busid=\"0:7\" class=\"0x068000\" link_speed=\"16 GT/s\" link_width=\"4\">" + links + "</pci>";
  const Import again = import_of(nccl(gpu(0, links + links) + gpu(1, links) + no_gpu));
  EXPECT_NEAR(into(again, 0), 100, 1e-9);  // not 200
  EXPECT_THAT(again.odd, testing::UnorderedElementsAre(HasSubstr("lists the links to 1:0 again"),
                                                       HasSubstr("links of a GPU and no <gpu>")));
}

// What is there twice is one thing: a GPU, a NIC, a port, a leaf of the tree of PCI with what it has.
TEST(NcclXml, WhatIsListedTwiceIsOne) {
  int doubled = 0;
  for (const char* file : {"h100.xml", "topo_8p_940.xml", "topo_4p1h.xml", "topo_8p6l.xml",
                           "topology_p4d-24xl-topo.xml", "azure-ndv4-topo.xml"}) {
    const std::string path = CHORALE_SOURCE "/tests/data/topology/" + std::string(file),
                      text = read_file(path);
    const std::vector<Link> links = imported({{path, text}}, {.nodes = 2}).machine.links;
    for (const std::string tag : {"gpu", "nic", "net", "pci"})
      for (std::size_t at = text.find("<" + tag); at != text.npos; at = text.find("<" + tag, at + 1)) {
        const bool closed = text[text.find('>', at) - 1] == '/';
        const std::size_t end = closed ? text.find('>', at) + 1 : text.find("</" + tag, at) + tag.size() + 3;
        const std::string record = text.substr(at, end - at);
        if (record.find("<" + tag, 1) != record.npos) continue;
        std::string twice = text;
        twice.insert(end, record);
        EXPECT_EQ(imported({{path, twice}}, {.nodes = 2}).machine.links, links) << file << ": " << record;
        ++doubled;
      }
  }
  EXPECT_GE(doubled, 100);
}

// A real file is as it is: no record of it is odd.
TEST(Lint, FindsNothingInRealFiles) {
  int files = 0;
  for (const char* folder : {"/tests/data/topology", "/examples"})
    for (const auto& each : std::filesystem::directory_iterator(CHORALE_SOURCE + std::string(folder))) {
      const std::string path = each.path().string();
      if (!path.ends_with(".xml") && !path.ends_with(".txt")) continue;
      EXPECT_THAT(imported({{path, read_file(path)}}).odd, testing::IsEmpty()) << path;
      ++files;
    }
  EXPECT_GE(files, 14);
}

// One fault in a file that has none: the record is named, by its line where the format has lines, and nothing
// else is.
TEST(Lint, NamesTheRecordOfAFault) {
  struct Fault {
    const char *file, *after, *from, *to, *names;  // the first `from` behind `after`
  };
  const std::vector<Fault> faults = {
      {"h100.xml", "<gpu dev=\"3\"", "count=\"4\"", "count=\"1\"",
       "gpu3 (0000:42:00.0) has 309 GB/s of NVLink"},
      {"h100.xml", "<gpu dev=\"3\"", "count=\"4\"", "count=\"9\"",
       "gpu3 (0000:42:00.0) has 473.8 GB/s of NVLink"},
      {"h100.xml", "<gpu dev=\"2\"", "sm=\"90\"", "sm=\"80\"",
       "gpu2 (0000:32:00.0) has sm 80, where 7 of 8 GPUs have sm 90"},
      {"h100.xml", "0000:42:00.0\"", "link_width=\"16\"", "link_width=\"8\"", "has a PCI link of 26 GB/s"},
      {"h100.xml", "0000:42:00.0\"", "32.0 GT/s", "24 GT/s", "24 GT/s, which no generation of PCI has"},
      {"h100.xml", "0000:42:00.0\"", "link_width=\"16\"", "link_width=\"7\"", "has 7 lanes"},
      {"h100.xml", "<net", "speed=\"180000\"", "speed=\"9000000\"", "has 9000 Gb/s"},
      {"h100.xml", "<net", "speed=\"180000\"", "speed=\"25000\"", "into the network, where 7 of 8 NICs"},
      {"h100.xml", "dev=\"4\"", "rank=\"4\"", "rank=\"9\"", "no GPU has the numbers 4, 8, of 0 to 9"},
      {"h100.xml", "dev=\"4\"", "rank=\"4\"", "rank=\"44\"", "has the number 44, where others have 0 to 7"},
      {"h100.xml", "dev=\"4\"", "rank=\"4\"", "rank=\"5\"", "has the number 5 of another GPU"},
      {"topo_8p_940.xml", "<gpu", "<xgmi", "<xgmi target=\"7:7\" count=\"1\" tclass=\"0x0380\"/><xgmi",
       "to 7:7, which the file does not have"},
      {"topo_8p_940.xml", "<gpu", "count=\"1\"", "count=\"3\"", "has 144 GB/s of xGMI to gpu"},
      {"topo_8p6l.xml", "<gpu", "count=\"1\"", "count=\"2\"", "GB/s of xGMI to gpu"},
      {"topo_16p1h.xml", "<gpu", "gcn=\"910\"", "gcn=\"942\"",
       "has 942 and sm 104, where 15 of 16 GPUs have 910 and sm 104"},
  };
  for (const Fault& fault : faults) {
    std::string text = read_file(CHORALE_SOURCE "/tests/data/topology/" + std::string(fault.file));
    const std::size_t at = text.find(fault.from, text.find(fault.after));
    ASSERT_NE(at, std::string::npos) << fault.file << fault.from;
    text.replace(at, std::string(fault.from).size(), fault.to);
    const Import import = import_of(text);
    EXPECT_EQ(import.odd.size(), 1U) << fault.names << testing::PrintToString(import.odd);
    EXPECT_THAT(import.odd, Contains(HasSubstr(fault.names)));
    EXPECT_THAT(import.odd, testing::Each(testing::StartsWith("a.file:"))) << fault.names;
  }
}

// A GPU whose links, as many as the others', lead to a switch of its own.
TEST(Lint, NamesAGpuOnASwitchOfItsOwn) {
  std::string gpus;
  for (int i = 0; i < 8; ++i) gpus += gpu(i, nvlink(i == 5 ? "ff:f" : "1:0", 18, "0x068000"));
  EXPECT_THAT(import_of(nccl(gpus)).odd,
              testing::ElementsAre(HasSubstr("gpu5 (0:5) has links to NVSwitch (ff:f), where 7 of 8")));
}

// Of a bridge both ends are named, since either may be wrong: where links were added, the other one has less.
TEST(Lint, NamesBothEndsOfAnUnevenBridge) {
  const std::string text = read_file(CHORALE_SOURCE "/tests/data/topology/azure-ncv4-topo.xml");
  for (const auto& [bus, count, odd] :
       {std::tuple{"0003:00:00.0", "15",
                   "gpu3 (0004:00:00.0) has 240 GB/s of NVLink, and its neighbour gpu2 (0003"},
        {"0004:00:00.0", "13", "gpu2 (0003:00:00.0) has 240 GB/s of NVLink, and its neighbour gpu3 (0004"},
        {"0001:00:00.0", "1", "gpu0 (0001:00:00.0) has 20 GB/s of NVLink, and its neighbour gpu1 (0002"}}) {
    std::string harmed = text;
    const std::size_t at = harmed.find("count=\"12\"", harmed.find(std::string("target=\"") + bus));
    ASSERT_NE(at, std::string::npos) << bus;
    harmed.replace(at + 7, 2, count);
    EXPECT_THAT(imported({{"azure-ncv4-topo.xml", harmed}}).odd, testing::ElementsAre(HasSubstr(odd)));
  }
}

// Eight GPUs of the matrix below, each with a NIC beside it: a NIC that moved, one that is gone, a cell.
TEST(Lint, NamesNicsAndCells) {
  const auto matrix = [](const std::function<int(int)>& gpu_of_nic, int nics, const std::string& of_0_and_3) {
    std::string text;
    for (int i = 0; i < 8 + nics; ++i) text += fmt::format("\t{}{}", i < 8 ? "GPU" : "NIC", i % 8);
    for (int a = 0; a < 8 + nics; ++a) {
      text += fmt::format("\n{}{}", a < 8 ? "GPU" : "NIC", a % 8);
      for (int b = 0; b < 8 + nics; ++b) {
        const auto of = [&](int i) { return i < 8 ? i : gpu_of_nic(i - 8); };
        text += a == b                                       ? "\tX"
                : std::max(a, b) == 3 && std::min(a, b) == 0 ? "\t" + of_0_and_3
                : a < 8 && b < 8                             ? "\tNV18"
                : of(a) == of(b)                             ? "\tPXB"
                : of(a) / 4 == of(b) / 4                     ? "\tNODE"
                                                             : "\tSYS";
      }
    }
    return text + "\n";
  };
  const auto own = [](int nic) { return nic; };
  EXPECT_THAT(import_of(matrix(own, 8, "NV18")).odd, testing::IsEmpty());
  EXPECT_THAT(import_of(matrix([](int nic) { return nic == 5 ? 4 : nic; }, 8, "NV18")).odd,
              testing::ElementsAre(HasSubstr("NIC5 is nearest to GPU4 with 1 other, and GPU5 has no NIC")));
  EXPECT_THAT(import_of(matrix(own, 7, "NV18")).odd, testing::ElementsAre(HasSubstr("GPU7 has no NIC")));
  EXPECT_THAT(import_of(matrix(own, 8, "NV17")).odd,
              testing::ElementsAre(HasSubstr("GPU0 has NV17 to GPU3")));
  EXPECT_THAT(import_of(matrix(own, 8, "SYS")).odd,
              testing::ElementsAre(HasSubstr("GPU0 has no NVLink to GPU3")));
}

// GPUs of two hosts have the same buses and are two; one that is listed twice with the same rank is one.
TEST(NcclXml, ABusIdentifiesAGpuOfItsHost) {
  const auto cpu = [](const std::string& host, const std::string& inside) {
    return fmt::format(R"(<cpu numaid="0" host_hash="{}" arch="x86_64" vendor="AuthenticAMD">{}</cpu>)", host,
                       inside);
  };
  const std::string links = nvlink("1:0", 5, "0x068000");
  const Import two =
      import_of("<system version=\"1\">" + cpu("a", gpu(0, links)) + cpu("b", gpu(0, links)) + "</system>");
  EXPECT_EQ(two.machine.ranks, 2);
  for (Rank n = 0; n < 2; ++n) EXPECT_NEAR(into(two, n), 100, 1e-9);
  const Import again = import_of(nccl(gpu(0, links) + gpu(1, links) + gpu(1, links)));
  EXPECT_EQ(again.machine.ranks, 2);
  EXPECT_THAT(again.odd, Contains(HasSubstr("lists rank 1 of GPU 0:1 again")));
  EXPECT_EQ(two.machine.labels[1].name, "gpu0 (0:0) (host b)");
}

TEST(NcclXml, RefusesInOneLine) {
  EXPECT_THAT(refusal("<system version=\"1\"><cpu numaid=\"0\">"), HasSubstr("a.file:1: is not XML"));
  EXPECT_THAT(refusal("<!DOCTYPE a [\n<!ENTITY a \"&b;&b;\">]>\n<system/>"),
              HasSubstr("a.file:2: declares entities"));
  EXPECT_THAT(refusal(nccl(gpu(0, nvlink("0:1", -3, "0x0302")))),
              HasSubstr("<nvlink>: count=\"-3\" is out of range"));
  EXPECT_THAT(refusal(nccl("<nic><net name=\"a\" speed=\"-1\"/></nic>")),
              HasSubstr("speed=\"-1\" is out of range"));
  EXPECT_THAT(refusal(nccl("<gpu dev=\"0\"/>")), HasSubstr("<gpu>: is not known in <cpu>"));
  EXPECT_THAT(refusal(nccl("")), HasSubstr("has no GPU"));
  EXPECT_THAT(refusal("<graphs version=\"1\"/>"), HasSubstr("only graphs that NCCL chose"));
  EXPECT_THAT(refusal(nccl(gpu(0, "") + gpu(1, "")), {.nodes = 2}), HasSubstr("has no NIC"));
  EXPECT_THAT(refusal(nccl(gpu(0, "")), {.nodes = 1'000'000'000}), HasSubstr("1000000000 is too many"));
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "<pci busid=\"0\" class=\"0x060400\">";
  for (int i = 0; i < 200; ++i) deep += "</pci>";
  EXPECT_THAT(refusal(nccl(deep)), HasSubstr("nests more than 100 deep"));
}

// Eight GPUs by PCI only: which machine this is has to be reported, or seen from the name.
TEST(Instances, CompleteASkeleton) {
  std::string gpus;
  for (int i = 0; i < 8; ++i)
    gpus += "<pci busid=\"" + std::to_string(i) +
            "\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"/>";
  EXPECT_THAT(refusal(nccl(gpus)), HasSubstr("use --instance TYPE"));
  EXPECT_THAT(refusal(nccl(gpus), {.instance = "pdp-11"}), HasSubstr("'pdp-11' is not known"));
  const Import named = import_of(nccl(gpus), {.instance = "azure-ndv5"});
  EXPECT_DOUBLE_EQ(named.unit_gbs, 18 * 20.6 / 2);  // of what its switches deliver (chunk_divisor)
  EXPECT_THAT(named.assumed, Contains(HasSubstr("taken for azure-ndv5 (as specified)")));
  EXPECT_DOUBLE_EQ(imported({{"ndv4-topo.xml", nccl(gpus)}}).unit_gbs, 240);
  EXPECT_THAT(imported({{"BM.GPU.H200.8.xml", nccl(gpus)}}).assumed,
              Contains(HasSubstr("8 GPUs of type H200")));
}

// Half a DGX-1, and a NIC under one switch with GPU0.
constexpr const char* kSmi =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
    "GPU0\t X \tNV2\tNV1\tPIX\t0-31\t0\n"
    "GPU1\tNV2\t X \tSYS\tNODE\t0-31\t0\n"
    "GPU2\tNV1\tSYS\t X \tSYS\t32-63\t1\n"
    "NIC0\tPIX\tNODE\tSYS\t X \t\t\n"
    "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n";

TEST(NvidiaSmi, MatrixOfNvlinks) {
  const Import import = import_of(kSmi);
  EXPECT_EQ(import.machine.ranks, 3);
  EXPECT_EQ(import.machine.switches, 0);
  EXPECT_EQ(between(import.machine, 0, 1), 2);
  EXPECT_EQ(between(import.machine, 2, 0), 1);
  EXPECT_EQ(between(import.machine, 1, 2), 0);
  const Import two = import_of(kSmi, {.nodes = 2});
  EXPECT_EQ(two.machine.ranks, 6);
  EXPECT_GT(between(flatten(two.machine), 0, 3), 0);
  // Parts have the names that --without-link takes; a NIC is named with what it leads to.
  EXPECT_EQ(two.machine.labels[1].name, "node0:gpu1");
  EXPECT_THAT(two.machine.labels, Contains(testing::Field(&NodeLabel::name, HasSubstr("node1:mlx5_0"))));
}

// As copied from terminals: whitespace for tabs, no NUMA columns, and the last cell glued to the CPUs.
TEST(NvidiaSmi, GluedCellsAndOlderHeaders) {
  const Import import = import_of(
      "     GPU0 GPU1 GPU2 CPU Affinity\n"
      "GPU0  X   NV12 NV120-31\n"
      "GPU1 NV12  X   NV120-31\n"
      "GPU2 NV12 NV12  X 0-31\n");
  EXPECT_EQ(import.machine.switches, 1);  // 24 NVLinks are more than a GPU has
  EXPECT_DOUBLE_EQ(import.unit_gbs, 240);
  EXPECT_THAT(import.read, Contains(HasSubstr("2 last cells are glued")));
}

// As wide tables are copied: what has eight letters touches its neighbour, in any two columns.
TEST(NvidiaSmi, CellsAndTitlesThatTouch) {
  std::string apart = kSmi, joined = kSmi;
  joined.replace(joined.find("GPU2\tNIC0"), 9, "GPU2NIC0");
  joined.replace(joined.find("NV1\tPIX"), 7, "NV1PIX");
  joined.replace(joined.find("SYS\tNODE"), 8, "SYSNODE");
  joined.replace(joined.find("NIC0\tPIX\tNODE\tSYS"), 17, "NIC0\tPIXNODESYS");
  const Topology one = import_of(apart).machine, other = import_of(joined).machine;
  EXPECT_EQ(to_json(one), to_json(other));
  EXPECT_EQ(import_of(joined).read, import_of(apart).read);
}

// GPUs that are NUMA nodes are beside Grace: 18 links to a switch are of Blackwell, 6 to each of three others
// of Hopper. GPUs of one affinity have one CPU. A text around the matrix may name the model.
TEST(NvidiaSmi, ColumnsBehindTheMatrixAndNames) {
  const auto matrix = [](int gpus, int links, const std::string& own_node) {
    std::string text;
    for (int g = 0; g < gpus; ++g) text += fmt::format("\tGPU{}", g);
    text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
    for (int a = 0; a < gpus; ++a) {
      text += fmt::format("GPU{}", a);
      for (int b = 0; b < gpus; ++b) text += a == b ? "\t X " : fmt::format("\tNV{}", links);
      text += fmt::format("\t{}\t{},{}\t{}\n", 2 * a < gpus ? "0-71" : "72-143", a, 3 + a,
                          own_node.empty() ? std::to_string(8 * a + 2) : own_node);
    }
    return text;
  };
  const auto cpus = [&](const std::string& text) {
    return hosts_in({{"a.file", text}})[0].count(HostPart::Kind::Cpu);
  };
  EXPECT_NEAR(into(import_of(matrix(4, 18, "")), 0), 18 * 40.1, 1e-6);
  EXPECT_NEAR(into(import_of(matrix(4, 18, "N/A")), 0), 18 * 20.6, 1e-6);
  EXPECT_NEAR(into(import_of(matrix(4, 6, "")), 0), 18 * 20.6, 1e-6);
  EXPECT_EQ(cpus(matrix(4, 18, "")), 2);
  std::string with_nics = "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  with_nics += "GPU0\t X \tNV18\tSYS\tSYS\t0-71\t0\t2\nGPU1\tNV18\t X \tSYS\tSYS\t72-143\t1\t10\n";
  with_nics += "NIC0\tSYS\tSYS\t X \tSYS\nNIC1\tSYS\tSYS\tSYS\t X \n";
  EXPECT_EQ(cpus(with_nics), 2);  // and not a CPU of each NIC
  EXPECT_NEAR(into(import_of(matrix(8, 18, "N/A") + "GPU 0: NVIDIA B200\n"), 0), 18 * 40.1, 1e-6);
  EXPECT_NEAR(into(import_of("GPU 0: NVIDIA A100-SXM4-40GB\n" + matrix(2, 4, "N/A")), 0), 4 * 20, 1e-6);
  EXPECT_THAT(import_of(matrix(2, 4, "N/A")).assumed, Contains(HasSubstr("two of four A100 have as many")));
  EXPECT_NEAR(into(import_of(matrix(2, 4, "N/A") + "a T4 is named, which has no NVLink\n"), 0), 4 * 12, 1e-6);
}

// No NVLinks: pairs under a switch each (PIX), a host bridge between (PHB). PCI of both pairs meets at the
// CPU.
TEST(NvidiaSmi, PciByItsClasses) {
  const Import import = import_of(
      "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n"
      "GPU0\t X \tPIX\tPHB\tPHB\t0-9\nGPU1\tPIX\t X \tPHB\tPHB\t0-9\n"
      "GPU2\tPHB\tPHB\t X \tPIX\t0-9\nGPU3\tPHB\tPHB\tPIX\t X \t0-9\n");
  EXPECT_EQ(import.machine.switches, 2);
  EXPECT_EQ(between(import.machine, 0, 4), 1);
  EXPECT_EQ(between(import.machine, 3, 5), 1);
  EXPECT_EQ(between(import.machine, 4, 5), 1);
  EXPECT_THAT(import.assumed,
              Contains(HasSubstr("PCI of 26 GB/s (the file that NCCL_TOPO_DUMP_FILE names has")));
}

TEST(NvidiaSmi, RefusesInOneLine) {
  EXPECT_THAT(refusal("$ nvidia-smi topo -mp\n\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"),
              HasSubstr("a.file:1: is of 'nvidia-smi topo -mp'"));
  EXPECT_THAT(refusal("\tGPU0\tGPU1\nGPU0\t X \tNV2\n"), HasSubstr("has rows for 1 of 2 devices"));
  EXPECT_THAT(refusal("\tGPU0\tGPU1\nGPU0\t X \tNV2\nGPU1\tNV3\t X \n"),
              HasSubstr("a.file:2: lists another connection to GPU1"));
  EXPECT_THAT(refusal("\tGPU0\tGPU1\nGPU0\t X \tNV-2\nGPU1\tNV2\t X \n"), HasSubstr("a.file:2: "));
  EXPECT_THAT(refusal("\tGPU0\tGPU1\nGPU0\t X \tWIFI\nGPU1\tNV2\t X \n"),
              HasSubstr("'WIFI' is not a cell of GPU1"));
}

TEST(HwlocXml, MatrixOfNvlinks) {
  const std::string gpu_device =
      "<object type=\"PCIDev\" gp_index=\"{}\" pci_busid=\"0:{}\" pci_type=\"0302 [10de:1db8] [10de:131d] a1 "
      "00\" pci_link_speed=\"15.75\"/>";
  const auto device = [&](int n) { return fmt::format(fmt::runtime(gpu_device), n, n); };
  const std::string head =
      "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\"><object type=\"Bridge\" "
      "bridge_type=\"0-1\">" +
      device(1) + device(2) + "</object></object>";
  const Import import = import_of(
      head +
      "<distances2hetero nbobjs=\"2\" name=\"NVLinkBandwidth\"><indexes>PCIDev:1 PCIDev:2 </indexes>"
      "<u64values>0 50000 25000 0 </u64values></distances2hetero></topology>");
  EXPECT_EQ(between(import.machine, 0, 1), 2);
  EXPECT_EQ(between(import.machine, 1, 0), 1);
  EXPECT_DOUBLE_EQ(import.unit_gbs, 25);
  EXPECT_THAT(
      refusal(head +
              "<distances2hetero nbobjs=\"2\" name=\"NVLinkBandwidth\"><indexes>PCIDev:1 PCIDev:2</indexes>"
              "<u64values>0 -1 25000 0</u64values></distances2hetero></topology>"),
      HasSubstr("value '-1' is out of range"));
  EXPECT_THAT(refusal(head + "<distances2hetero nbobjs=\"1000000000\" name=\"NVLinkBandwidth\"/></topology>"),
              HasSubstr("nbobjs=\"1000000000\" is out of range"));
  EXPECT_THAT(refusal("<topology/>"), HasSubstr("is hwloc's format 1"));
}

// Two nodes of two GPUs: their lines are given, the network is made of their ports.
TEST(Wiring, IsReadAsItIs) {
  const std::string text =
      R"({"chorale_wiring":1,"nodes":[["gpu","a"],["gpu","b"],["gpu","c"],["gpu","d"]],)"
      R"("lines":[[0,1,50,0.7],[1,0,50,0.7],[2,3,50,0.7],[3,2,50,0.7]],)"
      R"("ports":[[0,0,0,25,1],[1,2,2,25,1]],"copies":2,"read":["two nodes"],"assumed":["rates"]})";
  const Import import = import_of(text, {.nodes = 2});
  EXPECT_EQ(import.machine.ranks, 4);
  EXPECT_EQ(import.nodes, 2);
  EXPECT_EQ(between(import.machine, 0, 1), 2);
  EXPECT_EQ(between(flatten(import.machine), 0, 2), 1);
  EXPECT_THAT(import.read, Contains("two nodes"));
  EXPECT_EQ(import.machine.labels[2].name, "c");
  EXPECT_THAT(refusal(text, {.nodes = 3}), HasSubstr("--nodes"));
}

// What is in chunks per round already is a machine, and nothing is fitted.
TEST(Wiring, MayHaveAMachineInstead) {
  const Import import = import_of(
      R"({"chorale_wiring":1,"machine":{"topology":"t","ranks":2,"links":[{"src":0,"dst":1,"bandwidth":3}]},)"
      R"("read":[],"assumed":[]})");
  EXPECT_EQ(between(import.machine, 0, 1), 3);
  EXPECT_EQ(import.unit_gbs, 0);
  EXPECT_EQ(import.machine.labels.size(), 2U);
}

TEST(Wiring, RefusesInOneLine) {
  const auto with = [](const std::string& nodes, const std::string& lines, const std::string& ports) {
    return fmt::format(
        R"({{"chorale_wiring":1,"nodes":{},"lines":{},"ports":{},"copies":2,"read":[],"assumed":[]}})", nodes,
        lines, ports);
  };
  EXPECT_THAT(refusal(with(R"([["tpu","a"]])", "[]", "[]")), HasSubstr("nodes[0]"));
  EXPECT_THAT(refusal(with(R"([["gpu","a"]])", "[[0,1,1,1]]", "[]")), HasSubstr("lines[0][1]"));
  EXPECT_THAT(refusal(with(R"([["gpu","a"]])", "[]", "[[2,0,0,1,1]]")), HasSubstr("ports[0][0]"));
  EXPECT_THAT(refusal(with(R"([["gpu","a"]])", "[[0,0,0,1]]", "[]")), HasSubstr("lines[0][2]"));
}

// Files that the Python package reads are named as such (tests/cli/import_research.py reads them).
TEST(Import, NamesFilesOfResearch) {
  for (const char* text : {R"({"msccl_type":"topology","links":[[0]]})", R"({"TopologyParams":{}})",
                           R"({"gpus_per_node":8})", "npus_count: [4]\n", "4 1 3\n"}) {
    EXPECT_TRUE(is_of_research({"a.file", text})) << text;
    EXPECT_THAT(refusal(text), HasSubstr("chorale topology import FILE")) << text;
  }
}

TEST(Import, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("hello"), HasSubstr("is of no known format"));
  EXPECT_THAT(refusal("{}"), HasSubstr("is of no known format"));
  EXPECT_THAT(refusal("<a/>"), HasSubstr("is of no known format"));
  EXPECT_THAT(refusal(R"({"topology":"x","ranks":2})"), HasSubstr("is a machine of Chorale already"));
  EXPECT_THAT(refusal(R"({"intranode_sketch":{}})"), HasSubstr("is a sketch of TACCL"));
}

// Every real file there is. What is known of it: how many GPUs, and what each of them receives, in its file's
// own rates.
TEST(Import, RealFiles) {
  const std::filesystem::path folder = CHORALE_SOURCE "/tests/data/topology";
  struct Known {
    int ranks;
    double gbs_into_0;
  };
  const std::map<std::string, Known> known = {{"h100.xml", {8, 18 * 20.6}},
                                              {"azure-ncv4-topo.xml", {4, 12 * 20 + 26}},
                                              {"azure-ndv4-topo.xml", {8, 240}},
                                              {"nvidiaDGX2.xml", {16, 6 * 22}},
                                              {"topo_16p1h.xml", {16, 7 * 36}},
                                              {"topo_4p1h.xml", {4, 48}},
                                              {"topo_8p6l.xml", {8, 6 * 24}},
                                              {"topo_8p_940.xml", {8, 7 * 48}},
                                              {"topo_8p_pcie.xml", {8, 13}},
                                              {"topo_8p_rome.xml", {8, 2 * 24 + 26}},
                                              {"topology_p4d-24xl-topo.xml", {8, 240}}};
  for (const auto& [name, expected] : known) {
    const std::string path = (folder / name).string();
    const Import import = imported({{path, read_file(path)}});
    EXPECT_EQ(import.machine.ranks, expected.ranks) << name;
    double gbs = 0;
    for (const Link& link : import.machine.links) gbs += link.dst == 0 ? link.bandwidth * import.unit_gbs : 0;
    EXPECT_NEAR(gbs, expected.gbs_into_0, 0.05 * expected.gbs_into_0) << name;
    const std::vector<int> distance = hops(import.machine, {0});
    EXPECT_EQ(std::count(distance.begin(), distance.end(), -1), 0) << name;
  }
}

// Of nodes whose GPUs are all joined by NVLink or xGMI: two GPUs of one node are joined as in a node alone,
// all pairs of different nodes by the network, and what leaves a node is what its NICs carry. Others keep
// their PCI, and its paths.
TEST(Import, NodesOfRealFilesMeetInTheNetworkAlone) {
  const std::filesystem::path folder = CHORALE_SOURCE "/tests/data/topology";
  int clusters = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() == ".json") continue;  // of TACCL: tests/cli/import_research.py
    const Import one = imported({{path, read_file(path)}});
    const Topology alone = flatten(one.machine);
    for (const int nodes : {2, 4}) {
      if (path.find("nvidiaDGX2") != std::string::npos) continue;  // has no NIC
      const Import import = imported({{path, read_file(path)}}, {.nodes = nodes});
      if (std::ranges::any_of(import.assumed, [](const std::string& line) {
            return line.starts_with("GPUs of one node may also");
          }))
        continue;
      ++clusters;
      const Topology flat = flatten(import.machine);
      const auto gbs = [](const Topology& t, Rank a, Rank b) {
        double sum = 0;
        for (const Link& link : t.links)
          if (link.src == a && link.dst == b) sum += link.bandwidth * 1e-3 / link.beta_us_per_byte;
        return sum;
      };
      for (Rank a = 0; a < flat.ranks; ++a)
        for (Rank b = 0; b < flat.ranks; ++b) {
          if (a == b) continue;
          if (a / alone.ranks != b / alone.ranks) {
            EXPECT_GT(gbs(flat, a, b), 0) << path << " " << nodes << ": " << a << " -> " << b;
            continue;
          }
          // two fits, each off by up to a twentieth
          EXPECT_NEAR(gbs(flat, a, b), gbs(alone, a % alone.ranks, b % alone.ranks), 0.11 * gbs(flat, a, b))
              << path << " " << nodes << ": " << a << " -> " << b;
        }
    }
  }
  EXPECT_GE(clusters, 12);
}

// One box has one answer: by its name and by its file it has the same links, at rates within 3 %, with the
// same costs of a step and a call; so also at line rates.
TEST(Import, ANamedMachineIsTheRealOne) {
  const std::filesystem::path folder = CHORALE_SOURCE "/tests/data/topology";
  const auto gbs = [](const Topology& t, Rank a, Rank b) {
    return find_link(t, a, b) < 0 ? 0 : between(t, a, b) * 1e-3 / t.links.front().beta_us_per_byte;
  };
  for (const auto& [file, name] : {std::pair{"h100.xml", "dgx-h100:1"},
                                   {"azure-ncv4-topo.xml", "nc-a100-v4"},
                                   {"topo_4p1h.xml", "mi50"},
                                   {"topo_8p6l.xml", "mi100"},
                                   {"topo_8p_pcie.xml", "mi50-pcie:1x2x4"},
                                   {"topo_8p_rome.xml", "mi50-rome:1"},
                                   {"h100.xml", "nd-h100-v5:1"},
                                   {"h100.xml", "p5:1"},
                                   {"azure-ndv4-topo.xml", "nd-a100-v4:1"},
                                   {"azure-ndv4-topo.xml", "dgx-a100:1"},
                                   {"topology_p4d-24xl-topo.xml", "p4d:1"},
                                   {"nvidiaDGX2.xml", "hgx-2:1"},
                                   {"topo_8p_940.xml", "mi300x:1"},
                                   {"topo_16p1h.xml", "mi250:1"}})
    for (const bool line : {false, true}) {
      SCOPED_TRACE(std::string(file) + " " + name + (line ? " --line-rates" : ""));
      const MachineChanges rates = {.import = {.line_rates = line}};
      const Topology real = flatten(load_topology((folder / file).string(), rates));
      const Topology named = flatten(load_topology(name, rates));
      ASSERT_EQ(named.ranks, real.ranks);
      // 0 and 1: neighbours in all of them; the halves of the DGX-2 are a switch farther in its file, and
      // GPUs of the PCI box have a bridge each in theirs.
      const double bridges_us = std::string(name).starts_with("mi50-pcie") ? 2 * kPciHopUs : 0;
      EXPECT_NEAR(bridges_us + named.links[find_link(named, 0, 1)].alpha_us,
                  real.links[find_link(real, 0, 1)].alpha_us, 1e-9);
      EXPECT_EQ(named.call_us, real.call_us);
      for (Rank a = 0; a < real.ranks; ++a)
        for (Rank b = 0; b < real.ranks; ++b)
          EXPECT_NEAR(gbs(named, a, b), gbs(real, a, b), 0.03 * gbs(real, a, b)) << a << " " << b;
    }
}

// What nvidia-smi prints of GPUs on PCI alone.
std::string smi_of_box(int cpus, int switches, int gpus) {
  const int ranks = cpus * std::max(1, switches) * gpus;
  std::string text = "\t";
  for (int a = 0; a < ranks; ++a) text += "GPU" + std::to_string(a) + "\t";
  for (int a = 0; a < ranks; ++a) {
    text += "\nGPU" + std::to_string(a);
    for (int b = 0; b < ranks; ++b) {
      const bool near = switches > 0 && a / gpus == b / gpus;
      text += a == b ? "\tX" : near ? "\tPIX" : a / (ranks / cpus) == b / (ranks / cpus) ? "\tNODE" : "\tSYS";
    }
  }
  return text + "\n";
}

// PCI boxes of any shape by name and as text: the same links and shared limits, at the same rates.
TEST(Import, ABoxIsTheSameByNameAndAsText) {
  std::mt19937 random = test::seeded(7);
  for (int i = 0; i < 30; ++i) {
    const int cpus = 1 + static_cast<int>(random() % 4), switches = static_cast<int>(random() % 4),
              gpus = 1 + static_cast<int>(random() % 4);
    if (cpus * std::max(1, switches) * gpus < 2) continue;
    const std::string name = fmt::format("l40s:{}x{}x{}", cpus, switches, gpus);
    SCOPED_TRACE(name);
    const auto rates_of = [](const Topology& t) {
      std::vector<std::pair<long, long>> rates;  // links and limits, thousandths of a GB/s
      for (const Link& l : t.links) rates.emplace_back(0, std::lround(l.bandwidth / l.beta_us_per_byte));
      for (const SharedLimit& each : t.limits)
        rates.emplace_back(std::ssize(each.links),
                           std::lround(each.bandwidth / t.links.front().beta_us_per_byte));
      std::ranges::sort(rates);
      return rates;
    };
    const Topology named = flatten(load_topology(name)),
                   read = flatten(imported({{"box.txt", smi_of_box(cpus, switches, gpus)}}).machine);
    EXPECT_EQ(named.ranks, read.ranks);
    EXPECT_EQ(rates_of(named), rates_of(read));
    EXPECT_EQ(named.call_us, read.call_us);
  }
}

TEST(Import, LineRatesAreRefusedWhereThereAreNoOthers) {
  for (const char* spec : {"ring:4", "dgx1", "a100:2", "tpu:4x4x4"})
    EXPECT_THAT(test::refusal_of([&] { load_topology(spec, {.import = {.line_rates = true}}); }, "accepted"),
                HasSubstr("has the same rates without it"))
        << spec;
}

// What a command is given as a machine may be such a file; a file of Chorale's own is not taken for one.
TEST(Import, AForeignFileIsAMachineOfAnyCommand) {
  const std::string text = nccl(gpu(0, nvlink("0:1", 2, "0x030200")) + gpu(1, nvlink("0:0", 2, "0x030200")));
  const std::string path = testing::TempDir() + "chorale_foreign.xml";
  write_file(path, text);
  const Topology machine = load_topology(path);
  EXPECT_EQ(machine, imported({{path, text}}).machine);
  EXPECT_EQ(machine.ranks, 2);
  std::filesystem::remove(path);
  EXPECT_FALSE(is_foreign(to_json(machine)));
  EXPECT_FALSE(is_foreign(""));
  EXPECT_FALSE(is_foreign("{"));
  EXPECT_TRUE(is_foreign("\n<system"));
  EXPECT_TRUE(is_foreign("{\"npus_count\": [4]}"));
  EXPECT_THROW(load_topology(path), InputError);  // which is gone
}

// A file of eight H100 has what the machine of that name has; one of A100 is refused.
TEST(Import, SwitchesComputeWhereTheHardwareDoes) {
  const std::string h100 = CHORALE_SOURCE "/examples/h100.txt",
                    a100 = CHORALE_SOURCE "/examples/dgx_a100_4nics.txt";
  const Topology by_file = load_topology(h100), by_name = load_topology("dgx-h100:1");
  EXPECT_FALSE(abilities_of(load_topology(h100, {.import = {.forward_only = true}})).any());
  EXPECT_EQ(by_file.switch_gain, by_name.switch_gain);
  int able = 0;
  for (Node n = by_file.ranks; n < by_file.ranks + by_file.switches; ++n) {
    const bool computes = by_file.abilities.at(n - by_file.ranks).any();
    EXPECT_EQ(computes, node_kind(by_file, n) == "NVSwitch");
    able += computes;
  }
  EXPECT_EQ(able, 1);
  EXPECT_THROW(load_topology(a100, {.import = {.in_network = true}}), InputError);
  // Two generations in one job: the A100's switch forwards, as it does alone.
  const Import mixed = imported({{a100, read_file(a100)}, {h100, read_file(h100)}});
  for (Node n = mixed.machine.ranks; n < mixed.machine.ranks + mixed.machine.switches; ++n)
    EXPECT_EQ(mixed.machine.abilities.at(n - mixed.machine.ranks).any(),
              mixed.machine.labels[n].name == "node1:nvswitch0")
        << mixed.machine.labels[n].name;
  EXPECT_EQ(mixed.machine.switch_gain, by_name.switch_gain);
  EXPECT_THAT(mixed.assumed, Contains("1 NVSwitch of other GPUs only forwards"));
}

// A cut at every 37th byte: a machine, or one line.
TEST(Import, TruncatedRealFilesAreRefused) {
  const std::filesystem::path folder = CHORALE_SOURCE "/tests/data/topology";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string(), text = read_file(path);
    const std::size_t end = text.find_last_not_of(" \n\r\t");
    for (std::size_t size = 0; size < end; size += 37) {
      EXPECT_EQ(test::refusal_of([&] {
                  imported({{path, text.substr(0, size)}});
                }).find('\n'),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace chorale
