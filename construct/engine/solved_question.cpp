// A reversed machine keeps the numbers of its links and limits (ir/topology.h), and the dual those of its
// chunks. So sends need no translation, only their order is reversed, and copies become sums.
#include "construct/engine/solved_question.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace chorale {

SolvedQuestion::SolvedQuestion(const Topology& asked_on, const Collective& asked)
    : is_reversed(has_copying_dual(asked)),
      topology(is_reversed ? reversed(asked_on) : asked_on),
      collective(is_reversed ? dual(asked) : asked) {}

Schedule SolvedQuestion::answer(Schedule of_solved) const {
  return is_reversed ? reversed(of_solved, true) : std::move(of_solved);
}

// Costs need no translation: a reversed step loads the same links, and has as many rounds.
Point SolvedQuestion::point(Schedule of_solved, const Collective& asked,
                            const std::string& construction) const {
  Point point{.method = is_reversed ? Method::Dual : Method::Direct,
              .construction = construction,
              .collective = asked};
  point.schedule = answer(std::move(of_solved));
  point.cost = cost_of(point.schedule, asked.chunks_per_block);
  return point;
}

// Links are grouped by ends, width and prices, and the k-th of a group is mapped to the k-th of the reverse
// group; so mirroring twice is the identity. Limits are then compared as sets of mirrored links. Another
// pairing of parallel links might preserve limits where this one does not: then nothing is mirrored.

namespace {

using LimitKey = std::tuple<int, bool, bool, std::vector<LinkId>>;

// With links numbered by `mirror`, and the abilities of switches reversed (multicast and reduce exchanged).
std::vector<LimitKey> limits_over(const Topology& topology, const std::vector<LinkId>* mirror) {
  std::vector<LimitKey> all;
  for (const SharedLimit& limit : topology.limits) {
    std::vector<LinkId> links = limit.links;
    auto [multicast, reduce] = std::pair(limit.abilities.multicast, limit.abilities.reduce);
    if (mirror != nullptr) {
      for (LinkId& l : links) l = (*mirror)[l];
      std::swap(multicast, reduce);
    }
    std::ranges::sort(links);
    all.emplace_back(limit.bandwidth, multicast, reduce, std::move(links));
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace

std::optional<std::vector<LinkId>> mirror_of(const Topology& topology) {
  std::map<std::tuple<Node, Node, int, double, double>, std::vector<LinkId>> alike;
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
    const Link& link = topology.links[l];
    alike[{link.src, link.dst, link.bandwidth, link.alpha_us, link.beta_us_per_byte}].push_back(l);
  }
  std::vector<LinkId> mirror(topology.links.size());
  for (const auto& [key, links] : alike) {
    const auto [src, dst, bandwidth, alpha, beta] = key;
    const auto back = alike.find({dst, src, bandwidth, alpha, beta});
    if (back == alike.end() || back->second.size() != links.size()) return std::nullopt;
    for (std::size_t k = 0; k < links.size(); ++k) mirror[links[k]] = back->second[k];
  }
  if (limits_over(topology, nullptr) != limits_over(topology, &mirror)) return std::nullopt;
  return mirror;
}

// The reversed schedule is of the reversed machine, with its links' numbers (reversed, ir/schedule.h); the
// mirror brings it back to this one.
Point mirrored(const Point& point, const Collective& summing, const std::vector<LinkId>& mirror) {
  Point turned{.cost = point.cost,
               .method = Method::Dual,
               .construction = point.construction,
               .collective = summing,
               .schedule = reversed(point.schedule, true),
               .seconds = point.seconds};
  // What people know by name has another one for the other half.
  constexpr std::string_view kCopies = "allgather";
  if (const auto at = turned.construction.find(kCopies); at != std::string::npos)
    turned.construction.replace(at, kCopies.size(), "reducescatter");
  for (Step& step : turned.schedule.steps) {
    for (Send& send : step.sends) send.link = mirror[send.link];
    std::ranges::sort(step.sends);
  }
  return turned;
}

std::vector<ChunkClass> moving_classes(const Collective& collective) {
  std::vector<ChunkClass> classes = chunk_classes(collective);
  std::erase_if(classes, [&](const ChunkClass& chunks) {
    if (collective.combining && chunks.pre.size() > 1) return false;  // even where it ends, others contribute
    return std::ranges::all_of(chunks.post, [&](Rank n) { return chunks.pre.contains(n); });
  });
  return classes;
}

// Sends of a step are in order before it is decided which of them is the first at its rank, so equal
// schedules come out equal.
Schedule tidy_sums(const Topology& topology, const Collective& collective, Schedule schedule) {
  std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
  std::set<std::pair<Chunk, Rank>> there;
  for (Step& step : schedule.steps) {
    std::ranges::sort(step.sends);
    for (Send& send : step.sends) {
      if (!send.reduce) continue;
      const Rank to = topology.links[send.link].dst;
      if (starts_at(collective.chunks[send.chunk], to)) continue;
      send.reduce = !there.insert({send.chunk, to}).second;
    }
    std::ranges::sort(step.sends);
    step.rounds = needed_rounds(topology, step);
  }
  return schedule;
}

}  // namespace chorale
