// What a workload's communications are to the rest of the house: collectives, whose frontiers are searched once,
// whatever the sizes, and of which each operation takes the point that is the fastest at its own.
#include "api/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/search.h"
#include "codegen/pages/tune_html.h"
#include "codegen/passes/lower.h"
#include "codegen/workload_source.h"
#include "cost/cost.h"
#include "ir/error.h"
#include "library/select.h"

namespace chorale {
namespace {

// Bytes of a block: all of the tensor, or what one rank has of it, whichever the collective cuts its buffers into.
double block_bytes(const Workload& workload, const NeededCollective& needed) {
  const Operation& op = operation(workload, needed.operation);
  const TensorType& moved = operation(workload, op.operands.front()).type;
  const double bytes = static_cast<double>(elements(moved)) * static_cast<double>(size_of(moved.element));
  const int blocks = std::max(input_blocks(needed.collective.kind, needed.collective.ranks),
                              output_blocks(needed.collective.kind, needed.collective.ranks));
  return bytes / blocks;
}

void require_ranks(const Topology& machine, const Workload& workload, const NeededCollective& needed) {
  if (needed.collective.ranks != machine.ranks)
    throw InputError(workload.name,
                     fmt::format("{} is among {} ranks, and {} has {}", needed.operation,
                                 needed.collective.ranks, machine.name, machine.ranks),
                     "give --ranks, or another machine");
}

bool same_question(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.ranks == b.ranks && a.root == b.root;
}

bool answers(const Result& result, const Topology& machine, const Collective& asked) {
  return result.topology == machine && same_question(result.collective, asked) && !result.points.empty();
}

// Transformations make a ReduceScatter and an AllGather of an AllReduce, and join them again; they move an AllGather behind
// a reduction to a scalar, which is an AllReduce then; and Reduce and Broadcast likewise, with the first rank as root.
std::vector<NeededCollective> asked(const Workload& workload, WorkloadSearch search) {
  std::vector<NeededCollective> needed = needed_collectives(workload);
  if (search == WorkloadSearch::AsIs) return needed;
  const std::vector<NeededCollective> given = needed;
  for (const NeededCollective& each : given) {
    const int ranks = each.collective.ranks;
    const auto add = [&](CollectiveKind kind) {
      needed.push_back({each.operation, make_collective(kind, ranks, 1, each.collective.root)});
    };
    switch (each.collective.kind) {
      case CollectiveKind::AllReduce:
      case CollectiveKind::ReduceScatter:
      case CollectiveKind::Allgather:
        for (const CollectiveKind kind :
             {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::Allgather,
              CollectiveKind::Reduce, CollectiveKind::Broadcast})
          add(kind);
        break;
      case CollectiveKind::Reduce:
      case CollectiveKind::Broadcast:
        for (const CollectiveKind kind :
             {CollectiveKind::AllReduce, CollectiveKind::Reduce, CollectiveKind::Broadcast})
          add(kind);
        break;
      default:
        break;
    }
  }
  return needed;
}

}  // namespace

Workload read_workload(const std::string& file, const WorkloadSettings& settings) {
  return parse_workload(read_file(file), file, settings);
}

WorkloadMachine algorithms_for(const Topology& machine, const Workload& workload, WorkloadSearch search,
                               std::vector<Result> known, const FrontierOptions& options) {
  WorkloadMachine result{.topology = machine, .algorithms = {}};
  for (const NeededCollective& needed : asked(workload, search)) {
    require_ranks(machine, workload, needed);
    const auto there = [&](const Result& each) { return answers(each, machine, needed.collective); };
    if (std::ranges::any_of(result.algorithms, there)) continue;
    if (const auto given = std::ranges::find_if(known, there); given != known.end())
      result.algorithms.push_back(std::move(*given)), known.erase(given);
    else
      result.algorithms.push_back(frontier(machine, needed.collective, options));
    if (result.algorithms.back().points.empty())
      throw InputError(
          workload.name,
          fmt::format("no algorithm was found for {}, a {}", needed.operation, name_of(needed.collective)),
          "give it more time, or a result file with one");
  }
  return result;
}

WorkloadPrices prices_of(const Workload& workload, const WorkloadMachine& machine,
                         const DeviceNumbers& device) {
  const AlphaBeta link = alpha_beta(machine.topology);
  WorkloadPrices prices{.device = device, .collectives = {}};
  for (const Scope scope : {Scope::World, Scope::Group}) {
    const int ranks = workload.ranks * (scope == Scope::World ? workload.groups : 1);
    for (const Result& result : machine.algorithms) {
      if (result.collective.ranks != ranks) continue;
      CollectivePrice price{
          .kind = operation_of(result.collective.kind), .scope = scope, .link = link, .points = {}};
      for (const Point& point : result.points)
        if (point.on_frontier) price.points.push_back(point.cost);
      prices.collectives.push_back(std::move(price));
    }
  }
  prices.collectives.push_back({.kind = OperationKind::Send,
                                .scope = Scope::Group,
                                .link = link,
                                .points = {{.steps = 1, .rounds = 1, .chunks = 1}}});
  return prices;
}

std::string to_page(const Workload& workload, const TuneResult& result) {
  return tune_page(workload.name + " tuned - Chorale", to_json(result));
}

CompiledWorkload compile(const Workload& workload, const WorkloadMachine& machine) {
  CompiledWorkload compiled;
  std::vector<WorkloadAlgorithm> algorithms;
  for (const NeededCollective& needed : needed_collectives(workload)) {
    const double bytes = block_bytes(workload, needed);
    const auto choice = select(machine.algorithms, call_of(needed.collective, bytes));
    if (!choice)
      throw InputError(workload.name, fmt::format("has no algorithm for {}", needed.operation),
                       "search one for its collective");
    const Result& result = machine.algorithms[choice->result];
    const Point& point = result.points[choice->point];
    algorithms.push_back({.operation = needed.operation,
                          .collective = point.collective,
                          .program = lower(result.topology, point.collective, point.schedule)});
    compiled.chosen.push_back({.operation = needed.operation,
                               .collective = name_of(point.collective),
                               .cost = point.cost,
                               .block_bytes = bytes,
                               .us = choice->us});
  }
  compiled.files = to_workload_sources(workload, algorithms);
  return compiled;
}

}  // namespace chorale
