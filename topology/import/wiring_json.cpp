// Machines that another program has read: nodes with kinds and names, lines with rates, ports into a network.
// The Python package writes this of files of other synthesizers (python/chorale/import_research.py).
//   {"chorale_wiring":1,"nodes":[["gpu","gpu 0"],["gpu","gpu 1"]],"lines":[[0,1,25,0.7],[1,0,25,0.7]],
//    "ports":[[0,0,0,12.5,1.3],[1,1,1,12.5,1.3]],"copies":2,"read":["two GPUs"],"assumed":[]}

#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/limits.h"
#include "topology/import/readers.h"

namespace chorale {
namespace {

constexpr std::size_t kMostWiringLines = 4'000'000, kMostSentences = 1'000;
constexpr double kLeastGbs = 1e-30, kMostGbs = 1e30, kMostUs = 1e15;
constexpr Named<WiringNode::Kind> kKinds[] = {{WiringNode::Kind::Gpu, "gpu"},
                                              {WiringNode::Kind::NvSwitch, "nvswitch"},
                                              {WiringNode::Kind::Nic, "nic"},
                                              {WiringNode::Kind::Network, "network"}};

WiringNode node_of(const JsonReader& json) {
  const std::optional<WiringNode::Kind> kind = value_in<WiringNode::Kind>(kKinds, json.at(0).text());
  if (!kind) json.fail("is of no known kind", "use gpu, nvswitch, nic or network");
  return {.kind = *kind, .name = json.at(1).text()};
}

}  // namespace

DescribedMachine read_wiring(std::string_view text, const std::string& file, bool within_nodes) {
  const JsonReader json = parse_json(text, file);
  DescribedMachine result;
  result.wiring.read = json["read"].texts(kMostSentences);
  result.wiring.assumed = json["assumed"].texts(kMostSentences);
  if (json.has("machine")) {
    result.machine = read_topology(json["machine"]);
    return result;
  }
  for (const JsonReader& node : json["nodes"].elements(kMostWiringNodes))
    result.wiring.nodes.push_back(node_of(node));
  const int last = static_cast<int>(result.wiring.nodes.size()) - 1;
  for (const JsonReader& line : json["lines"].elements(kMostWiringLines))
    result.wiring.lines.push_back({.src = line.at(0).integer(0, last),
                                   .dst = line.at(1).integer(0, last),
                                   .gbs = line.at(2).number(kLeastGbs, kMostGbs),
                                   .alpha_us = line.at(3).number(0, kMostUs)});
  result.copies = json["copies"].integer(0, kMostRanks);
  std::vector<NetworkPort> all;
  for (const JsonReader& port : json["ports"].elements(kMostRanks))
    all.push_back({.node = port.at(0).integer(0, result.copies - 1),
                   .out = port.at(1).integer(0, last),
                   .in = port.at(2).integer(0, last),
                   .gbs = port.at(3).number(kLeastGbs, kMostGbs),
                   .alpha_us = port.at(4).number(0, kMostUs)});
  if (!all.empty()) join_network(result.wiring, all, result.copies, within_nodes);
  return result;
}

}  // namespace chorale
