// Chunks whose data never meet in a slot (Components, by union-find) are independent, so each component could be a thread
// block; executors have few, so each goes into the first block that has room for it on every rank. Blocks come in the same
// order on all ranks, hence the k-th channel to a peer meets its k-th channel to us without any bookkeeping.
//
// Invariants: the events of a block keep the order of the rank's list; a `nop` stands between an operation and what other
// threads of the block must have finished for it. What is printed is read back and refereed, so a mistake here is an error
// and not a wrong plan.
//
// Messages are merged first, which takes fewer operations but ties chunks together; where they then are too much for a
// block, all is done again with a message a chunk.
#include "codegen/mscclpp/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "codegen/mscclpp/read_plan.h"
#include "codegen/passes/events.h"
#include "ir/error.h"
#include "semantics/verify_peers.h"

namespace chorale {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostChannelsABlock = 16, kMostChannelsAnOperation = 8, kMostBlocks = 64;

const char* plan_buffer(Buffer buffer) {
  return buffer == Buffer::Input ? "i" : buffer == Buffer::Output ? "o" : "s";
}

// Where a slot lies, of a rank.
using SlotOf = std::function<Slot(Rank, const Slot&)>;

// Sets of events whose data meet in some slot that is written, over all ranks.
class Components {
 public:
  Components(const std::vector<Events>& ranks, const SlotOf& where, bool in_place) {
    for (std::size_t n = 0; n < ranks.size(); ++n)
      for (const Event& event : ranks[n]) {
        if (event.gone) continue;
        const int self = fresh();
        of_event_[&event] = self;
        if (event.message >= 0) join(self, name({-1, -1, event.message}));
        for (const auto& slots :
             {slots_of(event.does.from, event.does.count), slots_of(event.does.to, event.does.count)})
          for (const Slot& slot : slots)
            if (const Slot at = where(static_cast<int>(n), slot); in_place || at.buffer != Buffer::Input)
              join(self, name({static_cast<int>(n), static_cast<int>(at.buffer), at.index}));
      }
  }

  int of(const Event& event) { return root(of_event_.at(&event)); }

 private:
  int fresh() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  int name(const std::tuple<int, int, int>& thing) {
    const auto [at, added] = names_.try_emplace(thing, 0);
    if (added) at->second = fresh();
    return at->second;
  }
  int root(int x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(int a, int b) { parent_[std::max(root(a), root(b))] = std::min(root(a), root(b)); }

  std::vector<int> parent_ = {};
  std::map<std::tuple<int, int, int>, int> names_ = {};  // rank, buffer, slot; or a message
  std::map<const Event*, int> of_event_ = {};
};

// Where each message lies in the receiver's scratch.
struct Landings {
  std::map<int, int> first_slot = {};  // by message
  std::vector<int> scratch = {};       // by rank: all its slots
};

Landings landings_of(const std::vector<Events>& ranks, const Program& program) {
  Landings result;
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    int next = program.ranks[n].scratch_chunks;
    for (const Event& event : ranks[n])
      if (!event.gone && event.message >= 0 && !event.does.sends) {
        result.first_slot[event.message] = next;
        next += event.does.count;
      }
    result.scratch.push_back(next);
  }
  return result;
}

// One thread block of one rank.
class PlanBlockWriter {
 public:
  PlanBlockWriter(const Landings& landings, const SlotOf& where, Rank rank)
      : landings_(landings), where_(where), rank_(rank) {}

  // Events of the block in their order; peers that it talks to.
  void write(const std::vector<const Event*>& events) {
    std::set<Rank> peers;
    for (const Event* event : events)
      if (event->message >= 0) peers.insert(event->peer);
    peers_.assign(peers.begin(), peers.end());
    if (!peers_.empty()) {
      talk("rlxsignal", peers_);
      talk("rlxwait", peers_);
      meet();
    }
    for (std::size_t from = 0; from < events.size();) {
      std::size_t to = from;
      while (to < events.size() && events[to]->step == events[from]->step) ++to;
      step(events, from, to);
      from = to;
    }
  }

