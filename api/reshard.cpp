// Plans are searched as a collective of bundles, parts in equal chunks, and timed by bytes over links: the
// tensors are large, so latency is left out, and so it is of the methods that a plan is compared with. The
// bound is computed beside the search, on a thread of its own.
#include "api/reshard.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <map>
#include <set>

#include "api/search.h"
#include "api/timed_stop.h"
#include "construct/engine.h"
#include "graph/paths.h"
#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/json_reader.h"
#include "ir/limits.h"
#include "pareto/findings.h"
#include "pareto/strongest_bounds.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Of all chunks together: schedules of more take longer to find, and are no better.
constexpr int kMostPieces = 20'000;
constexpr double kNearEnough = 1.005;     // of the bound
constexpr double kFloorChunks = 1 << 17;  // of all bytes, about
constexpr std::size_t kMostParts = 1'000'000;
constexpr double kMostBytesOfPart = 1e18;  // of a part

// The ranks that want the part and do not hold it.
RankSet lacking(const ReshardPart& part) {
  std::vector<Rank> ranks;
  std::ranges::set_difference(part.wanted, part.holders, std::back_inserter(ranks));
  return ranks;
}

// Chunks of each, one after the other. A chunk is at one position in the inputs of all its holders, the first
// that is free in each of them, and likewise in the outputs.
Collective collective_of(const std::vector<ReshardPart>& bundles, int ranks) {
  Collective collective{.kind = CollectiveKind::Custom, .custom_name = "reshard", .ranks = ranks};
  std::vector<int> inputs(ranks, 0), outputs(ranks, 0);
  for (const ReshardPart& bundle : bundles) {
    const RankSet missing = lacking(bundle);
    for (int c = 0; c < bundle.chunks; ++c) {
      ChunkSpec chunk{.pre = bundle.holders, .post = missing};
      for (const Rank r : chunk.pre) chunk.input = std::max(chunk.input, inputs[r]);
      for (const Rank r : chunk.post) chunk.output = std::max(chunk.output, outputs[r]);
      for (const Rank r : chunk.pre) inputs[r] = chunk.input + 1;
      for (const Rank r : chunk.post) outputs[r] = chunk.output + 1;
      collective.chunks.push_back(std::move(chunk));
    }
  }
  return collective;
}

// The same demand, in which each part that some rank lacks is one chunk.
ReshardDemand of_whole_parts(ReshardDemand demand) {
  demand.bundles = demand.parts;
  for (ReshardPart& part : demand.bundles) part.chunks = lacking(part).empty() ? 0 : 1;
  demand.collective = collective_of(demand.bundles, demand.collective.ranks);
  return demand;
}

RankSet ranks_from(const JsonReader& json, int ranks) {
  return json.integers(kMostRanks, 0, ranks - 1);
}

std::vector<ReshardPart> parts_from(const JsonReader& json, int ranks) {
  std::vector<ReshardPart> parts;
  for (const JsonReader& row : json.elements(kMostParts))
    parts.push_back({.holders = ranks_from(row.at(0), ranks),
                     .wanted = ranks_from(row.at(1), ranks),
                     .bytes = row.at(2).number(0, kMostBytesOfPart),
                     .chunks = row.at(3).integer(0, kMostPieces)});
  return parts;
}

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

// The links of shortest paths from one rank (or the nearest of several), by the time of a byte over each: by
// rank the link that leads there.
std::vector<LinkId> shortest_paths(const Topology& topology, const RankSet& sources) {
  std::vector<std::vector<LinkId>> out(topology.ranks);
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) out[topology.links[l].src].push_back(l);
  const double never = std::numeric_limits<double>::infinity();
  return cheapest_paths(topology.ranks, sources, 0.0, never,
                        [&](Rank n, double so_far, const auto& reach) {
                          for (const LinkId l : out[n]) {
                            const Link& link = topology.links[l];
                            reach(link.dst, l, so_far + link.beta_us_per_byte / link.bandwidth);
                          }
                        })
      .by;
}

// From the source to the rank; empty at a source.
std::vector<LinkId> path_to(const Topology& topology, const std::vector<LinkId>& last, Rank rank) {
  std::vector<LinkId> path;
  for (; last[rank] >= 0; rank = topology.links[last[rank]].src) path.push_back(last[rank]);
  std::ranges::reverse(path);
  return path;
}

// What a method sends: in each stage parts over links, each after the sends that bring it to the source. The
// bytes of a stage flow all at once, those of one stage after those of another.
struct PartSend {
  int part = 0;
  LinkId link = -1;
};
struct Route {
  std::string name = {};
  std::vector<std::vector<PartSend>> stages = {};
};

