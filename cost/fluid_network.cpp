// Rates are water levels: all transfers' rates rise together, by their weights, until a resource is full; the
// rates of its users stay, the others rise on. Only transfers that are connected to a change through common
// resources are computed again: elsewhere nothing changes.
//
// Alternative that lost: exclusive use, the first free link in the order of readiness. A limit that two links
// share then idles while a transfer waits for its other end, up to a half of the time if all send to all,
// which neither networks nor rounds do.
//
// Times that differ by rounding alone are one: transfers of equal size end together, and rates are computed
// once for them.
#include "cost/fluid_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/error.h"

namespace chorale {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-11;

}  // namespace

// Resources are numbered: the links, then the limits. All vectors by resource have that order.
FluidNetwork::FluidNetwork(const Topology& topology) : topology_(topology) {
  const std::size_t links = topology.links.size(), resources = links + topology.limits.size();
  limits_of_.resize(links);
  for (LinkId l = 0; l < static_cast<LinkId>(links); ++l) {
    between_[{topology.links[l].src, topology.links[l].dst}].push_back(l);
    capacity_.push_back(topology.links[l].bandwidth);
  }
  for (int i = 0; i < std::ssize(topology.limits); ++i) {
    capacity_.push_back(topology.limits[i].bandwidth);
    for (const LinkId l : topology.limits[i].links) limits_of_[l].push_back(i);
  }
  on_.resize(resources);
  busy_us_.resize(resources);
  backlog_us_.resize(resources);
  room_.resize(resources);
  demand_.resize(resources);
  open_.resize(resources);
  resource_seen_.resize(resources);
}

const std::vector<LinkId>& FluidNetwork::links_between(Rank from, Rank to) const {
  const auto at = between_.find({from, to});
  if (at == between_.end())
    throw InputError(topology_.name,
                     fmt::format("has no link from rank {} to rank {}, which the program uses", from, to),
                     "use a machine that has it");
  return at->second;
}

double FluidNetwork::least_alpha(Rank from, Rank to) const {
  double least = kNever;
  for (const LinkId l : links_between(from, to)) least = std::min(least, topology_.links[l].alpha_us);
  return least;
}

int FluidNetwork::start(LinkId l, double bytes, int messages) {
  std::vector<Counted> all;
  for (const int limit : limits_of_[l]) all.push_back({.limit = limit});
  return start(l, bytes, messages, all);
}

// A transfer of no bytes leaves at once and is never given a rate; it still takes the latency.
int FluidNetwork::start(LinkId l, double bytes, int messages, const std::vector<Counted>& limits) {
  const int number = static_cast<int>(transfers_.size());
  const double us_per_byte = topology_.links[l].beta_us_per_byte;
  Transfer& transfer = transfers_.emplace_back(
      Transfer{.link = l, .weight = static_cast<double>(messages), .bytes_left = bytes, .since = now_});
  transfer_seen_.push_back(0);
  fixed_.push_back(0);
  transfer.leaves = transfer.arrives = kNever;
  transfer.uses.push_back({.resource = l, .us_per_byte = us_per_byte});
  for (const Counted& each : limits)
    if (each.part > 0)
      transfer.uses.push_back({.resource = static_cast<int>(topology_.links.size()) + each.limit,
                               .us_per_byte = us_per_byte * each.part});
  for (const Use& use : transfer.uses) {
    const double us = use.us_per_byte * bytes / capacity_[use.resource];
    busy_us_[use.resource] += us;
    backlog_us_[use.resource] += us;
    on_[use.resource].push_back(number);
    changed_.push_back(use.resource);
  }
  if (bytes <= 0) leave(number);
  return number;
}

// Of several links between two ranks the one on which the message would be there first, by what is still
// to be sent over the link and its limits; a program does not say which.
int FluidNetwork::start_between(Rank from, Rank to, double bytes) {
  const std::vector<LinkId>& links = links_between(from, to);
  had_a_choice_ = had_a_choice_ || links.size() > 1;
  const auto there = [&](LinkId l) {
    const double us = topology_.links[l].beta_us_per_byte * bytes;
    double longest = backlog_us_[l] + us / capacity_[l];
    for (const int i : limits_of_[l]) {
      const std::size_t limit = topology_.links.size() + static_cast<std::size_t>(i);
      longest = std::max(longest, backlog_us_[limit] + us / capacity_[limit]);
    }
    return longest + topology_.links[l].alpha_us;
  };
  return start(*std::ranges::min_element(links, {}, there), bytes);
}

void FluidNetwork::wake_at(double time) {
  events_.push({.time = time});
}

