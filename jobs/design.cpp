// Best-first branch and bound over graphs. The Cayley graphs of all groups of the order are enumerated
// (topology/wiring/family.h; groups with too many are sampled, and then not all are compared) and put into a
// queue by a bound that costs nothing: for an Alltoall the sum of distances over the degree, since each
// message occupies a link per hop. The graph at the head has its flows bounded exactly and goes back with
// that bound, so most graphs are excluded by their distances alone. The best few, up to isomorphism, are then
// searched for schedules in the order of their bounds, until schedules on one are no slower than the bound of
// the next.
#include "jobs/design.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <thread>
#include <tuple>
#include <utility>

#include "api/inputs.h"
#include "api/report.h"
#include "api/search.h"
#include "cost/busbw.h"
#include "ir/collective_kind.h"
#include "ir/error.h"
#include "ir/number_in.h"
#include "ir/words.h"
#include "topology/builders.h"
#include "topology/wiring/family.h"

namespace chorale {
namespace {

constexpr std::size_t kShown = 10;
constexpr int kMostSearched = 3;          // wirings
constexpr double kMessageUnit = 1 << 20;  // of large messages, bytes
constexpr double kSame = 1 + 1e-9;        // times that differ by less are equal

// What the job takes by the steps and the rates of its collectives.
class JobTime {
 public:
  explicit JobTime(const DesignQuestion& question) : question_(question) {
    for (const DesignDemand& demand : question.job) {
      const CollectiveKind kind = known_kind(demand.collective);
      const MessageShape shape = message_shape(make_collective(kind, question.ranks, 1));
      block_bytes_.push_back(question.message_bytes > 0
                                 ? static_cast<double>(block_of_size(shape, question.message_bytes))
                                 : kMessageUnit / static_cast<double>(shape.blocks));
    }
  }

  double block_bytes(std::size_t c) const { return block_bytes_[c]; }

  // One term of the job: weight x (steps x alpha + rounds per chunk x bytes of a block / rate of a link). Of
  // large messages the alphas are left out.
  double us(std::size_t c, int steps, const Rate& rate) const {
    const double alphas = question_.message_bytes > 0 ? steps * question_.alpha_us : 0;
    const double rounds = static_cast<double>(rate.rounds) / static_cast<double>(rate.chunks);
    return question_.job[c].weight * (alphas + rounds * block_bytes_[c] * 1e-3 / question_.link_gbs);
  }

  double bound_us(const DesignedGraph& wiring) const {
    double sum = 0;
    for (std::size_t c = 0; c < wiring.rates.size(); ++c)
      sum += us(c, wiring.diameter, wiring.rates[c].bound);
    return sum;
  }

 private:
  const DesignQuestion& question_;
  std::vector<double> block_bytes_ = {};
};

// Of all collectives but Alltoall: the same on all graphs. Each rank has d links in and, by Mader, d disjoint
// paths from every other: (n-1)/d rounds per chunk for an Allgather or a ReduceScatter, 1/d for a Broadcast,
// 2(n-1)/(dn) for an AllReduce.
Rate family_rate(CollectiveKind kind, int ranks, int degree) {
  if (kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce) return {1, degree};
  const bool sums_everywhere = kind == CollectiveKind::AllReduce;
  const Rate rate = {(sums_everywhere ? 2LL : 1LL) * (ranks - 1),
                     1LL * degree * (sums_everywhere ? ranks : 1)};
  const long long common = std::gcd(rate.rounds, rate.chunks);
  return {rate.rounds / common, rate.chunks / common};
}

// The machines by name that have as many ranks and links.
// Rings, full graphs, hypercubes and tori of two and three dimensions, where their number of links fits.
std::vector<std::string> machines_like(int ranks, int degree) {
  std::vector<std::string> specs;
  const auto add = [&](const std::string& spec) {
    if (const Topology machine = named_topology(spec); std::ssize(machine.links) == 1LL * ranks * degree)
      specs.push_back(spec);
  };
  if (degree == 2) add(fmt::format("ring:{}", ranks));
  if (degree == ranks - 1) add(fmt::format("full:{}", ranks));
  if (degree < 13 && ranks == 1 << degree) add(fmt::format("hypercube:{}", degree));
  for (int a = 2; degree <= 6 && a * a <= ranks; ++a) {
    if (ranks % a != 0) continue;
    add(fmt::format("torus:{}x{}", a, ranks / a));
    for (int b = a; a * b * b <= ranks; ++b)
      if (ranks / a % b == 0) add(fmt::format("torus:{}x{}x{}", a, b, ranks / a / b));
  }
  return specs;
}

// All wirings, the best first as far as their bounds are known.
class Ranked {
 public:
  Ranked(const DesignQuestion& question, const JobTime& time) : question_(question), time_(time) {
    for (const DesignDemand& demand : question.job) kinds_.push_back(known_kind(demand.collective));
  }

