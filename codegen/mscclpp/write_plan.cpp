// The idea: an instruction is an operation, and the same on several channels is one operation; all else is
// names. An earlier version wrote text while it lowered, so the plan of a given program was not defined.
#include "codegen/mscclpp/write_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace chorale::mscclpp {
namespace {

Role role_of(Rank n, const DataPlace& place) {
  if (place.team >= 0) return {Where::Switch};
  return {place.rank < 0 || place.rank == n ? Where::Local : Where::Remote};
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
  explicit PlanWriter(const PeerProgram& program) : program_(program) {
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
        first_channel_[{n, peer}] = static_cast<int>(gpu.peers.size());
        gpu.peers.insert(gpu.peers.end(), std::max(counters[{n, peer}], counters[{peer, n}]), peer);
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
        for (const PeerInstruction& i : block.instructions) say(i);
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

  // Each instruction is one operation at the end of the block, or joins the last one (talk).
  void say(const PeerInstruction& i) {
    switch (i.opcode) {
      case PeerOpcode::Move:
        return move(i);
      case PeerOpcode::Signal:
        if (i.team >= 0) return refuse(i, "MSCCL++ signals to one rank at a time");
        if (i.rank == rank_) return refuse(i, "MSCCL++ has channels between ranks alone");
        return talk(i.relaxed ? "rlxsignal" : "signal", channel(i.rank, {i.rank, i.counter}));
      case PeerOpcode::Wait:
        return wait(i, {rank_, i.counter});
      case PeerOpcode::Sync:
        block().operations.push_back({.name = "nop"});
    }
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
      add_once(block().remotes, index_in(gpu().remotes, std::pair{place.rank, place.slot.buffer}));
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
      talk(relaxed_.contains({rank_, i.counter, value}) ? "rlxwait" : "wait", channel(peer, counter));
    }
  }

  // Of the rank whose block is being written.
  int channel(Rank peer, const Counter& counter) const {
    return first_channel_.at({rank_, peer}) + ordinal_.at(counter);
  }

  // The same on several channels is one operation.
  // An operation takes up to eight channels, each once.
  void talk(const char* name, int channel) {
    std::vector<Operation>& operations = block().operations;
    add_once(block().channels, channel);
    if (operations.empty() || operations.back().name != name ||
        operations.back().channels.size() == kMostChannelsAnOperation ||
        std::ranges::count(operations.back().channels, channel) > 0)
      operations.push_back({.name = name});
    operations.back().channels.push_back(channel);
  }

  const PeerProgram& program_;
  WrittenPlan result_ = {};
  Rank rank_ = 0;
  std::map<Counter, Rank> raisers_ = {};
  std::set<std::tuple<Rank, int, int>> relaxed_ = {};        // owner, counter and value
  std::map<Counter, int> ordinal_ = {};                      // among those that the same rank raises there
  std::map<std::pair<Rank, Rank>, int> first_channel_ = {};  // of a rank to a peer
  std::map<Counter, int> awaited_ = {};                      // values
};

}  // namespace

// A limit before the lists: no operation has more places than this, whatever its shape.
const Shape* shape_for(Rank n, const DataOperation& op) {
  constexpr std::size_t most = kMostChannelsAnOperation + kMostLocalPlaces;
  if (applies(op) || !is_local(op) || op.from.size() > most || op.to.size() > most) return nullptr;
  std::vector<Role> from, to;
  for (const DataPlace& place : op.from) from.push_back(role_of(n, place));
  for (const DataPlace& place : op.to) to.push_back(role_of(n, place));
  return shape_for(from, to);
}

WrittenPlan plan_of(const PeerProgram& program) {
  return PlanWriter(program).written();
}

}  // namespace chorale::mscclpp
