// The answer in the forms that launchers and frameworks take: a rank file of Open MPI, a host list for
// Slurm's arbitrary distribution, the mesh for PyTorch. The order itself is found in
// placement/node_order.cpp.
#include "jobs/order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/words.h"
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

namespace {

// Nodes that follow each other on one switch are one row.
ReportTable nodes_table(const NodeOrder& order) {
  ReportTable table{.title = "Nodes", .rows = {{"nodes", "switch", "hosts"}}, .kinds = "rll"};
  for (std::size_t from = 0, to = 0; from < order.hosts.size(); from = to) {
    std::vector<std::string> hosts;
    for (; to < order.hosts.size() && order.switches[to] == order.switches[from]; ++to)
      hosts.push_back(order.hosts[to]);
    table.rows.push_back({to - from == 1 ? std::to_string(from) : fmt::format("{}-{}", from, to - 1),
                          order.switches[from], joined(hosts, " ")});
  }
  return table;
}

// Ratios are to the order that was found, which is 1.00x. A job in which nothing crosses a switch takes no
// time in any order.
ReportTable orders_table(const NodeOrder& order) {
  ReportTable table{.title = "Orders", .rows = {{"order", "time", "", "between switches"}}, .kinds = "lrrr"};
  const auto row = [&](const std::string& name, const OrderTime& time) {
    table.rows.push_back({name, format_us(time.us),
                          fmt::format("{:.2f}x", order.time.us > 0 ? time.us / order.time.us : 1),
                          format_bytes(time.bytes)});
  };
  row("this one", order.time);
  for (const auto& [name, time] : order.others) row(name, time);
  return table;
}

}  // namespace

// Not proven means that the bound is lower: how much lower is the most that another order could gain.
Report report_of(const NodeOrder& order) {
  ReportTable times{.title = "Communications",
                    .rows = {{"communication", "time", "least by nodes", "busiest"}},
                    .kinds = "lrrl"};
  for (const OrderedCommunication& each : order.communications)
    times.rows.push_back({each.name, format_us(each.us), format_us(each.least_us), each.busiest});
  const std::string proof =
      order.proven ? fmt::format("no order takes less time ({})", order.proof)
                   : fmt::format("not proven: no order takes less than {}, {:.1f} % less",
                                 format_us(order.bound_us), 100 * (1 - order.bound_us / order.time.us));
  return {.title = "order of " + counted(std::ssize(order.hosts), "node"),
          .sentences = {fmt::format("{} of {}: {} per iteration over the busiest links",
                                    counted(std::ssize(order.hosts), "node"),
                                    counted(order.node_ranks, "rank"), format_us(order.time.us)),
                        proof},
          .tables = {nodes_table(order), std::move(times), orders_table(order)}};
}

// Rank = node x ranks per node + slot, in all of the files: nodes in the order that was found, the ranks of a
// node one after the other. The last axis of the mesh is the fastest, as in PyTorch.
std::vector<NamedText> emit_order(const NodeOrder& order) {
  std::string rankfile, hostfile, hosts;
  std::vector<JsonText> axes;
  std::vector<std::string> sizes, names, ranks;
  for (std::size_t node = 0; node < order.hosts.size(); ++node) {
    hosts += order.hosts[node] + "\n";
    for (int slot = 0; slot < order.node_ranks; ++slot) {
      const std::size_t rank = node * order.node_ranks + slot;
      rankfile += fmt::format("rank {}={} slot={}\n", rank, order.hosts[node], slot);
      hostfile += order.hosts[node] + "\n";
      ranks.push_back(order.hosts[node]);
    }
  }
  for (const Axis& axis : order.job.axes) {
    axes.push_back(json_object("name", axis.name, "size", axis.size));
    sizes.push_back(std::to_string(axis.size));
    names.push_back(quoted(axis.name));
  }
  const std::string mesh = fmt::format(
      "# Ranks in the order of 'rankfile' or 'slurm_hostfile' are the mesh in order: the last axis is the\n"
      "# fastest.\nfrom torch.distributed.device_mesh import init_device_mesh\n\n\n"
      "def mesh(device=\"cuda\"):\n    return init_device_mesh(device, ({},), mesh_dim_names=({},))\n",
      fmt::join(sizes, ", "), fmt::join(names, ", "));
  return {{"rankfile", rankfile},
          {"slurm_hostfile", hostfile},
          {"hosts", hosts},
          {"mesh.json", json_file("axes", axes, "node_ranks", order.node_ranks, "hosts_of_ranks", ranks)},
          {"torch_mesh.py", mesh}};
}

}  // namespace chorale
