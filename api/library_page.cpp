// The HTML report of a library: its contents as JSON text, without links and schedules, since a library has
// thousands of places. Answers are verified as they are taken. A measured point of -1 is the collective of
// the library that carried the messages.
#include <algorithm>
#include <tuple>

#include "api/library.h"
#include "api/report.h"
#include "ir/json_fields.h"
#include "pages/page.h"

namespace chorale {
namespace {

// From 1 KiB to 1 GiB, of messages: for answers without predicted times.
const std::vector<std::int64_t> kSizes = {1 << 10, 1 << 13, 1 << 16, 1 << 19,
                                          1 << 22, 1 << 25, 1 << 28, 1 << 30};

std::vector<JsonText> points_of(const Result& result) {
  std::vector<JsonText> points;
  for (const Point& point : result.points)
    points.push_back(json_object("steps", point.cost.steps, "rounds", point.cost.rounds, "chunks",
                                 point.cost.chunks, "origin", origin(point), "proven", point.proven));
  return points;
}

// Predicted again, at the sizes for which times are stored, else at kSizes. Stored sizes are of blocks, and
// those of the page of messages.
std::vector<JsonText> rows_of(const StoredAnswer& stored, const Result& result) {
  const MessageShape message = message_shape(result.collective);
  std::vector<std::int64_t> sizes;
  for (const PredictedTime& time : stored.predicted)
    if (time.bytes > 0) sizes.push_back(size_of_block(message, time.bytes));
  std::vector<JsonText> rows;
  for (const SizeRow& row : best_by_size(result, sizes.empty() ? kSizes : sizes))
    rows.push_back(json_object("bytes", row.message_bytes, "point", row.point, "us", row.us, "algbw",
                               row.algbw_gbs, "busbw", row.busbw_gbs, "least_us", row.least_us));
  return rows;
}

std::vector<JsonText> measured_of(const StoredAnswer& stored, const Result& result) {
  const MessageShape message = message_shape(result.collective);
  std::vector<JsonText> rows;
  for (const MeasuredTime& time : stored.measured)
    rows.push_back(json_object("over", time.over, "point", time.point, "bytes",
                               size_of_block(message, time.bytes), "median_us", time.median_us, "least_us",
                               time.least_us, "most_us", time.most_us, "times", time.times));
  return rows;
}

}  // namespace

std::string to_page(AnswerFile& file, const std::string& name) {
  std::vector<std::pair<AnswerPlace, std::string>> places;
  int answers = 0;
  file.each([&](const StoredAnswer& stored) {
    ++answers;
    const Result result = taken(stored, name).result;
    // The places of an answer differ in names and numbers alone, so the rest of their text is made once.
    const std::string shared =
        json_object("rooted", is_rooted(result.collective.kind), "complete", result.complete, "stopped",
                    name_of(result.stopped), "points", points_of(result), "rows", rows_of(stored, result),
                    "measured", measured_of(stored, result))
            .text;
    for (const AnswerPlace& place : stored.places) {
      std::string text = json_object("machine", place.machine, "group", place.group, "members", place.members,
                                     "collective", place.collective, "ranks", place.ranks, "root", place.root)
                             .text;
      text.back() = ',';  // one object of both
      places.emplace_back(place, text + shared.substr(1));
    }
  });
  // Machine by machine, larger groups first.
  std::ranges::stable_sort(places, {}, [](const auto& each) {
    const AnswerPlace& place = each.first;
    return std::tuple(place.machine, -place.ranks, place.group, place.members, place.collective, place.root);
  });
  std::vector<JsonText> texts;
  std::size_t bytes = 0;
  for (auto& [place, text] : places) {
    bytes += text.size() + 2;
    if (bytes > kMaxPageData) break;
    texts.push_back({std::move(text)});
  }
  return filled_page(
      Page::Library, "library " + name + " - Chorale",
      json_object("library", name, "answers", answers, "all_places", places.size(), "places", texts).text);
}

}  // namespace chorale
