// Servers as boxes, each drawn by itself about (0, 0): its ranks, its own switches above them. One half of
// them is above and one half upside down below, with the switches that join them in the middle and NICs on
// the sides that face. What is too wide is tried again with ranks in two rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "ir/words.h"
#include "pages/placed.h"

namespace chorale {
namespace {

using Kind = PictureNode::Kind;

constexpr double kNicsApart = 0.42;  // a NIC is 0.34 wide
constexpr double kPadding = 1.1, kBoxesApart = 0.5;
constexpr double kLeafFromSpine = 1.5;
constexpr double kWidestBand = 18;  // of boxes: with more of it ranks go in two rows

// One box: its ranks and its own switches, about (0, 0), the switches above the ranks. Ranks with direct
// links are arranged as the graph of these links; others stand in `rows` rows.
class BoxInside {
 public:
  // `nics` of its ranks fit side by side.
  BoxInside(const Parts& parts, const std::vector<Rank>& ranks, const std::vector<int>& switches, int rows,
            std::ptrdiff_t nics)
      : ranks_(ranks), switches_(switches), least_(kNicsApart * static_cast<double>(nics)) {
    const Graph g = graph_among(parts, ranks);
    const bool direct = std::any_of(g.begin(), g.end(), [](const auto& next) { return !next.empty(); });
    const int across = (static_cast<int>(ranks.size()) + rows - 1) / rows;
    if (direct) {
      spots_ = arrange(g, *parts.work).spots;
    } else {
      const double step = rows == 1 ? 1.1 : 2 * kNicsApart;  // rows in a stagger, so that lines pass between
      for (int i = 0; i < static_cast<int>(ranks.size()); ++i)
        spots_.push_back({.x = step * (i % across) + (i / across % 2) * step / 2, .y = 1.1 * (i / across)});
    }
    bounds();
    const double mean = (left_ + right_) / 2, middle = (top_ + bottom_) / 2;
    for (Spot& s : spots_) s = {.x = s.x - mean, .y = s.y - middle};
    bounds();
    // y grows downwards (pages/picture.h): less is above.
    const double ceiling = top_ - 1.35;
    const std::vector<double> x = evenly(left_, right_, switches.size(), 1.8);
    for (std::size_t i = 0; i < switches.size(); ++i) spots_.push_back({.x = x[i], .y = ceiling});
    bounds();
  }
  double width() const { return std::max(right_ - left_ + kPadding, least_); }
  double height() const { return bottom_ - top_ + 1.4; }

  // Its middle at (x, y), upside down or not.
  void put(Placed& p, double x, double y, bool upside_down) const {
    const double middle = (top_ + bottom_) / 2;
    for (std::size_t i = 0; i < spots_.size(); ++i) {
      const int n = i < ranks_.size() ? ranks_[i] : switches_[i - ranks_.size()];
      const double dy = spots_[i].y - middle;
      p.nodes[n].at = {.x = x + spots_[i].x, .y = y + (upside_down ? -dy : dy)};
      if (i >= ranks_.size())
        p.nodes[n].width =
            std::max(1.5, (right_ - left_ + 0.6) / static_cast<double>(switches_.size()) - 0.1);
    }
    p.boxes.push_back({.name = "",
                       .left = x - width() / 2,
                       .top = y - height() / 2,
                       .right = x + width() / 2,
                       .bottom = y + height() / 2,
                       .name_below = upside_down});
  }