  // The queue holds the unbounded graphs at the end: their distances alone exclude them.
  void compare(Design& design) {
    WiringFamily family = wirings(question_.ranks, question_.degree, question_.stop);
    design.families = family.groups;
    design.groups = family.groups_compared;
    design.all_groups = family.all_groups;
    graphs_ = std::move(family.graphs);
    for (std::size_t g = 0; g < graphs_.size(); ++g)
      queue_.push(entry(g, {graphs_[g].distances, question_.degree}, !asks_alltoall()));
    take_best(design);
    design.all_compared = family.complete && !stopped();
    for (; !queue_.empty(); queue_.pop()) design.by_distance += queue_.top().bounded ? 0 : 1;
    design.bound_us =
        design.best.empty() || !design.all_compared ? bound_of_any() : design.best.front().bound_us;
    std::vector<std::vector<Cable>> named;
    for (const std::string& spec : machines_like(question_.ranks, question_.degree)) {
      const Topology machine = named_topology(spec);
      std::vector<Cable> form = canonical_links(machine);
      if (std::ranges::find(named, form) == named.end()) compare_named(machine, form, design);
      named.push_back(std::move(form));
    }
  }

  // By name, since `best` keeps no graphs: a name is of a group and its generators, and of one graph.
  Topology machine(const DesignedGraph& wiring) const {
    const auto at = std::ranges::find(graphs_, wiring.name, [](const CayleyGraph& g) { return name_of(g); });
    return machine_of(*at);
  }

 private:
  struct Entry {
    std::tuple<double, int, long long, std::size_t> key = {};  // time, diameter, distances, graph
    Rate alltoall = {};
    bool bounded = false;  // by the optimum of its flows, if an Alltoall is asked for
    // Reversed: a priority_queue has its largest element at the head.
    bool operator<(const Entry& other) const { return other.key < key; }
  };

  bool stopped() const { return question_.stop != nullptr && question_.stop->load(); }
  bool asks_alltoall() const { return std::ranges::count(kinds_, CollectiveKind::Alltoall) > 0; }
  Topology machine_of(const CayleyGraph& graph) const {
    return chorale::machine_of(graph, question_.alpha_us, 1e-3 / question_.link_gbs);
  }

  DesignedGraph wiring(const CayleyGraph& graph, const Rate& alltoall) const {
    DesignedGraph wiring{.diameter = graph.diameter, .distances = graph.distances};
    for (const CollectiveKind kind : kinds_)
      wiring.rates.push_back({.bound = kind == CollectiveKind::Alltoall
                                           ? alltoall
                                           : family_rate(kind, question_.ranks, question_.degree)});
    wiring.bound_us = time_.bound_us(wiring);
    return wiring;
  }

