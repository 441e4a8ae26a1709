#include "topology/import_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/words.h"
#include "topology/text.h"

namespace chorale {
namespace {

constexpr std::size_t kMostNamed = 64;

std::string sentences(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = title + "\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

// Errors that are shown as 0.00 have no sign.
std::string percent(double error) {
  return fmt::format("{}{:.2f} %", error < -5e-5 ? "-" : error > 5e-5 ? "+" : "", 100 * std::abs(error));
}

// Imports that are in chunks per round already have no rates: nothing was fitted.
std::string fit_in_words(const Import& import) {
  if (import.rates.empty()) return "";
  double worst = 0;
  for (const FittedRate& rate : import.rates) worst = std::max(worst, std::abs(rate.error));
  std::string text =
      fmt::format("fitted: a chunk per round is {:.6g} GB/s; no rate is off by more than {:.2f} %\n",
                  import.unit_gbs, 100 * worst);
  for (const FittedRate& rate : import.rates)
    text += fmt::format("  {:>10.6g} GB/s, {}: {} per round, {}\n", rate.gbs, counted(rate.links, "link"),
                        counted(rate.bandwidth, "chunk"), percent(rate.error));
  return text;
}

}  // namespace

std::string provenance(const Import& import) {
  return sentences("read:", import.read) + sentences("assumed:", import.assumed) +
         sentences("odd ('chorale topology lint' has what it costs):", import.odd);
}

// Names of nodes last, since they may be thousands; the first 64 are shown.
std::string describe(const Import& import) {
  const Topology& machine = import.machine;
  std::string text = fmt::format("{}: {}, {}, {}\n", machine.name, counted(machine.ranks, "rank"),
                                 counted(machine.switches, "switch", "switches"),
                                 counted(std::ssize(machine.links), "link"));
  text += provenance(import) + fit_in_words(import);
  text += "ranks and switches:\n";
  for (std::size_t n = 0; n < machine.labels.size() && n < kMostNamed; ++n)
    text += fmt::format("  {:>8}: {}\n", name_of(machine, static_cast<Node>(n)), machine.labels[n].name);
  if (machine.labels.size() > kMostNamed)
    text += fmt::format("  and {} more\n", machine.labels.size() - kMostNamed);
  return text;
}

std::string to_json(const Import& import) {
  std::vector<std::string> names;
  for (const NodeLabel& label : import.machine.labels) names.push_back(label.name);
  std::vector<JsonText> rates;
  for (const FittedRate& rate : import.rates)
    rates.push_back(
        json_object("gbs", rate.gbs, "links", rate.links, "bandwidth", rate.bandwidth, "error", rate.error));
  return json_file("machine", JsonText{write_topology(import.machine, "")}, "names", names, "read",
                   import.read, "assumed", import.assumed, "odd", import.odd, "unit_gbs", import.unit_gbs,
                   "rates", rates);
}

}  // namespace chorale