  const std::vector<Rank>& peers() const { return peers_; }
  int operations() const { return static_cast<int>(ops_.size()); }
  const Json& ops() const { return ops_; }

 private:
  void step(const std::vector<const Event*>& events, std::size_t from, std::size_t to) {
    std::set<Rank> sent, awaited;
    for (std::size_t k = from; k < to; ++k) {
      const Event& event = *events[k];
      if (event.message < 0) continue;
      if (!event.does.sends) {
        awaited.insert(event.peer);
        continue;
      }
      sent.insert(event.peer);
      reads(event.does);
      // The peer's scratch is the remote buffer of its channel's number.
      ops_.push_back({{"name", "put"},
                      {"src_buff", Json::array({place(event.does.from[0].slot, event.does.count)})},
                      {"dst_buff", Json::array({{{"buffer_id", channel(event.peer)},
                                                 {"index", landings_.first_slot.at(event.message)},
                                                 {"size", event.does.count}}})},
                      {"channel_ids", Json::array({channel(event.peer)})},
                      {"channel_type", "memory"}});
    }
    if (!sent.empty()) {
      meet();
      talk("signal", {sent.begin(), sent.end()});
    }
    if (!awaited.empty()) {
      talk("wait", {awaited.begin(), awaited.end()});
      meet();
    }
    for (std::size_t k = from; k < to; ++k)
      if (!events[k]->does.sends) store(*events[k]);
  }

  void store(const Event& event) {
    const DataOperation& op = event.does;
    reads(op);
    writes(op);
    Json sources = Json::array();
    if (adds(op)) sources.push_back(place(op.from[0].slot, op.count));
    sources.push_back(op.takes ? place({Buffer::Scratch, landings_.first_slot.at(event.message)}, op.count)
                               : place(op.from.back().slot, op.count));
    Json entry = {{"name", adds(op) ? "re" : "copy"},
                  {"src_buff", sources},
                  {"dst_buff", Json::array({place(op.to[0].slot, op.count)})}};
    if (adds(op)) entry["reduce_op"] = "sum";
    ops_.push_back(entry);
  }

  // Threads of a block see each other's writes after they have met, and overwrite what others have read. What
  // an instruction writes must be noted after what it reads, which it may overwrite itself.
  void reads(const DataOperation& i) {
    for (const Slot& slot : slots_of(i.from, i.count))
      if (written_.contains(where_(rank_, slot))) meet();
    just_read_.clear();
    for (const Slot& slot : slots_of(i.from, i.count)) just_read_.insert(where_(rank_, slot));
    if (i.sends) read_.insert(just_read_.begin(), just_read_.end());
  }
  void writes(const DataOperation& i) {
    for (const Slot& slot : slots_of(i.to, i.count))
      if (const Slot at = where_(rank_, slot); written_.contains(at) || read_.contains(at)) meet();
    read_.insert(just_read_.begin(), just_read_.end());
    for (const Slot& slot : slots_of(i.to, i.count)) written_.insert(where_(rank_, slot));
  }
  void meet() {
    written_.clear();
    read_.clear();
    if (!ops_.empty() && ops_.back()["name"] != "nop") ops_.push_back({{"name", "nop"}});
  }

  void talk(const char* name, const std::vector<Rank>& peers) {
    for (std::size_t from = 0; from < peers.size(); from += kMostChannelsAnOperation) {
      Json channels = Json::array();
      for (std::size_t k = from; k < std::min(peers.size(), from + kMostChannelsAnOperation); ++k)
        channels.push_back(channel(peers[k]));
      ops_.push_back({{"name", name}, {"channel_ids", channels}, {"channel_type", "memory"}});
    }
  }

  int channel(Rank peer) const {
    return static_cast<int>(std::lower_bound(peers_.begin(), peers_.end(), peer) - peers_.begin());
  }

  static Json place(const Slot& slot, int count) {
    return {{"type", plan_buffer(slot.buffer)}, {"index", slot.index}, {"size", count}};
  }

