// The algorithms for a machine: found, the fastest for a size taken, run on real data, and written as an MPI
// program.
//
//   public_api [MACHINE [BYTES [DIRECTORY]]]
#include <chorale/chorale.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

using namespace chorale;

int main(int argc, char** argv) try {
  const Machine here = machine(argc > 1 ? argv[1] : "dgx1");
  const double bytes = argc > 2 ? std::atof(argv[2]) : 1 << 20;
  const std::string directory = argc > 3 ? argv[3] : ".";

  const Result found = frontier(here, collective("allgather", here), {.max_chunks = 3});
  for (const Point& point : found.points)
    if (point.on_frontier)
      std::printf("%d steps, %d rounds, %d chunks: %s\n", point.cost.steps, point.cost.rounds,
                  point.cost.chunks, proven_by(found, point).c_str());
  if (!check(found).faults.empty()) return 1;  // as if it were another program's: nothing in it is believed

  const auto best = select({&found, 1}, call_of(found.collective, bytes));
  if (!best) return 1;
  const Point& point = found.points[best->point];
  std::printf("for %.0f bytes point %d, %.1f us by the model\n", bytes, best->point, best->us);

  std::int64_t wrong = 0;
  for (const RunRow& row : run(found.topology, point, {}, {.bytes = {static_cast<std::int64_t>(bytes)}}))
    wrong += row.wrong;
  std::printf("%lld wrong elements\n", static_cast<long long>(wrong));

  Compiled program = compile(found.topology, point, Target::Mpi);
  write_files(in_folder(directory, std::move(program.files)));
  std::printf("wrote %s\n", program.path.c_str());
  return wrong == 0 ? 0 : 1;
} catch (const InputError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
