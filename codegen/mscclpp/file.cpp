// A parser by descent: each function reads one kind of JSON object and resolves the numbers in it, ids of a
// thread block to those of its rank and those to ranks and buffers, so that what it returns needs no table.
// All checks that an object allows by itself are made where it is read; the place in the file goes with the
// error (JsonReader).
//
// Operations that move data are one table: for each name the roles of its operands. Reading looks a name up,
// writing finds the row for given roles (shape_for), so the two cannot differ.
#include "codegen/mscclpp/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/slot.h"

namespace chorale::mscclpp {
namespace {

// Ours; those of the executor are in file.h.
constexpr int kMostPlanRanks = 1024, kMostBlocks = 1024, kMostChunks = 1 << 20;

constexpr Role kNone = {}, kLocal = {Where::Local}, kRemote = {Where::Remote}, kSwitch = {Where::Switch},
               kLocalPacket = {Where::Local, true}, kRemotePacket = {Where::Remote, true},
               kSwitchPacket = {Where::Switch, true};

// Columns: name; pairs; first sources and what all further ones are; first destinations and further ones.
// From the executor's handlers (execution_kernel.hpp): *re* add up, a further s also sends, rr* read from
// peers, *pkt carry flags with the data. A copy stands before the sums, which fit one source as well:
// shape_for takes the first row that fits.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"put", true, {}, kLocal, {}, kRemote},
      {"get", true, {}, kRemote, {}, kLocal},
      {"copy", false, {kLocal}, kNone, {kLocal}, kNone},
      {"re", false, {kLocal}, kLocal, {kLocal}, kNone},
      {"res", false, {kLocal}, kLocal, {kLocal}, kRemote},
      {"rre", false, {kLocal}, kRemote, {kLocal}, kNone},
      {"rres", false, {kLocal}, kRemote, {kLocal}, kRemote},
      {"ppkt", true, {}, kLocal, {}, kRemotePacket},
      {"rppkt", false, {kLocalPacket}, kNone, {}, kRemotePacket},
      {"upkt", false, {kLocalPacket}, kNone, {kLocal}, kNone},
      {"cpkt", false, {kLocal}, kNone, {kLocalPacket}, kNone},
      {"repkt", false, {kLocal}, kLocalPacket, {kLocal}, kNone},
      {"respkt", false, {kLocal}, kLocalPacket, {kLocal}, kRemotePacket},
      {"recpkt", false, {kLocal}, kLocalPacket, {kLocal, kLocalPacket}, kNone},
      {"recspkt", false, {kLocal}, kLocalPacket, {kLocal, kLocalPacket}, kRemotePacket},
      {"glres", false, {kSwitch}, kNone, {kSwitch}, kNone},
      {"gstore", false, {kLocal}, kNone, {kSwitch}, kNone},
      {"gstorepkt", false, {kLocalPacket}, kNone, {kSwitchPacket}, kNone},
      // Over port channels alone: with a signal after it, and with a flush after that.
      {"pws", true, {}, kLocal, {}, kRemote},
      {"pwsf", true, {}, kLocal, {}, kRemote}};
  return all;
}

const Shape* mscclpp_shape(const std::string& name) {
  for (const Shape& shape : shapes())
    if (name == shape.name) return &shape;
  return nullptr;
}

// Is it these first ones, and any number of others?
bool consists_of(const std::vector<Role>& all, const std::vector<Role>& first, const Role& more) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != (i < first.size() ? first[i] : more)) return false;
  return all.size() >= first.size();
}

// The file as it is, with names resolved.
class Parser {
 public:
  Parser(const JsonReader& root, int most_operations, std::vector<std::string>& notes)
      : root_(root), most_operations_(most_operations), notes_(notes) {}

  std::vector<Gpu> gpus() {
    const JsonReader list = root_["gpus"];
    ranks_ = static_cast<int>(list.size(kMostPlanRanks));
    if (ranks_ == 0) list.fail("has no ranks", "give at least one");
    for (Rank n = 0; n < ranks_; ++n) gpus_.push_back(gpu(list.at(n), n));
    return std::move(gpus_);
  }

