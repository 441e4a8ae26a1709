#include "semantics/traffic.h"

namespace chorale {

Traffic traffic(const Topology& topology, const Schedule& schedule) {
  Traffic result{.ranks = std::vector<RankTraffic>(topology.ranks)};
  for (const Step& step : schedule.steps)
    for (const Send& send : step.sends) {
      const Link& link = topology.links[send.link];
      ++result.ranks[link.src].sent;
      ++result.ranks[link.dst].received;
      ++result.total;
    }
  return result;
}

}  // namespace chorale
