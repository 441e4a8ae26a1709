// From event to event: the next event is the end of a latency or of a step's transfer; between two events all
// paces are constant.
#include "cost/overlap.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chorale {
namespace {

// Where a communication is.
struct RunState {
  int repetitions = 1;
  double longer = 1;      // than one of the communication's own
  int done = 0;           // repetitions
  std::size_t step = 0;   // the one that runs
  double latency_us = 0;  // of it that is left
  double sending_us = 0;  // likewise, at the pace that it has alone
  bool begun = false, ended = false;
};

// A path that a running step uses, and the fraction of the path that it takes at its own pace.
struct Share {
  std::int64_t path = 0;
  std::size_t of = 0;
  double part = 0;
};

// By communication: the fraction of its own pace at which it sends; 0 if it does not send.
// Max-min fairness of paces: 1 is a communication's speed alone. All open ones rise together; where a path
// is full, its communications keep their pace and the others rise on. `shares` is sorted by path, so that
// the uses of one path follow each other.
std::vector<double> paces(const std::vector<Communication>& all, const std::vector<RunState>& progress) {
  std::vector<double> pace(all.size(), 0);
  std::vector<bool> open(all.size(), false);
  std::vector<Share> shares;
  int left = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const RunState& at = progress[r];
    if (!at.begun || at.ended || at.latency_us > 0) continue;
    open[r] = true;
    ++left;
    const StepLoad& step = all[r].steps[at.step];
    for (const PathUse& use : step.paths) shares.push_back({use.path, r, use.us / step.sending_us});
  }
  std::ranges::sort(shares, {}, &Share::path);
  while (left > 0) {
    double level = 1;
    const auto each_path = [&](const auto& visit) {
      for (std::size_t i = 0, j = 0; i < shares.size(); i = j) {
        double taken = 0, open_part = 0;
        for (; j < shares.size() && shares[j].path == shares[i].path; ++j)
          (open[shares[j].of] ? open_part : taken) +=
              shares[j].part * (open[shares[j].of] ? 1 : pace[shares[j].of]);
        if (open_part > 0) visit(i, j, std::max(0.0, 1 - taken) / open_part);
      }
    };
    each_path([&](std::size_t, std::size_t, double most) { level = std::min(level, most); });
    std::vector<bool> full(all.size(), level >= 1);
    each_path([&](std::size_t i, std::size_t j, double most) {
      if (most <= level * (1 + 1e-12))
        for (; i < j; ++i) full[shares[i].of] = true;
    });
    for (std::size_t r = 0; r < all.size(); ++r)
      if (open[r] && full[r]) {
        pace[r] = level;
        open[r] = false;
        --left;
      }
  }
  return pace;
}

}  // namespace

// A communication that is repeated thousands of times an iteration (`times`) is simulated as fewer, longer
// ones: kMostRepetitions bounds the events of all together.
std::vector<TimeSpan> side_by_side(const std::vector<Communication>& all) {
  const double most = std::max(1, kMostRepetitions / std::max(1, static_cast<int>(all.size())));
  std::vector<RunState> progress(all.size());
  std::vector<TimeSpan> spans(all.size());
  double now = 0;
  // `longer` scales latencies and transfers alike, so the total of each communication is kept.
  // The next step that takes any time, or the end.
  const auto settle = [&](std::size_t r) {
    RunState& at = progress[r];
    while (at.done < at.repetitions) {
      for (; at.step < all[r].steps.size(); ++at.step) {
        at.latency_us = all[r].steps[at.step].latency_us * at.longer;
        at.sending_us = all[r].steps[at.step].sending_us * at.longer;
        if (at.latency_us > 0 || at.sending_us > 0) return;
      }
      at.step = 0;
      ++at.done;
    }
    at.ended = true;
    spans[r].to_us = now;
  };
  for (std::size_t r = 0; r < all.size(); ++r) {
    progress[r].repetitions = static_cast<int>(std::clamp(std::ceil(all[r].times), 1.0, most));
    progress[r].longer = all[r].times / progress[r].repetitions;
  }
  while (true) {
    // Earlier ones first, so that steps without duration let others begin at once.
    for (std::size_t r = 0; r < all.size(); ++r)
      if (!progress[r].begun &&
          std::ranges::all_of(all[r].after, [&](int before) { return progress[before].ended; })) {
        progress[r].begun = true;
        spans[r].from_us = now;
        settle(r);
      }
    const std::vector<double> pace = paces(all, progress);
    double next = std::numeric_limits<double>::infinity();
    const auto left = [&](std::size_t r) {
      return progress[r].latency_us > 0 ? progress[r].latency_us : progress[r].sending_us / pace[r];
    };
    for (std::size_t r = 0; r < all.size(); ++r)
      if (progress[r].begun && !progress[r].ended) next = std::min(next, left(r));
    if (!std::isfinite(next)) return spans;
    now += next;
    for (std::size_t r = 0; r < all.size(); ++r) {
      RunState& at = progress[r];
      if (!at.begun || at.ended) continue;
      // What ends at the same time but for rounding ends now: otherwise an event would follow after no time.
      const bool over = left(r) <= next * (1 + 1e-12);
      if (at.latency_us > 0) {
        at.latency_us = over ? 0 : at.latency_us - next;
        if (!over || at.sending_us > 0) continue;
      } else if (!over) {
        at.sending_us -= next * pace[r];
        continue;
      }
      ++at.step;
      settle(r);
    }
  }
}

}  // namespace chorale