 private:
  // The rectangle round the centres of what has its spot so far; with a single switch, at least as wide as
  // that.
  void bounds() {
    left_ = top_ = 1e300;
    right_ = bottom_ = -1e300;
    for (const Spot& s : spots_) {
      left_ = std::min(left_, s.x);
      right_ = std::max(right_, s.x);
      top_ = std::min(top_, s.y);
      bottom_ = std::max(bottom_, s.y);
    }
    if (switches_.size() == 1 && right_ - left_ < 1.5) right_ = 0.75, left_ = -0.75;
  }
  const std::vector<Rank>& ranks_;
  const std::vector<int>& switches_;
  const double least_;
  std::vector<Spot> spots_ = {};
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
};

// A switch belongs to a box if it is joined to ranks of that box alone, and is a NIC of it if these are the
// only ranks that it is joined to; the others stand between.
class Boxes {
 public:
  explicit Boxes(const Parts& parts)
      : parts_(parts), own_(parts.boxes.size()), nics_(parts.boxes.size()), box_of_(parts.near.size(), -1) {
    for (std::size_t b = 0; b < parts.boxes.size(); ++b)
      for (Rank r : parts.boxes[b]) box_of_[r] = static_cast<int>(b);
    for (int s = parts.t.ranks; s < static_cast<int>(parts.near.size()); ++s) {
      std::set<int> boxes;
      bool outside = false;
      for (const int n : parts.near[s])
        if (n < parts.t.ranks)
          boxes.insert(box_of_[n]);
        else
          outside = true;
      if (boxes.size() != 1)
        between_.push_back(s);
      else
        (outside ? nics_ : own_)[*boxes.begin()].push_back(s);
    }
    for (std::size_t b = 0; b < own_.size(); ++b)
      for (const int s : own_[b]) box_of_[s] = static_cast<int>(b);
  }

  // Two boxes face each other; more of them would have lines over those beside them.
  bool face() const { return parts_.boxes.size() == 2 || !between_.empty(); }

  Placed place() {
    Placed p = unplaced(parts_);
    p.box_of = box_of_;
    place_facing(p);
    for (std::size_t b = 0; b < p.boxes.size(); ++b)
      p.boxes[b].name = parts_.word_of_box + (" " + std::to_string(b));
    const auto [least, most] =
        std::minmax_element(parts_.boxes.begin(), parts_.boxes.end(),
                            [](const auto& a, const auto& b) { return a.size() < b.size(); });
    p.shape = counted(std::ssize(parts_.boxes), parts_.word_of_box) + " of " + std::to_string(least->size()) +
              (least->size() < most->size() ? " to " + std::to_string(most->size()) : "");
    if (!between_.empty())
      p.shape += parts_.fabric.by_cables
                     ? ", " + counted(std::ssize(between_), "switch", "switches") + " between them"
                     : " on a network";
    return p;
  }

 private:
  std::vector<BoxInside> insides(int rows) const {
    std::vector<BoxInside> result;
    for (std::size_t b = 0; b < parts_.boxes.size(); ++b)
      result.emplace_back(
          parts_, parts_.boxes[b], own_[b], rows,
          std::ssize(nics_[b]) + std::ranges::count_if(parts_.boxes[b], [&](Rank r) { return leaves(r); }));
    return result;
  }

  // Half of the boxes above, half of them upside down below, what joins them in the middle.
  void place_facing(Placed& p) {
    const int count = static_cast<int>(parts_.boxes.size()), upper = (count + 1) / 2;
    std::vector<BoxInside> inside;
    std::array<double, 2> width = {};
    for (int rows = 1; rows <= 2; ++rows) {  // lines pass between two rows, and not three
      inside = insides(rows);
      width = {};
      for (int b = 0; b < count; ++b) width[b / upper] += inside[b].width() + kBoxesApart;
      if (std::max(width[0], width[1]) <= kWidestBand) break;
    }
    const bool tiers = std::ranges::any_of(between_, [&](int s) { return is_leaf(s); });
    const double gap = between_.empty() ? 1.6 : tiers ? 7.2 : 4.2;
    std::array<double, 2> left = {-width[0] / 2, -width[1] / 2};
    for (int b = 0; b < count; ++b) {
      const bool above = b < upper;
      const double y = (gap + inside[b].height()) / 2;
      double& at = left[above ? 0 : 1];
      inside[b].put(p, at + (inside[b].width() + kBoxesApart) / 2, above ? -y : y, !above);
      at += inside[b].width() + kBoxesApart;
    }
    place_between(p, std::max(width[0], width[1]));
    // NICs on the sides that face, in the order of their ranks, about the middle of the box.
    for (int b = 0; b < count; ++b) {
      std::vector<std::pair<double, int>> leaving;  // a NIC of a rank, or one that is a switch
      for (Rank r : parts_.boxes[b])
        if (leaves(r)) leaving.emplace_back(p.nodes[r].at.x, r);
      for (const int s : nics_[b]) leaving.emplace_back(mean_of_near(p, s), s);
      std::sort(leaving.begin(), leaving.end());
      double before = -1e300, moved = 0;
      for (auto& [at, r] : leaving) {
        moved += std::max(0.0, before + kNicsApart - at) / static_cast<double>(leaving.size());
        at = before = std::max(at, before + kNicsApart);
      }
      for (const auto& [at, r] : leaving)
        add_nic(p, r, {.x = at - moved, .y = b < upper ? p.boxes[b].bottom : p.boxes[b].top});
    }
  }

