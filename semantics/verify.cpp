// Runs the schedule on counts (semantics/state.h) and records broken rules. Values out of range are reported
// first and alone, since the rest could not be run.
//
// Chunks share nothing but bandwidth: the values of one do not depend on any other. So bandwidth is checked
// step by step, and then chunk after chunk is followed through all steps, in the memory of one. Side by side,
// step by step, as it was at first, a ring AllReduce on 1,024 ranks took 1,188 MB to be built and verified
// and 1,472 to be checked; chunk after chunk it takes 324 and 465, in three quarters of the time. The price:
// of faults in several chunks those of the first chunk are reported first, whatever their steps.
//
// A send costs a pass over the value that is sent and over the one that it makes, which is a byte per rank
// where sums are made, and a sort of its step. A faulty schedule is run to its end, or until the limit on
// faults: counts saturate at 255, so growth cannot make them right again.
#include "semantics/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "ir/agreement.h"
#include "ir/promise.h"
#include "ir/words.h"
#include "semantics/fault_list.h"
#include "semantics/state.h"

namespace chorale {

// What a collective computes, independent of its algorithm: which inputs are summed at each output position,
// how often.
//
// Sums are compared as sorted lists of terms, equal ones as often as they are added. Maps of maps, which were
// there first, took ten times as long for two million chunks, and a kilobyte of text names these.
//
// Only outcomes are compared. An input that several ranks hold has the name of the first, so `done` may count
// on holders that `asked` does not have: for a collective from a file, preconditions are compared beside this
// (check_method in pareto/check.cpp).
namespace {

using Input = Promise::Input;
using Output = Promise::Output;

// Equal chunks at two ranks differ equally, so most ranks need no comparison.
bool same_chunks(const std::vector<Output>& a, const std::vector<Output>& b) {
  return std::ranges::equal(a, b, [](const Output& x, const Output& y) {
    return x.slot == y.slot && std::ranges::equal(x.chunks, y.chunks);
  });
}

std::vector<Input> sorted_terms(const Promise& promise, Rank n, int slot) {
  std::vector<Input> terms = promise.terms(promise.chunks(n, slot));
  std::ranges::sort(terms);
  return terms;
}

std::set<int> slots(const std::vector<Output>& asked, const std::vector<Output>& done) {
  std::set<int> all;
  for (const auto* outputs : {&asked, &done})
    for (const Output& output : *outputs) all.insert(output.slot);
  return all;
}

std::string in_words(std::span<const Input> sum) {
  std::string words;
  int inputs = 0;
  for (std::size_t i = 0, next = 0; i < sum.size(); i = next) {
    if (++inputs > 3) return words + " + ...";
    while (next < sum.size() && sum[next] == sum[i]) ++next;
    words += fmt::format("{}{}input {} of rank {}", i == 0 ? "" : " + ",
                         next - i == 1 ? "" : fmt::format("{} x ", next - i), sum[i].slot, sum[i].rank);
  }
  return words;
}

}  // namespace

std::vector<Fault> differences(const Collective& asked, const Collective& done, int limit) {
  std::vector<Fault> found;
  const auto enough = [&] { return static_cast<int>(found.size()) >= limit; };
  if (asked.ranks != done.ranks) {
    if (!enough())
      found.push_back(
          {.kind = Fault::Kind::Size,
           .words = fmt::format("{} ranks are asked for, {} take part", asked.ranks, done.ranks)});
    return found;
  }
  if (asked.chunks == done.chunks && asked.combining == done.combining) return found;
  const Promise wanted(asked), kept(done);
  std::vector<Output> asked_before, done_before;
  for (Rank n = 0; n < asked.ranks && !enough(); ++n) {
    std::vector<Output> asked_here = wanted.outputs(n), done_here = kept.outputs(n);
    // Chunks stand for their terms: chunks that are equal at two ranks have the same sums at both, and the
    // rank before had no fault. So sums are made at few ranks. Once there is a fault every rank is examined,
    // so that all faults are reported.
    if (n > 0 && found.empty() && same_chunks(asked_here, asked_before) &&
        same_chunks(done_here, done_before))
      continue;
    for (int slot : slots(asked_here, done_here)) {
      if (enough()) break;
      const std::vector<Input> want = sorted_terms(wanted, n, slot), have = sorted_terms(kept, n, slot);
      if (want != have)
        found.push_back(
            {.kind = Fault::Kind::Outcome,
             .place = {.rank = n, .chunk = slot},
             .words = fmt::format("output {} of rank {}: {}, {}", slot, n,
                                  want.empty() ? "nothing is asked" : "asked is " + in_words(want),
                                  have.empty() ? "nothing is done" : "done is " + in_words(have))});
    }
    asked_before = std::move(asked_here);
    done_before = std::move(done_here);
  }
  return found;
}

namespace {

class ScheduleVerifier : FaultList {
 public:
  ScheduleVerifier(const Topology& topology, const Collective& collective, const Schedule& schedule,
                   int limit)
      : FaultList(limit),
        topology_(topology),
        collective_(collective),
        schedule_(schedule),
        limits_of_(topology.links.size()) {
    for (std::size_t limit = 0; limit < topology.limits.size(); ++limit)
      for (LinkId l : topology.limits[limit].links) limits_of_[l].push_back(limit);
  }

