// One walk over the schedule that knows, for each chunk and rank, where its value is and where it goes when something arrives.
// All sends of a step are emitted before any of its arrivals is looked at, since they read what was there before; of what
// arrives at one value, what replaces it comes before what is added to it.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "codegen/passes/passes.h"

namespace chorale {
namespace {

class SlotAssigner {
 public:
  SlotAssigner(const Topology& topology, const Collective& collective)
      : topology_(topology), collective_(collective), outputs_(collective.ranks) {
    program_.name = name_of(collective) + " on " + topology.name;
    program_.collective = collective.kind;
    program_.chunks_per_block = collective.chunks_per_block;
    for (Rank n = 0; n < collective.ranks; ++n)
      program_.ranks.push_back({.input_chunks = input_chunks(collective, n),
                                .output_chunks = output_chunks(collective, n),
                                .blocks = {ThreadBlock{}}});
    values_.resize(collective.chunks.size() * collective.ranks);
    for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c) {
      const ChunkSpec& spec = collective.chunks[c];
      for (Rank n : spec.pre) value(c, n).at = Slot{Buffer::Input, spec.input};
      for (Rank n : spec.post) {
        std::vector<Chunk>& there = outputs_[n][spec.output];
        there.push_back(c);
        if (there.size() == 1) value(c, n).home = Slot{Buffer::Output, spec.output};
      }
    }
  }

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
      for (const Arrival& arrival : all) receive(at.first, at.second, arrival);
    }
    ++step_;
  }

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

  void receive(Chunk c, Rank n, const Arrival& arrival) {
    Value& v = value(c, n);
    if (!v.home) v.home = new_scratch(n);
    const bool adds = arrival.reduce && v.at;
    const bool occupied = v.at == v.home && (adds || v.sent_in == step_);
    const Slot landing = occupied ? new_scratch(n) : *v.home;
    emit(n, {.does = receiving(landing, piece(c)), .peer = arrival.src, .message = arrival.message});
    if (occupied)
      emit(n, {.does = adds ? adding(landing, *v.home, piece(c)) : copying(landing, *v.home, piece(c))});
    else if (adds)  // what was there is the input, and stays there
      emit(n, {.does = adding(*v.at, *v.home, piece(c))});
    v.at = v.home;
  }

  void deliver(Rank n, Slot output, const std::vector<Chunk>& chunks) {
    for (Chunk c : chunks) {
      const Slot at = *value(c, n).at;
      if (at != output)
        emit(n, {.does = c == chunks.front() ? copying(at, output, piece(c)) : adding(at, output, piece(c))});
    }
  }

  const Topology& topology_;
  const Collective& collective_;
  std::vector<std::map<int, std::vector<Chunk>>> outputs_;  // by rank and output position
  std::vector<Value> values_ = {};                          // by chunk and rank
  Program program_ = {};
  int step_ = 0;
  int messages_ = 0;
};

}  // namespace

Program assign_slots(const Topology& topology, const Collective& collective, const Schedule& schedule) {
  SlotAssigner assigner(topology, collective);
  for (const Step& step : schedule.steps) assigner.add(step);
  return assigner.finish();
}

}  // namespace chorale
