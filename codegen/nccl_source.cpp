// One file out of many: runtime/device/ without its own includes, the tables, and the host's part. Other
// includes are collected and come first. A printed function comes before the sources that apply it and after
// the arithmetic that it uses.
#include "codegen/nccl_source.h"

#include <fmt/format.h>

#include <set>

#include "codegen/epilogue_source.h"

namespace chorale {
namespace {

// A custom collective may be called anything.
std::string function_name(const Collective& collective) {
  return "chorale_" + name_of(row_of(collective.kind).result);
}

// With the arguments of NCCL's function of that name.
// What the collective lacks is left out of the signature: an operation, a root, tensors.
std::string function(const Collective& collective, const Program& program) {
  const std::string head = fmt::format(
      "// {} over a communicator of {} ranks{}, `count` elements per block, with NCCL's arguments. Returns "
      "when all is enqueued.\nextern \"C\" ncclResult_t {}(const void* send, void* recv, std::size_t count, "
      "ncclDataType_t type{}{}, ncclComm_t comm, cudaStream_t stream{}) {{\n",
      printable_name(name_of(collective)), collective.ranks,
      is_rooted(collective.kind) ? fmt::format(" with root {}", collective.root) : "",
      function_name(collective), reduces(program) ? ", ncclRedOp_t op" : "",
      is_rooted(collective.kind) ? ", int root" : "",
      program.epilogue.expression.empty() ? "" : ", const void* const* tensors");
  const std::string root =
      is_rooted(collective.kind)
          ? fmt::format("  if (root != {}) return ncclInvalidArgument;\n", collective.root)
          : "";
  return head + root +
         fmt::format("  return run(send, recv, count, type, {}, comm, stream, {});\n}}",
                     reduces(program) ? "op" : "ncclSum",
                     program.epilogue.expression.empty() ? "nullptr" : "tensors");
}

}  // namespace

// NCCL defines no in-place Alltoall, nor any custom collective; of all others both are checked.
std::string to_nccl_source(std::span<const SizedProgram> programs, const std::string& name,
                           std::span<const AfterFailure> failures, Wire wire) {
  const Collective& collective = programs.front().program.collective();
  const Program& program = *programs.front().program;
  const bool in_place = !is_custom(collective) && collective.kind != CollectiveKind::Alltoall;
  std::set<std::string> includes;
  const bool applies = !program.epilogue.expression.empty();
  const std::string arithmetic = without_includes(steps_source() + epilogue_runtime_source(), includes),
                    runtime = without_includes(nccl_runtime_source(), includes);
  for (const char* each : {"algorithm", "cmath", "cstdio", "cstdlib", "cstring", "map", "mutex", "thread",
                           "type_traits", "vector"})
    includes.insert(fmt::format("#include <{}>", each));
  // What a file needs to be compiled, at its top: it is used without us.
  std::string head = fmt::format(
      "// {}, made by chorale. Needs CUDA and NCCL only:\n"
      "//   nvcc -O3 -std=c++17 -arch=native{} THIS_FILE -lnccl -o x && ./x [elements of a block] "
      "[iterations] [type]\n"
      "// runs it in one process, with a thread and a GPU for each of the {} ranks, checks every element, "
      "and prints the\n"
      "// time. With -DCHORALE_NO_MAIN what is left is {}, for a program that has no other such file.\n\n",
      printable_name(name), program.epilogue.expression.empty() ? "" : " -fmad=false", collective.ranks,
      function_name(collective));
  for (const std::string& line : includes) head += line + "\n";
  std::string host = nccl_host_source();
  const std::string mark = "@FUNCTION@";
  host.replace(host.find(mark), mark.size(), function(collective, program));
  // In an order in which each part finds what it needs: arithmetic, the function of sums, NCCL's runtime, the
  // tables, and what runs and checks them.
  return head + "\n" + arithmetic +
         (applies ? "#define CHORALE_STEP_FUNCTION\nnamespace chorale {\n\n" +
                        printed_function(program.epilogue, "StepFunction") + "\n}  // namespace chorale\n\n"
                  : "") +
         (wire == Wire::Float32
              ? ""
              : fmt::format("#define CHORALE_STEP_UNIT\nnamespace chorale {{\nusing StepUnit = {};\n}}  "
                            "// namespace chorale\n\n",
                            printed_type(wire))) +
         runtime + "\nnamespace {\n\n" +
         fmt::format(
             "constexpr int kRanks = {};\n"
             "constexpr int kInputShift = {};  // in place, rank n's input begins n * this blocks after its "
             "output\n"
             "constexpr int kInPlace = {};  // 1: input and output may lie so\n"
             "constexpr bool kAgreed = {};  // do all ranks get the same bits of a sum?\n\n",
             program.ranks.size(), in_place_shift(collective.kind), in_place ? 1 : 0,
             collective.order.kind != SumOrder::Kind::Free) +
         printed_forms(programs, failures, wire) + "}  // namespace\n\n" + host;
}

}  // namespace chorale
