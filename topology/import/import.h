// A machine from existing files: descriptions of a node by NCCL, RCCL, nvidia-smi and hwloc, and those of
// other synthesizers and simulators. docs/topologies.md has the formats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/files.h"
#include "ir/machine_changes.h"
#include "ir/topology.h"

namespace chorale {

// Links of one rate.
struct FittedRate {
  double gbs = 0;
  int links = 0;
  int bandwidth = 1;  // chunks per round
  double error = 0;   // (bandwidth * unit - gbs) / gbs
};

struct Import {
  Topology machine = {};                  // with its switches, and labels of its nodes
  int nodes = 0;                          // equal in number of ranks; 0: not known, or not equal
  std::vector<std::string> read = {};     // what was read in the files, in sentences,
  std::vector<std::string> assumed = {};  // and what was taken for granted
  std::vector<std::string> odd = {};      // records that are odd among their like (topology/import/lint.h)
  double unit_gbs = 0;                    // of one chunk per round; 0: the file has chunks per round itself
  std::vector<FittedRate> rates = {};     // the fastest first
};

// The formats that are known, in words.
std::string known_formats();

// Whether a text is in one of these formats, or in none that is known, and not in Chorale's own. JSON that
// cannot be parsed is not.
bool is_foreign(std::string_view text);

// Whether a text is of msccl-tools, TACCL, TE-CCL or ASTRA-sim: the Python package converts these
// (chorale.import_research). Throws InputError as imported() does.
bool is_of_research(const NamedText&);

// One machine of all files: several of nodes are joined by their NICs. Files of NCCL's <graphs> are passed
// over. Throws InputError, of one line, for what cannot be read (topology/import/readers.h), is of no known
// format, or does not go together.
//
// Parts of nodes that the changes name are changed, and taken out of them (topology/import/named_parts.h).
Import imported(const std::vector<NamedText>& files, const ImportOptions& = {}, MachineChanges* = nullptr);

// Returns the nodes that these files describe, a host for each file; none where they describe a whole
// machine. Throws InputError as imported() does.
struct Host;
std::vector<Host> hosts_in(const std::vector<NamedText>& files, const ImportOptions& = {});

// The machine of nodes that are known as parts and cables (topology/import/host.h): of one, or of several
// joined by their NICs.
Topology machine_of(const std::vector<Host>&, const ImportOptions&);

// The machine that this runs on, as hwloc's XML. Throws InputError if this build lacks hwloc, or if hwloc
// fails.
std::string live_hwloc_xml();

// What 'nvidia-smi topo -m' prints; empty where it is not there or fails.
std::string live_nvidia_smi();

}  // namespace chorale