 private:
  // In the order of their use: operations name channels, buffers and semaphores by their places in these
  // lists.
  Gpu gpu(const JsonReader& json, Rank n) {
    if (json["id"].integer(0, kMostPlanRanks) != n) json["id"].fail("ranks are not in order", "sort them");
    Gpu gpu{.input = json["input_chunks"].integer(0, kMostChunks),
            .output = json["output_chunks"].integer(0, kMostChunks),
            .scratch = json["scratch_chunks"].integer(0, kMostChunks)};
    channels(json["channels"], n, gpu);
    for (const JsonReader& remote : json["remote_buffers"].elements(kMostChunks)) {
      gpu.remotes.push_back({remote["rank"].integer(0, ranks_ - 1), buffer(remote["type"])});
      remote["access_channel_types"].size(4);
    }
    if (json.has("semaphores"))
      for (const JsonReader& semaphore : json["semaphores"].elements(kMostChunks))
        gpu.semaphores.push_back(semaphore["init_value"].integer(0, kMostChunks));
    for (const JsonReader& block : json["threadblocks"].elements(kMostBlocks))
      gpu.blocks.push_back(threadblock(block, static_cast<int>(gpu.blocks.size()), n, gpu));
    return gpu;
  }

  static Buffer buffer(const JsonReader& json) {
    const std::string type = json.text();
    const std::optional<Buffer> known = buffer_of(type);
    if (!known) json.fail("'" + type + "' is not a buffer", "use i, o or s");
    return *known;
  }

  // "memory": peers map each other's buffers. "switch": multicast and reduction by the NVSwitch. "port": a
  // proxy on the host carries out what is put.
  static std::string channel_type(const JsonReader& json) {
    const std::string type = json.text();
    if (type != "memory" && type != "port" && type != "switch")
      json.fail("'" + type + "' is not a type of channels", "use memory, port or switch");
    return type;
  }

  // A memory or port channel is an end of a pair; several to one peer are distinguished by their order. A
  // switch channel is a group of ranks, of which this one has to be a member, with the buffer that the switch
  // reaches at all of them.
  void channels(const JsonReader& json, Rank n, Gpu& gpu) {
    for (const JsonReader& entry : json.elements(kMostChunks)) {
      if (const std::string type = channel_type(entry["channel_type"]); type != "switch") {
        std::vector<Rank>& ends = type == "port" ? gpu.ports : gpu.peers;
        for (const JsonReader& peer : entry["connected_to"].elements(kMostChunks)) {
          ends.push_back(peer.integer(0, ranks_ - 1));
          if (ends.back() == n) peer.fail("a channel to the rank itself");
        }
        continue;
      }
      const bool old = !entry.has("buffer_type") && entry.has("buff");
      if (old && notes_.empty())
        notes_.push_back(entry.where() + ": 'buff' is an old name, the loader demands 'buffer_type'");
      Group group{.buffer = buffer(entry[old ? "buff" : "buffer_type"])};
      for (const JsonReader& each : entry["rank_groups"].elements(kMostChunks)) {
        const JsonReader members = each["ranks"];
        group.ranks = members.integers(kMostPlanRanks, 0, ranks_ - 1);
        std::sort(group.ranks.begin(), group.ranks.end());
        if (std::adjacent_find(group.ranks.begin(), group.ranks.end()) != group.ranks.end())
          members.fail("names a rank twice");
        if (!std::binary_search(group.ranks.begin(), group.ranks.end(), n))
          members.fail(fmt::format("rank {} is not of its own group", n));
        gpu.groups.push_back(group);
      }
    }
  }

