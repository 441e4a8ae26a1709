// The idea: an instruction is an operation, and the same on several channels is one operation; all else is
// names. An earlier version wrote text while it lowered, so the plan of a given program was not defined.
#include "codegen/mscclpp/write_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace chorale::mscclpp {
namespace {

Role role_of(Rank n, const DataPlace& place) {
  if (place.team >= 0) return {Where::Switch};
  return {place.rank < 0 || place.rank == n ? Where::Local : Where::Remote};
}

bool are_apart(const std::vector<int>& nodes, Rank a, Rank b) {
  return !nodes.empty() && nodes[a] != nodes[b];
}

bool crosses_nodes(const std::vector<int>& nodes, Rank n, const DataOperation& op) {
  const auto away = [&](const DataPlace& place) {
    return place.team < 0 && place.rank >= 0 && are_apart(nodes, n, place.rank);
  };
  return std::ranges::any_of(op.from, away) || std::ranges::any_of(op.to, away);
}

// Where it is, or where it now has been added.
template <typename T>
int index_in(std::vector<T>& all, const T& one) {
  const auto at = std::ranges::find(all, one);
  if (at != all.end()) return static_cast<int>(at - all.begin());
  all.push_back(one);
  return static_cast<int>(all.size()) - 1;
}

// Lists stay sorted, and short.
void add_once(std::vector<int>& all, int one) {
  const auto at = std::ranges::lower_bound(all, one);
  if (at == all.end() || *at != one) all.insert(at, one);
}

// Counters become channels: the k-th counter that rank a raises at rank b is the k-th channel of the pair,
// and so is the k-th that b raises at a, the other direction. So a pair has as many channels as the larger of
// the two numbers, and the signals of both directions share them.
class PlanWriter {
 public:
  PlanWriter(const PeerProgram& program, const std::vector<int>& nodes) : program_(program), nodes_(nodes) {
    for_each_instruction(program, [&](Rank n, int, int, const PeerInstruction& i) {
      if (i.opcode != PeerOpcode::Signal || i.team >= 0) return;
      raisers_[{i.rank, i.counter}] = n;
      if (i.relaxed) relaxed_.insert({i.rank, i.counter, i.value});
    });
    std::map<std::pair<Rank, Rank>, int> counters;  // by owner and raising rank
    for (const auto& [counter, raiser] : raisers_) ordinal_[counter] = counters[{counter.first, raiser}]++;
    for (Rank n = 0; n < ranks(); ++n) {
      const PeerRank& rank = program.ranks[n];
      Gpu& gpu = result_.gpus.emplace_back(
          Gpu{.input = rank.input_chunks, .output = rank.output_chunks, .scratch = rank.scratch_chunks});
      for (Rank peer = 0; peer < ranks(); ++peer) {
        std::vector<Rank>& ends = are_apart(nodes, n, peer) ? gpu.ports : gpu.peers;
        first_channel_[{n, peer}] = static_cast<int>(ends.size());
        ends.insert(ends.end(), std::max(counters[{n, peer}], counters[{peer, n}]), peer);
      }
    }
  }

  WrittenPlan written() {
    if (program_.double_scratch)
      refuse(FaultPlace{}, "alternates between two halves of scratch, which plain stores do not know");
    // In the order of ranks and blocks: the same program gives the same plan.
    for (rank_ = 0; rank_ < ranks(); ++rank_)
      for (const PeerBlock& block : program_.ranks[rank_].blocks) {
        result_.gpus[rank_].blocks.emplace_back();
        for (auto i = block.instructions.begin(); i != block.instructions.end(); ++i)
          say({i, block.instructions.end()});
        flush([](const Put&) { return true; });
      }
    return std::move(result_);
  }

 private:
  using Counter = std::pair<Rank, int>;  // of a rank

  int ranks() const { return static_cast<int>(program_.ranks.size()); }
  Gpu& gpu() { return result_.gpus[rank_]; }
  Threadblock& block() { return gpu().blocks.back(); }

  // The first reason stays; writing goes on, since lanes are written to be measured, too.
  void refuse(const FaultPlace& place, const std::string& words) {
    if (!result_.fault)
      result_.fault =
          Fault{.kind = Fault::Kind::Limit, .place = place, .words = words, .remedy = "use another target"};
  }
  void refuse(const PeerInstruction& i, const std::string& words) {
    const int b = static_cast<int>(gpu().blocks.size()) - 1;
    refuse({.rank = rank_, .block = b},
           fmt::format("rank {}, block {}: {}: {}", rank_, b, to_string(i), words));
  }

