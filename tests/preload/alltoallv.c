/* Alltoallv with counts of every kind, each byte checked against what it must be: by MPI_Alltoallv, or with -DLIBRARY by
 * chorale_mpi_alltoallv. Prints "right" at the end. */
#ifdef LIBRARY
#include <chorale/mpi.h>
#define ALLTOALLV chorale_mpi_alltoallv
#else
#include <mpi.h>
#define ALLTOALLV MPI_Alltoallv
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned state;
static int below(int n) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (unsigned)n);
}

static int value(int src, int dst, int i) {
  return src * 1000003 + dst * 10007 + i;
}

static void fail(int rank, const char* what, int kind, int n, int i) {
  fprintf(stderr, "rank %d: %s, kind %d, rank %d, element %d\n", rank, what, kind, n, i);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* counts[src][dst] of a kind, the same in all ranks. */
static void choose(int kind, int ranks, int* counts) {
  for (int i = 0; i < ranks * ranks; ++i) {
    const int src = i / ranks, dst = i % ranks;
    counts[i] = kind == 0   ? 40                                      /* alike */
                : kind == 1 ? below(100)                              /* any */
                : kind == 2 ? (dst == 1 ? 500 : below(4))             /* all to one */
                : kind == 3 ? (src == 0 && dst == ranks - 1) * 12345  /* one pair */
                : kind == 4 ? (src % 2 ? below(300) : 0)              /* ranks that have nothing */
                : kind == 5 ? 0
                            : (below(3) ? 0 : below(1000)); /* few pairs */
  }
  if (kind == 7) /* the same both ways, as in place must have it */
    for (int a = 0; a < ranks; ++a)
      for (int b = 0; b < a; ++b) counts[a * ranks + b] = counts[b * ranks + a];
}

/* spread: elements of MPI_INT with as many ints between them. Blocks lie in reverse order, with gaps. */
static void call(MPI_Comm comm, int kind, int send_spread, int recv_spread, int in_place) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int* counts = malloc(sizeof(int) * ranks * ranks);
  choose(kind, ranks, counts);
  int *out = malloc(4 * ranks), *to = malloc(4 * ranks), *in = malloc(4 * ranks), *from = malloc(4 * ranks), sent = 3, got = 2;
  for (int n = ranks - 1; n >= 0; --n) {
    out[n] = counts[rank * ranks + n], in[n] = counts[n * ranks + rank];
    to[n] = sent, from[n] = got;
    sent += out[n] + n % 3, got += in[n] + 1;
  }
  const int s = send_spread + 1, r = recv_spread + 1;
  int *a = malloc(4 * (s * sent + 1)), *b = malloc(4 * (r * got + 1));
  for (int i = 0; i < s * sent; ++i) a[i] = -7;
  for (int i = 0; i < r * got; ++i) b[i] = -9;
  for (int n = 0; n < ranks; ++n) {
    for (int i = 0; i < out[n]; ++i) a[s * (to[n] + i)] = value(rank, n, i);
    if (in_place)
      for (int i = 0; i < in[n]; ++i) b[r * (from[n] + i)] = value(rank, n, i);
  }
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  for (int k = 0; k < 2; ++k)
    if (k ? recv_spread : send_spread) {
      MPI_Type_create_resized(MPI_INT, 0, 4 * (k ? r : s), &types[k]);
      MPI_Type_commit(&types[k]);
    }
  if (ALLTOALLV(in_place ? MPI_IN_PLACE : a, in_place ? NULL : out, in_place ? NULL : to, in_place ? MPI_DATATYPE_NULL : types[0], b, in,
                from, types[1], comm) != MPI_SUCCESS)
    fail(rank, "an error", kind, 0, 0);
  for (int n = 0; n < ranks; ++n)
    for (int i = 0; i < in[n]; ++i) {
      if (b[r * (from[n] + i)] != value(n, rank, i)) fail(rank, "a wrong value", kind, n, i);
      b[r * (from[n] + i)] = -9;
    }
  for (int i = 0; i < r * got; ++i)
    if (b[i] != -9) fail(rank, "a gap was written", kind, -1, i);
  for (int k = 0; k < 2; ++k)
    if (types[k] != MPI_INT) MPI_Type_free(&types[k]);
  free(counts), free(out), free(to), free(in), free(from), free(a), free(b);
}

static void all(MPI_Comm comm) {
  for (int kind = 0; kind < 8; ++kind)
    for (int turn = 0; turn < 2; ++turn) { /* the second time with the same counts, as a program in a loop */
      const unsigned seed = state;
      call(comm, kind, 0, 0, 0);
      state = seed;
      call(comm, kind, 1, 0, 0);
      state = seed;
      call(comm, kind, 0, 2, 0);
    }
  call(comm, 7, 0, 0, 1);
  call(comm, 7, 0, 1, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  all(MPI_COMM_WORLD);
  MPI_Comm part; /* in another order, and of uneven nodes */
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1, -rank, &part);
  const unsigned seed = state;
  all(part);
  state = seed;
  MPI_Comm_free(&part);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &part); /* after one was freed */
  all(part);
  MPI_Comm_free(&part);
#ifdef LIBRARY
  int planned = chorale_mpi_last_algorithm()[0] != '\0', sum = 0;
  MPI_Allreduce(&planned, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks planned the last call%s%s\n", sum, sum ? "" : ": ", chorale_mpi_why_not());
#endif
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
