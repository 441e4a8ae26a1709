// What is in a library, as tables with a row per entry: a machine, group, collective and root under which an
// answer is stored. Several entries may share one answer, since answers are stored under a canonical
// numbering of the machine (library/question.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/report.h"
#include "cost/busbw.h"
#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/words.h"
#include "jobs/library.h"
#include "library/select.h"
#include "topology/changes.h"

namespace chorale {
namespace {

using CellRows = std::vector<std::vector<std::string>>;

// Pairs differ in their links, so an entry of pairs is named with its two ranks; other groups are one kind
// mostly.
std::string group_of(const AnswerPlace& place) {
  return place.group == "pairs" ? "pairs " + place.members : place.group;
}

// The median, and the least.
std::vector<std::string> microseconds(const MeasuredTime* time) {
  if (time == nullptr) return {"-", "-"};
  return {fmt::format("{:.1f}", time->median_us), fmt::format("{:.1f}", time->least_us)};
}

// Measurements of an entry, a row per size: the fastest of its points, and the library's own collective.
void add_measured(const StoredAnswer& stored, const AnswerPlace& place, const Collective& collective,
                  CellRows& rows) {
  const MessageShape message = message_shape(collective);
  // By what carried the messages and by size: the fastest of Chorale's points, and the carrier's own.
  std::map<std::pair<std::string, std::int64_t>, std::pair<const MeasuredTime*, const MeasuredTime*>> sizes;
  for (const MeasuredTime& time : stored.measured) {
    auto& [best, own] = sizes[{time.over, size_of_block(message, time.bytes)}];
    if (time.point == MeasuredTime::kOwn)
      own = &time;
    else if (best == nullptr || time.median_us < best->median_us)
      best = &time;
  }
  for (const auto& [size, times] : sizes) {
    const auto& [best, own] = times;
    std::vector<std::string>& row = rows.emplace_back(std::vector{
        place.machine, group_of(place), place.collective,
        is_rooted(collective.kind) ? std::to_string(place.root) : "-",
        format_bytes(static_cast<double>(size.second)), best != nullptr ? std::to_string(best->point) : "-"});
    const double rate = best != nullptr ? algbw_gbs(static_cast<double>(size.second), best->median_us) : 0;
    for (const std::string& cell : microseconds(best)) row.push_back(cell);
    for (const double gbs : {rate, rate * message.bus_factor})
      row.push_back(best != nullptr ? fmt::format("{:.3g}", gbs) : "-");
    for (const std::string& cell : microseconds(own)) row.push_back(cell);
    row.push_back(size.first);
  }
}

// Of MPI's own algorithms, a row per size: the fastest, and how many were measured.
void add_own(const StoredAnswer& stored, const AnswerPlace& place, const Collective& collective,
             CellRows& rows) {
  const MessageShape message = message_shape(collective);
  std::map<std::pair<std::string, std::int64_t>, std::vector<const OwnTime*>> sizes;
  for (const OwnTime& own : stored.own) sizes[{own.library, own.time.bytes}].push_back(&own);
  for (const auto& [size, times] : sizes) {
    const OwnTime& best =
        **std::ranges::min_element(times, {}, [](const OwnTime* own) { return own->time.median_us; });
    rows.push_back({place.machine, group_of(place), place.collective,
                    format_bytes(static_cast<double>(size_of_block(message, size.second))), size.first,
                    best.algorithm, fmt::format("{:.1f}", best.time.median_us),
                    std::to_string(times.size())});
  }
}

// The choice by size, predicted again at the sizes for which times are stored, else at eight from 1 KiB to 1
// GiB. Stored sizes are of blocks.
std::vector<SizeRow> chosen_by_size(const StoredAnswer& stored, const Result& result) {
  const MessageShape message = message_shape(result.collective);
  std::vector<std::int64_t> sizes;
  for (const PredictedTime& time : stored.predicted)
    if (time.bytes > 0) sizes.push_back(size_of_block(message, time.bytes));
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 30 && stored.predicted.empty(); bytes *= 8)
    sizes.push_back(bytes);
  return best_by_size(result, sizes);
}

void add_chosen(const AnswerPlace& place, const Result& result, const std::vector<SizeRow>& by_size,
                CellRows& rows) {
  for (const SizeRow& row : by_size)
    rows.push_back({place.machine, group_of(place), place.collective,
                    is_rooted(result.collective.kind) ? std::to_string(place.root) : "-",
                    format_bytes(static_cast<double>(row.message_bytes)), std::to_string(row.point),
                    format_us(row.us), fmt::format("{:.3g}", row.algbw_gbs),
                    fmt::format("{:.3g}", row.busbw_gbs),
                    row.least_us > 0 ? fmt::format("{:.2f}", row.us / row.least_us) : "-",
                    origin(result.points[row.point])});
}

// Points are summarized by the two ends of the frontier: the fewest steps, and the fewest rounds per chunk.
// They are sorted by steps, and those of the frontier come first.
std::vector<std::string> entry_row(const AnswerPlace& place, const Result& result) {
  const auto points = std::ranges::count_if(result.points, &Point::on_frontier);
  const Cost few = points > 0 ? result.points.front().cost : Cost{};
  const Cost fast = points > 0 ? result.points[points - 1].cost : Cost{};
  const bool fixed = result.collective.order.kind == SumOrder::Kind::Fixed;
  return {place.machine,
          group_of(place),
          place.collective + (fixed ? ", fixed order" : ""),
          is_rooted(result.collective.kind) ? std::to_string(place.root) : "-",
          std::to_string(place.ranks),
          std::to_string(points),
          points > 0 ? std::to_string(few.steps) : "-",
          points > 0 ? fraction(fast.rounds, fast.chunks) : "-",
          result.complete ? "proven" : name_of(result.stopped)};
}

// By entries, then by increasing size, as rows of one entry come.
void sort_by_entry(CellRows& rows) {
  std::stable_sort(rows.begin() + 1, rows.end(), [](const auto& a, const auto& b) {
    return std::ranges::lexicographical_compare(a.begin(), a.begin() + 4, b.begin(), b.begin() + 4);
  });
}

// A library built with failures has entries named "M without link 0-1". They are grouped by answer: failures
// that leave equal machines, but for the numbers of ranks, share one, and so become one row that counts them.

double value_of(long long rounds, long long chunks) {
  return static_cast<double>(rounds) / static_cast<double>(chunks);
}

// Rounds per chunk of the best point, and that no schedule has fewer than; 0 where there is none.
struct BestRate {
  double found = 0, bound = 0;
};

BestRate rate_of(const Result& result) {
  BestRate rate;
  const Rate bound = rate_bound(result);
  rate.bound = value_of(bound.rounds, bound.chunks);
  for (const Point& point : result.points) {
    const double rounds = value_of(point.cost.rounds, point.cost.chunks);
    if (rate.found == 0 || rounds < rate.found) rate.found = rounds;
  }
  return rate;
}

// 0 where the whole is not known.
double share(double of, double by) {
  return by > 0 ? of / by : 0;
}

}  // namespace