  // The first of these instructions is one operation at the end of the block, or joins the last one (talk).
  void say(std::span<const PeerInstruction> rest) {
    const PeerInstruction& i = rest.front();
    switch (i.opcode) {
      case PeerOpcode::Move:
        return crosses_nodes(nodes_, rank_, i.does) ? put(rest) : move(i);
      case PeerOpcode::Signal:
        if (i.team >= 0) return refuse(i, "MSCCL++ signals to one rank at a time");
        if (i.rank == rank_) return refuse(i, "MSCCL++ has channels between ranks alone");
        return talk(i.relaxed ? "rlxsignal" : "signal", i.rank, channel(i.rank, {i.rank, i.counter}));
      case PeerOpcode::Wait:
        return wait(i, {rank_, i.counter});
      case PeerOpcode::Sync:
        flush([&](const Put& put) { return is_stored_over(put, rest.subspan(1)); });
        block().operations.push_back({.name = "nop"});
    }
  }

  // What a proxy was asked to read, and may not have read yet.
  struct Put {
    int channel = 0;
    Slot from = {};
    PlanPlace to = {};
    int size = 0;
  };

  // By the instructions before the next Sync: all threads then know what the flush before this one has
  // awaited.
  bool is_stored_over(const Put& put, std::span<const PeerInstruction> rest) const {
    const auto end = std::ranges::find(rest, PeerOpcode::Sync, &PeerInstruction::opcode);
    return std::any_of(rest.begin(), end, [&](const PeerInstruction& i) {
      return std::ranges::any_of(i.does.to, [&](const DataPlace& to) {
        return i.opcode == PeerOpcode::Move && (to.team >= 0 || to.rank < 0 || to.rank == rank_) &&
               to.slot.buffer == put.from.buffer && to.slot.index < put.from.index + put.size &&
               put.from.index < to.slot.index + i.does.count;
      });
    });
  }

  // Over the channel of the next signal to that rank, which the proxy then gives after it. Several of one
  // size between two Syncs are one operation, in which each has a thread.
  void put(std::span<const PeerInstruction> rest) {
    const PeerInstruction& i = rest.front();
    const Shape* const shape = shape_for(rank_, i.does, nodes_);
    const auto signal = std::ranges::find_if(rest, [&](const PeerInstruction& each) {
      return each.opcode == PeerOpcode::Signal && each.rank == i.does.to.front().rank;
    });
    if (shape == nullptr || signal == rest.end())
      return refuse(i, "MSCCL++ has no such operation over a port");
    std::vector<Operation>& operations = block().operations;
    const auto end = std::ranges::find(operations.rbegin(), operations.rend(), nullptr, &Operation::shape);
    auto same = std::find_if(operations.rbegin(), end, [&](const Operation& op) {
      return op.port && op.size == i.does.count && op.to.size() < kMostChannelsAnOperation;
    });
    if (same == end) {
      operations.push_back({.name = shape->name, .shape = shape, .port = true, .size = i.does.count});
      same = operations.rbegin();
    }
    same->from.push_back(named(i.does.from.front()));
    same->to.push_back(named(i.does.to.front()));
    same->channels.push_back(channel(signal->rank, {signal->rank, signal->counter}));
    add_once(block().ports, same->channels.back());
    puts_.push_back({same->channels.back(), i.does.from.front().slot, same->to.back(), i.does.count});
  }

  // Awaits these puts, and all others of their channels. The executor awaits as many channels as the
  // operation has destinations, thread by thread, so the thread that has asked must have met the others.
  template <typename F>
  void flush(const F& chosen) {
    std::map<int, PlanPlace> channels;
    for (const Put& put : puts_)
      if (chosen(put)) channels.emplace(put.channel, put.to);
    if (channels.empty()) return;
    std::vector<Operation>& operations = block().operations;
    const auto met = std::ranges::find(operations.rbegin(), operations.rend(), "nop", &Operation::name);
    if (std::any_of(operations.rbegin(), met, [](const Operation& op) { return op.port && op.shape; }))
      operations.push_back({.name = "nop"});
    for (const auto& [channel, to] : channels) {
      if (operations.back().name != "flush" || operations.back().channels.size() == kMostChannelsAnOperation)
        operations.push_back({.name = "flush", .port = true, .size = 1});
      operations.back().channels.push_back(channel);
      operations.back().to.push_back(to);
    }
    std::erase_if(puts_, [&](const Put& put) { return channels.contains(put.channel); });
  }

