/* The public API from C: the algorithms for a machine, which of them is the fastest for a size, and a
 * program that runs it.
 *
 *   cc -std=c99 public_api.c $(pkg-config --cflags --libs chorale) -o public_api && ./public_api dgx1 1048576 . */
#include <chorale/chorale_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refused(void) {
  fprintf(stderr, "public_api: error: %s\n", chorale_last_error());
  return 2;
}

int main(int argc, char** argv) {
  const char* const machine = argc > 1 ? argv[1] : "dgx1";
  const double bytes = argc > 2 ? atof(argv[2]) : 1 << 20;
  chorale_question question = {0};
  question.max_chunks = 3;

  char* const found = chorale_frontier(machine, "allgather", &question);
  if (found == NULL) return refused();
  const int point = chorale_best(found, bytes);
  if (point < 0) return refused();
  printf("for %.0f bytes point %d\n", bytes, point);

  char* const faults = chorale_check(found);
  if (faults == NULL) return refused();
  printf("checked again: %s\n", strlen(faults) == 0 ? "all is so" : faults);

  char* const files = chorale_compile(found, point, "mpi", argc > 3 ? argv[3] : ".");
  if (files == NULL) return refused();
  printf("wrote %s", files);
  chorale_free(files);
  chorale_free(faults);
  chorale_free(found);
  return 0;
}
