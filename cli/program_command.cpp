#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/inputs.h"
#include "api/run.h"
#include "cli/commands.h"
#include "cli/layout.h"
#include "cli/supervisor.h"
#include "cli/tally.h"
#include "codegen/msccl_xml.h"
#include "codegen/mscclpp/read_plan.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/words.h"
#include "runtime/block_executor.h"
#include "runtime/peer_executor.h"
#include "semantics/verified.h"

namespace chorale {
namespace {

bool is_xml(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '<';
}

MscclFile load(const std::string& text, const std::string& path) {
  if (is_xml(text)) return msccl_from_xml(text, path);
  BlockProgramFile file = block_program_from_json(text, path);
  return {.collective = std::move(file.collective),
          .program = file.program,
          .in_place = file.program.in_place,
          .out_of_place = true};
}

std::string summary(const MscclFile& file) {
  const BlockProgram& program = file.program;
  std::map<std::string, int> kinds;
  std::size_t blocks = 0, longest = 0;
  int channels = 1;
  for (const BlockRank& rank : program.ranks)
    for (const Block& block : rank.blocks) {
      ++blocks;
      longest = std::max(longest, block.instructions.size());
      channels = std::max(channels, block.channel + 1);
      for (const BlockInstruction& i : block.instructions) ++kinds[name_of(i)];
    }
  std::string text =
      fmt::format("{}: {} over {}; {} in all, {}, at most {} each:", program.name, name_of(file.collective),
                  counted(static_cast<long long>(program.ranks.size()), "rank"),
                  counted(static_cast<long long>(blocks), "block"), counted(channels, "channel"),
                  counted(static_cast<long long>(longest), "instruction"));
  for (const auto& [kind, count] : kinds) text += fmt::format(" {} {}", count, kind);
  return text + "\n";
}

std::string summary(const MscclppFile& file) {
  const PeerProgram& program = file.program;
  std::map<std::string, int> kinds;
  std::size_t blocks = 0, longest = 0;
  int counters = 0;
  for (const PeerRank& rank : program.ranks) {
    counters += rank.counters;
    for (const PeerBlock& block : rank.blocks) {
      ++blocks;
      longest = std::max(longest, block.instructions.size());
      for (const PeerInstruction& i : block.instructions) ++kinds[to_string(i.opcode)];
    }
  }
  std::string text =
      fmt::format("{}: {} over {} in shared memory; {} in all, {}, at most {} each:", program.name,
                  name_of(file.collective), counted(static_cast<long long>(program.ranks.size()), "rank"),
                  counted(static_cast<long long>(blocks), "block"), counted(counters, "counter"),
                  counted(static_cast<long long>(longest), "instruction"));
  for (const auto& [kind, count] : kinds) text += fmt::format(" {} {}", count, kind);
  text += "\n";
  if (file.pieces > 1) text += fmt::format("a chunk of the file is {} of these chunks\n", file.pieces);
  for (const std::string& note : file.notes) text += "note: " + note + "\n";
  return text;
}

// Rows as text, and what they came to.
std::pair<std::string, Tally> rows_of(const std::vector<RunRow>& results, bool combining) {
  std::vector<std::vector<std::string>> rows = {
      {"block bytes", "buffer bytes", "type", "op", "time (us)", "algbw (GB/s)", "wrong"}};
  Tally tally;
  for (const RunRow& row : results) {
    rows.push_back({std::to_string(row.bytes), std::to_string(row.buffer_bytes), to_string(row.type),
                    combining ? to_string(row.op) : "-", fmt::format("{:.1f}", row.median_us),
                    fmt::format("{:.3f}", row.algbw), std::to_string(row.wrong)});
    tally.add(row);
  }
  return {table(rows, "rrllrrr"), tally};
}

RunOptions run_options(const ProgramCommand& command) {
  return {.bytes = command.bytes,
          .types = command.types,
          .ops = command.ops,
          .iterations = command.iterations,
          .warm_up = 1,
          .timeout = command.patience,
          .accumulation = command.accumulation};
}

// What the program should take on a machine, by `time_at`(bytes of a block).
template <typename TimeAt>
std::string estimate(const ProgramCommand& command, const TimeAt& time_at) {
  std::vector<std::vector<std::string>> rows = {{"block bytes", "estimate (us)", "busiest", "in use (us)"}};
  bool links_chosen = false;
  for (std::int64_t bytes : command.bytes.empty() ? std::vector<std::int64_t>{1 << 20} : command.bytes) {
    const ProgramTime time = time_at(static_cast<double>(bytes));
    rows.push_back({std::to_string(bytes), fmt::format("{:.2f}", time.us), time.busiest,
                    fmt::format("{:.2f}", time.busiest_us)});
    links_chosen = links_chosen || time.links_chosen;
  }
  return table(rows, "rrlr") +
         (links_chosen
              ? "links: the file names none; of parallel links each message takes the one on which it "
                "arrives first\n"
              : "");
}

// What is known so far.
void publish(Supervisor& supervisor, const std::string& text) {
  supervisor.publish([text](Stopped stopped) -> Outcome {
    return {.exit_code = exit_code_of(stopped),
            .text = text + "not all was done (" + name_of(stopped) + ")\n"};
  });
}

Outcome peers(const ProgramCommand& command, const std::string& source, Supervisor& supervisor) {
  const MscclppFile file = mscclpp_from_json(source, command.file);
  std::string text = summary(file);
  publish(supervisor, text);
  const char* mode = file.program.in_place ? "in place" : "out of place";
  PeerRefereeOptions options{.packets = file.packets};
  const Verification<PeerProgram> verification = verify(file.collective, file.program, options);
  if (verification.fault) {
    options.relaxed_orders = true;
    const std::vector<Fault> more = violations(file.collective, file.program, options, 1);
    if (!more.empty())
      throw InputError(command.file, fmt::format("is wrong {}: {}", mode, more.front().words),
                       "do not run it");
    return {.exit_code = kIfRelaxedOrders,
            .text = text + fmt::format("{}: right only if relaxed signals order data: {}\n", mode,
                                       verification.fault->words)};
  }
  text += fmt::format("{}: right\n", mode);
  if (!command.topology.empty()) {
    const Topology topology = machine(command.topology, command.changes);
    return {.text = text + estimate(command, [&](double bytes) {
                      return program_time(file.program, topology, bytes);
                    })};
  }
  if (command.bytes.empty()) return {.text = text};
  require_sums_of_halves(run_options(command), file.collective);
  publish(supervisor, text);
  try {
    const auto [rows, tally] =
        rows_of(run_peers_on_threads(*verification.accepted, run_options(command), {.segment_bytes = 0}),
                file.collective.combining);
    text += rows;
    if (!tally.is_good(file.collective)) return {.exit_code = kWrongData, .text = text + tally.faults()};
  } catch (const Hang& hang) {
    throw InputError(command.file, hang.what(), "raise --wait");
  }
  return {.text = text};
}

}  // namespace

Outcome perform(const ProgramCommand& command, Supervisor& supervisor) {
  const std::string source = read_file(command.file);
  if (!is_xml(source) && is_mscclpp_plan(source, command.file)) return peers(command, source, supervisor);
  const MscclFile file = load(source, command.file);
  require_sums_of_halves(run_options(command), file.collective);
  std::string text = summary(file);
  publish(supervisor, text);
  for (bool in_place : {false, true}) {
    if (in_place ? !file.in_place : !file.out_of_place) continue;
    const char* mode = in_place ? "in place" : "out of place";
    int least = 0;
    Verification<BlockProgram> program;  // with the least depth
    for (int depth : {8, 4, 2, 1}) {
      Verification<BlockProgram> with_depth =
          verify(file.collective, file.program, {.depth = depth, .in_place = in_place});
      program.fault = with_depth.fault;
      if (with_depth.fault) break;
      program.accepted = std::move(with_depth.accepted);
      least = depth;
    }
    if (!program.accepted)
      throw InputError(command.file, fmt::format("is wrong {}: {}", mode, program.fault->words),
                       "do not run it");
    text += fmt::format("{}: right, with queues of {} or more\n", mode, counted(least, "message"));
    if (command.bytes.empty() && command.topology.empty()) continue;
    if (command.queue_depth < least)
      throw InputError("--depth", fmt::format("{} is too little, the program hangs", command.queue_depth),
                       fmt::format("use {}", least));
    if (!command.topology.empty()) {
      const Topology topology = machine(command.topology, command.changes);
      text += estimate(command, [&](double bytes) {
        return program_time(file.program, topology, bytes, command.queue_depth);
      });
      continue;
    }
    publish(supervisor, text);
    try {
      const auto [rows, tally] =
          rows_of(run_blocks_on_threads(
                      *program.accepted, run_options(command),
                      {.queue_depth = command.queue_depth, .in_place = in_place, .epilogue = add_index}),
                  file.collective.combining);
      text += rows;
      if (!tally.is_good(file.collective)) return {.exit_code = kWrongData, .text = text + tally.faults()};
    } catch (const Hang& hang) {
      throw InputError(command.file, hang.what(), "raise --wait or --depth");
    }
  }
  return {.text = text};
}

}  // namespace chorale
