// Distances are of one breadth-first search for each set of ranks that chunks start at. Entries: the bins of a link are
// itself, where no limit over it is always the narrower one, and its limits, all up to symmetry; links into a rank with
// the same bins are one entry, so that a rank behind a switch has one for the switch and not one for each other rank.
#include "construct/ground.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <tuple>

namespace chorale {
namespace {

constexpr std::uint16_t kFar = std::numeric_limits<std::uint16_t>::max();

// Links by their ends and width, so that the group can be applied to them. Parallel ones that are equal go by their numbers,
// as in symmetry/automorphisms.h.
class LinkImages {
 public:
  explicit LinkImages(const Topology& topology) : topology_(topology), number_(topology.links.size()) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l) {
      std::vector<LinkId>& same = links_[key(l, topology.links[l].src, topology.links[l].dst)];
      number_[l] = static_cast<int>(same.size());
      same.push_back(l);
    }
  }
  LinkId image(LinkId l, const std::vector<Rank>& ranks) const {
    const Link& link = topology_.links[l];
    return links_.at(key(l, ranks[link.src], ranks[link.dst]))[number_[l]];
  }

 private:
  using Key = std::tuple<Rank, Rank, int, double, double>;
  Key key(LinkId l, Rank src, Rank dst) const {
    const Link& link = topology_.links[l];
    return {src, dst, link.bandwidth, link.alpha_us, link.beta_us_per_byte};
  }
  const Topology& topology_;
  std::vector<int> number_;
  std::map<Key, std::vector<LinkId>> links_ = {};
};

}  // namespace

Ground::Ground(const Topology& topology, const Collective& collective, std::vector<std::vector<Rank>> group)
    : topology_(topology), collective_(collective), group_(std::move(group)) {
  assert(!group_.empty() && !collective.combining && topology.switches == 0);
  find_orbits();
  find_distances();
  find_entries();
}

void Ground::find_orbits() {
  index_.assign(ranks(), -1);
  element_.assign(ranks(), 0);
  for (Rank n = 0; n < ranks(); ++n) {
    if (index_[n] >= 0) continue;
    for (int g = 0; g < order(); ++g) {
      index_[group_[g][n]] = static_cast<int>(representatives_.size());
      element_[group_[g][n]] = g;
    }
    representatives_.push_back(n);
  }
  if (order() == 1) return;
  back_.resize(static_cast<std::size_t>(ranks()) * ranks());
  for (Rank u = 0; u < ranks(); ++u)
    for (Rank n = 0; n < ranks(); ++n)
      back_[static_cast<std::size_t>(u) * ranks() + group_[element_[u]][n]] = n;
}

void Ground::find_distances() {
  std::map<RankSet, int> starts;
  for (const ChunkSpec& spec : collective_.chunks)
    start_.push_back(starts.try_emplace(spec.pre, static_cast<int>(starts.size())).first->second);
  std::vector<std::vector<Rank>> after(ranks());
  for (const Link& link : topology_.links) after[link.src].push_back(link.dst);
  distance_.assign(starts.size() * ranks(), kFar);
  beyond_.assign(starts.size() * ranks(), 0);
  for (const auto& [pre, start] : starts) {
    std::uint16_t* const distance = &distance_[static_cast<std::size_t>(start) * ranks()];
    std::uint16_t* const beyond = &beyond_[static_cast<std::size_t>(start) * ranks()];
    std::vector<Rank> order(pre.begin(), pre.end());
    for (Rank n : pre) distance[n] = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (Rank n : after[order[i]])
        if (distance[n] == kFar) {
          distance[n] = static_cast<std::uint16_t>(distance[order[i]] + 1);
          order.push_back(n);
        }
    for (auto n = order.rbegin(); n != order.rend(); ++n)
      for (Rank m : after[*n])
        if (distance[m] == distance[*n] + 1)
          beyond[*n] = std::max<std::uint16_t>(beyond[*n], static_cast<std::uint16_t>(beyond[m] + 1));
    farthest_ = std::max<int>(farthest_, distance[order.back()]);
  }
}