  std::vector<Fault> run() {
    collective_in_range();
    schedule_in_range();
    if (!found_.empty()) return std::move(found_);
    for (const Step& step : schedule_.steps) {
      if (full()) break;
      ++step_;
      no_send_twice(step);
      within_bandwidth(step);
    }
    chunk_by_chunk();
    return std::move(found_);
  }

 private:
  using Arrival = std::pair<Chunk, Rank>;

  Rank src(const Send& send) const { return topology_.links[send.link].src; }
  Rank dst(const Send& send) const { return topology_.links[send.link].dst; }

  FaultPlace of(const Send& send, Rank n) const {
    return {.rank = n, .step = step_ - 1, .chunk = send.chunk, .link = send.link};
  }

  std::string name(LinkId l) const {
    return fmt::format("link {} ({} -> {})", l, topology_.links[l].src, topology_.links[l].dst);
  }

  // pre and post are sorted sets without repetitions; a file may state anything.
  void collective_in_range() {
    if (topology_.ranks != collective_.ranks)
      return report(Kind::Size, {}, "the collective is for {}, the topology has {}",
                    counted(collective_.ranks, "rank"), topology_.ranks);
    const std::vector<std::vector<Chunk>> operands = operands_of(collective_);
    for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c) {
      const ChunkSpec& spec = collective_.chunks[c];
      if (spec.summed && (collective_.combining || spec.pre.size() != 1 || operands[c].empty()))
        report(Kind::Form, {.chunk = c}, "the collective: chunk {} is not the sum of others at one rank", c);
      if (spec.pre.empty())
        report(Kind::Form, {.chunk = c}, "the collective: no rank has chunk {} at the start", c);
      for (const RankSet* ranks : {&spec.pre, &spec.post}) {
        if (std::ranges::any_of(*ranks, [&](Rank n) { return n < 0 || n >= topology_.ranks; }))
          report(Kind::Form, {.chunk = c}, "the collective: chunk {} names a rank that is not one of {}", c,
                 topology_.ranks);
        if (!std::ranges::is_sorted(*ranks, std::ranges::less_equal{}))
          report(Kind::Form, {.chunk = c}, "the collective: chunk {} names a rank twice or out of order", c);
      }
    }
  }

  // All faults of form are reported, and then nothing else: the rest indexes by these numbers.
  void schedule_in_range() {
    const int chunks = static_cast<int>(collective_.chunks.size());
    const int links = static_cast<int>(topology_.links.size());
    int s = 0;
    for (const Step& step : schedule_.steps) {
      ++s;
      if (step.rounds < 1)
        report(Kind::Form, {.step = s - 1}, "step {}: {} rounds, at least 1 is needed", s, step.rounds);
      for (const Send& send : step.sends) {
        if (send.chunk < 0 || send.chunk >= chunks)
          report(Kind::Form, {.step = s - 1, .chunk = send.chunk},
                 "step {}: there is no chunk {}, the collective has {}", s, send.chunk, chunks);
        if (send.link < 0 || send.link >= links)
          report(Kind::Form, {.step = s - 1, .link = send.link},
                 "step {}: there is no link {}, the topology has {}", s, send.link, links);
        else if (src(send) >= topology_.ranks || dst(send) >= topology_.ranks)
          report(Kind::Form, {.step = s - 1, .link = send.link},
                 "step {}: {} ends at a switch; schedules need a topology without switches", s,
                 name(send.link));
      }
    }
  }

  // Sends are sorted in a well-formed schedule, but a verifier does not rely on it.
  void no_send_twice(const Step& step) {
    std::vector<std::pair<Chunk, LinkId>> sends;
    for (const Send& send : step.sends) sends.push_back({send.chunk, send.link});
    for (const auto& [c, l] : repeated(std::move(sends)))
      report(Kind::Repeated, {.step = step_ - 1, .chunk = c, .link = l},
             "step {}: chunk {} is sent twice over {}", step_, c, name(l));
  }

