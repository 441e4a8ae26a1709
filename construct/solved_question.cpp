// A reversed machine keeps the numbers of its links and limits (ir/topology.h), and the dual those of its
// chunks. So sends need no translation, only their order is reversed, and copies become sums.
#include "construct/solved_question.h"

#include <algorithm>
#include <utility>

#include "ir/frontier.h"

namespace chorale {

SolvedQuestion::SolvedQuestion(const Topology& asked_on, const Collective& asked)
    : is_reversed(has_copying_dual(asked)),
      topology(is_reversed ? reversed(asked_on) : asked_on),
      collective(is_reversed ? dual(asked) : asked) {}

Schedule SolvedQuestion::answer(Schedule of_solved) const {
  return is_reversed ? reversed(of_solved, true) : std::move(of_solved);
}

// Costs need no translation: a reversed step loads the same links, and has as many rounds.
Point SolvedQuestion::point(Schedule of_solved, const Collective& asked,
                            const std::string& construction) const {
  Point point{.method = is_reversed ? Method::Dual : Method::Direct,
              .construction = construction,
              .collective = asked};
  point.schedule = answer(std::move(of_solved));
  point.cost = cost_of(point.schedule, asked.chunks_per_block);
  return point;
}

}  // namespace chorale
