// A program in which one rank has little memory for C++, which MPI's own collectives do not need: when
// algorithms are loaded ("load"), or only for a large call ("call"). Prints "right" at the end.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

static std::atomic<std::size_t> most{SIZE_MAX};  // that is given at once

void* operator new(std::size_t bytes) {
  void* const memory = bytes <= most ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

static int rank, ranks;

static void sum(int n) {
  double* const data = static_cast<double*>(std::malloc(sizeof(double) * n));
  for (int i = 0; i < n; ++i) data[i] = rank + i;
  MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i)
    if (data[i] != ranks * (ranks - 1) / 2 + ranks * double(i)) {
      std::fprintf(stderr, "rank %d: %d of %d is %g\n", rank, i, n, data[i]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  std::free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool at_load = argc > 1 && std::strcmp(argv[1], "load") == 0;
  const std::size_t little = at_load ? 600 : 100'000;
  if (at_load && rank == 1) most = little;
  for (int n = 1; n < 1000; n *= 3) sum(n);
  if (rank == 1) most = little;
  for (int i = 0; i < 3; ++i) sum(200'000);
  most = SIZE_MAX;  // it has the memory again
  sum(200'000);
  if (rank == 0) std::printf("right\n");
  MPI_Finalize();
}
