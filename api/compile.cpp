// What each target requires of the recipe (codegen/passes/lower.h), and the printer of its format. Schedules
// are verified as they come in, programs as they are lowered: a printer sees only what was accepted. Whatever
// a target cannot express is a value, since callers go on with other points or targets.
#include "api/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "api/run.h"
#include "codegen/cuda_source.h"
#include "codegen/dot.h"
#include "codegen/mpi_source.h"
#include "codegen/msccl_xml.h"
#include "codegen/mscclpp/plan.h"
#include "codegen/nccl_source.h"
#include "codegen/passes/lower.h"
#include "codegen/simulators/messages.h"
#include "construct/baselines/rings.h"
#include "cost/busbw.h"
#include "cost/cost.h"
#include "ir/agreement.h"
#include "ir/disjoint_sets.h"
#include "ir/links_alone.h"
#include "ir/row_named.h"
#include "ir/wire_names.h"
#include "ir/words.h"
#include "library/rank_mapping.h"
#include "semantics/verified.h"
#include "topology/hardware/facts.h"
#include "topology/hardware/peer_access.h"

namespace chorale {
namespace {

// A file name out of a name from outside: "dgx-a100:2" is "dgx-a100_2". Nothing is left that paths or shells
// obey, it begins neither as an option nor as a hidden file, and the length is bounded.
std::string plain(const std::string& name) {
  std::string result;
  for (char c : name) {
    const bool inside = (c == '-' || c == '.') && !result.empty();
    result += inside || std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return result.substr(0, 80);
}

// What the program calls itself in what is written: "allgather on dgx1: 2 steps, 2 rounds, 1 chunk".
std::string title(const Topology& topology, const Point& point, const CompileOptions& options) {
  return fmt::format("{} on {}: {}, {}, {}{}", name_of(point.collective), topology.name,
                     counted(point.cost.steps, "step"), counted(point.cost.rounds, "round"),
                     counted(point.cost.chunks, "chunk"),
                     options.wire == Wire::Float32 ? "" : ", float32 travels as " + to_string(options.wire));
}

// What no program for the target can have. An epilogue is decided by form: plans and traces have no place for
// a function, programs print it and need its expression, blocks alone may leave it open.
std::optional<Fault> beyond(Target target, const Collective& collective, const CompileOptions& options) {
  const std::optional<Epilogue>& epilogue = options.epilogue;
  const auto limit = [](const std::string& words, const std::string& remedy) {
    return Fault{.kind = Fault::Kind::Limit, .words = words, .remedy = remedy};
  };
  const TargetForm form = entry_of(target).form;
  if (epilogue && form == TargetForm::Plan)
    return limit(fmt::format("{} has no operation that applies a function to a sum (an epilogue)",
                             target == Target::MscclXml ? "MSCCL" : "MSCCL++"),
                 "use target cuda, nccl, mpi or json");
  if (epilogue && form == TargetForm::Replayed)
    return limit("a simulator replays messages without data, to which no function (an epilogue) is applied",
                 "use target cuda, nccl, mpi or json");
  if (epilogue && epilogue->expression.empty() && form != TargetForm::Blocks)
    return limit(fmt::format("target {} prints the function that follows a sum", entry_of(target).name),
                 "give it an expression (docs/formats.md, 'An epilogue')");
  if (options.wire != Wire::Float32 && ((target != Target::Mpi && target != Target::Nccl) || epilogue))
    return limit(fmt::format("--wire: {} travel as they are",
                             epilogue ? "elements of sums that an epilogue follows"
                                      : "elements of target " + entry_of(target).name),
                 epilogue ? "leave one of them out" : "use target mpi or nccl");
  const auto rounding = {Target::Cuda, Target::MscclXml, Target::Mscclpp};
  if (adds_once(collective) && std::ranges::find(rounding, target) != rounding.end())
    return limit(fmt::format("target {} rounds 16-bit floats after each addition, and not once",
                             entry_of(target).name),
                 "use target mpi or nccl, or search with --order fixed");
  constexpr int kMostSources = 192;  // of a launch (LocalWork, runtime/device/local_work.h)
  if (adds_once(collective) && target == Target::Nccl && collective.ranks > kMostSources)
    return limit(fmt::format("target nccl adds at most {} values at once", kMostSources), "use target mpi");
  if (auto fault = without_wire(options.wire, collective)) {
    fault->words = "--wire: " + fault->words;
    return fault;
  }
  if (target == Target::Cuda) return without_cuda_programs(collective);
  if (target == Target::Mscclpp) return without_mscclpp_name(collective);
  return std::nullopt;
}

// By how many ranks at most one position of the output is completed (Compiled::completed_by).
template <typename Form>
int most_completers(const Form& program) {
  std::size_t most = 0;
  for (const auto& [position, ranks] : completion_points(program)) most = std::max(most, ranks.size());
  return static_cast<int>(most);
}

// Over MPI, of one schedule for blocks of up to `up_to` bytes: as it is, and, for long pieces, ports
// serialized. One form where no size reaches the threshold, or where serializing changes nothing.
std::vector<SizedProgram> forms_of(const Topology& topology, const Verified<Schedule>& schedule,
                                   const Verified<Program>& program, LoweringOptions how, double up_to) {
  const double above = serialized_above(topology) * program->chunks_per_block;
  if (topology.limits.empty() || !(above < up_to)) return {{.program = program, .up_to = up_to}};
  how.serialize_ports = true;
  const Verified<Program> serialized = lower(schedule, how);
  if (*serialized == *program) return {{.program = program, .up_to = up_to}};
  return {{.program = program, .up_to = above}, {.program = serialized, .up_to = up_to, .serialized = true}};
}

// Of "rank 3" that; -1: no rank has failed.
Rank lost_rank(const std::string& failure) {
  constexpr std::string_view kRank = "rank ";
  return failure.starts_with(kRank) ? std::atoi(failure.c_str() + kRank.size()) : -1;
}

// Messages of one size, of which the Python package writes what a simulator reads.
Compiled replayed(const Verified<Schedule>& schedule, const Topology& topology, const Point& point,
                  Target target, const CompileOptions& options) {
  const TargetEntry& to = entry_of(target);
  const std::int64_t block = block_of_size(message_shape(point.collective), options.message_bytes);
  const std::string path =
      (options.name.empty() ? file_stem(topology, point.collective) : options.name) + to.ending;
  return Compiled{.path = path,
                  .files = {{path, messages_as_json(schedule, block, title(topology, point, options))}},
                  .note = unused_switches(topology, point, to.name)};
}

// The node of each rank, whose ranks share memory: links join them that share no NIC, or, where no limit is a
// NIC's, whose latency is below the network's (links between sockets are slower, too). Empty: one node.
std::vector<int> nodes_by_rank(const Topology& topology) {
  std::vector<bool> over_nic(topology.links.size());
  for (const SharedLimit& limit : topology.limits)
    for (const LinkId l : limit.links)
      if (limit.name.starts_with("NIC ")) over_nic[l] = true;
  const double least_us = std::ranges::min(network_table(), {}, &NetworkFacts::step_us).step_us;
  double network_us = nodes_of(topology).network_us;
  network_us = std::isinf(network_us) ? least_us : std::max(network_us, least_us);
  if (std::ranges::find(over_nic, true) != over_nic.end()) network_us = HUGE_VAL;
  DisjointSets joined(topology.ranks);
  for (LinkId l = 0; l < std::ssize(topology.links); ++l)
    if (const Link& link = topology.links[l]; !over_nic[l] && link.alpha_us < network_us)
      joined.join(link.src, link.dst);
  const std::vector<int> nodes = joined.representatives();
  return std::ranges::count(nodes, nodes.front()) == topology.ranks ? std::vector<int>() : nodes;
}

bool loads_from_peers(const Topology& topology, PeerAccess access) {
  return access == PeerAccess::Loads || (access == PeerAccess::ByRates && reads_are_faster(topology));
}

constexpr std::int64_t kMostMessageBytes = std::int64_t{1} << 36;

// What to say of sums and copies that switches could make: nothing where a program leaves them all to these,
// `none` where it leaves none.
std::string left_to_switches(const Verified<Schedule>& schedule, const PeerProgram& program,
                             const std::string& none) {
  if (none.empty() || program.teams.empty()) return none;
  const SwitchUses uses = switch_uses(schedule);
  int made = 0;
  for_each_instruction(program, [&](Rank, int, int, const PeerInstruction& i) {
    const auto count = [](const std::vector<DataPlace>& places) {
      return std::ranges::count_if(places, [](const DataPlace& place) { return place.team >= 0; });
    };
    made += static_cast<int>(count(i.does.from) + count(i.does.to));
  });
  const int all = operations(uses) + uses.missed;
  return made == all
             ? ""
             : fmt::format("{} of {} sums and copies are left to switches, the others go value by value",
                           made, all);
}

// A directory with the algorithms of all points. Each is compiled by itself, its directory's name is taken
// off, and a dispatcher by size is put in front. Sizes are of blocks here, and of messages in the files. What
// is for the machine after a failure of a link is listed in failures.txt: the failure, the ranks whose parts
// ranks 0, 1, ... of its algorithms have, and these, each with its largest size (-1: any). After that of a
// rank a program would be of other ranks.
OrError<Compiled> one_directory(std::span<const ReadyPoints> ready, const CompileOptions& options) {
  const Topology& whole = *ready.front().topology;
  const Collective& collective = ready.front().points.front().point->collective;
  Compiled all{.path = (options.name.empty() ? file_stem(whole, collective) : options.name) + ".cuda"};
  std::vector<SizedCuda> sized;
  std::string failures;
  for (const auto& [topology, points, after] : ready) {
    if (topology->ranks != whole.ranks) continue;
    std::string numbers;
    for (const auto& [point, up_to] : points) {
      auto made = try_compile(*topology, *point, Target::Cuda, options);
      if (!made) return made;
      Compiled& one = *made;
      all.completed_by = std::max(all.completed_by, one.completed_by);
      if (all.note.empty()) all.note = one.note;
      for (NamedText& file : one.files) file.path.erase(0, one.path.size() + 1);
      const double bytes = up_to * static_cast<double>(message_shape(collective).blocks);
      numbers += fmt::format(" {} {}", sized.size(), std::isinf(bytes) ? "-1" : fmt::format("{:.0f}", bytes));
      sized.push_back({std::move(one.files), bytes});
    }
    for (const auto& [failure, ranks] : after)
      if (!failure.empty()) failures += fmt::format("{} | {} |{}\n", failure, fmt::join(ranks, " "), numbers);
  }
  std::vector<NamedText> files = to_sized_cuda_sources(sized, ready.front().points.size());
  if (!failures.empty()) files.push_back({"failures.txt", std::move(failures)});
  all.files = in_folder(all.path, std::move(files));
  return all;
}

}  // namespace

std::optional<Fault> without_programs(Target target, const Collective& collective) {
  return beyond(target, collective, {});
}

// The executors behind most targets send values one by one; CUDA's kernel and MSCCL++ can ask a switch.
std::string unused_switches(const Topology& topology, const Point& point, const std::string& target) {
  if (!uses_abilities(topology, point.schedule)) return "";
  const Topology plain = by_links_alone(topology);
  int rounds = 0;
  for (const Step& step : point.schedule.steps) rounds += needed_rounds(plain, step);
  return fmt::format(
      "target {} sends value by value and leaves switches that {} unused: {} instead of {}; "
      "--switches-forward-only asks for schedules of such sends",
      target, in_words(abilities_of(topology)), counted(rounds, "round"), point.cost.rounds);
}

// CUDA's kernel asks for all that has a form of theirs; MSCCL++ has no sum that stays at one rank.
std::vector<int> performed_points(const Result& result, Target target) {
  std::vector<int> performed;
  for (int i = 0; i < std::ssize(result.points); ++i) {
    const Point& point = result.points[i];
    if (!uses_abilities(result.topology, point.schedule) ||
        ((target == Target::Cuda || target == Target::Mscclpp) &&
         made_by_switches(switch_uses(accepted(result.topology, point.collective, point.schedule)),
                          target == Target::Mscclpp)))
      performed.push_back(i);
  }
  return performed;
}

std::span<const OptionRow<CompileOptions>> compile_rows() {
  using O = CompileOptions;
  static constexpr Named<PeerAccess> kAccesses[] = {
      {PeerAccess::ByRates, "rates"}, {PeerAccess::Loads, "loads"}, {PeerAccess::Stores, "stores"}};
  static constexpr auto kAccessChoices = choices_of(kAccesses);
  static constexpr auto kWireChoices = choices_of(kWireNames);
  static constexpr OptionRow<O> kRows[] = {
      {{.name = "name",  // the command line makes one for each point
        .help = "Of what is written (machine_collective)",
        .kind = OptionKind::Text},
       member<O, &O::name>()},
      {{"channels", "--channels", "N", "Channels to spread over ({})", OptionKind::Integer, 1, 64},
       member<O, &O::channels>()},
      {{"most_steps", "--most-steps", "N", "Steps that an MSCCL or MSCCL++ executor loads for a block ({})",
        OptionKind::Integer, 4, 4096},
       member<O, &O::most_steps>()},
      {{"in_place", "--in-place", "",
        "MSCCL++ plans for input and output in the same memory (other targets choose themselves)",
        OptionKind::Switch},
       member<O, &O::in_place>()},
      {{"min_bytes", "--min-bytes", "SIZE", "Smallest size for which an MSCCL executor is to choose it ({})",
        OptionKind::Size, 0, INT64_MAX},
       member<O, &O::min_bytes>()},
      {{"max_bytes", "--max-bytes", "SIZE", "Largest such size; 0: any ({})", OptionKind::Size, 0, INT64_MAX},
       member<O, &O::max_bytes>()},
      {{.name = "peer_access",
        .option = "--peer-access",
        .help = "How CUDA's kernel moves data: receivers load them, senders store them, or by the rates of "
                "PCI that are known of the machine ({})",
        .kind = OptionKind::Choice,
        .choices = kAccessChoices},
       member<O, &O::peer_access>()},
      {{.name = "wire",
        .option = "--wire",
        .help = "As what elements of float32 travel in a schedule of --sum once, in programs of targets mpi "
                "and nccl: each is rounded to it, and each sum, made in float32, too; of int8 and mxfp8 32 "
                "share a scale ({})",
        .kind = OptionKind::Choice,
        .choices = kWireChoices},
       member<O, &O::wire>()},
      {{"message_bytes", "--bytes", "SIZE", "Size of the message whose traces a simulator replays ({})",
        OptionKind::Size, 1, kMostMessageBytes},
       member<O, &O::message_bytes>()},
  };
  return kRows;
}

// In the order in which help lists them. A row without a form is a program that checks itself.
const std::vector<TargetEntry>& known_targets() {
  static const std::vector<TargetEntry> targets = {
      {Target::Cuda, "cuda", ".cuda",
       "a directory: one kernel over peer memory, with programs that run and check it"},
      {Target::MscclXml, "msccl-xml", ".xml", "executors of MSCCL, ASTRA-sim", TargetForm::Plan},
      {Target::Mscclpp, "mscclpp", ".plan.json", "execution plans of MSCCL++", TargetForm::Plan},
      {Target::Mpi, "mpi", ".cpp", "one C++ file that checks itself"},
      {Target::Nccl, "nccl", ".cu", "one CUDA file that checks itself"},
      {Target::Json, "json", ".json", "docs/formats.md", TargetForm::Blocks},
      {Target::Dot, "dot", ".dot", "Graphviz", TargetForm::Blocks},
      {Target::Simgrid, "simgrid", ".simgrid",
       "a directory: the machine as a platform of SimGrid, and traces that smpirun replays",
       TargetForm::Replayed},
      {Target::Goal, "goal", ".goal", "GOAL of LogGOPSim and ATLAHS", TargetForm::Replayed},
      {Target::Chakra, "chakra", ".chakra", "a directory: execution traces of Chakra, for ASTRA-sim",
       TargetForm::Replayed},
  };
  return targets;
}

const TargetEntry& entry_of(Target target) {
  return *std::ranges::find(known_targets(), target, &TargetEntry::target);
}

Target target_named(const std::string& name) {
  return row_named(known_targets(), "target", name).target;
}

std::string names_of(TargetForm form) {
  std::string names;
  for (const TargetEntry& entry : known_targets())
    if (entry.form == form) names += (names.empty() ? "" : " and ") + entry.name;
  return names;
}

std::string file_stem(const Topology& topology, const Collective& collective) {
  return plain(topology.name) + "_" + plain(name_of(collective));
}

OrError<Compiled> try_compile(const Topology& topology, const Point& point, Target target,
                              const CompileOptions& options) {
  const Verified<Schedule> schedule = accepted(topology, point.collective, point.schedule);
  LoweringOptions how{.name = title(topology, point, options), .epilogue = options.epilogue};
  if (const auto fault = beyond(target, point.collective, options)) return InputError(how.name, *fault);
  const std::string path =
      (options.name.empty() ? file_stem(topology, point.collective) : options.name) + entry_of(target).ending;
  const std::string note = unused_switches(topology, point, entry_of(target).name);
  const auto one = [&](const auto& program, std::string text) -> Compiled {
    return {.path = path,
            .files = {{.path = path, .text = std::move(text)}},
            .completed_by = most_completers(*program),
            .note = note};
  };
  // A lowering that ends with a fault is the target's answer, and not an exception: an export lists it.
  const auto from = [&](const auto& lowering, const auto& print) -> OrError<Compiled> {
    if (lowering.fault) return InputError(how.name, *lowering.fault);
    return print(*lowering.accepted);
  };
  switch (target) {
    case Target::Mpi:
    case Target::Nccl: {
      const ReadyPoints alone{.topology = &topology, .points = {{&point, HUGE_VAL}}, .after = {{}}};
      return try_compile(std::span(&alone, 1), target, options);
    }
    // Thread blocks of a plan that do not wait for each other run concurrently, so no two chunks share
    // scratch.
    case Target::Mscclpp: {
      const MscclppOptions limits{.most_operations = options.most_steps,
                                  .min_bytes = options.min_bytes,
                                  .max_bytes = options.max_bytes,
                                  .nodes = nodes_by_rank(topology)};
      how.in_place = options.in_place;
      how.reuse_scratch = false;
      how.peers = peers_for_mscclpp(limits);
      return from(try_lower<PeerProgram>(schedule, how), [&](const Verified<PeerProgram>& program) {
        Compiled compiled = one(program, to_mscclpp_plan(program, limits));
        compiled.note = left_to_switches(schedule, *program, note);
        return compiled;
      });
    }
    // Two programs: the caller's buffers decide at run time whether input and output share memory.
    case Target::Cuda:
      how.peers = peers_for_kernel(loads_from_peers(topology, options.peer_access));
      return from(try_lower<PeerProgram>(schedule, how), [&](const Verified<PeerProgram>& apart) {
        how.in_place = true;  // shared memory requires another program
        return from(try_lower<PeerProgram>(schedule, how), [&](const Verified<PeerProgram>& shared) {
          return Compiled{.path = path,
                          .files = in_folder(path, to_cuda_sources(apart, shared,
                                                                   busbw_factor(point.collective.kind,
                                                                                point.collective.ranks))),
                          .completed_by = most_completers(*apart),
                          .note = left_to_switches(schedule, *apart, note)};
        });
      });
    case Target::MscclXml: {
      const MscclOptions limits{
          .most_steps = options.most_steps, .min_bytes = options.min_bytes, .max_bytes = options.max_bytes};
      how.blocks = blocks_for_msccl(point.collective, limits);
      return from(try_lower<BlockProgram>(schedule, how), [&](const Verified<BlockProgram>& program) {
        return one(program, to_msccl_xml(program, limits));
      });
    }
    case Target::Simgrid:
    case Target::Goal:
    case Target::Chakra:
      return replayed(schedule, topology, point, target, options);
    case Target::Json:
    case Target::Dot:
      break;
  }
  // Json and Dot have no executor that limits them.
  how.blocks.channels = options.channels;
  return from(try_lower<BlockProgram>(schedule, how), [&](const Verified<BlockProgram>& program) {
    return one(program, target == Target::Json ? to_json(point.collective, *program) : to_dot(*program));
  });
}

// The whole machine comes first, then machines after their failures. Programs are in one list, and a failure
// knows where its own begin and how the ranks that are left are numbered. `up_to` rises, so forms of a
// schedule for sizes that an earlier one has taken are left out.
OrError<Compiled> try_compile(std::span<const ReadyPoints> ready, Target target,
                              const CompileOptions& options) {
  const Topology& whole = *ready.front().topology;
  if (target == Target::Cuda) return one_directory(ready, options);
  const Collective& collective = ready.front().points.front().point->collective;
  Compiled compiled{.path = (options.name.empty() ? file_stem(whole, collective) : options.name) +
                            entry_of(target).ending};
  std::vector<SizedProgram> programs;
  std::vector<AfterFailure> failures;
  std::size_t algorithms = 0;
  for (const auto& [topology, points, after] : ready) {
    const std::size_t first = programs.size();
    algorithms += points.size();
    // Ranks that rise keep their order, and need no list.
    for (const auto& [failure, ranks] : after)
      failures.push_back({.failure = failure,
                          .first = static_cast<int>(first),
                          .ranks = std::ranges::is_sorted(ranks) ? std::vector<Rank>() : ranks,
                          .lost = lost_rank(failure)});
    double from = -1;
    for (const auto& [point, up_to] : points) {
      const Verified<Schedule> schedule = accepted(*topology, point->collective, point->schedule);
      const LoweringOptions how{.name = title(*topology, *point, options), .epilogue = options.epilogue};
      if (const auto fault = beyond(target, collective, options)) return InputError(how.name, *fault);
      const auto lowering = try_lower(schedule, how);
      if (lowering.fault) return InputError(how.name, *lowering.fault);
      const Verified<Program>& program = *lowering.accepted;
      compiled.completed_by = std::max(compiled.completed_by, most_completers(*program));
      if (compiled.note.empty()) compiled.note = unused_switches(*topology, *point, entry_of(target).name);
      std::vector<SizedProgram> forms = {{.program = program, .up_to = up_to}};
      if (target == Target::Mpi) forms = forms_of(*topology, schedule, program, how, up_to);
      for (SizedProgram& form : forms) {
        // A size belongs to the first form that reaches it.
        if (form.up_to <= from) continue;
        if (target == Target::Mpi) require_message_plans(form.program);
        // The program is in the numbers of the ranks that are left; `asked` is what these ranks call, in
        // their own numbers.
        if (!after.empty() && !after.front().ranks.empty())
          form.asked = renamed(program.collective(), after.front().ranks);
        programs.push_back(std::move(form));
      }
      from = up_to;
    }
  }
  std::string name =
      algorithms == 1 ? title(whole, *ready.front().points.front().point, options)
                      : fmt::format("{} on {}, {} algorithms", name_of(collective), whole.name, algorithms);
  if (failures.size() > 1)
    name += fmt::format(", ready for {}", counted(std::ssize(failures) - 1, "failure"));
  compiled.files = {{.path = compiled.path,
                     .text = target == Target::Nccl ? to_nccl_source(programs, name, failures, options.wire)
                                                    : to_mpi_source(programs, name, failures, options.wire)}};
  return compiled;
}

Compiled compile(const Topology& topology, const Point& point, Target target, const CompileOptions& options) {
  return try_compile(topology, point, target, options).or_throw();
}

}  // namespace chorale