// The last byte has left: resources are free, and the message arrives a latency later.
void FluidNetwork::leave(int number) {
  Transfer& transfer = transfers_[number];
  transfer.leaves = now_;
  transfer.arrives = now_ + topology_.links[transfer.link].alpha_us;
  events_.push({.time = transfer.arrives, .transfer = number, .arrival = true});
  for (const Use& use : transfer.uses) {
    std::erase(on_[use.resource], number);
    changed_.push_back(use.resource);
    backlog_us_[use.resource] -= use.us_per_byte * transfer.bytes_left / capacity_[use.resource];
    if (on_[use.resource].empty()) backlog_us_[use.resource] = 0;
  }
  transfer.uses = {};
}

// An event whose transfer has another rate by now is stale (`version`) and dropped: rates change more
// often than transfers end, and a heap cannot take elements out.
bool FluidNetwork::advance() {
  share();
  const auto is_stale = [&](const Event& event) {
    return event.transfer >= 0 && !event.arrival && transfers_[event.transfer].version != event.version;
  };
  while (!events_.empty() && is_stale(events_.top())) events_.pop();
  if (events_.empty()) return false;
  now_ = events_.top().time;
  arrivals_.clear();
  while (!events_.empty() && events_.top().time <= now_ * (1 + kRounding)) {
    const Event event = events_.top();
    events_.pop();
    if (is_stale(event) || event.transfer < 0) continue;
    if (event.arrival) {
      transfers_[event.transfer].arrives = now_;
      arrivals_.push_back(event.transfer);
    } else {
      ++transfers_[event.transfer].version;
      leave(event.transfer);
    }
  }
  return true;
}

// Up to now it has flown at its old rate; the event of its end is set anew.
void FluidNetwork::flow(int number, double rate) {
  Transfer& transfer = transfers_[number];
  if (std::abs(rate - transfer.rate) <= kRounding * rate) return;
  transfer.bytes_left = std::max(0.0, transfer.bytes_left - transfer.rate * (now_ - transfer.since));
  for (const Use& use : transfer.uses)
    backlog_us_[use.resource] -=
        use.us_per_byte * transfer.rate * (now_ - transfer.since) / capacity_[use.resource];
  transfer.since = now_;
  transfer.rate = rate;
  events_.push(
      {.time = now_ + transfer.bytes_left / rate, .transfer = number, .version = ++transfer.version});
}

// First the connected component of what has changed: its resources and transfers. Then progressive filling
// (max-min fairness, Bertsekas and Gallager): the resource that is full at the lowest level fixes its
// transfers, and the others share what these leave.
void FluidNetwork::share() {
  if (changed_.empty()) return;
  ++round_;
  std::vector<int> resources, transfers;
  const auto see = [&](int resource) {
    if (resource_seen_[resource] == round_) return;
    resource_seen_[resource] = round_;
    resources.push_back(resource);
    room_[resource] = capacity_[resource];
    demand_[resource] = 0;
    open_[resource] = 0;
  };
  for (const int resource : changed_) see(resource);
  changed_.clear();
  for (std::size_t i = 0; i < resources.size(); ++i)
    for (const int t : on_[resources[i]]) {
      if (transfer_seen_[t] == round_) continue;
      transfer_seen_[t] = round_;
      transfers.push_back(t);
      for (const Use& use : transfers_[t].uses) {
        see(use.resource);
        demand_[use.resource] += use.us_per_byte * transfers_[t].weight;
        ++open_[use.resource];
      }
    }

  // The level at which a resource is full never sinks while others fix transfers below it: a heap with stale
  // elements is enough.
  using Level = std::pair<double, int>;
  std::priority_queue<Level, std::vector<Level>, std::greater<>> full;
  const auto level_of = [&](int resource) { return std::max(0.0, room_[resource]) / demand_[resource]; };
  for (const int resource : resources)
    if (open_[resource] > 0) full.push({level_of(resource), resource});
  while (!full.empty()) {
    const auto [level, resource] = full.top();
    full.pop();
    if (open_[resource] == 0) continue;
    if (const double risen = level_of(resource); risen > level * (1 + kRounding)) {
      full.push({risen, resource});
      continue;
    }
    for (const int t : on_[resource]) {
      if (fixed_[t] == round_) continue;
      fixed_[t] = round_;
      const double weight = transfers_[t].weight;
      for (const Use& use : transfers_[t].uses) {
        room_[use.resource] -= use.us_per_byte * weight * level;
        demand_[use.resource] -= use.us_per_byte * weight;
        --open_[use.resource];
      }
      flow(t, weight * level);
    }
  }
}

FluidNetwork::Busiest FluidNetwork::busiest() const {
  const auto most = std::ranges::max_element(busy_us_);
  if (most == busy_us_.end() || *most <= 0) return {};
  const std::size_t number = static_cast<std::size_t>(most - busy_us_.begin()),
                    links = topology_.links.size();
  return {.us = *most,
          .name = number < links
                      ? fmt::format("link {} -> {}", topology_.links[number].src, topology_.links[number].dst)
                      : "limit " + topology_.limits[number - links].name};
}

}  // namespace chorale
