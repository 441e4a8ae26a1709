// Of several answers to a question the best one is kept, and, unless it is complete, what the others add to
// it: schedules that none of its own is as good as, and claims that exclude more. That is sound, since it is
// the same question: a claim is about all schedules of a machine and a collective with a number of chunks,
// whatever search found it, and which points are proven follows from the claims alone. So the proven points
// are computed again from all claims.
#include <algorithm>

#include "ir/error.h"
#include "ir/json.h"
#include "ir/renumbering.h"
#include "ir/undominated.h"
#include "jobs/library.h"
#include "pareto/findings.h"
#include "pareto/formulas.h"
#include "pareto/optimality.h"

namespace chorale {
namespace {

// Does it have one that is as good?
bool has_as_good(const Result& result, const Point& point) {
  return std::ranges::any_of(result.points,
                             [&](const Point& ours) { return is_as_good(ours.cost, point.cost); });
}

bool covers(const Result& one, const Result& other) {
  return std::ranges::all_of(other.points, [&](const Point& theirs) { return has_as_good(one, theirs); });
}

auto proven(const Result& result) {
  return std::ranges::count_if(result.points, [](const Point& point) { return point.proven; });
}

// In this order: what is complete; what has schedules that the other does not beat; what more points are
// proven of. Strictly better only, so that of equals the earlier file stays.
bool is_better(const Result& one, const Result& other) {
  if (one.complete != other.complete) return one.complete;
  const bool above = covers(one, other), below = covers(other, one);
  if (above != below) return above;
  return proven(one) > proven(other);
}

// Two runs of one search differ in their seconds alone.
Result without_times(Result result) {
  result.seconds = 0;
  for (Point& point : result.points) point.seconds = 0;
  for (Claim& claim : result.claims) claim.seconds = 0;
  return result;
}

// An answer to a question in one of the files.
struct FoundAnswer {
  std::size_t file = 0;
  StoredAnswer stored = {};
  Result result = {};
};

// If one answer is complete, no other has a better schedule. Otherwise a refutation is not true, or a claim
// that is not checked before; either would replace what is better.
void require_agreement(const std::vector<FoundAnswer>& found, const FoundAnswer& best,
                       const std::vector<std::string>& files) {
  for (const FoundAnswer& each : found)
    if (best.result.complete && !covers(best.result, each.result))
      throw InputError(files[best.file],
                       "an answer is called complete, and " + files[each.file] + " has a better schedule",
                       kSeeVerify);
}

// The result, with the numbers of the best answer.
Result renumbered_as(const FoundAnswer& found, const FoundAnswer& best, const std::string& where) {
  const Renumbering by = compose(renumbering_from_json(found.stored.numbering, where),
                                 inverse(renumbering_from_json(best.stored.numbering, where)));
  if (by == no_renumbering(best.result.topology)) return found.result;
  return verified_renumbering(found.result, by, best.result.topology, where);
}

// Adds what the other one has beyond this one, of the same machine. Returns whether there was anything.
bool join(Result& result, const Result& other) {
  bool more = false;
  for (const Claim& claim : other.claims) {
    if (!excludes_more(result.claims, claim)) continue;
    result.claims.push_back(claim);
    more = true;
  }
  // A point beyond its frontier is the fastest at some size, and stays; a point that is dominated now is not.
  const auto as_good = [](const Point& a, const Point& b) {
    return (!a.on_frontier || b.on_frontier) && is_as_good(a.cost, b.cost);
  };
  for (const Point& point : other.points)
    if (point.on_frontier && keep_undominated(result.points, point, as_good)) more = true;
  return more;
}

// The best one with the additions of the others, marked anew; nullopt: there are none.
std::optional<Result> joined_answers(const std::vector<FoundAnswer>& found, const FoundAnswer& best,
                                     const std::vector<std::string>& files) {
  if (best.result.complete) return {};
  Result all = best.result;
  bool more = false;
  for (const FoundAnswer& each : found)
    if (&each != &best) {
      const Result other = renumbered_as(each, best, files[each.file] + ": an answer");
      if (!join(all, other)) continue;
      all.seconds += other.seconds;
      more = true;
    }
  if (!more) return {};
  finish_result(all);
  return all;
}

// Times refer to points by their numbers: they follow their schedules to the new numbers. Measurements of
// MPI's own collective stay.
void put_times(AnswerFile& into, const FoundAnswer& from, const Result& as_here, const Result& all) {
  // Of a point that the merged result does not have.
  constexpr int kGone = MeasuredTime::kOwn - 1;
  std::vector<int> now;
  for (const Point& point : as_here.points) {
    const auto at = std::ranges::find_if(all.points, [&](const Point& other) {
      return other.schedule == point.schedule && other.collective == point.collective;
    });
    now.push_back(at == all.points.end() ? kGone : static_cast<int>(at - all.points.begin()));
  }
  for (MeasuredTime time : from.stored.measured) {
    if (time.point != MeasuredTime::kOwn) time.point = time.point < std::ssize(now) ? now[time.point] : kGone;
    if (time.point >= MeasuredTime::kOwn) into.put_measured(from.stored.question, time);
  }
}

// A place with hosts by ranks of its group, as it was before it was stored: seen_by() with the two numberings
// exchanged leads back.
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

MergeReport merge_answers(const std::vector<std::string>& files, AnswerFile& into,
                          const std::atomic<bool>* stop) {
  std::vector<std::unique_ptr<AnswerFile>> open;
  for (const std::string& file : files) open.push_back(open_answers(file, false));
  MergeReport report{.taken = std::vector<int>(files.size(), 0)};
  const auto read = [&](std::size_t file, const StoredAnswer& stored) {
    report.unchecked += verified_answer(stored, files[file]).unchecked;
    return FoundAnswer{.file = file, .stored = stored, .result = stored_result(stored, files[file])};
  };
  // A question is merged when the first file that has it is read; the files after it are asked for theirs
  // then.
  for (std::size_t first = 0; first < files.size(); ++first)
    open[first]->each([&](const StoredAnswer& stored) {
      report.cut = report.cut || (stop != nullptr && *stop);
      if (report.cut) return;
      for (std::size_t before = 0; before < first; ++before)
        if (open[before]->answer(stored.question)) return;
      std::vector<FoundAnswer> found = {read(first, stored)};
      for (std::size_t file = first + 1; file < files.size(); ++file)
        if (const auto other = open[file]->answer(stored.question)) found.push_back(read(file, *other));
      const FoundAnswer* best = &found.front();
      for (const FoundAnswer& each : found)
        if (is_better(each.result, best->result)) best = &each;
      require_agreement(found, *best, files);
      const auto like_best = [&](const FoundAnswer& each) {
        return each.stored.numbering == best->stored.numbering &&
               without_times(each.result) == without_times(best->result);
      };
      const std::optional<Result> all = joined_answers(found, *best, files);
      StoredAnswer kept = best->stored;
      if (all) kept.answer = to_json(*all);
      // One transaction per question. Of several measurements of one point and size the last one put stays,
      // so those of the best answer come last.
      into.together([&] {
        into.put(kept);
        std::vector<std::int64_t> sizes;
        for (const FoundAnswer& each : found) {
          for (const AnswerPlace& place : each.stored.places)
            into.put_place(stored.question, seen_by(best->stored, of_group(each.stored, place)));
          for (const PredictedTime& time : each.stored.predicted) sizes.push_back(time.bytes);
          for (const OwnTime& time : each.stored.own) into.put_own(stored.question, time);
          if (all) {
            put_times(into, each, renumbered_as(each, *best, files[each.file] + ": an answer"), *all);
            continue;
          }
          if (!like_best(each)) continue;  // times of other points
          for (const PredictedTime& time : each.stored.predicted) into.put_predicted(stored.question, time);
          for (const MeasuredTime& time : each.stored.measured) into.put_measured(stored.question, time);
        }
        if (all) {
          std::ranges::sort(sizes);
          sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
          for (const PredictedTime& time : predicted_times(*all, sizes))
            into.put_predicted(stored.question, time);
        }
        // Again, over those of the others: times of one answer were measured together.
        if (all) put_times(into, *best, best->result, *all);
        for (const MeasuredTime& time : best->stored.measured)
          if (!all) into.put_measured(stored.question, time);
        for (const OwnTime& time : best->stored.own) into.put_own(stored.question, time);
      });
      ++report.answers;
      if (all)
        ++report.joined;
      else if (found.size() > 1 && std::ranges::all_of(found, like_best))
        ++report.equal;
      else
        ++report.taken[best->file];
    });
  return report;
}

}  // namespace chorale
