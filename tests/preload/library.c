/* A program that calls libchorale-mpi: every collective with and without algorithms at hand, against MPI's own; what cannot be
 * loaded, and what no algorithm fits. Prints "right" at the end. */
#include <chorale/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

#define REQUIRE(condition)                                                                                \
  do {                                                                                                    \
    if (!(condition)) {                                                                                   \
      fprintf(stderr, "rank %d, line %d: %s\nerror '%s', algorithm '%s', why not '%s'\n", rank, __LINE__, \
              #condition, chorale_mpi_last_error(), chorale_mpi_last_algorithm(), chorale_mpi_why_not()); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                       \
    }                                                                                                     \
  } while (0)

static int says(const char* text, const char* words) {
  return strstr(text, words) != NULL;
}

/* Our own algorithm, or MPI's, as it must be. */
static void require_ours(int ours) {
  REQUIRE(ours == (chorale_mpi_last_algorithm()[0] != '\0'));
  REQUIRE(ours == (chorale_mpi_why_not()[0] == '\0'));
}

static void fill(double* data, int n) {
  for (int i = 0; i < n; ++i) data[i] = (i * 37 + rank * 101) % 251 - 125;
}

/* Counts for each rank: all alike, or one less of the last. */
static void counted(int n, int less, int ours) {
  int *counts = malloc(sizeof(int) * ranks), *places = malloc(sizeof(int) * ranks), sum = 0;
  for (int i = 0; i < ranks; ++i) counts[i] = n - (less && i + 1 == ranks), places[i] = sum, sum += counts[i];
  double *in = malloc(sizeof(double) * (sum + 1)), *a = malloc(sizeof(double) * (sum + 1)),
         *b = malloc(sizeof(double) * (sum + 1));
  const MPI_Comm comm = MPI_COMM_WORLD;
  for (int in_place = 0; in_place < 2; ++in_place) {
    fill(in, sum);
    memcpy(a, in, sizeof(double) * sum), memcpy(b, in, sizeof(double) * sum);
    REQUIRE(chorale_mpi_allgatherv(in_place ? MPI_IN_PLACE : in, counts[rank], MPI_DOUBLE, a, counts, places,
                                   MPI_DOUBLE, comm) == MPI_SUCCESS);
    require_ours(ours);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : in, counts[rank], MPI_DOUBLE, b, counts, places, MPI_DOUBLE,
                   comm);
    REQUIRE(memcmp(a, b, sizeof(double) * sum) == 0);
    memcpy(a, in, sizeof(double) * sum), memcpy(b, in, sizeof(double) * sum);
    REQUIRE(chorale_mpi_reduce_scatter(in_place ? MPI_IN_PLACE : in, a, counts, MPI_DOUBLE, MPI_SUM, comm) ==
            MPI_SUCCESS);
    require_ours(ours);
    MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : in, b, counts, MPI_DOUBLE, MPI_SUM, comm);
    REQUIRE(memcmp(a, b, sizeof(double) * counts[rank]) == 0);
  }
  free(counts), free(places), free(in), free(a), free(b);
}

static void all(int n, int ours) {
  double *in = malloc(sizeof(double) * (n * ranks + 1)), *a = malloc(sizeof(double) * (n * ranks + 1)),
         *b = malloc(sizeof(double) * (n * ranks + 1));
  const MPI_Comm comm = MPI_COMM_WORLD;
  const size_t block = sizeof(double) * n;
  MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  for (int op = 0; op < 4; ++op)
    for (int in_place = 0; in_place < 2; ++in_place) {
      fill(in, n * ranks);
      if (in_place) memcpy(a, in, block), memcpy(b, in, block);
      REQUIRE(chorale_mpi_allreduce(in_place ? MPI_IN_PLACE : in, a, n, MPI_DOUBLE, ops[op], comm) ==
              MPI_SUCCESS);
      require_ours(ours);
      MPI_Allreduce(in_place ? MPI_IN_PLACE : in, b, n, MPI_DOUBLE, ops[op], comm);
      REQUIRE(memcmp(a, b, block) == 0);
      if (in_place) memcpy(a, in, block * ranks), memcpy(b, in, block * ranks);
      REQUIRE(chorale_mpi_reduce_scatter_block(in_place ? MPI_IN_PLACE : in, a, n, MPI_DOUBLE, ops[op],
                                               comm) == MPI_SUCCESS);
      require_ours(ours);
      MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : in, b, n, MPI_DOUBLE, ops[op], comm);
      REQUIRE(memcmp(a, b, block) == 0);
    }
  for (int in_place = 0; in_place < 2; ++in_place) {
    fill(in, n * ranks);
    memcpy(a, in, block * ranks), memcpy(b, in, block * ranks);
    REQUIRE(chorale_mpi_allgather(in_place ? MPI_IN_PLACE : in, n, MPI_DOUBLE, a, n, MPI_DOUBLE, comm) ==
            MPI_SUCCESS);
    require_ours(ours);
    MPI_Allgather(in_place ? MPI_IN_PLACE : in, n, MPI_DOUBLE, b, n, MPI_DOUBLE, comm);
    REQUIRE(memcmp(a, b, block * ranks) == 0);
    memcpy(a, in, block * ranks), memcpy(b, in, block * ranks);
    REQUIRE(chorale_mpi_alltoall(in_place ? MPI_IN_PLACE : in, n, MPI_DOUBLE, a, n, MPI_DOUBLE, comm) ==
            MPI_SUCCESS);
    require_ours(ours);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : in, n, MPI_DOUBLE, b, n, MPI_DOUBLE, comm);
    REQUIRE(memcmp(a, b, block * ranks) == 0);
  }
  for (int root = 0; root < ranks; ++root)
    for (int in_place = 0; in_place < 2; ++in_place) {
      const int shared = in_place && rank == root;
      fill(in, n);
      memcpy(a, in, block), memcpy(b, in, block);
      REQUIRE(chorale_mpi_reduce(shared ? MPI_IN_PLACE : in, rank == root ? a : NULL, n, MPI_DOUBLE, MPI_SUM,
                                 root, comm) == MPI_SUCCESS);
      require_ours(ours);
      MPI_Reduce(shared ? MPI_IN_PLACE : in, b, n, MPI_DOUBLE, MPI_SUM, root, comm);
      REQUIRE(rank != root || memcmp(a, b, block) == 0);
    }
  counted(n, 0, ours);
  if (n >= 3) counted(n, 1, ours); /* by an eighth at most more */
  fill(a, n), fill(b, n);
  REQUIRE(chorale_mpi_bcast(a, n, MPI_DOUBLE, n % ranks, comm) == MPI_SUCCESS);
  require_ours(ours);
  MPI_Bcast(b, n, MPI_DOUBLE, n % ranks, comm);
  REQUIRE(memcmp(a, b, block) == 0);
  free(in), free(a), free(b);
}

