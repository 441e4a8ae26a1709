#include <fmt/format.h>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/supervisor.h"
#include "cli/text.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr std::size_t kMostListed = 40;

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

std::string words(const Topology& topology, const Certificate& certificate) {
  std::string text;
  switch (certificate.kind) {
    case Certificate::Kind::Distance:
      return fmt::format("distance: chunk {} and rank {} are too far apart", certificate.chunk,
                         certificate.rank);
    case Certificate::Kind::Partition: {
      std::vector<std::vector<int>> members;
      for (Rank n = 0; n < static_cast<int>(certificate.group.size()); ++n) {
        const std::size_t group = static_cast<std::size_t>(certificate.group[n]);
        if (group >= members.size()) members.resize(group + 1);
        members[group].push_back(n);
      }
      text = "partition";
      for (const std::vector<int>& group : members) text += " {" + ranges(group) + "}";
      text += "; ";
      [[fallthrough]];
    }
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

}  // namespace

Outcome perform(const BoundsCommand& command, Supervisor& supervisor) {
  const Topology topology = machine(command.topology);
  const Collective collective =
      with_chunks(communication(command.collective, topology, command.root), command.chunks);
  std::string text =
      fmt::format("{}, {}: {}, {} a block\n", topology.name, name_of(collective),
                  counted(topology.ranks, "rank"), counted(collective.chunks_per_block, "chunk"));
  // The bounds that are there stand, whatever became of the next.
  const auto publish = [&](const std::string& next) {
    supervisor.publish([text, next](Stopped stopped) -> Outcome {
      return {.exit_code = exit_code_of(stopped),
              .text = text + next + "not known (" + name_of(stopped) + ")\n"};
    });
    supervisor.progress().show("bounding");
  };
  publish("any schedule:      ");
  const StepBound steps = fewest_steps(topology, collective);
  if (steps.steps == 0) return {.text = text + "nothing has to move\n"};
  text += fmt::format("any schedule:      {} at least\n  {}\n", counted(steps.steps, "step"),
                      words(topology, steps.claim.certificate));
  publish("any schedule:      ");
  const Claim any = fewest_rounds(topology, collective);
  text += fmt::format("any schedule:      {}\n  {}\n", at_least(any), words(topology, any.certificate));
  const Rate rate = rate_shown(topology, collective, any.certificate);
  if (rate.rounds > 0)
    text += fmt::format("any chunk count:   {} at least\n", rounds_a_chunk(rate.rounds, rate.chunks));
  const int within = command.steps.value_or(steps.steps);
  const std::string few_steps = fmt::format("{:<19}", "at most " + counted(within, "step") + ":");
  publish(few_steps);
  const Claim few = within < steps.steps ? steps.claim : fewest_rounds_in(topology, collective, within);
  text += fmt::format("{}{}\n  {}\n", few_steps, at_least(few), words(topology, few.certificate));
  return {.text = text};
}

}  // namespace chorale
