// An emitted directory is the kernel's own sources, byte for byte, and two headers of numbers: the rows of
// ir/peer_program.h, one program right out of place, one in place. What runs in the tests is what is emitted,
// so there is no second kernel to be wrong. The promise is emitted as rows, too, and the programs check every
// element against it.
#include "codegen/cuda_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/embedded_files.h"
#include "codegen/epilogue_source.h"
#include "codegen/source_tables.h"
#include "ir/error.h"
#include "ir/peer_program.h"

namespace chorale {
namespace {

// Of the largest buffer of a rank: what nccl-tests calls the size.
// An AllReduce has one block in each, an Allgather as many as ranks in its output.
int blocks_of_the_size(const PeerProgram& program) {
  int chunks = 0;
  for (const PeerRank& rank : program.ranks)
    chunks = std::max({chunks, rank.input_chunks, rank.output_chunks});
  return chunks / program.chunks_per_block;
}

// Columns of rows are the fields of ir/peer_rows.h in their order: aggregates without a constructor.
std::string algorithm_header(const Collective& collective, const PeerProgram& program,
                             const CudaOptions& options) {
  const PeerTable table = table_of(program);
  NumberTable instructions, places, blocks, ranks;
  for (const PeerRow& r : table.rows)
    instructions.push_back({r.kind, r.count, r.piece, r.places, r.from, r.to, r.rank, r.counter, r.value,
                            r.a_launch, r.lag, r.position});
  for (const PeerPlaceRow& r : table.places) places.push_back({r.rank, r.buffer, r.index});
  for (const PeerBlockRow& r : table.blocks) blocks.push_back({r.rank, r.row, r.rows});
  for (const PeerRankRow& r : table.ranks)
    ranks.push_back(
        {r.input_chunks, r.output_chunks, r.scratch_chunks, r.counters, r.inputs, r.outputs, r.slice});
  const Promise promise(collective);
  const std::string name = printable_name(program.name);
  const std::string function =
      program.epilogue.expression.empty()
          ? "// Nothing is applied to complete sums.\nusing Function = chorale::NoFunction;\n\n"
          : printed_function(program.epilogue, "Function") + "\n";
  const int all = static_cast<int>(program.ranks.size());
  return fmt::format(
             "// {}: what each rank does, made by chorale.\n#pragma once\n\n#include <vector>\n\n#include "
             "\"runtime/device/self_check.h\"\n#include \"runtime/device/test_tensors.h\"\n#include "
             "\"ir/peer_rows.h\"\n\n"
             "namespace algorithm {{\n\nconstexpr const char* kName = \"{}\";\n"
             "constexpr int kRanks = {}, kPieces = {};  // pieces of a block\n"
             "constexpr int kBlocks = {};  // of the collective in what nccl-tests calls the size\n"
             "constexpr double kBusFactor = {};\nconstexpr bool kDoubleScratch = {};\n"
             "constexpr bool kAgreed = {};  // do all ranks get the same bits of a sum?\n\n",
             name, name, all, program.chunks_per_block, blocks_of_the_size(program), options.bus_factor,
             program.double_scratch, collective.order.kind != SumOrder::Kind::Free) +
         printed_table("kind, chunks, piece, places, from, to, rank, counter, value, a launch, lag, position",
                       "chorale::PeerRow", "kRows", instructions, 12) +
         printed_table("rank, buffer, slot", "chorale::PeerPlaceRow", "kPlaces", places, 3) +
         printed_table("rank, first row, rows", "chorale::PeerBlockRow", "kBlockRows", blocks, 3) +
         printed_table(
             "chunks of input, output, scratch; counters; where the places of inputs, outputs begin; slice",
             "chorale::PeerRankRow", "kRankRows", ranks, 7) +
         function + printed_promise(promise) +
         (options.owners.empty()
              ? ""
              : fmt::format("// By chunk: the rank that adds it up and sends it to all.\nconstexpr int "
                            "kOwners[] = {{{}}};\n\n",
                            fmt::join(options.owners, ", "))) +
         "}  // namespace algorithm\n";
}

}  // namespace

std::optional<Fault> without_cuda_programs(const Collective& collective) {
  if (is_offered(collective.kind)) return std::nullopt;
  return Fault{.kind = Fault::Kind::Limit,
               .words = "the programs around the kernel do not know the collective " + name_of(collective),
               .remedy = "use another target"};
}

// Sums by switches (multimem.cu) are for algorithms of which each chunk has one owner (all_pairs_owners), and
// left out elsewhere.
std::vector<NamedText> to_cuda_sources(const Verified<PeerProgram>& program,
                                       const Verified<PeerProgram>& in_place, const CudaOptions& options) {
  const Collective& collective = program.collective();
  if (const auto fault = without_cuda_programs(collective)) throw InputError(program->name, *fault);
  std::vector<NamedText> files = {{"out_of_place.h", algorithm_header(collective, *program, options)},
                                  {"in_place.h", algorithm_header(collective, *in_place, options)}};
  for (const EmbeddedFile& file : cuda_files())
    if (!options.owners.empty() || std::string(file.path) != "multimem.cu")
      files.push_back({file.path, file.contents});
  return files;
}

// By counting: in the first step all sends of a chunk go to one rank, and there are ranks - 1 of them; in the
// second that rank sends it ranks - 1 times. The schedule is right, so they come from, and go to, different
// ranks.
std::vector<Rank> all_pairs_owners(const Verified<Schedule>& schedule) {
  const Collective& collective = schedule.collective();
  if (collective.kind != CollectiveKind::AllReduce || schedule->steps.size() != 2) return {};
  const std::size_t chunks = collective.chunks.size();
  // [chunk]: the rank that receives it in the first step, the number of its senders, and the number of ranks
  // that this rank sends it to in the second.
  std::vector<Rank> owner(chunks, -1);
  std::vector<int> got(chunks, 0), given(chunks, 0);
  const std::vector<Link>& links = schedule.topology().links;
  for (const Send& send : schedule->steps[0].sends) {
    const Rank to = links[send.link].dst;
    if (owner[send.chunk] >= 0 && owner[send.chunk] != to) return {};
    owner[send.chunk] = to;
    ++got[send.chunk];
  }
  for (const Send& send : schedule->steps[1].sends) {
    if (owner[send.chunk] != links[send.link].src) return {};
    ++given[send.chunk];
  }
  const auto all_others = [&](int count) { return count == collective.ranks - 1; };
  if (!std::ranges::all_of(got, all_others) || !std::ranges::all_of(given, all_others)) return {};
  return owner;
}

}  // namespace chorale
