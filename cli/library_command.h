// The actions of 'library' share one struct, since they share most options; a member that an action does not
// read keeps its default. The functions are those with a file of their own.
#pragma once

#include "cli/options.h"
#include "cli/outcome.h"
#include "jobs/library.h"
#include "jobs/measure.h"
#include "library/answers.h"

namespace chorale {

struct LibraryCommand {
  std::string spec = {};  // of Build
  int failures = 0;       // of Build: that machines have, 0 or 1
  std::string file = {};  // the library
  int jobs = 1;
  AnswerPlace place = {.group = "all"};         // of Select; of Measure its machine
  std::optional<SumOrder::Kind> order = {};     // of Select and Export
  std::vector<std::int64_t> bytes = {1 << 20};  // of messages
  std::string json = {};
  std::string html = {};                      // of Show
  std::vector<std::string> files = {};        // of Merge
  std::string output = {};                    // of Merge a file, of Export a directory
  std::vector<std::string> collectives = {};  // of Export
  ExportForm form = ExportForm::Mscclpp;
  std::string rules = {};                 // of Export, instead of a form: what Python writes (kRuleFiles)
  std::int64_t conflicts = -1;            // of Verify
  std::optional<MeasuredOver> over = {};  // of Select; none: of what it was measured over
  MeasureOptions measuring = {};          // of Measure
};

class Supervisor;

// Searches a question in a process of its own (this program's 'frontier'), which writes a file; this one
// alone writes the library. A process that dies takes one question with it, and dies with this one.
Search search_by_processes(const Limits&, int jobs);

}  // namespace chorale