  // What the job takes on any machine of so many ranks, with so many links at each, there and back, a Cayley
  // graph or not: at distance k a rank has at most d (d-1)^(k-1) others (Moore), and all rates but that of
  // Alltoall are those of the degree. Links that lead one way only could reach d^k.
  double bound_of_any() const {
    CayleyGraph graph;
    long long left = question_.ranks - 1, at = question_.degree;
    for (; left > 0; left -= at, at *= std::max(1, question_.degree - 1)) {
      if (question_.degree == 1 && graph.diameter == 1) break;  // no such machine is connected
      graph.distances += std::min(left, at) * ++graph.diameter;
    }
    return wiring(graph, {graph.distances, question_.degree}).bound_us;
  }

  // Ties are broken by diameter, then distances, then the order of enumeration, so that the ranking is the
  // same in every run.
  Entry entry(std::size_t g, const Rate& alltoall, bool bounded) const {
    const double us = wiring(graphs_[g], alltoall).bound_us;
    return {{us, graphs_[g].diameter, graphs_[g].distances, g}, alltoall, bounded};
  }

  // Only graphs that their distances do not exclude have their flows bounded.
  void take_best(Design& design) {
    std::vector<std::vector<Cable>> forms;
    while (!queue_.empty() && design.best.size() < kShown && (design.best.empty() || !stopped())) {
      const Entry first = queue_.top();
      queue_.pop();
      const std::size_t g = std::get<3>(first.key);
      if (!first.bounded) {
        queue_.push(entry(g, alltoall_bound(graphs_[g]), true));
        continue;
      }
      const Topology machine = machine_of(graphs_[g]);
      std::vector<Cable> form = canonical_links(machine);
      if (std::ranges::find(forms, form) != forms.end()) continue;
      forms.push_back(std::move(form));
      DesignedGraph next = wiring(graphs_[g], first.alltoall);
      next.name = machine.name;
      next.alike = torus_name(graphs_[g]);
      next.bisection = narrow_bisection(machine);
      design.best.push_back(std::move(next));
    }
  }

  // Beside the best ones stand the machines that people have; each is a graph of the family, if it has one.
  void compare_named(const Topology& machine, const std::vector<Cable>& form, Design& design) const {
    const std::vector<int> far = hops(machine, {0});
    long long distances = 0;
    for (const int hops : far) distances += hops;
    for (const CayleyGraph& graph : graphs_) {
      // Distances first: a canonical form costs far more.
      if (graph.distances != distances || canonical_links(machine_of(graph)) != form) continue;
      DesignedGraph known = wiring(graph, alltoall_bound(graph));
      known.name = machine.name;
      known.bisection = narrow_bisection(machine);
      for (DesignedGraph& each : design.best)
        if (canonical_links(this->machine(each)) == form) each.alike = machine.name;
      return design.named.push_back(std::move(known));
    }
  }

  const DesignQuestion& question_;
  const JobTime& time_;
  std::vector<CollectiveKind> kinds_ = {};
  std::vector<CayleyGraph> graphs_ = {};
  std::priority_queue<Entry> queue_ = {};
};

// Schedules of the job on one wiring.
class WiringSearch {
 public:
  WiringSearch(const DesignQuestion& question, const JobTime& time) : question_(question), time_(time) {}

  // All collectives or none: a wiring without a schedule for one of them has no time for the job.
  std::vector<Result> results(const Topology& machine, DesignedGraph& wiring) {
    std::vector<Result> results;
    wiring.found_us = 0;
    for (std::size_t c = 0; c < question_.job.size(); ++c) {
      const std::string& name = question_.job[c].collective;
      if (question_.doing) question_.doing(fmt::format("{} on {}", name, wiring.name));
      results.push_back(result(machine, c, wiring));
      const auto [us, point] = fastest(results.back(), c);
      if (point == nullptr) {
        wiring.found_us = 0;
        return {};
      }
      wiring.rates[c].found = {point->cost.rounds, point->cost.chunks};
      wiring.rates[c].steps = point->cost.steps;
      wiring.found_us += us;
    }
    return results;
  }