  // By the links that the step uses, which may be far fewer than the machine has. Rounds of a file go to 1e9
  // and bandwidths to 1e6, so their product is a long long.
  void within_bandwidth(const Step& step) {
    std::map<LinkId, long long> load;
    for (const Send& send : step.sends) ++load[send.link];
    std::map<std::size_t, long long> shared;  // by limit
    const long long rounds = step.rounds;
    for (const auto& [l, carried] : load) {
      if (const long long most = rounds * topology_.links[l].bandwidth; carried > most)
        report(Kind::Bandwidth, {.step = step_ - 1, .link = l}, "step {}: {} carries {}, at most {} in {}",
               step_, name(l), counted(carried, "chunk"), most, counted(rounds, "round"));
      for (std::size_t limit : limits_of_[l]) shared[limit] += carried;
    }
    count_different(step, shared);
    for (const auto& [limit, carried] : shared)
      if (const long long most = rounds * topology_.limits[limit].bandwidth; carried > most)
        report(Kind::Bandwidth, {.step = step_ - 1},
               "step {}: shared limit {} ({}) carries {}, at most {} in {}", step_, limit,
               topology_.limits[limit].name, counted(carried, "chunk"), most, counted(rounds, "round"));
  }

  // Loads of limits that compute: by ir/topology.h, a value that several ranks get from one rank counts once,
  // and so does the sum that one rank gets from several. A limit that can do both does the first for copies
  // and the second for sums.
  void count_different(const Step& step, std::map<std::size_t, long long>& shared) const {
    std::map<std::size_t, std::set<std::tuple<Chunk, bool, Rank>>> values;  // by limit
    for (const Send& send : step.sends)
      for (std::size_t limit : limits_of_[send.link]) {
        const auto [multicast, reduce] = topology_.limits[limit].abilities;
        if (!multicast && !reduce) continue;
        const bool sum = reduce && (send.reduce || !multicast);
        values[limit].insert({send.chunk, sum, sum ? dst(send) : src(send)});
      }
    for (const auto& [limit, different] : values) shared[limit] = std::ssize(different);
  }

