// Form alone decides what a switch does; the verifier of peer programs decides whether that is right.
#include "codegen/passes/by_switch.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace chorale {
namespace {

// The sends of a step of one chunk that have one receiver, or one sender.
using Group = std::tuple<bool, Chunk, Rank>;  // a sum? of which chunk, to or from which rank

class UseFinder {
 public:
  explicit UseFinder(const Verified<Schedule>& schedule)
      : topology_(schedule.topology()),
        collective_(schedule.collective()),
        teams_of_(topology_.links.size()) {
    for (const SharedLimit& limit : topology_.limits) {
      if (!limit.abilities.any()) continue;
      std::set<Rank> ends;
      for (const LinkId l : limit.links) ends.insert({topology_.links[l].src, topology_.links[l].dst});
      const std::vector<Rank> team(ends.begin(), ends.end());
      for (const LinkId l : limit.links)
        for (const bool sum : {false, true})
          if (sum ? limit.abilities.reduce : limit.abilities.multicast) teams_of_[l][sum].insert(team);
    }
    for (const Step& step : schedule->steps) add(step);
  }

  SwitchUses found() { return std::move(result_); }

 private:
  void add(const Step& step) {
    const std::size_t first = result_.uses.size();
    std::map<Group, std::vector<std::pair<int, LinkId>>> groups;  // messages and their links
    std::map<std::pair<Chunk, Rank>, int> arrivals;
    for (const Send& send : step.sends) {
      const Link& link = topology_.links[send.link];
      ++arrivals[{send.chunk, link.dst}];
      groups[{send.reduce, send.chunk, send.reduce ? link.dst : link.src}].push_back({message_++, send.link});
    }
    std::map<std::pair<Chunk, Rank>, int> added_elsewhere;  // values that go to several, counted once
    for (const auto& [group, sends] : groups) {
      const auto& [sum, chunk, rank] = group;
      const std::optional<std::vector<Rank>> team = team_of(sum, sends);
      if (sum && !team)
        for (const auto& [message, l] : sends)
          if (teams_of_[l].contains(false)) ++added_elsewhere[{chunk, topology_.links[l].src}];
      if (sends.size() < 2 || !team) continue;
      std::set<Rank> ends = {rank};
      bool alone = true;
      for (const auto& [message, l] : sends) {
        const Link& link = topology_.links[l];
        ends.insert(sum ? link.src : link.dst);
        alone = alone && arrivals[{chunk, link.dst}] == (sum ? std::ssize(sends) : 1);
      }
      const bool all = !sum || std::ranges::equal(ends, *team);
      const bool fixed = sum && collective_.order.kind == SumOrder::Kind::Fixed;
      if (!alone || !all || fixed || ends.size() != sends.size() + 1) {
        ++result_.missed;
        continue;
      }
      SwitchUse use{.sum = sum, .team = number_of(*team), .rank = rank, .chunk = chunk};
      for (const auto& [message, link] : sends) use.messages.push_back(message);
      use.values =
          values_.try_emplace({step_, chunk, use.team}, static_cast<int>(values_.size())).first->second;
      result_.uses.push_back(std::move(use));
    }
    if (collective_.order.kind == SumOrder::Kind::Agreed) choose_makers(first);
    result_.missed += static_cast<int>(
        std::ranges::count_if(added_elsewhere, [](const auto& at) { return at.second > 1; }));
    ++step_;
  }

  // The ranks that a switch reaches for all of them: of the largest limit that counts them once.
  std::optional<std::vector<Rank>> team_of(bool sum, const std::vector<std::pair<int, LinkId>>& sends) const {
    std::optional<std::vector<Rank>> largest;
    const auto teams = teams_of_[sends.front().second].find(sum);
    if (teams == teams_of_[sends.front().second].end()) return largest;
    for (const std::vector<Rank>& team : teams->second) {
      const bool of_all = std::ranges::all_of(sends, [&](const auto& send) {
        const auto there = teams_of_[send.second].find(sum);
        return there != teams_of_[send.second].end() && there->second.contains(team);
      });
      if (of_all && (!largest || team.size() > largest->size())) largest = team;
    }
    return largest;
  }

  // Where ranks have to agree, one of those that want a sum of the same values makes it.
  void choose_makers(std::size_t first) {
    std::map<int, std::vector<SwitchUse*>> sums;
    for (std::size_t u = first; u < result_.uses.size(); ++u)
      if (SwitchUse& use = result_.uses[u]; use.sum) sums[use.values].push_back(&use);
    for (const auto& [values, all] : sums)
      for (SwitchUse* use : all)
        if (all.size() > 1) use->maker = all[static_cast<std::size_t>(use->chunk) % all.size()]->rank;
  }

  int number_of(const std::vector<Rank>& team) {
    const auto at = std::ranges::find(result_.teams, team);
    if (at != result_.teams.end()) return static_cast<int>(at - result_.teams.begin());
    result_.teams.push_back(team);
    return static_cast<int>(result_.teams.size()) - 1;
  }