ReshardMethod method_of(const Topology& topology, const ReshardDemand& demand, const Route& route,
                        const std::vector<int>& host, std::vector<double>* link_bytes = nullptr) {
  LinkBytes all(topology, host);
  double us = topology.call_us;
  for (const std::vector<PartSend>& stage : route.stages) {
    LinkBytes loads(topology, host);
    for (const PartSend& send : stage) {
      loads.add(send.link, demand.parts[send.part].bytes);
      all.add(send.link, demand.parts[send.part].bytes);
    }
    us += loads.us();
  }
  ReshardMethod method = all.method(route.name);
  method.us = us;
  if (link_bytes != nullptr) *link_bytes = all.all();
  return method;
}

// Each rank gets each piece that it lacks from the nearest rank that holds it. A rank that holds a piece is a
// source, and its path is empty.
Route direct_sends(const Topology& topology, const ReshardDemand& demand) {
  Route route{.name = "direct sends", .stages = std::vector<std::vector<PartSend>>(1)};
  for (int p = 0; p < std::ssize(demand.parts); ++p) {
    const std::vector<LinkId> last = shortest_paths(topology, demand.parts[p].holders);
    for (const Rank rank : demand.parts[p].wanted)
      for (const LinkId l : path_to(topology, last, rank)) route.stages[0].push_back({p, l});
  }
  return route;
}

// All tensors are gathered at the first rank that holds some, which sends them whole to every rank that wants
// some, along a tree of shortest paths. A link of the tree carries all bytes once, whatever the number of
// ranks behind it.
Route gather_and_broadcast(const Topology& topology, const ReshardDemand& demand) {
  const Rank root = demand.root;
  Route route{.name = "gather and broadcast", .stages = std::vector<std::vector<PartSend>>(2)};
  std::vector<LinkId> tree;  // from the root outwards
  std::set<LinkId> seen;
  const std::vector<LinkId> last = shortest_paths(topology, {root});
  for (const Rank rank : demand.receivers)
    for (const LinkId l : path_to(topology, last, rank))
      if (seen.insert(l).second) tree.push_back(l);
  for (int p = 0; p < std::ssize(demand.parts); ++p) {
    for (const LinkId l : path_to(topology, shortest_paths(topology, demand.parts[p].holders), root))
      route.stages[0].push_back({p, l});
    for (const LinkId l : tree) route.stages[1].push_back({p, l});
  }
  return route;
}

// As the hierarchical algorithm of nccl-extensions' M2N: a piece goes to one rank of the first node that
// wants it; there and on each further node that rank passes it to the rest of its node, and to one rank of
// the next node. Of the ranks of a node, and of the holders, pieces take the next one each.
Route ring_of_nodes(const Topology& topology, const ReshardDemand& demand, const std::vector<int>& host) {
  Route route{.name = "ring of nodes", .stages = std::vector<std::vector<PartSend>>(1)};
  std::vector<std::vector<LinkId>> paths(topology.ranks);  // by rank: to all others
  for (int p = 0; p < std::ssize(demand.parts); ++p) {
    const auto send = [&](Rank src, Rank dst) {
      if (paths[src].empty()) paths[src] = shortest_paths(topology, {src});
      for (const LinkId l : path_to(topology, paths[src], dst)) route.stages[0].push_back({p, l});
    };
    const ReshardPart& part = demand.parts[p];
    std::map<int, std::vector<Rank>> nodes;
    for (const Rank rank : part.wanted)
      if (!std::ranges::binary_search(part.holders, rank)) nodes[host[rank]].push_back(rank);
    Rank before = part.holders[p % part.holders.size()];
    for (const auto& [node, ranks] : nodes) {
      const Rank leader = ranks[p % ranks.size()];
      send(before, leader);
      for (const Rank rank : ranks)
        if (rank != leader) send(leader, rank);
      before = leader;
    }
  }
  return route;
}

bool is_moved(const ReshardPart& part) {
  return !std::ranges::includes(part.holders, part.wanted);
}

// The route without what brings a part to a rank that has it already, or that no rank lacks: the same parts
// arrive, and no link carries more. None where some part does not arrive: there is no path.
std::optional<Route> without_repeats(const Topology& topology, const ReshardDemand& demand, Route route) {
  std::vector<std::vector<bool>> has(demand.parts.size(), std::vector<bool>(topology.ranks));
  for (std::size_t p = 0; p < has.size(); ++p)
    for (const Rank r : demand.parts[p].holders) has[p][r] = true;
  for (std::vector<PartSend>& stage : route.stages)
    std::erase_if(stage, [&](const PartSend& send) {
      const Link& link = topology.links[send.link];
      if (!is_moved(demand.parts[send.part]) || has[send.part][link.dst] || !has[send.part][link.src])
        return true;
      has[send.part][link.dst] = true;
      return false;
    });
  for (std::size_t p = 0; p < has.size(); ++p)
    for (const Rank r : demand.parts[p].wanted)
      if (!has[p][r]) return std::nullopt;
  return route;
}

