/* An MPI program that knows nothing of us: it solves a Poisson equation by conjugate gradients, and calls every collective that
 * the preload library takes over, in place and not, on several communicators, with types that are not dense. Prints what must
 * not change. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long long checksum = 0;

static void add(const void* data, size_t bytes) {
  const unsigned char* p = data;
  for (size_t i = 0; i < bytes; ++i) checksum = (checksum * 31 + p[i] + 1) % 1000000007LL;
}

/* Conjugate gradients for -u'' = 1 on n points, rows spread over ranks; the vector is gathered in each iteration. */
static int solve(MPI_Comm comm, int rank, int ranks, int mine) {
  const int n = mine * ranks, first = rank * mine;
  double *x = calloc(mine, sizeof *x), *r = malloc(mine * sizeof *r), *p = malloc(mine * sizeof *p),
         *all = malloc(n * sizeof *all);
  double rr = 0, sum;
  for (int i = 0; i < mine; ++i) r[i] = p[i] = 1, rr += 1;
  MPI_Allreduce(MPI_IN_PLACE, &rr, 1, MPI_DOUBLE, MPI_SUM, comm);
  int iterations = 0;
  while (rr > 1e-12 && iterations < 10 * n) {
    double* ap = malloc(mine * sizeof *ap);
    double pap = 0, next = 0;
    MPI_Allgather(p, mine, MPI_DOUBLE, all, mine, MPI_DOUBLE, comm);
    for (int i = 0; i < mine; ++i) {
      const int k = first + i;
      ap[i] = 2 * all[k] - (k > 0 ? all[k - 1] : 0) - (k + 1 < n ? all[k + 1] : 0);
      pap += p[i] * ap[i];
    }
    MPI_Allreduce(&pap, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < mine; ++i) x[i] += rr / sum * p[i], r[i] -= rr / sum * ap[i], next += r[i] * r[i];
    MPI_Allreduce(MPI_IN_PLACE, &next, 1, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < mine; ++i) p[i] = r[i] + next / rr * p[i];
    rr = next;
    ++iterations;
    free(ap);
  }
  /* u(k) = (k+1)(n-k)/2 */
  int wrong = 0;
  for (int i = 0; i < mine; ++i) {
    const double u = (first + i + 1.0) * (n - first - i) / 2;
    wrong += x[i] - u > 1e-6 * u || u - x[i] > 1e-6 * u;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, comm);
  free(x), free(r), free(p), free(all);
  return wrong;
}

static void collectives(MPI_Comm comm, int rank, int ranks, int n) {
  int *a = malloc(n * ranks * sizeof *a), *b = malloc(n * ranks * sizeof *b);
  for (int i = 0; i < n * ranks; ++i) a[i] = rank * 1000 + i;
  MPI_Allreduce(a, b, n, MPI_INT, MPI_MAX, comm);
  add(b, n * sizeof *b);
  MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, comm);
  add(b, n * ranks * sizeof *b);
  MPI_Reduce_scatter_block(a, b, n, MPI_INT, MPI_SUM, comm);
  add(b, n * sizeof *b);
  for (int i = 0; i < n; ++i) b[rank * n + i] = rank * 7 + i;
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, n, MPI_INT, comm);
  add(b, n * ranks * sizeof *b);
  for (int root = 0; root < ranks; ++root) {
    for (int i = 0; i < n; ++i) b[i] = rank == root ? root * 11 + i : -1;
    MPI_Bcast(b, n, MPI_INT, root, comm);
    add(b, n * sizeof *b);
    for (int i = 0; i < n; ++i) b[i] = rank * i + root;
    MPI_Reduce(rank == root ? MPI_IN_PLACE : b, b, n, MPI_INT, MPI_SUM, root, comm);
    if (rank == root) add(b, n * sizeof *b);
  }
  /* Every second element. (That the root may say the same with another type is in the standard, but Open MPI 4.1 hangs.) */
  MPI_Datatype every_second;
  MPI_Type_vector(n, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  int* c = malloc((2 * n + 1) * sizeof *c);
  for (int i = 0; i < 2 * n; ++i) c[i] = rank == 0 ? i : -5;
  MPI_Bcast(c, 1, every_second, 0, comm);
  add(c, 2 * n * sizeof *c);
  MPI_Type_free(&every_second);
  /* Operations that are not ours. */
  MPI_Allreduce(a, b, n, MPI_INT, MPI_BXOR, comm);
  add(b, n * sizeof *b);
  free(a), free(b), free(c);
}

