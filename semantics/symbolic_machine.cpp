// Memory is laid out once: of each rank the cells of its input, its output and its scratch, one after the
// other. In place, slots that share memory are one cell (where()), so what is true of cells is true of shared
// memory, without a rule for it. Values are shared and never changed: to move one is to copy a pointer, to
// add two is to merge two sorted lists.
//
// Races are found by vector clocks (Mattern 1989), which the verifiers keep. Of a cell its last write and the
// reads since are enough, as in FastTrack (Flanagan and Freund 2009): an access that is ordered after the
// last write is ordered after all that the write was ordered after, and where that was not so it was
// reported. Of the reads of one instruction the latest is kept: a clock that contains a later phase of an
// actor contains the earlier ones.
//
// Inputs have other numbers in every launch (input_value), so that what an earlier launch has left is another
// value than what is wanted now. of_first_launch() takes that back where a sum is compared with a promise.
#include "semantics/symbolic_machine.h"

#include "ir/collective_kind.h"

namespace chorale {

void learn(Clock& clock, const Clock& other) {
  for (std::size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], other[k]);
}

Slot SymbolicMachine::where(Rank n, const Slot& slot) const {
  return in_place_ ? in_place_slot(collective_.kind, pieces_, n, slot) : slot;
}

// In place a buffer may have to hold what lies beyond its own slots: a rank of Reduce that is not the root
// does not have an output, and its input lies there. All slots of a buffer move by the same distance, so the
// last one determines how much room there must be.
void SymbolicMachine::lay_out() {
  for (Rank n = 0; n < static_cast<int>(sizes_.size()); ++n) {
    int room[2] = {0, 0};
    for (const auto& [buffer, size] :
         {std::pair(Buffer::Input, sizes_[n].input), {Buffer::Output, sizes_[n].output}})
      if (size > 0) {
        const Slot last = where(n, {buffer, size - 1});
        int& there = room[static_cast<int>(last.buffer)];
        there = std::max(there, last.index + 1);
      }
    first_cell_.push_back({0, room[0], room[0] + room[1]});
    cells_.emplace_back(room[0] + room[1] + sizes_[n].scratch * (double_scratch_ ? 2 : 1));
  }
}

// Chunks that do not combine may share an output, and are added there; a chunk that is alone in its output is
// not a sum. complete_ defines what the function may be applied to, by position, and position_of_ the
// position of what has become complete.
void SymbolicMachine::find_complete_sums() {
  for (Rank n = 0; n < promise_.ranks(); ++n)
    for (const auto& [slot, chunks] : promise_.outputs(n)) {
      if (!collective_.combining && chunks.size() < 2) continue;
      const int at = collective_.chunks[chunks.front()].input;
      const SymbolicSum sum = *promise_.wanted(n, slot);
      complete_[at] = sum;
      if (sum.size() > 1) position_of_.try_emplace(sum, at);
    }
}

// With double scratch, even and odd launches have halves of their own, so that a launch may begin while a
// slow rank still reads the last one's.
Cell& SymbolicMachine::cell(Rank n, const Slot& slot, int launch) {
  const Slot at = where(n, slot);
  const int other_half =
      at.buffer == Buffer::Scratch && double_scratch_ && launch % 2 == 1 ? sizes_[n].scratch : 0;
  return cells_[n][first_cell_[n][static_cast<int>(at.buffer)] + at.index + other_half];
}

SymbolicValue SymbolicMachine::input_value(Rank n, int input, int launch) {
  const int place = launch * promise_.places() + promise_.place(n, input);
  return {std::make_shared<SymbolicSum>(SymbolicSum{{place, 1}}), input % pieces_, 0, trees_.input(place)};
}

// --- Form.

// Checks that the function is valid, and that sliced tensors lie like the outputs, element by element: pieces
// may differ in length, so both begin at a block.
void SymbolicMachine::epilogue_form(const Epilogue& epilogue) {
  if (const std::string what = flaw(epilogue); !what.empty())
    report(Kind::Epilogue, {}, "the epilogue {}", what);
  if (!sliced_) return;
  for (Rank n = 0; n < ranks(); ++n) {
    const int slice = sizes_[n].slice;
    for (const auto& [slot, chunks] : promise_.outputs(n))
      if (slice % pieces_ != 0 || collective_.chunks[chunks.front()].input != slice + slot)
        report(Kind::Epilogue, {.rank = n, .chunk = slot},
               "output[{}] of rank {} does not lie where its slice of tensors has it, at position {}", slot,
               n, slice + slot);
  }
}

