#include "semantics/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "semantics/state.h"

namespace chorale {
namespace {

class Referee {
 public:
  Referee(const Topology& topology, const Collective& collective, const Schedule& schedule, int limit)
      : topology_(topology), collective_(collective), schedule_(schedule), limit_(limit) {}

  std::vector<std::string> run() {
    if (topology_.ranks != collective_.ranks) {
      say("the collective is for {} ranks, the topology has {}", collective_.ranks, topology_.ranks);
      return std::move(found_);
    }
    if (!in_range()) return std::move(found_);
    State state(topology_, collective_);
    for (std::size_t s = 0; s < schedule_.steps.size() && !full(); ++s) {
      step_ = static_cast<int>(s) + 1;
      const Step& step = schedule_.steps[s];
      no_send_twice(step);
      within_bandwidth(step);
      senders_hold(state, step);
      receivers_lack(state, step);
      state.apply(step);
      nothing_counted_twice(state, step);
    }
    postcondition(state);
    return std::move(found_);
  }

 private:
  bool full() const { return static_cast<int>(found_.size()) >= limit_; }

  template <typename... Arguments>
  void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!full()) found_.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  std::string link_name(LinkId l) const {
    return fmt::format("link {} ({} -> {})", l, topology_.links[l].src, topology_.links[l].dst);
  }

  bool in_range() {
    const int chunks = static_cast<int>(collective_.chunks.size()),
              links = static_cast<int>(topology_.links.size());
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
      if (schedule_.steps[s].rounds < 1)
        say("step {}: {} rounds, at least 1 is needed", s + 1, schedule_.steps[s].rounds);
      for (const Send& send : schedule_.steps[s].sends) {
        if (send.chunk < 0 || send.chunk >= chunks)
          say("step {}: chunk {} is not one of {}", s + 1, send.chunk, chunks);
        if (send.link < 0 || send.link >= links) {
          say("step {}: link {} is not one of {}", s + 1, send.link, links);
        } else if (topology_.links[send.link].src >= topology_.ranks ||
                   topology_.links[send.link].dst >= topology_.ranks) {
          say("step {}: {} ends at a switch; flatten the topology", s + 1, link_name(send.link));
        }
      }
    }
    return found_.empty();
  }

  void no_send_twice(const Step& step) {
    std::set<std::pair<Chunk, LinkId>> seen;
    for (const Send& send : step.sends)
      if (!seen.insert({send.chunk, send.link}).second)
        say("step {}: chunk {} is sent twice over {}", step_, send.chunk, link_name(send.link));
  }

  void within_bandwidth(const Step& step) {
    std::vector<long long> load(topology_.links.size(), 0);
    for (const Send& send : step.sends) ++load[send.link];
    const long long rounds = step.rounds;
    for (std::size_t l = 0; l < load.size(); ++l)
      if (load[l] > rounds * topology_.links[l].bandwidth)
        say("step {}: {} carries {} chunks, at most {} in {} rounds", step_,
            link_name(static_cast<LinkId>(l)), load[l], rounds * topology_.links[l].bandwidth, rounds);
    for (std::size_t i = 0; i < topology_.limits.size(); ++i) {
      const SharedLimit& limit = topology_.limits[i];
      long long sum = 0;
      for (LinkId l : limit.links) sum += load[l];
      if (sum > rounds * limit.bandwidth)
        say("step {}: shared limit {} '{}' carries {} chunks, at most {} in {} rounds", step_, i, limit.name,
            sum, rounds * limit.bandwidth, rounds);
    }
  }

  void senders_hold(const State& state, const Step& step) {
    for (const Send& send : step.sends)
      if (const Rank src = topology_.links[send.link].src; !state.holds(send.chunk, src))
        say("step {}: rank {} sends chunk {} to rank {}, but does not hold it", step_, src, send.chunk,
            topology_.links[send.link].dst);
  }

  void receivers_lack(const State& state, const Step& step) {
    std::set<std::pair<Chunk, Rank>> copied;
    for (const Send& send : step.sends) {
      const Rank dst = topology_.links[send.link].dst;
      if (send.reduce) {
        if (!collective_.combining)
          say("step {}: chunk {} is added up at rank {}, but this collective only copies", step_, send.chunk,
              dst);
        continue;
      }
      if (!copied.insert({send.chunk, dst}).second)
        say("step {}: rank {} receives two copies of chunk {}", step_, dst, send.chunk);
      if (collective_.combining ? state.is_complete_sum(send.chunk, dst) : state.holds(send.chunk, dst))
        say("step {}: rank {} already has chunk {}", step_, dst, send.chunk);
    }
  }

  void nothing_counted_twice(const State& state, const Step& step) {
    if (!collective_.combining) return;
    for (const Send& send : step.sends)
      if (const Rank dst = topology_.links[send.link].dst; state.counts_twice(send.chunk, dst))
        say("step {}: a contribution to chunk {} is counted twice at rank {}", step_, send.chunk, dst);
  }

  void postcondition(const State& state) {
    for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()) && !full(); ++c)
      for (Rank n : collective_.chunks[c].post)
        if (!state.is_complete_sum(c, n)) {
          if (state.holds(c, n))
            say("at the end: the sum of chunk {} at rank {} is not complete", c, n);
          else
            say("at the end: rank {} does not have chunk {}", n, c);
        }
  }

  const Topology& topology_;
  const Collective& collective_;
  const Schedule& schedule_;
  const int limit_;
  int step_ = 0;
  std::vector<std::string> found_ = {};
};

using Input = std::pair<Rank, int>;                                    // rank, position
using Meaning = std::map<std::pair<Rank, int>, std::map<Input, int>>;  // (rank, output position) -> inputs

// A copied chunk may be taken from any rank that has it; the first stands for all of them.
Meaning meaning(const Collective& collective) {
  Meaning result;
  for (const ChunkSpec& spec : collective.chunks)
    for (Rank n : spec.post) {
      auto& sum = result[{n, spec.output}];
      if (collective.combining)
        for (Rank i : spec.pre) ++sum[{i, spec.input}];
      else
        ++sum[{spec.pre.front(), spec.input}];
    }
  return result;
}

}  // namespace

std::vector<std::string> violations(const Topology& topology, const Collective& collective,
                                    const Schedule& schedule, int limit) {
  return Referee(topology, collective, schedule, limit).run();
}

std::vector<std::string> differences(const Collective& asked, const Collective& done, int limit) {
  std::vector<std::string> found;
  const Meaning want = meaning(asked), have = meaning(done);
  for (const auto& [place, sum] : want) {
    if (static_cast<int>(found.size()) >= limit) break;
    const auto at = have.find(place);
    if (at == have.end())
      found.push_back(fmt::format("rank {} gets nothing at output position {}", place.first, place.second));
    else if (at->second != sum)
      found.push_back(
          fmt::format("rank {} gets another sum at output position {}", place.first, place.second));
  }
  for (const auto& [place, sum] : have)
    if (!want.contains(place) && static_cast<int>(found.size()) < limit)
      found.push_back(fmt::format("rank {} writes output position {}, which was not asked for", place.first,
                                  place.second));
  return found;
}

}  // namespace chorale
