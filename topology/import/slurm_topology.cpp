// Slurm's topology.conf of the tree plugin: a line for each switch with the hosts or the switches that hang
// on it ("SwitchName=s2 Switches=s[0-1]"), names as host lists ("tux[0-3,12,18-20]"). Keys are
// case-insensitive; what follows a # is a comment. LinkSpeed has no unit and is ignored. Two leaves below one
// switch are
//   SwitchName=s0 Nodes=n[0-3]
//   SwitchName=s1 Nodes=n[4-7]
//   SwitchName=top Switches=s[0-1]
// The output of 'scontrol show topology' is read, too. Of the block plugin a block is a leaf, and above
// several there is one switch:
//   BlockName=b0 Nodes=n[0-3]
//   BlockSizes=4
// topology.yaml (Slurm 25.05) has the same in lists, of one or more topologies; the one that is the
// cluster's default is read, or the first:
//   - topology: default
//     tree:
//       switches:
//         - switch: top
//           children: s[0-1]
//         - switch: s0
//           nodes: n[0-3]
// https://slurm.schedmd.com/topology.conf.html
// Labels of Kubernetes nodes that NVIDIA's topograph writes (kubectl get nodes -o json) say the same of each
// node: network.topology.nvidia.com/leaf, spine and core (once block and datacenter), or, where no switch is
// known, accelerator: the NVLink domain, which is a block.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "ir/error.h"
#include "ir/json_reader.h"
#include "ir/limits.h"
#include "ir/words.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

constexpr std::size_t kMostSlurmSwitches = 10'000;

class SlurmReader {
 public:
  SlurmReader(std::string_view text, const std::string& file) : file_(file) {
    if (is_labelled(text))
      read_labels(parse_json(text, file));
    else if (is_yaml(text))
      read_yaml(text);
    else
      read_lines(text);
  }

  // Children may be named before their own line, so parents are linked when all lines are read; a circle
  // would be walked for ever, so hops are counted.
  SwitchTree tree() {
    join_blocks();
    for (const auto& [child, parent] : parents_) {
      const auto at = switch_at_.find(child);
      if (at == switch_at_.end())
        throw InputError(file_,
                         "lists the switch '" + child.substr(0, 60) + "', which has no line of its own",
                         "give a line 'SwitchName=" + child.substr(0, 60) + " ...'");
      tree_.above[at->second] = parent;
    }
    int roots = 0;
    for (int s = 0; s < std::ssize(tree_.switches); ++s) {
      roots += tree_.above[s] < 0 ? 1 : 0;
      int hops = 0;
      for (int each = s; each >= 0; each = tree_.above[each])
        if (++hops > std::ssize(tree_.switches))
          throw InputError(file_, "has switches in a circle: " + tree_.switches[s], "give a tree");
    }
    if (tree_.hosts.empty())
      throw InputError(file_, "has no hosts", "give a line such as 'SwitchName=s0 Nodes=n[0-3]'");
    if (roots > 1)
      throw InputError(
          file_, fmt::format("is not connected: {} hang on no other", counted(roots, "switch", "switches")),
          "give the switch that joins them, or a file of one part");
    in_order_of_switches();
    return std::move(tree_);
  }

  static bool is_labelled(std::string_view text) {
    return text.find(kLabel) != text.npos && text.find_first_not_of(" \t\r\n") == text.find('{');
  }

