#include "workload/price.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/error.h"
#include "workload/unit_work.h"

namespace chorale {
namespace {

const CollectivePrice& price_of(const WorkloadPrices& prices, const CollectiveWork& collective) {
  for (const CollectivePrice& each : prices.collectives)
    if (each.kind == collective.kind && each.scope == collective.scope && !each.points.empty()) return each;
  throw InputError(
      "prices",
      fmt::format("there is none of {} among the ranks of {}, which {} asks for", to_string(collective.kind),
                  collective.scope == Scope::World ? "the world" : "a group", collective.name));
}

UnitPrice price_of_unit(const UnitWork& work, const WorkloadPrices& prices) {
  const DeviceNumbers& device = prices.device;
  UnitPrice result{.name = work.unit.name,
                   .launch_us = device.launch_us,
                   .memory_us = static_cast<double>(work.read + work.written) / device.bytes_per_us,
                   .compute_us = work.product_flops / device.product_flops_per_us +
                                 work.flops / device.flops_per_us +
                                 work.double_flops / device.double_flops_per_us};
  for (const CollectiveWork& collective : work.collectives) {
    const CollectivePrice& price = price_of(prices, collective);
    const auto bytes = static_cast<double>(collective.block_bytes);
    const Cost& best = *std::ranges::min_element(
        price.points, {}, [&](const Cost& cost) { return time_us(cost, price.link, bytes); });
    const double steps_us = best.steps * price.link.alpha_us;
    result.steps_us += steps_us;
    result.moved_us += time_us(best, price.link, bytes) - steps_us;
    result.points.push_back(best);
  }
  return result;
}

double longest(const UnitPrice& unit) {
  return std::max({unit.moved_us, unit.memory_us, unit.compute_us});
}

RunPrice price_of_run(const std::vector<UnitWork>& run, const WorkloadPrices& prices) {
  RunPrice result{.overlap = run.front().unit.overlap};
  for (const UnitWork& work : run) result.units.push_back(price_of_unit(work, prices));
  if (run.size() == 1) {
    result.us = result.units[0].us();
    return result;
  }
  std::int64_t handed_over = 1;
  for (std::size_t i = 0; i + 1 < run.size(); ++i) handed_over = std::max(handed_over, run[i].handed_over);
  const double pieces = std::ceil(static_cast<double>(handed_over) / prices.device.piece_bytes);
  result.pieces = static_cast<int>(std::min(pieces, 1e9));

  double steps = 0, all = 0, slowest = 0, memory = 0;
  for (const UnitPrice& unit : result.units) {
    steps += unit.steps_us;
    all += longest(unit);
    slowest = std::max(slowest, longest(unit));
    memory += unit.memory_us;
  }
  const double pipeline = (all + (pieces - 1) * slowest) / pieces;
  const double links = pieces * static_cast<double>(run.size() - 1);
  result.us = prices.device.launch_us + steps + std::max(pipeline, memory) + links * prices.device.piece_us;
  return result;
}

// Among so many ranks on a switch; a block is all of the vector, or what a rank has of it (ir/collective.h).
std::vector<Cost> switch_points(OperationKind kind, int ranks) {
  const int others = ranks - 1;
  const int halvings =
      std::has_single_bit(static_cast<unsigned>(ranks)) ? std::countr_zero(static_cast<unsigned>(ranks)) : 0;
  const int doublings = std::bit_width(static_cast<unsigned>(others));
  std::vector<Cost> points;
  switch (kind) {
    case OperationKind::AllReduce:  // everything to everyone; doubling; ReduceScatter and AllGather
      points = {{.steps = 1, .rounds = others}, {.steps = 2, .rounds = 2 * others, .chunks = ranks}};
      if (halvings > 0) points.push_back({.steps = halvings, .rounds = halvings});
      break;
    case OperationKind::Reduce:
    case OperationKind::Broadcast:  // directly; by a tree; scattered and gathered
      points = {{.steps = 1, .rounds = others},
                {.steps = doublings, .rounds = doublings},
                {.steps = 2, .rounds = 2 * others, .chunks = ranks}};
      break;
    case OperationKind::Send:
      return {{.steps = 1, .rounds = 1}};
    default:
      points = {{.steps = 1, .rounds = others}};
  }
  if (ranks == 1) return {{.steps = 0, .rounds = 0}};
  return points;
}

}  // namespace

double UnitPrice::us() const {
  return launch_us + steps_us + longest(*this);
}

WorkloadPrice price(const Workload& workload, const WorkloadPrices& prices) {
  WorkloadPrice result;
  std::vector<UnitWork> run;
  const auto end_of_run = [&] {
    if (run.empty()) return;
    result.runs.push_back(price_of_run(run, prices));
    result.us += result.runs.back().us;
    run.clear();
  };
  for (UnitWork& each : unit_work(workload)) {
    if (!run.empty() && (each.unit.overlap.empty() || each.unit.overlap != run.back().unit.overlap))
      end_of_run();
    run.push_back(std::move(each));
  }
  end_of_run();
  return result;
}

WorkloadPrices switch_prices(const Workload& workload, const AlphaBeta& link, const DeviceNumbers& device) {
  WorkloadPrices prices{.device = device};
  for (const Scope scope : {Scope::World, Scope::Group})
    for (const OperationKind kind :
         {OperationKind::AllReduce, OperationKind::ReduceScatter, OperationKind::AllGather,
          OperationKind::Reduce, OperationKind::Broadcast, OperationKind::AllToAll, OperationKind::Send})
      prices.collectives.push_back(
          {.kind = kind,
           .scope = scope,
           .link = link,
           .points = switch_points(
               kind, scope == Scope::World ? workload.ranks * workload.groups : workload.ranks)});
  return prices;
}

}  // namespace chorale