void note_unchecked(long long refutations, const std::string& library, std::vector<std::string>& notes) {
  if (refutations > 0)
    notes.push_back(fmt::format("{} of {} not checked: run 'chorale library verify'",
                                counted(refutations, "refutation"), library));
}

// A page stays below a megabyte (pages/page.h): of large libraries it has the first rows by size.
Report report_of(AnswerFile& file, const std::string& name, bool by_size) {
  constexpr std::size_t kMostRowsBySize = 4'000;
  ReportTable entries{
      .rows = {{"machine", "group", "collective", "root", "ranks", "points", "steps", "rounds/chunk", ""}},
      .kinds = "lllrrrrrl"};
  ReportTable chosen{.title = "The point that is chosen, by message size",
                     .rows = {{"machine", "group", "collective", "root", "message", "point", "time", "GB/s",
                               "busbw", "x lower bound", "construction"}},
                     .kinds = "lllrrrrrrrl"};
  ReportTable measured{
      .title = "Measured, median and least: our fastest point, and the own of what carried it",
      .rows = {{"machine", "group", "collective", "root", "message", "point", "us", "least", "GB/s", "busbw",
                "its own", "least", "over"}},
      .kinds = "lllrrrrrrrrrl"};
  ReportTable own{.title = "MPI's own algorithms, each forced",
                  .rows = {{"machine", "group", "collective", "message", "of", "fastest", "us", "measured"}},
                  .kinds = "lllrllrr"};
  long long answers = 0, unchecked = 0;
  file.each([&](const StoredAnswer& stored) {
    const VerifiedAnswer answer = verified_answer(stored, name);
    const Result& result = answer.result;
    refuse_places(stored, result, name);
    unchecked += answer.unchecked;
    ++answers;
    const std::vector<SizeRow> sizes = by_size ? chosen_by_size(stored, result) : std::vector<SizeRow>();
    for (const AnswerPlace& place : stored.places) {
      entries.rows.push_back(entry_row(place, result));
      add_chosen(place, result, sizes, chosen.rows);
      add_measured(stored, place, result.collective, measured.rows);
      add_own(stored, place, result.collective, own.rows);
    }
  });
  // By their texts: machine, group, collective, root. CellRows of one answer need not be adjacent.
  std::sort(entries.rows.begin() + 1, entries.rows.end());
  sort_by_entry(chosen.rows);
  sort_by_entry(measured.rows);
  Report report{.title = "library " + name,
                .sentences = {fmt::format("{} in {}", counted(answers, "answer"),
                                          counted(std::ssize(entries.rows) - 1, "entry", "entries"))}};
  note_unchecked(unchecked, name, report.notes);
  if (chosen.rows.size() > kMostRowsBySize + 1) {
    report.notes.push_back(fmt::format("by message size the first {} of {} rows are shown", kMostRowsBySize,
                                       chosen.rows.size() - 1));
    chosen.rows.resize(kMostRowsBySize + 1);
  }
  for (ReportTable* const table : {&entries, &chosen, &measured, &own})
    if (table == &entries || table->rows.size() > 1) report.tables.push_back(std::move(*table));
  return report;
}

