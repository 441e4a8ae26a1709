// A tree lists its sums first, towards the root, and then its copies, away from it, each link after those
// that bring something to its sender. So what a send waits for is known when it is added: a copy waits for
// the copy that its sender got; the first copies, and each sum, for all sums into their sender. Sends of
// different chunks wait for each other only through links, which list scheduling decides.
#include "construct/engine/jobs.h"

#include <algorithm>
#include <utility>

#include "construct/engine/solved_question.h"

namespace chorale {

Jobs::Jobs(const Network& network, const ClassOrbits& classes, const ChunkPacking& packing)
    : SendGraph(network),
      classes_(classes),
      packing_(packing),
      sums_into_(network.ranks()),
      copy_into_(network.ranks(), -1) {
  for (int k = 0; k < std::ssize(packing.trees); ++k)
    for (int i = 0; i < std::ssize(packing.trees[k]); ++i)
      add_tree(packing.trees[k][i], {.of = k, .number = i});
  finish();
}

// By rank, sums_into_ and copy_into_ have the jobs of this tree that bring something there. They are cleared
// by the tree's links alone: machines may have many more ranks than a path.
void Jobs::add_tree(const ChunkTree& tree, Piece piece) {
  const int number = pieces();
  of_.push_back(piece);
  for (int i = 0; i < std::ssize(tree.links); ++i) {
    const LinkId link = tree.links[i];
    const Rank from = network().src(link), to = network().dst(link);
    const bool sum = i < tree.ups;
    const int job = add(link);
    piece_.push_back(number);
    sums_.push_back(sum);
    if (!sum && copy_into_[from] >= 0)
      wait(job, copy_into_[from]);
    else
      for (const int other : sums_into_[from]) wait(job, other);
    if (sum)
      sums_into_[to].push_back(job);
    else
      copy_into_[to] = job;
  }
  for (const LinkId link : tree.links) {
    sums_into_[network().dst(link)].clear();
    copy_into_[network().dst(link)] = -1;
  }
}

// A job of a copy is one send of a chunk of its class, and an element of the group makes of that a send of a
// chunk of another class, whose number ClassOrbits gives.
Schedule Jobs::schedule(const Collective& whole, int copies, const StepAssignment& plan) const {
  const std::vector<ChunkClass> classes = moving_classes(whole);
  Schedule schedule{.steps = std::vector<Step>(plan.rounds.size())};
  for (int copy = 0; copy < copies; ++copy)
    for (int j = 0; j < count(); ++j) {
      const Piece piece = of_[piece_[j]];
      const auto number = copy * packing_.trees[piece.of].size() + piece.number;
      const int step = plan.step_of[static_cast<std::size_t>(copy) * count() + j];
      for (int g = 0; g < network().order(); ++g) {
        const ClassOrbits::Image& image = classes_.images[piece.of][g];
        schedule.steps[step].sends.push_back(
            {.chunk = classes[image.of].chunks[classes_.number(number, image)],
             .link = network().image(link(j), g),
             .reduce = sums_[j] != 0});
      }
    }
  return tidy_sums(network().topology(), whole, std::move(schedule));
}

}  // namespace chorale