void SymbolicMachine::operation_form(Rank n, const DataOperation& op, const Access& access) {
  if (does_nothing(op)) return;
  if (op.count < 1) return complain(Kind::Form, access, "moves {} chunks", op.count);
  if (op.piece < 0 || op.piece >= pieces_)
    return complain(Kind::Form, access, "piece {} of {}", op.piece, pieces_);
  places_form(n, op, op.from, access);
  places_form(n, op, op.to, access);
  if (!in_place_ &&
      std::ranges::any_of(op.to, [](const DataPlace& to) { return to.slot.buffer == Buffer::Input; }))
    complain(Kind::Written, access, "writes the input");
}

void SymbolicMachine::places_form(Rank n, const DataOperation& op, const std::vector<DataPlace>& places,
                                  const Access& access) {
  for (const DataPlace& place : places) {
    if (place.team >= static_cast<int>(teams_.size())) {
      complain(Kind::Form, access, "there is no team {}", place.team);
      continue;
    }
    for (const DataPlace& each : single_places(teams_, place)) {
      const Rank rank = each.rank < 0 ? n : each.rank;
      if (rank >= ranks()) {
        complain(Kind::Form, access, "there is no rank {}", rank);
        continue;
      }
      const int size = each.slot.buffer == Buffer::Input    ? sizes_[rank].input
                       : each.slot.buffer == Buffer::Output ? sizes_[rank].output
                                                            : sizes_[rank].scratch;
      // Nothing is added that could overflow.
      if (each.slot.index < 0 || each.slot.index > size - op.count)
        complain(Kind::Form, access, "there is no {}, the buffer has {}",
                 to_string(next_slot(each.slot, op.count - 1)), counted(size, "chunk"));
      else if (each.slot.buffer != Buffer::Scratch && each.slot.index % pieces_ != op.piece)
        complain(Kind::Form, access, "{} is not piece {} of its block", to_string(each), op.piece);
    }
    if (place.team >= 0) team_form(place, access);
  }
}

// One address stands for all ranks of a team, so the slot lies at the same offset at each: in place in the
// same buffer, and of two scratches where the second begins at the same one.
void SymbolicMachine::team_form(const DataPlace& place, const Access& access) {
  const std::vector<Rank>& team = teams_[place.team];
  for (const Rank n : team) {
    if (n < 0 || n >= ranks()) return;
    const bool halves = place.slot.buffer == Buffer::Scratch && double_scratch_;
    if (where(n, place.slot) != where(team.front(), place.slot) ||
        (halves && sizes_[n].scratch != sizes_[team.front()].scratch))
      return complain(Kind::Form, access, "{} lies at other offsets at ranks {} and {}", to_string(place),
                      team.front(), n);
  }
}

// --- The effect of an operation.

// All reads come before all stores. A store into a slot that another chunk reads is reported as a race of the
// operation with itself; dst = dst + src reads and stores each slot as one chunk, and is not a race. `read`
// is by slot: of several chunks that read one it has the last.
std::vector<SymbolicValue> SymbolicMachine::perform(const DataOperation& op, const Doing& doing,
                                                    const std::vector<SymbolicValue>& message) {
  // The number of the chunk of the operation; threads process chunks in any order, so no other chunk may
  // access a cell that one of them stores.
  constexpr int kSeveral = -1;
  std::map<const Cell*, int> read, stored;
  const auto note = [](std::map<const Cell*, int>& chunk_of, const Cell& here, int k) {
    const auto [at, first] = chunk_of.try_emplace(&here, k);
    if (!first && at->second != k) at->second = kSeveral;
    return at->second == k;
  };
  std::vector<SymbolicValue> results;
  std::vector<Accesses> made_of(op.count);
  for (int k = 0; k < op.count; ++k) {
    const int piece = (op.piece + k) % pieces_;
    std::optional<SymbolicValue> result;
    if (op.takes) {
      result = message[k];
      if (result->sum) expect(*result, "what arrives", piece, doing);
    }
    for (const DataPlace& first : op.from) {
      std::optional<SymbolicValue> value;
      for (const DataPlace& from : single_places(teams_, next_place(first, k))) {
        Cell& here = cell(owner(from, doing), from.slot, doing.access.launch);
        if (doing.carried) {
          if (doing.carried(here)) made_of[k].insert(here.made_of.begin(), here.made_of.end());
          made_of[k].insert({&here, doing.access.actor, doing.access.instruction, doing.access.phase});
        }
        const SymbolicValue one = operand(from, here, piece, doing);
        note(read, here, k);
        value = value ? sum(*value, one, doing) : one;
      }
      if (first.team >= 0) value->tree = trees_.by_switch();
      result = result ? sum(*result, *value, doing) : *value;
    }
    if (completions_ && adds(op) && result->sum)
      if (const auto at = position_of_.find(*result->sum); at != position_of_.end())
        completions_->push_back({doing.rank, doing.block, doing.access.instruction, k, at->second});
    if (result) results.push_back(applies(op) ? finished(*result, op, k, doing) : *result);
  }
  for (int k = 0; k < op.count; ++k)
    for (const DataPlace& first : op.to)
      for (const DataPlace& to : single_places(teams_, next_place(first, k))) {
        Cell& here = cell(owner(to, doing), to.slot, doing.access.launch);
        if (const auto other = read.find(&here);
            other != read.end() && other->second != k && once(doing.access, doing.access))
          complain(Kind::Race, doing.access, "other threads may read {} before or after it is written",
                   to_string(to));
        if (!note(stored, here, k) && once(doing.access, doing.access))
          complain(Kind::Race, doing.access, "several chunks are stored in {}, by threads in any order",
                   to_string(to));
        touch(here, to, true, doing, made_of[k]);
        here.value = results[k];
        if (doing.carried) here.made_of = made_of[k];
      }
  return results;
}

