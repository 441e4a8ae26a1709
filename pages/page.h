// Self-contained HTML pages: page.html, place_page.html, tune_page.html and report_page.html in this folder,
// each in frame.html with its styles and scripts, as strings (made by CMake); nothing is loaded from
// elsewhere. Their scripts draw what is in their data:
//   Result   a result, or a machine (html.h)
//   Place    what 'place --json' writes: matrices with their times, and the groups of each step
//   Tune     what 'tune --json' writes: schedules by their times, what each is made of, the tree of them
//   Report   sentences, figures and tables (ir/report.h)
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "ir/report.h"
#include "pages/picture.h"

namespace chorale {

// Of the data that the caller gives: the page around it stays below a megabyte, which opens at once. What has
// more is cut by its maker, and the page says what is left out.
inline constexpr std::size_t kMaxPageData = 900'000;

enum class Page { Result, Place, Tune, Report };

// With the marks @TITLE@ and then @DATA@ once, where these go.
std::string page_template(Page);

// A text for people as markup (ir/shown.h): nothing in it is an element or an entity.
std::string as_markup(const std::string&);

// The page with the title and with JSON text (ASCII only) in place of its marks. Names come from files:
// nothing in the title is markup, nothing in the JSON ends the script element, and what steers instead of
// being shown is shown as its escape (ir/shown.h).
std::string filled_page(Page, const std::string& title, const std::string& json);

// A result as one self-contained page: the machine drawn, the schedule of the chosen point animated step by
// step and round by round, the frontier plotted with the certificate of each point. Nothing is loaded from
// elsewhere. A page has less than a megabyte, whatever the machine and the result: of a large schedule the
// first steps are drawn, and the page says how many.

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

// The machine alone, drawn, and its report. Requires a topology without switches (flattened).
std::string machine_html(const Topology&, const Report&, DrawingWork = DrawingWork());

}  // namespace chorale
