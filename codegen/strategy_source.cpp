// A strategy is a schedule as any other, emitted as `emit --target mpi` does.
#include "codegen/strategy_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "codegen/mpi_source.h"
#include "codegen/passes/lower.h"
#include "ir/json_fields.h"
#include "ir/json_reader.h"
#include "semantics/verified.h"

namespace chorale {

// The strategy is run on the sets of chunks that devices hold: a scatter leaves to each of a group its equal
// part of what the group holds, in its order, and a gather brings together what its devices hold. So sends
// follow by themselves, and what an AllGather begins with is what scattering backwards would leave. A device
// that has once had a value has it still: what is reduced to the first of a group and broadcast by it is not
// sent back to the devices that added it up.

namespace {

using StrategyOperation = StrategyInstruction::Operation;
using Part = std::vector<int>;  // numbers of pieces of the vector, ascending

Part part_of(const Part& whole, int part, int parts) {
  const std::size_t each = whole.size() / parts;
  return {whole.begin() + part * each, whole.begin() + (part + 1) * each};
}

// A run with a given number of pieces; when a group cannot be served by whole pieces it notes by how much
// finer they should be (finer_), and the caller begins again. Numbers of values tell equal values: device n's
// own is n, sums have numbers of their own, by their terms.
class StrategyRun {
 public:
  StrategyRun(const DeviceGroups& of_reduction, int devices, int pieces)
      : pieces_(pieces), vector_(devices, 0), held_(devices, Part(pieces)), values_(devices) {
    topology_.name = "groups";
    topology_.ranks = devices;
    for (std::size_t g = 0; g < of_reduction.size(); ++g)
      for (const int device : of_reduction[g]) vector_[device] = static_cast<int>(g);
    for (Part& part : held_) std::iota(part.begin(), part.end(), 0);
    for (int n = 0; n < devices; ++n) values_[n].assign(pieces, n);
  }

  // By how much more each piece should be cut, so that all parts are integral numbers of pieces.
  int finer() const { return finer_; }
  const Topology& topology() const { return topology_; }
  const std::vector<Part>& held() const { return held_; }

  // To what devices hold that a gather by these steps brings together.
  void go_back(const LoweredStrategy& gathers) {
    for (auto step = gathers.rbegin(); step != gathers.rend(); ++step)
      for (const std::vector<int>& group : step->groups) leave_parts(group);
    for (std::size_t n = 0; n < held_.size(); ++n) {
      std::ranges::fill(values_[n], kNothing);
      for (const int piece : held_[n]) values_[n][piece] = 0;
    }
  }

  // False once there are too many sends.
  // A ReduceScatter is a scatter that adds, an AllGather a gather to all; an AllReduce both, a Reduce a
  // scatter and a gather to the first, a Broadcast a scatter of copies and a gather to all.
  bool perform(const LoweredInstruction& step) {
    if (step.operation == StrategyOperation::Broadcast)
      scatter(step.groups, false);
    else if (step.operation != StrategyOperation::AllGather)
      scatter(step.groups, true);
    if (step.operation != StrategyOperation::ReduceScatter)
      gather(step.groups, step.operation != StrategyOperation::Reduce);
    return sends_ <= kMostStrategySends;
  }

  Schedule schedule() {
    for (Step& step : schedule_.steps) step.rounds = needed_rounds(topology_, step);
    return schedule_;
  }

 private:
  // Member k of the group gets the k-th of as many equal parts.
  void leave_parts(const std::vector<int>& group) {
    const Part whole = held_[group.front()];
    const int parts = static_cast<int>(group.size()), held = static_cast<int>(whole.size());
    finer_ = std::lcm(finer_, parts / std::gcd(held, parts));
    for (std::size_t k = 0; k < group.size(); ++k)
      held_[group[k]] = part_of(whole, static_cast<int>(k), parts);
  }

