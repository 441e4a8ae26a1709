// Hosts are named by Slurm's files. The order itself is found in placement/node_order.cpp; its report and the
// files for launchers are written in Python (python/chorale/ordering.py).
#include "jobs/order.h"

#include <map>
#include <set>

#include "ir/error.h"
#include "ir/files.h"
#include "placement/node_order.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"

namespace chorale {

Allocation allocation(const std::string& topology_file, const std::string& hosts) {
  const std::string text = read_file(topology_file);
  if (!is_slurm_topology(text))
    throw InputError(topology_file, "is not a topology.conf of Slurm",
                     "give that file, or the output of 'scontrol show topology'");
  Allocation found{.cluster = read_slurm_topology(text, topology_file)};
  std::map<std::string, int> at;
  for (int h = 0; h < static_cast<int>(found.cluster.hosts.size()); ++h) at[found.cluster.hosts[h]] = h;
  // All hosts of the file, by name.
  if (hosts.empty())
    for (const auto& [name, host] : at) found.hosts.push_back(host);
  std::set<std::string> seen;
  for (const std::string& name : read_host_list(hosts, "--hosts")) {
    if (!at.contains(name))
      throw InputError("--hosts", "the host " + name.substr(0, 60) + " is not in " + topology_file,
                       "give hosts of that file");
    if (!seen.insert(name).second)
      throw InputError("--hosts", "the host " + name.substr(0, 60) + " is listed twice", "list each once");
    found.hosts.push_back(at[name]);
  }
  return found;
}

NodeOrder order(const Allocation& allocation, const OrderQuestion& question) {
  return best_order(allocation, question);
}

}  // namespace chorale