  // A thread block names some of its rank's channels and remote buffers; its operations name these by their
  // places in the block's own lists. Operations in a pipeline take room in the executor's list as well.
  Threadblock threadblock(const JsonReader& json, int b, Rank n, const Gpu& gpu) {
    if (json["id"].integer(0, kMostBlocks) != b)
      json["id"].fail("thread blocks are not in order", "sort them");
    Threadblock block;
    const JsonReader used = json["channels"];
    for (const JsonReader& each : used.elements(kMostChunks)) {
      const std::string type = channel_type(each["channel_type"]);
      if (type == "switch")
        ids(each["channel_ids"], gpu.groups.size(), block.switches);
      else if (type == "port")
        ids(each["channel_ids"], gpu.ports.size(), block.ports);
      else
        ids(each["channel_ids"], gpu.peers.size(), block.channels);
    }
    if (block.channels.size() > kMostChannels || block.ports.size() > kMostChannels ||
        block.switches.size() > kMostChannels)
      used.fail("more channels than the executor has room for", fmt::format("use at most {}", kMostChannels));
    if (json.has("remote_buffer_refs")) {
      const JsonReader references = json["remote_buffer_refs"];
      for (const JsonReader& each : references.elements(kMostChunks)) {
        const std::string type = channel_type(each["access_channel_type"]);
        if (type == "switch") each.fail("buffers of peers are reached by memory or port channels");
        ids(each["remote_buffer_ids"], gpu.remotes.size(),
            type == "port" ? block.port_remotes : block.remotes);
      }
      if (block.remotes.size() > kMostChannels || block.port_remotes.size() > kMostChannels)
        references.fail("more buffers than the executor has room for",
                        fmt::format("use at most {}", kMostChannels));
    }
    int operations = 0;
    const JsonReader list = json["ops"];
    for (const JsonReader& each : list.elements(kMostChunks)) {
      block.operations.push_back(operation(each, n, gpu, block, false));
      operations += 1 + static_cast<int>(block.operations.back().inner.size());
    }
    if (operations > most_operations_)
      list.fail(fmt::format("{} operations", operations),
                fmt::format("the executor has room for {}", most_operations_));
    return block;
  }

  static void ids(const JsonReader& json, std::size_t most, std::vector<int>& to) {
    std::ranges::copy(json.integers(kMostChunks, 0, static_cast<int>(most) - 1), std::back_inserter(to));
  }

  // `inside` a pipeline, whose operations the executor runs unit by unit. What the executor reads only in
  // some kinds of operations is read only there: foreign plans leave out the rest.
  Operation operation(const JsonReader& json, Rank n, const Gpu& gpu, const Threadblock& block, bool inside) {
    Operation op{.name = json["name"].text(), .where = json.where()};
    op.shape = mscclpp_shape(op.name);
    const auto fail = [&](const std::string& problem, const std::string& remedy = "") {
      json.fail(op.name + ": " + problem, remedy);
    };
    std::string channel;
    if (json.has("channel_type")) channel = channel_type(json["channel_type"]);
    op.port = channel == "port";
    if (json.has("tbg_info")) {
      op.parts = json["tbg_info"]["tbg_size"].integer(1, kMostBlocks);
      op.part = json["tbg_info"]["tb_id"].integer(0, op.parts - 1);
      if (inside && op.parts > 1) fail("groups of thread blocks do not work in pipelines of the executor");
    }
    if (op.shape) {
      if (op.port && !is_put(op)) over_memory(json, block, op);
      moves(json, n, gpu, block, op);
      if (op.port) through_proxy(json, gpu, block, op);
    } else if (op.name == "signal" || op.name == "rlxsignal" || op.name == "wait" || op.name == "rlxwait" ||
               op.name == "flush") {
      if (channel == "switch" || channel.empty()) fail("works on memory and port channels");
      if (op.name == "flush" && !op.port) fail("is for port channels");
      channels_of(json, block, op);
      if (op.name == "flush" && !json.has("dst_buff"))
        note("flush", json, "the executor awaits as many channels as it has destinations, which are none");
    } else if (op.name == "barrier") {
      op.barrier = json["barrier_id"].integer(0, kMostBarriers - 1);
      op.blocks = json["num_threadblocks"].integer(1, kMostBlocks);
    } else if (op.name == "sem_acquire" || op.name == "sem_release") {
      json["semaphore_ids"].size(kMostSemaphores);
      ids(json["semaphore_ids"], gpu.semaphores.size(), op.semaphores);
    } else if (op.name == "pipeline") {
      if (inside) fail("pipelines in pipelines do not work in the executor");
      op.unit_bytes = json["iter_context"]["unit_size"].long_integer(1, std::numeric_limits<unsigned>::max());
      op.chunks = json["iter_context"]["num_chunks"].integer(1, kMostChunks);
      for (const JsonReader& each : json["ops"].elements(kMostChunks)) {
        op.inner.push_back(operation(each, n, gpu, block, true));
        const Operation& inner = op.inner.back();
        if (inner.shape && packets(*inner.shape))
          each.fail(inner.name + ": the executor sends whole packets in each unit of a pipeline");
        if (inner.shape && inner.size != op.chunks)
          each.fail(
              fmt::format("{}: moves {} chunks in a pipeline over {}", inner.name, inner.size, op.chunks));
      }
    } else if (op.name != "nop") {
      fail("is not an operation that is understood here");
    }
    return op;
  }

