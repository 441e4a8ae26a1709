// From names and files to the nouns; and to files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/topology.h"
#include "runtime/elements.h"

namespace chorale {

// A named machine or a file, without switches.
Topology machine(const std::string& spec_or_file);

// A named collective, or one from a JSON file (what contains a '/' or ends in ".json"), with one chunk a
// block. Every chunk can reach its destinations.
Collective communication(const std::string& name_or_file, const Topology&, std::optional<Rank> root);

// A root that was asked for is no help to a collective that has none.
void require_rooted(const std::string& option, CollectiveKind, std::optional<Rank> root);

Result load_result(const std::string& file);

// A result to be shown or run: every point's schedule does what was asked for, at the stated cost.
Result load_sound_result(const std::string& file);

// The point of that number, or all on the frontier. Throws InputError where there is none.
std::vector<int> chosen_points(const std::string& file, const Result&, std::optional<int> point, bool all);

// Accumulation in float32 is for sums of halves: throws InputError where there are none.
void require_sums_of_halves(Accumulation, const std::vector<ElementType>&, const Collective&);

// To be called before long work: `path` names a file that can be made, or replaced. "" and "-" are fine.
void require_writable_file(const std::string& option, const std::string& path);
void make_writable_directory(const std::string& option, const std::string& path);  // if it is not there
void require_writable_directory(const std::string& option, const std::string& path);

// The same for a directory that may have to be made when files are written to it, with those above it.
void require_makeable_directory(const std::string& option, const std::string& path);

}  // namespace chorale
