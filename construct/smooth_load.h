// What steps carry, and what one more send costs, where a step has as many rounds as its fullest link or limit.
#pragma once

#include <span>
#include <vector>

#include "construct/link_orbits.h"

namespace chorale {

// Rounds of all steps are a sum of maxima, made smooth: the potential of a step is the logarithm of the sum, over links and limits, of
// exp(sharpness * rounds that each needs), by sharpness. Its derivative is the price. Nothing says beforehand how many
// rounds a step has. (Fractional packing by exponential prices: Plotkin, Shmoys and Tardos 1995; Garg and Koenemann 1998.)
class SmoothLoad {
 public:
  explicit SmoothLoad(const LinkOrbits& orbits) : orbits_(orbits) {}
  // Nothing is carried.
  void clear(int steps);
  int steps() const { return steps_; }
  // Of all steps; to be said before anything is added, and from time to time, since errors add up.
  void sharpen(double sharpness);
  void add(LinkId l, int step, int sends);
  // By step, of one more send over the link; greater than 0.
  void prices_of(LinkId l, std::span<double> prices) const;
  std::vector<int> rounds() const;  // by step

 private:
  std::size_t at(int bin, int step) const { return static_cast<std::size_t>(bin) * steps_ + step; }
  double rounds_of(int bin, int step) const {
    return static_cast<double>(load_[at(bin, step)]) / static_cast<double>(orbits_.capacities()[bin]);
  }
  void renew(int step);
  int bins() const { return static_cast<int>(orbits_.capacities().size()); }

  const LinkOrbits& orbits_;
  int steps_ = 0;
  double sharpness_ = 0;
  std::vector<long long> load_ = {};  // by bin and step
  std::vector<double> weight_ = {};   // the same: exp(sharpness * (rounds - peak of the step))
  std::vector<double> peak_ = {};     // by step: rounds of the fullest when weights were last told
  std::vector<double> sum_ = {};      // by step: of all weights
  std::vector<double> inverse_ = {};  // 1 / sum
  std::vector<double> growth_ = {}, share_ = {};  // by bin: what one more send does to its weight, and costs
};

}  // namespace chorale