// A schedule of whole parts, each one step after it arrived, later stages after earlier ones. Requires a
// route without repeats and a demand of whole parts.
Schedule schedule_of(const Topology& topology, const ReshardDemand& demand, const Route& route) {
  std::vector<int> chunk(demand.parts.size(), -1);
  for (std::size_t p = 0, next = 0; p < demand.parts.size(); ++p)
    if (is_moved(demand.parts[p])) chunk[p] = static_cast<int>(next++);
  std::map<std::pair<int, Rank>, int> arrives;  // by part and rank: the steps until then
  Schedule schedule;
  for (const std::vector<PartSend>& stage : route.stages) {
    const int before = static_cast<int>(schedule.steps.size());
    for (const PartSend& send : stage) {
      const Link& link = topology.links[send.link];
      const auto there = arrives.find({send.part, link.src});
      const int step = std::max(before, there == arrives.end() ? 0 : there->second);
      arrives[{send.part, link.dst}] = step + 1;
      if (step == std::ssize(schedule.steps)) schedule.steps.emplace_back();
      schedule.steps[step].sends.push_back({.chunk = chunk[send.part], .link = send.link});
    }
  }
  for (Step& step : schedule.steps) {
    std::ranges::sort(step.sends);
    step.rounds = needed_rounds(topology, step);
  }
  return schedule;
}

// A call, and the strongest bound on rounds, in microseconds. Of each part as many chunks count as it has
// whole ones of some 2^17 of all bytes, so what bounds them bounds the parts, by little less. A round takes
// the time of its chunk at the least beta of all links. None is known where the time ends before.
std::optional<double> bound_us(const Topology& topology, const ReshardDemand& demand,
                               const std::atomic<bool>* stop) {
  double beta = std::numeric_limits<double>::infinity();
  for (const Link& link : topology.links) beta = std::min(beta, link.beta_us_per_byte);
  std::vector<ReshardPart> parts = demand.parts;
  double chunk_bytes = 0;
  for (const ReshardPart& part : parts) chunk_bytes += lacking(part).empty() ? 0 : part.bytes / kFloorChunks;
  for (ReshardPart& part : parts)
    part.chunks = lacking(part).empty() ? 0 : static_cast<int>(part.bytes / chunk_bytes * (1 + 1e-12));
  const Collective floor = collective_of(parts, topology.ranks);
  StrongestBounds bounds(topology, floor, stop);
  if (bounds.fewest_steps().steps == 0 || bounds.rate().rounds == 0) return std::nullopt;
  return topology.call_us +
         static_cast<double>(bounds.rate().rounds) / bounds.rate().chunks * chunk_bytes * beta;
}

// Step by step, each as long as its fullest link or limit.
ReshardMethod plan_of(const Topology& topology, const ReshardDemand& demand, const Point& point,
                      const std::vector<int>& host, std::vector<double>& link_bytes) {
  // [chunk of the demand]: the engine cuts chunk c into c k .. c k + k - 1, with k = cost.chunks.
  std::vector<double> chunk_bytes;
  for (const ReshardPart& bundle : demand.bundles)
    chunk_bytes.insert(chunk_bytes.end(), bundle.chunks, bundle.bytes / bundle.chunks / point.cost.chunks);
  LinkBytes all(topology, host);
  double us = topology.call_us;
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

// The route, without repeats, becomes the plan: its parts are the chunks.
void take_route(Resharding& answer, const Route& route, const std::vector<int>& host,
                const FrontierOptions& options) {
  const Topology machine = answer.result.topology;
  answer.plan = route.name;
  answer.demand = of_whole_parts(answer.demand);
  ReshardMethod plan = method_of(machine, answer.demand, route, host, &answer.link_bytes);
  plan.name = "this plan";
  answer.methods.push_back(std::move(plan));
  Point point{.construction = "route", .collective = answer.demand.collective};
  point.schedule = schedule_of(machine, answer.demand, route);
  point.cost = {.steps = static_cast<int>(std::ssize(point.schedule.steps)),
                .rounds = total_rounds(point.schedule),
                .chunks = 1};
  FrontierOptions whole = options;
  whole.min_chunks = whole.max_chunks = 1;
  Findings found(machine, answer.demand.collective, whole);
  found.put(answer.demand.collective.kind, std::make_shared<const Point>(std::move(point)));
  const Stopped stopped = answer.result.stopped;
  answer.result =
      found.result(stopped == Stopped::No ? Stopped::ChunkCounts : stopped, answer.result.seconds);
  answer.point = 0;
}

}  // namespace

