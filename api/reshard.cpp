// Plans are searched as a collective of bundles (api/reshard_bundles.cpp) and timed by bytes over links: the
// tensors are large, so latency is left out, and so it is of the methods that a plan is compared with. The
// bound is computed beside the search, on a thread of its own.
#include "api/reshard.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <map>
#include <queue>
#include <set>

#include "api/search.h"
#include "api/timed_stop.h"
#include "construct/engine.h"
#include "ir/error.h"
#include "ir/json_writer.h"
#include "pareto/findings.h"
#include "pareto/strongest_bounds.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Of all chunks together: schedules of more take longer to find, and are no better.
constexpr int kMostPieces = 20'000;
constexpr double kNearEnough = 1.005;  // of the bound

// Bytes over links, and what that takes.
class LinkBytes {
 public:
  LinkBytes(const Topology& topology, const std::vector<int>& host)
      : topology_(topology), host_(host), bytes_(topology.links.size(), 0) {}

  void add(LinkId link, double bytes) { bytes_[link] += bytes; }
  const std::vector<double>& all() const { return bytes_; }

  // By the busiest link or limit: bytes flow all at once, without steps. A limit of bandwidth k carries what
  // k links of bandwidth 1 do.
  double us() const {
    double most = 0;
    for (std::size_t l = 0; l < bytes_.size(); ++l) most = std::max(most, bytes_[l] * us_per_byte(l));
    for (const SharedLimit& limit : topology_.limits) {
      double sum = 0;
      for (const LinkId l : limit.links)
        sum += bytes_[l] * topology_.links[l].beta_us_per_byte / limit.bandwidth;
      most = std::max(most, sum);
    }
    return most;
  }
  // link_seconds: bytes times what the slowest of a link and its limits takes, of links between hosts where
  // hosts are known.
  ReshardMethod method(const std::string& name) const {
    std::vector<double> slowest(bytes_.size(), 0);  // of a link and the limits over it
    for (std::size_t l = 0; l < bytes_.size(); ++l) slowest[l] = us_per_byte(l);
    for (const SharedLimit& limit : topology_.limits)
      for (const LinkId l : limit.links)
        slowest[l] = std::max(slowest[l], topology_.links[l].beta_us_per_byte / limit.bandwidth);
    ReshardMethod method{.name = name, .us = us()};
    for (std::size_t l = 0; l < bytes_.size(); ++l) {
      method.bytes += bytes_[l];
      const Link& link = topology_.links[l];
      if (host_.empty() || host_[link.src] != host_[link.dst])
        method.link_seconds += bytes_[l] * slowest[l] / 1e6;
    }
    return method;
  }

 private:
  double us_per_byte(std::size_t link) const {
    return topology_.links[link].beta_us_per_byte / topology_.links[link].bandwidth;
  }

  const Topology& topology_;
  const std::vector<int>& host_;
  std::vector<double> bytes_;
};

// The links of shortest paths from one rank (or the nearest of several): by rank the link that leads there.
// Dijkstra, by the time of a byte over each link.
std::vector<LinkId> shortest_paths(const Topology& topology, const RankSet& sources) {
  std::vector<double> length(topology.ranks, std::numeric_limits<double>::infinity());
  std::vector<LinkId> last(topology.ranks, -1);
  std::vector<std::vector<LinkId>> out(topology.ranks);
  for (LinkId l = 0; l < static_cast<LinkId>(topology.links.size()); ++l)
    out[topology.links[l].src].push_back(l);
  // Entries are not removed when a shorter path is found; outdated ones are skipped as they are taken.
  using Reached = std::pair<double, Rank>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> next;
  for (const Rank r : sources) next.emplace(length[r] = 0, r);
  while (!next.empty()) {
    const auto [so_far, rank] = next.top();
    next.pop();
    if (so_far > length[rank]) continue;
    for (const LinkId l : out[rank]) {
      const Link& link = topology.links[l];
      const double then = so_far + link.beta_us_per_byte / link.bandwidth;
      if (then >= length[link.dst]) continue;
      length[link.dst] = then;
      last[link.dst] = l;
      next.emplace(then, link.dst);
    }
  }
  return last;
}

// From the rank back to the source; empty at a source.
std::vector<LinkId> path_to(const Topology& topology, const std::vector<LinkId>& last, Rank rank) {
  std::vector<LinkId> path;
  for (; last[rank] >= 0; rank = topology.links[last[rank]].src) path.push_back(last[rank]);
  return path;
}

