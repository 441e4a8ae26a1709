#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "codegen/cuda_source.h"
#include "codegen/dot.h"
#include "codegen/mpi_source.h"
#include "codegen/msccl_xml.h"
#include "codegen/mscclpp/plan.h"
#include "codegen/nccl_source.h"
#include "codegen/pages/html.h"
#include "codegen/passes/epilogue.h"
#include "codegen/passes/in_place.h"
#include "codegen/passes/lower.h"
#include "codegen/passes/peer_lowering.h"
#include "codegen/passes/relax.h"
#include "cost/busbw.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

using Target = EmitCommand::Target;

const char* extension(Target target) {
  switch (target) {
    case Target::Cuda:
      return "cuda";
    case Target::MscclXml:
      return "xml";
    case Target::Mscclpp:
      return "plan.json";
    case Target::Json:
      return "json";
    case Target::Dot:
      return "dot";
    case Target::Mpi:
      return "cpp";
    case Target::Html:
      return "html";
    case Target::Nccl:
      return "cu";
  }
  return "";
}

// How many ranks complete a sum decides which functions may follow it.
std::string who_completes(const std::map<int, std::set<Rank>>& points) {
  std::size_t most = 0;
  for (const auto& [position, ranks] : points) most = std::max(most, ranks.size());
  return most <= 1 ? "each sum is completed by one rank: an epilogue may keep state\n"
                   : fmt::format(
                         "sums are completed by up to {} ranks: an epilogue must be the same everywhere "
                         "and keep no state\n",
                         most);
}

// Every printer gets what a referee has accepted: lower() and relax() see to it.
std::string printed(const EmitCommand& command, const Point& point, const Program& program,
                    std::string& remark) {
  if (command.target == Target::Mpi) return to_mpi_source(point.collective, program);
  if (command.target == Target::Nccl) return to_nccl_source(point.collective, program);
  if (command.target == Target::MscclXml) {
    const MscclOptions options{
        .most_steps = command.most_steps, .min_bytes = command.min_bytes, .max_bytes = command.max_bytes};
    return to_msccl_xml(point.collective, relax_for_msccl(point.collective, program, options), options);
  }
  if (command.target == Target::Mscclpp)
    return to_mscclpp_plan(point.collective, program,
                           {.most_operations = command.most_steps,
                            .min_bytes = command.min_bytes,
                            .max_bytes = command.max_bytes,
                            .in_place = command.in_place});
  BlockProgram blocks = relax(point.collective, program, {.channels = command.channels});
  if (command.epilogue) {
    remark = who_completes(completion_points(point.collective, blocks));
    blocks = with_epilogue(point.collective, blocks);
  }
  return command.target == Target::Json ? to_json(point.collective, blocks) : to_dot(blocks);
}

std::vector<EmittedFile> cuda_directory(const Topology& topology, const Point& point,
                                        const Program& program) {
  const int ranks = point.collective.ranks;
  return to_cuda_sources(point.collective, to_peers(point.collective, program),
                         to_peers(point.collective, in_place(topology, point.collective, program)),
                         {.bus_factor = busbw(point.collective.kind, ranks, 1, 1) / algbw(1, 1),
                          .owners = all_pairs_owners(point.collective, program)});
}

// A file name out of a machine's name.
std::string plain(const std::string& name) {
  std::string result;
  for (char c : name) result += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
  return result.substr(0, 80);
}

// One page for all points, or with one of them only.
Outcome page(const EmitCommand& command, Result result, Supervisor& supervisor) {
  std::string path = fmt::format("{}/{}_{}", command.directory, plain(result.topology.name),
                                 plain(name_of(result.collective)));
  if (command.point) {
    result.points = {result.points.at(*command.point)};
    path += fmt::format("_{}", *command.point);
  }
  const std::string html = to_html(result, page_notes(result, {}));
  supervisor.take_floor();
  write_files({{path + ".html", html}});
  return {.text = shown(path) + ".html\n"};
}

}  // namespace

Outcome perform(const EmitCommand& command, Supervisor& supervisor) {
  if (command.max_bytes > 0 && command.min_bytes > command.max_bytes)
    throw InputError("--min-bytes", "is larger than --max-bytes", "exchange them");
  require_makeable_directory("-o", command.directory);
  const Result result = load_sound_result(command.file);
  const std::vector<int> chosen = chosen_points(command.file, result, command.point, false);
  if (command.target == Target::Html) return page(command, result, supervisor);
  std::vector<NamedText> files;
  if (chosen.empty())
    throw InputError(command.file, "has no point to write",
                     "search a larger space: more steps, rounds or chunks");
  std::string written;
  std::string first_reason;
  std::vector<std::string> refused;
  for (int i : chosen) {
    const Point& point = result.points[i];
    try {
      Program program =
          lower(result.topology, point.collective, point.schedule, command.target != Target::Mscclpp);
      program.name = fmt::format("{} on {}: {}, {}, {}", name_of(point.collective), result.topology.name,
                                 counted(point.cost.steps, "step"), counted(point.cost.rounds, "round"),
                                 counted(point.cost.chunks, "chunk"));
      if (command.in_place && command.target == Target::Mscclpp)
        program = in_place(result.topology, point.collective, program);
      const std::string path = fmt::format("{}/{}_{}_{}.{}", command.directory, plain(result.topology.name),
                                           plain(name_of(point.collective)), i, extension(command.target));
      std::string remark;
      if (command.target == Target::Cuda)
        for (const EmittedFile& file : cuda_directory(result.topology, point, program))
          files.push_back({path + "/" + file.path, file.contents});
      else
        files.push_back({path, printed(command, point, program, remark)});
      written += shown(path) + "\n" + remark;
    } catch (const InputError& error) {
      // One of many: the others are written, and this one is named.
      if (chosen.size() == 1) throw;
      if (refused.empty()) first_reason = error.what();
      refused.push_back(fmt::format("point {} is not written: {}", i, error.what()));
    }
  }
  if (files.empty())
    throw InputError(command.file,
                     fmt::format("none of its {} points on the frontier can be written", chosen.size()),
                     fmt::format("point {}: {}", chosen.front(), first_reason));
  supervisor.take_floor();
  write_files(files);
  return {.exit_code = refused.empty() ? kFound : kBadInput, .text = written, .errors = refused};
}

}  // namespace chorale
