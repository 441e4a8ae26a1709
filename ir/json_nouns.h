// Parts of a result that are formats of their own. For the json_*.cpp files of this room only.
#pragma once

#include <string>

#include "ir/collective.h"
#include "ir/json_reader.h"
#include "ir/topology.h"

namespace chorale {

Topology read_topology(const JsonReader&);
std::string write_topology(const Topology&, const std::string& indent);

Collective read_collective(const JsonReader&, int ranks);
std::string write_collective(const Collective&, const std::string& indent);

}  // namespace chorale