 private:
  // Of equal times the fewest steps; null if there is no point.
  std::pair<double, const Point*> fastest(const Result& result, std::size_t c) const {
    std::pair<double, const Point*> best = {0, nullptr};
    for (const Point& point : result.points) {
      const double us = time_.us(c, point.cost.steps, {point.cost.rounds, point.cost.chunks});
      if (best.second == nullptr ||
          std::tuple(us, point.cost.steps) < std::tuple(best.first, best.second->cost.steps))
        best = {us, &point};
    }
    return best;
  }

  // Until nothing can be better: what is asked for is the fastest, not the whole frontier.
  // The search publishes what it finds; as soon as a point meets the bound the flag ends it. A thread passes
  // on the caller's flag, since the search polls only this one.
  Result result(const Topology& machine, std::size_t c, const DesignedGraph& wiring) const {
    std::atomic<bool> enough = false;
    const double least = time_.us(c, wiring.diameter, wiring.rates[c].bound);
    FrontierOptions options{.time_limit = question_.search_time};
    options.synthesis.limits.stop = &enough;
    if (question_.message_bytes > 0) options.sizes = {time_.block_bytes(c)};
    std::function<Result()> so_far;
    options.publish = [&](std::function<Result()> found) { so_far = std::move(found); };
    options.progress = [&, points = 0](const Progress& progress) mutable {
      if (progress.points == points || !so_far) return;
      points = progress.points;
      const Result found = so_far();
      if (const auto [us, point] = fastest(found, c); point != nullptr && us <= least * kSame) enough = true;
    };
    const std::jthread watcher([&](const std::stop_token& done) {
      for (; !done.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(20)))
        if (question_.stop != nullptr && question_.stop->load()) enough = true;
    });
    Result found = frontier(machine, collective(question_.job[c].collective, machine), options);
    const bool asked = question_.stop != nullptr && question_.stop->load();
    if (found.stopped == Stopped::Interrupted && !asked) found.stopped = Stopped::TimeLimit;
    return found;
  }

  const DesignQuestion& question_;
  const JobTime& time_;
};

void require(const DesignQuestion& question) {
  if (question.ranks < 2 || question.ranks > kMostDesignRanks)
    throw InputError("--ranks", fmt::format("{} is out of range", question.ranks),
                     fmt::format("use 2 to {}", kMostDesignRanks));
  if (question.degree < 1 || question.degree >= question.ranks)
    throw InputError("--degree", fmt::format("{} is out of range", question.degree),
                     fmt::format("use 1 to {}, links to different ranks", question.ranks - 1));
  if (question.job.empty()) throw InputError("--for", "names no collective", "use alltoall,allreduce");
  for (const DesignDemand& demand : question.job)
    if (known_kind(demand.collective) == CollectiveKind::Custom || !(demand.weight > 0))
      throw InputError("--for", "has a weight or a collective that cannot be compared",
                       "use alltoall=2,allreduce");
}

}  // namespace

