// Two panels over message size: time, both axes logarithmic, and bus bandwidth, whose axis begins at 0. A
// curve breaks where a size has no time. Colours are those of the page's style where the figure is in one,
// and have fallbacks after the comma where it is a file of its own; curves also differ by dashes, for print.
#include "pages/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/words.h"
#include "pages/page.h"

namespace chorale {
namespace {

constexpr double kPanelWidth = 360, kPanelHeight = 250, kTop = 44, kLeft = 72, kBetween = 92, kRight = 28;
constexpr double kBottom = kTop + kPanelHeight;
constexpr double kWidth = kLeft + 2 * kPanelWidth + kBetween + kRight;
constexpr double kLegendLine = 20;

// Of texts, of what is less important, of the grid.
constexpr const char* kInk = "var(--ink,#1c2330)";
constexpr const char* kSoft = "var(--soft,#566173)";
constexpr const char* kLine = "var(--line,#d5dbe4)";

struct Stroke {
  std::string colour = {}, dashes = {};
};

// `baseline`: how many baselines came before it; from the third on strokes repeat, and the legend and
// tooltips have the names.
Stroke stroke_of(const SizeCurve& curve, int baseline) {
  switch (curve.kind) {
    case SizeCurve::Kind::Found:
      return {"var(--mark,#1a5fd0)", ""};
    case SizeCurve::Kind::Bound:
      return {"var(--bound,#b3261e)", "9 4 2 4"};
    case SizeCurve::Kind::SecondBound:
      return {"var(--open,#9a4a00)", "2 4"};
    case SizeCurve::Kind::Measured:
    case SizeCurve::Kind::Second:
      return {"var(--good,#17713f)", ""};
    case SizeCurve::Kind::Baseline:
      break;
  }
  return {baseline % 2 == 0 ? "var(--open,#9a4a00)" : kSoft, baseline % 2 == 0 ? "6 3" : "2 3"};
}

bool is_bound(const SizeCurve& curve) {
  return curve.kind == SizeCurve::Kind::Bound || curve.kind == SizeCurve::Kind::SecondBound;
}

// All texts pass as_markup(): names of machines come from files.
std::string text_at(double x, double y, const std::string& anchor, const std::string& colour,
                    const std::string& words, const std::string& more = "") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" style="fill:{}"{}>{}</text>)", x, y,
                     anchor, colour, more, as_markup(words)) +
         "\n";
}

// A panel's axis of values: of times in powers of ten, of bandwidths from 0.
struct FigureAxis {
  double low = 0, high = 1;  // as drawn: logarithms of times
  std::vector<std::pair<double, std::string>> ticks = {};
};

// From the power of ten at or below the least time to the one at or above the most, at least one decade.
FigureAxis axis_of_times(const SizeFigure& figure) {
  double least = HUGE_VAL, most = 0;
  for (const SizeCurve& curve : figure.curves)
    for (const double us : curve.us)
      if (us > 0) least = std::min(least, us), most = std::max(most, us);
  if (most == 0) return {};
  FigureAxis axis{.low = std::floor(std::log10(least)), .high = std::ceil(std::log10(most))};
  if (axis.low == axis.high) ++axis.high;
  for (double power = axis.low; power <= axis.high; ++power)
    axis.ticks.emplace_back(power, format_us(std::pow(10, power)));
  return axis;
}

// Bytes per microsecond are MB/s, so GB/s are a thousandth of them, times the factor of nccl-tests. A
// comparison has one factor per side.
double busbw(const SizeFigure& figure, const SizeCurve& curve, std::size_t size, double us) {
  const double factor = curve.bus_factor > 0 ? curve.bus_factor : figure.bus_factor;
  return static_cast<double>(figure.message_bytes[size]) / us / 1e3 * factor;
}

// A step of 1, 2 or 5 times a power of ten that divides the span into at most six parts.
double tick_of(double span) {
  const double power = std::pow(10, std::floor(std::log10(span / 6)));
  for (const double times : {1, 2, 5})
    if (span / (power * times) <= 6) return power * times;
  return 10 * power;
}

// From 0 to the first tick at or above the highest rate.
FigureAxis axis_of_rates(const SizeFigure& figure) {
  double most = 0;
  for (const SizeCurve& curve : figure.curves)
    for (std::size_t i = 0; i < curve.us.size(); ++i)
      if (curve.us[i] > 0) most = std::max(most, busbw(figure, curve, i, curve.us[i]));
  if (most == 0) return {};
  const double tick = tick_of(most);
  FigureAxis axis{.high = tick * std::ceil(most / tick)};
  for (int i = 0; i * tick <= axis.high * 1.001; ++i)
    axis.ticks.emplace_back(i * tick, fmt::format("{:g}", i * tick));
  return axis;
}

// x is the logarithm of the size; y grows downwards in SVG, so values are subtracted from the bottom.
class Panel {
 public:
  Panel(const SizeFigure& figure, double left, FigureAxis axis, bool rates)
      : figure_(figure), left_(left), axis_(std::move(axis)), rates_(rates) {
    const auto& sizes = figure.message_bytes;
    low_ = std::log2(static_cast<double>(std::max<std::int64_t>(sizes.front(), 1)));
    high_ = std::max(std::log2(static_cast<double>(std::max<std::int64_t>(sizes.back(), 1))), low_ + 1);
  }