ReshardDemand reshard_demand_from_json(std::string_view text, int ranks) {
  const JsonReader json = parse_json(text, "the demand");
  ReshardDemand demand{.root = json["root"].integer(0, ranks - 1),
                       .receivers = ranks_from(json["receivers"], ranks),
                       .parts = parts_from(json["parts"], ranks),
                       .bundles = parts_from(json["bundles"], ranks)};
  demand.collective = collective_of(demand.bundles, ranks);
  if (demand.collective.chunks.empty()) json["bundles"].fail("move nothing", "give other layouts");
  return demand;
}

Resharding reshard(const Topology& topology, const ReshardDemand& demand, const std::vector<int>& host,
                   const FrontierOptions& options, const std::function<void(Resharding)>& publish) {
  Resharding answer{.demand = demand, .of_nodes = !host.empty()};
  FrontierOptions limited = options;
  if (limited.max_chunks == kAnyChunks)
    // Pieces are the chunks of the demand times the chunks that the engine cuts each of them into.
    limited.max_chunks = std::clamp(kMostPieces / static_cast<int>(std::ssize(demand.collective.chunks)),
                                    limited.min_chunks, kMostChunks);
  const TimedStop stop(limited);
  const Topology flat = machine_of(topology).topology();
  std::vector<Route> routes = {gather_and_broadcast(flat, demand), direct_sends(flat, demand)};
  if (answer.of_nodes) routes.push_back(ring_of_nodes(flat, demand, host));
  std::optional<Route> fastest;
  double least_us = std::numeric_limits<double>::infinity();
  for (const Route& route : routes) {
    std::optional<Route> delivers = without_repeats(flat, demand, route);
    if (!delivers) continue;
    answer.methods.push_back(method_of(flat, demand, route, host));
    if (answer.methods.back().us >= least_us) continue;
    least_us = answer.methods.back().us;
    fastest = std::move(delivers);
  }
  if (publish) {
    answer.result = Findings(flat, demand.collective, limited).result(Stopped::Interrupted, 0);
    Resharding first = answer;
    if (fastest) take_route(first, *fastest, host, limited);
    publish(std::move(first));
  }
  std::future<std::optional<double>> bound = std::async(std::launch::async, bound_us, std::cref(flat),
                                                        std::cref(demand), limited.synthesis.limits.stop);
  answer.result = packed(flat, demand.collective, limited);
  stop.record_why(answer.result);
  answer.bound_us = bound.get();
  if (!answer.result.points.empty()) {
    const std::vector<Point>& points = answer.result.points;
    const auto fewest_rounds = std::ranges::min_element(
        points, [](const Point& a, const Point& b) { return compare_rate(a.cost, b.cost) < 0; });
    ReshardMethod plan = plan_of(flat, demand, *fewest_rounds, host, answer.link_bytes);
    if (plan.us <= least_us) {
      answer.plan = "packing";
      answer.point = static_cast<int>(fewest_rounds - points.begin());
      answer.methods.push_back(std::move(plan));
      return answer;
    }
  }
  if (fastest) take_route(answer, *fastest, host, limited);
  return answer;
}

template <>
struct Fields<ReshardMethod> {
  using R = ReshardMethod;
  static constexpr auto all = plain_fields<&R::name, &R::us, &R::bytes, &R::link_seconds>();
};

// A link is [src, dst, bytes], a send [chunk, src, dst].
std::string to_json(const Resharding& answer) {
  const Topology& topology = answer.result.topology;
  std::vector<std::vector<double>> links;
  for (std::size_t l = 0; l < answer.link_bytes.size(); ++l)
    if (answer.link_bytes[l] > 0)
      links.push_back({static_cast<double>(topology.links[l].src), static_cast<double>(topology.links[l].dst),
                       answer.link_bytes[l]});
  std::optional<std::vector<std::vector<std::vector<int>>>> steps;
  int pieces = 1;
  if (!answer.result.points.empty()) {
    const Point& point = answer.result.points[answer.point];
    pieces = point.cost.chunks;
    steps.emplace();
    for (const Step& step : point.schedule.steps) {
      steps->emplace_back();
      for (const Send& send : step.sends)
        steps->back().push_back({send.chunk, topology.links[send.link].src, topology.links[send.link].dst});
    }
  }
  return json_file("ranks", topology.ranks, "topology", topology.name, "bound_us", answer.bound_us,
                   "of_nodes", answer.of_nodes, "plan", answer.plan, "point", answer.point, "pieces", pieces,
                   "methods", answer.methods, "links", links, "steps", steps);
}

}  // namespace chorale