Design design(const DesignQuestion& question) {
  require(question);
  Design design{.ranks = question.ranks,
                .degree = question.degree,
                .job = question.job,
                .message_bytes = question.message_bytes,
                .alpha_us = question.alpha_us,
                .link_gbs = question.link_gbs};
  const auto publish = [&] {
    if (question.publish && !design.best.empty()) question.publish(design);
  };
  if (question.doing) question.doing(fmt::format("graphs of {} ranks", question.ranks));
  const JobTime time(question);
  Ranked ranked(question, time);
  ranked.compare(design);
  if (design.best.empty() && design.all_compared)
    throw InputError(
        "--degree",
        fmt::format("no Cayley graph of {} ranks has {} links at each", question.ranks, question.degree),
        "use an even degree");
  if (design.best.empty()) return design;
  design.machine = ranked.machine(design.best.front());
  publish();
  const std::vector<DesignedGraph> candidates = design.best;
  for (std::size_t w = 0; w < candidates.size() && w < kMostSearched; ++w) {
    // Wirings are in the order of their bounds: once the best time found is no more than the next bound, no
    // later one can be better.
    const double so_far = design.results.empty() ? 0 : design.best.front().found_us;
    if (so_far > 0 && so_far <= candidates[w].bound_us * kSame) break;
    if (question.stop != nullptr && question.stop->load()) break;
    const auto tried = std::ranges::find(design.best, candidates[w].name, &DesignedGraph::name);
    const Topology machine = ranked.machine(*tried);
    std::vector<Result> results = WiringSearch(question, time).results(machine, *tried);
    // No faster than what was found: the wiring keeps its place in the order of bounds.
    if (results.empty() || (so_far > 0 && so_far <= tried->found_us * kSame)) continue;
    // To the front; the others keep the order of their bounds.
    std::rotate(design.best.begin(), tried, tried + 1);
    design.results = std::move(results);
    design.machine = machine;
    // No other graph of the family is faster, or, where not all were compared, no machine of this degree at
    // all.
    design.proven = design.best.front().found_us <= design.bound_us * kSame;
    publish();
  }
  return design;
}

// "alltoall=2,allreduce": a name may lack its weight, which is then 1; the whole rest of a part is the
// number.
std::vector<DesignDemand> design_job(const std::string& text) {
  std::vector<DesignDemand> job;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    DesignDemand demand{.collective = name_of(known_kind(part.substr(0, equals)))};
    if (equals < part.size()) {
      demand.weight = number_in<double>(std::string_view(part).substr(equals + 1)).value_or(0);
      if (!(demand.weight > 0) || demand.weight > 1e9)
        throw InputError("--for", "'" + part.substr(0, 60) + "' has no weight above 0",
                         "use alltoall=2,allreduce");
    }
    job.push_back(demand);
  }
  return job;
}

// The answer in words. The ranking is by what no schedule can beat, and the proof by schedules: the first
// wiring is proven the best if schedules were found on it that take no longer than the bound of every other.
// Machines by name stand below for comparison, without a number.