/* Counts for each rank: equal, as even as they go, uneven, and none for some. Results lie in places with gaps. */
static void counted(MPI_Comm comm, int rank, int ranks, int n, int kind) {
  int *counts = malloc(ranks * sizeof *counts), *places = malloc(ranks * sizeof *places), all = 0, room = 0;
  for (int i = 0; i < ranks; ++i) {
    counts[i] = kind == 0 ? n : kind == 1 ? n - (i + 1 == ranks) : kind == 2 ? n * (i + 1) : n * (i % 2);
    places[i] = room + i;
    all += counts[i];
    room += counts[i];
  }
  room += ranks;
  int *a = malloc((ranks + 2) * room * sizeof *a), *b = malloc((ranks + 2) * room * sizeof *b);
  for (int turn = 0; turn < 2; ++turn) { /* the second in place */
    for (int i = 0; i < room; ++i) a[i] = rank * 1000 + i, b[i] = -3;
    for (int i = 0; i < counts[rank]; ++i) b[places[rank] + i] = a[i];
    MPI_Allgatherv(turn ? MPI_IN_PLACE : a, turn ? 0 : counts[rank], turn ? MPI_DATATYPE_NULL : MPI_INT, b,
                   counts, places, MPI_INT, comm);
    add(b, room * sizeof *b);
    for (int i = 0; i < all; ++i) a[i] = b[i] = rank * 100 + i;
    MPI_Reduce_scatter(turn ? MPI_IN_PLACE : a, b, counts, MPI_INT, MPI_SUM, comm);
    add(b, counts[rank] * sizeof *b);
  }
  /* Every second element on the one side, one after the other on the other. */
  MPI_Datatype pair;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pair);
  MPI_Type_commit(&pair);
  for (int i = 0; i < 2 * room; ++i) b[i] = -4;
  MPI_Allgatherv(a, counts[rank], MPI_INT, b, counts, places, pair, comm);
  add(b, 2 * room * sizeof *b);
  MPI_Type_free(&pair);
  for (int i = 0; i < room; ++i) a[i] = rank * 10 + i, b[i] = -5;
  MPI_Gatherv(a, counts[rank], MPI_INT, b, counts, places, MPI_INT, ranks - 1, comm);
  if (rank == ranks - 1) add(b, room * sizeof *b);
  MPI_Scatterv(a, counts, places, MPI_INT, b, counts[rank], MPI_INT, 0, comm);
  add(b, counts[rank] * sizeof *b);
  int *mine = malloc(ranks * sizeof *mine), *at = malloc(ranks * sizeof *at);
  for (int i = 0; i < ranks; ++i) mine[i] = counts[rank], at[i] = i * counts[rank];
  for (int i = 0; i < ranks * room; ++i) a[i] = rank * 17 + i;
  MPI_Alltoallv(a, mine, at, MPI_INT, b, counts, places, MPI_INT, comm);
  for (int i = 0; i < ranks; ++i) add(b + places[i], counts[i] * sizeof *b);
  free(a), free(b), free(counts), free(places), free(mine), free(at);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int n = 0; n <= 33; n = 2 * n + 1) collectives(MPI_COMM_WORLD, rank, ranks, n);
  for (int n = 1; n <= 100; n = 10 * n)
    for (int kind = 0; kind < 4; ++kind) counted(MPI_COMM_WORLD, rank, ranks, n, kind);
  for (int i = 0; i < 50; ++i) { /* more sizes than are kept */
    int x[51] = {0}, y[51];
    x[i] = rank;
    MPI_Allreduce(x, y, i + 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    add(y, (i + 1) * sizeof *y);
  }
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  int half_rank, half_ranks;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm_size(half, &half_ranks);
  collectives(half, half_rank, half_ranks, 5);
  counted(half, half_rank, half_ranks, 5, 1);
  MPI_Comm_free(&half);
  const int wrong = solve(MPI_COMM_WORLD, rank, ranks, 16);
  long long sums[64];
  MPI_Gather(&checksum, 1, MPI_LONG_LONG, sums, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d unknowns wrong\n", wrong);
    for (int i = 0; i < ranks; ++i) printf("rank %d: checksum %lld\n", i, sums[i]);
  }
  MPI_Finalize();
  return wrong != 0;
}
