#include "topology/import/named_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "ir/error.h"
#include "ir/words.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

using PartKind = HostPart::Kind;

struct NamedPart {
  int node = 0, part = 0, port = -1;  // port: in HostPart::ports; -1: all of the part
  std::vector<std::string> names = {};
};

std::vector<NamedPart> named_parts(const std::vector<Host>& hosts) {
  std::vector<NamedPart> all;
  for (int node = 0; node < std::ssize(hosts); ++node) {
    std::vector<std::pair<std::string, int>> switches;
    int nics = 0;
    for (int p = 0; p < std::ssize(hosts[node].parts); ++p) {
      const HostPart& part = hosts[node].parts[p];
      if (part.kind == PartKind::Gpu) all.push_back({node, p, -1, {fmt::format("gpu{}", part.number)}});
      if (part.kind == PartKind::Nic && part.ports.empty())
        all.push_back({node, p, -1, {fmt::format("nic{}", nics)}});
      if (part.kind == PartKind::Nic) ++nics;
      if (part.kind == PartKind::NvSwitch) switches.emplace_back(part.name, p);
      for (int i = 0; i < std::ssize(part.ports); ++i) {
        const HostPort& port = part.ports[i];
        all.push_back({node, p, i, {fmt::format("nic{}", port.number)}});
        if (!port.name.empty()) all.back().names.push_back(port.name);
      }
    }
    std::ranges::sort(switches);
    for (std::size_t i = 0; i < switches.size(); ++i)
      all.push_back({node, switches[i].second, -1, {fmt::format("nvswitch{}", i)}});
  }
  return all;
}

// Those of the first node, as they are to be typed.
std::string listed(const std::vector<NamedPart>& parts, std::size_t nodes) {
  std::vector<std::string> names;
  for (const NamedPart& each : parts)
    if (each.node == parts.front().node)
      names.push_back((nodes > 1 ? fmt::format("node{}:", each.node) : "") + each.names.back());
  return joined(names) + (nodes > 1 ? fmt::format(", to those of node{}", nodes - 1) : "");
}

double part_left(const std::string& text) {
  const double left = number_in<double>(text).value_or(0);
  if (!(left > 0 && left < 1))
    throw InputError("--degrade", "'" + text.substr(0, 40) + "' is not a fraction of a bandwidth",
                     "use what is left of it, between 0 and 1, such as 0.5");
  return left;
}

// Cables of a GPU or switch, or the network of a port; where GPUs reach each other over PCI, the link of a
// GPU to it, too.
void slow_down(Host& host, const NamedPart& named, bool over_pci, double left) {
  HostPart& part = host.parts[named.part];
  if (part.kind == PartKind::Gpu && over_pci) {
    part.up_gbs *= left;
    if (left == 0) part.parent = -1;
  }
  double& gbs = named.port >= 0 ? part.ports[named.port].gbs : part.net_gbs;
  if (named.port >= 0) part.net_gbs -= gbs * (1 - left);
  gbs *= left;
  for (HostCable& cable : host.cables)
    if (cable.src == named.part || cable.dst == named.part) cable.gbs *= left;
  std::erase_if(host.cables, [](const HostCable& cable) { return cable.gbs <= 0; });
}

// A NIC whose last port is gone; nothing hangs on one. What is slow or gone is no more equal to other nodes,
// so the node has a name of its own in the report.
void remove_dead_nics(Host& host) {
  for (int p = static_cast<int>(host.parts.size()) - 1; p >= 0; --p) {
    if (host.parts[p].kind != PartKind::Nic || host.parts[p].net_gbs > 1e-9) continue;
    host.parts.erase(host.parts.begin() + p);
    for (HostPart& part : host.parts) part.parent -= part.parent > p ? 1 : 0;
    for (HostCable& cable : host.cables) {
      cable.src -= cable.src > p ? 1 : 0;
      cable.dst -= cable.dst > p ? 1 : 0;
    }
  }
}

}  // namespace

std::vector<std::string> change_parts(std::vector<Host>& hosts, MachineChanges& changes) {
  const std::vector<NamedPart> parts = named_parts(hosts);
  std::vector<bool> over_pci;
  for (const Host& host : hosts) over_pci.push_back(!is_joined_without_pci(host));
  std::vector<std::string> done;
  // Links of the graph have a '-' or '>', which names of parts may have, too.
  const auto change = [&](const char* option, const std::string& name, double left) {
    std::vector<const NamedPart*> found;
    for (const NamedPart& each : parts)
      for (const std::string& its : each.names)
        if (lower_case(name) == lower_case(its) ||
            lower_case(name) == lower_case(fmt::format("node{}:{}", each.node, its))) {
          found.push_back(&each);
          break;
        }
    if (found.size() > 1)
      throw InputError(option, fmt::format("'{}' is in {} nodes", name, found.size()),
                       fmt::format("use node0:{}, or that of another node", name));
    if (!found.empty()) {
      Host& host = hosts[found.front()->node];
      if (hosts.size() == 1 && host.parts[found.front()->part].kind == PartKind::Nic)
        throw InputError(option, "'" + name + "' is a NIC, and those of one node lead nowhere",
                         "join several nodes (--nodes 2)");
      slow_down(host, *found.front(), over_pci[found.front()->node], left);
      if (hosts.size() > 1 && !host.file.ends_with(')'))
        host.file += fmt::format(" (node {})", found.front()->node);
      done.push_back(left > 0 ? fmt::format("with {}={:g}", name, left) : "without link " + name);
    } else if (name.find_first_of("->") == std::string::npos) {
      throw InputError(option, "'" + name.substr(0, 60) + "' names no link",
                       "use A-B for both directions, A>B for one, or one of " + listed(parts, hosts.size()));
    }
    return !found.empty();
  };
  std::erase_if(changes.without_links,
                [&](const std::string& name) { return change("--without-link", name, 0); });
  std::erase_if(changes.degraded, [&](const std::string& text) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    return equals < text.size() && change("--degrade", name, part_left(text.substr(equals + 1)));
  });
  for (Host& host : hosts) remove_dead_nics(host);
  return done;
}

void name_parts(std::vector<Host>& hosts) {
  std::map<std::pair<int, int>, std::string> names;  // of several ports together
  for (const NamedPart& named : named_parts(hosts)) {
    std::string& name = names[{named.node, named.part}];
    name += (name.empty() ? "" : " and ") + named.names.back();
  }
  for (const auto& [at, name] : names) {
    HostPart& part = hosts[at.first].parts[at.second];
    const std::size_t more = part.name.find(" (");
    part.name = name + (part.kind == PartKind::Nic || more == part.name.npos ? "" : part.name.substr(more));
  }
  for (std::size_t node = 0; node < hosts.size() && hosts.size() > 1; ++node)
    for (HostPart& part : hosts[node].parts) part.name.insert(0, fmt::format("node{}:", node));
}

}  // namespace chorale