namespace {

// Without a message size times are of one MiB, of messages so large that latency is nothing.
std::string per(const Design& design) {
  return design.message_bytes > 0 ? "" : " per MiB";
}

// A rate is rounds per chunk as a fraction: 63/4 of 63 rounds for 4 chunks.
std::vector<std::string> row_of(const std::string& number, const DesignedGraph& wiring,
                                const Design& design) {
  std::vector<std::string> row = {number, wiring.name, fmt::format("{:.4g}", wiring.bound_us)};
  for (const auto& [bound, found, steps] : wiring.rates)
    row.push_back(bound.chunks == 1 ? std::to_string(bound.rounds)
                                    : fmt::format("{}/{}", bound.rounds, bound.chunks));
  row.push_back(std::to_string(wiring.diameter));
  row.push_back(fmt::format("{:.2f}", static_cast<double>(wiring.distances) / (design.ranks - 1)));
  row.push_back(std::to_string(wiring.bisection));
  row.push_back(wiring.alike);
  return row;
}

// A column per collective of the job with its rate; hops is the diameter, mean the mean distance, "also" the
// named machine that the graph is. The last two are left out first where the terminal is narrow (R, L).
ReportTable ranking_table(const Design& design) {
  std::vector<std::string> head = {"#", "wiring", design.message_bytes > 0 ? "us" : "us/MiB"};
  std::string kinds = "rlr";
  for (const DesignDemand& demand : design.job) {
    head.push_back(demand.collective);
    kinds += "r";
  }
  for (const char* const each : {"hops", "mean", "bisection", "also"}) head.emplace_back(each);
  ReportTable table{
      .title = "What no schedule is below: time, rounds per chunk", .rows = {head}, .kinds = kinds + "rrRL"};
  for (std::size_t w = 0; w < design.best.size(); ++w)
    table.rows.push_back(row_of(std::to_string(w + 1), design.best[w], design));
  for (const DesignedGraph& wiring : design.named) table.rows.push_back(row_of("", wiring, design));
  return table;
}

// What the family is: every sentence about all graphs is about these.
std::string family(const Design& design) {
  const std::string groups = design.all_groups
                                 ? fmt::format("all {}", counted(design.groups, "group"))
                                 : counted(design.groups, "group") +
                                       " (abelian, semidirect products of two cyclic groups, dicyclic)";
  const std::string sets =
      fmt::format("{} of {}, links there and back", design.all_compared ? "all sets" : "some sets",
                  counted(design.degree, "generator"));
  return fmt::format("family: connected Cayley graphs of {} with {}; {}; {} have one", groups,
                     counted(design.ranks, "element"), sets, design.families.size());
}

// Three statements that differ in what they are about: all graphs of the family were compared; or not all,
// and the bound is then that of any machine with as many links (Moore's bound on distances); and how many
// were excluded by distances alone, without a bound of their own.
std::string proof(const Design& design) {
  long long graphs = 0;
  for (const DesignFamily& family : design.families) graphs += family.graphs;
  const std::string all =
      counted(graphs, "connected Cayley graph") + " of " + counted(std::ssize(design.families), "group");
  const std::string excluded =
      design.by_distance > 0 ? fmt::format(" ({} are excluded by their distances alone)", design.by_distance)
                             : "";
  const std::string tried = design.all_compared ? "" : all + " tried, which are not all; ",
                    where = design.all_compared ? "any of " + all
                                                : "any machine of as many links at each rank, there and back";
  if (design.proven) return fmt::format("proven: {}no schedules on {} take less{}", tried, where, excluded);
  const double found = design.best.front().found_us;
  return fmt::format(
      "not proven: {}no schedules on {} take less than {}{}{}{}", tried, where, format_us(design.bound_us),
      per(design), excluded,
      found > 0 ? fmt::format("; those found take {:.2g} % more", 100 * (found / design.bound_us - 1))
                : "; no schedules were searched");
}

}  // namespace

// Of a group that is not cyclic the relations say what its elements are. A machine by name is compared by its
// bound with what was found: it is slower by at least that factor, whatever its schedule.
Report report_of(const Design& design) {
  if (design.best.empty()) return {.title = "design", .sentences = {"stopped before a graph was found"}};
  const DesignedGraph& first = design.best.front();
  Report report{.title = fmt::format("{} of {} each: {}{}", counted(design.ranks, "rank"),
                                     counted(design.degree, "link"), first.name,
                                     first.alike.empty() ? "" : ", which is a " + first.alike),
                .tables = {ranking_table(design)}};
  std::vector<std::string>& say = report.sentences;
  say.push_back(report.title);
  if (first.found_us > 0)
    say.push_back(fmt::format("the job takes {}{}", format_us(first.found_us), per(design)));
  for (std::size_t c = 0; c < design.job.size() && first.found_us > 0; ++c)
    say.push_back(fmt::format("  {}: {} in {}", design.job[c].collective,
                              rounds_a_chunk(first.rates[c].found.rounds, first.rates[c].found.chunks),
                              counted(first.rates[c].steps, "step")));
  for (const DesignFamily& family : design.families)
    if (first.name.starts_with(family.group + ": ") && family.relations.find(',') != std::string::npos)
      say.push_back(fmt::format("{}: (e,f,...) is a^e b^f ...; {}", family.group, family.relations));
  say.push_back(proof(design));
  say.push_back(family(design));
  for (const DesignedGraph& named : design.named)
    if (named.bound_us > first.bound_us * (1 + 1e-9) && first.found_us > 0)
      say.push_back(
          fmt::format("{} takes at least {:.2f}x as long", named.name, named.bound_us / first.found_us));
  return report;
}

}  // namespace chorale
