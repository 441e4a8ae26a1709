// The slow obvious answer for a handful of ranks and chunks: every state that can be reached, step by step.
// Written from docs/semantics.md alone; it shares no line with what it verifies, not even types.
//
// A line of numbers on standard input is a question, a line on standard output its answer:
//
//   ranks  links (src dst bandwidth)...  limits (bandwidth multicast reduce links link...)...  combining
//   order (0: ranks may add up as they like; 1: those that get a chunk must agree; else further numbers of sums, each
//   the bits of the ranks in it: no others are made)...
//   chunks (ranks-before rank... ranks-after rank...)...  most-steps work
//
//   big                        more than `work` transitions, no answer
//   open|closed e0 e1 e2 ...   schedules of exactly s steps need s + e_s rounds; - if there is none
//
// "closed": a schedule of further steps has no fewer rounds than the best of these, nor is nearer to a round
// a step.
//
// An empty step has one round, so e_s falls with s: that is what makes one number a state enough.
//
// Ranks agree on a chunk if of any two sums of which its destinations' are made, one is in the other or they
// share no rank. Sums that are of no use need not be made, so this is asked of all sums that are.
#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace {

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

class Search {
 public:
  explicit Search(std::istream& in) {
    const auto number = [&] {
      long long value = 0;
      in >> value;
      return static_cast<int>(value);
    };
    const auto numbers = [&] {
      std::vector<int> all(number());
      for (int& each : all) each = number();
      return all;
    };
    ranks_ = number();
    links_.resize(number());
    for (Link& link : links_) link = {.src = number(), .dst = number(), .bandwidth = number()};
    limits_.resize(number());
    for (Limit& limit : limits_)
      limit = {
          .bandwidth = number(), .multicast = number() != 0, .reduce = number() != 0, .links = numbers()};
    combining_ = number() != 0;
    order_ = number();
    for (int sums = order_ > 1 ? order_ - 1 : 0; sums > 0; --sums) allowed_.insert(number());
    chunks_.resize(number());
    for (Chunk& chunk : chunks_) chunk = {.pre = numbers(), .post = numbers()};
    most_steps_ = number();
    work_ = number();
  }

  std::string answer() {
    std::string text;
    Excess layer = {{start(), 0}};
    for (int s = 0;; ++s) {
      int best = -1;
      for (const auto& [state, excess] : layer)
        if (done(state) && (best < 0 || excess < best)) best = excess;
      text += best < 0 ? " -" : " " + std::to_string(best);
      if (best == 0) return "closed" + text;
      if (s == most_steps_) return "open" + text;
      Excess next = layer;  // an empty step
      for (const auto& [state, excess] : layer) expand(state, excess, next);
      if (next == layer) return "closed" + text;
      layer = std::move(next);
    }
  }

 private:
  char& at(State& state, int chunk, int rank) const { return state[chunk * ranks_ + rank]; }
  char at(const State& state, int chunk, int rank) const { return state[chunk * ranks_ + rank]; }

  char complete(int chunk) const {
    if (!combining_) return 1;
    int sum = 0;
    for (int rank : chunks_[chunk].pre) sum |= 1 << rank;
    return static_cast<char>(sum);
  }

  State start() const {
    State state(chunks_.size() * (ranks_ + 2), 0);
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      for (int rank : chunks_[c].pre) at(state, c, rank) = static_cast<char>(combining_ ? 1 << rank : 1);
    return state;
  }

  bool done(const State& state) const {
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      for (int rank : chunks_[c].post)
        if (at(state, c, rank) != complete(c)) return false;
    return true;
  }

  // All that may arrive at `rank` of `chunk`, nothing included.
  std::vector<Arrival> arrivals(const State& state, int chunk, int rank) const {
    const char own = at(state, chunk, rank);
    std::vector<int> in;
    for (std::size_t l = 0; l < links_.size(); ++l)
      if (links_[l].dst == rank && links_[l].src != rank && at(state, chunk, links_[l].src) != 0)
        in.push_back(l);
    std::vector<Arrival> result = {{.value = own}};
    if (!combining_) {
      if (own == 0)
        for (int l : in) result.push_back({.links = {l}, .copies = true, .value = 1});
      return result;
    }
    for (std::size_t first = 0; first <= in.size(); ++first) {  // the copy; in.size(): none
      const bool copies = first < in.size();
      if (copies && own == complete(chunk)) continue;
      const char base = copies ? at(state, chunk, links_[in[first]].src) : own;
      for (unsigned adds = 0; adds < 1u << in.size(); ++adds) {
        if (copies ? (adds >> first & 1) != 0 : adds == 0) continue;
        Arrival arrival{.copies = copies, .value = base};
        if (copies) arrival.links.push_back(in[first]);
        bool once = true;
        for (std::size_t i = 0; i < in.size() && once; ++i) {
          if (!(adds >> i & 1)) continue;
          const char value = at(state, chunk, links_[in[i]].src);
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
    for (std::size_t c = 0; c < chunks_.size(); ++c)
      for (int rank = 0; rank < ranks_; ++rank) choices.push_back(arrivals(state, c, rank));
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
    const std::size_t chunk = i / ranks_, made = chunks_.size() * ranks_ + 2 * chunk;
    const std::string made_before = after.substr(made, 2);
    for (const Arrival& arrival : choices[i]) {
      if (!in_order(chunk, after, made, arrival)) continue;
      after[i] = arrival.value;
      const std::size_t before_these = sent.size();
      for (int l : arrival.links)
        sent.push_back({.chunk = static_cast<int>(i) / ranks_,
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
    if (!combining_ || order_ == 0 || arrival.links.empty() || several == 0) return true;
    if (order_ > 1) return allowed_.contains(sum);
    if (chunks_[chunk].post.size() < 2) return true;
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
      const Link& link = links_[send.link];
      if (limit.multicast && limit.reduce)
        keys.emplace(send.chunk, send.adds, send.adds ? link.dst : link.src);
      else
        keys.emplace(send.chunk, false, limit.multicast ? link.src : link.dst);
    }
    return limit.multicast || limit.reduce ? static_cast<int>(keys.size()) : each;
  }

  int rounds(const std::vector<Sent>& sent) const {
    std::vector<int> load(links_.size(), 0);
    for (const Sent& send : sent) ++load[send.link];
    int most = 1;
    const auto need = [&](int chunks, int bandwidth) {
      most = std::max(most, (chunks + bandwidth - 1) / bandwidth);
    };
    for (std::size_t l = 0; l < links_.size(); ++l) need(load[l], links_[l].bandwidth);
    for (const Limit& limit : limits_) need(carried(limit, sent), limit.bandwidth);
    return most;
  }

  int ranks_ = 0;
  std::vector<Link> links_ = {};
  std::vector<Limit> limits_ = {};
  bool combining_ = false;
  int order_ = 0;
  std::set<int> allowed_ = {};
  std::vector<Chunk> chunks_ = {};
  int most_steps_ = 0;
  long long work_ = 0;
};

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    try {
      std::cout << Search(in).answer() << std::endl;
    } catch (const TooBig&) {
      std::cout << "big" << std::endl;
    }
  }
}