SymbolicValue SymbolicMachine::operand(const DataPlace& from, Cell& here, int piece, const Doing& doing) {
  touch(here, from, false, doing);
  expect(here.value, to_string(from), piece, doing);
  return here.value;
}

// Reported of the first fault only: later ones may follow from it.
void SymbolicMachine::expect(const SymbolicValue& value, const std::string& what, int piece,
                             const Doing& doing) {
  if (!found_.empty()) return;
  if (!value.sum)
    complain(Kind::Absent, doing.access, "{} was never written", what);
  else if (value.piece != piece)
    complain(Kind::Match, doing.access, "{} holds piece {}, not {}", what, value.piece, piece);
}

// Of what is not there no sum is made: the fault was reported by expect(), and more would follow from it.
SymbolicValue SymbolicMachine::sum(const SymbolicValue& a, const SymbolicValue& b, const Doing& doing) {
  if (!a.sum || !b.sum) return {};
  if (a.applied + b.applied > 0) complain(Kind::Epilogue, doing.access, "adds to what has had its epilogue");
  return {std::make_shared<SymbolicSum>(added(*a.sum, *b.sum)), a.piece, a.applied + b.applied,
          trees_.sum(a.tree, b.tree)};
}

SymbolicValue SymbolicMachine::finished(SymbolicValue value, const DataOperation& op, int chunk,
                                        const Doing& doing) {
  if (!value.sum) return value;
  // The value there must be the whole sum that belongs to this position: the function may use the index of
  // the element, so the right sum in the wrong slot is wrong.
  const int position = op.position + chunk;
  const auto complete = complete_.find(position);
  if (complete == complete_.end())
    complain(Kind::Epilogue, doing.access, "nothing is summed up at position {}", position);
  else if (of_first_launch(*value.sum, doing.access.launch) != complete->second)
    complain(Kind::Epilogue, doing.access, "it has {} of {} of position {}",
             counted(static_cast<long long>(value.sum->size()), "input"), complete->second.size(), position);
  const Sizes& rank = sizes_[doing.rank];
  if (sliced_ && (position < rank.slice || position >= rank.slice + rank.output))
    complain(Kind::Epilogue, doing.access, "position {} is not in the slice of tensors that the rank has",
             position);
  if (++value.applied > 1) complain(Kind::Epilogue, doing.access, "a second epilogue");
  return value;
}

SymbolicSum SymbolicMachine::of_first_launch(const SymbolicSum& sum, int launch) const {
  SymbolicSum result = sum;
  for (auto& [place, times] : result) place -= launch * promise_.places();
  return result;
}

// --- Accesses.

void SymbolicMachine::touch(Cell& here, const DataPlace& at, bool writes, const Doing& doing,
                            const Accesses& before) {
  const Access& access = doing.access;
  const auto unordered = [&](const Access& other, const char* verb) {
    if (other.actor < 0 || doing.ordered(here, other)) return;
    if (other.actor == access.actor && other.launch == access.launch &&
        other.instruction == access.instruction)
      return;
    if (once(other, access))
      complain(Kind::Race, access, "{} {}, and nothing orders that with {}, which {} it",
               writes ? "writes" : "reads", to_string(at), name(other), verb);
  };
  // Data that came with their own flag have arrived, whatever wrote them.
  if (!doing.carried || !doing.carried(here)) unordered(here.writer, "writes");
  if (!writes) {
    here.reads[{access.actor, access.instruction}] = access;
    return;
  }
  // A write ends the reads: they are ordered before it, or a race is reported now, and later accesses are
  // compared with the write. `before` are reads that were made for the value that it stores, and are over.
  for (const auto& [reader, read] : here.reads)
    if (!before.contains({&here, read.actor, read.instruction, read.phase})) unordered(read, "reads");
  here.reads.clear();
  here.writer = access;
}

