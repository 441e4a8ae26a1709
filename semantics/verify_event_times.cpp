// A resource that may interrupt what it carries can keep all windows exactly if it does so by always carrying
// what has to leave first (Horn 1974); so that is simulated, for each resource by itself. Data are looked for
// among all earlier sends of the chunk.
#include "semantics/verify_event_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <utility>

#include "semantics/fault_list.h"

namespace chorale {
namespace {

// Of sums of the same numbers in another order.
constexpr double kRoundingOfTimes = 1e-9;

// Something is carried for `us` between two times.
struct Window {
  double from = 0, to = 0, us = 0;
};

class EventTimesVerifier : FaultList {
 public:
  EventTimesVerifier(const Topology& topology, const Schedule& schedule, const EventTimes& times,
                     double chunk_bytes, int limit)
      : FaultList(limit),
        topology_(topology),
        schedule_(schedule),
        times_(times),
        chunk_bytes_(chunk_bytes),
        slack_(kRoundingOfTimes * (1 + std::abs(times.us))) {}

  std::vector<Fault> run() {
    if (!has_all_sends()) return std::move(found_);
    data_are_there();
    for (const SendTimes& each : times_.sends) takes_long_enough(each);
    for (int l = 0; l < std::ssize(topology_.links); ++l) carries_all_of_link(l);
    for (int i = 0; i < std::ssize(topology_.limits); ++i) carries_all_of_limit(i);
    double last = 0;
    for (const SendTimes& each : times_.sends) last = std::max(last, each.there_us);
    if (std::abs(times_.us - topology_.call_us - last) > slack_)
      report(Kind::Statement, {}, "states {} us, the call and the last arrival are {} us", times_.us,
             topology_.call_us + last);
    return std::move(found_);
  }

 private:
  const Link& link(const SendTimes& each) const { return topology_.links[each.send.link]; }
  static FaultPlace place(const SendTimes& each) {
    return {.step = each.step, .chunk = each.send.chunk, .link = each.send.link};
  }

  bool has_all_sends() {
    std::size_t next = 0;
    for (int s = 0; s < std::ssize(schedule_.steps); ++s)
      for (const Send& send : schedule_.steps[s].sends) {
        if (next < times_.sends.size() && times_.sends[next].step == s && times_.sends[next].send == send) {
          ++next;
          continue;
        }
        report(Kind::Match, {.step = s, .chunk = send.chunk, .link = send.link},
               "step {}: no time is stated of chunk {} over link {}", s + 1, send.chunk, send.link);
        return false;
      }
    if (next < times_.sends.size())
      report(Kind::Match, place(times_.sends[next]), "a time is stated of a send that the schedule lacks");
    return next == times_.sends.size();
  }

  void data_are_there() {
    std::map<std::pair<Chunk, Rank>, std::vector<const SendTimes*>> arrivals;
    for (const SendTimes& each : times_.sends) arrivals[{each.send.chunk, link(each).dst}].push_back(&each);
    for (const SendTimes& each : times_.sends) {
      if (each.begin_us < -slack_)
        report(Kind::Absent, place(each), "chunk {} is sent over link {} before the start", each.send.chunk,
               each.send.link);
      const auto needed = arrivals.find({each.send.chunk, link(each).src});
      if (needed == arrivals.end()) continue;
      for (const SendTimes* const before : needed->second)
        if (before->step < each.step && before->there_us > each.begin_us + slack_)
          report(Kind::Absent, place(each),
                 "step {}: rank {} sends chunk {} at {} us, but what link {} brings of it is there at {} us",
                 each.step + 1, link(each).src, each.send.chunk, each.begin_us, before->send.link,
                 before->there_us);
    }
  }

  double us_over(const SendTimes& each, int bandwidth) const {
    return chunk_bytes_ * link(each).beta_us_per_byte / bandwidth;
  }

  void takes_long_enough(const SendTimes& each) {
    int narrowest = link(each).bandwidth;
    for (const SharedLimit& limit : topology_.limits)
      if (std::ranges::binary_search(limit.links, each.send.link))
        narrowest = std::min(narrowest, limit.bandwidth);
    if (each.left_us - each.begin_us < us_over(each, narrowest) - slack_)
      report(Kind::Bandwidth, place(each), "step {}: chunk {} leaves link {} after {} us, which takes {} us",
             each.step + 1, each.send.chunk, each.send.link, each.left_us - each.begin_us,
             us_over(each, narrowest));
    if (each.there_us - each.left_us < link(each).alpha_us - slack_)
      report(Kind::Bandwidth, place(each), "step {}: chunk {} over link {} is there {} us after it left",
             each.step + 1, each.send.chunk, each.send.link, each.there_us - each.left_us);
  }

  void carries_all_of_link(LinkId l) {
    std::vector<Window> windows;
    for (const SendTimes& each : times_.sends)
      if (each.send.link == l)
        windows.push_back({each.begin_us, each.left_us, us_over(each, link(each).bandwidth)});
    if (!fit(std::move(windows))) report(Kind::Bandwidth, {.link = l}, "link {} carries more than it can", l);
  }

  void carries_all_of_limit(int i) {
    const SharedLimit& limit = topology_.limits[i];
    std::vector<Window> windows;
    std::map<std::pair<int, CountedOnce>, std::size_t> once;
    for (const SendTimes& each : times_.sends) {
      if (!std::ranges::binary_search(limit.links, each.send.link)) continue;
      const Window window{each.begin_us, each.left_us, us_over(each, limit.bandwidth)};
      if (limit.abilities.any()) {
        const auto [at, is_first] =
            once.try_emplace({each.step, counted_as(topology_, limit, each.send)}, windows.size());
        if (!is_first) {
          Window& with = windows[at->second];
          with = {std::max(with.from, window.from), std::min(with.to, window.to),
                  std::max(with.us, window.us)};
          continue;
        }
      }
      windows.push_back(window);
    }
    if (!fit(std::move(windows)))
      report(Kind::Bandwidth, {}, "limit {} ({}) carries more than it can", i, limit.name);
  }

  // Can all be carried, one at a time, each within its window?
  bool fit(std::vector<Window> windows) const {
    std::ranges::sort(windows, {}, &Window::from);
    const auto leaves_later = [](const Window& a, const Window& b) { return a.to > b.to; };
    std::priority_queue<Window, std::vector<Window>, decltype(leaves_later)> begun(leaves_later);
    auto next = windows.begin();
    for (double now = 0; next != windows.end() || !begun.empty();) {
      if (begun.empty()) now = std::max(now, next->from);
      for (; next != windows.end() && next->from <= now; ++next) begun.push(*next);
      Window first = begun.top();
      begun.pop();
      if (next != windows.end() && now + first.us > next->from) {
        first.us -= next->from - now;
        now = next->from;
        begun.push(first);
        continue;
      }
      now += first.us;
      if (now > first.to + slack_) return false;
    }
    return true;
  }

  const Topology& topology_;
  const Schedule& schedule_;
  const EventTimes& times_;
  const double chunk_bytes_, slack_;
};

}  // namespace

std::vector<Fault> violations(const Topology& topology, const Schedule& schedule, const EventTimes& times,
                              double chunk_bytes, int limit) {
  return EventTimesVerifier(topology, schedule, times, chunk_bytes, limit).run();
}

}  // namespace chorale