  const Topology& topology_;
  const Collective& collective_;
  // By link: the ends of limits that count its sums (true) or its copies once.
  std::vector<std::map<bool, std::set<std::vector<Rank>>>> teams_of_;
  std::map<std::tuple<int, Chunk, int>, int> values_ = {};
  SwitchUses result_ = {};
  int message_ = 0, step_ = 0;
};

// The events of a rank that make a sum of messages and of one value that the rank has.
struct TracedSum {
  std::vector<int> events = {};  // the last one stores the sum
  DataPlace own = {};
};

// Follows the messages from where they land: what is made of them, and of the one other value, is the sum
// when all additions are made.
std::optional<TracedSum> traced(const Events& events, const SwitchUse& use) {
  TracedSum sum;
  std::optional<DataPlace> own;  // found
  std::set<DataPlace> partial;
  std::size_t additions = 0;
  for (int e = 0; e < std::ssize(events) && additions < use.messages.size(); ++e) {
    const Event& event = events[e];
    if (event.gone || event.does.sends) continue;
    const bool takes = event.does.takes && std::ranges::count(use.messages, event.message) > 0;
    const auto is_partial = [&](const DataPlace& place) { return partial.contains(place); };
    if (!takes && (event.does.takes || std::ranges::none_of(event.does.from, is_partial))) continue;
    if (event.does.count != 1 ||
        (applies(event.does) && additions + operands(event.does) - 1 != use.messages.size()))
      return std::nullopt;
    for (const DataPlace& from : event.does.from) {
      if (is_partial(from)) {
        partial.erase(from);
        continue;
      }
      if (own) return std::nullopt;
      own = from;
    }
    partial.insert(event.does.to.begin(), event.does.to.end());
    additions += operands(event.does) - 1;
    sum.events.push_back(e);
  }
  if (!own || additions != use.messages.size() || partial.size() != events[sum.events.back()].does.to.size())
    return std::nullopt;
  sum.own = *own;
  return sum;
}

class Rewriter {
 public:
  Rewriter(const SwitchUses& uses, std::vector<Events>& ranks, std::map<int, Ends>& ends,
           std::vector<int>& scratch)
      : ranks_(ranks), ends_(ends), scratch_(scratch), before_(ranks.size()), late_(ranks.size()) {
    result_.teams = uses.teams;
    std::map<int, std::vector<const SwitchUse*>> once;  // by the number of values
    for (const SwitchUse& use : uses.uses)
      if (use.maker >= 0)
        once[use.values].push_back(&use);
      else
        make(use);
    for (const auto& [values, sums] : once) make_once(sums);
    for (Rank n = 0; n < std::ssize(ranks_); ++n) {
      put_late(n);
      offer_own(n);
    }
    if (result_.uses.empty()) result_.teams.clear();
    for (const std::vector<Rank>& team : result_.teams)
      for (const Rank n : team) scratch_[n] = most(team);
  }

  Switched switched() { return std::move(result_); }

 private:
  void add(const SwitchUse& use, int slot) {
    for (const int message : use.messages) result_.use_of[message] = static_cast<int>(result_.uses.size());
    result_.uses.push_back(use);
    result_.slots.push_back(slot);
  }

  void make(const SwitchUse& use) {
    if (!use.sum) {
      add(use, new_slot(use.team));
      return send_once(use.rank, use.messages);
    }
    const std::optional<TracedSum> sum = traced(ranks_[use.rank], use);
    if (!sum) return;
    add(use, shared_slot(use));
    add_up(*sum, use, result_.slots.back());
  }

  // Their maker's sum is as others are. It is sent instead of the maker's own value, after all sums of the
  // step, and then the others take it: so no rank waits for a sum before it has made those that are its own.
  void make_once(const std::vector<const SwitchUse*>& sums) {
    std::vector<TracedSum> all;
    for (const SwitchUse* use : sums)
      if (const std::optional<TracedSum> sum = traced(ranks_[use->rank], *use)) all.push_back(*sum);
    if (all.size() != sums.size()) return;
    const Rank maker = sums.front()->maker;
    SwitchUse copies{.team = sums.front()->team, .rank = maker, .chunk = sums.front()->chunk};
    for (std::size_t k = 0; k < sums.size(); ++k) {
      const SwitchUse& use = *sums[k];
      if (use.rank == maker) {
        add(use, shared_slot(use));
        add_up(all[k], use, result_.slots.back());
        Event result = ranks_[maker][all[k].events.back()];
        result.does = sending(result.does.to.front().slot, result.does.piece);
        late_[maker].push_back(result);
        continue;
      }
      for (const int e : all[k].events) ranks_[use.rank][e].gone = true;
      Event taken = ranks_[use.rank][all[k].events.back()];
      taken.does = {.takes = true, .to = taken.does.to, .piece = taken.does.piece};
      for (const int message : use.messages) {
        const Rank from = ends_.at(message).from;
        drop_send(from, message);
        if (from != maker) {
          ends_.erase(message);
          continue;
        }
        taken.message = message;
        copies.messages.push_back(message);
      }
      late_[use.rank].push_back(taken);
    }
    std::ranges::sort(copies.messages);
    late_[maker].back().message = copies.messages.front();
    result_.brought[copies.messages.front()] = copies.messages;
    add(copies, new_slot(copies.team));
  }