void Ground::find_entries() {
  const int links = static_cast<int>(topology_.links.size());
  std::vector<std::vector<LinkId>> into(representatives_.size());
  entering_.assign(links, -1);
  {
    const LinkImages images(topology_);
    if (order() > 1) images_.resize(links);
    for (LinkId l = 0; l < links; ++l) {
      const Rank v = topology_.links[l].dst;
      if (representatives_[index_[v]] != v) continue;
      into[index_[v]].push_back(l);
      entering_[l] = l;
      if (order() == 1) continue;
      for (const std::vector<Rank>& g : group_) images_[l].push_back(images.image(l, g));
      for (LinkId image : images_[l]) entering_[image] = l;
    }
  }
  // An orbit of limits is told by the links of one of them, carried to representatives, with repetitions.
  std::map<std::pair<int, std::vector<LinkId>>, int> known;
  std::vector<std::map<int, int>> passed(links);  // by link into a representative: bin, weight
  for (const SharedLimit& limit : topology_.limits) {
    std::vector<LinkId> carried;
    for (LinkId l : limit.links) carried.push_back(entering_[l]);
    std::ranges::sort(carried);
    const auto [at, fresh] = known.try_emplace({limit.bandwidth, carried}, static_cast<int>(bins_.size()));
    bin_of_limit_.push_back(at->second);
    if (!fresh) continue;
    bins_.push_back({.capacity = limit.bandwidth});
    for (LinkId l : carried) ++passed[l][at->second];
  }
  for (const std::vector<LinkId>& ways : into)
    for (LinkId l : ways) {
      const long long wide = topology_.links[l].bandwidth;
      if (std::ranges::any_of(passed[l],
                              [&](const auto& p) { return wide * p.second >= bins_[p.first].capacity; }))
        continue;
      passed[l][static_cast<int>(bins_.size())] = 1;
      bins_.push_back({.capacity = wide});
    }

  struct Use {
    std::vector<LinkId> links = {};
    int weight = 0;
    int representative = -1;
  };
  std::vector<Use> uses(bins_.size());
  for (int i = 0; i < static_cast<int>(into.size()); ++i)
    for (LinkId l : into[i])
      for (const auto& [b, weight] : passed[l]) {
        Use& use = uses[b];
        if (!use.links.empty() && (use.representative != i || use.weight != weight)) bins_[b].split = true;
        use.representative = i;
        use.weight = weight;
        use.links.push_back(l);
      }
  // Of two bins over the same links of one representative the narrower one says all.
  std::map<std::vector<LinkId>, int> narrowest;
  std::vector<bool> idle(bins_.size(), false);
  for (int b = 0; b < static_cast<int>(bins_.size()); ++b) {
    if (bins_[b].split) continue;
    const auto [at, fresh] = narrowest.try_emplace(uses[b].links, b);
    if (fresh) continue;
    const int other = at->second;
    const bool narrower = bins_[b].capacity * uses[other].weight < bins_[other].capacity * uses[b].weight;
    idle[narrower ? other : b] = true;
    if (narrower) at->second = b;
  }

  for (const std::vector<LinkId>& ways : into) {
    std::vector<Entry>& entries = entries_.emplace_back();
    for (LinkId l : ways) {
      std::vector<Entry::Passed> bins;
      for (const auto& [b, weight] : passed[l])
        if (!idle[b]) bins.push_back({.bin = b, .weight = weight});
      std::ranges::sort(bins, {}, [&](const Entry::Passed& p) {
        const auto here = std::ranges::count_if(
            uses[p.bin].links, [&](LinkId m) { return topology_.links[m].dst == topology_.links[l].dst; });
        return std::pair(here, p.bin);
      });
      const auto same = std::ranges::find(entries, bins, &Entry::bins);
      if (same != entries.end())
        same->links.push_back(l);
      else
        entries.push_back({.links = {l}, .bins = bins});
    }
    // Nested: whoever passes a bin goes on through the same ones.
    std::map<int, std::vector<Entry::Passed>> rest;
    for (const Entry& entry : entries)
      for (auto p = entry.bins.begin(); p != entry.bins.end(); ++p) {
        const std::vector<Entry::Passed> after(p + 1, entry.bins.end());
        if (bins_[p->bin].split || rest.try_emplace(p->bin, after).first->second != after) separate_ = false;
      }
  }
}

Step Ground::carried_over(const std::vector<Pick>& picks) const {
  const int copies = collective_.chunks_per_block;
  Step step;
  step.sends.reserve(picks.size() * group_.size());
  for (const Pick& pick : picks)
    if (order() == 1)
      step.sends.push_back({.chunk = pick.chunk, .link = pick.link});
    else
      for (int g = 0; g < order(); ++g)
        step.sends.push_back({.chunk = group_[g][pick.chunk / copies] * copies + pick.chunk % copies,
                              .link = images_[pick.link][g]});
  std::ranges::sort(step.sends);
  step.rounds = needed_rounds(topology_, step);
  return step;
}

Holdings::Holdings(const Ground& ground)
    : ground_(&ground), since_(ground.representatives().size() * ground.chunks(), kMissing) {
  for (std::size_t i = 0; i < ground.representatives().size(); ++i)
    for (Chunk c = 0; c < ground.chunks(); ++c) {
      const ChunkSpec& spec = ground.collective().chunks[c];
      if (starts_at(spec, ground.representatives()[i]))
        since_[i * ground.chunks() + c] = 0;
      else
        ++missing_;
    }
}

}  // namespace chorale
