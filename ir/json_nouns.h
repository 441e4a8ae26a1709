// Parts of a result that are formats of their own. For the json_*.cpp files of this room only.
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/json_reader.h"
#include "ir/placement.h"
#include "ir/topology.h"

namespace chorale {

Topology read_topology(const JsonReader&);
std::string write_topology(const Topology&, const std::string& indent);

Collective read_collective(const JsonReader&, int ranks);
std::string write_collective(const Collective&, const std::string& indent);

// Its members only, for an object that has others as well: a named one by "chunks_per_block" and, if it has
// one, "root"; a custom one as in a result.
Collective read_collective_members(const JsonReader&, int ranks);
std::string write_collective_members(const Collective&, const std::string& indent);

// Returns what proves a claim about this machine, whose ranks, links and limits bound what is read.
Certificate read_certificate(const JsonReader&, const Topology&);
std::string write_certificate(const Certificate&, const Topology&);

Hierarchy read_hierarchy(const JsonReader&);
Job read_job(const JsonReader&, bool may_be_idle = false);  // idle: without reductions

// Of a template of a job: all but its bytes and times, which may be formulas.
Reduction read_open_reduction(const JsonReader&, const std::vector<Axis>&,
                              const std::vector<Reduction>& before);

}  // namespace chorale
