// The slow obvious answer for a handful of ranks and chunks: every state that can be reached, step by step.
// Written from docs/semantics.md alone; it shares no line with what it verifies, not even types.
//
// An empty step has one round, so the rounds beyond one a step fall with the steps: that is what makes one
// number a state enough.
//
// Ranks agree on a chunk if of any two sums of which its destinations' are made, one is in the other or they
// share no rank. Sums that are of no use need not be made, so this is asked of all sums that are.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace chorale::test::exhaustive {

inline constexpr int kNever = 1'000'000;

struct Link {
  int src = 0, dst = 0, bandwidth = 1;
};
struct Limit {
  int bandwidth = 1;
  bool multicast = false, reduce = false;  // docs/topologies.md
  std::vector<int> links = {};
};
struct Chunk {
  std::vector<int> pre = {}, post = {};
};

enum class Order {
  Free,    // ranks may add up as they like
  Agreed,  // those that get a chunk must agree
  Given,   // no sums of several are made but those that are allowed
};

struct Question {
  int ranks = 0;  // at most four
  std::vector<Link> links = {};
  std::vector<Limit> limits = {};
  bool combining = false;
  Order order = Order::Free;
  std::set<int> allowed = {};  // the bits of the ranks in a sum
  std::vector<Chunk> chunks = {};
};

struct Answer {
  // Schedules of exactly s steps need s + excess[s] rounds; kNever if there is none.
  std::vector<int> excess = {};
  // A schedule of further steps has no fewer rounds than the best of these, nor is nearer to a round a step.
  bool closed = false;
};

// By chunk and rank: the contributions in the value, a bit for each rank; of copies the lowest bit. Then by
// chunk two bytes: which sums of several have been made, a bit for each set of (at most four) ranks.
using State = std::string;
using Excess = std::unordered_map<State, int>;  // rounds beyond one a step

// What may arrive at one rank of one chunk in one step: the links that carry it, and what is held then.
struct Arrival {
  std::vector<int> links = {};
  bool copies = false;  // over the first of these; the others add
  char value = 0;
};

struct Sent {
  int chunk = 0, link = 0;
  bool adds = false;
};

struct TooBig {};