// Each rank gets each piece that it lacks from the nearest rank that holds it. A rank that holds a piece is a
// source, and its path is empty.
ReshardMethod direct_sends(const Topology& topology, const ReshardDemand& demand,
                           const std::vector<int>& host) {
  LinkBytes loads(topology, host);
  for (const ReshardPart& part : demand.parts) {
    const std::vector<LinkId> last = shortest_paths(topology, part.holders);
    for (const Rank rank : part.wanted)
      for (const LinkId l : path_to(topology, last, rank)) loads.add(l, part.bytes);
  }
  return loads.method("direct sends");
}

// All tensors are gathered at the first rank that holds some, which sends them whole to every rank that wants
// some, along a tree of shortest paths. A link of the tree carries all bytes once, whatever the number of
// ranks behind it.
ReshardMethod gather_and_broadcast(const Topology& topology, const ReshardQuestion& question,
                                   const ReshardDemand& demand, const std::vector<int>& host) {
  const Rank root = holders_of(question).front();
  LinkBytes gather(topology, host), broadcast(topology, host);
  double all = 0;
  for (const ReshardPart& part : demand.parts) {
    for (const LinkId l : path_to(topology, shortest_paths(topology, part.holders), root))
      gather.add(l, part.bytes);
    all += part.bytes;
  }
  std::set<LinkId> tree;
  const std::vector<LinkId> last = shortest_paths(topology, {root});
  for (const Rank rank : receivers_of(question))
    for (const LinkId l : path_to(topology, last, rank)) tree.insert(l);
  for (const LinkId l : tree) broadcast.add(l, all);
  ReshardMethod method = gather.method("gather and broadcast");
  const ReshardMethod second = broadcast.method("");
  method.us += second.us;
  method.bytes += second.bytes;
  method.link_seconds += second.link_seconds;
  return method;
}

// As the hierarchical algorithm of nccl-extensions' M2N: a piece goes to one rank of the first node that
// wants it; there and on each further node that rank passes it to the rest of its node, and to one rank of
// the next node. Of the ranks of a node, and of the holders, pieces take the next one each.
ReshardMethod ring_of_nodes(const Topology& topology, const ReshardDemand& demand,
                            const std::vector<int>& host) {
  LinkBytes loads(topology, host);
  std::vector<std::vector<LinkId>> paths(topology.ranks);  // by rank: to all others
  const auto send = [&](Rank src, Rank dst, double bytes) {
    if (paths[src].empty()) paths[src] = shortest_paths(topology, {src});
    for (const LinkId l : path_to(topology, paths[src], dst)) loads.add(l, bytes);
  };
  for (std::size_t p = 0; p < demand.parts.size(); ++p) {
    const ReshardPart& part = demand.parts[p];
    std::map<int, std::vector<Rank>> nodes;
    for (const Rank rank : part.wanted)
      if (!std::ranges::binary_search(part.holders, rank)) nodes[host[rank]].push_back(rank);
    Rank before = part.holders[p % part.holders.size()];
    for (const auto& [node, ranks] : nodes) {
      const Rank leader = ranks[p % ranks.size()];
      send(before, leader, part.bytes);
      for (const Rank rank : ranks)
        if (rank != leader) send(leader, rank, part.bytes);
      before = leader;
    }
  }
  return loads.method("ring of nodes");
}

// The strongest bound on rounds, in microseconds. The floor counts whole chunks of each part only, so what
// bounds it bounds the parts. A round takes the time of its chunk at the least beta of all links.
double bound_us(const Topology& topology, const ReshardDemand& demand, const std::atomic<bool>* stop) {
  double beta = std::numeric_limits<double>::infinity();
  for (const Link& link : topology.links) beta = std::min(beta, link.beta_us_per_byte);
  const ReshardFloor floor = reshard_floor(demand);
  StrongestBounds bounds(topology, floor.collective, stop);
  if (bounds.fewest_steps().steps == 0) return 0;
  return static_cast<double>(bounds.rate().rounds) / bounds.rate().chunks * floor.chunk_bytes * beta;
}

// Step by step, each as long as its fullest link or limit.
ReshardMethod plan_of(const Topology& topology, const ReshardDemand& demand, const Point& point,
                      const std::vector<int>& host, std::vector<double>& link_bytes) {
  // [chunk of the demand]: the engine cuts chunk c into c k .. c k + k - 1, with k = cost.chunks.
  std::vector<double> chunk_bytes;
  for (const ReshardPart& bundle : demand.bundles)
    chunk_bytes.insert(chunk_bytes.end(), bundle.chunks, bundle.bytes / bundle.chunks / point.cost.chunks);
  LinkBytes all(topology, host);
  double us = 0;
  for (const Step& step : point.schedule.steps) {
    LinkBytes loads(topology, host);
    for (const Send& send : step.sends) {
      loads.add(send.link, chunk_bytes[send.chunk / point.cost.chunks]);
      all.add(send.link, chunk_bytes[send.chunk / point.cost.chunks]);
    }
    us += loads.us();
  }
  ReshardMethod plan = all.method("this plan");
  plan.us = us;
  link_bytes = all.all();
  return plan;
}