  const Landings& landings_;
  std::vector<Rank> peers_ = {};
  const SlotOf& where_;
  const Rank rank_;
  std::set<Slot> written_ = {}, read_ = {};  // since the threads met
  std::set<Slot> just_read_ = {};            // by this instruction
  Json ops_ = Json::array();
};

class PlanWriter {
 public:
  PlanWriter(const Program& program, const MscclppOptions& options, bool merge)
      : program_(program), options_(options) {
    where_ = [&program, in_place = options.in_place](Rank n, const Slot& slot) {
      return in_place ? in_place_slot(program.collective, program.chunks_per_block, n, slot) : slot;
    };
    for (const RankProgram& rank : program.ranks) ranks_.push_back(landed(rank));
    if (merge) merge_messages(ranks_, program.chunks_per_block);
    landings_ = landings_of(ranks_, program);
    Components components(ranks_, where_, options.in_place);
    for (const Events& events : ranks_) {
      std::map<int, std::vector<const Event*>> parts;
      for (const Event& event : events)
        if (!event.gone) parts[components.of(event)].push_back(&event);
      parts_.push_back(std::move(parts));
    }
    limit_ = share_out();
  }

  // Why the executor cannot hold it; none: it has all blocks.
  const std::optional<Fault>& limit() const { return limit_; }

  Json gpus() const {
    Json result = Json::array();
    for (Rank n = 0; n < static_cast<int>(ranks_.size()); ++n) result.push_back(gpu(n));
    return result;
  }

 private:
  std::vector<const Event*> events_of(Rank n, const std::vector<int>& components) const {
    std::vector<const Event*> events;
    for (int c : components)
      if (const auto at = parts_[n].find(c); at != parts_[n].end())
        events.insert(events.end(), at->second.begin(), at->second.end());
    // Events lie in one list, in their order.
    std::sort(events.begin(), events.end());
    return events;
  }

  PlanBlockWriter written(Rank n, const std::vector<int>& components) const {
    PlanBlockWriter writer(landings_, where_, n);
    writer.write(events_of(n, components));
    return writer;
  }

  // Which components a thread block does, the same on all ranks: as few blocks as keep the limits.
  std::optional<Fault> share_out() {
    std::set<int> components;
    for (const auto& parts : parts_)
      for (const auto& [component, events] : parts) components.insert(component);
    for (int component : components) {
      bool placed = false;
      for (std::vector<int>& block : blocks_) {
        block.push_back(component);
        if ((placed = fits(block))) break;
        block.pop_back();
      }
      if (placed) continue;
      blocks_.push_back({component});
      if (!fits(blocks_.back()))
        return Fault{
            .kind = Fault::Kind::Limit,
            .words = fmt::format(
                "chunks that belong together need more than {} operations or {} peers in a thread block",
                options_.most_operations, kMostChannelsABlock),
            .remedy = "use fewer chunks, or another target"};
      if (static_cast<int>(blocks_.size()) > kMostBlocks)
        return Fault{.kind = Fault::Kind::Limit,
                     .words = fmt::format("needs more than {} thread blocks", kMostBlocks),
                     .remedy = "use fewer chunks"};
    }
    return std::nullopt;
  }

  bool fits(const std::vector<int>& block) const {
    for (Rank n = 0; n < static_cast<int>(ranks_.size()); ++n) {
      const PlanBlockWriter writer = written(n, block);
      if (writer.operations() > options_.most_operations ||
          static_cast<int>(writer.peers().size()) > kMostChannelsABlock)
        return false;
    }
    return true;
  }

