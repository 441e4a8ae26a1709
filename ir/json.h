// The text form of the nouns. from_json(to_json(x)) == x; the formats are described in docs/formats.md.
//
// Readers take the text and the name under which errors cite it, and accept nothing that is not described:
// unknown or missing keys, numbers that are not integers in range, NaN, links to nowhere, a truncated text.
// They throw InputError that names the place ("dgx.json: links[3].dst: ...") and the remedy. They check form,
// not meaning: semantics/ verifies whether a schedule performs its collective.
#pragma once

#include <string>
#include <string_view>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"

namespace chorale {

inline constexpr int kResultVersion = 2;  // "chorale_result": 2

std::string to_json(const Topology&);
std::string to_json(const Collective&);
std::string to_json(const Result&);

Topology topology_from_json(std::string_view text, const std::string& file);
Collective collective_from_json(std::string_view text, const std::string& file, int ranks);
Result result_from_json(std::string_view text, const std::string& file);

}  // namespace chorale