  // The state has one chunk at a time. A step is run in parts, one per chunk, which is equivalent: a send
  // neither reads nor changes other chunks. Conditions before a part are checked before apply(), conditions
  // after it, after.
  // A chunk that is a sum of others comes after these, and starts when the last of them has come.
  void chunk_by_chunk() {
    const SendsByChunk all = sends_by_chunk(collective_, schedule_);
    const std::vector<std::vector<Chunk>> operands = operands_of(collective_);
    std::vector<Chunk> order(collective_.chunks.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_partition(order, [&](Chunk c) { return !collective_.chunks[c].summed; });
    State state(topology_, collective_);
    for (const Chunk c : order) {
      if (full()) break;
      const std::size_t before = found_.size();
      starts_after_ = 0;
      for (const Chunk operand : operands[c])
        for (const ChunkSend& each : all.of(operand))
          if (dst(each.send) == collective_.chunks[c].pre.front())
            starts_after_ = std::max(starts_after_, each.step);
      const std::span<const ChunkSend> sends = all.of(c);
      state.restart();
      for (auto next = sends.begin(); next != sends.end();) {
        Step part;
        for (step_ = next->step; next != sends.end() && next->step == step_; ++next)
          part.sends.push_back(next->send);
        senders_hold(state, part);
        receivers_lack(state, part);
        state.apply(part);
        nothing_counted_twice(state, part);
      }
      postcondition(state, c);
      if (found_.size() == before) agreement(c, sends);
    }
  }

  // Only for chunks that are right otherwise: the order of a wrong sum means nothing.
  void agreement(Chunk c, std::span<const ChunkSend> sends) {
    if (!asks_order(collective_, c)) return;
    if (const std::string words = sums_of(topology_, collective_, c, sends).disagreement; !words.empty())
      report(Kind::Order, {.chunk = c}, "chunk {}: {}", c, words);
  }

  // A chunk that arrives in a step can be sent from the next step on: values are those before the step.
  void senders_hold(const State& state, const Step& step) {
    for (const Send& send : step.sends)
      if (!state.holds(send.chunk, src(send)) ||
          (step_ <= starts_after_ && starts_at(collective_.chunks[send.chunk], src(send))))
        report(Kind::Absent, of(send, src(send)),
               "step {}: rank {} sends chunk {} over {}, but does not hold it", step_, src(send), send.chunk,
               name(send.link));
  }

  // Of a sum, a copy may replace what is incomplete; whether that lost something shows at the end. Two copies
  // to one receiver are wrong even where they are equal: which of them stays must not depend on timing.
  void receivers_lack(const State& state, const Step& step) {
    std::vector<Arrival> copies;
    for (const Send& send : step.sends) {
      if (send.reduce && !collective_.combining)
        report(Kind::Match, of(send, dst(send)),
               "step {}: chunk {} is added up at rank {}, but this collective only copies", step_, send.chunk,
               dst(send));
      if (send.reduce) continue;
      copies.push_back({send.chunk, dst(send)});
      if (collective_.combining ? state.is_complete(send.chunk, dst(send))
                                : state.holds(send.chunk, dst(send)))
        report(Kind::Repeated, of(send, dst(send)),
               "step {}: rank {} receives chunk {} over {}, but already has it", step_, dst(send), send.chunk,
               name(send.link));
    }
    for (const auto& [c, n] : repeated(std::move(copies)))
      report(Kind::Repeated, {.rank = n, .step = step_ - 1, .chunk = c},
             "step {}: rank {} receives two copies of chunk {}", step_, n, c);
  }

  // After the step and not send by send, since sums that are fine may overlap where they meet: on a ring of
  // 3, rank 0 gets {1} from rank 1 and {1, 2} from rank 2 in one step.
  void nothing_counted_twice(const State& state, const Step& step) {
    if (!collective_.combining) return;  // there a second copy is found where it arrives
    std::vector<Arrival> arrivals;
    for (const Send& send : step.sends) arrivals.push_back({send.chunk, dst(send)});
    std::ranges::sort(arrivals);
    arrivals.erase(std::unique(arrivals.begin(), arrivals.end()), arrivals.end());
    for (const auto& [c, n] : arrivals) {
      if (!state.counts_twice(c, n)) continue;
      const auto counts = state.value(c, n);
      const auto twice = std::ranges::find_if(counts, [](int count) { return count > 1; });
      report(Kind::CountedTwice, {.rank = n, .step = step_ - 1, .chunk = c},
             "step {}: the contribution of rank {} to chunk {} is counted {} times at rank {}", step_,
             twice - counts.begin(), c, *twice, n);
    }
  }

  void postcondition(const State& state, Chunk c) {
    for (Rank n : collective_.chunks[c].post) {
      if (state.is_complete(c, n)) continue;
      if (!state.holds(c, n)) {
        report(Kind::Outcome, {.rank = n, .chunk = c}, "at the end: rank {} does not have chunk {}", n, c);
        continue;
      }
      // Something is there, and it is not complete. If nothing is missing, something is in it too often.
      const RankSet& pre = collective_.chunks[c].pre;
      const auto missing = std::ranges::find_if(
          pre, [&](Rank i) { return collective_.combining && state.value(c, n)[i] == 0; });
      if (missing != pre.end())
        report(Kind::Outcome, {.rank = n, .chunk = c},
               "at the end: the sum of chunk {} at rank {} lacks the contribution of rank {}", c, n,
               *missing);
      else
        report(Kind::Outcome, {.rank = n, .chunk = c},
               "at the end: the sum of chunk {} at rank {} counts a contribution more than once", c, n);
    }
  }

  template <typename T>
  static std::vector<T> repeated(std::vector<T> all) {
    std::ranges::sort(all);
    std::vector<T> found;
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i] == all[i - 1] && (found.empty() || found.back() != all[i])) found.push_back(all[i]);
    return found;
  }

  const Topology& topology_;
  const Collective& collective_;
  const Schedule& schedule_;
  std::vector<std::vector<std::size_t>> limits_of_ = {};  // by link
  int step_ = 0;                                          // counted from 1, as people do
  int starts_after_ = 0;                                  // the chunk: the last step that brings of its sum
};

}  // namespace

std::vector<Fault> violations(const Topology& topology, const Collective& collective,
                              const Schedule& schedule, int limit) {
  return ScheduleVerifier(topology, collective, schedule, limit).run();
}

std::vector<Fault> violations(const Topology& topology, const Collective& asked, const Point& point,
                              int limit) {
  std::vector<Fault> faults = violations(topology, point.collective, point.schedule, limit);
  const int left = limit - static_cast<int>(faults.size());
  for (Fault& fault : differences(asked, point.collective, left)) faults.push_back(std::move(fault));
  const int steps = static_cast<int>(point.schedule.steps.size()), rounds = total_rounds(point.schedule);
  if (static_cast<int>(faults.size()) < limit && (point.cost.steps != steps || point.cost.rounds != rounds))
    faults.push_back({.kind = Fault::Kind::Statement,
                      .words = fmt::format("states {} and {}, its schedule has {} and {}",
                                           counted(point.cost.steps, "step"),
                                           counted(point.cost.rounds, "round"), steps, rounds)});
  return faults;
}

}  // namespace chorale
