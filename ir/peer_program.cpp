// Counters only grow within a launch, so the largest value that is signalled is what a launch adds to a
// counter; a wait in the next launch is for that much more.
#include "ir/peer_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace chorale {

std::vector<Rank> signalled(const PeerProgram& program, const PeerInstruction& signal) {
  return signal.team < 0 ? std::vector{signal.rank} : program.teams[signal.team];
}

std::vector<std::vector<int>> values_of_a_launch(const PeerProgram& program) {
  std::vector<std::vector<int>> result;
  for (const PeerRank& rank : program.ranks) result.emplace_back(std::max(rank.counters, 0), 0);
  // Every signal of every rank, since a counter may be raised from another rank.
  for_each_instruction(program, [&](Rank, int, int, const PeerInstruction& i) {
    if (i.opcode != PeerOpcode::Signal) return;
    for (const Rank n : signalled(program, i)) {
      int& most = result.at(n).at(i.counter);
      most = std::max(most, i.value);
    }
  });
  return result;
}

std::string to_string(PeerOpcode opcode) {
  const char* names[] = {"move", "signal", "wait", "sync"};
  return names[static_cast<int>(opcode)];
}

std::string to_string(const PeerInstruction& i) {
  switch (i.opcode) {
    case PeerOpcode::Move:
      return to_string(i.does);
    case PeerOpcode::Signal:
      return fmt::format("raise counter {} of {} {} to {}{}", i.counter, i.team < 0 ? "rank" : "team",
                         i.team < 0 ? i.rank : i.team, i.value, i.relaxed ? ", relaxed" : "");
    case PeerOpcode::Wait:
      return fmt::format("wait for counter {} to be {}{}", i.counter, i.value,
                         i.lag == 0   ? ""
                         : i.lag == 1 ? " since the last launch"
                                      : fmt::format(" since {} launches ago", i.lag));
    case PeerOpcode::Sync:
      return "sync";
  }
  return "";
}

// What is computed once here need not be computed by every block in every launch: the slots that share memory
// in place, the rank that raises a counter, and what a counter gains in a launch. Slots are one table: rank
// after rank, those that its instructions name, then its inputs and its outputs, as the user has them.

namespace {

bool is_of_team(const DataPlace& place) {
  return place.team >= 0;
}

// A slot by owner, buffer and index. In place, a slot of the smaller buffer is replaced by the one of the
// larger that shares its memory, so that equal memory has equal rows.
PeerPlaceRow place_row(const PeerProgram& program, Rank of, Slot slot) {
  const PeerRank& rank = program.ranks[of];
  if (program.in_place)
    slot = in_place_slot(program.collective, program.chunks_per_block, of, slot, rank.input_chunks,
                         rank.output_chunks);
  return {of, static_cast<int>(slot.buffer), slot.index};
}

// Of a team the slots have the same number at all ranks.
PeerPlaceRow place_row(const PeerProgram& program, Rank doing, const DataPlace& at) {
  if (!is_of_team(at)) return place_row(program, at.rank < 0 ? doing : at.rank, at.slot);
  PeerPlaceRow row = place_row(program, program.teams[at.team].front(), at.slot);
  row.rank = -1 - at.team;
  return row;
}

// By the counter's owner and number: the rank whose block raises it. A counter is raised by one block
// (ir/peer_program.h), so the last Signal stands for all.
std::map<std::pair<Rank, int>, Rank> who_raises(const PeerProgram& program) {
  std::map<std::pair<Rank, int>, Rank> result;
  for_each_instruction(program, [&](Rank n, int, int, const PeerInstruction& i) {
    if (i.opcode != PeerOpcode::Signal) return;
    for (const Rank owner : signalled(program, i)) result[{owner, i.counter}] = n;
  });
  return result;
}

}  // namespace

// Rows of a block are consecutive, and blocks of a rank; a row refers to its places by the first and by how
// many are read and written. PeerRankRow::inputs and ::outputs are where the places of the user's slots
// begin, one per chunk.
PeerTable table_of(const PeerProgram& program) {
  PeerTable table;
  const std::map<std::pair<Rank, int>, Rank> raisers = who_raises(program);
  const std::vector<std::vector<int>> gains = values_of_a_launch(program);
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
    const PeerRank& rank = program.ranks[n];
    for (const PeerBlock& block : rank.blocks) {
      table.blocks.push_back(
          {n, static_cast<int>(table.rows.size()), static_cast<int>(block.instructions.size())});
      for (const PeerInstruction& i : block.instructions) {
        const bool by_switch =
            std::ranges::any_of(i.does.from, is_of_team) || std::ranges::any_of(i.does.to, is_of_team);
        PeerRow row{.kind = by_switch ? 4 : static_cast<int>(i.opcode),
                    .count = i.does.count,
                    .piece = i.does.piece,
                    .places = static_cast<int>(table.places.size()),
                    .from = static_cast<int>(i.does.from.size()),
                    .to = static_cast<int>(i.does.to.size()),
                    .rank = i.team < 0 ? i.rank : -1 - i.team,
                    .counter = i.counter,
                    .value = i.value,
                    .a_launch = 0,
                    .lag = i.lag,
                    .position = i.does.position};
        // A wait in a later launch is for a_launch more per launch (values_of_a_launch).
        if (i.opcode == PeerOpcode::Wait) row.rank = raisers.at({n, i.counter});
        if (i.opcode == PeerOpcode::Wait) row.a_launch = gains[n][i.counter];
        if (i.opcode == PeerOpcode::Signal) row.a_launch = gains[signalled(program, i).front()][i.counter];
        // A place without a rank is the own rank's.
        for (const DataPlace& at : i.does.from) table.places.push_back(place_row(program, n, at));
        for (const DataPlace& at : i.does.to) table.places.push_back(place_row(program, n, at));
        table.rows.push_back(row);
      }
    }
    const int inputs = static_cast<int>(table.places.size());
    for (int i = 0; i < rank.input_chunks; ++i)
      table.places.push_back(place_row(program, n, Slot{Buffer::Input, i}));
    table.ranks.push_back({rank.input_chunks, rank.output_chunks, rank.scratch_chunks, rank.counters, inputs,
                           static_cast<int>(table.places.size()), rank.slice});
    for (int o = 0; o < rank.output_chunks; ++o)
      table.places.push_back(place_row(program, n, Slot{Buffer::Output, o}));
  }
  for (const std::vector<Rank>& team : program.teams) {
    table.teams.push_back({static_cast<int>(table.members.size()), static_cast<int>(team.size())});
    table.members.insert(table.members.end(), team.begin(), team.end());
  }
  return table;
}

}  // namespace chorale