  // Switches over ranks of one half are near it where spines join them; the row of the others is in the
  // middle.
  void place_between(Placed& p, double wide) const {
    std::vector<int> middle, leaves_above, leaves_below;
    for (const int s : between_) {
      const double y = p.nodes[*parts_.near[s].begin()].at.y;
      (!is_leaf(s) ? middle : y < 0 ? leaves_above : leaves_below).push_back(s);
    }
    place_row(p, leaves_above, wide, -kLeafFromSpine);
    place_row(p, leaves_below, wide, kLeafFromSpine);
    place_row(p, middle, wide, 0);
  }

  // Has it ranks, and others between boxes join it?
  bool is_leaf(int s) const {
    return *parts_.near[s].begin() < parts_.t.ranks && *parts_.near[s].rbegin() >= parts_.t.ranks;
  }

  // Of the ranks, or of switches that have their places.
  double mean_of_near(const Placed& p, int s) const {
    double sum = 0, count = 0;
    for (const int n : parts_.near[s])
      if (n < parts_.t.ranks || *parts_.near[s].begin() >= parts_.t.ranks) sum += p.nodes[n].at.x, ++count;
    return sum / count;
  }

  // In the order of the means of what they join, spread over the whole width, so that few lines cross.
  void place_row(Placed& p, const std::vector<int>& row, double wide, double y) const {
    std::vector<std::pair<double, int>> by_mean;
    for (const int s : row) {
      // Rounded to hundredths: means that differ by rounding errors are equal, and the number of the switch
      // decides.
      by_mean.emplace_back(std::round(100 * mean_of_near(p, s)), s);
    }
    std::ranges::sort(by_mean);
    const std::vector<double> x = evenly(-wide / 2, wide / 2, by_mean.size(), 1.3);
    for (std::size_t i = 0; i < by_mean.size(); ++i) {
      PictureNode& node = p.nodes[by_mean[i].second];
      node.at = {.x = x[i], .y = y};
      node.width = x.size() < 2 ? 1.7 : std::clamp(x[1] - x[0] - 0.2, 1.1, 1.7);
    }
  }

  // Is the rank joined to another box, by a link or a switch of both? Its lines then leave the box at a NIC.
  // A switch of its box alone that leads outside is one itself.
  bool leaves(Rank r) const {
    const auto is_here = [&](int n) { return box_of_[n] == box_of_[r]; };
    return std::ranges::any_of(parts_.near[r], [&](int n) {
      if (n < parts_.t.ranks) return !is_here(n);
      return std::ranges::any_of(parts_.near[n], [&](int m) { return m < parts_.t.ranks && !is_here(m); });
    });
  }

  // A NIC that is no switch exists in the picture only: a node after the switches, in the box of its rank.
  void add_nic(Placed& p, int r, const Spot& at) const {
    if (r >= parts_.t.ranks) {
      p.nodes[r] = {.kind = Kind::Nic, .name = p.nodes[r].name, .at = at, .width = 0.34, .height = 0.34};
      return;
    }
    p.nic_of[r] = static_cast<int>(p.nodes.size());
    p.nodes.push_back({.kind = Kind::Nic, .name = "NIC", .at = at, .width = 0.34, .height = 0.34});
    p.box_of.push_back(p.box_of[r]);
  }

  const Parts& parts_;
  std::vector<std::vector<int>> own_;   // switches, by box
  std::vector<std::vector<int>> nics_;  // likewise
  std::vector<int> box_of_;             // by rank and switch; -1: in none
  std::vector<int> between_ = {};       // switches
};

}  // namespace

std::optional<Placed> place_in_boxes(const Parts& parts) {
  if (parts.boxes.empty()) return std::nullopt;
  Boxes boxes(parts);
  return boxes.face() ? std::optional(boxes.place()) : std::nullopt;
}

}  // namespace chorale