  // To each its part, from all, which is added up, or from the first.
  void scatter(const DeviceGroups& groups, bool adds) {
    Step step;
    for (const std::vector<int>& group : groups) {
      leave_parts(group);
      for (const int to : group) {
        if (sends_ > kMostStrategySends) return;
        for (const int from : group)
          if (adds || from == group.front()) send(step, held_[to], from, to, adds);
        if (adds) add_up(group, to);
      }
    }
    end(std::move(step));
  }

  // What each has, to all or to the first. Devices that give all away hold nothing afterwards.
  void gather(const DeviceGroups& groups, bool to_all) {
    Step step;
    for (const std::vector<int>& group : groups) {
      Part whole;
      for (const int from : group) {
        whole.insert(whole.end(), held_[from].begin(), held_[from].end());
        for (const int to : group)
          if (to_all || to == group.front()) send(step, held_[from], from, to, false);
      }
      std::ranges::sort(whole);
      for (const int to : group) held_[to] = to_all || to == group.front() ? whole : Part();
    }
    end(std::move(step));
  }

  // What the receiver has already is not sent: the same value, by its number. Links are made as they are
  // needed, one for each ordered pair.
  void send(Step& step, const Part& part, int from, int to, bool adds) {
    if (from == to) return;
    Part sent = part;
    if (!adds) {
      std::erase_if(sent, [&](int piece) { return values_[to][piece] == values_[from][piece]; });
      for (const int piece : sent) values_[to][piece] = values_[from][piece];
    }
    if (sent.empty()) return;
    const auto [link, is_new] = links_.emplace(std::pair(from, to), static_cast<LinkId>(links_.size()));
    if (is_new) topology_.links.push_back({.src = from, .dst = to});
    sends_ += static_cast<long long>(sent.size());
    if (sends_ > kMostStrategySends) return;
    for (const int piece : sent)
      step.sends.push_back({.chunk = vector_[from] * pieces_ + piece, .link = link->second, .reduce = adds});
  }
  // What the group has of the pieces that one of it holds is one sum there.
  void add_up(const std::vector<int>& group, int at) {
    if (group.size() == 1) return;
    for (const int piece : held_[at]) {
      std::vector<int> terms;
      for (const int each : group) terms.push_back(values_[each][piece]);
      std::ranges::sort(terms);
      values_[at][piece] =
          sums_.emplace(std::move(terms), static_cast<int>(values_.size() + sums_.size())).first->second;
    }
  }
  void end(Step step) {
    if (step.sends.empty()) return;
    std::ranges::sort(step.sends);
    schedule_.steps.push_back(std::move(step));
  }