// Two passes: whole machines are needed as the denominator, and the file may have them after their failures.
// Of equivalent failures the shortest name represents the row, then the first in the alphabet.
std::vector<FailureRow> failure_rows(AnswerFile& file, const std::string& name) {
  std::map<std::pair<std::string, std::string>, BestRate> whole;  // by machine and collective
  std::vector<std::pair<FailureRow, BestRate>> found;
  file.each([&](const StoredAnswer& stored) {
    std::optional<BestRate> rate;
    std::map<std::pair<std::string, std::string>, FailureRow> rows;
    for (const AnswerPlace& place : stored.places) {
      // The table is of whole machines: their groups are machines of their own in a library.
      if (place.group != "all") continue;
      // An answer is verified as it is taken: once, and only where it has such a place.
      if (!rate) rate = rate_of(verified_answer(stored, name).result);
      const NamedChanges named = split_failure(place.machine);
      const std::pair at{named.machine, place.collective};
      if (named.failure.empty()) {
        whole[at] = *rate;
        continue;
      }
      FailureRow& row = rows[at];
      if (row.alike++ == 0 ||
          std::pair(named.failure.size(), named.failure) < std::pair(row.failure.size(), row.failure))
        row.failure = named.failure;
      row.machine = named.machine;
      row.collective = place.collective;
      row.rounds_per_chunk = rate->found;
      row.of_bound = share(rate->bound, rate->found);
    }
    for (const auto& [at, row] : rows) found.emplace_back(row, *rate);
  });
  std::vector<FailureRow> rows;
  for (auto& [row, rate] : found) {
    if (const auto before = whole.find({row.machine, row.collective}); before != whole.end()) {
      row.of_whole = share(before->second.found, rate.found);
      row.most_of_whole = share(before->second.bound, rate.bound);
    }
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, [](const FailureRow& row) {
    return std::tuple(row.machine, row.collective, -row.alike, row.failure);
  });
  return rows;
}

std::string to_json(const std::vector<FailureRow>& rows) {
  return json_file("chorale_failures", 1, "rows", rows);
}

