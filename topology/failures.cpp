// Failures have the names that changes have on the command line (topology/changes.cpp), so a failed machine
// is the named one with one change, and its name can be given wherever a machine's can.
#include "topology/failures.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "ir/error.h"
#include "topology/text.h"

namespace chorale {
namespace {

constexpr std::string_view kWithout = " without ";
constexpr std::string_view kLink = "link ", kRank = "rank ";

}  // namespace

std::vector<std::string> single_failures(const Topology& described) {
  // Parallel links between the same two nodes fail together, and so do both directions of a cable.
  std::set<std::pair<Node, Node>> directed;
  for (const Link& link : described.links) directed.emplace(link.src, link.dst);
  std::vector<std::string> failures;
  for (const auto& [src, dst] : directed) {
    const bool both = directed.contains({dst, src});
    if (both && dst < src) continue;
    failures.push_back(
        fmt::format("{}{}{}{}", kLink, name_of(described, src), both ? "-" : ">", name_of(described, dst)));
  }
  for (Rank n = 0; described.ranks > 1 && n < described.ranks; ++n)
    failures.push_back(fmt::format("{}{}", kRank, n));
  return failures;
}

NamedChanges split_failure(const std::string& spec_or_file) {
  // The first " without ". Names of machines have no blanks; a path that has this word in it is split as
  // well.
  const std::size_t at = spec_or_file.find(kWithout);
  if (at == std::string::npos) return {.machine = spec_or_file};
  NamedChanges named{.machine = spec_or_file.substr(0, at),
                     .failure = spec_or_file.substr(at + kWithout.size())};
  if (named.failure.starts_with(kLink))
    named.changes.without_links = {named.failure.substr(kLink.size())};
  else if (named.failure.starts_with(kRank))
    named.changes.without_ranks = {named.failure.substr(kRank.size())};
  else
    throw InputError("machine " + spec_or_file.substr(0, 100),
                     "'" + named.failure.substr(0, 60) + "' is not a failure",
                     "name it 'MACHINE without link A-B' or 'MACHINE without rank N'");
  return named;
}

}  // namespace chorale
