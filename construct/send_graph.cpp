// Lists by job lie one after the other in one array. Edges come in any order; finish() places them by the job
// that they leave (a counting sort, which keeps their order), finds a topological order (Kahn 1962), and goes
// through it from its end for the heights. Jobs of a cycle are in no order and have no height.
#include "construct/send_graph.h"

#include <algorithm>
#include <utility>

namespace chorale {

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

}  // namespace chorale
