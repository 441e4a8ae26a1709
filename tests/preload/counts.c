/* Counts of which one is below zero, after right ones: prints what is returned, MPI's errors if they are its own. */
#include <mpi.h>
#include <stdio.h>

enum { N = 100, RANKS = 9 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, counts[RANKS], places[RANKS];
  static int a[N * RANKS], b[N * RANKS];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < RANKS; ++i) counts[i] = N, places[i] = i * N;
  for (int wrong = 0; wrong < 2; ++wrong) {
    if (wrong) counts[RANKS / 2] = -1;
    const int gathered = MPI_Allgatherv(a, N, MPI_INT, b, counts, places, MPI_INT, MPI_COMM_WORLD);
    const int reduced = MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d %d %d\n", gathered, reduced, reduced == MPI_ERR_COUNT);
  }
  MPI_Finalize();
}
