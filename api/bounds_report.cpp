// Bounds in words. A certificate is a combination of constraints with non-negative prices (LP duality): the
// text names the links and shared limits with a price, and the structure that the prices are of: a cut, a
// partition into groups, trees, or weights by step. Distance and growth have no prices. What is priced shows
// where a machine is tight; results have the certificates themselves.
#include <fmt/format.h>

#include "api/report.h"
#include "api/search.h"
#include "ir/words.h"

namespace chorale {
namespace {

// Links and limits with a price that are named; a machine of thousands may have a price on each.
constexpr std::size_t kMostPricesNamed = 40;

// "3 x 0->1": the price in units.
std::string price(int units, const std::string& of) {
  return units == 1 ? of : fmt::format("{} x {}", units, of);
}

// The links and limits that cost something.
std::string prices_in_words(const Topology& topology, const Prices& prices) {
  std::vector<std::string> priced;
  for (std::size_t l = 0; l < prices.links.size(); ++l)
    if (prices.links[l] > 0)
      priced.push_back(
          price(prices.links[l], fmt::format("{}->{}", topology.links[l].src, topology.links[l].dst)));
  for (std::size_t i = 0; i < prices.limits.size(); ++i)
    if (prices.limits[i] > 0)
      priced.push_back(price(prices.limits[i], "limit '" + topology.limits[i].name + "'"));
  std::string text;
  for (std::size_t i = 0; i < priced.size() && i < kMostPricesNamed; ++i)
    text += (i > 0 ? ", " : "") + priced[i];
  if (priced.size() > kMostPricesNamed)
    text += fmt::format(", and {} more", priced.size() - kMostPricesNamed);
  return text.empty() ? "nothing" : text;
}

// A partition names its groups and then its prices, cuts their number and then the prices of each step, as
// weights do.
std::string certificate_in_words(const Topology& topology, const Certificate& certificate) {
  std::string text;
  switch (certificate.kind) {
    case Certificate::Kind::Distance:
      return fmt::format("distance: chunk {} and rank {} are too far apart", certificate.chunk,
                         certificate.rank);
    case Certificate::Kind::Entries: {
      std::vector<int> inside;
      for (Rank n = 0; n < static_cast<int>(certificate.group.size()); ++n)
        if (certificate.group[n] == 1) inside.push_back(n);
      return "entries into {" + ranges(inside) +
             "}, of which the last are still to be spread there; prices: " +
             prices_in_words(topology, certificate.prices.front());
    }
    case Certificate::Kind::Partition: {
      std::vector<std::vector<int>> members;
      for (Rank n = 0; n < static_cast<int>(certificate.group.size()); ++n) {
        const std::size_t group = static_cast<std::size_t>(certificate.group[n]);
        if (group >= members.size()) members.resize(group + 1);
        members[group].push_back(n);
      }
      for (const std::vector<int>& group : members) text += " {" + ranges(group) + "}";
      return "partition" + text + "; prices: " + prices_in_words(topology, certificate.prices.front());
    }
    case Certificate::Kind::Trees:
      return "trees; prices: " + prices_in_words(topology, certificate.prices.front());
    case Certificate::Kind::Cuts:
      text += counted(static_cast<long long>(certificate.cuts.size()), "cut") + " in time; ";
      [[fallthrough]];
    case Certificate::Kind::Weights:
      for (std::size_t s = 0; s < certificate.prices.size(); ++s)
        text += (certificate.prices.size() > 1 ? fmt::format("{}step {}: ", s > 0 ? "; " : "", s + 1)
                                               : "prices: ") +
                prices_in_words(topology, certificate.prices[s]);
      return text;
    case Certificate::Kind::Growth:
      return fmt::format("growth: chunks such as {} cannot spread faster", certificate.chunk);
    case Certificate::Kind::Refutation:
    case Certificate::Kind::None:
      break;
  }
  return "none";
}

std::string at_least(const Claim& claim) {
  return claim.rounds == kNoSchedule ? "impossible" : counted(claim.rounds, "round") + " at least";
}

}  // namespace

// In the order in which bounds become known: the fewest steps, the fewest rounds of any schedule, the rate
// that holds for any chunk count, the fewest rounds within the asked number of steps. A field of 0 is not
// known yet, and what is computed next is the first of these.
Report report_of(const Topology& topology, const Collective& collective, const BoundsQuestion& question,
                 const Bounds& known, Stopped stopped) {
  Report report{.title = fmt::format("{}, {}: {}, {} per block{}", topology.name, name_of(collective),
                                     counted(topology.ranks, "rank"), counted(question.chunks, "chunk"),
                                     under_abilities(topology))};
  ReportTable table{.title = report.title, .rows = {{"schedules", "bound", "certificate"}}, .kinds = "lll"};
  const Topology bounded = with_switches(topology);  // what prices are of
  const auto row = [&](const std::string& of, bool is_known, const std::string& least, const Claim& claim) {
    if (is_known)
      table.rows.push_back({of, least, certificate_in_words(bounded, claim.certificate)});
    else if (stopped != Stopped::No && table.rows.back().at(1).find("not known") == std::string::npos)
      table.rows.push_back({of, "not known (" + name_of(stopped) + ")", ""});
  };
  const std::string few = fmt::format("at most {}:", counted(known.within, "step"));
  if (known.steps == 0 && stopped == Stopped::No) {
    report.sentences = {report.title, "nothing has to move"};
    return report;
  }
  row("any schedule:", known.steps > 0, counted(known.steps, "step") + " at least", known.fewest_steps);
  row("any schedule:", known.within > 0, at_least(known.rounds), known.rounds);
  if (known.rate.rounds > 0)
    table.rows.push_back(
        {"any chunk count:", rounds_a_chunk(known.rate.rounds, known.rate.chunks) + " at least", ""});
  row(few, known.rounds_within.rounds > 0, at_least(known.rounds_within), known.rounds_within);
  report.tables = {std::move(table)};
  return report;
}

}  // namespace chorale
