// From names and files to the nouns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/catalogue.h"
#include "ir/collective.h"
#include "ir/frontier.h"
#include "ir/machine.h"
#include "ir/machine_changes.h"
#include "ir/topology.h"

namespace chorale {

// Of a collective by name: the participants, and the counts of each.
struct CollectiveOptions {
  std::optional<Rank> root = {};  // of a name that has one; in groups its number in each
  // Order of its sums (ir/sum_order.h): "agreed"; "free"; "fixed", along a tree that suits the machine
  // (construct/fixed_order.h); or a tree, "((0 1) (2 3))". If given, it replaces the order of a collective
  // from a file.
  std::string order = {};
  std::string group = {};  // these ranks only, numbered as they come: "3,11,19"; the others may relay
  std::string groups =
      {};  // several at once: "0,1,2;3,4,5", or a name: "row", "column", "boxes", "rails", a level
  std::string counts =
      {};  // chunks of each rank, "3,1,0,2", of alltoallv one row per source; or a JSON file of them
  // What the machine was made from, in which names of groups are looked up; "": the machine's own name.
  std::string machine = {};
  MachineChanges changes = {};
};

// A machine by name ("dgx1", "torus:4x4": known_machines()) or from a file (names_a_file, ir/files.h): JSON
// (docs/formats.md), or what another tool describes (docs/topologies.md). Without its switches each path
// through them is a link. Changes (failed links, removed ranks) are made to the machine as it is described,
// with its switches.
Machine machine(const std::string& spec_or_file, const MachineChanges& = {});
// The same of a machine as it is described, with its switches (api/machines.h).
Machine machine(const Topology& described, const MachineChanges& = {});

// A collective by name, or from a JSON file as above, with one chunk per block. Every chunk can reach its
// destinations on the machine.
Collective collective(const std::string& name_or_file, const Topology&, const CollectiveOptions& = {});

// The names that machine() takes, hierarchy() (api/place.h), and classic() (api/search.h).
const std::vector<CatalogueEntry>& known_machines();
const std::vector<CatalogueEntry>& known_hierarchies();
const std::vector<ClassicEntry>& known_classics();

// The contents of a file, whether true or not; check() (api/search.h) verifies them.
Result read_result(const std::string& file);

// A result to be shown or run: every point's schedule does what was asked for, at the stated cost. Claims are
// believed.
Result read_sound_result(const std::string& file);
// The same of a text, which errors cite by that name.
Result sound_result(const std::string& text, const std::string& name);

}  // namespace chorale
