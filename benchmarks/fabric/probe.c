/* Messages over chosen links, timed.
 *   probe pingpong BYTES,BYTES,... a-b ...   a line a pair and size: a b bytes, microseconds one way: least, median
 *   probe together TIMES a-b:BYTES ...       all transfers at once: microseconds until the last rank has its own: least, median, most */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void pingpong(int count, char** words, int rank) {
  enum { kMost = 64 };
  for (int k = 1; k < count; ++k) {
    int a, b;
    if (sscanf(words[k], "%d-%d", &a, &b) != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    for (char* at = words[0]; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
      const int bytes = atoi(at), times = bytes < 4096 ? 31 : 5;
      char* data = calloc(1, bytes + 1);
      double us[kMost];
      MPI_Barrier(MPI_COMM_WORLD);
      for (int i = -1; i < times; ++i) {
        const double start = MPI_Wtime();
        if (rank == a) MPI_Send(data, bytes, MPI_BYTE, b, 0, MPI_COMM_WORLD);
        if (rank == a || rank == b) MPI_Recv(data, bytes, MPI_BYTE, rank == a ? b : a, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == b) MPI_Send(data, bytes, MPI_BYTE, a, 0, MPI_COMM_WORLD);
        if (i >= 0) us[i] = (MPI_Wtime() - start) * 5e5;
      }
      if (rank == a) {
        qsort(us, times, sizeof *us, compare);
        printf("%d %d %d %.2f %.2f\n", a, b, bytes, us[0], us[times / 2]);
        fflush(stdout);
      }
      free(data);
    }
  }
}

static void together(int count, char** words, int rank) {
  const int times = atoi(words[0]);
  double* us = calloc(times, sizeof *us);
  MPI_Request* requests = calloc(count, sizeof *requests);
  char** data = calloc(count, sizeof *data);
  for (int i = -1; i < times; ++i) {
    int posted = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int send = 0; send < 2; ++send)
      for (int k = 1; k < count; ++k) {
        int a, b, bytes;
        if (sscanf(words[k], "%d-%d:%d", &a, &b, &bytes) != 3) MPI_Abort(MPI_COMM_WORLD, 2);
        if (!data[k] && (rank == a || rank == b)) data[k] = calloc(1, bytes);
        if (!send && rank == b) MPI_Irecv(data[k], bytes, MPI_BYTE, a, k, MPI_COMM_WORLD, &requests[posted++]);
        if (send && rank == a) MPI_Isend(data[k], bytes, MPI_BYTE, b, k, MPI_COMM_WORLD, &requests[posted++]);
      }
    MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
    double mine = (MPI_Wtime() - start) * 1e6, last;
    MPI_Allreduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i >= 0) us[i] = last;
  }
  if (rank == 0) {
    qsort(us, times, sizeof *us, compare);
    printf("%.1f %.1f %.1f\n", us[0], us[times / 2], us[times - 1]);
  }
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  (strcmp(argv[1], "pingpong") ? together : pingpong)(argc - 2, argv + 2, rank);
  MPI_Finalize();
  return 0;
}
