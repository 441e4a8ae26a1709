// A wiring a line; a rate is [rounds, chunks], and null where no schedule was found.
#include "ir/design.h"
#include "ir/json_fields.h"

namespace chorale {
namespace {

std::string write_wiring(const DesignedGraph& wiring) {
  std::vector<std::string> rates;
  for (const WiringRate& rate : wiring.rates)
    rates.push_back(fmt::format("{{\"bound\":{},\"found\":{},\"steps\":{}}}", write_rate(rate.bound),
                                rate.found.rounds > 0 ? write_rate(rate.found) : "null", rate.steps));
  return fmt::format(
      "{{\"name\":{},\"alike\":{},\"diameter\":{},\"distances\":{},\"bisection\":{},\"bound_us\":{},"
      "\"found_us\":{},\"rates\":[{}]}}",
      quoted(wiring.name), quoted(wiring.alike), wiring.diameter, wiring.distances, wiring.bisection,
      wiring.bound_us, wiring.found_us > 0 ? fmt::format("{}", wiring.found_us) : "null",
      fmt::join(rates, ","));
}

}  // namespace

// Written for other programs; nothing here reads it back.
std::string to_json(const Design& design) {
  std::vector<std::string> job, families, best, named;
  for (const DesignDemand& demand : design.job)
    job.push_back(
        fmt::format("{{\"collective\":{},\"weight\":{}}}", quoted(demand.collective), demand.weight));
  for (const DesignFamily& family : design.families)
    families.push_back(fmt::format("{{\"group\":{},\"relations\":{},\"graphs\":{}}}", quoted(family.group),
                                   quoted(family.relations), family.graphs));
  for (const DesignedGraph& wiring : design.best) best.push_back(write_wiring(wiring));
  for (const DesignedGraph& wiring : design.named) named.push_back(write_wiring(wiring));
  return fmt::format(
      "{{\"chorale_design\":1,\"ranks\":{},\"degree\":{},\"job\":[{}],\"message_bytes\":{},\"alpha_us\":{},"
      "\"link_gbs\":{},\n "
      "\"proven\":{},\"bound_us\":{},\"groups\":{},\"all_groups\":{},\"all_compared\":{},\"by_distance\":{},"
      "\"stopped\":{},\n "
      "\"best\":{},\n \"named\":{},\n \"families\":{}}}\n",
      design.ranks, design.degree, fmt::join(job, ","), design.message_bytes, design.alpha_us,
      design.link_gbs, design.proven, design.bound_us, design.groups, design.all_groups, design.all_compared,
      design.by_distance, quoted(name_of(design.stopped)), lines(best, " "), lines(named, " "),
      lines(families, " "));
}

}  // namespace chorale