  // One note per kind of remark, at the first place.
  void note(const std::string& kind, const JsonReader& json, const std::string& words) {
    if (noted_.insert(kind).second) notes_.push_back(json.where() + ": " + words);
  }

  void channels_of(const JsonReader& json, const Threadblock& block, Operation& op) {
    const JsonReader list = json["channel_ids"];
    if (list.size(kMostChunks) > kMostChannelsAnOperation)
      json.fail(fmt::format("{}: {} channels", op.name, list.size(kMostChunks)),
                fmt::format("the executor has room for {}", kMostChannelsAnOperation));
    const std::vector<int>& own = op.port ? block.ports : block.channels;
    ids(list, own.size(), op.channels);
    for (int& id : op.channels) id = own[id];
  }

  static bool is_put(const Operation& op) { return op.shape->pairs ? op.name != "get" : op.name == "rppkt"; }

  // The executor has a proxy do puts alone. Other operations reach peers by the buffers of the thread block's
  // memory channels, whatever channels they state: it looks up their numbers there.
  void over_memory(const JsonReader& json, const Threadblock& block, Operation& op) {
    op.port = false;
    for (const char* key : {"src_buff", "dst_buff"})
      for (const JsonReader& each : json[key].elements(kMostChunks)) {
        if (!each.has("buffer_id")) continue;
        if (block.remotes.empty())
          json.fail(
              op.name + ": the executor takes buffers of memory channels here, and the thread block has none",
              "put the result over the port channel");
        note(op.name, json, op.name + ": the executor takes the buffer of that number of memory channels");
      }
  }

  // Of what is put, the i-th destination goes over the i-th channel (the first one where none is listed).
  void through_proxy(const JsonReader& json, const Gpu& gpu, const Threadblock& block, Operation& op) {
    if (op.name == "ppkt") {  // as they are
      if (op.from[0].buffer != Buffer::Scratch)
        json.fail("ppkt: over a port channel the executor takes its source for packets", "use cpkt, rppkt");
      for (PlanPlace& place : op.from) place.role.packet = true;
    }
    if (json.has("channel_ids")) channels_of(json, block, op);
    if (op.channels.empty() && !block.ports.empty()) op.channels.assign(op.to.size(), block.ports[0]);
    if (op.channels.size() < op.to.size())
      json.fail(
          fmt::format("{}: {} channels for {} destinations", op.name, op.channels.size(), op.to.size()));
    for (std::size_t i = 0; i < op.to.size(); ++i)
      if (gpu.ports[op.channels[i]] != op.to[i].ranks[0])
        json.fail(fmt::format("{}: its channel leads to rank {}, its destination is at rank {}", op.name,
                              gpu.ports[op.channels[i]], op.to[i].ranks[0]));
  }

