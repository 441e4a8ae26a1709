// Sends and which of them wait for which: what list scheduling puts into steps. They come from a packing
// (construct/jobs.h), from a schedule (construct/retiming.h) or from combination trees
// (construct/fixed_order.h).
#pragma once

#include <span>
#include <vector>

#include "construct/network.h"
#include "ir/topology.h"

namespace chorale {

class SendGraph {
 public:
  struct Edge {
    int then = 0;
    bool later = true;  // in a later step; else in no earlier one
  };

  explicit SendGraph(const Network& network) : network_(network), load_(network.bins(), 0) {}

  // A job: sends over these links (one, or several in one step); returns its number.
  int add(std::span<const LinkId> links);
  int add(LinkId l) { return add(std::span(&l, 1)); }
  void wait(int job, int other, bool later = true) { edges_.emplace_back(other, Edge{job, later}); }
  // After all of them. Jobs that wait for themselves, by way of others, never become ready.
  void finish();

  int count() const { return static_cast<int>(first_link_.size()) - 1; }
  std::span<const LinkId> links(int j) const { return part(links_, first_link_, j); }
  LinkId link(int j) const { return links_[first_link_[j]]; }
  int height(int j) const { return height_[j]; }    // steps that must follow, one after the other
  int waits_for(int j) const { return waits_[j]; }  // jobs
  std::span<const Edge> after(int j) const { return part(after_, first_after_, j); }
  const std::vector<int>& in_order() const { return in_order_; }  // each after those that it waits for
  const Network& network() const { return network_; }
  const std::vector<double>& load() const { return load_; }  // [bin] -> sends over it

 private:
  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<int>& first, int i) {
    return std::span(all).subspan(first[i], first[i + 1] - first[i]);
  }

  const Network& network_;
  std::vector<std::pair<int, Edge>> edges_ = {};  // while it is built
  std::vector<LinkId> links_ = {};
  std::vector<int> first_link_ = {0}, first_after_ = {}, height_ = {}, waits_ = {}, in_order_ = {};
  std::vector<Edge> after_ = {};
  std::vector<double> load_;
};

}  // namespace chorale
