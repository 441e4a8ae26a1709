// The communications of a workload as collectives: their frontiers are searched once, whatever the sizes, and
// each operation takes the point that is the fastest at its own size: by simulated time, since a frontier
// counts all links as the worst one.
#include "api/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "api/inputs.h"
#include "api/report.h"
#include "api/search.h"
#include "codegen/passes/lower.h"
#include "cost/busbw.h"
#include "cost/cost.h"
#include "cost/program_time.h"
#include "graph/automorphisms.h"
#include "graph/embedding.h"
#include "ir/agreement.h"
#include "ir/error.h"
#include "pages/page.h"
#include "semantics/verified.h"
#include "tensor/lowering/workload_source.h"
#include "topology/switches.h"

namespace chorale {
namespace {

// Bytes of a block: all of the tensor, or what one rank has of it, whichever the collective cuts its buffers
// into.
double block_bytes(const Workload& workload, const NeededCollective& needed) {
  const Operation& op = operation(workload, needed.operation);
  const TensorType& moved = operation(workload, op.operands.front()).type;
  const double bytes = static_cast<double>(elements(moved)) * static_cast<double>(size_of(moved.element));
  const int blocks = std::max(input_blocks(needed.collective.kind, needed.collective.ranks),
                              output_blocks(needed.collective.kind, needed.collective.ranks));
  // Across groups each rank of a group moves its own slice, in a collective of its own.
  const bool slice = op.over == Scope::Across && moved.layout.kind == LayoutKind::Sliced;
  return bytes / blocks / (slice ? workload.ranks : 1);
}

// Of the machine, where the ranks of a scope are: all of them; those of the first group; those with number 0.
// A machine of one group is that, and says nothing about what is between groups. Links between the ranks.
Topology linked_part(const Topology& machine, const Workload& workload, Scope scope) {
  if (scope == Scope::World || workload.groups == 1 || machine.ranks != workload.ranks * workload.groups)
    return machine;
  std::vector<Rank> ranks;
  for (Rank n = 0; n < ranks_in(workload, scope); ++n)
    ranks.push_back(scope == Scope::Group ? n : n * workload.ranks);
  return part_at(machine, ranks);
}

// Where these links do not join all of them, messages pass through other ranks, which are switches then: the
// ranks of number 0 of a ring's groups are no neighbours.
Topology part_for(const Topology& machine, const Workload& workload, Scope scope) {
  const Topology part = linked_part(machine, workload, scope);
  if (part.ranks == machine.ranks || all_reach_all(part)) return part;
  std::vector<Rank> order(machine.ranks);
  const int stride = scope == Scope::Group ? 1 : workload.ranks;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_partition(order, [&](Rank n) { return n % stride == 0 && n / stride < part.ranks; });
  Topology forwarding = part_at(machine, order);
  forwarding.ranks = part.ranks;
  forwarding.switches = machine.ranks - part.ranks;
  return flat_over(forwarding, chosen_routes(forwarding));
}

void require_ranks(const Topology& machine, const Workload& workload, const NeededCollective& needed) {
  if (needed.collective.ranks != machine.ranks)
    throw InputError(workload.name,
                     fmt::format("{} is among {} ranks, and {} has {}", needed.operation,
                                 needed.collective.ranks, machine.name, machine.ranks),
                     "give --ranks, or another machine");
}

// Of named collectives: chunks per block are for the search to choose.
bool same_question(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.ranks == b.ranks && a.root == b.root;
}

bool answers(const Result& result, const Topology& machine, const Collective& asked) {
  return result.topology == machine && same_question(result.collective, asked) && !result.points.empty();
}

// A fixed tree that a given result has is taken over, so that all results of the workload add up along one.
SumOrder sum_order(const std::string& order, const Topology& machine, const std::vector<Result>& known) {
  if (order == "free")
    throw InputError("--order", "free lets ranks end with different bits", "use agreed or fixed");
  if (order == "fixed")
    for (const Result& result : known)
      if (result.topology == machine && result.collective.order.kind == SumOrder::Kind::Fixed)
        return result.collective.order;
  return collective("allreduce", machine, {.order = order}).order;
}

// Transformations make a ReduceScatter and an AllGather of an AllReduce, and join them again; they move an
// AllGather behind a reduction to a scalar, which is an AllReduce then; and Reduce and Broadcast likewise,
// with some ranks as roots.
std::vector<NeededCollective> asked(const Topology& machine, const Workload& workload,
                                    WorkloadSearch search) {
  std::vector<NeededCollective> needed = needed_collectives(workload);
  if (search == WorkloadSearch::AsIs) return needed;
  const std::vector<NeededCollective> given = needed;
  const auto sums_world = [](const NeededCollective& each) {
    return each.scope == Scope::World && each.collective.kind == CollectiveKind::AllReduce;
  };
  // An AllReduce over two levels runs within groups and across them, so both parts have to be connected.
  const bool levels = workload.groups > 1 && machine.ranks == workload.ranks * workload.groups &&
                      all_reach_all(linked_part(machine, workload, Scope::Group)) &&
                      all_reach_all(linked_part(machine, workload, Scope::Across));
  if (const auto sum = std::ranges::find_if(given, sums_world); levels && sum != given.end())
    for (const auto& [kind, scope] : {std::pair(CollectiveKind::ReduceScatter, Scope::Group),
                                      {CollectiveKind::AllReduce, Scope::Across},
                                      {CollectiveKind::Allgather, Scope::Group}})
      needed.push_back({sum->operation, make_collective(kind, ranks_in(workload, scope), 1), scope});
  for (const NeededCollective& each : given) {
    const auto add = [&](CollectiveKind kind, Rank root) {
      needed.push_back({each.operation, make_collective(kind, each.collective.ranks, 1, root), each.scope});
    };
    const CollectiveKind kind = each.collective.kind;
    if (kind == CollectiveKind::Alltoall || each.scope == Scope::Across) continue;
    add(CollectiveKind::AllReduce, 0);
    std::vector<Rank> roots = roots_to_try(machine);
    if (kind == CollectiveKind::Reduce || kind == CollectiveKind::Broadcast)
      roots.push_back(each.collective.root);
    else
      add(CollectiveKind::ReduceScatter, 0), add(CollectiveKind::Allgather, 0);
    for (const Rank root : roots) add(CollectiveKind::Reduce, root), add(CollectiveKind::Broadcast, root);
  }
  return needed;
}

// The points on a frontier, and their times, which are simulated once for each size that is requested.
class FrontierTimes {
 public:
  explicit FrontierTimes(const Result& result) : topology_(result.topology) {
    for (int p = 0; p < static_cast<int>(result.points.size()); ++p) {
      if (!result.points[p].on_frontier) continue;
      numbers_.push_back(p);
      costs_.push_back(result.points[p].cost);
      // Verified once, for all prices and programs.
      schedules_.push_back(accepted(result.topology, result.points[p].collective, result.points[p].schedule));
    }
  }

