// The idea: hops (Moves to be, codegen/passes/lanes.h) are shared out over lanes (codegen/passes/lanes.h),
// which are put side by side: one lane for our kernel, as many as it takes where thread blocks hold little.
//
// What lost: plans of MSCCL++ had a lowering of their own, from events to text, with the same mailboxes and
// the same rule for when threads must meet, but without fusion. What is different for them are options, and
// 1,432 plans (the grid of benchmarks/ and baseline algorithms, in place and out of place) have a quarter
// fewer operations, and 17 % fewer thread blocks.
#include "codegen/passes/peer_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "codegen/passes/events.h"
#include "codegen/passes/lanes.h"

namespace chorale {
namespace {

// In place: one name for each memory location.
void name_places(const Collective& collective, const Program& program, std::vector<Events>& ranks) {
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n)
    for (Event& event : ranks[n])
      for (std::vector<DataPlace>* places : {&event.does.from, &event.does.to})
        for (DataPlace& place : *places)
          place.slot = in_place_slot(collective.kind, program.chunks_per_block, n, place.slot,
                                     program.ranks[n].input_chunks, program.ranks[n].output_chunks);
}

// Before it is verified.
struct PeerDraft {
  PeerProgram program = {};
  std::optional<Fault> fault = {};  // why there is none: Limit
};

// A lane beside those that are there. Its counters are numbered behind those of each rank: a Wait is for a
// counter of its own rank, a Signal for one of another.
void append(PeerProgram& program, PeerProgram&& lane) {
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
    for (PeerInstruction& i : lane.ranks[n].blocks[0].instructions) {
      if (i.opcode == PeerOpcode::Wait) i.counter += program.ranks[n].counters;
      if (i.opcode == PeerOpcode::Signal) i.counter += program.ranks[i.rank].counters;
    }
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
    PeerRank& rank = program.ranks[n];
    rank.counters += lane.ranks[n].counters;
    if (PeerBlock& block = lane.ranks[n].blocks[0]; !block.instructions.empty())
      rank.blocks.push_back(std::move(block));
  }
}

// The first part of each rank that does most in it, then the second ones, ...
std::vector<int> round_robin(const std::vector<std::map<Rank, int>>& hops) {
  std::vector<std::pair<int, int>> turns;  // and parts
  std::map<Rank, int> had;
  for (int part = 0; part < static_cast<int>(hops.size()); ++part) {
    const auto most = std::ranges::max_element(hops[part], {}, [](const auto& at) { return at.second; });
    turns.push_back({had[most->first]++, part});
  }
  std::ranges::sort(turns);
  std::vector<int> parts;
  for (const auto& [turn, part] : turns) parts.push_back(part);
  return parts;
}

// As few lanes as the target takes: each part goes into the first one that still has room. Most attempts
// fail, and each costs a lane that is written in vain; so a lane that exceeded a limit at a rank is not tried
// again with parts that do no less there (full:16, Allgather over all rings: 7.0 CPU s without, 1.5 with, for
// a plan that is 1 % longer). Parts are taken round-robin over the ranks at which they do most, so that lanes
// fill evenly at all ranks.
PeerDraft shared_out(PeerWork& work) {
  struct Lane {
    std::set<int> parts = {};
    PeerProgram program = {};
    std::map<Rank, int> too_much = {};  // hops of a part there
  };
  std::vector<std::map<Rank, int>> hops(find_parts(work.hops, work.switched.teams));  // by part
  for (Rank n = 0; n < static_cast<int>(work.hops.size()); ++n)
    for (const Hop& hop : work.hops[n]) ++hops[hop.part][n];
  std::vector<Lane> lanes;
  for (const int part : round_robin(hops)) {
    std::optional<Fault> excess;
    const auto has_room = [&](Lane& lane) {
      for (const auto& [n, most] : lane.too_much)
        if (hops[part][n] >= most) return false;
      std::set<int> with = lane.parts;
      with.insert(part);
      PeerProgram program = lane_of(work, with);
      excess = work.options.excess(program);
      if (excess) {
        lane.too_much[excess->place.rank] = hops[part][excess->place.rank];
      } else {
        lane.parts = std::move(with);
        lane.program = std::move(program);
      }
      return !excess;
    };
    if (std::ranges::any_of(lanes, has_room)) continue;
    if (static_cast<int>(lanes.size()) == work.options.most_blocks)
      return {.fault =
                  Fault{.kind = Fault::Kind::Limit,
                        .words = fmt::format("needs more than {} thread blocks", work.options.most_blocks),
                        .remedy = "use fewer chunks"}};
    if (!has_room(lanes.emplace_back())) {
      excess->words = "chunks that belong together need " + excess->words;
      return {.fault = excess};
    }
  }
  PeerDraft result{.program = work.frame};
  for (Lane& lane : lanes) append(result.program, std::move(lane.program));
  return result;
}

