// Where the parallel axes of a job go on a machine with levels, and how to reduce over them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/job_template.h"
#include "ir/machine_changes.h"
#include "ir/place_options.h"
#include "ir/ranking.h"
#include "ir/report.h"

namespace chorale {

// A machine with levels by name ("a100:4": known_hierarchies()) or from a JSON file (what contains a '/' or
// ends in ".json": docs/formats.md).
// With changes, where it still has levels.
Hierarchy hierarchy(const std::string& spec_or_file, const MachineChanges& = {});

// The placements of the job's axes, best first, each with its cheapest reduction strategies. Every placement
// that obeys the conditions is priced, so the first is the best in the model of docs/placement.md; a limit
// leaves those that were priced until then (Ranking::priced).
Ranking place(const Hierarchy&, const Job&, const PlaceOptions& = {});

// The same, with the sizes of the axes chosen, too: those whose iteration takes the least time of all that a
// device has room for (placement/place.h).
Ranking place(const Hierarchy&, const JobTemplate&, const PlaceOptions& = {});

// The placement that a job has today: the order of its axes ("data,tensor", or Megatron's "tensor-data"), or
// the device of each rank (placement/present.h). For PlaceOptions::present.
ParallelismMatrix present_placement(const Hierarchy&, const std::vector<Axis>&, const std::string& text,
                                    const std::string& where = "present");

// The first `wanted` devices of a machine with levels, as a machine: the first of its outermost units. Throws
// InputError if they do not fill whole units, or are a part of a ring.
Hierarchy part_of(const Hierarchy&, long long wanted);

// The output of 'place', whether true or not; check() verifies it.
Ranking read_ranking(const std::string& file);
// One to be shown: all of it is true, but that no other placement is better is believed.
Ranking read_sound_ranking(const std::string& file);

// Verifies a ranking from scratch (placement/check_ranking.h). `progress` is called with the matrices that
// are priced again, and may stop that.
RankingReport check(const Ranking&, const std::function<bool(int done, int of)>& progress = {});

// What `place` prints. `explain`: with what binds each step, and the counts over each synthesis hierarchy.
Report report_of(const Ranking&, bool explain = false);

// The first placement of a ranking with the best strategy of each communication, as files
// (codegen/strategy_source.h): groups.json, and MPI programs that run the strategies. Throws InputError if
// there is none, or if there are too many devices to list.
std::vector<NamedText> emit_placement(const Ranking&);

}  // namespace chorale