  // Whether any operand comes or goes with flags.
  static bool packets(const Shape& shape) {
    const auto any = [](const std::vector<Role>& roles) {
      return std::any_of(roles.begin(), roles.end(), [](const Role& role) { return role.packet; });
    };
    return any(shape.from) || any(shape.to) || shape.more_from.packet || shape.more_to.packet;
  }

  // The executor takes one count for all operands of an operation, so their sizes have to agree (`places`).
  // Of pairs (put, get) it has quirks of its own, which the errors state.
  void moves(const JsonReader& json, Rank n, const Gpu& gpu, const Threadblock& block, Operation& op) {
    op.from = places(json, "src_buff", op.shape->from, op.shape->more_from, n, gpu, block, op);
    op.to = places(json, "dst_buff", op.shape->to, op.shape->more_to, n, gpu, block, op);
    if (op.from.empty() || op.to.empty()) json.fail(op.name + ": moves from nowhere, or to nowhere");
    // A rank that has made the packets itself stores the same ones again.
    if (op.name == "gstorepkt" && op.to[0].index == op.from[0].index && op.to[0].ranks.size() > 1)
      std::erase(op.to[0].ranks, n);
    if ((op.name == "pws" || op.name == "pwsf") && !op.port) json.fail(op.name + ": is for port channels");
    if (!op.shape->pairs) return;
    if (op.from.size() != op.to.size())
      json.fail(fmt::format("{}: {} sources, {} destinations", op.name, op.from.size(), op.to.size()));
    for (std::size_t i = 0; i < op.from.size(); ++i) {
      if (op.name == "get" && op.from[i].index != op.to[i].index)
        json.fail("get: the executor exchanges the indices of source and destination",
                  "let them be the same");
      if (op.name != "get" && !op.port && op.from[i].buffer != op.from[0].buffer)
        json.fail(op.name + ": the executor takes all sources from the buffer of the first");
    }
  }

  // The first operands have roles of their own (a `re` adds remote data to a local value), all further ones
  // the last role. `op` gets the size.
  std::vector<PlanPlace> places(const JsonReader& json, const char* key, const std::vector<Role>& first,
                                const Role& more, Rank n, const Gpu& gpu, const Threadblock& block,
                                Operation& op) {
    const JsonReader list = json[key];
    const std::size_t given = list.size(kMostChunks);
    if (given < first.size() || (given > first.size() && more.where == Where::Nowhere))
      list.fail(fmt::format("{} with {} buffers", op.name, given));
    if (given > kMostChannelsAnOperation + kMostLocalPlaces)
      list.fail(fmt::format("{} with {} buffers", op.name, given),
                fmt::format("the executor has room for {}", kMostChannelsAnOperation + kMostLocalPlaces));
    std::vector<PlanPlace> result;
    for (std::size_t i = 0; i < given; ++i) {
      const Role role = i < first.size() ? first[i] : more;
      result.push_back(place(list.at(i), role, n, gpu, block, op.port));
      const int size = list.at(i)["size"].integer(1, kMostChunks);
      if (op.size != 0 && size != op.size)
        list.at(i).fail(fmt::format("{}: {} chunks and {} chunks", op.name, op.size, size));
      op.size = size;
    }
    return result;
  }

  // Of a place at a peer the file has the number of a remote buffer, of one at a switch the number of a
  // channel; what these are of was resolved before.
  PlanPlace place(const JsonReader& json, const Role& role, Rank n, const Gpu& gpu, const Threadblock& block,
                  bool port) {
    PlanPlace place{.role = role, .index = json["index"].integer(0, kMostChunks)};
    switch (role.where) {
      case Where::Local:
        place.buffer = buffer(json["type"]);
        place.ranks = {n};
        break;
      case Where::Remote: {
        const std::vector<int>& remotes = port ? block.port_remotes : block.remotes;
        const int id = json["buffer_id"].integer(0, static_cast<int>(remotes.size()) - 1);
        place.ranks = {gpu.remotes[remotes[id]].first};
        place.buffer = gpu.remotes[remotes[id]].second;
        break;
      }
      case Where::Switch: {
        const int id = json["switch_channel_id"].integer(0, static_cast<int>(block.switches.size()) - 1);
        place.ranks = gpu.groups[block.switches[id]].ranks;
        place.buffer = gpu.groups[block.switches[id]].buffer;
        break;
      }
      case Where::Nowhere:
        break;
    }
    if (role.packet && place.buffer != Buffer::Scratch) json.fail("packets live in scratch");
    return place;
  }

