// The critical path is listed whole unless it is long; then its first and last messages. Links are drawn by
// the number of the first message that they carry, the busiest ones where there are many.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "api/report.h"
#include "cost/busbw.h"
#include "cost/event_time.h"
#include "cost/program_time.h"
#include "ir/words.h"
#include "pages/figures.h"
#include "semantics/verify_event_times.h"

namespace chorale {
namespace {

constexpr int kMaxListed = 40;      // messages of the path
constexpr int kMaxRowsOfText = 32;  // links
constexpr int kMaxRowsDrawn = 128;
constexpr int kCellsOfAxis = 60;
constexpr std::size_t kMaxBars = 6'000;  // a page of half a megabyte

using SendsOfLink = std::map<LinkId, std::vector<int>>;  // numbers in EventTimes::sends

class EventReport {
 public:
  EventReport(const Result& result, const Point& point, double block_bytes)
      : topology_(result.topology),
        times_(event_times(point, result.topology, block_bytes)),
        // Without the call, which comes before all of it.
        last_us_(times_.us - result.topology.call_us) {
    const std::vector<Fault> faults =
        violations(topology_, point.schedule, times_, block_bytes / point.cost.chunks, 1);
    if (!faults.empty()) throw std::logic_error("times by events: " + faults.front().words);
    for (const CriticalSend& each : times_.critical) critical_.insert(each.send);
    for (int i = 0; i < std::ssize(times_.sends); ++i) of_link_[times_.sends[i].send.link].push_back(i);
  }

  double us() const { return times_.us; }

  ReportTable path() const {
    ReportTable table{.title = "critical path", .kinds = "rrrll"};
    table.rows = {{"begins", "is there", "chunk", "link", "waits for"}};
    const int count = static_cast<int>(times_.critical.size());
    for (int i = 0; i < count; ++i) {
      const bool is_listed = count <= kMaxListed || i < kMaxListed / 2 || i >= count - kMaxListed / 2;
      if (is_listed) table.rows.push_back(row_of(i));
      if (count > kMaxListed && i == kMaxListed / 2)
        table.rows.push_back({"...", "...", "...", fmt::format("{} more", count - kMaxListed), ""});
    }
    return table;
  }

  // '#' where the link carries something for at least half of a cell, '-' where it carries something.
  ReportTable axis() const {
    ReportTable table{.title = fmt::format("links, {} a column", format_us(last_us_ / kCellsOfAxis)),
                      .kinds = "lrl"};
    table.rows = {{"link", "busy", "0 to " + format_us(last_us_)}};
    for (const LinkId l : busiest(kMaxRowsOfText)) {
      std::vector<double> cells(kCellsOfAxis);
      double busy = 0;
      for (const int i : of_link_.at(l)) {
        const SendTimes& each = times_.sends[i];
        busy += each.left_us - each.begin_us;
        for (int c = 0; c < kCellsOfAxis; ++c) {
          const double from = last_us_ * c / kCellsOfAxis, to = last_us_ * (c + 1) / kCellsOfAxis;
          cells[c] += std::max(0.0, std::min(to, each.left_us) - std::max(from, each.begin_us));
        }
      }
      std::string drawn;
      for (const double us : cells) drawn += us <= 0 ? ' ' : us * 2 >= last_us_ / kCellsOfAxis ? '#' : '-';
      table.rows.push_back({name_of_link(l), fmt::format("{:.0f} %", std::min(100.0, 100 * busy / last_us_)),
                            "|" + drawn + "|"});
    }
    return table;
  }

  EventFigure figure(const std::string& title) const {
    EventFigure figure{.title = title, .us = last_us_};
    std::size_t bars = 0;
    for (const LinkId l : busiest(kMaxRowsDrawn)) {
      if (bars + of_link_.at(l).size() > kMaxBars) break;
      EventRow row{.name = name_of_link(l)};
      for (const int i : of_link_.at(l)) {
        const SendTimes& each = times_.sends[i];
        row.bars.push_back({.begin_us = each.begin_us,
                            .left_us = each.left_us,
                            .there_us = each.there_us,
                            .is_critical = critical_.contains(i),
                            .words = fmt::format("chunk {}, {} to {}", each.send.chunk,
                                                 format_us(each.begin_us), format_us(each.there_us))});
      }
      bars += row.bars.size();
      figure.rows.push_back(std::move(row));
    }
    return figure;
  }

 private:
  std::string name_of_link(LinkId l) const {
    return fmt::format("{} -> {}", topology_.links[l].src, topology_.links[l].dst);
  }

  std::vector<std::string> row_of(int i) const {
    using Wait = CriticalSend::Wait;
    const CriticalSend& each = times_.critical[i];
    const SendTimes& send = times_.sends[each.send];
    std::string waits = "nothing";
    if (each.wait != Wait::Nothing) {
      const SendTimes& before = times_.sends[times_.critical[i - 1].send];
      const std::string behind =
          fmt::format("chunk {} over {}", before.send.chunk, name_of_link(before.send.link));
      if (each.wait == Wait::Data) waits = "its data: " + behind;
      if (each.wait == Wait::Link) waits = fmt::format("its link, behind chunk {}", before.send.chunk);
      if (each.wait == Wait::Limit) waits = topology_.limits[each.limit].name + ", behind " + behind;
    }
    return {format_us(each.from_us), format_us(send.there_us), std::to_string(send.send.chunk),
            name_of_link(send.send.link), waits};
  }

  // Those of the critical path first, then by the time that they carry something; listed by number.
  std::vector<LinkId> busiest(int most) const {
    std::vector<std::pair<double, LinkId>> all;
    for (const auto& [l, sends] : of_link_) {
      double busy = 0;
      for (const int i : sends)
        busy += times_.sends[i].left_us - times_.sends[i].begin_us + (critical_.contains(i) ? last_us_ : 0);
      all.emplace_back(-busy, l);
    }
    std::ranges::sort(all);
    if (std::ssize(all) > most) all.resize(most);
    std::vector<LinkId> links;
    for (const auto& [busy, l] : all) links.push_back(l);
    std::ranges::sort(links);
    return links;
  }

  const Topology& topology_;
  const EventTimes times_;
  const double last_us_;
  std::set<int> critical_ = {};
  SendsOfLink of_link_ = {};
};

double block_of(const Result& result, std::int64_t message_bytes) {
  return static_cast<double>(block_of_size(message_shape(result.collective), message_bytes));
}

}  // namespace

int fastest_by_events(const Result& result, std::int64_t message_bytes) {
  int fastest = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < std::ssize(result.points); ++i) {
    const Point& point = result.points[i];
    const double us = *event_us(point, result.topology, block_of(result, message_bytes));
    if (us >= least) continue;
    least = us;
    fastest = i;
  }
  return fastest;
}

Report event_report(const Result& result, int number, std::int64_t message_bytes) {
  const Point& point = result.points[number];
  const double block = block_of(result, message_bytes);
  Report report{.title =
                    fmt::format("point {}, {}", number, format_bytes(static_cast<double>(message_bytes)))};
  const EventReport events(result, point, block);
  report.sentences = {fmt::format("point {}, {}: {} by events, {} by steps; a call is {} of it", number,
                                  format_bytes(static_cast<double>(message_bytes)), format_us(events.us()),
                                  format_us(point_us(result.topology, point, block)),
                                  format_us(result.topology.call_us))};
  if (total_sends(point.schedule) == 0 || events.us() <= result.topology.call_us) return report;
  report.tables = {events.path(), events.axis()};
  report.figures = {event_figure_svg(events.figure(report.title))};
  return report;
}

}  // namespace chorale