// Packings alone, until one is near the bound: what else a search does is for few steps and few chunks. Where
// none comes near the search goes on.
Result packed(const Topology& topology, const Collective& one, const FrontierOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  const std::atomic<bool>* const stop = options.synthesis.limits.stop;
  Findings found(topology, one, options);
  for (const Claim& claim : StrongestBounds(topology, one, stop).claims(1)) found.put(claim);
  const Rate bound = found.rate_bound(one.kind);
  Construction engine({.topology = topology,
                       .one = one,
                       .min_chunks = options.min_chunks,
                       .max_chunks = options.max_chunks,
                       .bound = bound,
                       .stop = stop});
  double best = std::numeric_limits<double>::infinity();
  // Without a bound (0 rounds) nothing is near, and all is tried.
  const auto near = [&] { return best * bound.chunks <= bound.rounds * kNearEnough; };
  const auto take = [&](Point point) {
    best = std::min(best, static_cast<double>(point.cost.rounds) / point.cost.chunks);
    found.put(one.kind, std::make_shared<const Point>(std::move(point)), true);
  };
  while (!near() && engine.advance(take)) {
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  const bool stopped = !near() && stop != nullptr && *stop;
  Result result = found.result(stopped ? Stopped::Interrupted : Stopped::ChunkCounts, seconds.count());
  if (near() || stopped) return result;
  FrontierOptions more = options;
  more.known = result.points;
  return frontier(topology, one, more);
}

}  // namespace

Resharding reshard(const Topology& topology, const ReshardQuestion& question, const std::vector<int>& host,
                   const FrontierOptions& options) {
  Resharding answer{.question = question, .demand = reshard_demand(question, topology.ranks)};
  answer.of_nodes = !host.empty();
  FrontierOptions limited = options;
  if (limited.max_chunks == kAnyChunks)
    // Pieces are the chunks of the demand times the chunks that the engine cuts each of them into.
    limited.max_chunks =
        std::clamp(kMostPieces / static_cast<int>(std::ssize(answer.demand.collective.chunks)),
                   limited.min_chunks, kMostChunks);
  const TimedStop stop(limited);
  const Topology flat = flatten(topology);
  std::future<double> bound = std::async(std::launch::async, bound_us, std::cref(flat),
                                         std::cref(answer.demand), limited.synthesis.limits.stop);
  answer.result = packed(flat, answer.demand.collective, limited);
  stop.tell_why(answer.result);
  const Topology& machine = answer.result.topology;
  answer.methods = {gather_and_broadcast(machine, question, answer.demand, host),
                    direct_sends(machine, answer.demand, host)};
  if (answer.of_nodes) answer.methods.push_back(ring_of_nodes(machine, answer.demand, host));
  answer.bound_us = bound.get();
  if (answer.result.points.empty()) return answer;
  const std::vector<Point>& points = answer.result.points;
  const auto fewest_rounds = std::ranges::min_element(
      points, [](const Point& a, const Point& b) { return compare_rate(a.cost, b.cost) < 0; });
  answer.point = static_cast<int>(fewest_rounds - points.begin());
  answer.methods.push_back(
      plan_of(machine, answer.demand, answer.result.points[answer.point], host, answer.link_bytes));
  return answer;
}

std::string to_json(const Resharding& answer) {
  std::vector<std::string> methods, links;
  for (const ReshardMethod& each : answer.methods)
    methods.push_back(fmt::format("{{\"name\":{},\"us\":{},\"bytes\":{},\"link_seconds\":{}}}",
                                  quoted(each.name), each.us, each.bytes, each.link_seconds));
  for (std::size_t l = 0; l < answer.link_bytes.size(); ++l)
    if (answer.link_bytes[l] > 0)
      links.push_back(fmt::format("[{},{},{}]", answer.result.topology.links[l].src,
                                  answer.result.topology.links[l].dst, answer.link_bytes[l]));
  return fmt::format(
      "{{\"chorale_reshard\":1,\"name\":{},\"topology\":{},\"bytes\":{},\"chunk_bytes\":{},\"parts\":{},\n"
      " \"bound_us\":{},\"of_nodes\":{},\"point\":{},\n \"methods\":{},\n \"links\":{}}}\n",
      quoted(answer.question.name), quoted(answer.result.topology.name), answer.demand.bytes,
      answer.demand.chunk_bytes, answer.demand.parts.size(), answer.bound_us, answer.of_nodes, answer.point,
      lines(methods, " "), lines(links, " "));
}

}  // namespace chorale