  const std::vector<Cost>& costs() const { return costs_; }
  int number(std::size_t point) const { return numbers_[point]; }  // in the result
  const Verified<Schedule>& schedule(std::size_t point) const { return schedules_[point]; }
  double us(std::size_t point, double block_bytes) {
    const auto [it, is_new] = known_.emplace(std::pair(point, block_bytes), 0);
    if (is_new)
      it->second = schedule_time(*schedules_[point], topology_, costs_[point].chunks, block_bytes).us;
    return it->second;
  }

 private:
  const Topology topology_;
  std::vector<int> numbers_ = {};
  std::vector<Cost> costs_ = {};
  std::vector<Verified<Schedule>> schedules_ = {};
  std::map<std::pair<std::size_t, double>, double> known_ = {};
};

// An execution that the tuner has chosen names a point by its cost; without one the fastest is taken.
OrError<std::size_t> chosen_point(FrontierTimes& times, const std::string& workload,
                                  const std::string& operation, double bytes, const Execution& execution) {
  const std::vector<Cost>& costs = times.costs();
  if (const Cost* const wanted = point_of(execution, operation)) {
    const auto it = std::ranges::find(costs, *wanted);
    if (it == costs.end())
      return InputError(workload,
                        fmt::format("{} has no algorithm of {} steps and {}/{} rounds", operation,
                                    wanted->steps, wanted->rounds, wanted->chunks),
                        "search with more chunks, or take another execution");
    return static_cast<std::size_t>(it - costs.begin());
  }
  std::size_t best = 0;
  for (std::size_t p = 1; p < costs.size(); ++p)
    if (times.us(p, bytes) < times.us(best, bytes)) best = p;
  return best;
}

}  // namespace

Workload read_workload(const std::string& file, const WorkloadSettings& settings) {
  return parse_workload(read_file(file), file, settings);
}

namespace {

struct Algorithms {
  WorkloadMachine machine = {};
  std::optional<NeededCollective> missing = {};  // the first for which none was found
};

Algorithms find_algorithms(const Topology& machine, const Workload& workload, WorkloadSearch search,
                           std::vector<Result> known, const FrontierOptions& options,
                           const std::string& order) {
  Algorithms found{.machine = {.topology = machine, .algorithms = {}}};
  WorkloadMachine& result = found.machine;
  std::optional<SumOrder> sums;
  std::vector<NeededCollective> all = asked(machine, workload, search);
  // Those that the workload has come first. Of others the tuner goes without what has no algorithm.
  const NeededCollective* const others = all.data() + needed_collectives(workload).size();
  for (NeededCollective& needed : all) {
    const Topology part = part_for(machine, workload, needed.scope);
    require_ranks(part, workload, needed);
    if (needed.collective.combining) {
      // The order on the whole machine is decided once; a part has ranks of its own, and a tree over these.
      if (!sums) sums = sum_order(order, machine, known);
      needed.collective.order = part == machine ? *sums : sum_order(order, part, known);
    }
    const auto there = [&](const Result& each) {
      return answers(each, part, needed.collective) &&
             (needed.collective.order.kind != SumOrder::Kind::Fixed ||
              each.collective.order == needed.collective.order);
    };
    // Operations that ask the same question share a frontier.
    if (std::ranges::any_of(result.algorithms, there)) continue;
    // A given result moves over once; the next operation that it answers finds it among the algorithms.
    if (const auto given = std::ranges::find_if(known, there); given != known.end())
      result.algorithms.push_back(std::move(*given)), known.erase(given);
    else
      result.algorithms.push_back(frontier(part, needed.collective, options));
    if (!result.algorithms.back().points.empty()) continue;
    result.algorithms.pop_back();
    if (&needed >= others) continue;
    found.missing = std::move(needed);
    break;
  }
  return found;
}

}  // namespace

WorkloadMachine algorithms_for(const Topology& machine, const Workload& workload, WorkloadSearch search,
                               std::vector<Result> known, const FrontierOptions& options,
                               const std::string& order) {
  Algorithms found = find_algorithms(machine, workload, search, std::move(known), options, order);
  if (const auto& missing = found.missing)
    throw InputError(
        workload.name,
        fmt::format("no algorithm was found for {}, a {}", missing->operation, name_of(missing->collective)),
        adds_once(missing->collective) ? "take another order of sums"
                                       : "give it more time, or a result file with one");
  return std::move(found.machine);
}

std::optional<WorkloadMachine> quick_algorithms_for(const Topology& machine, const Workload& workload,
                                                    std::vector<Result> known, FrontierOptions options,
                                                    const std::string& order) {
  const std::atomic<bool> stopped = true;
  options.synthesis.limits.stop = &stopped;
  Algorithms found =
      find_algorithms(machine, workload, WorkloadSearch::AsIs, std::move(known), options, order);
  if (found.missing) return {};
  return std::move(found.machine);
}

// Alltoallv and sends are not searched, so their costs are stated: 2 steps of ranks - 1 rounds together, and
// one message.
WorkloadPrices prices_of(const Workload& workload, const WorkloadMachine& machine,
                         const DeviceNumbers& device) {
  const AlphaBeta link = alpha_beta(machine.topology);
  WorkloadPrices prices{.device = device, .collectives = {}};
  std::vector<std::shared_ptr<FrontierTimes>> times;
  for (const Result& result : machine.algorithms) times.push_back(std::make_shared<FrontierTimes>(result));
  for (const Scope scope : {Scope::World, Scope::Group, Scope::Across}) {
    const int ranks = ranks_in(workload, scope);
    const Topology part = part_for(machine.topology, workload, scope);
    // A machine of one group has nothing across groups.
    if (scope == Scope::Across && machine.topology.ranks != ranks_in(workload, Scope::World)) continue;
    for (std::size_t i = 0; i < machine.algorithms.size(); ++i) {
      const Collective& collective = machine.algorithms[i].collective;
      if (collective.ranks != ranks || machine.algorithms[i].topology != part) continue;
      prices.collectives.push_back(
          {.kind = operation_of(collective.kind),
           .scope = scope,
           .root = collective.root,
           .link = alpha_beta(part),
           .points = times[i]->costs(),
           .simulated = [of = times[i]](std::size_t point, double bytes) { return of->us(point, bytes); }});
    }
  }
  for (const Scope scope : {Scope::World, Scope::Group}) {
    const int ranks = ranks_in(workload, scope);
    prices.collectives.push_back({.kind = OperationKind::AllToAllV,
                                  .scope = scope,
                                  .link = link,
                                  .points = {{.steps = 2, .rounds = ranks - 1, .chunks = 1}}});
    prices.collectives.push_back({.kind = OperationKind::Send,
                                  .scope = scope,
                                  .link = link,
                                  .points = {{.steps = 1, .rounds = 1, .chunks = 1}}});
  }
  return prices;
}

namespace {

// The first of the ranking, and what they were made from.
TuneResult best_of(const TuneResult& result, std::size_t most) {
  std::set<int> kept = {0};
  for (std::size_t i = 0; i < std::min(most, result.ranking.size()); ++i)
    for (int c = result.ranking[i]; c > 0; c = result.candidates[c].parent) kept.insert(c);
  std::map<int, int> number;
  TuneResult best{.end = result.end,
                  .transformations = result.transformations,
                  .repeated = result.repeated,
                  .refused = result.refused,
                  .unpriced = result.unpriced,
                  .seconds = result.seconds};
  for (const int c : kept) {
    number.emplace(c, std::ssize(best.candidates));
    best.candidates.push_back(result.candidates[c]);
    if (Candidate& each = best.candidates.back(); each.parent >= 0) each.parent = number.at(each.parent);
  }
  for (const int c : result.ranking)
    if (const auto at = number.find(c); at != number.end()) best.ranking.push_back(at->second);
  return best;
}

}  // namespace

// Of thousands of schedules the best are shown.
std::string to_page(const TuneResult& result) {
  Report report = report_of(result);
  std::string data = to_json(result);
  for (std::size_t most = result.ranking.size() / 2; most > 0 && data.size() > kMaxPageData; most /= 2) {
    const TuneResult best = best_of(result, most);
    report.notes = {fmt::format("the best {} of them are shown", best.candidates.size())};
    data = to_json(best);
  }
  data.insert(1, fmt::format("\n  \"report\": {},", to_json(report)));
  return filled_page(Page::Tune, report.title + " - Chorale", data);
}

std::vector<int> roots_to_try(const Topology& machine) {
  std::vector<int> roots = different_ranks(flatten(machine));
  roots.resize(std::min<std::size_t>(roots.size(), 4));
  return roots;
}

// On a CPU a block and its operands are to fit into the caches: 512 to 16384 elements of 4 bytes are 2 to 64
// KiB each. On a GPU all blocks of all ranks are to be resident, and GPUs that are used for this have 108
// multiprocessors or more.
SettingValues setting_values(WorkloadCarrier carrier, int ranks) {
  if (carrier == WorkloadCarrier::Cuda) {
    SettingValues values{.blocks = {64, 128, 256, 384}, .usual_block = 384};
    for (int channels = 1; channels == 1 || channels * ranks <= 108; channels *= 2)
      values.channels.push_back(channels);
    values.usual_channels = values.channels.back();
    return values;
  }
  return {.blocks = {512, 1024, 2048, 4096, 8192, 16384}, .usual_block = 2048};
}

OrError<CompiledWorkload> try_compile(const Workload& workload, const WorkloadMachine& machine,
                                      const Execution& execution, WorkloadCarrier carrier) {
  CompiledWorkload compiled;
  std::vector<WorkloadAlgorithm> algorithms;
  for (const NeededCollective& needed : needed_collectives(workload)) {
    const double bytes = block_bytes(workload, needed);
    const auto result = std::ranges::find_if(machine.algorithms, [&](const Result& each) {
      return answers(each, part_for(machine.topology, workload, needed.scope), needed.collective);
    });
    if (result == machine.algorithms.end())
      return InputError(workload.name, fmt::format("has no algorithm for {}", needed.operation),
                        "search one for its collective");
    FrontierTimes times(*result);
    const OrError<std::size_t> found = chosen_point(times, workload.name, needed.operation, bytes, execution);
    if (!found) return found.error();
    const std::size_t chosen = *found;
    const Point& point = result->points[times.number(chosen)];
    algorithms.push_back({.operation = needed.operation, .program = lower(times.schedule(chosen))});
    compiled.chosen.push_back(
        {.operation = needed.operation,
         .collective = name_of(point.collective),
         .cost = point.cost,
         .message_bytes = bytes * static_cast<double>(message_shape(point.collective).blocks),
         .us = times.us(chosen, bytes)});
  }
  OrError<std::vector<NamedText>> files =
      to_workload_sources(workload, algorithms, {.execution = execution, .carrier = carrier});
  if (!files) return files.error();
  compiled.files = *std::move(files);
  return compiled;
}

CompiledWorkload compile(const Workload& workload, const WorkloadMachine& machine, const Execution& execution,
                         WorkloadCarrier carrier) {
  return try_compile(workload, machine, execution, carrier).or_throw();
}

}  // namespace chorale