// Each fault once, not for each slot and launch.
bool SymbolicMachine::once(const Access& a, const Access& b) {
  return races_.insert({a.actor, a.instruction, b.actor, b.instruction}).second;
}

// --- The promise.

void SymbolicMachine::outputs(Rank n, const std::string& when, int launch) {
  for (int o = 0; o < sizes_[n].output && !full(); ++o) {
    const FaultPlace at{.rank = n, .chunk = o};
    const SymbolicValue& value = cell(n, {Buffer::Output, o}, launch).value;
    const std::optional<SymbolicSum> wanted = promise_.wanted(n, o);
    if (!wanted) {
      if (value.sum && !in_place_)
        report(Kind::Written, at, "{}: rank {} has written output[{}], where nothing is promised", when, n,
               o);
      continue;
    }
    if (!value.sum) {
      report(Kind::Outcome, at, "{}: rank {} has not written output[{}]", when, n, o);
      continue;
    }
    const SymbolicSum held = of_first_launch(*value.sum, launch);
    if (held.front().first < 0 || held.back().first >= promise_.places())
      report(Kind::Outcome, at, "{}: output[{}] of rank {} holds inputs of another launch", when, o, n);
    else if (held != *wanted)
      report(Kind::Outcome, at, "{}: output[{}] of rank {} {}", when, o, n,
             promise_.difference(*wanted, held));
    else if (value.piece != o % pieces_)
      report(Kind::Outcome, at, "{}: output[{}] of rank {} holds piece {}", when, o, n, value.piece);
    else if (applies_ && value.applied != 1)
      report(Kind::Epilogue, at, "{}: output[{}] of rank {} has not had the epilogue that others have had",
             when, o, n);
    else
      order(n, o, value, when, launch);
  }
}

// The first rank that has an output of these chunks sets the tree of all others, unless the collective
// gives one. Trees are compared by their numbers, in which a + b and b + a are equal: addition of floats is
// commutative and not associative.
void SymbolicMachine::order(Rank n, int o, const SymbolicValue& value, const std::string& when, int launch) {
  if (value.sum->size() < 2 || collective_.order.kind == SumOrder::Kind::Free) return;
  const std::span<const Chunk> chunks = promise_.chunks(n, o);
  const auto [at, first] = ordered_.try_emplace({launch, {chunks.begin(), chunks.end()}});
  if (first) {
    const int asked = asked_tree(chunks, launch);
    at->second = asked < 0 ? Ordered{value.tree, n} : Ordered{asked, -1};
  }
  if (at->second.tree == value.tree) return;
  const FaultPlace place{.rank = n, .chunk = o};
  if (at->second.rank < 0)
    report(Kind::Order, place, "{}: output[{}] of rank {} was not added up along the tree {}", when, o, n,
           to_string(collective_.order));
  else
    report(Kind::Order, place, "{}: ranks {} and {} have added up output[{}] in different orders", when,
           at->second.rank, n, o);
}

// -1: any that all ranks have.
int SymbolicMachine::asked_tree(std::span<const Chunk> chunks, int launch) {
  if (collective_.order.kind != SumOrder::Kind::Fixed) return -1;
  std::vector<int> place(collective_.ranks, -1);
  std::vector<Rank> ranks;
  for (const Promise::Input& term : promise_.terms(chunks)) {
    place[term.rank] = launch * promise_.places() + promise_.place(term.rank, term.slot);
    ranks.push_back(term.rank);
  }
  std::ranges::sort(ranks);
  // Nodes come after their children, so one pass in their order numbers the tree; a node with one child left
  // is that child.
  const CombinationTree tree = restricted(collective_.order.tree, ranks);
  std::vector<int> number(tree.parent.size(), -1);
  for (int node = 0; node < std::ssize(number); ++node) {
    if (node < tree.leaves && place[node] >= 0) number[node] = trees_.input(place[node]);
    const int up = tree.parent[node];
    if (up >= 0 && number[node] >= 0)
      number[up] = number[up] < 0 ? number[node] : trees_.sum(number[up], number[node]);
  }
  return number.back();
}

}  // namespace chorale
