/* A program on several hosts (CHORALE_HOST says which): all collectives that the preload library takes over, with every root, on
 * all ranks, on those of a host, on one rank of each, and on ranks in another order. Prints "right" at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, where); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                       \
    }                                                                     \
  } while (0)

static void every_collective(MPI_Comm comm, int n, const char* where) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int *a = malloc(sizeof *a * n * ranks), *b = malloc(sizeof *b * n * ranks);
  for (int i = 0; i < n * ranks; ++i) a[i] = rank * 1000 + i;
  MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) REQUIRE(b[i] == 500 * ranks * (ranks - 1) + ranks * i);
  MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, comm);
  for (int i = 0; i < n * ranks; ++i) REQUIRE(b[i] == i / n * 1000 + i % n);
  MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, comm);
  for (int i = 0; i < n * ranks; ++i) REQUIRE(b[i] == i / n * 1000 + rank * n + i % n);
  MPI_Reduce_scatter_block(a, b, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) REQUIRE(b[i] == 500 * ranks * (ranks - 1) + ranks * (rank * n + i));
  for (int root = 0; root < ranks; ++root) {
    for (int i = 0; i < n; ++i) b[i] = rank == root ? root * 77 + i : -1;
    MPI_Bcast(b, n, MPI_INT, root, comm);
    for (int i = 0; i < n; ++i) REQUIRE(b[i] == root * 77 + i);
    memset(b, -1, sizeof *b * n);
    MPI_Reduce(a, b, n, MPI_INT, MPI_MAX, root, comm);
    for (int i = 0; i < n; ++i) REQUIRE(b[i] == (rank == root ? (ranks - 1) * 1000 + i : -1));
  }
  free(a), free(b);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, same_host = atoi(getenv("CHORALE_HOST"));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm host, rail, turned;
  MPI_Comm_split(MPI_COMM_WORLD, same_host, rank, &host);
  int place;
  MPI_Comm_rank(host, &place);
  MPI_Comm_split(MPI_COMM_WORLD, place, rank, &rail);
  MPI_Comm_split(MPI_COMM_WORLD, 0, (rank * 3 + 1) % ranks, &turned); /* 3 and the ranks have no common divisor */
  for (int n = 1; n < 4000; n = n * 6 + 1) {
    every_collective(MPI_COMM_WORLD, n, "world");
    every_collective(host, n, "host");
    every_collective(rail, n, "rail");
    every_collective(turned, n, "turned");
  }
  MPI_Comm_free(&host), MPI_Comm_free(&rail), MPI_Comm_free(&turned);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
