/* A program that asks for MPI_THREAD_MULTIPLE and means it: two threads, each with a communicator of its own, call every
 * collective that the preload library takes over, in orders and at times that differ by rank, while a third makes and frees
 * communicators. Prints "right" at the end; exit code 77 where MPI has no such threads. */
#define _POSIX_C_SOURCE 199309L
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRounds = 60, kMost = 3000 };

static int rank, ranks;

#define REQUIRE(condition)                                                                        \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #condition);                      \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                               \
    }                                                                                             \
  } while (0)

/* One rank's thread is late in one communicator, another's in the other. */
static void loiter(int number, int round) {
  const struct timespec a_moment = {0, 500000};
  if ((rank + number + round) % 3 == 0) nanosleep(&a_moment, NULL);
}

static void every_collective(MPI_Comm comm, int n, int salt) {
  int *a = malloc(sizeof *a * n * ranks), *b = malloc(sizeof *b * n * ranks);
  for (int i = 0; i < n * ranks; ++i) a[i] = rank * 7 + i + salt;
  MPI_Allreduce(a, b, n, MPI_INT, MPI_MAX, comm);
  for (int i = 0; i < n; ++i) REQUIRE(b[i] == (ranks - 1) * 7 + i + salt);
  MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, comm);
  for (int i = 0; i < n * ranks; ++i) REQUIRE(b[i] == i / n * 7 + i % n + salt);
  MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, comm);
  for (int i = 0; i < n * ranks; ++i) REQUIRE(b[i] == i / n * 7 + rank * n + i % n + salt);
  MPI_Reduce_scatter_block(a, b, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) REQUIRE(b[i] == 7 * ranks * (ranks - 1) / 2 + ranks * (rank * n + i + salt));
  for (int i = 0; i < n; ++i) b[i] = rank == 0 ? i + salt : -1;
  MPI_Bcast(b, n, MPI_INT, 0, comm);
  for (int i = 0; i < n; ++i) REQUIRE(b[i] == i + salt);
  free(a), free(b);
}

struct Work {
  MPI_Comm comm;
  int number;
};

static void* collectives(void* work_of_a_thread) {
  const struct Work* const work = work_of_a_thread;
  for (int round = 0; round < kRounds; ++round) {
    loiter(work->number, round);
    every_collective(work->comm, 1 + round * (work->number + 3) * 37 % kMost, work->number * 1000 + round);
  }
  return NULL;
}

static void* communicators(void* work_of_a_thread) {
  const struct Work* const work = work_of_a_thread;
  for (int round = 0; round < kRounds / 10; ++round) {
    MPI_Comm another;
    MPI_Comm_dup(work->comm, &another);
    loiter(work->number, round);
    every_collective(another, 5, round);
    MPI_Comm_free(&another);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return 77;
  }
  every_collective(MPI_COMM_WORLD, 10, 3);
  struct Work work[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    work[i].number = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &work[i].comm);
  }
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, i < 2 ? collectives : communicators, &work[i]);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&work[i].comm);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
