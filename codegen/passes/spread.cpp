// Which channel a message takes, and in which order messages enter it.
#include <algorithm>
#include <climits>
#include <map>
#include <tuple>
#include <utility>

#include "codegen/passes/block_passes.h"

namespace chorale {

// Chains by union-find over messages: a send from the slot that a message has come into continues it. The
// first message of a chain stands for it. Greedy, by the number of messages. A block can hand a value on in a
// register only if it comes and leaves on one channel.
void spread(std::vector<Events>& ranks, int channels) {
  const std::map<int, Ends> ends = ends_of(ranks);
  std::map<int, int> parent;
  for (const auto& [message, unused] : ends) parent[message] = message;
  const auto root = [&](int m) {
    while (parent[m] != m) m = parent[m] = parent[parent[m]];
    return m;
  };
  for (const Events& events : ranks) {
    std::map<Slot, int> brought;  // by slot: the last message into it
    for (const Event& event : events) {
      if (event.gone || event.message < 0) continue;
      if (event.does.sends) {
        if (const auto at = brought.find(event.does.from[0].slot); at != brought.end()) {
          const int a = root(event.message), b = root(at->second);
          parent[std::max(a, b)] = std::min(a, b);
        }
      } else {
        brought[event.does.to[0].slot] = event.message;
      }
    }
  }
  // Each chain goes where its fullest connection is emptiest.
  std::map<int, std::vector<std::pair<Rank, Rank>>> chains;
  for (const auto& [message, m] : ends) chains[root(message)].push_back({m.from, m.to});
  std::map<int, int> channel;
  std::map<std::tuple<Rank, Rank, int>, int> load;
  for (const auto& [chain, connections] : chains) {
    int best = 0, least = INT_MAX;
    for (int c = 0; c < channels; ++c) {
      int most = 0;
      for (const auto& [from, to] : connections) most = std::max(most, load[{from, to, c}]);
      if (most < least) best = c, least = most;
    }
    channel[chain] = best;
    for (const auto& [from, to] : connections) ++load[{from, to, best}];
  }
  for (Events& events : ranks)
    for (Event& event : events)
      if (!event.gone && event.message >= 0) event.channel = channel[root(event.message)];
}

// A queue delivers in the order of its sends. Receives stay as they are, since what they land in may depend
// on each other; sends of one step are free.
void match_order(std::vector<Events>& ranks) {
  const std::map<int, Ends> ends = ends_of(ranks);
  for (Events& events : ranks) {
    const auto key = [&](const Event& event) {
      const bool is_send = event.does.sends && !event.gone;
      return std::tuple{event.step, is_send ? 0 : 1, is_send ? ends.at(event.message).recv : 0};
    };
    std::ranges::stable_sort(events, {}, key);
  }
}

}  // namespace chorale
