// Bounds in words. A certificate is a combination of constraints with non-negative prices (LP duality): the
// text names the links and shared limits with a price, and the structure that the prices are of: a cut, a
// partition into groups, trees, or weights by step. Distance and growth have no prices. What is priced shows
// where a machine is tight; results have the certificates themselves.
#include <fmt/format.h>

#include "api/inputs.h"
#include "api/search.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/words.h"

namespace chorale {
namespace {

// Of links and limits in a line of prices; a machine of thousands may have a price on each.
constexpr std::size_t kMostListed = 40;
constexpr const char* kAnySchedule = "any schedule:      ";

// "3 x 0->1": the price in units.
std::string price(int units, const std::string& of) {
  return units == 1 ? of : fmt::format("{} x {}", units, of);
}

// The links and limits that cost something.
std::string words(const Topology& topology, const Prices& prices) {
  std::vector<std::string> priced;
  for (std::size_t l = 0; l < prices.links.size(); ++l)
    if (prices.links[l] > 0)
      priced.push_back(
          price(prices.links[l], fmt::format("{}->{}", topology.links[l].src, topology.links[l].dst)));
  for (std::size_t i = 0; i < prices.limits.size(); ++i)
    if (prices.limits[i] > 0)
      priced.push_back(price(prices.limits[i], "limit '" + topology.limits[i].name + "'"));
  std::string text;
  for (std::size_t i = 0; i < priced.size() && i < kMostListed; ++i) text += (i > 0 ? ", " : "") + priced[i];
  if (priced.size() > kMostListed) text += fmt::format(", and {} more", priced.size() - kMostListed);
  return text.empty() ? "nothing" : text;
}

// A partition names its groups and then its prices, cuts their number and then the prices of each step, as
// weights do.
std::string words(const Topology& topology, const Certificate& certificate) {
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
             words(topology, certificate.prices.front());
    }
    case Certificate::Kind::Partition: {
      std::vector<std::vector<int>> members;
      for (Rank n = 0; n < static_cast<int>(certificate.group.size()); ++n) {
        const std::size_t group = static_cast<std::size_t>(certificate.group[n]);
        if (group >= members.size()) members.resize(group + 1);
        members[group].push_back(n);
      }
      for (const std::vector<int>& group : members) text += " {" + ranges(group) + "}";
      return "partition" + text + "; prices: " + words(topology, certificate.prices.front());
    }
    case Certificate::Kind::Trees:
      return "trees; prices: " + words(topology, certificate.prices.front());
    case Certificate::Kind::Cuts:
      text += counted(static_cast<long long>(certificate.cuts.size()), "cut") + " in time; ";
      [[fallthrough]];
    case Certificate::Kind::Weights:
      for (std::size_t s = 0; s < certificate.prices.size(); ++s)
        text += (certificate.prices.size() > 1 ? fmt::format("{}step {}: ", s > 0 ? "; " : "", s + 1)
                                               : "prices: ") +
                words(topology, certificate.prices[s]);
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

std::string line(const std::string& about, const std::string& least, const Topology& topology,
                 const Certificate& certificate) {
  return about + least + "\n  " + words(topology, certificate) + "\n";
}

// As wide as kAnySchedule, so that the numbers stand below each other.
std::string few_steps(const Bounds& known) {
  return fmt::format("{:<19}", "at most " + counted(known.within, "step") + ":");
}

// In the order in which bounds become known: the fewest steps, the fewest rounds of any schedule, the rate
// that holds for any chunk count, the fewest rounds within the asked number of steps. A field of 0 is not
// known yet.
std::string in_words(const Topology& topology, const Bounds& known) {
  if (known.steps == 0) return "nothing has to move\n";
  std::string text = line(kAnySchedule, counted(known.steps, "step") + " at least", topology,
                          known.fewest_steps.certificate);
  if (known.within == 0) return text;
  text += line(kAnySchedule, at_least(known.rounds), topology, known.rounds.certificate);
  if (known.rate.rounds > 0)
    text +=
        fmt::format("any chunk count:   {} at least\n", rounds_a_chunk(known.rate.rounds, known.rate.chunks));
  if (known.rounds_within.rounds == 0) return text;
  return text +
         line(few_steps(known), at_least(known.rounds_within), topology, known.rounds_within.certificate);
}

// The bound that is computed next, which a limit reports as not known.
std::string next_line(const Bounds& known) {
  return known.within == 0 ? kAnySchedule : few_steps(known);
}

}  // namespace

Outcome perform(const BoundsCommand& command, Supervisor& supervisor) {
  const Topology topology = machine(command.question.machine, command.question.changes);
  const Topology bounded = with_switches(topology);  // what prices are of
  const Collective collective = communication(command.question.collective, topology, command.question);
  const std::string heading = fmt::format("{}, {}: {}, {} per block{}\n", topology.name, name_of(collective),
                                          counted(topology.ranks, "rank"),
                                          counted(command.asked.chunks, "chunk"), under_abilities(topology));
  // The bounds found so far hold, whatever the outcome of the next.
  const auto publish = [&](const std::string& text, const std::string& next) {
    supervisor.publish([text, next](Stopped stopped) -> Outcome {
      return {.exit_code = exit_code_of(stopped),
              .text = text + next + "not known (" + name_of(stopped) + ")\n"};
    });
    supervisor.progress().show("bounding");
  };
  publish(heading, kAnySchedule);
  BoundsQuestion asked = command.asked;
  asked.progress = [&](const Bounds& so_far) {
    publish(heading + in_words(bounded, so_far), next_line(so_far));
  };
  return {.text = heading + in_words(bounded, bounds(topology, collective, asked))};
}

void bounds_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(app, "bounds", "What no schedule can beat, with certificates",
                                kPlainExitCodes + "example:\n  chorale bounds dgx1 allgather --chunks 6");
  auto options = values_of<BoundsCommand>(sub, parsed);
  machine_and_collective(sub, options->question);
  integer(sub, "--chunks", options->asked.chunks, 1, kMostChunks, "C", "Chunks of a block (1)");
  integer(sub, "--steps", options->asked.steps, 1, kMostSteps, "S", "Also for at most S steps");
  limits(sub, options->limits, " and print the bounds that were found");
}

}  // namespace chorale