  // Text whose first word, after the mark of a document, is "-".
  static bool is_yaml(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);)
      if (const std::vector<std::string> words = words_in(line.substr(0, line.find('#')));
          !words.empty() && words.front() != "---")
        return words.front() == "-";
    return false;
  }

 private:
  static constexpr std::string_view kLabel = "network.topology.nvidia.com/";

  // Each node becomes a host of its lowest switch, each switch one of the next higher. Nodes without such
  // labels (a control plane) are none of the machine.
  void read_labels(const JsonReader& json) {
    std::map<std::string, std::vector<std::string>> hosts;  // by the line of their switch
    std::map<std::string, std::string> above;
    const bool list = json.has("items");
    for (std::size_t i = 0; i < (list ? json["items"].size(kMostRanks) : 1); ++i) {
      const JsonReader meta = (list ? json["items"].at(i) : json)["metadata"];
      if (!meta.has("labels")) continue;
      const JsonReader labels = meta["labels"];
      const auto value = [&](std::initializer_list<const char*> names) {
        for (const char* const name : names)
          if (const std::string key = std::string(kLabel) + name; labels.has(key.c_str()))
            return std::string(name) + "/" + labels[key.c_str()].text();
        return std::string();
      };
      std::string low = value({"leaf", "block"});
      const std::string domain = value({"accelerator"});
      if (low.empty() && domain.empty()) continue;
      hosts[low.empty() ? "BlockName=" + domain : "SwitchName=" + low].push_back(meta["name"].text());
      for (const std::string& high : {value({"spine"}), value({"core", "datacenter"})}) {
        if (low.empty() || high.empty()) continue;
        if (const auto [at, added] = above.try_emplace(low, high); at->second != high)
          labels.fail(low + " is below " + at->second + " and " + high, "a switch hangs on one other");
        low = high;
      }
    }
    for (const auto& [line, names] : hosts) read_line(line + " Nodes=" + joined(names, ","));
    std::map<std::string, std::vector<std::string>> below;
    for (const auto& [low, high] : above) below[high].push_back(low);
    for (const auto& [high, low] : below) read_line("SwitchName=" + high + " Switches=" + joined(low, ","));
  }

  void read_lines(std::string_view text) {
    std::istringstream lines{std::string(text)};
    std::string whole;
    for (std::string line; std::getline(lines, line);) {
      ++number_;
      line = line.substr(0, line.find('#'));
      while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
      // A line that ends in a backslash goes on in the next.
      if (!line.empty() && line.back() == '\\') {
        whole += line.substr(0, line.size() - 1) + " ";
        continue;
      }
      read_line(whole + line);
      whole.clear();
    }
    if (!whole.empty()) read_line(whole);
  }

  struct YamlTopology {
    bool is_default = false;
    std::vector<std::pair<int, std::string>> lines = {};  // of the other form, by their numbers
  };

  // A list's item becomes a line at its end: its name may be behind its hosts or switches.
  void read_yaml(std::string_view text) {
    std::istringstream lines{std::string(text)};
    std::vector<YamlTopology> all;
    std::string name, below;  // of an item: "SwitchName=s0", " Nodes=n[0-3]"
    int begun = 0;
    const auto finish = [&] {
      if (name.empty() && !below.empty()) {
        number_ = begun;
        fail("has" + lower_case(below.substr(0, below.find('='))) + " of no switch",
             "give the item switch: or block:");
      }
      if (!below.empty()) all.back().lines.emplace_back(begun, name + below);
      name.clear();
      below.clear();
    };
    for (std::string line; std::getline(lines, line);) {
      if (const std::size_t first = line.find_first_not_of(" \t"); first != line.npos && line[first] == '-')
        finish();
      ++number_;
      const auto [key, value] = yaml_entry(line);
      if (key.empty()) continue;
      if (key == "topology") {
        all.emplace_back();
      } else if (all.empty()) {
        fail("'" + key.substr(0, 60) + "' is of no topology", "begin with - topology:");
      } else if (key == "cluster_default") {
        all.back().is_default = value == "true";
      } else if (key == "switch" || (key == "block" && !value.empty())) {
        name = (key == "switch" ? "SwitchName=" : "BlockName=") + value;
      } else if (key == "children" || key == "nodes") {
        begun = number_;
        below += (key == "nodes" ? " Nodes=" : " Switches=") + value;
      } else if (key != "tree" && key != "block" && key != "switches" && key != "blocks" &&
                 key != "block_sizes" && key != "flat") {
        fail("'" + key.substr(0, 60) + "' is not known", "known are switch, block, children, nodes");
      }
    }
    finish();
    if (all.empty()) fail("has no topology", "begin with - topology:");
    // A topology without lines is flat: it joins hosts by nothing.
    auto chosen = std::ranges::find(all, true, &YamlTopology::is_default);
    if (chosen == all.end())
      chosen = std::ranges::find_if(all, [](const YamlTopology& each) { return !each.lines.empty(); });
    if (chosen == all.end() || chosen->lines.empty())
      fail("has no switches and no blocks in the default topology",
           "give one that has some cluster_default: true");
    for (const auto& [number, line] : chosen->lines) {
      number_ = number;
      read_line(line);
    }
  }

  // The key and the value of "- switch: s0"; "" of lines without one, and of numbers in a list.
  std::pair<std::string, std::string> yaml_entry(const std::string& line) const {
    std::vector<std::string> words = words_in(line.substr(0, line.find('#')));
    if (!words.empty() && words.front() == "-") words.erase(words.begin());
    if (words.empty() || words.front() == "---" || number_in<int>(words.front())) return {};
    std::string key = lower_case(words.front()), value;
    for (std::size_t w = 1; w < words.size(); ++w) value += words[w];
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    if (!key.ends_with(":"))
      fail("'" + key.substr(0, 60) + "' is not key: value", "use switch:, block:, children:, nodes:");
    key.pop_back();
    return {key, value};
  }

  // Blocks have one switch above them.
  void join_blocks() {
    if (blocks_ < 2 || std::ssize(tree_.switches) != blocks_) return;
    for (const std::string& block : tree_.switches) parents_.emplace(block, blocks_);
    tree_.switches.emplace_back("network of the blocks");
    tree_.above.push_back(-1);
  }

  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const {
    throw InputError(fmt::format("{}:{}", file_, number_), problem, remedy);
  }

  // Keys in any order, each once. A switch has hosts or switches; both is what 'scontrol show topology'
  // prints.
  void read_line(const std::string& line) {
    std::map<std::string, std::string> values;
    for (const std::string& word : words_in(line)) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos)
        fail("'" + word.substr(0, 60) + "' is not key=value", "use SwitchName=, Nodes=, Switches=");
      const std::string key = lower_case(word.substr(0, equals));
      if (key == "blocksizes") return;  // how many blocks a job gets
      const bool is_block = key == "blockname";
      if (!is_block && key != "switchname" && key != "nodes" && key != "switches" && key != "linkspeed" &&
          key != "level" && key != "blockindex" && key != "blocksize")
        fail("'" + word.substr(0, equals).substr(0, 60) + "' is not known",
             "known are SwitchName, Nodes, Switches, LinkSpeed, Level, BlockName, BlockIndex, BlockSize, "
             "BlockSizes");
      blocks_ += is_block ? 1 : 0;
      if (!values.emplace(is_block ? "switchname" : key, word.substr(equals + 1)).second)
        fail("has a key twice", "give each once");
    }
    if (values.empty()) return;
    const std::string name = values["switchname"];
    // 'scontrol show topology' prints the level, and repeats the hosts of the switches below.
    if (values.contains("level") && !values["switches"].empty()) values.erase("nodes");
    if (name.empty()) fail("names no switch", "begin with SwitchName= or BlockName=");
    if (values["nodes"].empty() == values["switches"].empty())
      fail("has neither hosts nor switches, or both", "give either Nodes= or Switches=");
    if (tree_.switches.size() >= kMostSlurmSwitches)
      fail(fmt::format("is one of over {} switches", kMostSlurmSwitches), "give a part of the cluster");
    const int number = static_cast<int>(tree_.switches.size());
    if (!switch_at_.emplace(name, number).second)
      fail("names the switch " + name + " again", "give each once");
    tree_.switches.push_back(name);
    tree_.above.push_back(-1);
    for (const std::string& host : listed(values["nodes"])) {
      if (std::ranges::find(tree_.hosts, host) != tree_.hosts.end())
        fail("has the host " + host.substr(0, 60) + " a second time", "a host hangs on one switch");
      if (std::ssize(tree_.hosts) >= kMostRanks)
        fail(fmt::format("makes more than {} hosts", kMostRanks), "give fewer");
      tree_.hosts.push_back(host);
      tree_.leaf.push_back(number);
    }
    for (const std::string& child : listed(values["switches"]))
      if (!parents_.emplace(child, number).second)
        fail("has the switch " + child.substr(0, 60) + " a second time", "a switch hangs on one other");
  }

  std::vector<std::string> listed(const std::string& text) const {
    return read_host_list(text, fmt::format("{}:{}", file_, number_));
  }

  // Hosts below one switch are neighbours, whatever the order of lines is: the tree is walked from its root.
  void in_order_of_switches() {
    std::vector<std::vector<int>> below(tree_.switches.size()), hosts(tree_.switches.size());
    int root = -1;
    for (int s = 0; s < std::ssize(tree_.switches); ++s)
      if (tree_.above[s] < 0)
        root = s;
      else
        below[tree_.above[s]].push_back(s);
    for (int h = 0; h < std::ssize(tree_.hosts); ++h) hosts[tree_.leaf[h]].push_back(h);
    std::vector<std::string> names;
    std::vector<int> leaf, stack = {root};
    while (!stack.empty()) {
      const int s = stack.back();
      stack.pop_back();
      for (const int h : hosts[s]) {
        names.push_back(tree_.hosts[h]);
        leaf.push_back(s);
      }
      for (auto child = below[s].rbegin(); child != below[s].rend(); ++child) stack.push_back(*child);
    }
    tree_.hosts = std::move(names);
    tree_.leaf = std::move(leaf);
  }

  const std::string file_;
  int number_ = 0, blocks_ = 0;
  SwitchTree tree_ = {};
  std::map<std::string, int> switch_at_ = {}, parents_ = {};  // by name; the parent of a switch
};

}  // namespace

