// A record may matter within a node, or only where nodes are joined by their NICs; so one node is asked
// first, then two of it, AllReduce before Alltoall. The first bound that differs is what the record costs.
#include "jobs/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/or_error.h"
#include "ir/words.h"
#include "jobs/compare.h"
#include "topology/import/host.h"
#include "topology/import/import.h"
#include "topology/import/lint.h"
#include "topology/switches.h"

namespace chorale {
namespace {

constexpr double kSameBound = 0.005;

// 0: a rank cannot be reached.
double bound_gbs(const Host& host, int nodes, const std::string& collective, const ImportOptions& options) {
  const Topology flat = flatten(machine_of(std::vector<Host>(nodes, host), options));
  return all_reach_all(flat) ? limits_on(flat, collective).busbw_gbs : 0;
}

OddRecord priced(const Oddity& oddity, const Host& host, const ImportOptions& options) {
  OddRecord record{.record = oddity.text};
  if (!oddity.healed) return record;
  const bool joined = host.count(HostPart::Kind::Nic) > 0 && oddity.healed->count(HostPart::Kind::Nic) > 0;
  for (const std::string collective : {"allreduce", "alltoall"})
    for (int nodes = 1; nodes <= (joined ? 2 : 1); ++nodes) {
      const double healed = bound_gbs(*oddity.healed, nodes, collective, options);
      const double gbs = bound_gbs(host, nodes, collective, options);
      if (std::abs(healed - gbs) <= kSameBound * healed) continue;
      record.collective = collective;
      record.ranks = nodes * host.count(HostPart::Kind::Gpu);
      record.healed_gbs = healed;
      record.gbs = gbs;
      return record;
    }
  return record;
}

std::string with_its_cost(const OddRecord& odd) {
  if (odd.collective.empty()) return odd.record;
  return fmt::format("{}: {} of {} ranks {:.4g} -> {}", odd.record, odd.collective, odd.ranks, odd.healed_gbs,
                     odd.gbs > 0 ? fmt::format("{:.4g} GB/s", odd.gbs) : "none, since a rank is not reached");
}

}  // namespace

std::vector<OddRecord> lint(const std::vector<NamedText>& files, const ImportOptions& options) {
  const std::vector<Host> hosts = hosts_in(files, options);
  if (hosts.empty())
    throw InputError(files.empty() ? "lint" : files.front().path, "describes no node",
                     "give files of NCCL, RCCL, nvidia-smi, rocm-smi or hwloc");
  std::vector<OddRecord> odd;
  for (const Host& host : hosts)
    for (const Oddity& each : oddities(host)) {
      const OrError<OddRecord> record = read_or_error([&] { return priced(each, host, options); });
      odd.push_back(record ? *record : OddRecord{.record = each.text, .unpriced = record.error().what()});
    }
  return odd;
}

Report report_of(const std::vector<OddRecord>& odd, const std::vector<NamedText>& files) {
  Report report{.title = fmt::format("{} in {}", counted(std::ssize(odd), "odd record"),
                                     counted(std::ssize(files), "file"))};
  report.sentences.push_back(report.title);
  for (const OddRecord& each : odd) report.sentences.push_back(with_its_cost(each));
  const auto unpriced =
      std::ranges::find_if(odd, [](const OddRecord& each) { return !each.unpriced.empty(); });
  if (unpriced != odd.end()) report.sentences.push_back("costs are left out: " + unpriced->unpriced);
  return report;
}

std::string to_json(const std::vector<OddRecord>& odd, const Report& report) {
  return json_file("chorale_lint", 1, "odd", odd, "report", report);
}

}  // namespace chorale