int main(int argc, char** argv) {
  REQUIRE(argc == 4); /* algorithms, a broken file, a file name that differs from rank to rank */
  REQUIRE(chorale_mpi_load(argv[1]) == MPI_ERR_OTHER && says(chorale_mpi_last_error(), "MPI is not up"));
  int x = 1, y = 0;
  REQUIRE(chorale_mpi_allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_OTHER);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  all(5, 0);
  REQUIRE(says(chorale_mpi_why_not(), "no algorithms were given"));
  REQUIRE(chorale_mpi_load(NULL) == MPI_ERR_ARG && says(chorale_mpi_last_error(), "no path"));
  REQUIRE(chorale_mpi_load("nowhere") == MPI_ERR_FILE && says(chorale_mpi_last_error(), "nowhere"));
  REQUIRE(chorale_mpi_load(argv[2]) == MPI_ERR_FILE && says(chorale_mpi_last_error(), argv[2]));
  char own[1000];
  snprintf(own, sizeof own, "%s%d.json", argv[3], rank == 0 ? 0 : 1);
  REQUIRE(chorale_mpi_load(own) == MPI_ERR_FILE &&
          says(chorale_mpi_last_error(), "not the same in all ranks"));
  snprintf(own, sizeof own, "%s%d.json", argv[3], rank == 0 ? 0 : 99); /* there is none */
  REQUIRE(chorale_mpi_load(own) == MPI_ERR_FILE);
  if (rank == 0) REQUIRE(says(chorale_mpi_last_error(), "another rank cannot read it"));
  all(5, 0); /* nothing of that was loaded */

  REQUIRE(chorale_mpi_load(argv[1]) == MPI_SUCCESS);
  for (int n = 1; n < 3000; n = 3 * n + 1) all(n, 1);
  REQUIRE(says(chorale_mpi_last_algorithm(), "point"));

  /* What no algorithm fits is MPI's, and it is said why. */
  REQUIRE(chorale_mpi_allreduce(&rank, &y, 1, MPI_INT, MPI_BXOR, MPI_COMM_WORLD) == MPI_SUCCESS &&
          y == (ranks == 4 ? 0 : y));
  REQUIRE(says(chorale_mpi_why_not(), "its operation is not sum, prod, min or max"));
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  REQUIRE(chorale_mpi_allreduce(&x, &y, 1, MPI_INT, MPI_SUM, half) == MPI_SUCCESS && y == ranks / 2);
  REQUIRE(says(chorale_mpi_why_not(), "no allreduce for 2 ranks"));
  MPI_Comm_free(&half);
  REQUIRE(chorale_mpi_bcast(&x, 0, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS &&
          says(chorale_mpi_why_not(), "nothing to move"));

  /* MPI's own errors come back as MPI's. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  REQUIRE(chorale_mpi_allreduce(&x, &y, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS);
  REQUIRE(chorale_mpi_allreduce(&x, &y, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS);
  REQUIRE(chorale_mpi_bcast(&x, 1, MPI_INT, ranks, MPI_COMM_WORLD) != MPI_SUCCESS);
  /* Fewer bytes than others expect: the call is wrong, and nobody waits. */
  int four[4] = {0};
  const int code = chorale_mpi_allgather(&x, rank == 0 ? 0 : 1, MPI_INT, four, 1, MPI_INT, MPI_COMM_WORLD);
  REQUIRE(rank != 0 || code == MPI_ERR_TRUNCATE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
