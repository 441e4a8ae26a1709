// The HTML report of a library: its contents as JSON text, without links and schedules, since a library has
// thousands of places. Answers are verified as they are taken. A measured point of -1 is the collective of
// the library that carried the messages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "api/library.h"
#include "api/report.h"
#include "ir/json_writer.h"
#include "pages/page.h"

namespace chorale {
namespace {

// From 1 KiB to 1 GiB, of messages: for answers without predicted times.
const std::vector<std::int64_t> kSizes = {1 << 10, 1 << 13, 1 << 16, 1 << 19,
                                          1 << 22, 1 << 25, 1 << 28, 1 << 30};

std::string points_of(const Result& result) {
  std::vector<std::string> points;
  for (const Point& point : result.points)
    points.push_back(fmt::format(R"({{"steps":{},"rounds":{},"chunks":{},"origin":{},"proven":{}}})",
                                 point.cost.steps, point.cost.rounds, point.cost.chunks,
                                 quoted(origin(point)), point.proven));
  return fmt::format("[{}]", fmt::join(points, ","));
}

// Predicted again, at the sizes for which times are stored, else at kSizes. Stored sizes are of blocks, and
// those of the page of messages.
std::string rows_of(const StoredAnswer& stored, const Result& result) {
  const MessageShape message = message_shape(result.collective);
  std::vector<std::int64_t> sizes;
  for (const PredictedTime& time : stored.predicted)
    if (time.bytes > 0) sizes.push_back(size_of_block(message, time.bytes));
  std::vector<std::string> rows;
  for (const SizeRow& row : best_by_size(result, sizes.empty() ? kSizes : sizes))
    rows.push_back(fmt::format(R"({{"bytes":{},"point":{},"us":{},"algbw":{},"busbw":{},"least_us":{}}})",
                               row.message_bytes, row.point, row.us, row.algbw_gbs, row.busbw_gbs,
                               row.least_us));
  return fmt::format("[{}]", fmt::join(rows, ","));
}

std::string measured_of(const StoredAnswer& stored, const Result& result) {
  const MessageShape message = message_shape(result.collective);
  std::vector<std::string> rows;
  for (const MeasuredTime& time : stored.measured)
    rows.push_back(fmt::format(
        R"({{"over":{},"point":{},"bytes":{},"median_us":{},"least_us":{},"most_us":{},"times":{}}})",
        quoted(time.over), time.point, size_of_block(message, time.bytes), time.median_us, time.least_us,
        time.most_us, time.times));
  return fmt::format("[{}]", fmt::join(rows, ","));
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
        fmt::format(R"("rooted":{},"complete":{},"stopped":{},"points":{},"rows":{},"measured":{})",
                    is_rooted(result.collective.kind), result.complete, quoted(name_of(result.stopped)),
                    points_of(result), rows_of(stored, result), measured_of(stored, result));
    for (const AnswerPlace& place : stored.places)
      places.emplace_back(
          place,
          fmt::format(R"({{"machine":{},"group":{},"members":{},"collective":{},"ranks":{},"root":{},{}}})",
                      quoted(place.machine), quoted(place.group), quoted(place.members),
                      quoted(place.collective), place.ranks, place.root, shared));
  });
  // Machine by machine, larger groups first.
  std::ranges::stable_sort(places, {}, [](const auto& each) {
    const AnswerPlace& place = each.first;
    return std::tuple(place.machine, -place.ranks, place.group, place.members, place.collective, place.root);
  });
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  for (auto& [place, text] : places) {
    bytes += text.size() + 2;
    if (bytes > kMaxPageData) break;
    texts.push_back(std::move(text));
  }
  return filled_page(Page::Library, "library " + name + " - Chorale",
                     fmt::format(R"({{"library":{},"answers":{},"all_places":{},"places":[{}]}})",
                                 quoted(name), answers, places.size(), fmt::join(texts, ",\n")));
}

}  // namespace chorale