  const JsonReader& root_;
  const int most_operations_;
  std::vector<std::string>& notes_;
  std::set<std::string> noted_ = {};
  int ranks_ = 0;
  std::vector<Gpu> gpus_ = {};
};

}  // namespace

const Shape* shape_for(const std::vector<Role>& from, const std::vector<Role>& to) {
  const auto at = std::ranges::find_if(shapes(), [&](const Shape& shape) {
    const bool one_pair = from.size() == 1 && to.size() == 1;
    return consists_of(from, shape.from, shape.more_from) && consists_of(to, shape.to, shape.more_to) &&
           (one_pair || !shape.pairs);
  });
  return at == shapes().end() ? nullptr : &*at;
}

// The first limit that is exceeded, in the order of the ranks: lanes are cut until there is none.
std::optional<Fault> excess(const std::vector<Gpu>& gpus, int most_operations) {
  std::optional<Fault> fault;
  for (Rank n = 0; n < static_cast<int>(gpus.size()); ++n)
    for (int b = 0; b < static_cast<int>(gpus[n].blocks.size()); ++b) {
      const auto limit = [&](std::size_t count, int most, const char* what) {
        if (static_cast<int>(count) > most && !fault)
          fault = Fault{.kind = Fault::Kind::Limit,
                        .place = {.rank = n, .block = b},
                        .words = fmt::format("a thread block with {} {}, where executors have room for {}",
                                             count, what, most),
                        .remedy = "use fewer chunks, or another target"};
      };
      limit(gpus[n].blocks[b].operations.size(), most_operations, "operations");
      limit(gpus[n].blocks[b].channels.size(), kMostChannels, "channels");
      limit(gpus[n].blocks[b].ports.size(), kMostChannels, "port channels");
      limit(gpus[n].blocks[b].remotes.size(), kMostChannels, "buffers of peers");
      limit(gpus[n].blocks[b].port_remotes.size(), kMostChannels, "buffers of peers on other nodes");
      limit(gpus[n].blocks[b].switches.size(), kMostChannels, "switch channels");
    }
  return fault;
}

std::vector<Gpu> gpus_of(const JsonReader& root, int most_operations, std::vector<std::string>& notes) {
  return Parser(root, most_operations, notes).gpus();
}

// Plans as JSON text, with the keys that the loader requires.
//
// Ids are places in lists: of remote buffers and channels in the rank's, and in the thread block's list of
// those. So they are found by searching these lists, which are short (16 at most).

