// Two sides by position, each a machine or a result; what they are is seen when they are read
// (jobs/compare.cpp).
#include "cli/option_kinds.h"
#include "ir/words.h"

namespace chorale {

void compare_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "compare", "Two machines or two results side by side: bounds, times and bus bandwidth by size",
      "Of machines: what no schedule can beat, for each collective; with --sizes also the fastest\n"
      "algorithms that a search finds at these message sizes. Of results: the times of\n"
      "their points. The speedup is how many times as fast the second is.\n" +
          kPlainExitCodes +
          "examples:\n  chorale compare dgx-a100:2 dgx-h100:2\n"
          "  chorale compare ring:8 full:8 allreduce --sizes 1K:1M:32\n"
          "  chorale compare examples/node.xml dgx-a100:2 --nodes 4 alltoall");
  auto options = values_of<CompareCommand>(sub, parsed);
  const auto side = [&](const Text& name, Text& target) {
    argument(sub, name, target, "MACHINE|RESULT",
             "A machine ('chorale topology list'), a file of one, or a result");
  };
  side("first", options->first);
  side("second", options->second);
  text(sub, "collectives", options->question.collectives, "COLLECTIVE ...",
       "Of machines: some of " + joined(collective_names()) + " (the five usual ones)");
  machine_changes(sub, options->question.changes);
  rising_sizes(sub, options->question.message_bytes,
               "Bytes of messages: 64K, 1K,3000, or from:to:factor (of machines none, of results 1K:1G:4)");
  duration(sub, "--search-time", options->question.search_time,
           "Search each collective on each machine for at most T (10s)");
  file_to_write(sub, "--json", options->json, "Write the comparison there");
  file_to_write(sub, "--html", options->html,
                "Write one self-contained page with both curves and the tables");
  file_to_write(sub, "--svg", options->svg, "Draw both curves over message size there");
  limits(sub, options->limits, " and keep what was found");
  progress(sub, options->progress);
}

}  // namespace chorale