  Json gpu(Rank n) const {
    Json threadblocks = Json::array(), connected = Json::array(), remote = Json::array();
    std::map<Rank, int> remote_of;
    for (const std::vector<int>& block : blocks_) {
      const PlanBlockWriter writer = written(n, block);
      if (writer.operations() == 0) continue;
      // The k-th channel to a peer meets its k-th channel to us: blocks come in the same order everywhere.
      Json channel_ids = Json::array(), buffer_ids = Json::array();
      for (Rank peer : writer.peers()) {
        channel_ids.push_back(connected.size());
        connected.push_back(peer);
        const auto [at, added] = remote_of.try_emplace(peer, static_cast<int>(remote.size()));
        if (added)
          remote.push_back(
              {{"rank", peer}, {"type", "s"}, {"access_channel_types", Json::array({"memory"})}});
        buffer_ids.push_back(at->second);
      }
      Json channels = Json::array(), buffers = Json::array();
      if (!writer.peers().empty()) {
        channels.push_back({{"channel_type", "memory"}, {"channel_ids", channel_ids}});
        buffers.push_back({{"access_channel_type", "memory"}, {"remote_buffer_ids", buffer_ids}});
      }
      threadblocks.push_back({{"id", threadblocks.size()},
                              {"ops", writer.ops()},
                              {"channels", channels},
                              {"remote_buffer_refs", buffers}});
    }
    Json channels = Json::array();
    if (!connected.empty()) channels.push_back({{"channel_type", "memory"}, {"connected_to", connected}});
    return {{"id", n},
            {"input_chunks", program_.ranks[n].input_chunks},
            {"output_chunks", program_.ranks[n].output_chunks},
            {"scratch_chunks", landings_.scratch[n]},
            {"threadblocks", threadblocks},
            {"channels", channels},
            {"remote_buffers", remote},
            {"semaphores", Json::array()}};
  }

  const Program& program_;
  const MscclppOptions options_;
  SlotOf where_ = {};
  std::vector<Events> ranks_ = {};
  Landings landings_ = {};
  std::vector<std::map<int, std::vector<const Event*>>> parts_ = {};  // by rank and component
  std::vector<std::vector<int>> blocks_ = {};                         // components
  std::optional<Fault> limit_ = {};
};

// A fault out of place is ours; in place it may be the algorithm's, which was made for two buffers.
void require_right(const std::string& text, const std::string& name, const MscclppOptions& options) {
  const MscclppFile file = mscclpp_from_json(text, name, options.most_operations);
  const std::vector<Fault> faults = violations(file.collective, file.program, {.packets = file.packets}, 1);
  if (faults.empty()) return;
  if (!options.in_place) throw std::logic_error("to_mscclpp_plan: " + faults.front().words);
  throw InputError(name, "is wrong in place: " + faults.front().words, "use it out of place");
}

// Chunks that are one message belong together; where that is too much for a thread block, they go one by one.
PlanWriter within_limits(const Program& program, const MscclppOptions& options) {
  PlanWriter merged(program, options, true);
  if (!merged.limit()) return merged;
  return PlanWriter(program, options, false);
}

}  // namespace

std::string to_mscclpp_plan(const Collective& collective, const Program& program,
                            const MscclppOptions& options) {
  if (has_epilogue(program))
    throw InputError(program.name, "MSCCL++ has no operation that applies a function to a sum (an epilogue)",
                     "use another target");
  if (!is_offered(collective.kind))
    throw InputError(program.name, "MSCCL++ has no name for the collective " + name_of(collective),
                     "use another target");
  const PlanWriter writer = within_limits(program, options);
  if (writer.limit()) throw InputError(program.name, *writer.limit());
  const Json plan = {
      {"name", program.name},
      {"collective", name_of(collective)},
      {"protocol", "Simple"},
      {"inplace", options.in_place},
      {"reuse_resources", false},
      {"gpus", writer.gpus()},
      {"num_threads_per_block", 1024},
      {"use_double_scratch_buffer", false},
      {"buffer_alignment", 16},
      {"min_message_size", options.min_bytes},
      {"max_message_size",
       options.max_bytes > 0 ? static_cast<unsigned long long>(options.max_bytes) : 18446744073709551615ULL}};
  const std::string text = plan.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  require_right(text, program.name, options);
  return text;
}

}  // namespace chorale
