// The groups of ranks of a machine that libraries have answers for, by name: "all"; "pairs", any two ranks
// that are linked in both directions; a level of the machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/topology.h"

namespace chorale {

using RankGroup = std::vector<Rank>;
// Throws: what is wrong with the name, and what to do.
using Refusal = std::function<void(const std::string& problem, const std::string& remedy)>;

// One after the other; `whole` is the machine of that spec.
std::vector<RankGroup> groups_named(const std::string& name, const std::string& spec, const Topology& whole,
                                    const Refusal&);
// Is it one of these? Few are listed to see that.
bool is_group_named(const std::string& name, const std::string& spec, const Topology& whole,
                    const RankGroup&);

// A group as a machine of its own, numbered as its ranks come.
Topology group_of(const Topology& whole, const std::string& name, const RankGroup&);

// "0 8 16 24", and back; the result is empty if the text does not list ranks of a machine with `ranks` ranks.
std::string in_words(const RankGroup&);
RankGroup ranks_in(const std::string& words, int ranks);

// The hosts of these ranks, numbered as they come; `hosts` is of the machine.
std::vector<int> hosts_at(const std::vector<int>& hosts, const RankGroup&);

}  // namespace chorale
