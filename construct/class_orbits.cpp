// A class is known by its sources and destinations, so an element of the group carries it to the class of the
// carried sets: one look-up for each representative and element. Elements that carry a representative to the
// same class are as many as those that carry it to itself, |group| / |orbit|; this number, the unit, must be
// the same for all orbits, or one chunk of each would not make equally many of all classes.
#include "construct/class_orbits.h"

#include <map>
#include <utility>

namespace chorale {
namespace {

RankSet carried(const RankSet& ranks, const std::vector<Rank>& element) {
  std::vector<Rank> images;
  for (const Rank n : ranks) images.push_back(element[n]);
  return RankSet(std::move(images));
}

}  // namespace

std::optional<ClassOrbits> class_orbits(const std::vector<ChunkClass>& classes,
                                        const std::vector<std::vector<Rank>>& group) {
  std::map<std::pair<RankSet, RankSet>, int> number;
  for (int k = 0; k < std::ssize(classes); ++k) number[{classes[k].pre, classes[k].post}] = k;
  ClassOrbits orbits;
  // By class: elements that have carried a representative to it; 0: it is in no orbit so far.
  std::vector<int> met(classes.size(), 0);
  for (int k = 0; k < std::ssize(classes); ++k) {
    if (met[k] > 0) continue;
    std::vector<ClassOrbits::Image> images;
    for (const std::vector<Rank>& element : group) {
      const auto image = number.find({carried(classes[k].pre, element), carried(classes[k].post, element)});
      if (image == number.end() || classes[image->second].count() != classes[k].count()) return std::nullopt;
      images.push_back({.of = image->second, .place = met[image->second]++});
    }
    if (orbits.representatives.empty()) orbits.unit = met[k];
    if (met[k] != orbits.unit) return std::nullopt;
    orbits.representatives.push_back(classes[k]);
    orbits.images.push_back(std::move(images));
  }
  return orbits;
}

}  // namespace chorale
