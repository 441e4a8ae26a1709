// A machine with its ranks and links numbered otherwise, and what was found on it: schedules, and claims with
// their certificates. What holds of the one holds of the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

struct Renumbering {
  std::vector<Rank> ranks = {};    // n becomes ranks[n]
  std::vector<LinkId> links = {};  // and link l links[l]
  bool operator==(const Renumbering&) const = default;
};

// Not a custom collective, whose chunks lie where its file says, nor a machine with switches, whether as
// nodes or below its links (Topology::underlay).
bool is_renumberable(const Topology&, const Collective&);

Renumbering no_renumbering(const Topology&);
Renumbering inverse(const Renumbering&);
Renumbering compose(const Renumbering& first, const Renumbering& then);

// Returns {"ranks": [..], "links": [..]}, in one line. The reader throws InputError if they are not
// permutations.
std::string to_json(const Renumbering&);
Renumbering renumbering_from_json(std::string_view text, const std::string& file);

// Renumbers a machine: limits go by their links, bandwidth and abilities, and are called "limit 0", ...
// Requires permutations of the machine's ranks and links, and a machine without switches, also below its
// links.
Topology renumbered(const Topology&, const Renumbering&);

// Requires a collective that is not Custom: the holders of a chunk define its position.
Collective renumbered(const Collective&, const Renumbering&);

// Returns the result on `to`, the machine so numbered with its limits in any order, its chunks by their pre
// and post. Refutations name the formula of the machine as it was numbered. Throws InputError, which cites
// `where`, if `to` is another machine or the collective is Custom, and for schedules and certificates of
// links or ranks that do not exist.
Result renumbered(const Result&, const Renumbering&, const Topology& to, const std::string& where);

}  // namespace chorale
