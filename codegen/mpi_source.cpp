// codegen/mpi/program.cpp is a program that compiles and runs by itself, with an algorithm's tables in
// tables.h; an emitted program has other tables in place of that include.
#include "codegen/mpi_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <stdexcept>

#include "codegen/epilogue_source.h"

namespace chorale {
namespace {

// The paragraph of codegen/mpi/tables.h that has a declaration.
// Paragraphs are what lies between two empty lines. The example is compiled by itself, so that what is taken
// from it is right C++.
std::string part_of_example(const std::string& declaration) {
  const std::string example = mpi_tables_source();
  const std::size_t at = example.find(declaration);
  if (at == std::string::npos) throw std::logic_error("codegen/mpi/tables.h does not have " + declaration);
  const std::size_t begin = example.rfind("\n\n", at) + 2;
  return example.substr(begin, example.find("\n\n", at) + 2 - begin);
}

// The tensors and the function of complete sums: those of the example, which apply nothing, or those that are
// printed for this program.
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

// In place of the example's tables, between the program's includes and its functions.
std::string tables(std::span<const SizedProgram> programs, std::span<const AfterFailure> failures,
                   Wire wire) {
  const Collective& collective = programs.front().program.collective();
  return fmt::format(
             "namespace {{\n\nconstexpr int kRanks = {};\n"
             "constexpr bool kAgreed = {};  // do all ranks get the same bits of a sum?\n"
             "using Travels = {};  // what floats are while they travel\n\n",
             collective.ranks, collective.order.kind != SumOrder::Kind::Free, printed_type(wire)) +
         printed_forms(programs, failures, wire) + applied(programs.front().program->epilogue) +
         "}  // namespace\n";
}

}  // namespace

// The text behind the example's include of its tables is taken as it is. What stands before is only includes:
// they are joined with those of the runtime, whose text follows, and then the tables.
std::string to_mpi_source(std::span<const SizedProgram> programs, const std::string& name,
                          std::span<const AfterFailure> failures, Wire wire) {
  const Program& first = *programs.front().program;
  const std::string text = mpi_program_source(), example = "#include \"codegen/mpi/tables.h\"\n";
  const std::size_t start = text.find("#include "), at = text.find(example);
  const std::string runtime = steps_source() + messages_source() +
                              (first.epilogue.expression.empty() ? "" : epilogue_runtime_source());
  std::set<std::string> includes;
  without_includes(text.substr(start, at - start), includes);
  const std::string before = without_includes(runtime, includes);
  return fmt::format(
             "// {}, made by chorale. Needs MPI only:\n"
             "//   mpicxx -O2 -std=c++17 THIS_FILE -o x && mpirun -n {} ./x [elements of a block] "
             "[iterations]\n#define OMPI_SKIP_MPICXX 1\n{}\n\n",
             printable_name(name), first.ranks.size(), fmt::join(includes, "\n")) +
         before + "\n" + tables(programs, failures, wire) + text.substr(at + example.size());
}

}  // namespace chorale
