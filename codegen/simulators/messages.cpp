// A simulator shares a link or limit equally between flows, by their number. The model shares it by chunks.
// The two agree if every flow under a limit carries as many chunks: so messages over limited links are cut
// into parts of the greatest common divisor of all such counts.
#include "codegen/simulators/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "ir/collective_kind.h"
#include "ir/json_fields.h"
#include "ir/program.h"

namespace chorale {
namespace {

constexpr double kMostBytes = 1e9;

using ChunksByLink = std::map<LinkId, int>;

// By step. A message is all that a step sends over one link.
std::vector<ChunksByLink> chunks_by_link(const Schedule& schedule) {
  std::vector<ChunksByLink> chunks;
  for (const Step& step : schedule.steps) {
    ChunksByLink& of_step = chunks.emplace_back();
    for (const Send& send : step.sends) ++of_step[send.link];
  }
  return chunks;
}

// Under any limit.
std::vector<bool> limited_links(const Topology& topology) {
  std::vector<bool> limited(topology.links.size(), false);
  for (const SharedLimit& limit : topology.limits)
    for (const LinkId l : limit.links) limited[l] = true;
  return limited;
}

// The most chunks of a message of which all that goes over limited links is a multiple; shares are kept.
int common_chunks(const std::vector<ChunksByLink>& chunks, const std::vector<bool>& limited) {
  int common = 0;
  for (const ChunksByLink& step : chunks)
    for (const auto& [l, count] : step)
      if (limited[l]) common = std::gcd(common, count);
  return common;
}

// In how many each message is split, so that none is longer than a count of bytes in MPI.
int splits_of(const std::vector<ChunksByLink>& chunks, const std::vector<bool>& limited, int common,
              double chunk_bytes) {
  int most = 0;
  for (const ChunksByLink& step : chunks)
    for (const auto& [l, count] : step) most = std::max(most, limited[l] ? common : count);
  return std::max(1, static_cast<int>(std::ceil(most * chunk_bytes / kMostBytes)));
}

// Steps come in their order, so the last one is this one or is not there yet.
RankStep& step_of(std::vector<RankStep>& steps, int step) {
  if (steps.empty() || steps.back().step != step) steps.push_back({.step = step});
  return steps.back();
}

// As a rank posts them: one port carries them in this order, where a simulator does not share it.
std::vector<std::pair<LinkId, int>> posted(const ChunksByLink& step, const Topology& topology) {
  std::vector<std::pair<LinkId, int>> links(step.begin(), step.end());
  std::ranges::stable_sort(links, {}, [&](const auto& each) {
    const Link& link = topology.links[each.first];
    return posting_distance(link.src, link.dst, topology.ranks);
  });
  return links;
}

// Bytes of the first chunks of a message are rounded together, so that a sum of messages is not off by more
// than its ends.
Messages made(const Verified<Schedule>& schedule, std::int64_t block_bytes, bool by_shares) {
  const Topology& topology = schedule.topology();
  const double chunk_bytes = static_cast<double>(block_bytes) / schedule.collective().chunks_per_block;
  const std::vector<ChunksByLink> chunks = chunks_by_link(*schedule);
  const std::vector<bool> limited = limited_links(topology);
  const int common = by_shares ? common_chunks(chunks, limited) : 0;
  const int splits = by_shares ? splits_of(chunks, limited, common, chunk_bytes) : 1;
  Messages messages{.by_rank = std::vector<std::vector<RankStep>>(topology.ranks)};
  for (int s = 0; s < std::ssize(chunks); ++s)
    for (const auto& [l, count] : posted(chunks[s], topology)) {
      const int parts = splits * (by_shares && limited[l] ? count / common : 1);
      const auto bytes_until = [&](int part) { return std::llround(chunk_bytes * count * part / parts); };
      for (int part = 0; part < parts; ++part) {
        const int number = static_cast<int>(messages.all.size());
        messages.all.push_back({.step = s, .link = l, .bytes = bytes_until(part + 1) - bytes_until(part)});
        step_of(messages.by_rank[topology.links[l].src], s).sends.push_back(number);
        step_of(messages.by_rank[topology.links[l].dst], s).receives.push_back(number);
      }
    }
  return messages;
}

}  // namespace

Messages messages_of(const Verified<Schedule>& schedule, std::int64_t block_bytes) {
  return made(schedule, block_bytes, false);
}

Messages messages_by_shares(const Verified<Schedule>& schedule, std::int64_t block_bytes) {
  return made(schedule, block_bytes, true);
}

std::string messages_as_json(const Verified<Schedule>& schedule, std::int64_t block_bytes) {
  const int ranks = schedule.topology().ranks;
  std::vector<std::vector<std::int64_t>> rows;
  for (const ScheduleMessage& message : messages_of(schedule, block_bytes).all) {
    const Link& link = schedule.topology().links[message.link];
    rows.push_back({message.step, link.src, link.dst, message.bytes});
  }
  const CollectiveKind kind = row_of(schedule.collective().kind).result;
  const auto if_offered = [&](auto value) { return is_offered(kind) ? std::optional(value) : std::nullopt; };
  return json_file("chorale_messages", 1, "ranks", ranks, "collective", if_offered(name_of(kind)),
                   "message_bytes", if_offered(block_bytes * blocks_of(kind, ranks)), "block_bytes",
                   block_bytes, "call_us", schedule.topology().call_us, "messages", rows);
}

}  // namespace chorale
