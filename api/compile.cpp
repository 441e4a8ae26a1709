// The recipe of passes: which forms a schedule goes through on its way to each target, and in which order. A pass takes
// a whole program and leaves a whole program that its referee has accepted.
#include "api/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/cuda_source.h"
#include "codegen/dot.h"
#include "codegen/mpi_source.h"
#include "codegen/msccl_xml.h"
#include "codegen/mscclpp/plan.h"
#include "codegen/nccl_source.h"
#include "codegen/passes/epilogue.h"
#include "codegen/passes/in_place.h"
#include "codegen/passes/lower.h"
#include "codegen/passes/peer_lowering.h"
#include "codegen/passes/relax.h"
#include "cost/busbw.h"
#include "ir/error.h"
#include "ir/words.h"

namespace chorale {
namespace {

// A file name out of a name from outside.
std::string plain(const std::string& name) {
  std::string result;
  for (char c : name) result += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
  return result.substr(0, 80);
}

// What the program calls itself in what is written.
std::string title(const Topology& topology, const Point& point) {
  return fmt::format("{} on {}: {}, {}, {}", name_of(point.collective), topology.name,
                     counted(point.cost.steps, "step"), counted(point.cost.rounds, "round"),
                     counted(point.cost.chunks, "chunk"));
}

const TargetEntry& entry(Target target) {
  return *std::ranges::find(known_targets(), target, &TargetEntry::target);
}

void require_place_for(const Epilogue& epilogue, Target target, const std::string& program) {
  if (target == Target::MscclXml || target == Target::Mscclpp)
    throw InputError(program,
                     fmt::format("{} has no operation that applies a function to a sum (an epilogue)",
                                 target == Target::MscclXml ? "MSCCL" : "MSCCL++"),
                     "use target cuda, nccl, mpi or json");
  if (epilogue.expression.empty() && target != Target::Json && target != Target::Dot)
    throw InputError(program,
                     fmt::format("target {} prints the function that follows a sum", entry(target).name),
                     "give it an expression (docs/formats.md, 'An epilogue')");
}

// The executors behind all targets send values one by one; only CUDA's kernel can have a switch add and copy.
std::string unused_switches(const Topology& topology, const Point& point, const std::string& target) {
  const std::string able = in_words(abilities_of(topology));
  if (able.empty()) return "";
  Topology plain = topology;
  for (SharedLimit& limit : plain.limits) limit.abilities = {};
  int rounds = 0;
  for (const Step& step : point.schedule.steps) rounds += needed_rounds(plain, step);
  if (rounds <= point.cost.rounds) return "";
  return fmt::format("target {} sends value by value and leaves switches that {} unused: {} instead of {}",
                     target, able, counted(rounds, "round"), point.cost.rounds);
}

int most_completers(const Topology& topology, const Collective& collective, const Program& program) {
  std::size_t most = 0;
  for (const auto& [position, ranks] : completion_points(topology, collective, program))
    most = std::max(most, ranks.size());
  return static_cast<int>(most);
}

}  // namespace

const std::vector<TargetEntry>& known_targets() {
  static const std::vector<TargetEntry> targets = {
      {Target::Cuda, "cuda", ".cuda",
       "a directory: one kernel over peer memory, with programs that run and check it"},
      {Target::MscclXml, "msccl-xml", ".xml", "executors of MSCCL, ASTRA-sim"},
      {Target::Mscclpp, "mscclpp", ".plan.json", "execution plans of MSCCL++"},
      {Target::Mpi, "mpi", ".cpp", "one C++ file that checks itself"},
      {Target::Nccl, "nccl", ".cu", "one CUDA file that checks itself"},
      {Target::Json, "json", ".json", "docs/formats.md"},
      {Target::Dot, "dot", ".dot", "Graphviz"},
  };
  return targets;
}

std::string file_stem(const Topology& topology, const Collective& collective) {
  return plain(topology.name) + "_" + plain(name_of(collective));
}

Compiled compile(const Topology& topology, const Point& point, Target target, const CompileOptions& options) {
  const Collective& does = point.collective;
  const std::string path =
      (options.name.empty() ? file_stem(topology, does) : options.name) + entry(target).ending;
  // Steps with messages: where every way begins. Thread blocks of MSCCL++ that have nothing to do with each other run
  // side by side, so there no slot of scratch is used twice.
  Program steps = lower(topology, does, point.schedule, target != Target::Mscclpp);
  steps.name = title(topology, point);
  int completed_by = 0;
  // From here on the passes keep what follows a sum with the operation that completes it.
  const auto finished = [&](const Program& program) {
    return options.epilogue ? with_epilogue(topology, does, program, *options.epilogue) : program;
  };
  if (options.epilogue) {
    require_place_for(*options.epilogue, target, steps.name);
    completed_by = most_completers(topology, does, steps);
  }
  const std::string note = unused_switches(topology, point, entry(target).name);
  const auto one = [&](std::string text) -> Compiled {
    return {.path = path,
            .files = {{.path = path, .text = std::move(text)}},
            .completed_by = completed_by,
            .note = note};
  };
  switch (target) {
    case Target::Mpi:
      return one(to_mpi_source(does, finished(steps)));
    case Target::Nccl:
      return one(to_nccl_source(does, finished(steps)));
    case Target::Mscclpp:
      if (options.in_place) steps = in_place(topology, does, steps);
      return one(to_mscclpp_plan(does, steps,
                                 {.most_operations = options.most_steps,
                                  .min_bytes = options.min_bytes,
                                  .max_bytes = options.max_bytes}));
    case Target::Cuda: {
      // Two programs: memory that is shared wants another one.
      const PeerProgram apart = to_peers(does, finished(steps)),
                        shared = to_peers(does, finished(in_place(topology, does, steps)));
      // A switch that adds applies nothing.
      std::vector<Rank> owners;
      if (!options.epilogue) owners = all_pairs_owners(does, steps);
      const bool in_switch = !owners.empty();
      Compiled compiled{.path = path,
                        .files = to_cuda_sources(
                            does, apart, shared,
                            {.bus_factor = busbw_factor(does.kind, does.ranks), .owners = std::move(owners)}),
                        .completed_by = completed_by,
                        .note = in_switch ? "" : note};
      for (NamedText& file : compiled.files) file.path = path + "/" + file.path;
      return compiled;
    }
    case Target::MscclXml: {
      const MscclOptions limits{
          .most_steps = options.most_steps, .min_bytes = options.min_bytes, .max_bytes = options.max_bytes};
      return one(to_msccl_xml(does, relax_for_msccl(does, steps, limits), limits));
    }
    case Target::Json:
    case Target::Dot:
      break;
  }
  const BlockProgram blocks = relax(does, finished(steps), {.channels = options.channels});
  return target == Target::Json ? one(to_json(does, blocks)) : one(to_dot(blocks));
}

}  // namespace chorale
