// Of several answers to a question the better one is kept. Where two have schedules that the other's do not beat, neither is
// better, and it is the one of which more is proven; to put their schedules together would want their claims together, too.
#include <fmt/format.h>

#include <algorithm>

#include "api/inputs.h"
#include "api/library.h"
#include "ir/error.h"

namespace chorale {
namespace {

// Is there for each point of the other's frontier one that is as good?
bool covers(const Result& one, const Result& other) {
  const auto is_met = [&](const Point& theirs) {
    return std::ranges::any_of(one.points, [&](const Point& ours) {
      return ours.cost.steps <= theirs.cost.steps && compare_rate(ours.cost, theirs.cost) <= 0;
    });
  };
  return std::ranges::all_of(other.points, is_met);
}

auto proven(const Result& result) {
  return std::ranges::count_if(result.points, [](const Point& point) { return point.proven; });
}

bool is_better(const Result& one, const Result& other) {
  if (one.complete != other.complete) return one.complete;
  const bool above = covers(one, other), below = covers(other, one);
  if (above != below) return above;
  return proven(one) > proven(other);
}

Result without_times(Result result) {
  result.seconds = 0;
  for (Point& point : result.points) point.seconds = 0;
  for (Claim& claim : result.claims) claim.seconds = 0;
  return result;
}

struct Found {
  std::size_t file = 0;
  StoredAnswer stored = {};
  Result result = {};
};

// The places by the numbers that they have in their groups.
AnswerPlace of_group(const StoredAnswer& stored, const AnswerPlace& place) {
  StoredAnswer group{.numbering = place.numbering};
  AnswerPlace answer = place;
  answer.numbering = stored.numbering;
  return {.machine = place.machine,
          .group = place.group,
          .collective = place.collective,
          .ranks = place.ranks,
          .root = place.root,
          .hosts = seen_by(group, answer).hosts,
          .members = place.members,
          .numbering = place.numbering};
}

}  // namespace

MergeReport merge_answers(const std::vector<std::string>& files, AnswerFile& into) {
  std::vector<std::unique_ptr<AnswerFile>> open;
  for (const std::string& file : files) open.push_back(open_answers(file, false));
  MergeReport report{.taken = std::vector<int>(files.size(), 0)};
  const auto read = [&](std::size_t file, const StoredAnswer& stored) {
    const std::string name = files[file] + ": an answer";
    if (!answers_its_question(stored, name))
      throw InputError(name, "is to another question than it is stored for", "see 'chorale library verify'");
    return Found{.file = file, .stored = stored, .result = sound_result(stored.answer, name)};
  };
  for (std::size_t first = 0; first < files.size(); ++first)
    open[first]->each([&](const StoredAnswer& stored) {
      for (std::size_t before = 0; before < first; ++before)
        if (open[before]->answer(stored.question)) return;
      std::vector<Found> found = {read(first, stored)};
      for (std::size_t file = first + 1; file < files.size(); ++file)
        if (const auto other = open[file]->answer(stored.question)) found.push_back(read(file, *other));
      const Found* best = &found.front();
      for (const Found& each : found)
        if (is_better(each.result, best->result)) best = &each;
      const auto like_best = [&](const Found& each) {
        return each.stored.numbering == best->stored.numbering &&
               without_times(each.result) == without_times(best->result);
      };
      into.together([&] {
        into.put(best->stored);
        for (const Found& each : found) {
          for (const AnswerPlace& place : each.stored.places)
            into.put_place(stored.question, seen_by(best->stored, of_group(each.stored, place)));
          if (!like_best(each)) continue;  // times of other points
          for (const PredictedTime& time : each.stored.predicted) into.put_predicted(stored.question, time);
          for (const MeasuredTime& time : each.stored.measured) into.put_measured(stored.question, time);
        }
        for (const MeasuredTime& time : best->stored.measured) into.put_measured(stored.question, time);
      });
      ++report.answers;
      if (found.size() > 1 && std::ranges::all_of(found, like_best))
        ++report.alike;
      else
        ++report.taken[best->file];
    });
  return report;
}

}  // namespace chorale