// A row per machine, collective and failures that leave equal machines.
Report report_of(const std::vector<FailureRow>& failures) {
  const auto percent = [](double share) { return share > 0 ? fmt::format("{:.1f} %", 100 * share) : "-"; };
  ReportTable table{.rows = {{"machine", "collective", "failure", "alike", "rounds/chunk", "of bound",
                              "of whole", "at most"}},
                    .kinds = "lllrrrrr"};
  for (const FailureRow& row : failures)
    table.rows.push_back({row.machine, row.collective, row.failure, std::to_string(row.alike),
                          row.rounds_per_chunk > 0 ? fmt::format("{:.4g}", row.rounds_per_chunk) : "-",
                          percent(row.of_bound), percent(row.of_whole), percent(row.most_of_whole)});
  return {.title = "failures", .tables = {std::move(table)}};
}

namespace {

// Leaves of each those over one library. Times over MPI and over NCCL of one algorithm are not comparable, so
// one of them has to be chosen where both are there.
void keep_times_over(std::optional<MeasuredOver> over, std::vector<std::vector<MeasuredTime>>& measured) {
  std::set<std::string> known;
  for (const auto& times : measured)
    for (const MeasuredTime& time : times) known.insert(time.over);
  if (!over && known.size() > 1)
    throw InputError("--over",
                     "is missing: there are times over " + joined({known.begin(), known.end()}, " and "),
                     "choose which decide: --over " + *known.begin());
  if (!over) return;
  for (auto& times : measured)
    std::erase_if(times, [&](const MeasuredTime& time) { return time.over != name_of(*over); });
}

// Where a time is from, and whether the library's own is faster.
std::string source_of(const Choice& choice, const std::vector<MeasuredTime>& measured, double block) {
  if (!choice.measured) return "predicted";
  const auto own = measured_us(measured, MeasuredTime::kOwn, block);
  if (!own || choice.us <= *own) return "measured";
  const bool mpi = measured.front().over == name_of(MeasuredOver::Mpi);
  return fmt::format("measured; {} own took {}", mpi ? "MPI's" : "NCCL's", format_us(*own));
}

}  // namespace

// Measured times precede predicted ones (library/select.h).
Selection select_answers(AnswerFile& file, const std::string& name, const SelectQuestion& asked) {
  std::vector<std::vector<MeasuredTime>> measured;
  std::vector<Result> results;
  long long unchecked = 0;
  for (VerifiedAnswer& answer : results_at(file, name, asked.place, asked.order)) {
    unchecked += answer.unchecked;
    results.push_back(std::move(answer.result));
    measured.push_back(std::move(answer.measured));
  }
  keep_times_over(asked.over, measured);
  ReportTable table{
      .rows = {{"message", "time", "", "GB/s", "busbw", "steps", "rounds/chunk", "construction"}},
      .kinds = "rrlRrrLl"};
  const Collective& collective = results.front().collective;
  const MessageShape message = message_shape(collective);
  std::optional<int> first;
  for (const std::int64_t bytes : asked.message_bytes) {
    const auto block = static_cast<double>(block_of_size(message, bytes));
    const auto best = select(results, call_of(collective, block), {}, measured);
    if (!best) throw InputError(name, "has no schedule for that", "build it with other limits");
    if (!first) first = best->result;
    const Point& point = results[best->result].points[best->point];
    const double rate = algbw_gbs(static_cast<double>(bytes), best->us);
    table.rows.push_back({format_bytes(static_cast<double>(bytes)), format_us(best->us),
                          source_of(*best, measured[best->result], block), fmt::format("{:.4g}", rate),
                          fmt::format("{:.4g}", rate * message.bus_factor), std::to_string(point.cost.steps),
                          fraction(point.cost.rounds, point.cost.chunks), origin(point)});
  }
  Selection chosen{
      .report = {.title = asked.place.machine + ", " + asked.place.collective, .tables = {std::move(table)}}};
  note_unchecked(unchecked, name, chosen.report.notes);
  if (first) chosen.first = std::move(results[*first]);
  return chosen;
}

}  // namespace chorale
