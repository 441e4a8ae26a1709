// The order as the list of hosts by node of the mesh, with the switch of each, so the two lists have one
// length. Communications and other orders have a line each. Written for other programs; nothing here reads
// it.
#include "ir/json_writer.h"
#include "ir/node_order.h"

namespace chorale {
std::string to_json(const NodeOrder& order) {
  std::vector<std::string> axes, communications, others;
  for (const Axis& axis : order.job.axes)
    axes.push_back(fmt::format("{{\"name\":{},\"size\":{}}}", quoted(axis.name), axis.size));
  for (const OrderedCommunication& each : order.communications)
    communications.push_back(fmt::format("{{\"name\":{},\"us\":{},\"least_us\":{},\"busiest\":{}}}",
                                         quoted(each.name), each.us, each.least_us, quoted(each.busiest)));
  for (const auto& [name, time] : order.others)
    others.push_back(
        fmt::format("{{\"name\":{},\"us\":{},\"bytes\":{}}}", quoted(name), time.us, time.bytes));
  return fmt::format(
      "{{\"chorale_order\":1,\"job\":{},\"axes\":[{}],\"node_ranks\":{},\"node_gbs\":{},\"tapers\":[{}],\n"
      " \"us\":{},\"bytes\":{},\"bound_us\":{},\"proven\":{},\"proof\":{},\n \"hosts\":{},\n "
      "\"switches\":{},\n \"communications\":{},\n \"others\":{}}}\n",
      quoted(order.job.name), fmt::join(axes, ","), order.node_ranks, order.rates.node_gbs,
      fmt::join(order.rates.tapers, ","), order.time.us, order.time.bytes, order.bound_us, order.proven,
      quoted(order.proof), list(order.hosts), list(order.switches), lines(communications, " "),
      lines(others, " "));
}

}  // namespace chorale
