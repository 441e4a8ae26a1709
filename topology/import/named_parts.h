// Parts of nodes by the names that files and tools have for them, so that a change can name one: a port
// ("mlx5_3", "nic3"), a GPU's cables ("gpu5"), an NVSwitch ("nvswitch1"); of one of several nodes
// "node1:mlx5_3". A NIC and a switch are not nodes of the graph where they lie between just two others, and
// both directions of one are one thing.
#pragma once

#include <string>
#include <vector>

#include "ir/machine_changes.h"
#include "topology/import/host.h"

namespace chorale {

// Removes and slows the parts that the changes name, and takes these out of the changes: links of the graph
// and ranks are left. Returns what was done, as a machine's name has it: "without link mlx5_3". Throws
// InputError for a name that no part has, and for one that parts of several nodes have.
std::vector<std::string> change_parts(std::vector<Host>&, MachineChanges&);

// Gives the parts of all nodes the names that reports have for them: such a name where a part has one, with
// what its file has besides, "gpu5 (0000:9b:00.0)"; of several nodes "node1:mlx5_3".
void name_parts(std::vector<Host>&);

}  // namespace chorale
