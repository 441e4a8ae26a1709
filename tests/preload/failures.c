/* Collectives of four ranks while parts of a ring fail: by a file that the preload library reads, or with -DLIBRARY by
 * chorale_mpi_failed. Every result is checked, and every message: none may pass between the ranks of a link that has failed.
 * Prints "right" at the end. With RAISE in the environment the first rank also raises SIGUSR1. argv: the file, the library, names of failures. */
#ifdef LIBRARY
#include <chorale/mpi.h>
#else
#include <mpi.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, cut_a = -1, cut_b = -1, sent = 0;

static void watch(int peer, MPI_Comm comm) {
  int size;
  PMPI_Comm_size(comm, &size);
  if (size != ranks) return;
  ++sent;
  if ((rank == cut_a && peer == cut_b) || (rank == cut_b && peer == cut_a)) {
    fprintf(stderr, "rank %d: a message to rank %d, whose link has failed\n", rank, peer);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* What the libraries send, they send by these. */
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  watch(peer, comm);
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}
int MPI_Issend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  watch(peer, comm);
  return PMPI_Issend(data, count, type, peer, tag, comm, request);
}

#ifdef LIBRARY
#define ALLREDUCE chorale_mpi_allreduce
#define ALLGATHER chorale_mpi_allgather
#else
#define ALLREDUCE MPI_Allreduce
#define ALLGATHER MPI_Allgather
#endif

static void collectives(MPI_Comm comm, int n) {
  int me, all;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &all);
  int *a = malloc(sizeof(int) * n), *b = malloc(sizeof(int) * n * all);
  for (int i = 0; i < n; ++i) a[i] = 1000 * me + i;
  ALLREDUCE(a, b, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i)
    if (b[i] != 500 * all * (all - 1) + all * i) fprintf(stderr, "rank %d: a wrong sum\n", rank), MPI_Abort(MPI_COMM_WORLD, 1);
  ALLGATHER(a, n, MPI_INT, b, n, MPI_INT, comm);
  for (int i = 0; i < n * all; ++i)
    if (b[i] != 1000 * (i / n) + i % n) fprintf(stderr, "rank %d: a wrong block\n", rank), MPI_Abort(MPI_COMM_WORLD, 1);
  free(a), free(b);
}

static void fail(const char* file, const char* what, int a, int b) {
  PMPI_Barrier(MPI_COMM_WORLD);
  cut_a = a, cut_b = b;
#ifdef LIBRARY
  (void)file;
  if (chorale_mpi_failed(what) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
#else
  if (rank == 0) {
    char beside[4096];
    snprintf(beside, sizeof beside, "%s.new", file);
    FILE* f = fopen(beside, "w");
    fprintf(f, "%s\n", what);
    fclose(f);
    rename(beside, file);
    if (getenv("RAISE") != NULL) raise(SIGUSR1);
  }
#endif
  PMPI_Barrier(MPI_COMM_WORLD);
}

static void rounds(MPI_Comm comm) {
  for (int n = 1; n < 5000; n *= 7) collectives(comm, n), collectives(comm, n);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef LIBRARY
  if (chorale_mpi_load(argv[2]) != MPI_SUCCESS) fprintf(stderr, "%s\n", chorale_mpi_last_error()), MPI_Abort(MPI_COMM_WORLD, 1);
#endif
  const MPI_Comm world = MPI_COMM_WORLD;
  rounds(world);
  if (argc > 3) { /* of another machine: results alone are checked */
    for (int i = 3; i < argc; ++i) {
      fail(argv[1], argv[i], -1, -1);
      rounds(world);
    }
    if (rank == 0) printf("right\n");
    MPI_Finalize();
    return 0;
  }
  static const char* const names[] = {"link 1-2", "link 0-3", "link 0-1", "link 2-3"};
  static const int ends[][2] = {{1, 2}, {0, 3}, {0, 1}, {2, 3}};
  for (int i = 0; i < 4; ++i) {
    fail(argv[1], names[i], ends[i][0], ends[i][1]);
    rounds(world);
  }
  fail(argv[1], "", -1, -1); /* mended */
  rounds(world);
  MPI_Comm others; /* rank 2 is gone */
  MPI_Comm_split(world, rank == 2, rank, &others);
  fail(argv[1], "rank 2", -1, -1);
  if (rank != 2) rounds(others);
  MPI_Comm_free(&others);
  fail(argv[1], "link 7-8", -1, -1); /* nothing is ready for it: MPI does it */
  rounds(world);
#ifdef LIBRARY
  if (chorale_mpi_failed(rank == 1 ? "link 0-1" : "link 1-2") == MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1); /* ranks differ */
#endif
  if (sent == 0) fprintf(stderr, "rank %d: nothing was sent\n", rank), MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
