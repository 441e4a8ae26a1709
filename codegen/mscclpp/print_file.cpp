// Plans as JSON text, with the keys that the loader requires.
//
// Ids are places in lists: of remote buffers and channels in the rank's, and in the thread block's list of
// those. So they are found by searching these lists, which are short (16 at most).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "codegen/mscclpp/file.h"
#include "ir/slot.h"

namespace chorale::mscclpp {
namespace {

using Json = nlohmann::ordered_json;

// Requires that it is there.
template <typename T>
int position(const std::vector<T>& all, const T& one) {
  return static_cast<int>(std::ranges::find(all, one) - all.begin());
}

Json place_json(const PlanPlace& place, int size, const Gpu& gpu, const Threadblock& block) {
  if (place.role.where == Where::Local)
    return {{"type", letter_of(place.buffer)}, {"index", place.index}, {"size", size}};
  const int remote = position(gpu.remotes, {place.ranks[0], place.buffer});
  return {{"buffer_id", position(block.remotes, remote)}, {"index", place.index}, {"size", size}};
}

// Of the block's channels, one to this rank.
int channel_to(Rank peer, const Gpu& gpu, const Threadblock& block) {
  const auto at = std::ranges::find_if(block.channels, [&](int id) { return gpu.peers[id] == peer; });
  return static_cast<int>(at - block.channels.begin());
}

// Pairs (put, get) have one channel per remote operand, beside the ids; other operations name remote buffers
// alone. The key channel_type is wanted wherever a peer is involved.
Json operation_json(const Operation& op, const Gpu& gpu, const Threadblock& block) {
  Json json = {{"name", op.name}};
  Json channels = Json::array();
  for (int channel : op.channels) channels.push_back(position(block.channels, channel));
  for (const auto& [key, places] : {std::pair{"src_buff", &op.from}, std::pair{"dst_buff", &op.to}})
    for (const PlanPlace& each : *places) {
      json[key].push_back(place_json(each, op.size, gpu, block));
      if (op.shape->pairs && each.role.where == Where::Remote)
        channels.push_back(channel_to(each.ranks[0], gpu, block));
    }
  if (!channels.empty()) json["channel_ids"] = channels;
  const auto far = [](const PlanPlace& each) { return each.role.where == Where::Remote; };
  if (!channels.empty() || std::ranges::any_of(op.from, far) || std::ranges::any_of(op.to, far))
    json["channel_type"] = "memory";
  if (op.shape != nullptr && !op.shape->pairs && op.from.size() > 1) json["reduce_op"] = "sum";
  return json;
}

Json block_json(std::size_t id, const Gpu& gpu, const Threadblock& block) {
  Json operations = Json::array(), channels = Json::array(), remotes = Json::array();
  for (const Operation& op : block.operations) operations.push_back(operation_json(op, gpu, block));
  if (!block.channels.empty())
    channels.push_back({{"channel_type", "memory"}, {"channel_ids", block.channels}});
  if (!block.remotes.empty())
    remotes.push_back({{"access_channel_type", "memory"}, {"remote_buffer_ids", block.remotes}});
  return {{"id", id}, {"ops", operations}, {"channels", channels}, {"remote_buffer_refs", remotes}};
}

Json gpu_json(std::size_t id, const Gpu& gpu, const Gpu& most) {
  Json blocks = Json::array(), channels = Json::array(), remotes = Json::array();
  for (const Threadblock& block : gpu.blocks) blocks.push_back(block_json(blocks.size(), gpu, block));
  if (!gpu.peers.empty()) channels.push_back({{"channel_type", "memory"}, {"connected_to", gpu.peers}});
  for (const auto& [rank, buffer] : gpu.remotes)
    remotes.push_back(
        {{"rank", rank}, {"type", letter_of(buffer)}, {"access_channel_types", Json::array({"memory"})}});
  return {{"id", id},
          {"input_chunks", gpu.input == 0 ? most.input : gpu.input},
          {"output_chunks", gpu.output == 0 ? most.output : gpu.output},
          {"scratch_chunks", gpu.scratch},
          {"threadblocks", blocks},
          {"channels", channels},
          {"remote_buffers", remotes},
          {"semaphores", Json::array()}};
}

}  // namespace

// Sizes without a limit are the largest that the loader's 64-bit numbers hold. Invalid UTF-8 in a name is
// replaced, not thrown on.
std::string to_json(const Plan& plan) {
  Gpu most;
  for (const Gpu& gpu : plan.gpus) {
    most.input = std::max(most.input, gpu.input);
    most.output = std::max(most.output, gpu.output);
  }
  Json gpus = Json::array();
  for (const Gpu& gpu : plan.gpus) gpus.push_back(gpu_json(gpus.size(), gpu, most));
  Json json = {{"name", plan.name},
               {"collective", plan.collective},
               {"protocol", "Simple"},
               {"inplace", plan.in_place},
               {"reuse_resources", false},
               {"gpus", gpus},
               {"num_threads_per_block", 1024},
               {"use_double_scratch_buffer", false},
               {"buffer_alignment", 16},
               {"min_message_size", plan.min_bytes},
               {"max_message_size", plan.max_bytes > 0 ? static_cast<unsigned long long>(plan.max_bytes)
                                                       : 18446744073709551615ULL}};
  if (plan.root) json["root"] = *plan.root;
  // ASCII only: other characters are escaped.
  return json.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace chorale::mscclpp