  const int pieces_;
  int finer_ = 1;
  std::vector<int> vector_;  // by device: the number of the group that it is reduced with
  std::vector<Part> held_;   // by device
  static constexpr int kNothing = -1;
  std::vector<std::vector<int>> values_;       // by device and piece: equal numbers are one value
  std::map<std::vector<int>, int> sums_ = {};  // their numbers, by what is added up
  Topology topology_ = {};
  std::map<std::pair<int, int>, LinkId> links_ = {};
  Schedule schedule_ = {};
  long long sends_ = 0;
};

// [chunk]: the ranks that hold its piece.
std::vector<RankSet> holders(const DeviceGroups& of_reduction, const std::vector<Part>& held, int pieces) {
  std::vector<RankSet> result;
  for (const std::vector<int>& group : of_reduction) {
    std::vector<std::vector<Rank>> by_piece(pieces);
    for (const int device : group)
      for (const int piece : held[device]) by_piece[piece].push_back(device);
    for (std::vector<Rank>& ranks : by_piece) {
      std::ranges::sort(ranks);
      result.push_back(RankSet(ranks));
    }
  }
  return result;
}

// Chunks by group, and piece.
Collective collective_of(const Reduction& reduction, const DeviceGroups& of_reduction, int pieces,
                         const std::vector<Part>& before, const std::vector<Part>& after) {
  Collective collective{.custom_name = reduction.name,
                        .ranks = static_cast<int>(before.size()),
                        .chunks_per_block = pieces,
                        .combining = reduction.goal != Goal::AllGather};
  const std::vector<RankSet> pre = holders(of_reduction, before, pieces),
                             post = holders(of_reduction, after, pieces);
  for (std::size_t c = 0; c < pre.size(); ++c) {
    const int piece = static_cast<int>(c) % pieces;
    collective.chunks.push_back({.pre = pre[c], .post = post[c], .input = piece, .output = piece});
  }
  return collective;
}

}  // namespace

std::optional<Verified<Schedule>> strategy_schedule(const Reduction& reduction,
                                                    const DeviceGroups& of_reduction,
                                                    const LoweredStrategy& steps, int devices) {
  const bool gathers = reduction.goal == Goal::AllGather;
  // Begins with whole vectors. A run in which a part was no whole number of pieces says by how much they are
  // to be finer, and the next one begins with that.
  for (int pieces = 1;;) {
    // A piece comes to, or from, all of two or more devices but one.
    if (1LL * pieces * devices / 2 > kMostStrategySends) return {};
    StrategyRun run(of_reduction, devices, pieces);
    if (gathers) run.go_back(steps);
    const std::vector<Part> before = run.held();
    const bool few = std::ranges::all_of(steps, [&](const auto& step) { return run.perform(step); });
    if (!few) return {};
    if (run.finer() == 1)
      return accepted(run.topology(), collective_of(reduction, of_reduction, pieces, before, run.held()),
                      run.schedule());
    pieces *= run.finer();
  }
}

namespace {

using Communication = PlacedJob::Communication;
std::string title_of(const Communication& each) {
  return each.reduction.name.empty() ? "reduction" : each.reduction.name;
}

// By communication: a program that performs it and checks itself, none where nothing is split or too much is
// sent.
std::vector<NamedText> mpi_programs(const PlacedJob& job) {
  std::vector<NamedText> programs;
  for (std::size_t i = 0; i < job.communications.size(); ++i) {
    const Communication& each = job.communications[i];
    if (each.steps.empty()) continue;
    const auto schedule =
        strategy_schedule(each.reduction, each.groups, each.steps, static_cast<int>(job.devices.size()));
    if (!schedule) continue;
    const std::string name = fmt::format("{} {}, {}", job.machine, job.matrix, title_of(each));
    programs.push_back(
        {fmt::format("strategy_{}_mpi.cpp", i),
         to_mpi_source(std::vector{SizedProgram{.program = lower(*schedule, {.name = name})}}, name)});
  }
  return programs;
}

// Devices of groups are as they are numbered in the machine, and not in the mesh.
std::string groups_json(const PlacedJob& job) {
  std::vector<JsonText> axes, communications;
  for (const Axis& axis : job.axes) axes.push_back(json_object("name", axis.name, "size", axis.size));
  for (const Communication& each : job.communications) {
    std::vector<JsonText> steps;
    for (const LoweredInstruction& step : each.steps)
      steps.push_back(json_object("operation", name(step.operation), "groups", step.groups));
    communications.push_back(json_object("name", title_of(each), "goal", name(each.reduction.goal), "bytes",
                                         each.reduction.bytes, "groups", each.groups, "steps", steps));
  }
  return json_file("machine", job.machine, "matrix", job.matrix, "axes", axes, "node_devices",
                   job.node_devices, "devices", JsonText{list(job.devices)}, "communications", communications,
                   "most_messages", kMostStrategySends);
}

}  // namespace

// Programs last: a strategy with too many messages has none, and the groups are there all the same.
std::vector<NamedText> handed_on(const PlacedJob& job) {
  std::vector<NamedText> files = {{"groups.json", groups_json(job)}};
  for (NamedText& program : mpi_programs(job)) files.push_back(std::move(program));
  return files;
}

}  // namespace chorale