  void move(const PeerInstruction& i) {
    Operation op{.shape = shape_for(rank_, i.does), .size = i.does.count};
    if (op.shape == nullptr) return refuse(i, "MSCCL++ has no such operation");
    op.name = op.shape->name;
    for (const DataPlace& place : i.does.from) op.from.push_back(named(place));
    for (const DataPlace& place : i.does.to) op.to.push_back(named(place));
    block().operations.push_back(std::move(op));
  }

  // A remote place is named by its buffer, of which a GPU lists those that any of its blocks reaches.
  PlanPlace named(const DataPlace& place) {
    const Role role = role_of(rank_, place);
    if (role.where == Where::Switch) {
      const std::vector<Rank>& team = program_.teams[place.team];
      add_once(block().switches, index_in(gpu().groups, Group{place.slot.buffer, team}));
      return {.role = role, .buffer = place.slot.buffer, .ranks = team, .index = place.slot.index};
    }
    if (role.where == Where::Remote)
      add_once(are_apart(nodes_, rank_, place.rank) ? block().port_remotes : block().remotes,
               index_in(gpu().remotes, std::pair{place.rank, place.slot.buffer}));
    return {.role = role,
            .buffer = place.slot.buffer,
            .ranks = {role.where == Where::Remote ? place.rank : rank_},
            .index = place.slot.index};
  }

  // Channels count: a wait for value v after one for u is v - u waits, relaxed where the signals are.
  void wait(const PeerInstruction& i, const Counter& counter) {
    if (i.lag != 0) return refuse(i, "signals of MSCCL++ are for their own launch");
    const Rank peer = raisers_.at(counter);
    if (peer == rank_) return refuse(i, "MSCCL++ has channels between ranks alone");
    for (int& value = awaited_[counter]; value < i.value;) {
      ++value;
      talk(relaxed_.contains({rank_, i.counter, value}) ? "rlxwait" : "wait", peer, channel(peer, counter));
    }
  }

  // Of the rank whose block is being written.
  int channel(Rank peer, const Counter& counter) const {
    return first_channel_.at({rank_, peer}) + ordinal_.at(counter);
  }

  // The same on several channels is one operation.
  // An operation takes up to eight channels of one kind, each once. What a proxy gives is never relaxed.
  void talk(std::string name, Rank peer, int channel) {
    std::vector<Operation>& operations = block().operations;
    const bool port = are_apart(nodes_, rank_, peer);
    if (port) name = name.ends_with("signal") ? "signal" : "wait";
    add_once(port ? block().ports : block().channels, channel);
    if (operations.empty() || operations.back().name != name || operations.back().port != port ||
        operations.back().channels.size() == kMostChannelsAnOperation ||
        std::ranges::count(operations.back().channels, channel) > 0)
      operations.push_back({.name = name, .port = port});
    operations.back().channels.push_back(channel);
  }

  const PeerProgram& program_;
  const std::vector<int>& nodes_;
  WrittenPlan result_ = {};
  std::vector<Put> puts_ = {};  // of the block, since they were awaited last
  Rank rank_ = 0;
  std::map<Counter, Rank> raisers_ = {};
  std::set<std::tuple<Rank, int, int>> relaxed_ = {};        // owner, counter and value
  std::map<Counter, int> ordinal_ = {};                      // among those that the same rank raises there
  std::map<std::pair<Rank, Rank>, int> first_channel_ = {};  // of a rank to a peer
  std::map<Counter, int> awaited_ = {};                      // values
};

}  // namespace

// A limit before the lists: no operation has more places than this, whatever its shape.
const Shape* shape_for(Rank n, const DataOperation& op, const std::vector<int>& nodes) {
  constexpr std::size_t most = kMostChannelsAnOperation + kMostLocalPlaces;
  if (applies(op) || !is_local(op) || op.from.size() > most || op.to.size() > most) return nullptr;
  std::vector<Role> from, to;
  for (const DataPlace& place : op.from) from.push_back(role_of(n, place));
  for (const DataPlace& place : op.to) to.push_back(role_of(n, place));
  const Shape* const shape = shape_for(from, to);
  const bool done =
      shape == nullptr || !crosses_nodes(nodes, n, op) || std::string_view(shape->name) == "put";
  return done ? shape : nullptr;
}

WrittenPlan plan_of(const PeerProgram& program, const std::vector<int>& nodes) {
  return PlanWriter(program, nodes).written();
}

}  // namespace chorale::mscclpp
