#include "codegen/mpi_source.h"

#include <fmt/format.h>

#include "codegen/source_tables.h"
#include "ir/promise.h"

namespace chorale {
namespace {

// A rank's ends of messages: rank, step, send?, peer, tag, buffer, slot, piece.
NumberTable ends(const Program& program) {
  NumberTable ends;
  for_each_instruction(program, [&](Rank n, int, int, const Instruction& i) {
    if (is_local(i.does)) return;
    const Slot& slot = (i.does.sends ? i.does.from : i.does.to).front().slot;
    ends.push_back({n, i.step, i.does.sends, i.peer, i.message, static_cast<int>(slot.buffer), slot.index,
                    i.does.piece});
  });
  return ends;
}

std::string table(const std::string& name, const std::string& columns, const NumberTable& contents,
                  int width) {
  return printed_table(columns, fmt::format("std::array<int, {}>", width), name, contents, width);
}

std::string tables(const Collective& collective, const Program& program) {
  const Promise promise(collective);
  return fmt::format(
             "namespace {{\n\nconstexpr const char* kName = \"{}\";\n"
             "constexpr int kRanks = {}, kSteps = {}, kPieces = {};  // pieces of a block\n\n",
             printable_name(program.name), program.ranks.size(), program.steps, program.chunks_per_block) +
         table("kSizes", "By rank: slots of input, output, scratch. Buffers are 0, 1, 2 below.",
               sizes_table(program), 3) +
         table("kMessages", "rank, step, send?, peer, tag, buffer, slot, piece", ends(program), 8) +
         table("kLocal",
               "After the step's messages: rank, step, add?, from buffer, slot, to buffer, slot, piece",
               work_table(program), 8) +
         table("kPromised", "rank, output slot: the sum of these rank, input slot", promise_table(promise),
               4) +
         table("kSame", "rank, input slot has the same data as rank, input slot", same_table(promise), 4) +
         "}  // namespace\n";
}

}  // namespace

std::string to_mpi_source(const Collective& collective, const Program& program) {
  const std::string text = mpi_program_source(), example = "#include \"codegen/mpi/tables.h\"\n";
  const std::size_t start = text.find("#define "), at = text.find(example);
  return fmt::format(
             "// {}, made by chorale. Needs MPI only:\n"
             "//   mpicxx -O2 -std=c++17 THIS_FILE -o x && mpirun -n {} ./x [elements of a block] "
             "[iterations]\n",
             printable_name(program.name), program.ranks.size()) +
         text.substr(start, at - start) + tables(collective, program) + text.substr(at + example.size());
}

}  // namespace chorale