// Within `work` transitions.
class Search {
 public:
  explicit Search(Question question, long long work = 300'000) : asked_(std::move(question)), work_(work) {}

  // Of at most these steps; nothing where that is too much work.
  std::optional<Answer> answer(int most_steps) {
    try {
      return answered(most_steps);
    } catch (const TooBig&) {
      return std::nullopt;
    }
  }

  // That a step needs.
  int rounds(const std::vector<Sent>& sent) const {
    std::vector<int> load(asked_.links.size(), 0);
    for (const Sent& send : sent) ++load[send.link];
    int most = 1;
    const auto need = [&](int chunks, int bandwidth) {
      most = std::max(most, (chunks + bandwidth - 1) / bandwidth);
    };
    for (std::size_t l = 0; l < asked_.links.size(); ++l) need(load[l], asked_.links[l].bandwidth);
    for (const Limit& limit : asked_.limits) need(carried(limit, sent), limit.bandwidth);
    return most;
  }

 private:
  Answer answered(int most_steps) {
    Answer all;
    Excess layer = {{start(), 0}};
    for (int s = 0;; ++s) {
      int best = kNever;
      for (const auto& [state, excess] : layer)
        if (done(state)) best = std::min(best, excess);
      all.excess.push_back(best);
      if (all.closed = best == 0; all.closed || s == most_steps) return all;
      Excess next = layer;  // an empty step
      for (const auto& [state, excess] : layer) expand(state, excess, next);
      if (all.closed = next == layer; all.closed) return all;
      layer = std::move(next);
    }
  }

  char& at(State& state, int chunk, int rank) const { return state[chunk * asked_.ranks + rank]; }
  char at(const State& state, int chunk, int rank) const { return state[chunk * asked_.ranks + rank]; }

  char complete(int chunk) const {
    if (!asked_.combining) return 1;
    int sum = 0;
    for (int rank : asked_.chunks[chunk].pre) sum |= 1 << rank;
    return static_cast<char>(sum);
  }

  State start() const {
    State state(asked_.chunks.size() * (asked_.ranks + 2), 0);
    for (std::size_t c = 0; c < asked_.chunks.size(); ++c)
      for (int rank : asked_.chunks[c].pre)
        at(state, c, rank) = static_cast<char>(asked_.combining ? 1 << rank : 1);
    return state;
  }

  bool done(const State& state) const {
    for (std::size_t c = 0; c < asked_.chunks.size(); ++c)
      for (int rank : asked_.chunks[c].post)
        if (at(state, c, rank) != complete(c)) return false;
    return true;
  }

  // All that may arrive at `rank` of `chunk`, nothing included.
  std::vector<Arrival> arrivals(const State& state, int chunk, int rank) const {
    const char own = at(state, chunk, rank);
    std::vector<int> in;
    for (std::size_t l = 0; l < asked_.links.size(); ++l)
      if (asked_.links[l].dst == rank && asked_.links[l].src != rank &&
          at(state, chunk, asked_.links[l].src) != 0)
        in.push_back(l);
    std::vector<Arrival> result = {{.value = own}};
    if (!asked_.combining) {
      if (own == 0)
        for (int l : in) result.push_back({.links = {l}, .copies = true, .value = 1});
      return result;
    }
    for (std::size_t first = 0; first <= in.size(); ++first) {  // the copy; in.size(): none
      const bool copies = first < in.size();
      if (copies && own == complete(chunk)) continue;
      const char base = copies ? at(state, chunk, asked_.links[in[first]].src) : own;
      for (unsigned adds = 0; adds < 1u << in.size(); ++adds) {
        if (copies ? (adds >> first & 1) != 0 : adds == 0) continue;
        Arrival arrival{.copies = copies, .value = base};
        if (copies) arrival.links.push_back(in[first]);
        bool once = true;
        for (std::size_t i = 0; i < in.size() && once; ++i) {
          if (!(adds >> i & 1)) continue;
          const char value = at(state, chunk, asked_.links[in[i]].src);
          once = (arrival.value & value) == 0;
          arrival.value = static_cast<char>(arrival.value | value);
          arrival.links.push_back(in[i]);
        }
        if (once && !(copies && adds == 0 && base == own)) result.push_back(arrival);
      }
    }
    return result;
  }

  void expand(const State& state, int excess, Excess& next) {
    std::vector<std::vector<Arrival>> choices;
    for (std::size_t c = 0; c < asked_.chunks.size(); ++c)
      for (int rank = 0; rank < asked_.ranks; ++rank) choices.push_back(arrivals(state, c, rank));
    State after = state;
    std::vector<Sent> sent;
    choose(choices, 0, after, sent, excess, next);
  }

  void choose(const std::vector<std::vector<Arrival>>& choices, std::size_t i, State& after,
              std::vector<Sent>& sent, int excess, Excess& next) {
    if (i == choices.size()) {
      if (--work_ < 0) throw TooBig();
      const int now = excess + rounds(sent) - 1;
      const auto [at, fresh] = next.try_emplace(after, now);
      if (!fresh && now < at->second) at->second = now;
      return;
    }
    const char before = after[i];
    const std::size_t chunk = i / asked_.ranks, made = asked_.chunks.size() * asked_.ranks + 2 * chunk;
    const std::string made_before = after.substr(made, 2);
    for (const Arrival& arrival : choices[i]) {
      if (!in_order(chunk, after, made, arrival)) continue;
      after[i] = arrival.value;
      const std::size_t before_these = sent.size();
      for (int l : arrival.links)
        sent.push_back({.chunk = static_cast<int>(i) / asked_.ranks,
                        .link = l,
                        .adds = !arrival.copies || sent.size() > before_these});
      choose(choices, i + 1, after, sent, excess, next);
      sent.resize(before_these);
      after.replace(made, 2, made_before);
    }
    after[i] = before;
  }

  // May the sum be made beside those that were made? Then it is noted.
  bool in_order(std::size_t chunk, State& state, std::size_t made, const Arrival& arrival) const {
    const int sum = arrival.value, several = sum & (sum - 1);
    if (!asked_.combining || asked_.order == Order::Free || arrival.links.empty() || several == 0)
      return true;
    if (asked_.order == Order::Given) return asked_.allowed.contains(sum);
    if (asked_.chunks[chunk].post.size() < 2) return true;
    for (int other = 0; other < 16; ++other) {
      const bool is_made = (state[made + other / 8] >> other % 8 & 1) != 0;
      if (is_made && (sum & other) != 0 && (sum & other) != sum && (sum & other) != other) return false;
    }
    state[made + sum / 8] = static_cast<char>(state[made + sum / 8] | 1 << sum % 8);
    return true;
  }

  // What a limit that multicasts or reduces carries once has one key.
  int carried(const Limit& limit, const std::vector<Sent>& sent) const {
    std::set<std::tuple<int, bool, int>> keys;
    int each = 0;
    for (const Sent& send : sent) {
      if (std::ranges::count(limit.links, send.link) == 0) continue;
      ++each;
      const Link& link = asked_.links[send.link];
      if (limit.multicast && limit.reduce)
        keys.emplace(send.chunk, send.adds, send.adds ? link.dst : link.src);
      else
        keys.emplace(send.chunk, false, limit.multicast ? link.src : link.dst);
    }
    return limit.multicast || limit.reduce ? static_cast<int>(keys.size()) : each;
  }

  const Question asked_;
  long long work_;
};

}  // namespace chorale::test::exhaustive
