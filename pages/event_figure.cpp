// The critical path has the colour of what was found, all else that of busy links.
#include "pages/event_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/words.h"
#include "pages/page.h"

namespace chorale {
namespace {

constexpr double kRowHeight = 14, kNames = 90, kAxisWidth = 900, kAbove = 40, kEventMargin = 24;
constexpr int kMarks = 6;

std::string bar_svg(const EventBar& bar, double y, double per_us) {
  const double begin = kNames + bar.begin_us * per_us, left = kNames + bar.left_us * per_us,
               there = kNames + bar.there_us * per_us;
  return fmt::format(
      R"svg(<g><title>{}</title><rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.0f}" style="fill:var({})"/><path d="M{:.2f} {:.1f}H{:.2f}" style="stroke:var({})" fill="none"/></g>
)svg",
      as_markup(bar.words), begin, y + 2, std::max(left - begin, 0.5), kRowHeight - 4,
      bar.is_critical ? "--bound,#b3261e" : "--busy,#6d9be6", left, y + kRowHeight / 2, there,
      bar.is_critical ? "--bound,#b3261e" : "--wire,#b4bdcb");
}

}  // namespace

std::string event_figure_svg(const EventFigure& figure) {
  const double per_us = kAxisWidth / figure.us;
  const double height = kAbove + kRowHeight * static_cast<double>(figure.rows.size()) + kEventMargin;
  std::string text = fmt::format(
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="system-ui, sans-serif" font-size="11" role="img">
<title>{2}</title>
<rect width="100%" height="100%" style="fill:var(--paper,#fff)"/>
)svg",
      kNames + kAxisWidth + kEventMargin, height, as_markup(figure.title));
  for (int i = 0; i <= kMarks; ++i) {
    const double us = figure.us * i / kMarks, x = kNames + us * per_us;
    text += fmt::format(
        R"svg(<path d="M{0:.1f} {1}V{2}" style="stroke:var(--line,#d5dbe4)" fill="none"/><text x="{0:.1f}" y="{3}" text-anchor="middle" style="fill:var(--ink,#1c2330)">{4}</text>
)svg",
        x, kAbove, height - kEventMargin, kAbove - 10, format_us(us));
  }
  double y = kAbove;
  for (const EventRow& row : figure.rows) {
    text += fmt::format(
        R"svg(<text x="{}" y="{:.1f}" text-anchor="end" style="fill:var(--ink,#1c2330)">{}</text>
)svg",
        kNames - 8, y + kRowHeight - 3, as_markup(row.name));
    for (const EventBar& bar : row.bars) text += bar_svg(bar, y, per_us);
    y += kRowHeight;
  }
  return text + "</svg>\n";
}

}  // namespace chorale
