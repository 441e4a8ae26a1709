// What `chorale check` states of many texts, without a process for each: the fields of a file are changed one
// by one (tests/property/every_field.py).
//
// Reads "COMMAND BYTES\n" and this many bytes, again and again, and answers each in a line: "refused WORDS",
// "false WORDS", "undecided" or "sound". Commands: "check", a result or a ranking; "place", a ranking, which
// is answered by "ranking BYTES\n" and the ranking that placement makes of the same question; "sound" reads a
// result as commands do that show or run it.
#include <algorithm>
#include <iostream>
#include <string>

#include "api/inputs.h"
#include "api/place.h"
#include "api/search.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/ranking.h"

namespace chorale {
namespace {

std::string in_line(std::string words) {
  std::ranges::replace(words, '\n', ' ');
  return words;
}

template <typename Report>
std::string verdict(const Report& report) {
  return report.faults.empty() ? "sound" : "false " + in_line(report.faults.front().words);
}

std::string checked(const std::string& text) {
  if (is_ranking(text)) return verdict(check(ranking_from_json(text, "file")));
  const CheckReport report = check(result_from_json(text, "file"), {.limits = {.conflicts = 20'000}});
  return report.faults.empty() && report.undecided > 0 ? "undecided" : verdict(report);
}

// As placement/check_ranking.cpp has to take it from a file.
std::string placed(const std::string& text) {
  const Ranking asked = ranking_from_json(text, "file");
  PlaceOptions options{.algorithm = value_in(algorithms(), asked.algorithm).value(),
                       .rules = value_in(strategy_rules(), asked.rules).value(),
                       .synthesis = value_in<SynthesisKind>(kSynthesisChoices, asked.synthesis).value(),
                       .top = std::max<int>(1, static_cast<int>(asked.best.size())),
                       .conditions = asked.conditions};
  for (const RankedMatrix& ranked : asked.best)
    for (const ReductionRanking& reduction : ranked.reductions)
      options.strategies = std::max<int>(options.strategies, static_cast<int>(reduction.strategies.size()));
  const std::string made = to_json(place(asked.hierarchy, asked.job, options));
  return "ranking " + std::to_string(made.size()) + "\n" + made;
}

std::string answered(const std::string& command, const std::string& text) {
  try {
    if (command == "place") return placed(text);
    if (command == "check") return checked(text);
    sound_result(text, "file");
    return "sound";
  } catch (const InputError& error) {
    return "refused " + in_line(error.what());
  }
}

}  // namespace
}  // namespace chorale

int main() {
  std::string command;
  for (std::size_t bytes = 0; std::cin >> command >> bytes;) {
    std::string text(bytes, ' ');
    std::cin.get();
    std::cin.read(text.data(), static_cast<std::streamsize>(bytes));
    std::cout << chorale::answered(command, text) << std::endl;
  }
}
