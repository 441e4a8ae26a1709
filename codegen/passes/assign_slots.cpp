// One pass over the schedule that tracks, for each chunk and rank, where its value is and where it goes when
// a message arrives. All sends of a step are emitted before any of its arrivals is processed, since they read
// what was there before; of what arrives at one value, what replaces it comes before what is added to it.
// Sums are made in the order in which all destinations make them (ir/agreement.h), by as many
// additions as in any other order.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "codegen/passes/passes.h"
#include "ir/agreement.h"
#include "ir/promise.h"

namespace chorale {
namespace {

// State is that between two steps: where each value is (values_), the number of the next message, the next
// sum that is due (next_sum_). Instructions of a rank are in one list, and a later pass orders them.
class SlotAssigner {
 public:
  SlotAssigner(const Topology& topology, const Collective& collective, const Schedule& schedule)
      : topology_(topology),
        collective_(collective),
        once_(adds_once(collective)),
        outputs_(collective.ranks),
        operands_(operands_of(collective)) {
    if (collective.combining) {
      const SendsByChunk sends = sends_by_chunk(collective, schedule);
      for (Chunk c = 0; c < std::ssize(collective.chunks); ++c)
        sums_.push_back(sums_of(topology, collective, c, sends.of(c)).sums);
      next_sum_.resize(sums_.size());
    }
    program_.name = name_of(collective) + " on " + topology.name;
    program_.collective = collective.kind;
    program_.chunks_per_block = collective.chunks_per_block;
    for (Rank n = 0; n < collective.ranks; ++n)
      program_.ranks.push_back({.input_chunks = input_chunks(collective, n),
                                .output_chunks = output_chunks(collective, n),
                                .blocks = {ThreadBlock{}}});
    values_.resize(collective.chunks.size() * collective.ranks);
    const Promise promise(collective);
    for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c) {
      const ChunkSpec& spec = collective.chunks[c];
      if (spec.summed) due_.push_back(c);
      for (Rank n : spec.pre)
        if (!spec.summed) value(c, n).at = Slot{Buffer::Input, spec.input};
    }
    // Of several chunks that are added up in one output slot the first is made there. The others stay where
    // they are until the end.
    for (Rank n = 0; n < collective.ranks; ++n)
      for (const Promise::Output& output : promise.outputs(n)) {
        outputs_[n][output.slot] = {output.chunks.begin(), output.chunks.end()};
        value(output.chunks.front(), n).home = Slot{Buffer::Output, output.slot};
      }
  }

  // A chunk may come to a rank from several in one step: what replaces its value, and what is added.
  void add(const Step& step) {
    // First all sends, since they read where values are before the step.
    std::map<std::pair<Chunk, Rank>, std::vector<Arrival>> arrivals;
    for (const Send& send : step.sends) {
      const Link& link = topology_.links[send.link];
      Value& sent = value(send.chunk, link.src);
      emit(link.src, {.does = sending(*sent.at, piece(send.chunk)), .peer = link.dst, .message = messages_});
      sent.sent_in = step_;
      arrivals[{send.chunk, link.dst}].push_back(
          {.src = link.src, .message = messages_++, .reduce = send.reduce});
    }
    for (auto& [at, all] : arrivals) {
      std::stable_partition(all.begin(), all.end(), [](const Arrival& a) { return !a.reduce; });
      receive(at.first, at.second, all);
    }
    std::erase_if(due_, [&](Chunk c) { return add_up(c); });
    ++step_;
  }

  // Values that no message has brought to the output (an own block, a root's vector) are copied in the last
  // step.
  Program finish() {
    program_.steps = std::max(step_, 1);
    step_ = program_.steps - 1;
    for (Rank n = 0; n < collective_.ranks; ++n)
      for (const auto& [position, chunks] : outputs_[n]) deliver(n, {Buffer::Output, position}, chunks);
    return std::move(program_);
  }

 private:
  struct Value {
    std::optional<Slot> at = {};    // where it is; nothing if the rank holds nothing
    std::optional<Slot> home = {};  // where it goes when something arrives
    int sent_in = -1;               // the last step that sends it
  };
  struct Arrival {
    Rank src = 0;
    int message = 0;
    bool reduce = false;
  };

  Value& value(Chunk c, Rank n) { return values_[static_cast<std::size_t>(c) * collective_.ranks + n]; }
  int piece(Chunk c) const { return collective_.chunks[c].input % collective_.chunks_per_block; }
  Slot new_scratch(Rank n) { return {Buffer::Scratch, program_.ranks[n].scratch_chunks++}; }

  void emit(Rank n, Instruction instruction) {
    instruction.step = step_;
    program_.ranks[n].blocks[0].instructions.push_back(std::move(instruction));
  }