  // A grid line per tick; of sizes at most six, at powers of two.
  std::string frame(const std::string& title) const {
    std::string text =
        text_at(left_ + kPanelWidth / 2, kTop - 14, "middle", kInk, title, R"( font-weight="bold")");
    for (const auto& [at, label] : axis_.ticks) {
      text += fmt::format(R"(<path d="M{:.1f} {:.1f}h{}" style="stroke:{}" fill="none"/>)", left_, y(at),
                          kPanelWidth, kLine) +
              "\n" + text_at(left_ - 7, y(at) + 4, "end", kInk, label);
    }
    // As many sizes as have room.
    const int every = std::max(1, static_cast<int>(std::ceil((high_ - low_) / 5)));
    for (double at = std::ceil(low_ - 1e-9); at <= high_ + 1e-9; at += every) {
      text += fmt::format(R"(<path d="M{:.1f} {}V{}" style="stroke:{}" fill="none"/>)", x(at), kTop, kBottom,
                          kLine) +
              "\n" + text_at(x(at), kBottom + 17, "middle", kInk, format_bytes(std::exp2(at)));
    }
    return text + text_at(left_ + kPanelWidth / 2, kBottom + 36, "middle", kSoft, "message size");
  }

  // A path with a mark for each size, whose tooltip has the numbers.
  std::string drawn(const SizeCurve& curve, const Stroke& stroke) const {
    std::string path, marks;
    bool on = false;
    for (std::size_t i = 0; i < curve.us.size() && i < figure_.message_bytes.size(); ++i) {
      const double us = curve.us[i];
      if (!(us > 0)) {
        on = false;
        continue;
      }
      const double bytes = static_cast<double>(figure_.message_bytes[i]);
      const double across = x(std::log2(std::max(bytes, 1.0)));
      const double up = y(rates_ ? busbw(figure_, curve, i, us) : std::log10(us));
      path += fmt::format("{}{:.1f} {:.1f}", on ? "L" : "M", across, up);
      on = true;
      marks +=
          fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" style="fill:{}"><title>{}</title></circle>)",
                      across, up, is_bound(curve) ? 2 : 3, stroke.colour,
                      as_markup(fmt::format("{}, {}: {}, {:.4g} GB/s", curve.name, format_bytes(bytes),
                                            format_us(us), busbw(figure_, curve, i, us)))) +
          "\n";
    }
    return fmt::format(
               R"(<path d="{}" fill="none" stroke-width="2" style="stroke:{}" stroke-dasharray="{}"/>)", path,
               stroke.colour, stroke.dashes.empty() ? "none" : stroke.dashes) +
           "\n" + marks;
  }

 private:
  double x(double log_size) const { return left_ + kPanelWidth * (log_size - low_) / (high_ - low_); }
  double y(double value) const {
    return kBottom - kPanelHeight * (value - axis_.low) / (axis_.high - axis_.low);
  }

  const SizeFigure& figure_;
  const double left_;
  const FigureAxis axis_;
  const bool rates_;
  double low_ = 0, high_ = 1;  // logarithms of sizes
};

}  // namespace

// The second panel and the keys of the legend are groups, so that a narrow page puts them below each other
// (pages/page.js). The legend breaks into lines by an estimate of seven units per character.
std::string size_figure_svg(const SizeFigure& figure) {
  const Panel times(figure, kLeft, axis_of_times(figure), false);
  const Panel rates(figure, kLeft + kPanelWidth + kBetween, axis_of_rates(figure), true);
  std::string first = times.frame(figure.title + ": time"), second = rates.frame("bus bandwidth (GB/s)");
  std::string legend;
  double across = kLeft, down = kBottom + 62;
  int baselines = 0;
  for (const SizeCurve& curve : figure.curves) {
    const Stroke stroke = stroke_of(curve, baselines);
    baselines += curve.kind == SizeCurve::Kind::Baseline ? 1 : 0;
    first += times.drawn(curve, stroke);
    second += rates.drawn(curve, stroke);
    const double wide = 46 + 7.0 * static_cast<double>(curve.name.size());
    if (across > kLeft && across + wide > kWidth - kRight) {
      across = kLeft;
      down += kLegendLine;
    }
    legend +=
        fmt::format(
            R"svg(<g class="key" transform="translate({:.1f} {:.1f})"><path d="M0 -4h24" fill="none" stroke-width="2" style="stroke:{}" stroke-dasharray="{}"/>)svg",
            across, down, stroke.colour, stroke.dashes.empty() ? "none" : stroke.dashes) +
        "\n" + text_at(30, 0, "start", kInk, curve.name) + "</g>\n";
    across += wide;
  }
  return fmt::format(
             R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="system-ui, sans-serif" font-size="12" role="img">)",
             kWidth, down + 14) +
         fmt::format("\n<title>{}</title>\n", as_markup(figure.title)) +
         R"svg(<rect width="100%" height="100%" style="fill:var(--paper,#fff)"/>)svg" + "\n<g>\n" + first +
         "</g>\n<g class=\"second\">\n" + second + "</g>\n" + legend + "</svg>\n";
}

// The critical path has the colour of what was found, all else that of busy links.

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