  void drop_send(Rank n, int message) {
    for (Event& event : ranks_[n])
      if (event.does.sends && event.message == message) event.gone = true;
  }

  // At the end of its step, sends first.
  void put_late(Rank n) {
    std::ranges::stable_sort(late_[n], {}, [](const Event& event) { return !event.does.sends; });
    for (Event& event : late_[n]) {
      const auto at = std::ranges::find_if(
          ranks_[n], [&](const Event& other) { return other.step > event.step + (other.late ? 1 : 0); });
      ++event.step;
      event.late = true;
      event.gone = false;
      ranks_[n].insert(at, event);
    }
  }

  int most(const std::vector<Rank>& team) const {
    int slots = 0;
    for (const Rank n : team) slots = std::max(slots, scratch_[n]);
    return slots;
  }
  int new_slot(int team) {
    const int slot = most(result_.teams[team]);
    for (const Rank n : result_.teams[team]) scratch_[n] = slot + 1;
    return slot;
  }
  // Sums of the same values read the same slots.
  int shared_slot(const SwitchUse& use) {
    const auto [at, first] = slot_of_.try_emplace(use.values);
    if (first) at->second = new_slot(use.team);
    return at->second;
  }

  // One event sends a value, whatever it is sent for.
  void send_once(Rank n, const std::vector<int>& messages) {
    for (Event& event : ranks_[n])
      if (event.does.sends && std::ranges::count(messages, event.message) > 0)
        event.gone = event.message != messages.front();
    result_.brought[messages.front()] = messages;
  }

  // The additions become one, of what stands for all messages; each rank puts its value into its slot once.
  void add_up(const TracedSum& sum, const SwitchUse& use, int slot) {
    Events& events = ranks_[use.rank];
    for (const int e : sum.events) events[e].gone = true;
    Event& last = events[sum.events.back()];
    last.gone = false;
    last.does.takes = true;
    last.does.from.clear();
    last.message = use.messages.front();
    before_[use.rank].push_back({slot, last.step, sum.own, last.does.piece});
    // Of several sums of the same values a sender's first message stands for all of its.
    for (Rank n = 0; n < std::ssize(ranks_); ++n)
      for (Event& event : ranks_[n]) {
        if (event.gone || !event.does.sends || std::ranges::count(use.messages, event.message) == 0) continue;
        const auto [first, is_new] = first_.try_emplace({n, slot}, event.message);
        event.gone = !is_new;
        result_.brought[first->second].push_back(event.message);
      }
  }

  struct Own {
    int slot = 0, step = 0;
    DataPlace value = {};
    int piece = 0;
  };

  // The rank's own value goes into its slot as those of the others do, before anything of the step is sent.
  void offer_own(Rank n) {
    for (const Own& own : before_[n]) {
      if (first_.contains({n, own.slot})) continue;
      const auto at = std::ranges::find_if(
          ranks_[n], [&](const Event& event) { return !event.late && event.step >= own.step; });
      ranks_[n].insert(at, Event{.does = copying(own.value.slot, {Buffer::Scratch, own.slot}, own.piece),
                                 .step = own.step});
    }
  }

  std::vector<Events>& ranks_;
  std::map<int, Ends>& ends_;
  std::vector<int>& scratch_;
  std::vector<std::vector<Own>> before_;            // by rank
  std::vector<Events> late_;                        // likewise
  std::map<int, int> slot_of_ = {};                 // by the number of values
  std::map<std::pair<Rank, int>, int> first_ = {};  // message, by sender and slot
  Switched result_ = {};
};

}  // namespace

int operations(const SwitchUses& uses) {
  int all = 0;
  for (const SwitchUse& use : uses.uses) all += use.maker < 0 ? 1 : use.rank == use.maker ? 2 : 0;
  return all;
}

bool made_by_switches(const SwitchUses& uses, bool sums_go_on) {
  const auto goes_on = [&](const SwitchUse& sum) {
    return std::ranges::any_of(uses.uses, [&](const SwitchUse& use) {
      return !use.sum && use.rank == sum.rank && use.chunk == sum.chunk && use.messages > sum.messages;
    });
  };
  return uses.missed == 0 && std::ranges::all_of(uses.uses, [&](const SwitchUse& use) {
           return !use.sum || !sums_go_on || use.maker >= 0 || goes_on(use);
         });
}

SwitchUses switch_uses(const Verified<Schedule>& schedule) {
  return UseFinder(schedule).found();
}

Switched use_switches(const SwitchUses& uses, std::vector<Events>& ranks, std::map<int, Ends>& ends,
                      std::vector<int>& scratch) {
  return Rewriter(uses, ranks, ends, scratch).switched();
}

}  // namespace chorale
