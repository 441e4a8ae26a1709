// codegen/mpi/program.cpp is a program that compiles and runs by itself, with an algorithm's tables in
// tables.h; an emitted program has other tables in place of that include.
#include "codegen/mpi_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <tuple>

#include "codegen/epilogue_source.h"
#include "codegen/source_tables.h"
#include "ir/posting_order.h"
#include "ir/promise.h"

namespace chorale {
namespace {

// A rank's ends of messages: rank, step, send?, peer, tag, buffer, slot, piece; in the order in which they
// are posted, receives first.
NumberTable ends(const Program& program) {
  NumberTable ends;
  const int ranks = static_cast<int>(program.ranks.size());
  for_each_instruction(program, [&](Rank n, int, int, const Instruction& i) {
    if (is_local(i.does)) return;
    const Slot& slot = (i.does.sends ? i.does.from : i.does.to).front().slot;
    ends.push_back({n, i.step, i.does.sends, i.peer, i.message, static_cast<int>(slot.buffer), slot.index,
                    i.does.piece});
  });
  std::ranges::sort(ends, {}, [&](const std::vector<int>& row) {
    const int rank = row[0], step = row[1], send = row[2], peer = row[3], tag = row[4];
    const int distance =
        send != 0 ? posting_distance(rank, peer, ranks) : posting_distance(peer, rank, ranks);
    return std::tuple(rank, step, send, distance, tag);
  });
  return ends;
}

std::string table(const std::string& name, const std::string& columns, const NumberTable& contents,
                  int width) {
  return printed_table(columns, fmt::format("std::array<int, {}>", width), name, contents, width);
}

// The paragraph of codegen/mpi/tables.h that has a declaration.
std::string part_of_example(const std::string& declaration) {
  const std::string example = mpi_tables_source();
  const std::size_t at = example.find(declaration);
  if (at == std::string::npos) throw std::logic_error("codegen/mpi/tables.h does not have " + declaration);
  const std::size_t begin = example.rfind("\n\n", at) + 2;
  return example.substr(begin, example.find("\n\n", at) + 2 - begin);
}

// What codegen/mpi/tables.h has of programs without an epilogue, and what there is of it for others.
std::string applied(const Epilogue& epilogue) {
  if (epilogue.expression.empty()) return part_of_example("struct Tensors {");
  return printed_function(epilogue, "Function") +
         "using Tensors = chorale::RankTensors;\n"
         "float applied(float sum, long index, const Tensors& tensors) {\n"
         "  return chorale::applied(Function(), sum, index, tensors);\n}\n"
         "float expected(float sum, long index) {\n"
         "  return chorale::applied(Function(), sum, index, chorale::TestTensors());\n}\n"
         "constexpr int kOperands = Function::kOperands;\n"
         "std::vector<char> test_tensor(int operand, long whole, long slice, long outputs) {\n"
         "  return Function::test_tensor(operand, whole, slice, outputs);\n}\n\n";
}

// What each rank does, in tables whose names begin with `prefix`.
std::string work_tables(const std::string& prefix, const Program& program) {
  return table(prefix + "Messages", "rank, step, send?, peer, tag, buffer, slot, piece", ends(program), 8) +
         table(prefix + "Local",
               "After the step's messages: rank, step, add?, from buffer, slot, to buffer, slot, piece, "
               "position where the function is\n// applied or -1",
               work_table(program), 9);
}

// Of pieces of more bytes than kLong. What codegen/mpi/tables.h has of programs without such a form, and what
// there is of it for others.
std::string long_tables(const Program& program, const std::optional<LongMessages>& of_long) {
  if (!of_long || *of_long->program == program) return part_of_example("constexpr double kLong =");
  return fmt::format(
             "// Pieces of more bytes than this are long: their messages that share a port go one after the "
             "other.\n"
             "constexpr double kLong = {};\nconstexpr int kLongSteps = {};\n\n",
             of_long->above, of_long->program->steps) +
         work_tables("kLong", *of_long->program);
}

std::string tables(const Collective& collective, const Program& program,
                   const std::optional<LongMessages>& of_long) {
  const Promise promise(collective);
  return fmt::format(
             "namespace {{\n\nconstexpr const char* kName = \"{}\";\n"
             "constexpr int kRanks = {}, kSteps = {}, kPieces = {};  // pieces of a block\n"
             "constexpr bool kAgreed = {};  // do all ranks get the same bits of a sum?\n\n",
             printable_name(program.name), program.ranks.size(), program.steps, program.chunks_per_block,
             collective.order.kind != SumOrder::Kind::Free) +
         table("kSizes", "By rank: slots of input, output, scratch. Buffers are 0, 1, 2 below.",
               sizes_table(program), 3) +
         work_tables("k", program) + long_tables(program, of_long) + printed_promise(promise) +
         printed_slices(program) + applied(program.epilogue) + "}  // namespace\n";
}

}  // namespace

std::string to_mpi_source(const Verified<Program>& verified, const std::optional<LongMessages>& of_long) {
  const Collective& collective = verified.collective();
  const Program& program = *verified;
  const std::string text = mpi_program_source(), example = "#include \"codegen/mpi/tables.h\"\n";
  const std::size_t start = text.find("#include "), at = text.find(example);
  const std::string runtime = self_check_source() + arrival_source() +
                              (program.epilogue.expression.empty() ? "" : epilogue_runtime_source());
  std::set<std::string> includes;
  without_includes(text.substr(start, at - start), includes);
  const std::string before = without_includes(runtime, includes);
  return fmt::format(
             "// {}, made by chorale. Needs MPI only:\n"
             "//   mpicxx -O2 -std=c++17 THIS_FILE -o x && mpirun -n {} ./x [elements of a block] "
             "[iterations]\n#define OMPI_SKIP_MPICXX 1\n{}\n\n",
             printable_name(program.name), program.ranks.size(), fmt::join(includes, "\n")) +
         before + "\n" + tables(collective, program, of_long) + text.substr(at + example.size());
}

}  // namespace chorale