PeerDraft draft_of(const Collective& collective, const Program& program, const PeerOptions& options,
                   const SwitchUses& by_switch, bool merged) {
  std::vector<Events> ranks;
  for (const RankProgram& rank : program.ranks) ranks.push_back(completed(rank));
  if (program.in_place) name_places(collective, program, ranks);
  std::set<int> apart;
  for (const SwitchUse& use : by_switch.uses) apart.insert(use.messages.begin(), use.messages.end());
  if (merged) merge_messages(ranks, program.chunks_per_block, apart);
  PeerWork work{.options = options, .ends = ends_of(ranks)};
  std::vector<int> scratch;
  for (const RankProgram& rank : program.ranks) scratch.push_back(rank.scratch_chunks);
  work.switched = use_switches(by_switch, ranks, work.ends, scratch);
  work.mail = mailboxes_of(std::move(scratch), ranks, work.ends, work.switched, options.pull);
  work.hops = hops_of(ranks, work.mail, work.switched);
  SwitchUses rest{.teams = by_switch.teams};
  std::set<int> refused;
  for (Rank n = 0; n < static_cast<int>(ranks.size()); ++n) {
    const auto has = [&](const DataOperation& op) { return !options.has || options.has(n, op); };
    store_sums_to_all(work.hops[n], work.switched.teams, has);
    for (const Hop& hop : work.hops[n])
      if (hop.move.from.front().team >= 0 && !has(hop.move)) refused.insert(hop.takes.front());
    fuse(work.hops[n], has);
    drop_dead_stores(work.hops[n], work.switched.teams, has);
  }
  if (!refused.empty()) {
    std::ranges::copy_if(by_switch.uses, std::back_inserter(rest.uses),
                         [&](const SwitchUse& use) { return !refused.contains(use.messages.front()); });
    return draft_of(collective, program, options, rest, merged);
  }
  work.frame = {.name = program.name,
                .collective = collective.kind,
                .chunks_per_block = program.chunks_per_block,
                .in_place = program.in_place,
                .double_scratch = options.double_scratch,
                .epilogue = program.epilogue,
                .teams = work.switched.teams};
  for (std::size_t n = 0; n < ranks.size(); ++n)
    work.frame.ranks.push_back({.input_chunks = program.ranks[n].input_chunks,
                                .output_chunks = program.ranks[n].output_chunks,
                                .scratch_chunks = work.mail.scratch[n],
                                .slice = program.ranks[n].slice});
  return options.excess ? shared_out(work) : PeerDraft{.program = lane_of(work, {0})};
}

}  // namespace

PeerOptions peers_for_kernel(bool pull) {
  return {.pull = pull, .switches = !pull, .team_signals = true};
}

// Sums in an order of the switch's own may be such that ranks do not agree, and sums that one rank makes for
// others such that ranks wait for each other; then each is made by its rank.
Verification<PeerProgram> try_to_peers(const Verified<Program>& program, const PeerOptions& options,
                                       const SwitchUses& by_switch) {
  PeerDraft draft = draft_of(program.collective(), *program, options, by_switch, true);
  if (draft.fault) draft = draft_of(program.collective(), *program, options, by_switch, false);
  if (draft.fault) return {.fault = std::move(draft.fault)};
  Verification<PeerProgram> result = verify(program, std::move(draft.program));
  const auto is = [&](Fault::Kind kind) { return result.fault && result.fault->kind == kind; };
  if (!by_switch.uses.empty() && (is(Fault::Kind::Order) || is(Fault::Kind::Deadlock)))
    return try_to_peers(program, options);
  if (result.fault) throw std::logic_error("to_peers: " + result.fault->words);
  return result;
}

}  // namespace chorale
