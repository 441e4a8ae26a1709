#include "codegen/simulators/messages.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/program.h"
#include "ir/shown.h"

namespace chorale {
namespace {

// As a rank posts them: one port carries them in this order, where a simulator does not share it.
std::vector<std::pair<LinkId, int>> posted(const Step& step, const Topology& topology) {
  std::map<LinkId, int> chunks;
  for (const Send& send : step.sends) ++chunks[send.link];
  std::vector<std::pair<LinkId, int>> links(chunks.begin(), chunks.end());
  std::ranges::stable_sort(links, {}, [&](const auto& each) {
    const Link& link = topology.links[each.first];
    return posting_distance(link.src, link.dst, topology.ranks);
  });
  return links;
}

}  // namespace

std::string messages_as_json(const Verified<Schedule>& schedule, std::int64_t block_bytes,
                             const std::string& title) {
  const Topology& topology = schedule.topology();
  const int chunks_per_block = schedule.collective().chunks_per_block;
  const double chunk_bytes = static_cast<double>(block_bytes) / chunks_per_block;
  std::vector<std::vector<std::int64_t>> rows;
  for (int s = 0; s < std::ssize(schedule->steps); ++s)
    for (const auto& [l, chunks] : posted(schedule->steps[s], topology)) {
      const Link& link = topology.links[l];
      rows.push_back({s, link.src, link.dst, std::llround(chunk_bytes * chunks), l, chunks});
    }
  const CollectiveKind kind = row_of(schedule.collective().kind).result;
  const auto if_offered = [&](auto value) { return is_offered(kind) ? std::optional(value) : std::nullopt; };
  return json_file("chorale_messages", 1, "title", shown(title), "ranks", topology.ranks, "collective",
                   if_offered(name_of(kind)), "message_bytes",
                   if_offered(block_bytes * blocks_of(kind, topology.ranks)), "block_bytes", block_bytes,
                   "chunks_per_block", chunks_per_block, "call_us", topology.call_us, "machine",
                   JsonText{to_json(topology)}, "messages", rows);
}

}  // namespace chorale
