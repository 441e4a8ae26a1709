// A machine as it is drawn, and the work that drawing may take.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "ir/topology.h"

namespace chorale {

// The work that a page may take, counted and not timed: what is drawn of a large result ends with it, and a
// page that is made after a limit or Ctrl-C has nearly none left. Units are of some ten nanoseconds: a pair
// of nodes in a layout, a node that a line may run over.
inline constexpr long long kMaxDrawingWork = 200'000'000;
inline constexpr long long kMaxDrawingWorkOnceStopped = 2'000'000;  // small machines look as ever

class DrawingWork {
 public:
  explicit DrawingWork(const std::atomic<bool>* stop = nullptr, long long most = kMaxDrawingWork,
                       long long once_stopped = kMaxDrawingWorkOnceStopped)
      : stop_(stop), left_(most), left_once_stopped_(once_stopped) {}

  // Takes so much; false: there is less left, and the caller draws something simpler.
  bool take(long long work) {
    if (work > left()) return false;
    left_ -= work;
    if (is_stopped()) left_once_stopped_ -= work;
    taken_ += work;
    return true;
  }
  long long left() const { return is_stopped() && left_once_stopped_ < left_ ? left_once_stopped_ : left_; }
  long long taken() const { return taken_; }

 private:
  bool is_stopped() const { return stop_ != nullptr && *stop_; }

  const std::atomic<bool>* stop_;
  long long left_, left_once_stopped_, taken_ = 0;
};

// A machine as it is drawn: ranks, the switches between them, boxes (servers) with a NIC where a rank's lines
// leave its box; and for each link, over which lines it runs. All by structure: names give no shape.
//
// x to the right, y down, in units. Two nodes are at least one unit apart.
struct Spot {
  double x = 0;
  double y = 0;
};

struct PictureNode {
  enum class Kind { Rank, Switch, Nic };
  Kind kind = Kind::Rank;
  std::string name = {};
  Spot at = {};
  double width = 0.56;  // a rank is a circle, everything else a rectangle
  double height = 0.56;
};

struct Line {
  int a = 0, b = 0;           // nodes,
  Spot start = {}, end = {};  // and where it meets them: beside the middle of a wide switch
  // Chunks per round of the cable, or of the widest link over it; of direct links, their sum.
  int bandwidth = 1;
  bool there = false;  // links run from a to b,
  bool back = false;   // from b to a
  double bend = 0;     // how far its middle lies beside the straight line, to the left of a -> b on paper
  bool wraps = false;  // it goes round: drawn as a stub at each end,
  Spot out = {};       // as far as this out of a, and as far into b from the other side
};

struct Box {
  std::string name = {};
  double left = 0, top = 0, right = 0, bottom = 0;
  bool name_below = false;  // written under it, not above
};

struct Picture {
  std::string shape = {};               // in words, of the machine; empty where it has no name
  std::vector<PictureNode> nodes = {};  // the ranks come first
  std::vector<Line> lines = {};
  std::vector<std::vector<int>> routes = {};  // by link: the lines that it runs over, from its source on
  std::vector<Box> boxes = {};
  double width = 0, height = 0;  // everything lies within, in units (placed.h)
};

// Requires a topology without switches (flattened). The same topology always gets the same picture from the
// same work; with too little its ranks stand in rows, and lines are straight.
Picture picture_of(const Topology&, DrawingWork&);

}  // namespace chorale