namespace {

using Json = nlohmann::ordered_json;

// Requires that it is there.
template <typename T>
int position(const std::vector<T>& all, const T& one) {
  return static_cast<int>(std::ranges::find(all, one) - all.begin());
}

Json place_json(const PlanPlace& place, const Operation& op, const Gpu& gpu, const Threadblock& block) {
  const int size = op.size;
  if (place.role.where == Where::Local)
    return {{"type", letter_of(place.buffer)}, {"index", place.index}, {"size", size}};
  if (place.role.where == Where::Switch) {
    const int group = position(gpu.groups, {place.buffer, place.ranks});
    return {{"switch_channel_id", position(block.switches, group)}, {"index", place.index}, {"size", size}};
  }
  const int remote = position(gpu.remotes, {place.ranks[0], place.buffer});
  return {{"buffer_id", position(op.port ? block.port_remotes : block.remotes, remote)},
          {"index", place.index},
          {"size", size}};
}

// Of the block's channels, one to this rank.
int channel_to(Rank peer, const Gpu& gpu, const Threadblock& block) {
  const auto at = std::ranges::find_if(block.channels, [&](int id) { return gpu.peers[id] == peer; });
  return static_cast<int>(at - block.channels.begin());
}

// Pairs (put, get) have one channel per remote operand, beside the ids, over a port the one that they state;
// other operations name remote buffers alone. The key channel_type is wanted wherever a peer is involved.
Json operation_json(const Operation& op, const Gpu& gpu, const Threadblock& block) {
  Json json = {{"name", op.name}};
  Json channels = Json::array();
  for (int channel : op.channels)
    channels.push_back(position(op.port ? block.ports : block.channels, channel));
  for (const auto& [key, places] : {std::pair{"src_buff", &op.from}, std::pair{"dst_buff", &op.to}})
    for (const PlanPlace& each : *places) {
      json[key].push_back(place_json(each, op, gpu, block));
      if (!op.port && op.shape->pairs && each.role.where == Where::Remote)
        channels.push_back(channel_to(each.ranks[0], gpu, block));
    }
  if (!channels.empty()) json["channel_ids"] = channels;
  const auto any = [&op](Where where) {
    const auto there = [where](const PlanPlace& each) { return each.role.where == where; };
    return std::ranges::any_of(op.from, there) || std::ranges::any_of(op.to, there);
  };
  if (any(Where::Switch))
    json["channel_type"] = "switch";
  else if (!channels.empty() || any(Where::Remote))
    json["channel_type"] = op.port ? "port" : "memory";
  const bool sum_of_switch = !op.from.empty() && op.from.front().role.where == Where::Switch;
  if (sum_of_switch || (op.shape != nullptr && !op.shape->pairs && op.from.size() > 1))
    json["reduce_op"] = "sum";
  return json;
}

Json block_json(std::size_t id, const Gpu& gpu, const Threadblock& block) {
  Json operations = Json::array(), channels = Json::array(), remotes = Json::array();
  for (const Operation& op : block.operations) operations.push_back(operation_json(op, gpu, block));
  if (!block.channels.empty())
    channels.push_back({{"channel_type", "memory"}, {"channel_ids", block.channels}});
  if (!block.ports.empty()) channels.push_back({{"channel_type", "port"}, {"channel_ids", block.ports}});
  if (!block.switches.empty())
    channels.push_back({{"channel_type", "switch"}, {"channel_ids", block.switches}});
  if (!block.remotes.empty())
    remotes.push_back({{"access_channel_type", "memory"}, {"remote_buffer_ids", block.remotes}});
  if (!block.port_remotes.empty())
    remotes.push_back({{"access_channel_type", "port"}, {"remote_buffer_ids", block.port_remotes}});
  return {{"id", id}, {"ops", operations}, {"channels", channels}, {"remote_buffer_refs", remotes}};
}

Json gpu_json(std::size_t id, const Gpu& gpu, const Gpu& most) {
  Json blocks = Json::array(), channels = Json::array(), remotes = Json::array();
  for (const Threadblock& block : gpu.blocks) blocks.push_back(block_json(blocks.size(), gpu, block));
  if (!gpu.peers.empty()) channels.push_back({{"channel_type", "memory"}, {"connected_to", gpu.peers}});
  if (!gpu.ports.empty()) channels.push_back({{"channel_type", "port"}, {"connected_to", gpu.ports}});
  for (const Group& group : gpu.groups)
    channels.push_back(
        {{"channel_type", "switch"},
         {"buffer_type", letter_of(group.buffer)},
         {"rank_groups", Json::array({{{"size", group.ranks.size()}, {"ranks", group.ranks}}})}});
  for (const auto& [rank, buffer] : gpu.remotes) {
    const bool port = std::ranges::find(gpu.ports, rank) != gpu.ports.end();
    remotes.push_back({{"rank", rank},
                       {"type", letter_of(buffer)},
                       {"access_channel_types", Json::array({port ? "port" : "memory"})}});
  }
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
