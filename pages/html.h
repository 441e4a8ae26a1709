// A result as one self-contained page: the machine drawn, the schedule of the chosen point animated step by
// step and round by round, the frontier plotted with the certificate of each point. Nothing is loaded from
// elsewhere. A page has less than a megabyte, whatever the machine and the result: of a large schedule the
// first steps are drawn, and the page says how many.
#pragma once

#include <string>
#include <vector>

#include "ir/frontier.h"
#include "ir/report.h"
#include "pages/picture.h"

namespace chorale {

// The contents of the report beyond the result itself; the caller supplies bounds and costs, which pages/
// does not compute.
struct PageNotes {
  // No schedule has fewer than bound_rounds/bound_chunks rounds per chunk; 0: unknown.
  long long bound_rounds = 0;
  long long bound_chunks = 1;
  // By point, in words; each empty or as many as points.
  std::vector<std::string> best_sizes = {};
  std::vector<std::string> proven_by = {};
  // Shown first; of its figures the first: time and bus bandwidth over message size (figures.h).
  Report report = {};
};

// "dgx1 allgather: 2 points - Chorale"
std::string page_title(const Result&);

// Requires schedules that obey the limits of the topology.
std::string to_html(const Result&, const PageNotes& = {}, DrawingWork = DrawingWork());

// The machine alone, drawn. Requires a topology without switches (flattened).
std::string machine_html(const Topology&, DrawingWork = DrawingWork());

}  // namespace chorale