bool is_slurm_topology(std::string_view text) {
  if (SlurmReader::is_labelled(text)) return true;
  const std::string lower = lower_case(std::string(text.substr(0, 1 << 20)));
  return lower.find("switchname=") != std::string::npos || lower.find("blockname=") != std::string::npos ||
         lower.find("- topology:") != std::string::npos;
}

SwitchTree read_slurm_topology(std::string_view text, const std::string& file) {
  return SlurmReader(text, file).tree();
}

// Nothing is known of a host but its place, so it is one rank with one NIC.
Wiring wiring_of(const SwitchTree& tree, const std::string& file, const ImportOptions& options) {
  const HostFacts& host = host_facts();
  const NetworkFacts& network = network_facts(host.network);
  Wiring wiring{.call_us = host.call_us};
  const double gbits = options.nic_gbits > 0 ? options.nic_gbits : host.nic_gbits;
  std::vector<NetworkPort> ports;
  for (int h = 0; h < std::ssize(tree.hosts); ++h) {
    const int node = wiring.add(WiringNode::Kind::Gpu, tree.hosts[h]);
    ports.push_back({h, node, node, nic_gbs(network, gbits, rates_of(options)), network.step_us / 2});
  }
  wiring.read.push_back(fmt::format("{}: {}, {}", file_name(file), counted(std::ssize(tree.hosts), "host"),
                                    counted(std::ssize(tree.switches), "switch", "switches")));
  join_network(wiring, ports, tree);
  wiring.assumed.push_back(fmt::format(
      "a host is a rank with a NIC of {} Gb/s{}; with the file of a node beside this one, its GPUs "
      "are the ranks",
      gbits, options.nic_gbits > 0 ? ", as specified" : " (--nic-gbits sets another)"));
  wiring.assumed.push_back(
      fmt::format("latencies are those of MPI between hosts: a port of the network {} us, a link between "
                  "switches {}; a call costs {} us",
                  network.step_us / 2, network.step_us / 4, host.call_us));
  return wiring;
}

}  // namespace chorale
