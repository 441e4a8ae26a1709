// Jobs over one link fit or do not fit alike. So there is a queue for each link and a heap of the queues'
// heads: of what waits for a full link only the first is examined. A scan of all that is ready in each step
// made narrow steps of large packings quadratic. A job of several sends is queued at its first link; where it
// does not fit, those behind it wait for the next step.
//
// A job that waits for others "in no earlier step" may become ready while the step is filled; one that waits
// for any of them "in a later step" is kept until the step has ended.
#include "construct/engine/list_scheduling.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>
#include <utility>

namespace chorale {

// Lists by job lie one after the other in one array. Edges come in any order; finish() places them by the job
// that they leave (a counting sort, which keeps their order), finds a topological order (Kahn 1962), and goes
// through it from its end for the heights. Jobs of a cycle are in no order and have no height.

int SendGraph::add(std::span<const LinkId> links) {
  links_.insert(links_.end(), links.begin(), links.end());
  first_link_.push_back(static_cast<int>(links_.size()));
  for (const LinkId l : links)
    for (const int b : network_.bins_of(l)) ++load_[b];
  return count() - 1;
}

void SendGraph::finish() {
  waits_.assign(count(), 0);
  first_after_.assign(count() + 1, 0);
  for (const auto& [job, edge] : edges_) {
    ++waits_[edge.then];
    ++first_after_[job + 1];
  }
  for (int j = 0; j < count(); ++j) first_after_[j + 1] += first_after_[j];
  std::vector<int> next = first_after_, waits = waits_;
  after_.resize(edges_.size());
  for (const auto& [job, edge] : std::exchange(edges_, {})) after_[next[job]++] = edge;
  height_.assign(count(), 0);
  for (int j = 0; j < count(); ++j)
    if (waits[j] == 0) in_order_.push_back(j);
  for (std::size_t i = 0; i < in_order_.size(); ++i)
    for (const Edge& edge : after(in_order_[i]))
      if (--waits[edge.then] == 0) in_order_.push_back(edge.then);
  for (auto j = in_order_.rbegin(); j != in_order_.rend(); ++j)
    for (const Edge& edge : after(*j))
      height_[*j] = std::max(height_[*j], height_[edge.then] + (edge.later ? 1 : 0));
}

namespace {

constexpr long long kWorkOfJob = 4;

}  // namespace

long long StepAssignment::total_rounds() const {
  return std::accumulate(rounds.begin(), rounds.end(), 0LL);
}

ListScheduling::ListScheduling(const SendGraph& graph, WorkBudget& effort)
    : graph_(graph), network_(graph.network()), effort_(effort) {}

void ListScheduling::begin(int copies, Key key) {
  key_ = std::move(key);
  left_ = static_cast<long long>(graph_.count()) * copies;
  waits_.resize(left_);
  held_until_.assign(left_, 0);
  plan_.step_of.assign(left_, 0);
  plan_.rounds.clear();
  ready_.assign(network_.links(), {});
  open_.clear();
  is_open_.assign(network_.links(), false);
  sent_.clear();
  fresh_.clear();
  used_.assign(network_.bins(), 0);
  for (int i = 0; i < left_; ++i) waits_[i] = graph_.waits_for(i % graph_.count());
  for (int i = 0; i < left_; ++i)
    if (waits_[i] == 0) make_ready(i);
}

void ListScheduling::make_ready(int i) {
  const int n = graph_.count();
  const LinkId l = graph_.link(i % n);
  if (!std::exchange(is_open_[l], true)) open_.push_back(l);
  ready_[l].push({.key = key_(i / n, i % n), .job = i});
}

// If the job fits, its sends are in the bins afterwards. A job of several sends (ranks that exchange sums)
// may load a bin more than once, so all are added first, and taken out again if they are too many. The first
// job of a step always fits, or a job wider than the step would wait forever.
bool ListScheduling::has_room(int job, double width) {
  const auto add = [&](LinkId l, int by) {
    for (const int b : network_.bins_of(l)) used_[b] += by;
  };
  const std::span<const LinkId> links = graph_.links(job);
  for (const LinkId l : links) add(l, 1);
  const bool fits = sent_.empty() || std::ranges::all_of(links, [&](LinkId l) {
                      return std::ranges::all_of(network_.bins_of(l), [&](int b) {
                        return used_[b] <= network_.capacity(b) * width;
                      });
                    });
  if (!fits)
    for (const LinkId l : links) add(l, -1);
  return fits;
}

void ListScheduling::offer(LinkId l, Heads& heads, long long last) const {
  if (!ready_[l].empty() && ready_[l].top().key <= last) heads.emplace(ready_[l].top(), l);
}

// held_until_ keeps a job out of this step if any of what it waited for demands a later one, even where the
// last to come would allow this one.
void ListScheduling::take(int i, Heads& heads, long long last) {
  const int n = graph_.count(), step = static_cast<int>(plan_.rounds.size());
  plan_.step_of[i] = step;
  sent_.push_back(i);
  --left_;
  for (const SendGraph::Edge& edge : graph_.after(i % n)) {
    const int next = i - i % n + edge.then;
    if (edge.later) held_until_[next] = step + 1;
    if (--waits_[next] > 0) continue;
    if (held_until_[next] > step) {
      fresh_.push_back(next);
    } else {
      make_ready(next);
      offer(graph_.link(edge.then), heads, last);
    }
  }
}

// A heap has one entry, or several, of each link that may have something to send. Entries are not taken out
// when the head of a queue changes: one that is no longer its head is skipped.
void ListScheduling::fill(double width, long long last) {
  Heads heads;
  std::erase_if(open_, [&](LinkId l) { return !(is_open_[l] = !ready_[l].empty()); });
  for (const LinkId l : open_) offer(l, heads, last);
  while (!heads.empty()) {
    const auto [head, l] = heads.top();
    heads.pop();
    // Another came before it meanwhile, or took its place.
    if (ready_[l].empty() || ready_[l].top() != head) continue;
    if (!has_room(head.job % graph_.count(), width)) continue;
    ready_[l].pop();
    take(head.job, heads, last);
    offer(l, heads, last);
  }
  effort_.spend(std::ssize(open_));
}

int ListScheduling::rounds() const {
  double most = 0;
  for (int b = 0; b < network_.bins(); ++b)
    most = std::max(most, std::ceil(used_[b] / network_.capacity(b) - 1e-9));
  return static_cast<int>(most);
}

bool ListScheduling::end_step() {
  if (sent_.empty()) return false;
  effort_.spend(kWorkOfJob * std::ssize(sent_));
  plan_.rounds.push_back(std::max(1, rounds()));
  std::ranges::fill(used_, 0);
  sent_.clear();
  for (const int i : std::exchange(fresh_, {})) make_ready(i);
  return true;
}

std::optional<StepAssignment> in_even_steps(const SendGraph& graph, const ListScheduling::Key& key,
                                            double width) {
  WorkBudget effort(LLONG_MAX, nullptr);
  ListScheduling scheduling(graph, effort);
  for (scheduling.begin(1, key); !scheduling.is_done();) {
    scheduling.fill(width);
    if (!scheduling.end_step()) return std::nullopt;
  }
  return scheduling.plan();
}

}  // namespace chorale