  // Values are numbered as in SumMade: 0 is what is here, or what replaces it. The first arrival lands where
  // the value goes, if it is added to what is in the input at once; else the input comes in there later, as
  // one of two operands.
  void receive(Chunk c, Rank n, const std::vector<Arrival>& arrivals) {
    Value& v = value(c, n);
    if (!v.home) v.home = new_scratch(n);
    const std::vector<Addition> sum = additions(c, n);
    const int first = once_ ? -1 : v.at && !sum.empty() ? partner_of_own(sum.front()) : 1;
    std::vector<std::optional<Slot>> at = {v.at};
    for (const Arrival& arrival : arrivals) {
      const int number = arrival.reduce ? static_cast<int>(at.size()) : 0;
      const bool free = number == 0 ? v.at != v.home || v.sent_in != step_  // the replaced value is not read
                                    : number == first && at.front() != v.home;
      const Slot landing = free ? *v.home : new_scratch(n);
      emit(n, {.does = receiving(landing, piece(c)), .peer = arrival.src, .message = arrival.message});
      if (number > 0) {
        at.push_back(landing);
        continue;
      }
      if (!free) emit(n, {.does = copying(landing, *v.home, piece(c))});
      at.front() = v.home;
    }
    if (once_ && sum.size() > 1) {
      std::vector<DataPlace> operands;
      for (const int k : from_the_left(sum)) operands.push_back({*at[k]});
      emit(n, {.does = {.from = std::move(operands), .to = {{*v.home}}, .piece = piece(c)}});
      v.at = v.home;
      return;
    }
    for (const auto& [into, from] : sum) {
      const std::optional<Slot> a = at[into], b = at[from];
      const bool here =
          a == v.home || b == v.home || a->buffer == Buffer::Input || b->buffer == Buffer::Input;
      const Slot dst = here ? *v.home : *a, src = dst == *b ? *a : *b;
      DataOperation both = adding(src, dst, piece(c));
      if (dst != *a && dst != *b) both.from = {{*a}, {*b}};
      emit(n, {.does = std::move(both)});
      at[into] = dst;
    }
    v.at = v.home;
  }

  // The values of a sum that is made by one operation, in the order of the ranks.
  static std::vector<int> from_the_left(const std::vector<Addition>& sum) {
    std::vector<int> values = {sum.front().into};
    for (const Addition& each : sum) values.push_back(each.from);
    return values;
  }

  // What the rank's own value is added to; -1 if that is not of these two.
  static int partner_of_own(const Addition& two) {
    return two.into == 0 ? two.from : two.from == 0 ? two.into : -1;
  }

  // Of the step; callers request sums in the order in which they are made.
  std::vector<Addition> additions(Chunk c, Rank n) {
    if (sums_.empty() || next_sum_[c] == sums_[c].size()) return {};
    SumMade& next = sums_[c][next_sum_[c]];
    if (next.step != step_ + 1 || next.rank != n) return {};
    ++next_sum_[c];
    return std::move(next.additions);
  }

  // Makes what is a sum of others, if all of them are at its rank.
  bool add_up(Chunk c) {
    const Rank n = collective_.chunks[c].pre.front();
    if (!std::ranges::all_of(operands_[c], [&](Chunk each) { return value(each, n).at.has_value(); }))
      return false;
    Value& sum = value(c, n);
    if (!sum.home) sum.home = new_scratch(n);
    deliver(n, *sum.home, operands_[c]);
    sum.at = sum.home;
    return true;
  }

  // What is at `output` already is the first chunk of those that go there, or else it is copied.
  void deliver(Rank n, Slot output, const std::vector<Chunk>& chunks) {
    std::vector<Slot> at;
    for (Chunk c : chunks) at.push_back(*value(c, n).at);
    const std::vector<Addition> sum = local_sum(collective_, chunks);
    if (once_ && sum.size() > 1) {
      std::vector<DataPlace> operands;
      for (const int k : from_the_left(sum)) operands.push_back({at[k]});
      emit(n, {.does = {.from = std::move(operands), .to = {{output}}, .piece = piece(chunks.front())}});
      return;
    }
    if (at.front() != output) {
      emit(n, {.does = copying(at.front(), output, piece(chunks.front()))});
      at.front() = output;
    }
    for (const auto& [into, from] : sum) {
      const bool other_way = at[from] == output || (at[into] != output && at[into].buffer == Buffer::Input);
      const Slot src = other_way ? at[into] : at[from], dst = other_way ? at[from] : at[into];
      emit(n, {.does = adding(src, dst, piece(chunks.front()))});
      at[into] = dst;
    }
  }

  const Topology& topology_;
  const Collective& collective_;
  const bool once_;
  std::vector<std::map<int, std::vector<Chunk>>> outputs_;  // by rank and output position
  const std::vector<std::vector<Chunk>> operands_;          // by chunk, of what is a sum of others
  std::vector<Chunk> due_ = {};                             // sums that are not made yet
  std::vector<Value> values_ = {};                          // by chunk and rank
  std::vector<std::vector<SumMade>> sums_ = {};             // by chunk, where they combine
  std::vector<std::size_t> next_sum_ = {};                  // by chunk
  Program program_ = {};
  int step_ = 0;
  int messages_ = 0;
};

}  // namespace

Program assign_slots(const Topology& topology, const Collective& collective, const Schedule& schedule) {
  SlotAssigner assigner(topology, collective, schedule);
  for (const Step& step : schedule.steps) assigner.add(step);
  return assigner.finish();
}

}  // namespace chorale
